"""Time–temperature superposition (Figs. 4, A6) beside free walks, Q(t) = erf(ε/√(4Dt)), and wells (Figs. A5, A7)."""

import warnings
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.special import erf, erfinv

from deepmech.core.estimates import jackknife, leave_one_out, stack, unknown
from deepmech.metrics import relaxation
from deepmech.simulators.brownian import Well, final_overlap, free_overlap, free_time, well_overlap
from deepmech_book import words
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.glass import phases
from deepmech_book.glass.clocks import measures_walks
from deepmech_book.glass.phases import of_learnt_most, origins
from deepmech_book.glass.words import said
from deepmech_book.sweeps.glass.walks import P_D, RATE

RESCALED = {"time": (r"$t/\tau_{90}$", "1")}
LATE = 0.01
"""Earlier than this part of τ₉₀, nothing is to be seen."""
FREE_TIME = free_time(1.0, 1.0)
"""Of a free walk τ₉₀ in units of ε²/D."""
WINDOW, START, NOISE = 0.1, 1.0, 1.0
"""Of Fig. A5: the window, the place where weights start, and 2T with P_D = 1 and μ = 1."""


def lay(time, runs):
    """Mean overlaps of runs (seed, temperature, time) over t/τ₉₀, and which temperatures these are: those whose τ₉₀ the
    record sees."""
    tau = relaxation.decorrelation_time(time, runs.astype(float).mean(0)).time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where all records have ended, there is no mean
        curves = np.nanmean(runs, 0)
    return relaxation.collapse(time, curves, tau), np.isfinite(tau)


def plain(overlap):
    """Times, and overlaps (seed, temperature, time), without labels."""
    return overlap.time.values, overlap.transpose("seed", "temperature", "time").values


def of_each(number, overlap):
    """A number of :func:`plain` overlaps, and the same without each network in turn; of a single one unknown."""
    time, runs = plain(overlap)
    n = len(runs)
    without = [number(time, np.delete(runs, i, 0)) if n > 1 else np.nan for i in range(n)]
    return number(time, runs), np.array(without)


def collapsed(overlap):
    """Mean overlaps over t/τ₉₀, labelled."""
    laid, seen = lay(*plain(overlap))
    coords = {"temperature": overlap.temperature.values[seen], "time": laid.rescaled}
    return xr.DataArray(laid.curves, coords, ("temperature", "time"))


def free(rescaled):
    """A free walk's overlap over t/τ₉₀: one curve for every window and temperature, which late falls as t^-1/2."""
    return xr.DataArray(free_overlap(rescaled, 1.0, FREE_TIME), {"time": rescaled}, "time")


def slide(rescaled):
    """The same of weights that slide steadily, each at a pace of its own, the paces normal: late it falls as t^-1."""
    return xr.DataArray(erf(erfinv(0.9) / rescaled), {"time": rescaled}, "time")


# --- pictures


def late(run):
    """Collapsed overlaps from where there is something to be seen, and the curve of free walks at their times."""
    curves = collapsed(phases.overlaps(run)).sel(time=slice(LATE, None))
    return curves, free(curves.time.values).expand_dims(temperature=curves.temperature)


def beside_free_walks(runs):
    """Collapsed overlaps of each phase, and the curve of all free walks, a panel each (Fig. A6)."""
    both = zip(*(late(run) for run in runs.values()), strict=True)
    panels = (phases.panels(dict(zip(runs, one, strict=True))) for one in both)
    return tuple(words.said(RESCALED, one, "overlap $Q$") for one in panels)


def over_free_walks(runs):
    """Collapsed overlaps of each phase over the curve of all free walks."""
    curves, walks = beside_free_walks(runs)
    return words.said(RESCALED, curves / walks, "overlap / that of a free walk")


