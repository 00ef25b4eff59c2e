"""When each lens sees a network change, and whether networks early through one are early through the others."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, crossing, jackknife, spearman
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import effects, integrated_effects, margins
from deepmech_book.experiments.elastic_sde.extensions_fit import begins

LENSES = {"load": "load (A)", "gap": "gap (B)", "overlap": "overlap (C)"}
"""One quantity for each paper, A, B and C: see :func:`quantities`."""
PAIRS = {f"{one} and {other}": (one, other) for one, other in combinations(LENSES, 2)}
LAST = 5
"""Stops at the end whose mean stands for where a quantity ends: a single step of one sample moves the last one."""
UNEVEN = 0.02
"""Share of training before which α₂ is not asked for its peak: displacements of a few steps are as uneven as these."""
NOISE = 3.0
"""How many standard deviations of margins before training are noise, as in :func:`.extensions_fit.begins`."""


def networks(run: xr.Dataset) -> xr.Dataset:
    """A run of :func:`.three_lenses.looked_at` with all trials in a row, ``network``, and times as shares."""
    one = run.stack(network=("group", "trial")).drop_vars(["network", "group", "trial"], errors="ignore")
    return one.assign_coords(time=one["time"] / float(one["time"][-1]))


def quantities(run: xr.Dataset) -> xr.DataArray:
    """What the lenses look at, over ``lens``, ``network`` and ``time``, each rising while a network learns.

    ``load``: the whole load D_0 − D_L. ``gap``: Â − B̂ = K log(s̄/s̄₀) of the mean own-class margin s̄ since it rose from
    its noise s̄₀, three standard deviations over networks before training; 0 before. ``overlap``: 1 − Q since the start.
    And beside them ``loss``: minus the held-out cross-entropy.
    """
    load = run["load"].isel(layer=0, drop=True) - run["load"].isel(layer=-1, drop=True)
    margin = margins(run["logits"].transpose("network", "time", "class", "logit")).mean("class")
    noise = NOISE * float(margin.isel(time=0).std("network", ddof=1))
    gap = run.sizes["class"] * xr.apply_ufunc(np.log, (margin / noise).clip(min=1.0))
    left = 1 - run["overlap"].sel(since="0", drop=True)
    lens = xr.Variable("lens", [*LENSES, "loss"])
    every: list[xr.DataArray] = [load, gap, left, -run["loss"]]
    return xr.concat(every, lens, coords="minimal", combine_attrs="drop").rename("value")


def progress(values: xr.DataArray) -> xr.DataArray:
    """The share of its whole change that a quantity has made, from the first stop to the mean of the last ones.

    Examples
    --------
    >>> progress(xr.DataArray([1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0], dims="time")).values.tolist()
    [0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    begin, end = values.isel(time=0), values.isel(time=slice(-LAST, None)).mean("time")
    return (values - begin) / (end - begin)


def half_times(share: xr.DataArray) -> xr.DataArray:
    """When half of the change is made for the first time, linear in the logarithm of time between stops.

    It is the same on any scale of time. Nan if that is before the first stop after the start, or never.

    Examples
    --------
    >>> t = [0.0, 10.0, 100.0, 1000.0]
    >>> half_times(xr.DataArray([0.0, 0.0, 1.0, 1.0], {"time": t}, "time")).round(1).item()
    31.6
    """
    later = share.isel(time=slice(1, None))
    at = np.log(later["time"].values)

    def half(curve: np.ndarray) -> float:
        return float(np.exp(crossing(at, curve, 0.5, way="rises")))

    return xr.apply_ufunc(half, later, input_core_dims=[["time"]], vectorize=True)


def at_times(values: xr.DataArray, times: xr.DataArray) -> xr.DataArray:
    """What each network's curve is at a time of its own, linear in the logarithm of time between stops.

    Examples
    --------
    >>> curve = xr.DataArray([[0.0, 1.0, 3.0]], {"time": [0.0, 1.0, 100.0]}, ("network", "time"))
    >>> at_times(curve, xr.DataArray([10.0], dims="network")).values.tolist()
    [2.0]
    """
    later = values.transpose("network", "time").isel(time=slice(1, None))
    log = np.log(later["time"].values)
    found = [np.interp(np.log(t), log, curve) for t, curve in zip(times.values, later.values, strict=True)]
    return xr.DataArray(found, dims="network")


def apart(x: xr.DataArray, y: xr.DataArray) -> tuple[xr.DataArray, float]:
    """By what factor two times of each network lie apart, as a logarithm, and the same for those of two networks.

    Returns
    -------
    |log x/y| over ``network``, and its mean over all pairs of different networks, one seen through each lens.
    """
    a, b = np.log(x.values), np.log(y.values)
    gaps = np.abs(a[:, None] - b)
    own = np.diagonal(gaps)
    return xr.DataArray(own, dims="network"), float((gaps.sum() - own.sum()) / (gaps.size - own.size))


def rank_over(x: np.ndarray, y: np.ndarray, given: np.ndarray | None = None) -> Estimate:
    """Spearman's ρ over networks with its interval; with ``given``, of what a third time leaves of both (partial).

    The interval leaves out networks in turn, on the scale of arctanh ρ.

    Examples
    --------
    >>> x = np.arange(20.0)
    >>> round(rank_over(x, x**2).value, 6), round(rank_over(x, -x).value, 6)
    (1.0, -1.0)
    """
    columns = [x, y] if given is None else [x, y, given]

    def rho(*of: np.ndarray) -> np.ndarray:
        both = spearman(of[0], of[1])
        if len(of) == 3:
            left, right = spearman(of[0], of[2]), spearman(of[1], of[2])
            both = (both - left * right) / np.sqrt((1 - left**2) * (1 - right**2))
        # Perfect order has no finite arctanh.
        return np.arctanh(np.clip(both, -1 + 1e-12, 1 - 1e-12))

    others = np.array([np.delete(np.arange(len(x)), i) for i in range(len(x))])
    value, without = float(rho(*columns)), rho(*(c[others] for c in columns))
    return jackknife(value, without, scatter="symmetric").map(lambda end: float(np.tanh(end)))


def by_chance(x: np.ndarray, y: np.ndarray) -> float:
    """The rank correlation that networks paired at random exceed in one of forty cases: the end of a 95 % range."""
    orders = _orders(len(x))
    return float(np.quantile(spearman(np.broadcast_to(x, orders.shape), y[orders]), 0.975))


@cache
def _orders(n: int) -> np.ndarray:
    streams = (Stream.of("networks paired at random", i) for i in range(1000))
    return np.array([stream.permutation("order", 0, n) for stream in streams])


def rates(values: xr.DataArray) -> xr.DataArray:
    """Change per unit of log time from each stop to the next, from the first stop after the start on."""
    later = values.isel(time=slice(1, None))
    log = np.log(later["time"].values)
    between = np.exp((log[1:] + log[:-1]) / 2)
    return later.diff("time").assign_coords(time=between) / xr.DataArray(np.diff(log), {"time": between}, "time")


def paired(x: xr.DataArray, y: xr.DataArray) -> np.ndarray:
    """Spearman's ρ over times between the first of network i and the second of network j, (i, j)."""
    a, b = (v.transpose("network", "time").values for v in (x, y))
    return np.stack([spearman(np.broadcast_to(row, b.shape), b) for row in a])


def own(values: xr.DataArray) -> xr.DataArray:
    """What is a network's own: without the mean over networks at each time."""
    return values - values.mean("network")


def shifted(x: xr.DataArray, y: xr.DataArray, lags: range) -> xr.DataArray:
    """Correlation over times of x with y so many stops later, over ``lag`` and ``network``."""
    a, b = (v.transpose("network", "time").values for v in (x, y))
    n = a.shape[1]

    def at(lag: int) -> np.ndarray:
        early, late = a[:, max(0, -lag) : n - max(0, lag)], b[:, max(0, lag) : n + min(0, lag)]
        u, v = (c - c.mean(1, keepdims=True) for c in (early, late))
        return (u * v).sum(1) / np.sqrt((u * u).sum(1) * (v * v).sum(1))

    return xr.DataArray([at(lag) for lag in lags], {"lag": list(lags)}, ("lag", "network"))


def most_uneven(run: xr.Dataset) -> xr.DataArray:
    """When the displacements since the start are most uneven: the time of the peak of α₂ after :data:`UNEVEN`."""
    alpha = run["alpha2"].sel(since="0", drop=True)
    return alpha.where(alpha["time"] >= UNEVEN).idxmax("time")


def effects_in_log_time(run: xr.Dataset) -> xr.Dataset:
    """α̂ and β̂ by the L-model from mean logits over networks, per unit of log time, once margins exceed their noise."""
    logits = run["logits"].transpose("network", "time", "class", "logit")
    means = logits.mean("network").isel(time=slice(max(1, begins(logits.rename(network="group"))), None))
    log = np.log(means["time"].values)
    even = np.linspace(log[0], log[-1], len(log))
    found = effects(integrated_effects(means.assign_coords(time=log).interp(time=even), "L"), window=9)
    return found.assign_coords(time=np.exp(even))
