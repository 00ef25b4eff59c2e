"""What every room may use: labels, specs and checks, random streams, intervals, provenance."""

from deepmech.core import provenance as provenance  # reads the library's code before anything of it runs
