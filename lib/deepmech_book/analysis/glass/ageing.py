"""Whether networks slow down while one waits (Figs. 8, A9 to A11): growth of times with the wait, and shifts of T*.

Tables of times are those of :func:`deepmech_book.analysis.glass.phases.times`, here also over ``waiting``, the steps
before the clock starts: ``tau`` over ``waiting`` and ``temperature``, the same ``without`` each run (``seed``), and the
times ``free`` and ``free_without`` of free walks in the same windows. A weight that decays, and does nothing else, is
w(t) = w(0) exp(-μλt), so that its time grows as exp(μλ t_w).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, unknown
from deepmech.core.labels import over
from deepmech.metrics import relaxation
from deepmech.plots.style import format_number
from deepmech.simulators.brownian import ageing_factor
from deepmech_book.analysis.glass import phases, regimes
from deepmech_book.sweeps.glass import walks

__all__ = [
    "Growth",
    "at_judged",
    "crossover_shift",
    "faster_with_decay",
    "growth",
    "growth_by_temperature",
    "growth_of_phases",
    "hot_growth",
    "overlaps_after_waits",
    "panels_after_waits",
    "tables",
    "times_after_waits",
    "times_and_decay",
    "times_by_waiting",
    "where_judged",
]

ONE_WAIT = "there are fewer than two waiting times to compare; give more of them (waiting), and steps enough (steps)"


@dataclass(frozen=True)
class Growth:
    """How much τ₉₀ grows from the first to the last wait.

    ``ratio`` is the later over the earlier time, ``alone`` the same of weights under weight decay and nothing else,
    ``waits`` says in words which waits these are (empty where there are fewer than two), and ``temperature`` where.
    ``bound``: the last record ends before the crossing, so that its end is a lower bound on τ₉₀, and ``ratio`` is one.
    """

    ratio: Estimate
    alone: float
    waits: str
    temperature: float
    bound: bool = False

    @property
    def words(self) -> str:
        """Temperature and waits, as a sentence of a claim's detail."""
        ends = "; the record after the last ends before the crossing, and bounds it from below" if self.bound else ""
        return f"T = {self.temperature:g}; {self.waits}{ends}."


def where_judged(runs: Mapping[str, xr.Dataset]) -> dict[str, tuple[float, int]]:
    """Phase -> the temperature and the window in which its ageing is judged: where coldest, in the finest window.

    Without loss nothing but heat moves weights, and the coldest outlast the record: there T = 0.001, the paper's
    window.
    """
    cold = {phase: (phases.coldest(run), walks.FINE_WINDOW) for phase, run in runs.items()}
    return cold | {phase: (1e-3, walks.PAPER_WINDOW) for phase in runs if phase == "overparameterised"}


