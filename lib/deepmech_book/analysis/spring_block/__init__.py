"""What the pages on paper A (Shi, Pan, Dokmanić 2024) measure."""
