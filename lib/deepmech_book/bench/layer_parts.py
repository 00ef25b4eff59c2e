"""What each part of a layer separates, in networks of the zoo (the page on the inside of a layer).

Networks are records of the zoo (:func:`deepmech_book.bench.record`), over ``number``.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech_book.bench import judge
from deepmech_book.bench.stars import over_stars

__all__ = ["by_slope", "fitted", "less_nonlinear_in_pairs", "mean_with_norm", "parts"]

NAMES = {"linear": "linear map", "norm": "normalisation", "activation": "activation"}


def fitted(after: xr.Dataset, before: xr.Dataset, least_accuracy: float) -> tuple[xr.Dataset, xr.Dataset]:
    """Networks of at least that accuracy on training images, after training and before it."""
    after = after.isel(number=np.flatnonzero(after.accuracy.sel(split="train") >= least_accuracy))
    return after, before.sel(number=after.number)


def parts(networks: xr.Dataset) -> xr.Dataset:
    """Contribution of each part of a layer to separation, in nats, mean over hidden layers; (number,).

    Returns
    -------
    Dataset
        ``linear``, ``norm``, ``activation``: D of what goes into that part less D of what leaves it.
    """
    bent = networks.load_curve.sel(split="train", drop=True)
    linear, normed = networks.load_linear, networks.load_norm
    each = {"linear": bent.shift(layer=1) - linear, "norm": linear - normed, "activation": normed - bent}
    return xr.Dataset(each).mean("layer")


def by_slope(networks: xr.Dataset) -> xr.DataArray:
    """:func:`parts` over negative slopes, (part, slope), means over networks."""
    grouped = parts(networks).assign_coords(slope=networks.slope).groupby("slope").mean("number")
    return xr.concat([grouped[part] for part in NAMES], xr.Variable("part", list(NAMES.values())))


def _lower_in_more_nonlinear(networks: xr.Dataset, which: xr.DataArray) -> np.ndarray:
    """At the first network of each pair that differs in slope alone: is the number lower in the more nonlinear one?"""
    pairs = judge.pairs_of(networks)
    pairs = pairs[pairs.environment.str.endswith(", slope")]
    one, other = pairs["first"].to_numpy(), pairs["second"].to_numpy()
    steeper = np.where(networks.slope.values[one] < networks.slope.values[other], 1, -1)
    lower = np.full(networks.sizes["number"], np.nan)
    lower[one] = np.sign(which.values[other] - which.values[one]) * steeper > 0
    return lower


def less_nonlinear_in_pairs(networks: xr.Dataset) -> Estimate:
    """Share of pairs that differ in slope alone in which the activation contributes less in the more nonlinear network.

    Null: the same share for the linear map. Intervals are over stars.
    """
    found = parts(networks)
    own, rival = (_lower_in_more_nonlinear(networks, found[name]) for name in ("activation", "linear"))
    return over_stars(networks, lambda at: (np.nanmean(own[at]), np.nanmean(rival[at])))


def mean_with_norm(networks: xr.Dataset) -> Estimate:
    """Contribution of the normalisation, mean over networks that have one, with its interval over stars."""
    normed = networks.isel(number=np.flatnonzero(networks.batch_norm))
    values = parts(normed)["norm"].values
    found = over_stars(normed, lambda at: (values[at].mean(), 0.0))
    return Estimate(found.value, found.low, found.high, found.n)
