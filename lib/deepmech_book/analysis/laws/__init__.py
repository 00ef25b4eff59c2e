"""What the pages on laws of layers measure, one module a page."""
