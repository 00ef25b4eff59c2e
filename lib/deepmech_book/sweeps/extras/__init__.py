"""Sweeps of the chapters behind the papers: what intervals cover."""
