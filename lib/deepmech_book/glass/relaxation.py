"""How long weights remember where they were (Figs. 2, 3, A2): overlaps, decorrelation times and their powers."""

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, stack, unknown
from deepmech.metrics.relaxation import decorrelation_times, interval_by_factors, local_powers
from deepmech.simulators.brownian import free_overlap
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.glass import phases, regimes
from deepmech_book.glass.clocks import measures_walks
from deepmech_book.glass.phases import of_learnt_most, origins
from deepmech_book.sweeps.glass import walks

HOT = (("regularised", 0.1), ("regularised", 0.01), ("underparameterised", 0.1), ("overparameterised", 1e-3))
"""Phases and temperatures whose overlaps are compared with those of free walks while these fall: hot in all."""
NO_COLD = "the record sees no temperature at which a free walk would be ten times slower than the landscape alone"
FALLEN = 0.3
"""Mean overlap of free walks at which this comparison ends."""


# --- pictures


def learnt(trained):
    """The networks that have learnt after the longest training; the others lie at the origin, where the loss is 1/2."""
    last = trained.loss_waited.isel(waiting=-1).sel(sgd_steps=trained.sgd_steps.max())
    return trained.isel(seed=np.flatnonzero(last < phases.LEARNT))


def times_by_training(trained, wait=-1):
    """τ₉₀ at T = 0 after one of the waits, over the ``length`` μt of training and the window's ``chi``."""
    times = decorrelation_times(trained.overlap.isel(waiting=wait, drop=True))
    length = walks.RATE * trained.sgd_steps.values
    return times.assign_coords(sgd_steps=length, chi=trained.chi.round(1)).rename(sgd_steps="length")


def loss_history(prepared, walked):
    """The data loss of one network over the steps of its preparation and of the walk that follows (Figs. 2(a), A2)."""
    steps = np.append(prepared.steps, prepared.steps[-1] + walked.time)
    return xr.DataArray(np.append(prepared.loss_history, walked.loss), {"step": steps}, dims="step")


# --- claims


def distance_from_free(run, temperature):
    """Largest distance of the mean overlap from that of free walks, while theirs falls (Fig. 2(b))."""
    overlap, free = (of(run).sel(temperature=temperature) for of in (phases.overlaps, phases.free_overlaps))
    gaps = (overlap - free).where(free.mean("seed") > FALLEN)
    if gaps.isnull().all():
        return unknown(f"free walks have fallen to {FALLEN:g} before the first recorded time")
    farthest = gaps.isel(time=int(np.nanargmax(abs(gaps.mean("seed")))))
    return estimate(farthest * np.sign(farthest.mean()), "seed", "symmetric")


def distance_of_kicks(share):
    """:func:`distance_from_free` of walks with this share of the diffusion constant of free ones, in every window."""
    times = np.geomspace(1e-3, 1e3, 4000)
    free, other = (free_overlap(times, 1.0, rate) for rate in (1.0, share))
    return float(abs(other - free)[free > FALLEN].max())


@measures_walks("C.2.hot_is_free")
def hot_is_free(runs):
    """Largest distance of hot overlaps from those of free walks, by phase; the null: kicks half as hard."""
    found = {f"{p}, T = {t:g}": distance_from_free(runs[p], t) for p, t in HOT if p in runs}
    best = of_learnt_most(runs["regularised"], lambda run: distance_from_free(run, 0.1))
    return Measurement(stack(found, "phase"), null=distance_of_kicks(0.5), first_null=0.0, detail=origins(runs, best))


@measures_walks("C.2.cold_is_faster", early=True)
def cold_is_faster(regularised):
    """τ₉₀ at T = 10⁻⁶ in the finest window over that of free walks."""

    def over_free(run):
        return regimes.over_free(phases.times(run, walks.FINE_WINDOW).sel(temperature=[1e-6]))

    words = origins({"regularised": regularised}, of_learnt_most(regularised, over_free))
    return Measurement(over_free(regularised), null=1.0, detail=words)


