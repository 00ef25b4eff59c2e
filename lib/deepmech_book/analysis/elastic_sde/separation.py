"""When classes separate: Theorems 2.1 and 3.1 of paper B, chance, the edge between them, and Definitions C.1 to C.4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy.linalg import expm

from deepmech.core.estimates import Estimate, jackknife, leave_one_out
from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.separability import linearly_separable, separable, separated_along
from deepmech.simulators.elastic_sde import (
    ElasticSDE,
    PowerLaw,
    critical_strength,
    drift_matrix,
    mean_over_noise,
    mixed_logits,
    separated_by_chance,
    separation_probability,
    simulate,
)

__all__ = [
    "along_a_random_direction",
    "chance_on_a_line",
    "change_in_time",
    "crossing_strength",
    "fading_features",
    "probability_at",
    "separable_at_the_edge",
    "separable_by_chance",
    "share_separated",
    "two_classes",
]

SIDES = {2: 3.4, 3: 3.8, 4: 4.0, 5: 4.1}
"""By number of classes: side of the polygon of class means, in widths; about half of the runs are separable then."""


def two_classes(gaps: Any) -> ElasticSDE:
    """Models of two classes whose effects differ by α − β = ``gap`` and add up to 0.2.

    Examples
    --------
    >>> model = two_classes([0.1])
    >>> float(model.intra[0]), round(float(model.inter[0]), 12)
    (0.15000000000000002, 0.05)
    """
    gap = over("gap", gaps)
    return ElasticSDE(intra=0.1 + gap / 2, inter=0.1 - gap / 2)


def share_separated(gaps: Any, n_samples: Sequence[int], n_runs: int) -> xr.DataArray:
    """Share of simulated runs in which two classes on a line are separated at t = 100 (Theorem 2.1).

    Means start one unit apart, and classes half a unit wide. Samples move with the expected mean of their class. Runs
    of one number of samples share their random numbers.

    Parameters
    ----------
    gaps : sequence of float
        α − β of the models (:func:`two_classes`).
    n_samples : sequence of int
        Samples of each class.
    n_runs : int
        Runs behind each share.

    Returns
    -------
    DataArray
        Over ``n`` and ``gap``, from 0 to 1.
    """
    shares = []
    for n in n_samples:
        run = simulate(two_classes(gaps), [100.0], [[0.5], [-0.5]], n, n_runs, 0.5, mean="infinite")
        apart = separated_along(run.feature_value.isel(time=0, drop=True), [1.0])
        shares.append(apart.isel(pair=0, drop=True).mean("run"))
    return xr.concat(shares, over("n", list(n_samples)))


def probability_at(
    model: ElasticSDE, time: float, n: int | Sequence[int], distance: float = 1.0, start_spread: float = 0.5
) -> xr.DataArray:
    """Probability that two classes are separated along the line of their means, in closed form.

    Parameters
    ----------
    model : ElasticSDE
        Isotropic, with classes that are all alike.
    time : float
        When, t > 0.
    n : int or sequence of int
        Samples of each class.
    distance, start_spread : float
        Of the class means, and width of a class, at t = 0.

    Returns
    -------
    DataArray
        Over the dimensions of the model, from 0 to 1; over ``n`` too, if there are several.

    Examples
    --------
    >>> round(float(probability_at(ElasticSDE(0.1, 0.1), 100.0, 2, distance=0.0)), 4)  # chance
    0.3333
    """
    with np.errstate(over="ignore"):
        signal = mean_over_noise(model, [time], distance=distance, start_spread=start_spread)
    signal = signal.isel(time=0, drop=True).clip(max=1e300)
    if isinstance(n, int):
        return separation_probability(signal, n)
    return xr.concat([separation_probability(signal, k) for k in n], over("n", list(n)))


def separable_by_chance(dimensions: Sequence[int], n_samples: Sequence[int], n_draws: int) -> xr.DataArray:
    """Share of draws in which n + n points of one normal law in p dimensions can be separated by a hyperplane.

    Parameters
    ----------
    dimensions, n_samples : sequence of int
        Numbers p of dimensions, and n of points of each class.
    n_draws : int
        Draws behind each share.

    Returns
    -------
    DataArray
        Over ``p`` and ``n``, from 0 to 1. On a line 2/C(2n, n) is expected; up to 2n = p + 1 it is 1.

    Examples
    --------
    >>> separable_by_chance([1, 3], [1, 2], 5).sel(n=1).values.tolist()
    [1.0, 1.0]
    """
    shares = np.zeros((len(dimensions), len(n_samples)))
    for i, p in enumerate(dimensions):
        for j, n in enumerate(n_samples):
            hits = 0
            for draw in range(n_draws):
                x = Stream.of("elastic chance", draw).normal("points", 100 * p + n, (2 * n, p))
                hits += linearly_separable(x[:n], x[n:])
            shares[i, j] = hits / n_draws
    return xr.DataArray(shares, {"p": list(dimensions), "n": list(n_samples)}, ("p", "n"))


def chance_on_a_line(n_samples: Sequence[int]) -> xr.DataArray:
    """The paper's formula 2/C(2n, n) for the share of :func:`separable_by_chance` with p = 1 (footnote 5), over ``n``.

    Examples
    --------
    >>> chance_on_a_line([1, 2]).round(4).values.tolist()
    [1.0, 0.3333]
    """
    return over("n", list(n_samples)).copy(data=[separated_by_chance(n) for n in n_samples])


def fading_features(
    exponents: Sequence[float], times: Sequence[float], n_runs: int, n_classes: int = 3, n_samples: int = 15
) -> xr.DataArray:
    """Samples of classes whose effects fade as 1/(1 + t)^r, for three kinds of directions H (Theorem 3.1).

    The effect within classes is 1/(1 + t)^r, that between them −1/5 of it. As in the proof of the theorem, a sample
    moves with the expected mean of its class and has noise of its own, of strength 1. Class means and samples start
    normal. Runs of all kinds and exponents share their random numbers.

    Parameters
    ----------
    exponents : sequence of float
        r.
    times : sequence of float
        When samples are recorded, rising.
    n_runs : int
        Runs of each kind and exponent.
    n_classes, n_samples : int
        Classes K, with as many features, and samples of each.

    Returns
    -------
    DataArray
        Over ``model`` ("I-model", "L-model" and "random $H$": positive semi-definite, with ones on its diagonal),
        ``r``, ``run``, ``time``, ``class``, ``sample`` and ``feature``.
    """
    k, equal = n_classes, (np.full(n_classes, 1 / n_classes), np.eye(n_classes)[None])
    pulls = {"I-model": np.broadcast_to(np.eye(k), (k, k, k, k)), "L-model": mixed_logits(k, 1.0)}
    integrals = [PowerLaw.flat(1.0, r, 0.0)[1](np.array(times)) for r in exponents]
    width = np.sqrt(np.diff(times, prepend=0.0))[:, None, None, None]
    names = [*pulls, "random $H$"]
    features = np.empty((len(names), len(exponents), n_runs, len(times), k, n_samples, k))
    for run in range(n_runs):
        stream = Stream.of("fading effects", run)
        start = stream.normal("means", 0, (k, k))
        first = stream.normal("samples", 0, (k, n_samples, k))
        noise = (stream.normal("noise", 0, (len(times), k, n_samples, k)) * width).cumsum(0)
        for i, name in enumerate(names):
            blocks = pulls[name] if name in pulls else _random_blocks(stream, k)
            drift = drift_matrix(1.2 * np.eye(k) - 0.2, blocks, *equal)[0]
            for j, integral in enumerate(integrals):
                mean = np.stack([(expm(drift * a) @ start.ravel()).reshape(k, 1, k) for a in integral])
                features[i, j, run] = mean + first + noise
    labels = {"model": names, "r": list(exponents), "time": list(times)}
    return xr.DataArray(features, labels, ("model", "r", "run", "time", "class", "sample", "feature"))


def along_a_random_direction(features: xr.DataArray) -> xr.DataArray:
    """Whether one direction, drawn at random before, separates all pairs of classes (Definition C.3).

    Parameters
    ----------
    features : DataArray
        Over ``class``, ``sample`` and ``feature`` (three of them), and any others.

    Returns
    -------
    DataArray of bool
        Over the others.
    """
    direction = Stream.of("random direction").normal("nu", 0, 3)
    return separated_along(features, direction).all("pair")


def _random_blocks(stream: Stream, k: int) -> np.ndarray:
    """H_kl of a random positive semi-definite H with ones on its diagonal, (K, K, K, K)."""
    root = stream.normal("H", 0, (k * k, k * k))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return (root @ root.T).reshape(k, k, k, k).transpose(0, 2, 1, 3)


def separable_at_the_edge(
    n_classes: int, factors: Sequence[float], times: Sequence[float], n_runs: int
) -> xr.DataArray:
    """Whether all pairs of classes are separable, for effects that fade as a/(1 + t) with a near the threshold K/2.

    K classes of 15 samples each, in the plane, start at the corners of a polygon (:data:`SIDES`), as wide as the noise.

    Parameters
    ----------
    n_classes : int
        K, from 2 to 5.
    factors : sequence of float
        a over K/2.
    times : sequence of float
        When to look.
    n_runs : int
        Runs of each strength.

    Returns
    -------
    DataArray of bool
        Over ``factor``, ``run`` and ``time``.
    """
    law = PowerLaw(over("factor", factors) * critical_strength(n_classes), 1.0)
    angles = 2 * np.pi * np.arange(n_classes) / n_classes
    corners = np.stack([np.cos(angles), np.sin(angles)], 1)
    start = SIDES[n_classes] / 2 / np.sin(np.pi / n_classes) * corners
    run = simulate(ElasticSDE(law, 0.0, n_classes, 2), times, start, 15, n_runs, 1.0, mean="infinite")
    return separable(run.feature_value).all("pair")


def change_in_time(runs: xr.DataArray) -> xr.DataArray:
    """What was true at the last time less what was true at the first: 1, 0 or −1 for each run.

    Examples
    --------
    >>> change_in_time(xr.DataArray([[True, False], [True, True]], dims=("run", "time"))).values.tolist()
    [-1.0, 0.0]
    """
    return runs.isel(time=-1).astype(float) - runs.isel(time=0).astype(float)


def crossing_strength(runs: xr.DataArray) -> Estimate:
    """The strength at which the curves of the first and the last time cross, with its interval over runs.

    Below it waiting makes separation less likely, above it more so. A straight line is laid through the difference of
    the two curves, by least squares; its zero is the crossing.

    Parameters
    ----------
    runs : DataArray of bool
        Over ``factor``, ``run`` and ``time``: whether classes are separable (:func:`separable_at_the_edge`).

    Returns
    -------
    Estimate
        In units of ``factor``.
    """
    rows = change_in_time(runs).transpose("run", "factor").values

    def zero(values: np.ndarray) -> float:
        slope, offset = np.polyfit(runs["factor"].values, values, 1)
        return float(-offset / slope)

    without = np.array([zero(m) for m in leave_one_out(rows)])
    return jackknife(zero(rows.mean(0)), without, scatter="skewed")
