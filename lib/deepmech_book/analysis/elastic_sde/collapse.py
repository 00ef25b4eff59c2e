"""Neural collapse in the L-model: Proposition 3.4 of paper B."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, proportion
from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.separability import etf_distance
from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution
from deepmech_book.analysis.elastic_sde.clouds import in_the_plane

__all__ = [
    "NEAR",
    "decay_rate",
    "mean_directions",
    "random_starts",
    "repulsion_that_fades",
    "share_in_simplex",
    "simplex_distance",
]

NEAR = 0.1
"""Distance from a simplex below which class means count as one; directions at random have about 1."""


def random_starts(n_starts: int) -> np.ndarray:
    """Normal class means of three classes whose mean margin is positive, as it is in training.

    Parameters
    ----------
    n_starts : int
        How many starts; each is the same in any number of them.

    Returns
    -------
    ndarray, (n_starts, 3, 3)
        Start, class, logit. Where the mean of the margins d_k · X̄ᵏ was negative, all signs are turned round.

    Examples
    --------
    >>> x = random_starts(5)
    >>> margins = np.einsum("skk->sk", x) - x.mean(-1)
    >>> x.shape, bool((margins.mean(-1) > 0).all())
    ((5, 3, 3), True)
    """
    starts = []
    for seed in range(n_starts):
        x0 = Stream.of("elastic collapse", seed).normal("start", 3, (3, 3))
        starts.append(x0 * np.sign(np.trace(x0) - x0.sum() / 3))
    return np.array(starts)


def repulsion_that_fades(size: float) -> xr.DataArray:
    """An effect between classes β = −``size`` e^(−t), whose integral B stays above −``size``, for t up to 60.

    Examples
    --------
    >>> beta = repulsion_that_fades(0.4)
    >>> float(beta[0]), round(float(beta.integrate("time")), 3)
    (-0.4, -0.4)
    """
    at = np.linspace(0, 60, 6001)
    return xr.DataArray(-size * np.exp(-at), {"time": at}, "time")  # linear in between


def simplex_distance(inter: Any, times: Sequence[float] | np.ndarray, starts: np.ndarray) -> xr.DataArray:
    """How far the class means of an L-model are from a simplex, the equiangular tight frame of Eq. 10.

    The effect within classes is 1, and there is no noise.

    Parameters
    ----------
    inter : float, DataArray or PowerLaw
        The effect between classes β: one, several, or one that changes in time.
    times : (T,)
        When to measure, t ≥ 0.
    starts : ndarray, (n, K, K)
        Class means at t = 0: start, class, logit.

    Returns
    -------
    DataArray
        :func:`~deepmech.metrics.separability.etf_distance` over ``start``, the dimensions of ``inter`` and ``time``.

    Examples
    --------
    >>> simplex = np.eye(3)[None] - 1 / 3
    >>> bool((simplex_distance(-0.3, [0.0, 5.0], simplex) < 1e-12).all())
    True
    """
    model = ElasticSDE(1.0, inter, starts.shape[-1], structure="logits", noise=0.0)
    distances = [etf_distance(mean_solution(model, times, x0)["mean"]) for x0 in starts]
    return xr.concat(distances, over("start", range(len(starts))))


def mean_directions(inter: float, times: Sequence[float] | np.ndarray, starts: np.ndarray) -> xr.DataArray:
    """In which directions of the plane across (1, 1, 1) the three class means of an L-model lie; α = 1, no noise.

    Parameters
    ----------
    inter : float
        The effect between classes β.
    times : (T,)
        When to look, t ≥ 0.
    starts : ndarray, (n, 3, 3)
        Class means at t = 0: start, class, logit.

    Returns
    -------
    DataArray
        Unit vectors (:func:`~deepmech_book.analysis.elastic_sde.clouds.in_the_plane`) over ``time``, ``point`` and
        ``axis``; a point is a class of a start, and ``class`` says which.

    Examples
    --------
    >>> late = mean_directions(-0.3, [200.0], random_starts(2)).isel(time=0)
    >>> bool(np.allclose(late[late["class"] == 2], [0, -1]))  # the corner of the last class
    True
    """
    model = ElasticSDE(1.0, inter, 3, structure="logits", noise=0.0)
    means = [mean_solution(model, times, x0)["mean"].rename(feature="logit") for x0 in starts]
    flat = in_the_plane(xr.concat(means, over("start", range(len(starts)))))
    flat = flat / (flat**2).sum("axis") ** 0.5
    return flat.stack(point=("start", "class")).reset_index("point").transpose("time", "point", "axis")


def decay_rate(distance: xr.DataArray) -> xr.DataArray:
    """The rate at which a distance falls exponentially, mean over starts.

    Proposition 3.4 has −β/(K − 1): deviations from a simplex fall behind the mean margin as e^(B/(K − 1)).

    Parameters
    ----------
    distance : DataArray
        Over ``start``, ``time`` and any others; positive.

    Returns
    -------
    DataArray
        Minus the slope of its logarithm by least squares, per unit of time, over the other dimensions.

    Examples
    --------
    >>> t = np.arange(10.0)
    >>> curves = xr.DataArray([3 * np.exp(-0.2 * t), np.exp(-0.2 * t)], {"time": t}, ("start", "time"))
    >>> round(float(decay_rate(curves)), 9)
    0.2
    """
    slope = xr.apply_ufunc(np.log, distance).polyfit("time", 1).polyfit_coefficients.sel(degree=1)
    return -slope.mean("start")


def share_in_simplex(distance: xr.DataArray) -> Estimate:
    """The share of starts that are within :data:`NEAR` of a simplex, with its interval.

    Parameters
    ----------
    distance : DataArray
        Over ``start`` and any others, at one time.

    Examples
    --------
    >>> share_in_simplex(xr.DataArray([0.0, 0.05, 0.2, 0.9], dims="start")).value.item()
    0.5
    """
    return proportion((distance < NEAR).mean("start"), distance.sizes["start"])
