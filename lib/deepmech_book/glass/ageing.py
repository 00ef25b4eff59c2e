"""Do networks slow down while one waits (Figs. 8, A9 to A11)? Times τ₉₀ over the wait, and shifts of T*."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, stack, unknown
from deepmech.core.labels import over
from deepmech.metrics import relaxation
from deepmech.plots.style import format_number
from deepmech.simulators.brownian import ageing_factor
from deepmech_book.claims.functions import Measurement, by_threshold, measures
from deepmech_book.glass import phases, regimes
from deepmech_book.glass.phases import of_learnt_most, origins
from deepmech_book.glass.words import said
from deepmech_book.sweeps.glass import walks

ONE_WAIT = "there are fewer than two waiting times to compare; give more of them (waiting), and steps enough (steps)"


def where_judged(runs):
    """Phase -> temperature and window in which its ageing is judged: the lowest above 0, and the finest.

    Without loss nothing but heat moves weights, and the coldest outlast the record: there T = 0.001, the paper's
    window.
    """
    cold = {phase: (phases.coldest(run), walks.FINE_WINDOW) for phase, run in runs.items()}
    return cold | {phase: (1e-3, walks.PAPER_WINDOW) for phase in runs if phase == "overparameterised"}


def times_by_waiting(run, window=walks.PAPER_WINDOW):
    """Times after each wait, in one of the recorded windows, over ``waiting`` and ``temperature``."""
    waits = run.waiting.values
    return xr.concat([phases.times(run, window, i) for i in range(len(waits))], over("waiting", waits))


def tables(runs):
    """Phase -> times after each wait in the window in which it is judged."""
    return {phase: times_by_waiting(runs[phase], window) for phase, (_, window) in where_judged(runs).items()}


def at_judged(runs):
    """Phase -> the same at the temperature at which it is judged."""
    where = where_judged(runs).items()
    return {p: times_by_waiting(runs[p].sel(temperature=[t]), window).isel(temperature=0) for p, (t, window) in where}


class Growth(NamedTuple):
    """By how much τ₉₀ grows from the first to the last wait, and by weight decay alone, with the waits in words."""

    ratio: Estimate
    alone: float
    waits: str
    words: str
    bound: bool = False


def growth(table, decay=0.0):
    """Growth at one temperature; the end of a record that ends before the last crossing bounds it from below."""
    at, first, last = f"T = {float(table.temperature):g}", table.isel(waiting=0), table.isel(waiting=-1)
    if table.sizes["waiting"] < 2 or not np.isfinite(first.tau):
        why = f"at {at} there are fewer than two waits, or the record ends before the first crossing"
        return Growth(unknown(why), 1.0, "", f"{at}; .")
    bound = not np.isfinite(last.tau)
    ends = "; the record after the last ends before the crossing, and bounds it from below" if bound else ""
    ratio = relaxation.interval_by_factors(float(last.least / first.tau), (last.least_without / first.without).values)
    alone = float(ageing_factor((last.waiting - first.waiting).values, walks.RATE, decay))
    waits = f"waits of {int(first.waiting):,} and {int(last.waiting):,} steps"
    return Growth(ratio, alone, waits, f"{at}; {waits}{ends}.", bound)


# --- pictures


def panels_after_waits(runs):
    """Mean overlaps after each wait where each phase is judged, a panel each (Figs. 8(a, c), A11(a))."""
    curves = {}
    for phase, (t, window) in where_judged(runs).items():
        name = f"{phase}\n$T$ = {format_number(t)}, $\\chi$ = {float(runs[phase].chi[window]):.0f}"
        curves[name] = runs[phase].overlap.isel(chi=window, drop=True).sel(temperature=t, drop=True).mean("seed")
    return said(phases.panels(curves), "overlap $Q(t)$")


def growth_of_phases(runs):
    """Times over the wait of networks with loss, and ``alone``, what weight decay makes of the first (Fig. 8(b, d))."""
    each = {phase: one for phase, one in at_judged(runs).items() if phase != "overparameterised"}
    parts = [one[["tau", "low", "high"]].drop_vars("temperature") for one in each.values()]
    both = xr.concat(parts, over("phase", list(each)), join="outer").sortby("waiting")
    alone = []
    for phase, one in each.items():
        steps = (both.waiting - one.waiting[0]).where(both.waiting >= one.waiting[0])
        alone.append(float(one.tau[0]) * ageing_factor(steps, walks.RATE, phases.weight_decay(runs[phase])))
    both = both.assign(alone=(("phase", "waiting"), np.asarray(alone, float)))
    return both.assign(tau=said(both.tau, r"decorrelation time $\tau_{90}$", "steps"))


def after_longest(runs):
    """The least that τ₉₀ of regularised networks is after the longest wait."""
    return float(at_judged(runs)["regularised"].least.isel(waiting=-1))


def times_after_waits(tables):
    """Phase -> times of networks and of free walks over ``waiting`` and ``temperature`` > 0 (Figs. A9 to A11)."""
    waits = {phase: one.waiting.values.tolist() for phase, one in tables.items()}
    each = {phase: {wait: one.sel(waiting=wait, drop=True) for wait in waits[phase]} for phase, one in tables.items()}
    return {phase: phases.beside(one, "waiting")[["tau", "free"]] for phase, one in each.items()}


def growth_by_temperature(table, decay):
    """Growth in words, one row for each temperature at which it is seen."""
    rows = {}
    for t in table.temperature.values:
        one = growth(table.sel(temperature=float(t)), decay)
        if np.isfinite(one.ratio.value):
            least = "at least " if one.bound else ""
            rows[f"T = {t:g}"] = {"τ₉₀ grows by": least + str(one.ratio), "weight decay alone": f"{one.alone:.2f}"}
    return pd.DataFrame.from_dict(rows, orient="index")


# --- claims


@measures("C.8.ages")
def ages(runs):
    """By how much τ₉₀ grows from the first to the last wait, beside weight decay alone, in the phases with loss."""
    at = at_judged(runs)
    grown = {phase: growth(at[phase], phases.weight_decay(runs[phase])) for phase in phases.WITH_LOSS}
    alone = xr.DataArray([one.alone for one in grown.values()], {"phase": list(grown)}, "phase")
    each = (
        f"{phase.capitalize()}: {one.ratio}, weight decay alone {one.alone:.3g}; {one.words}"
        for phase, one in grown.items()
    )
    best = of_learnt_most(runs["regularised"], lambda run: growth(at_judged({"regularised": run})["regularised"]).ratio)
    ratio = stack({phase: one.ratio for phase, one in grown.items()}, "phase")
    return Measurement(ratio, null=alone, detail=" ".join([*each, *filter(None, [best])]))


def hot_growth(run):
    """Geometric mean of the growth over the temperatures that are hot after the first wait, and these in words."""
    table = times_by_waiting(run)
    warm = regimes.select_hot(table.isel(waiting=0)).temperature.values
    if not len(warm) or table.sizes["waiting"] < 2:
        return unknown(ONE_WAIT if len(warm) else regimes.NEVER_HOT), "none"
    first, last = (table.sel(temperature=warm).isel(waiting=i, drop=True) for i in (0, -1))
    grown, without = (np.log(last[k] / first[k]).mean("temperature") for k in ("tau", "without"))
    found = jackknife(grown, without, over="seed", scatter="symmetric").map(lambda end: float(np.exp(end)))
    return found, ", ".join(f"{t:g}" for t in warm)


@measures("C.8.hot_does_not")
def hot_does_not(runs):
    """By what factor τ₉₀ of regularised networks changes with the wait where it is hot."""
    run = runs["regularised"]
    found, warm = hot_growth(run)
    words = origins({"regularised": run}, f"T = {warm}.", of_learnt_most(run, lambda best: hot_growth(best)[0]))
    return Measurement(found, detail=words)


def faster_with_decay(table, other, decay):
    """By how much log τ₉₀ grows faster in one table than in another of other networks, in units of μλ."""
    rates, without = [], []
    for one in (table, other):
        seen = one.isel(waiting=np.flatnonzero(np.isfinite(one.tau)))
        if seen.sizes["waiting"] < 2:
            return unknown(ONE_WAIT)
        first, last = seen.isel(waiting=0), seen.isel(waiting=-1)
        steps = float(last.waiting - first.waiting) * (walks.RATE * decay)
        rates.append(float(np.log(last.tau / first.tau)) / steps)
        without.append(np.log(last.without / first.without).values / steps)
    return jackknife(rates[0] - rates[1], without[0] - rates[1], rates[0] - without[1], scatter="symmetric")


@measures("C.8.stronger_regularised")
def stronger_regularised(runs):
    """By how much log τ₉₀ grows faster with the wait where there is weight decay, in units of μλ."""
    at = at_judged(runs)
    decay = phases.weight_decay(runs["regularised"])
    words = "Rates are between waits after which the record sees the crossing; a bound on a time gives no rate."
    return Measurement(faster_with_decay(at["regularised"], at["underparameterised"], decay), null=1.0, detail=words)


def crossover_shift(table):
    """T* after the last wait over T* after the first, and the waits in words; where a record bounds it, from 0 on."""
    one = growth(table.sel(temperature=0.0))
    words = f"After {int(table.waiting[0]):,} and after {int(table.waiting[-1]):,} steps."
    if one.bound:
        words += " The last record ends before the crossing: its end bounds T* from above."
    ends = (0.0 if one.bound else 1 / one.ratio.high, 1 / one.ratio.low)
    return replace(one.ratio, value=1 / one.ratio.value, low=ends[0], high=ends[1]), words


@measures("C.8.crossover")
def crossover(runs):
    """T* after the last wait over that after the first, in the phases with loss."""
    made = tables(runs)
    moved = {phase: crossover_shift(made[phase]) for phase in phases.WITH_LOSS}
    words = " ".join(f"{phase.capitalize()}: {one}. {waits}" for phase, (one, waits) in moved.items())
    best = of_learnt_most(
        runs["regularised"], lambda run: crossover_shift(tables({"regularised": run})["regularised"])[0]
    )
    found = stack({phase: one for phase, (one, _) in moved.items()}, "phase")
    thresholds = by_threshold("C.8.crossover", found, 0.2, 0.33, 0.4, 0.5)
    return Measurement(found, detail=" ".join(filter(None, [words, thresholds, best])))


@measures("C.A11.no_ageing")
def no_ageing(runs):
    """By what factor τ₉₀ of networks without loss changes with the wait, and that of underparameterised ones."""
    if "overparameterised" not in runs:
        return Measurement(not_testable=phases.NONE_FITS)
    at = at_judged(runs)
    found = at["overparameterised"]
    rival, one = growth(at["underparameterised"].sel(waiting=found.waiting)), growth(found)
    words = origins({"overparameterised": runs["overparameterised"]}, one.words)
    unseen = one.words if one.bound else None
    return Measurement(one.ratio, null=rival.ratio.value, first_null=1.0, detail=words, not_testable=unseen)
