"""Made-up runs that serve the claims of several pages on paper B: class means whose effects are known, with noise."""

import numpy as np
import xarray as xr

from deepmech_book.elastic_sde import readings

T = np.arange(0.0, 4000.0, 10.0)
START = np.array([[1.2, -0.9, -0.3], [-0.5, 1.6, -1.1], [-0.3, -0.5, 0.8]])
"""Class means at first; logits of a class add up to zero, as those of networks."""


def class_means(growth, rng=None, noise=0.0):
    """Class means that grow alike as e^growth, with independent noise of each: Â = 3 g by both models, B̂ = 0."""
    values = np.exp(growth)[:, None, None] * START
    if noise:
        values = values + noise * rng.normal(size=values.shape)
    labels = {"time": T[: len(values)], "class": np.arange(3), "logit": np.arange(3)}
    return xr.DataArray(values, labels, ("time", "class", "logit"))


def networks(*groups):
    """A result of groups of trials with these class means."""
    every = xr.concat(groups, "group")
    return xr.Dataset({"mean": every.mean("group"), "group_mean": every.rename(time="slow_time")})


def many(growth, rng, scatter=0.02, noise=0.0, n=10):
    """A result of groups whose growth scatters by a factor about that given."""
    return networks(*(class_means(growth * (1 + scatter * rng.normal()), rng, noise) for _ in range(n)))


def estimated(intra, inter=None, **coords):
    """Effects read off networks, with curves of α̂ and β̂ over ``time`` as the last dimension; ``model`` is added."""
    dims = (*coords, "time")
    intra = xr.DataArray(intra, {**coords, "time": T}, dims)
    both = xr.Dataset({"intra": intra, "inter": 0 * intra if inter is None else (dims, inter)})
    both["A"], both["B"] = both["intra"].cumsum("time"), both["inter"].cumsum("time")
    return both.expand_dims(model=list(readings.MODELS))


def hump(peak, width=0.1, floor=0.0):
    """A course with its maximum 1 at a share of training."""
    share = (np.arange(len(T)) + 0.5) / len(T)
    return floor + (1 - floor) * np.exp(-(((share - peak) / width) ** 2))


def sets(rng, shape, n=8, noise=0.05):
    """α̂ of sets of trials: 4 numbers of samples, two sets of each; ``shape`` gives a course for each."""
    curves = np.stack([shape() * (1 + noise * rng.normal()) for _ in range(n)]).reshape(4, 2, len(T))
    return estimated(curves, per_class=[80, 240, 480, 4800], first_seed=[0, 50])
