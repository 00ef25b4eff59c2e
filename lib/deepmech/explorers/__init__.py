"""Room: explorers."""
