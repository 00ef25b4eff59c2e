"""Networks at rest on kinks: what the gradient at a point foretells, what the kinks hold, and how walks slow down.

``kinked`` and ``smooth`` are networks of ReLU and of softplus by phase, of the sweeps :data:`.experiments.KINKS`.
"""

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate, stack, unknown
from deepmech.metrics.relaxation import decorrelation_time
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside
from deepmech_book.glass.experiments import KINKS, experiment
from deepmech_book.glass.phases import LEARNT_MOST
from deepmech_book.glass.words import said
from deepmech_book.sweeps.shipped import result

PHASES = ("regularised", "underparameterised")
AGEING = "regularised"
"""The phase whose walks slowed down more than a first look foretold, in networks that walked before."""
RIVALS = {
    "C.3.kinks.renewed_first": ("renewed look", "first look"),
    "C.3.kinks.renewed_slide": ("renewed look", "renewed slide"),
    "C.3.kinks.ageing_bowl": ("kinks", "first look"),
    "C.3.kinks.ageing_random": ("kinks", "random directions"),
    "C.3.kinks.ageing_near": ("kinks", "near pairs"),
}
"""What foretells ageing in a claim, and in its null."""


def networks(kind="kinks"):
    """(Networks of ReLU, smooth ones) by phase: those that have learnt as much as the paper's and did not diverge.

    Of ``"rates"`` the same networks, which then rested at smaller rates as well.
    """
    found = {name: result(experiment(f"glass-{kind}-{name}")) for name in KINKS}
    good = {name: run.isel(seed=np.flatnonzero(counted(run))) for name, run in found.items()}
    return tuple({p: good[p + end] for p in PHASES} for end in ("", "-smooth"))


def counted(run):
    """Which networks of a run count."""
    return (~run.diverged & (run.loss < LEARNT_MOST)).values


def times(run):
    """τ₉₀ of the walk and of all that foretells it, over ``source`` and ``waiting``; the record's ends bound it."""

    def crossing(curve):
        found = decorrelation_time(run.time.values, curve)
        return found.time if np.isfinite(found.time) else max(found.least, float(run.time[0]))

    made = xr.apply_ufunc(crossing, run.overlap, input_core_dims=[["time"]], vectorize=True, output_dtypes=[float])
    return made.where(np.isfinite(run.overlap).all("time"))


def first(run):
    """A run at its first wait."""
    return run.isel(waiting=0, drop=True)


def foretold(run, source):
    """log of foretold by walked τ₉₀ after the first wait."""
    tau = first(times(run.sel(source=["walk", source])))
    return np.log(tau.sel(source=source, drop=True) / tau.sel(source="walk", drop=True))


def excess(run, source):
    """log of by how much more τ₉₀ grew from the first to the last wait than was foretold."""
    tau = np.log(times(run.sel(source=["walk", source])))
    grown = tau.isel(waiting=-1, drop=True) - tau.isel(waiting=0, drop=True)
    return grown.sel(source="walk", drop=True) - grown.sel(source=source, drop=True)


def by_phase(runs, number, back=np.asarray):
    """The mean over networks of a number of each, by phase; ``back`` from logarithms."""
    return stack({p: estimate(number(run), "seed", "symmetric").map(back) for p, run in runs.items()}, "phase")


def paired(runs, number, rival):
    """The mean over networks of a number of each beside another one of the same networks, by phase."""
    return Measurement(stack({p: beside(number(run), rival(run), "seed") for p, run in runs.items()}, "phase"))


# --- pictures


def paths(kinked, smooth, steps=40):
    """The first steps of one network of each kind, along its drift and along what the gradient has beside it."""
    phase, made = "underparameterised", {}
    for name, runs in (("ReLU", kinked), ("softplus", smooth)):
        path = -runs[phase].path.isel(seed=0, drop=True).sel(step=slice(0, steps))
        whole = path.sel(axis="drift").isel(step=-1, drop=True)
        made[name] = path.assign_coords(axis=["along the drift", "across it"]) / whole
    return made


