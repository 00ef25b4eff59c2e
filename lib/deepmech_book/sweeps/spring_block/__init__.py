"""Sweeps of paper A (Shi, Pan, Dokmanić 2024): a function a figure, with the paper's parameters as defaults."""