def tables(runs: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Phase -> :func:`times_by_waiting` in the window of :func:`where_judged`."""
    return {phase: times_by_waiting(runs[phase], window) for phase, (_, window) in where_judged(runs).items()}


def panels_after_waits(runs: Mapping[str, xr.Dataset]) -> xr.DataArray:
    """Mean overlaps after each wait where each phase is judged, for a panel each (Figs. 8(a, c), A11(a)).

    Parameters
    ----------
    runs : mapping of str to Dataset
        Phase -> walks.

    Returns
    -------
    DataArray
        Q over ``phase`` (with its temperature and window), ``waiting`` and ``time``.
    """
    curves = {}
    for phase, (t, window) in where_judged(runs).items():
        name = f"{phase}\n$T$ = {format_number(t)}, $\\chi$ = {float(runs[phase].chi[window]):.0f}"
        curves[name] = overlaps_after_waits(runs[phase], t, window)
    return phases.panels(curves)


def growth_of_phases(runs: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """:func:`times_and_decay` of the phases with loss, where each is judged (Fig. 8(b, d))."""
    cold = {phase: at for phase, at in at_judged(runs).items() if phase != "overparameterised"}
    decay = {phase: phases.weight_decay(runs[phase]) for phase in cold}
    return times_and_decay({phase: one.drop_vars("temperature") for phase, one in cold.items()}, decay)


def at_judged(runs: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Phase -> times over ``waiting`` at the temperature and in the window of :func:`where_judged`."""
    where = where_judged(runs)
    return {phase: table.sel(temperature=where[phase][0]) for phase, table in tables(runs).items()}


def overlaps_after_waits(run: xr.Dataset, temperature: float, window: int) -> xr.DataArray:
    """Mean overlap over runs after each wait (Fig. 8(a)).

    Parameters
    ----------
    run : Dataset
        Walks of one phase, with ``overlap`` over ``seed``, ``temperature``, ``waiting``, ``time`` and ``chi``.
    temperature : float
        As the paper counts it.
    window : int
        Which of the recorded windows.

    Returns
    -------
    DataArray
        Q in [0, 1], over ``waiting`` and ``time`` since the wait, in steps.
    """
    overlap = run.overlap.isel(chi=window, drop=True)
    return overlap.sel(temperature=temperature, drop=True).mean("seed")


def times_by_waiting(run: xr.Dataset, window: int = walks.PAPER_WINDOW) -> xr.Dataset:
    """:func:`~deepmech_book.analysis.glass.phases.times` after each wait, in one of the recorded windows.

    Parameters
    ----------
    run : Dataset
        Walks of one phase.
    window : int
        Which of the recorded windows.

    Returns
    -------
    Dataset
        Times in steps, over ``waiting`` (steps) and ``temperature``.
    """
    waits = run.waiting.values
    return xr.concat([phases.times(run, window, i) for i in range(len(waits))], over("waiting", waits))


def times_after_waits(table: xr.Dataset) -> xr.Dataset:
    """Times over ``temperature`` > 0, the free walks of each wait beside them, for a picture (Figs. A9, A10, A11(b)).

    Parameters
    ----------
    table : Dataset
        Of :func:`times_by_waiting`.
    """
    waits = table.waiting.values.tolist()
    return phases.beside({wait: table.sel(waiting=wait, drop=True) for wait in waits}, "waiting")


def times_and_decay(tables: Mapping[str, xr.Dataset], decays: Mapping[str, float]) -> xr.Dataset:
    """Times of several phases over the wait, and what weight decay alone would make of the first (Fig. 8(b, d)).

    Parameters
    ----------
    tables : mapping of str to Dataset
        Phase -> ``tau``, ``low`` and ``high`` over ``waiting`` at one temperature, in steps.
    decays : mapping of str to float
        Phase -> λ. The learning rate μ is that of the paper.

    Returns
    -------
    Dataset
        Over ``phase`` and ``waiting``; with ``alone``, τ₉₀ after the first wait times exp(μλ(t_w - first wait)), nan
        before the first wait of a phase.
    """
    parts = [one[["tau", "low", "high"]] for one in tables.values()]
    both = xr.concat(parts, over("phase", list(tables)), join="outer").sortby("waiting")
    alone = []
    for phase, one in tables.items():
        first = one.waiting[0]
        steps = (both.waiting - first).where(both.waiting >= first)
        alone.append(float(one.tau[0]) * ageing_factor(steps, walks.RATE, decays[phase]))
    return both.assign(alone=(("phase", "waiting"), np.asarray(alone, float)))


def growth(table: xr.Dataset, decay: float = 0.0) -> Growth:
    """By how much τ₉₀ grows with the wait at one temperature, beside weight decay alone (Figs. 8 and A11).

    Where the record after the last wait ends before the crossing its end stands for τ₉₀, and the ratio is a lower
    bound.

    Parameters
    ----------
    table : Dataset
        Times over ``waiting`` at one ``temperature``.
    decay : float
        λ.
    """
    temperature = float(table.temperature)
    first, last = table.isel(waiting=0), table.isel(waiting=-1)
    if table.sizes["waiting"] < 2 or not np.isfinite(first.tau):
        why = f"at T = {temperature:g} there are fewer than two waits, or the record ends before the first crossing"
        return Growth(unknown(why), 1.0, "", temperature)
    bound = not bool(np.isfinite(last.tau))
    ratio = relaxation.interval_by_factors(float(last.least / first.tau), (last.least_without / first.without).values)
    alone = float(ageing_factor((last.waiting - first.waiting).values, walks.RATE, decay))
    waits = f"waits of {int(first.waiting):,} and {int(last.waiting):,} steps"
    return Growth(ratio, alone, waits, temperature, bound)


def growth_by_temperature(table: xr.Dataset, decay: float) -> pd.DataFrame:
    """:func:`growth` in words, one row for each temperature at which it is seen.

    Parameters
    ----------
    table : Dataset
        Times over ``waiting`` and ``temperature``.
    decay : float
        λ.
    """
    rows = {}
    for t in table.temperature.values:
        one = growth(table.sel(temperature=float(t)), decay)
        if np.isfinite(one.ratio.value):
            alone = f"{one.alone:.2f}"
            least = "at least " if one.bound else ""
            rows[f"T = {t:g}"] = {
                "τ₉₀ grows by": least + str(one.ratio),
                "weight decay alone": alone,
                "after": one.waits,
            }
    return pd.DataFrame.from_dict(rows, orient="index")


def hot_growth(table: xr.Dataset) -> tuple[Estimate, str]:
    """Geometric mean, over hot temperatures, of τ₉₀ after the last wait over that after the first (Fig. 8).

    Parameters
    ----------
    table : Dataset
        Times over ``waiting`` and ``temperature``, T = 0 among them. Hot is what is so after the first wait.

    Returns
    -------
    tuple of Estimate and str
        1 of free walks; and the temperatures, in words.
    """
    warm = regimes.select_hot(table.isel(waiting=0)).temperature.values
    if not len(warm) or table.sizes["waiting"] < 2:
        return unknown(ONE_WAIT if len(warm) else regimes.NEVER_HOT), "none"
    first, last = (table.sel(temperature=warm).isel(waiting=i, drop=True) for i in (0, -1))
    logs = [xr.apply_ufunc(np.log, last[k] / first[k]) for k in ("tau", "without")]
    grown, without = (one.mean("temperature") for one in logs)
    found = jackknife(grown, without, over="seed", scatter="symmetric").map(lambda end: float(np.exp(end)))
    return found, ", ".join(f"{t:g}" for t in warm)


def faster_with_decay(table: xr.Dataset, other: xr.Dataset, decay: float) -> Estimate:
    """By how much log τ₉₀ grows faster with the wait in one table than in another, in units of μλ (Fig. 8).

    Parameters
    ----------
    table, other : Dataset
        Times over ``waiting`` at one temperature, of independent runs with weight decay and without.
    decay : float
        λ, of the unit.

    Returns
    -------
    Estimate
        1 if weight decay alone makes the difference; unknown if the record sees τ₉₀ after fewer than two waits.
    """
    rates, without = [], []
    unit = walks.RATE * decay
    for one in (table, other):
        if (pair := _first_and_last(one)) is None:
            return unknown(ONE_WAIT)
        first, last = pair
        steps = float(last.waiting - first.waiting) * unit
        rates.append(float(np.log(last.tau / first.tau)) / steps)
        without.append(np.log(last.without / first.without).values / steps)
    return jackknife(rates[0] - rates[1], without[0] - rates[1], rates[0] - without[1], scatter="symmetric")


def crossover_shift(table: xr.Dataset) -> tuple[Estimate, str]:
    """T* after the last wait over T* after the first (Figs. A9, A10).

    T* is where a free walk takes as long as the landscape alone. A record that ends before the landscape's own time
    bounds that from below, and T* from above: then the interval of the ratio begins at 0.

    Parameters
    ----------
    table : Dataset
        Times over ``waiting`` and ``temperature``, T = 0 among them.

    Returns
    -------
    tuple of Estimate and str
        1 if the wait does not move T*; and the waits, in words.
    """
    rest = table.sel(temperature=0.0)
    one = growth(rest)
    words = f"After {int(table.waiting[0]):,} and after {int(table.waiting[-1]):,} steps."
    grown = one.ratio
    if one.bound:
        words += " The last record ends before the crossing: its end bounds T* from above."
    low = 0.0 if one.bound else 1 / grown.high
    return replace(grown, value=1 / grown.value, low=low, high=1 / grown.low), words


def _first_and_last(table: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset] | None:
    """The table after the first and after the last wait after which the record sees τ₉₀, if there are two."""
    seen = table.isel(waiting=np.flatnonzero(np.isfinite(table.tau)))
    return (seen.isel(waiting=0), seen.isel(waiting=-1)) if seen.sizes["waiting"] > 1 else None
