"""What every room may use: labels, specs, checks, random streams, intervals, provenance."""
