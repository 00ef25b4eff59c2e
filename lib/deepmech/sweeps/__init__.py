"""Room: sweeps."""
