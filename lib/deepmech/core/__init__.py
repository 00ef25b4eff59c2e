"""What every package may use: labels, specs and checks, random streams, intervals, provenance."""
