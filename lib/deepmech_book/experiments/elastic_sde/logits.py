"""Logits in training: projections, overlaps and the plane of the class means (Figs. 1 and D.10 of paper B).

From the results of :mod:`deepmech_book.experiments.elastic_sde.networks`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech_book.experiments.elastic_sde.effects import step_of


def direction(means: xr.DataArray, k: int, other: int) -> np.ndarray:
    """ν = (X̄ᵏ − X̄ˡ)/|X̄ᵏ − X̄ˡ| at the end (paper B, Eq. C.24): of the means over the last tenth of the times."""
    last = means.isel(time=slice(-max(1, means.sizes["time"] // 10), None)).mean("time").transpose("class", "logit")
    gap = last.values[k].astype(float) - last.values[other]
    return gap / np.linalg.norm(gap)


FEWEST = 20
"""Samples of a class, on average, below which a time bin has no quantiles."""


def projected(result: xr.Dataset, k: int, other: int, bins: int = 25) -> xr.Dataset:
    """Logits of every class along :func:`direction`, over training: quantiles of single samples in time bins.

    Trials that diverged are left out.

    Parameters
    ----------
    bins : how many; fewer where they would hold less than :data:`FEWEST` samples of a class.

    Returns
    -------
    Dataset
        ``median``, ``low``, ``high`` (2.5 % and 97.5 %) over ``time`` and ``class``.
    """
    nu = direction(result["mean"], k, other)
    along = result["logits"].transpose("moment", "trial", "logit").values.astype(float) @ nu
    label = np.where(np.isfinite(along), result["label"].transpose("moment", "trial").values, -1)
    n = np.isfinite(along).sum() // (FEWEST * result.sizes["class"])
    parts = np.array_split(np.arange(len(along)), max(1, min(bins, len(along), n)))
    found = np.array([[_quantiles(along[p][label[p] == c]) for c in result["class"].values] for p in parts])
    coords = {"time": [float(result.moment.values[p].mean()) for p in parts], "class": result["class"].values}
    names = ("low", "median", "high")
    return xr.Dataset({n: (("time", "class"), found[..., i]) for i, n in enumerate(names)}, coords)


def _quantiles(samples: np.ndarray) -> np.ndarray:
    """The central 95 % and the median; nan of nothing."""
    return np.quantile(samples, [0.025, 0.5, 0.975]) if samples.size else np.full(3, np.nan)


def overlap(result: xr.Dataset, moments: slice, along: np.ndarray | None = None) -> xr.DataArray:
    """For each pair of classes, how often a sample of the one lies on the other's side of a direction.

    The probability that a sample of class k is *not* beyond one of class l: 0 for classes that are disjoint, 1/2 for
    classes that are mixed, over all samples at the given moments (those that end training: ``slice(-10, None)``).
    Trials that diverged are left out.

    Parameters
    ----------
    along : one direction for all pairs, either way round; each pair's own :func:`direction` unless given.

    Returns
    -------
    DataArray
        Over ``pair``, labelled "k, l"; nan where nobody drew one of the classes at these moments.
    """
    some = result.isel(moment=moments)
    z, label = some["logits"].transpose(..., "logit").values.astype(float), some["label"].values
    pairs = list(combinations(range(result.sizes["class"]), 2))
    found = []
    for k, other in pairs:
        x = z @ (direction(result["mean"], k, other) if along is None else along)
        one, two = (x[(label == c) & np.isfinite(x)] for c in (k, other))
        share = float(np.mean(one[:, None] <= two[None])) if one.size and two.size else np.nan
        found.append(share if along is None else min(share, 1 - share))
    return over("pair", [f"{k}, {other}" for k, other in pairs]).copy(data=found)


def planes(means: xr.DataArray, width: int = 100) -> xr.Dataset:
    """The plane through three class means and how it turns (Fig. D.10).

    Parameters
    ----------
    means : class means, evenly spaced in ``time``.
    width : iterations averaged before a normal is taken.

    Returns
    -------
    Dataset
        Over ``time``: ``turn``, the angle in degrees between the plane's normal and the final one; ``tilt``, between it
        and (1, 1, 1).
    """
    means = means.transpose("time", "class", "logit")
    steps = means.sizes["time"] // max(1, round(width / step_of(means)))
    x = np.stack([part.mean(0) for part in np.array_split(means.values, steps)])
    time = [float(t.mean()) for t in np.array_split(means.time.values, steps)]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    end = normal[-max(1, steps // 10) :]
    end = (end * np.sign(end @ end[-1])[:, None]).mean(0)

    def angle(other: np.ndarray) -> np.ndarray:
        return np.degrees(np.arccos(np.clip(np.abs(normal @ other) / np.linalg.norm(other), 0, 1)))

    return xr.Dataset({"turn": ("time", angle(end)), "tilt": ("time", angle(np.ones(3)))}, {"time": time})
