"""What every room may use: labels, specs, random streams, provenance."""
