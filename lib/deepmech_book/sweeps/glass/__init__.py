"""Sweeps of paper C (Kerr-Winter, Janssen 2024): networks under Langevin dynamics, and the glass of particles."""
