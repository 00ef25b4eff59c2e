"""What every room may use: labels, specs and checks, random streams, intervals, provenance."""