def in_well(weights, window, stiffness, time):
    """Overlap after ``time`` steps of independent weights in the well ½kw² alone, from where they are (Eq. F6)."""
    at = np.array(time)
    kept = [
        xr.apply_ufunc(
            lambda w, e, t=t: well_overlap(at, Well(stiffness, t, RATE, P_D), e[..., None], w).mean(-1),
            weights.sel(temperature=t), window.sel(temperature=t), input_core_dims=[["weight"], []],
        )
        for t in weights.temperature.values.tolist()
    ]  # fmt: skip
    return xr.concat(kept, weights.temperature)


def last_overlaps(run, waited, decay):
    """Last overlaps at T > 0 of networks, and of independent weights from where theirs ``waited`` (Fig. 4(b))."""
    heated = run.sel(temperature=run.temperature > 0)
    last = phases.overlaps(heated).isel(time=-1)
    kinds = {"networks": last.drop_vars("time")}
    for name, stiffness in (("free walks", 0.0), ("weight decay alone", decay)):
        kinds[name] = in_well(waited, phases.window_size(heated), stiffness, float(last.time))
    return xr.Dataset(kinds).sortby("temperature").transpose("seed", "temperature")


def mean_last(last):
    """Their means over networks, along ``kind``."""
    return said(last.mean("seed").to_dataarray("kind"), "last overlap")


def simulated(stiffness, step, end, stream, n=20_000):
    """The overlap of simulated weights, w ← (1 - μk)w + √(2Tμ) ξ, at twelve times or fewer (Eq. F1, Fig. A5)."""
    at = np.unique(np.round(np.geomspace(1, end / step, 12)).astype(int))
    w, rows = np.full(n, START), []
    for t in range(at[-1]):
        w = (1 - step * stiffness) * w + np.sqrt(step * NOISE) * stream.normal("step", t, len(w))
        if t + 1 in at:
            rows.append((np.abs(w - START) < WINDOW).mean())
    return xr.DataArray(rows, {"time": ("time", at * step, {"long_name": "time"})}, "time")


def closed_form(times, stiffness):
    """The same in the limit of short steps (Eq. F6)."""
    small = 1e-3  # The step of a spec must be stable; time is scaled instead, as only μt enters.
    well = Well(stiffness=stiffness, temperature=NOISE / 2, learning_rate=small)
    return xr.DataArray(well_overlap(times / small, well, WINDOW, START), {"time": times}, "time")


def final_overlaps(temperatures, decay, window, start):
    """The overlap after infinite time in the well of weight decay alone (Eq. G1, Fig. A7): when hot T^-1/2."""
    ends = [float(final_overlap(Well(decay, t, RATE, P_D), window, start).mean()) for t in temperatures]
    curve = xr.DataArray([ends], {"kind": ["weight decay alone"], "temperature": temperatures}, ("kind", "temperature"))
    return said(curve, r"$Q_\infty$")


# --- claims


def spread_of_two_shapes(overlap):
    """How far curves with the same τ₉₀ lie apart if every second is a steady slide's, the others a free walk's."""
    time, runs = plain(overlap)
    tau = relaxation.decorrelation_time(time, runs.astype(float).mean(0)).time
    tau = np.sort(tau[np.isfinite(tau)])
    curves = [(slide if i % 2 else free)(time / one).values for i, one in enumerate(tau)]
    return relaxation.collapse(time, np.array(curves), tau).spread


def distance_of_curves(run):
    """How far collapsed overlaps lie from one curve, over networks."""
    found, without = of_each(lambda *runs: lay(*runs)[0].spread, phases.overlaps(run))
    return jackknife(found, without, scatter="symmetric")


@measures_walks("C.4.collapse")
def one_curve(runs):
    """Distance of rescaled overlaps from their mean, by phase; the null: every second one a steady slide's."""
    named = [phase for phase in ("regularised", "overparameterised") if phase in runs]
    spread = {phase: distance_of_curves(run) for phase, run in runs.items()}
    null = xr.DataArray([spread_of_two_shapes(phases.overlaps(runs[p])) for p in named], {"phase": named}, "phase")
    best = of_learnt_most(runs["regularised"], distance_of_curves)
    under = f"Underparameterised: {spread['underparameterised'].value:.2g}."
    found = stack({p: spread[p] for p in named}, "phase")
    return Measurement(found, null=null, first_null=0.0, detail=origins({p: runs[p] for p in named}, under, best))


