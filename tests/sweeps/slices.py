"""Slices of a grid, as sweeps hand them to the functions that compute cells."""

import xarray as xr


def cells(*rows):
    """One dictionary of parameters per cell."""
    return xr.Dataset({k: ("cell", [row[k] for row in rows]) for k in rows[0]}, {"cell": range(len(rows))})
