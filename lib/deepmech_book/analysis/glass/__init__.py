"""What the pages on paper C (Kerr-Winter, Janssen 2024) measure."""
