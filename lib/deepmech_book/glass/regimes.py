"""Regimes of temperature: where free walks would be faster than the landscape alone, and what τ does there.

A ``table`` is what ``phases.times`` makes: times τ over temperature beside those of free walks in the same windows.
"""

from dataclasses import replace

import numpy as np

from deepmech.core.estimates import jackknife, unknown
from deepmech.metrics.relaxation import CROSSED, exponent, interval_by_factors
from deepmech_book.glass import phases

NEVER_HOT = "the record sees no temperature at which a free walk would be ten times faster than the landscape alone"
"""Why a record leaves a claim about the hot regime open."""


def time_at_rest(table):
    """τ at T = 0, where only the landscape moves the weights; infinite if the record ends before."""
    found = table.sel(temperature=0.0)
    return float(found.tau) if found.state == CROSSED else np.inf


def time_within_record(run, level=0.9):
    """:func:`time_at_rest`, or in its place the end of the record after the first wait, where that comes before."""
    rest = time_at_rest(phases.times(run.sel(temperature=[0.0]), level=level))
    return min(rest, float(phases.overlaps(run).time[-1]))


def select_hot(table, rest=None):
    """Temperatures at which a free walk would be at least ten times faster than the landscape alone (``rest``)."""
    rest = time_at_rest(table) if rest is None else rest
    return table.isel(temperature=np.flatnonzero((table.free * 10.0 < rest) & np.isfinite(table.tau)))


def select_cold(table, ratio=10.0):
    """Temperatures above 0 at which a free walk would be at least ``ratio`` times slower than the landscape alone."""
    slower = (table.free > time_at_rest(table) * ratio) & (table.temperature > 0) & np.isfinite(table.tau)
    return table.isel(temperature=np.flatnonzero(slower))


def select_crossed(table):
    """Temperatures above 0 at which the record sees τ."""
    return table.isel(temperature=np.flatnonzero((table.temperature > 0) & (table.state == CROSSED)))


def power_of_temperature(table):
    """The power of T that τ follows over a table's temperatures, with its interval over runs; unknown of fewer than
    two."""
    if table.sizes["temperature"] < 2:
        return unknown("fewer than two temperatures of the record lie in this regime")
    return power(table.temperature.values, table.tau.values, table.without.transpose("seed", "temperature").values)


def power(x, y, without):
    """The power of x that y follows, with its interval over runs; ``without``: (seed, n), y without each run."""
    each, seen = np.full(len(without), np.nan), np.isfinite(without).all(1)
    each[seen] = np.polyfit(np.log(x), np.log(without[seen]).T, 1)[0]
    return jackknife(exponent(x, y).value, each, scatter="symmetric")


def over_free(table):
    """τ over the exact time of free walks, by temperature; its interval is over runs, each with its window."""
    ratio = table.tau / table.free
    if ratio.size == 0:
        return unknown(NEVER_HOT)
    each = (table.without / table.free_without).transpose("seed", "temperature").values
    return replace(interval_by_factors(ratio, each).map(lambda end: ratio.copy(data=end)), value=ratio)


def crossover(table):
    """T*: where the free walk would take as long as the landscape alone; 0 if the landscape never moves the weights.

    The time of a free walk falls as 1/T.
    """
    first = table.isel(temperature=int(np.argmax(table.temperature.values)))
    return float(first.free * first.temperature) / time_at_rest(table)


def crossover_without(table):
    """:func:`crossover` without each run, (seed,)."""
    first = table.isel(temperature=int(np.argmax(table.temperature.values)))
    return np.asarray(first.free_without * first.temperature / table.without.sel(temperature=0.0))
