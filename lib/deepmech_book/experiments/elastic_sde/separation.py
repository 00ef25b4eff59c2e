"""When classes come apart: Theorems 2.1 and 3.1 by simulation and in numbers, chance, directions, neural collapse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, leave_one_out, proportion
from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.collapse import etf_distance
from deepmech.metrics.separability import best_direction, linearly_separable, separable, separated_along
from deepmech.simulators.elastic_sde import (
    ElasticSDE,
    PowerLaw,
    critical_strength,
    mean_over_noise,
    mean_solution,
    separated_by_chance,
    separation_probability,
    simulate,
)

SIDES = {2: 3.4, 3: 3.8, 4: 4.0, 5: 4.1}
"""Distances of class means, in widths, at which about half of the runs with 15 samples in the plane are separable."""
START_SPREAD, LATE = 0.5, 100.0
"""Width of a class at the start, where class means are one unit apart, and when Theorem 2.1 is looked at."""


def _two_classes(gaps: Sequence[float]) -> ElasticSDE:
    gap = over("gap", gaps)
    return ElasticSDE(intra=0.1 + gap / 2, inter=0.1 - gap / 2)


def binary(gaps: Sequence[float], samples: Sequence[int], n_runs: int = 400) -> xr.Dataset:
    """Theorem 2.1: two classes on a line, α + β = 0.2, unit noise, means one unit apart.

    Returns
    -------
    Dataset
        Over ``n`` and ``gap`` = α − β: ``share`` of runs that are separated at :data:`LATE` (exact law, the LE-ODE's
        means in the drift as in the paper), its ``low`` and ``high`` (95 %), ``theory`` in closed form, ``chance``.
    """
    shares = []
    for n in samples:
        run = simulate(_two_classes(gaps), [LATE], [[0.5], [-0.5]], n, n_runs, START_SPREAD, mean="infinite")
        apart = separated_along(run.feature_value.isel(time=0, drop=True), [1.0])
        shares.append(apart.isel(pair=0, drop=True).mean("run"))
    share = xr.concat(shares, over("n", samples))
    low, high = proportion(share, n_runs).interval
    chance = ("n", [separated_by_chance(n) for n in samples])
    theory = binary_theory(gaps, samples)
    return xr.Dataset({"share": share, "low": low, "high": high, "theory": theory, "chance": chance})


def binary_theory(gaps: Sequence[float], samples: Sequence[int]) -> xr.DataArray:
    """The probability that :func:`binary` counts, in closed form, over ``n`` and ``gap``."""
    signal = mean_over_noise(_two_classes(gaps), [LATE], start_spread=START_SPREAD).isel(time=0, drop=True)
    return xr.concat([separation_probability(signal, n) for n in samples], over("n", samples))


def effect_plane(intra: Sequence[float], inter: Sequence[float]) -> xr.DataArray:
    """Theorem 2.1: probability that two classes of 20 are separated, over ``intra`` and ``inter``."""
    model = ElasticSDE(over("intra", intra), over("inter", inter))
    signal = mean_over_noise(model, [LATE], start_spread=START_SPREAD).isel(time=0, drop=True)
    return separation_probability(signal, 20).rename("probability")


def by_chance(features: Sequence[int], samples: Sequence[int], n_draws: int = 300) -> xr.DataArray:
    """Share of draws in which n + n points of one normal law are linearly separable, over ``p`` and ``n``."""
    out = np.empty((len(features), len(samples)))
    for i, p in enumerate(features):
        for j, n in enumerate(samples):
            found = 0
            for draw in range(n_draws):
                x = Stream.of("elastic chance", draw).normal("points", 100 * p + n, (2 * n, p))
                found += linearly_separable(x[:n], x[n:])
            out[i, j] = found / n_draws
    return xr.DataArray(out, dims=("p", "n"), coords={"p": list(features), "n": list(samples)}, name="share")


def threshold(
    n_classes: int, factors: Sequence[float], times: Sequence[float], n_runs: int = 100, label_noise: float = 0.0
) -> xr.DataArray:
    """Theorem 3.1 at its edge: α = a/(1 + t), β = 0 in the I-model, features in the plane.

    Class means start as corners of a regular polygon with sides :data:`SIDES`, classes with the width of the noise, so
    that at a = K/2 mean and width grow alike and the chance of separation is the same at all times.

    Returns
    -------
    DataArray of bool
        ``separable`` by hyperplanes of their own for all pairs, over ``factor`` = a/(K/2), ``run`` and ``time``.
    """
    law = PowerLaw(over("factor", factors) * critical_strength(n_classes, label_noise), 1.0)
    model = ElasticSDE(law, 0.0, n_classes, 2, label_mixing=label_noise)
    angles = 2 * np.pi * np.arange(n_classes) / n_classes
    x0 = SIDES[n_classes] / 2 / np.sin(np.pi / n_classes) * np.stack([np.cos(angles), np.sin(angles)], 1)
    run = simulate(model, times, x0, 15, n_runs, 1.0, mean="infinite")
    return separable(run.feature_value).all("pair").rename("separable")


def crossing(separable_runs: xr.DataArray) -> Estimate:
    """Where the curves of the first and the last time cross, over ``factor``: its interval is over runs.

    Below the threshold waiting makes separation less likely, above it more so; a straight line through the difference
    of the two shares, near its zero, gives the place.
    """
    change = separable_runs.isel(time=-1).astype(float) - separable_runs.isel(time=0).astype(float)
    rows = change.transpose("run", "factor").values
    x = change.factor.values

    def zero(values: np.ndarray) -> float:
        slope, offset = np.polyfit(x, values, 1)
        return float(-offset / slope)

    value = zero(rows.mean(0))
    return jackknife(value, np.array([zero(m) for m in leave_one_out(rows)]), scatter="skewed")


def decay_diagram(strengths: Sequence[float], exponents: Sequence[float]) -> xr.DataArray:
    """Probability that two classes of 50 are separated along the line of their means for α − β = a/(1 + t)^r.

    In closed form, over ``r`` and ``a``, for three classes at t = 10⁶; means are 5 widths apart at t = 0. The logarithm
    of signal over noise is cut off at 600.
    """
    model = ElasticSDE(PowerLaw(over("a", strengths), over("r", exponents)), n_classes=3)
    with np.errstate(over="ignore"):
        signal = mean_over_noise(model, [1e6], distance=5.0, start_spread=1.0).isel(time=0, drop=True)
    return separation_probability(signal.clip(max=1e300), 50).rename("probability")


def directions(n_draws: int = 300) -> xr.Dataset:
    """How well three choices of a common direction keep projected class means apart (App. C.3), over ``draw``.

    ``gap``, the smallest distance of projected means relative to the best possible one, per ``choice``: "best"
    (Eq. C.23), "two classes" (Eq. C.24: the difference of two means, the best of all pairs), "first pair" (Eq. C.24
    for an arbitrary pair), "random".
    """
    names = ("best", "two classes", "first pair", "random")
    out = np.empty((n_draws, len(names)))
    for draw in range(n_draws):
        stream = Stream.of("elastic directions", draw)
        m = stream.normal("means", 0, (3, 3))
        _, best = best_direction(m)
        tried = [m[1] - m[0], m[2] - m[0], m[2] - m[1], stream.normal("nu", 0, 3)]
        *pairs, random = (float(np.diff(np.sort(m @ nu / np.linalg.norm(nu))).min()) for nu in tried)
        out[draw] = np.array([best, max(pairs), pairs[0], random]) / best
    return xr.Dataset({"gap": (("draw", "choice"), out)}, {"draw": np.arange(n_draws), "choice": list(names)})


def random_means(seed: int, n_classes: int) -> np.ndarray:
    """Random class means whose mean margin is positive, (K, K)."""
    x0 = Stream.of("elastic collapse", seed).normal("start", n_classes, (n_classes, n_classes))
    return np.asarray(x0 * np.sign(np.trace(x0) - x0.sum() / n_classes))


def collapse(inter: Sequence[float], n_classes: int = 3, t_end: float = 120.0, n_starts: int = 20) -> xr.DataArray:
    """Distance of the L-model's class means from an equiangular tight frame (Prop. 3.4), constant effects.

    Over ``inter`` β, ``start`` (random class means) and ``time``; sides of the simplex are decided by the sign of the
    mean margin, which starts out positive here as it does in training.
    """
    model = ElasticSDE(1.0, over("inter", inter), n_classes, structure="logits", noise=0.0)
    starts, times = (random_means(seed, n_classes) for seed in range(n_starts)), np.linspace(0, t_end, 31)
    found = [etf_distance(mean_solution(model, times, x0)["mean"]) for x0 in starts]
    return xr.concat(found, over("start", range(n_starts)))


def collapse_rate(distance: xr.DataArray) -> xr.DataArray:
    """Rate at which the distance falls in the last half of the time: minus the slope of its logarithm."""
    late = distance.isel(time=slice(distance.sizes["time"] // 2, None))
    fit = xr.apply_ufunc(np.log, late).polyfit("time", 1).polyfit_coefficients.sel(degree=1)
    return -fit.mean("start")


def stationary_inter(n_starts: int = 60) -> xr.DataArray:
    """Prop. 3.4 with B(t) < 0 that stays bounded: β = −0.4 e^{−t}, α = 1, K = 3; over ``start``.

    Distance from an equiangular tight frame at t = 60, mean margin positive at the start.
    """

    def fading(t: Any) -> Any:
        return -0.4 * np.exp(-np.asarray(t, float))

    model = ElasticSDE(1.0, fading, 3, structure="logits", noise=0.0)
    ends = [mean_solution(model, [60.0], random_means(seed, 3))["mean"].isel(time=0) for seed in range(n_starts)]
    return xr.DataArray([float(etf_distance(end)) for end in ends], dims="start")


def for_all_times(
    factors: Sequence[float], decades: tuple[int, int] = (2, 8), per_decade: int = 20, n_runs: int = 200
) -> xr.Dataset:
    """Separation on a line with α − β = a/(1 + t), K = 2: at each time, and at all recorded times so far.

    The second is what a direction fixed for all times asks for (Definition C.4), seen through recorded times evenly
    spaced in log t.

    Returns
    -------
    Dataset
        ``now`` and ``ever_since``, true or false, over ``factor`` = a/(K/2), ``run`` and ``time``.
    """
    times = 10.0 ** np.linspace(*decades, (decades[1] - decades[0]) * per_decade + 1)
    model = ElasticSDE(PowerLaw(over("factor", factors) * critical_strength(2), 1.0))
    run = simulate(model, times, [[2.5], [-2.5]], 15, n_runs, 1.0, mean="infinite")
    x = run.feature_value.isel(feature=0, drop=True)
    # On the side where the first class started: the direction is fixed once and for all.
    apart = x.sel({"class": 0}).min("sample") > x.sel({"class": 1}).max("sample")
    so_far = np.minimum.accumulate(apart.transpose(..., "time").values, axis=-1)
    both = apart.transpose(..., "time")
    return xr.Dataset({"now": both, "ever_since": both.copy(data=so_far)})