def overlaps(kinked, smooth, source):
    """Mean overlaps after the first wait by phase and kind, of walks or of what foretells them."""
    each = {f"{p}, {kind}": runs[p] for kind, runs in (("ReLU", kinked), ("softplus", smooth)) for p in runs}
    means = {name: first(run).overlap.sel(source=source, drop=True).mean("seed") for name, run in each.items()}
    return {name: one.sel(time=slice(20, None)).expand_dims(told=["look and walk"]) for name, one in means.items()}


def excesses(kinked, smooth):
    """Excess of the growth of τ₉₀ over what is foretold, in the phase that ages, by what foretells it and by units."""
    told = {
        "first look, Gauss–Newton's curvature": ("first look", ""),
        "first look, exact curvature": ("Hessian", "first look"),
        "the same, along kinks": ("kinks", ""),
        "the same, along random directions": ("random directions", ""),
        "look renewed at each wait": ("renewed look", "renewed look"),
    }

    def one(runs, source):
        found = estimate(excess(runs[AGEING], source), "seed", "symmetric") if source else unknown("not made")
        return found.map(np.exp)

    rows = {name: {"ReLU": one(kinked, a), "softplus": one(smooth, b)} for name, (a, b) in told.items()}
    return stack({name: stack(row, "units") for name, row in rows.items()}, "told").map(
        lambda numbers: numbers.assign_attrs(long_name="excess: growth, walked over foretold")
    )


def by_rate(kinked, smooth):
    """Gradient over drift by the rate at which networks of each kind rest; geometric means over networks."""
    decay = {"regularised": "with weight decay", "underparameterised": "without it"}
    each = {f"ReLU, {decay[p]}": run for p, run in kinked.items()} | {"softplus": xr.concat(smooth.values(), "seed")}
    means = [np.exp(beside_drift(run).mean("seed")).assign_coords(kind=name) for name, run in each.items()]
    lines = xr.concat(means, "kind").rename(slower="rate").assign_coords(rate=1 / means[0].slower.values)
    return said(lines, "gradient over drift")


# --- claims: the gradient at a point


def beside_drift(run):
    """log of gradient over drift."""
    return np.log(run.gradient_norm / run.drift_norm)


@measures("C.3.kinks.gradient", "C.3.kinks.smooth")
def gradient(runs):
    """Gradient at a point over drift of a look, at the first wait; geometric mean over networks."""
    return Measurement(by_phase(runs, lambda run: beside_drift(first(run)), np.exp))


@measures("C.3.kinks.direction", "C.3.kinks.smooth_direction")
def direction(runs, cosine):
    """Cosine of the way down the gradient with the way that weights then go, or of the gradient with their drift."""
    return Measurement(by_phase(runs, lambda run: first(run[cosine])))


@measures("C.3.kinks.instant", "C.3.kinks.smooth_instant", "C.3.kinks.look")
def told(runs, source):
    """τ₉₀ foretold from one instant, or from a look of a hundred steps, by the walked one, after the first wait."""
    return Measurement(by_phase(runs, lambda run: foretold(run, source), np.exp))


@measures("C.3.kinks.slower_gradient")
def at_smallest_rate(runs):
    """Gradient over drift at the smallest rate; geometric mean over networks; the null: 1, in a smooth valley."""
    return Measurement(by_phase(runs, lambda run: beside_drift(run).isel(slower=-1, drop=True), np.exp), null=1.0)