def tail_power(time, curve):
    """The power of time that an overlap follows between 0.1 and 0.6; nan where fewer than four points lie there."""
    part = (curve < 0.6) & (curve > 0.1)
    return float(np.polyfit(np.log(time[part]), np.log(curve[part]), 1)[0]) if part.sum() >= 4 else np.nan


def power_of_hottest(run):
    """The same of the collapsed overlap at the highest temperature, over networks."""
    overlap = phases.overlaps(run)

    def power(time, runs):
        laid, seen = lay(time, runs)
        return tail_power(laid.rescaled, laid.curves[np.argmax(overlap.temperature.values[seen])])

    found, without = of_each(power, overlap)
    if np.isnan(found):
        return unknown("the record of the hottest networks has too few points in the range")
    return jackknife(found, without, scatter="symmetric")


@measures_walks("C.4.master_power")
def master_power(regularised):
    """The power of time that the hottest overlap follows; the null: a steady slide over the same range; first: free."""
    rescaled = lay(*plain(phases.overlaps(regularised)))[0].rescaled
    walk, steady = (tail_power(rescaled, shape(rescaled).values) for shape in (free, slide))
    words = origins({"regularised": regularised}, of_learnt_most(regularised, power_of_hottest))
    return Measurement(power_of_hottest(regularised), expected=-0.5, null=steady, first_null=walk, detail=words)


@measures("C.4.last_power")
def last_power(last):
    """The power of T that the last overlap follows; of weights that heat does not move 0; first: weight decay alone."""
    powers = {kind: relaxation.exponent(one.temperature.values, one.values) for kind, one in last.items()}
    words = f"Free walks from equal places: {powers['free walks'].value:.3g}.".replace("-", "−")
    first = powers["weight decay alone"]
    return Measurement(powers["networks"], expected=-0.5, null=0.0, first_null=first, detail=words)


def over_the_well(last):
    """Mean last overlap of networks over that of weights in the well of weight decay, by temperature."""
    both = last.mean("seed"), leave_one_out(last, "seed")
    logs = (np.log(one["networks"] / one["weight decay alone"]) for one in both)
    return jackknife(*logs, over="seed", scatter="symmetric").map(np.exp)


@measures("C.4.well_explains")
def well_explains(last, waited, regularised):
    """The last overlap over that of weights in the well of weight decay; ``waited``: weights where the clock starts."""
    free = (last["free walks"] / last["weight decay alone"]).mean("seed").values
    near = 100 * float((abs(waited.sel(temperature=1e-2)) < 1e-2).mean())
    best = of_learnt_most(regularised, lambda run: over_the_well(last.sel(seed=run.seed)))
    words = f"Free walks from the same places: {free.min():.2g} to {free.max():.2g} times those of the well. "
    words += f"At t_w {near:.0f} % of the weights lie within 0.01 of zero at T = 0.01. {best}"
    return Measurement(over_the_well(last), detail=words.rstrip())


def departure(time, runs):
    """How far curves leave that of free walks above and below, the farthest each; the smaller of both (Fig. A6(a))."""
    laid, _ = lay(time, runs)
    away = laid.curves - free_overlap(laid.rescaled, 1.0, FREE_TIME)
    return float(min(np.nanmax(away), -np.nanmin(away)))


@measures_walks("C.A6.under_leaves")
def under_leaves(runs):
    """The departure, at most 0 on one side only, of underparameterised networks; the null: of regularised ones."""
    both = (phases.overlaps(runs[phase]) for phase in ("underparameterised", "regularised"))
    (own, left), (null, right) = (of_each(departure, one) for one in both)
    found = replace(jackknife(own, left, scatter="symmetric"), null=null)
    if min(len(left), len(right)) > 1:  # one network alone does not tell how it scatters
        found = replace(found, difference=jackknife(own - null, left - null, own - right, scatter="symmetric").interval)
    return Measurement(found, detail=origins({"underparameterised": runs["underparameterised"]}))
