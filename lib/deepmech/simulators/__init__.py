"""Room: simulators."""