@measures("C.3.kinks.slower")
def kept(runs, smooth):
    """What the smallest rate leaves of gradient over drift; the null: what a smooth valley would, where 1 is left."""
    change = by_phase(runs, lambda run: beside_drift(run).diff("slower").sum("slower"), np.exp)
    whole = {p: np.exp(beside_drift(run).mean("seed")) for p, run in runs.items()}
    null = xr.concat([1 / one.isel(slower=0, drop=True) for one in whole.values()], pd.Index(whole, name="phase"))
    at = {p: ", ".join(f"{ratio:.2f}" for ratio in one.values) for p, one in whole.items()}
    steep, soft = (max(float(run.steepness.max()) for run in each.values()) for each in (runs, smooth))
    off = max(float(abs(beside_drift(run)).max()) for run in smooth.values())
    words = (
        f"Gradient over drift at rates 1, 1/4, 1/16: {'; '.join(f'{p} {ratios}' for p, ratios in at.items())}. Smooth "
        f"networks: 1 within {off:.1g}. Rate times the steepest curvature, kinks left out: at most {steep:.2g} (smooth "
        f"networks {soft:.2g}); from 2 on steps turn back for good."
    )
    return Measurement(change, null=null, detail=words)


# --- claims: what the kinks hold


@measures("C.3.kinks.span", "C.3.kinks.way")
def held(runs, share):
    """Share of the squared gradient, or way, that kinks hold at the first wait; the null: that pairs near zero hold."""
    kinks, near = (lambda run, one=one: first(run[share]).sel(set=one, drop=True) for one in ("kinks", "near pairs"))
    return paired(runs, kinks, near)


@measures("C.3.kinks.grows")
def grows(runs):
    """Directions that kinks span after the last wait over those after the first."""

    def grown(run):
        rank = np.log(run["rank"].sel(set="kinks", drop=True))
        return rank.isel(waiting=-1, drop=True) - rank.isel(waiting=0, drop=True)

    return Measurement(by_phase(runs, grown, np.exp))


# --- claims: how walks slow down


@measures("C.3.kinks.renewed", "C.3.kinks.ageing")
def growth(runs, source):
    """Excess of walked over foretold growth of τ₉₀: the look renewed at each wait, or the first alone along kinks."""
    return Measurement(by_phase(runs, lambda run: excess(run, source), np.exp))


@measures(*RIVALS)
def better(runs, source, other):
    """Size of the log of the excess in the phase that ages; the null: that of another forecast."""
    own, rival = (lambda run, one=one: abs(excess(run, one)) for one in (source, other))
    return paired({AGEING: runs[AGEING]}, own, rival)


@measures("C.3.kinks.excess", "C.3.kinks.excess_alike")
def with_kinks(kinked, smooth, source):
    """Excess over the first look with ReLU, and the same over that of the smooth network of the same seed.

    ``source`` is the parabola for ReLU: with Gauss-Newton's curvature, or the exact Hessian, as of smooth networks.
    """
    own, without = excess(kinked[AGEING], source), excess(smooth[AGEING], "first look")
    both = {"with ReLU": own, "with ReLU over smooth": own - without}
    each = {name: estimate(one, "seed", "symmetric").map(np.exp) for name, one in both.items()}
    return Measurement(stack(each, "excess"))


# --- tables


def moved(run, source):
    """log of foretold by walked squared displacement at the record's end, after the first wait."""
    end = first(run.msd).isel(time=-1, drop=True)
    return np.log(end.sel(source=source, drop=True) / end.sel(source="walk", drop=True))


def of_forecasts(kinked, smooth, number):
    """Geometric means over networks of what is foretold beside walks, by what foretells it, phase and kind."""
    columns = {}
    for phase in PHASES:
        for kind, run in (("ReLU", kinked[phase]), ("softplus", smooth[phase])):
            known = [source for source in run.source.values[1:] if np.isfinite(run.overlap.sel(source=source)).any()]
            each = {source: estimate(number(run, source), "seed", "symmetric").map(np.exp) for source in known}
            columns[phase, f"{kind} ({run.sizes['seed']})"] = {source: str(one) for source, one in each.items()}
    return pd.DataFrame(columns).fillna("")
