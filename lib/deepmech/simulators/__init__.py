"""Room: simulators of the macroscopic mechanics. They know nobody but :mod:`deepmech.core`."""
