"""When classes come apart, in numbers: Theorems 2.1 and 3.1 made sharp for the I-model."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import comb, log_ndtr

from deepmech.core import specs
from deepmech.core.labels import Number
from deepmech.simulators.elastic_sde.model import ElasticSDE
from deepmech.simulators.elastic_sde.solution import checked_times, mode_exponents

_MOST_POINTS = 500
"""Of each class; beyond it C(2n, n) is larger than any float."""


def separated_by_chance(n: int) -> float:
    """Probability 2/C(2n, n) that n + n points of one law on a line are separated (paper B, footnote 5).

    On a line only: in p dimensions any two classes of n ≤ (p + 1)/2 points in general position are separable.

    Parameters
    ----------
    n : int
        Points of each class, a whole number of at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        Unless n is a whole number from 1 to 500.

    Examples
    --------
    >>> [round(separated_by_chance(n), 4) for n in (1, 2, 5)]
    [1.0, 0.3333, 0.0079]
    """
    n = specs.check_int("separated_by_chance: n", n, 1, _MOST_POINTS)
    return float(2 / comb(2 * n, n, exact=True))


def separation_probability(signal: Any, n: int) -> Any:
    """Probability that n + n points on a line are separated, for two normal laws of equal width.

    Parameters
    ----------
    signal : array_like or DataArray
        Distance of the two means in standard deviations, any shape or a DataArray.
    n : int
        Points per class.

    Returns
    -------
    array or DataArray like ``signal``
        P(min X > max Y) + P(max X < min Y), by the trapezoidal rule on the law of the minimum; 2/C(2n, n) at 0.

    Raises
    ------
    ValueError
        Unless ``signal`` is real and n a whole number from 1 to 500.

    Examples
    --------
    >>> [round(float(p), 4) for p in separation_probability(np.array([0.0, 3.0, 8.0]), 5)]
    [0.0079, 0.7683, 1.0]
    """
    n = specs.check_int("separation_probability: n", n, 1, _MOST_POINTS)
    if isinstance(signal, xr.DataArray):
        return signal.copy(data=separation_probability(signal.values, n))
    # Many cells of a diagram share a value (0 and beyond 60 widths at the least): each is worked out once.
    s, back = np.unique(
        np.clip(specs.check_array("separation_probability: signal", signal), -60, 60), return_inverse=True
    )
    u = np.linspace(-12, 12, 961)  # smooth and dying out at both ends: the rule's error falls exponentially
    log_density = np.log(n) - u * u / 2 - np.log(2 * np.pi) / 2 + (n - 1) * log_ndtr(-u)
    total = sum(np.exp(log_density + n * log_ndtr(u + sign * s[:, None])).sum(-1) for sign in (1, -1))
    return np.minimum(total * (u[1] - u[0]), 1.0)[back].reshape(np.shape(signal))[()]


def mean_over_noise(model: ElasticSDE, times: Any, distance: float = 1.0, start_spread: float = 0.0) -> xr.DataArray:
    r"""Distance of two class means over the width of a class in the I-model, in the limit of many samples.

    .. math:: \frac{|c_k-c_l|\,e^{(A-B)/K}}{\sqrt{s_0^2+\sigma^2t}}

    Along the line through the two means this is the whole story: classes come apart where it grows without bound, and
    with α − β = a/(1 + t) it does so exactly for a > K/2. (Theorem 3.1 speaks of the smaller of α − β and α + (K −
    1)β, of which the second has no part in it.)

    Parameters
    ----------
    model : ElasticSDE
        Isotropic, all classes alike.
    times : array_like
        t > 0, rising (t = 0 too, if ``start_spread`` > 0).
    distance : float
        |c_k − c_l| at t = 0.
    start_spread : float
        s₀, the width of a class at t = 0.

    Returns
    -------
    DataArray
        Over the model's dimensions and ``time``; dimensionless.

    Raises
    ------
    ValueError
        For another structure, classes that differ, times that do not fit, or a class without width.

    Examples
    --------
    >>> from deepmech.simulators.elastic_sde import PowerLaw
    >>> edge = ElasticSDE(intra=PowerLaw(1.0, 1.0), n_classes=2)  # a = 1 = K/2
    >>> mean_over_noise(edge, [1.0, 1e6], start_spread=1.0).values.round(6).tolist()
    [1.0, 1.0]
    """
    specs.check_type("mean_over_noise: model", model, ElasticSDE)
    specs.check_real("mean_over_noise: distance", distance)
    specs.check_real("mean_over_noise: start_spread", start_spread, 0, 1e150, allowed="a number from 0 to 1e150")
    if not model.isotropic or not model.symmetric:
        raise ValueError("mean_over_noise: needs structure='isotropic' and classes that are all alike")
    t, grid = checked_times(times), model.grid()
    growth, _ = mode_exponents(model, grid, t)
    width = np.sqrt(start_spread**2 + np.asarray(grid.flat["noise"], float)[:, None] ** 2 * t)
    if not width.all():
        raise ValueError("mean_over_noise: a class has no width at t = 0; leave t = 0 out or give start_spread > 0")
    dims, data = grid.unflatten(distance * np.exp(growth) / width, "time")
    return xr.DataArray(data, dims=dims, coords={**grid.coords, "time": t}, name="mean_over_noise")


def critical_strength(n_classes: int, label_noise: Number = 0.0) -> Any:
    """The a of α − β = a/(1 + t) above which classes separate in the I-model: K/2 with true labels.

    With a fraction w of labels spread evenly over the other classes the gap acts as (1 − wK/(K − 1)) times itself;
    from w = (K − 1)/K on, where labels say nothing about classes, no strength is enough (inf).

    Parameters
    ----------
    n_classes : int
        K.
    label_noise : number or DataArray
        w, a fraction of labels, or a labelled array of them.

    Returns
    -------
    float or DataArray

    Raises
    ------
    ValueError
        For less than two classes, or a fraction that is no number.

    Examples
    --------
    >>> critical_strength(3), critical_strength(3, 0.5), critical_strength(3, 2 / 3)
    (1.5, 6.0, inf)
    """
    specs.check_int("critical_strength: n_classes", n_classes, 2, 2**53)
    specs.check_numbers("critical_strength", label_noise=label_noise)
    kept = 1 - label_noise * n_classes / (n_classes - 1)
    if isinstance(kept, xr.DataArray):
        return xr.where(kept > 1e-12, n_classes / 2 / kept.where(kept > 1e-12, 1.0), np.inf)
    return n_classes / 2 / kept if kept > 1e-12 else float("inf")
