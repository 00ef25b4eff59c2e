"""What every room may use: labels, specs, checks, random streams, intervals, provenance."""

from deepmech.core import provenance as provenance  # reads the library's code before anything of it runs
