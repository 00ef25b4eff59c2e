"""How many samples a separation measure needs: D of features whose D is known, its soft minimum, coverage by law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from deepmech.metrics.separation import ClassMoments
from deepmech_book.sweeps.extras.coverage import FORMS, LAWS, SAMPLES, features


def simulated(
    truths: Sequence[float], per_class: Sequence[int], n_classes: int, width: int, draws: int
) -> xr.DataArray:
    """D in both forms of normal features whose D is known.

    Parameters
    ----------
    truths : floats
        D of infinitely many samples, in natural logarithms.
    per_class : ints
        Samples of each of ``n_classes`` equal classes.
    width, draws : int
        Features of a sample, and independent draws.

    Returns
    -------
    DataArray
        Over ``truth``, ``samples`` (of all classes), ``estimate`` and ``draw``; nan where there is no D.
    """
    samples = [n_classes * count for count in per_class]
    values = np.empty((len(truths), len(samples), len(FORMS), draws))
    for i, j, draw in np.ndindex(len(truths), len(samples), draws):
        drawn = features(truths[i], samples[j], n_classes, draw, width=width)
        moments = ClassMoments(n_classes).update(*drawn)
        values[i, j, :, draw] = [moments.separation(debias) for debias in FORMS.values()]
    coords = {"truth": list(truths), "samples": samples, "estimate": list(FORMS), "draw": range(draws)}
    return xr.DataArray(values, coords, name="D")


def soft_minimum(truth: xr.DataArray, samples: xr.DataArray, n_classes: int) -> xr.DataArray:
    """Plain D that so many samples give on average: the soft minimum of the truth and of the ceiling.

    Examples
    --------
    >>> print(soft_minimum(xr.DataArray([50.0, 0.0]), xr.DataArray(1000.0), 10).values.round(3))
    [ 4.7   -0.019]
    """
    free = samples - n_classes
    least: xr.DataArray = -xr.apply_ufunc(np.log, samples / free * np.exp(-truth) + (n_classes - 1) / free)
    return least


def coverage_by_law(tried: xr.Dataset) -> xr.DataArray:
    """Share of draws whose interval held D, over ``law``, ``samples`` and ``estimate``.

    Parameters
    ----------
    tried : Dataset
        Of :func:`deepmech_book.sweeps.extras.coverage.coverage`: ``covered`` over ``population``, ``block``, …
    """
    of = tried["covered"].mean("block")
    rows = [xr.concat([_covered(of, law, n) for n in SAMPLES], xr.Variable("samples", list(SAMPLES))) for law in LAWS]
    return xr.concat(rows, xr.Variable("law", list(LAWS)))


def _covered(share: xr.DataArray, law: str, n: int) -> xr.DataArray:
    return share.sel(population=f"{law}, {n} samples", drop=True)
