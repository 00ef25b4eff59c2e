"""Chapter on paper A (Shi, Pan, Dokmanić 2024): its experiments, and of each page numbers and claims."""
