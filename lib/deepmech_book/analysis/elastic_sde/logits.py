"""Logits in training: along which direction, and how far, classes overlap (Fig. 1 of paper B).

From the results of :mod:`deepmech_book.sweeps.elastic_sde.networks`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import xarray as xr

from deepmech.core.labels import over


def direction(means: xr.DataArray, k: int, other: int) -> np.ndarray:
    """ν = (X̄ᵏ − X̄ˡ)/|X̄ᵏ − X̄ˡ| at the end (paper B, Eq. C.24): of the means over the last tenth of the times."""
    last = means.isel(time=slice(-max(1, means.sizes["time"] // 10), None)).mean("time").transpose("class", "logit")
    gap = last.values[k].astype(float) - last.values[other]
    return gap / np.linalg.norm(gap)


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
