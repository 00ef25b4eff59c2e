"""Room: metrics."""
