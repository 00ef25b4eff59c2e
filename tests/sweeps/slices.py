"""Slices of a grid, as sweeps hand them to the functions that compute cells; and small settings of these."""

import xarray as xr

#: Trials of paper B's networks, and a preparation of paper C's.
TRIALS = {
    "dataset": "geomnist", "n_classes": 3, "dtype": "float32", "class_weights": None, "validation": 5,
    "first_seed": 0, "label_error": 0.0, "per_class": 12, "n_trials": 2, "iterations": 40, "thin": 20, "coarse": 20,
    "n_checks": 2, "moments": 3,
}  # fmt: skip
BRIEF = {"sgd_steps": 200, "learning_rate": 0.05, "gain": 2.0}


def cells(*rows):
    """One dictionary of parameters per cell."""
    return xr.Dataset({k: ("cell", [row[k] for row in rows]) for k in rows[0]}, {"cell": range(len(rows))})