def hot_powers(run, phase):
    """The powers of T that τ₉₀ after each wait, and τ_e, follow where a free walk takes less than a tenth of the time
    that the landscape alone takes after the first wait, or of the record where that ends before; by name."""
    rest, found = regimes.time_within_record(run), {}
    for i, wait in enumerate(run.waiting.values):
        hot = regimes.select_hot(phases.times(run, wait=i), rest)
        found[f"{phase}, after {int(wait):,}"] = regimes.power_of_temperature(hot)
    fold = phases.times(run, level=np.exp(-1))
    hot = regimes.select_hot(fold, regimes.time_within_record(run, np.exp(-1)))
    return found | {f"{phase}, to 1/e": regimes.power_of_temperature(hot)}


@measures("C.3.hot_slope")
def hot_slope(runs):
    """The power of T that τ₉₀ (after each wait) and τ_e follow where hot; where only the landscape moves weights, 0."""
    found = {name: one for phase, run in runs.items() for name, one in hot_powers(run, phase).items()}
    best = of_learnt_most(runs["regularised"], lambda run: stack(hot_powers(run, "regularised"), "phase"))
    return Measurement(stack(found, "phase"), expected=-1.0, null=0.0, first_null=-1.0, detail=origins(runs, best))


def cold_over_rest(run, fine=False, e_fold=False):
    """τ₉₀, or the time to 1/e, at the highest temperature at which a free walk takes ten times the landscape's own time
    or more, over that at T = 0; and the same of a free walk. ``fine``: in the finest window, not the paper's."""
    table = phases.times(run, walks.FINE_WINDOW if fine else walks.PAPER_WINDOW, level=np.exp(-1) if e_fold else 0.9)
    cold = regimes.select_cold(table)
    if not cold.sizes["temperature"]:
        return unknown(NO_COLD), np.nan
    one, rest = cold.sel(temperature=float(cold.temperature.max())), table.sel(temperature=0.0)
    ratio = interval_by_factors(float(one.tau / rest.tau), (one.without / rest.without).values)
    return ratio, float(one.free / rest.tau)


@measures_walks("C.3.cold_flat")
def cold_flat(runs):
    """τ₉₀ and τ_e where cold, over those at T = 0; of free walks at least ten."""
    judged = {
        "regularised, finest window": cold_over_rest(runs["regularised"], fine=True),
        "underparameterised": cold_over_rest(runs["underparameterised"]),
        "underparameterised, to 1/e": cold_over_rest(runs["underparameterised"], e_fold=True),
    }
    best = of_learnt_most(runs["regularised"], lambda run: cold_over_rest(run, fine=True)[0])
    free = xr.DataArray([null for _, null in judged.values()], {"phase": list(judged)}, "phase")
    found = stack({name: one for name, (one, _) in judged.items()}, "phase")
    return Measurement(found, expected=1.0, null=free, detail=origins({"regularised": runs["regularised"]}, best))


@measures_walks("C.3.never_flat", lossless=True)
def never_flat(runs):
    """The power of T that τ₉₀ follows at all temperatures, without loss; the null: networks with some."""
    large, small = (
        regimes.power_of_temperature(regimes.select_crossed(phases.times(runs[p])))
        for p in ("overparameterised", "underparameterised")
    )
    words = origins({"overparameterised": runs["overparameterised"]})
    return Measurement(large, null=small.value, detail=words)


def powers(tau):
    """The power of 1/T that τ follows from each temperature to the next one, labelled by the later of the two."""
    return -np.log(tau).diff("temperature") / np.log(tau.temperature).diff("temperature")


def successive_powers(runs):
    """:func:`powers` of τ₉₀ in the finest window, of several runs in a row, where records see it with and without each
    network. Where times diverge, as a glass's do while it is still warm, these grow and grow (Sec. III.B)."""
    found = []
    for run in runs:
        part = regimes.select_crossed(phases.times(run, walks.FINE_WINDOW)).sortby("temperature")
        part = part.isel(temperature=np.flatnonzero(np.isfinite(part.without).all("seed")))
        without = powers(part.without).transpose("seed", "temperature")
        found.append(jackknife(powers(part.tau), without, over="seed", scatter="symmetric"))
    value, low, high = (np.concatenate([getattr(one, end) for one in found]) for end in ("value", "low", "high"))
    if not value.size:
        return unknown("no record sees τ₉₀ at two temperatures above 0; give more of them", value)
    seeds = min(one.n or 0 for one in found)
    return Estimate(value, low, high, seeds, next((one.reason for one in found if one.reason), ""))


