"""Regimes of temperature: where free walks would be faster than the landscape alone, and what τ does there.

A ``table`` is what :func:`deepmech_book.analysis.glass.phases.times` makes: times τ over temperature beside those that
free walks would take in the same windows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, unknown
from deepmech.metrics.relaxation import CROSSED, exponent, interval_by_factors
from deepmech_book.analysis.glass import phases

__all__ = [
    "NEVER_HOT", "crossover", "crossover_without", "over_free", "power", "power_of_temperature", "select_cold",
    "select_crossed", "select_hot", "time_at_rest", "time_within_record",
]  # fmt: skip

NEVER_HOT = "the record sees no temperature at which a free walk would be ten times faster than the landscape alone"
"""Why a record leaves a claim about the hot regime open."""


def time_at_rest(table: xr.Dataset) -> float:
    """τ at T = 0, where only the landscape moves the weights; infinite if the record ends before.

    Parameters
    ----------
    table : over ``temperature`` (0 among them), with ``tau`` in steps and ``state`` of :func:`decorrelation_times`.

    Returns
    -------
    float, in steps

    Examples
    --------
    >>> tau, state = ("temperature", [500.0, 20.0]), ("temperature", [CROSSED, CROSSED])
    >>> time_at_rest(xr.Dataset({"tau": tau, "state": state}, {"temperature": [0.0, 0.1]}))
    500.0
    """
    found = table.sel(temperature=0.0)
    return float(found.tau) if found.state == CROSSED else np.inf


def time_within_record(run: xr.Dataset, table: xr.Dataset) -> float:
    """:func:`time_at_rest`, or in its place the end of the record after the first wait, where that comes before.

    Parameters
    ----------
    run : walks over ``time`` and ``waiting``, with ``overlap``.
    table : of their times, as of :func:`time_at_rest`.
    """
    return min(time_at_rest(table), float(phases.overlaps(run).time[-1]))


def select_hot(table: xr.Dataset, rest: float | None = None) -> xr.Dataset:
    """Temperatures at which a free walk would be at least ten times faster than the landscape alone.

    Parameters
    ----------
    table : as of :func:`time_at_rest`, with ``free`` too, the time τ of free walks, in steps.
    rest : time of the landscape alone, in steps; by default :func:`time_at_rest`.

    Returns
    -------
    Dataset, of these temperatures

    Examples
    --------
    >>> tau, free, state = ([500.0, 90.0, 6.0], [np.inf, 100.0, 5.0], [CROSSED] * 3)
    >>> data = {name: ("temperature", values) for name, values in (("tau", tau), ("free", free), ("state", state))}
    >>> table = xr.Dataset(data, {"temperature": [0.0, 0.01, 0.2]})
    >>> select_hot(table).temperature.values.tolist(), select_cold(table, 0.1).temperature.values.tolist()
    ([0.2], [0.01])
    """
    rest = time_at_rest(table) if rest is None else rest
    return table.isel(temperature=np.flatnonzero((table.free * 10.0 < rest) & np.isfinite(table.tau)))


def select_cold(table: xr.Dataset, ratio: float = 10.0) -> xr.Dataset:
    """Temperatures above 0 at which a free walk would be at least ``ratio`` times slower than the landscape alone.

    Parameters
    ----------
    table : as of :func:`select_hot`.
    ratio : of the times of free walks and of the landscape alone.

    Returns
    -------
    Dataset, of these temperatures
    """
    slower = (table.free > time_at_rest(table) * ratio) & (table.temperature > 0) & np.isfinite(table.tau)
    return table.isel(temperature=np.flatnonzero(slower))


def select_crossed(table: xr.Dataset) -> xr.Dataset:
    """Temperatures above 0 at which the record sees τ.

    Parameters
    ----------
    table : as of :func:`time_at_rest`.

    Returns
    -------
    Dataset, of these temperatures
    """
    return table.isel(temperature=np.flatnonzero((table.temperature > 0) & (table.state == CROSSED)))


def power_of_temperature(table: xr.Dataset) -> Estimate:
    """The power of T that τ follows over a table's temperatures, with its interval over runs.

    Of fewer than two temperatures it is nan, and the interval says why.

    Parameters
    ----------
    table : over ``temperature``, with ``tau`` and ``without`` of :func:`decorrelation_times`.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> t, shake = np.array([0.01, 0.1, 1.0]), np.array([[0.9], [1.0], [1.1]])
    >>> data = {"tau": ("temperature", 1 / t), "without": (("seed", "temperature"), shake / t)}
    >>> round(power_of_temperature(xr.Dataset(data, {"temperature": t})).value, 6)
    -1.0
    """
    if table.sizes["temperature"] < 2:
        return unknown("fewer than two temperatures of the record lie in this regime")
    return power(table.temperature.values, table.tau.values, table.without.transpose("seed", "temperature").values)


def power(x: np.ndarray, y: np.ndarray, without: np.ndarray) -> Estimate:
    """The power of x that y follows, with its interval over runs.

    Parameters
    ----------
    x, y : (n,) > 0, as of :func:`exponent`.
    without : (seed, n), y without each run.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> x = np.array([1.0, 10.0])
    >>> round(power(x, x**2, np.array([x**1.9, x**2, x**2.1])).value, 6)
    2.0
    """
    each = [exponent(x, w).value if np.isfinite(w).all() else np.nan for w in without]
    return jackknife(exponent(x, y).value, np.array(each), scatter="symmetric")


def over_free(table: xr.Dataset) -> Estimate:
    """τ over the exact time of free walks, for each temperature; its interval is over runs, each with its window.

    Parameters
    ----------
    table : as of :func:`select_hot`, with ``without`` and ``free_without`` over ``seed`` too, both without each run.

    Returns
    -------
    Estimate, over ``temperature``
    """
    ratio = table.tau / table.free
    if ratio.size == 0:
        return unknown(NEVER_HOT)
    each = (table.without / table.free_without).transpose("seed", "temperature").values
    return replace(interval_by_factors(ratio, each).map(lambda end: ratio.copy(data=end)), value=ratio)


def crossover(table: xr.Dataset) -> float:
    """T*: where the free walk would take as long as the landscape alone; 0 if the landscape never moves the weights.

    Parameters
    ----------
    table : as of :func:`select_hot`; the time of a free walk falls as 1/T.

    Returns
    -------
    float, a temperature

    Examples
    --------
    >>> data = {"tau": ("temperature", [50.0, 6.0]), "free": ("temperature", [np.inf, 5.0])}
    >>> data["state"] = ("temperature", [CROSSED] * 2)
    >>> crossover(xr.Dataset(data, {"temperature": [0.0, 0.2]}))
    0.02
    """
    first = table.isel(temperature=int(np.argmax(table.temperature.values)))
    return float(first.free * first.temperature) / time_at_rest(table)


def crossover_without(table: xr.Dataset) -> np.ndarray:
    """:func:`crossover` without each run, (seed,); ``table`` as of :func:`over_free`."""
    first = table.isel(temperature=int(np.argmax(table.temperature.values)))
    return np.asarray(first.free_without * first.temperature / table.without.sel(temperature=0.0))
