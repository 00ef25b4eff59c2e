"""Room: book."""
