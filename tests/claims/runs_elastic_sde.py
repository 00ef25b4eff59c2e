"""Made-up runs that serve the claims of several pages on paper B: class means whose effects are known, with noise."""

import numpy as np
import xarray as xr

T = np.arange(0.0, 4000.0, 10.0)
START = np.array([[1.2, -0.9, -0.3], [-0.5, 1.6, -1.1], [-0.3, -0.5, 0.8]])
"""Class means at first; logits of a class add up to zero, as those of networks."""


def class_means(growth):
    """Class means that grow alike as e^growth: Â = 3 g by both models, B̂ = 0."""
    values = np.exp(growth)[:, None, None] * START
    labels = {"time": T[: len(values)], "class": np.arange(3), "logit": np.arange(3)}
    return xr.DataArray(values, labels, ("time", "class", "logit"))


def networks(*groups):
    """A result of groups of trials with these class means."""
    every = xr.concat(groups, "group")
    return xr.Dataset({"mean": every.mean("group"), "group_mean": every.rename(time="slow_time")})


def hump(peak, width=0.1):
    """A course with its maximum 1 at a share of training."""
    share = (np.arange(len(T)) + 0.5) / len(T)
    return np.exp(-(((share - peak) / width) ** 2))