@measures_walks("C.3.no_divergence")
def no_divergence(runs, glass):
    """The powers of 1/T that τ₉₀ follows from temperature to temperature; ``glass``: overlap of a glass former."""
    best = of_learnt_most(runs["regularised"], lambda run: successive_powers([run]))
    largest = float(powers(decorrelation_times(glass).tau).max())
    return Measurement(successive_powers(runs.values()), null=largest, detail=best)


def second_step(overlap):
    """How clearly any overlap over ``time`` falls twice: 0 for one fall, near 1 for two with a plateau between.

    -dQ/d(log t) has a peak for each fall. Given is the depth of the valley between two peaks, over the highest; of all
    curves the deepest. A curve that ends above 0.9 has hardly begun to fall, and is left out.
    """
    overlap = overlap.transpose(..., "time")
    with np.errstate(over="ignore"):  # an overlap is at most 1
        falls = -local_powers(overlap.copy(data=np.exp(overlap.values))).values
    times = overlap.time.values.astype(float)
    if not (np.log(times[2:] / times[:-2]) <= np.log(4)).any():
        raise ValueError(
            "second_step: overlap: no three records lie within a factor of four in time, over which the slope is "
            "taken: record at times closer to one another"
        )
    deepest = 0.0
    for fall in falls[overlap.values[..., -1] <= 0.9].reshape(-1, overlap.sizes["time"]):
        curve = fall[np.isfinite(fall)]
        if not len(curve) or not curve.max() > 0:
            continue  # it ended at once, or never falls
        left = np.maximum.accumulate(curve)
        right = np.maximum.accumulate(curve[::-1])[::-1]
        deepest = max(deepest, float((np.minimum(left, right) - curve).max() / curve.max()))
    return deepest


@measures_walks("C.3.one_step")
def one_step(runs, glass):
    """How clearly overlaps fall twice; ``glass``: overlap of a glass former in a window as wide as its cages."""

    def depth(run):
        return estimate(phases.overlaps(run), "seed", "symmetric", of=lambda some: second_step(some.mean("seed")))

    best = of_learnt_most(runs["regularised"], depth)
    depths = stack({phase: depth(run) for phase, run in runs.items()}, "phase")
    return Measurement(depths, null=second_step(glass.mean("seed")), detail=best)


def training_power(table, first=300):
    """The power of the length of training that τ₉₀ at T = 0 follows, from ``first`` on: 0 of a finished descent."""
    part = table.sel(length=table.length >= first)
    x = np.log(part.length) - np.log(part.length).mean()
    slopes = [(x * np.log(t)).sum("length") / (x**2).sum() for t in (part.least, part.least_without)]
    return jackknife(*slopes, over="seed", scatter="symmetric")


@measures("C.3.settled")
def settled(trained):
    """The power of the length of training that τ₉₀ at T = 0 follows, after the paper's wait; windows apart."""
    kept = learnt(trained)
    late, soon = (times_by_training(kept, wait) for wait in (-1, 0))
    at_once = ", ".join(f"{float(v):.2g}" for v in training_power(soon).value).replace("-", "−")
    steps = (np.log(late[name]).diff("length") for name in ("least", "length"))
    powers_of_steps = np.divide(*steps).isel(length=slice(-2, None)).mean("chi").values
    half = int((kept.loss_waited.isel(waiting=-1).sel(sgd_steps=kept.sgd_steps.max()) > phases.LEARNT_MOST).sum())
    words = (
        f"t_w = {int(kept.waiting[-1]):,} steps; {kept.sizes['seed']} networks that learnt ({half} of them by half), "
        "P_D = 8000, width 10. Where the record ends before τ₉₀, its end stands for it: the power is a lower bound. "
        f"Over the last two steps of the length, mean of windows: {', '.join(f'{v:.2g}' for v in powers_of_steps)}. "
        f"Clock started at once, by window: {at_once}."
    )
    return Measurement(training_power(late), null=0.0, detail=words)


@measures_walks("C.A2.plateau")
def plateau(regularised):
    """The data loss at the end of the walk over that at its beginning."""
    first = regularised[["loss", "loss_waited"]].isel(waiting=0, drop=True)
    last = first.loss.dropna("time", how="all").isel(time=-1, drop=True)
    drift = estimate(last / first.loss_waited, "seed", "symmetric")
    return Measurement(drift, detail=origins({"regularised": regularised}))
