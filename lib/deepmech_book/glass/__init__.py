"""Chapter on paper C (Kerr-Winter, Janssen 2024): its experiments, and of each page numbers and claims."""
