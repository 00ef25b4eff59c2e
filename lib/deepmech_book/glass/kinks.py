"""Networks at rest on kinks: what the gradient at a point foretells, what the kinks hold, and how walks slow down.

``kinked`` and ``smooth`` are networks of ReLU and of softplus by phase, of the sweeps :data:`.experiments.KINKS`.
"""

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate, stack
from deepmech.metrics.relaxation import decorrelation_time
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside
from deepmech_book.glass.experiments import KINKS, experiment
from deepmech_book.glass.phases import LEARNT_MOST
from deepmech_book.sweeps.shipped import result

PHASES = ("regularised", "underparameterised")
AGEING = "regularised"
"""The phase whose walks slowed down more than a first look foretold, in networks that walked before."""


def networks():
    """(Networks of ReLU, smooth ones) by phase: those that have learnt as much as the paper's and did not diverge."""
    found = {name: result(experiment(f"glass-kinks-{name}")) for name in KINKS}
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
    tau = first(times(run))
    return np.log(tau.sel(source=source, drop=True) / tau.sel(source="walk", drop=True))


def excess(run, source):
    """log of by how much more τ₉₀ grew from the first to the last wait than was foretold."""
    tau = np.log(times(run))
    grown = tau.isel(waiting=-1, drop=True) - tau.isel(waiting=0, drop=True)
    return grown.sel(source="walk", drop=True) - grown.sel(source=source, drop=True)


def by_phase(runs, number, back=np.asarray):
    """The mean over networks of a number of each, by phase; ``back`` from logarithms."""
    return stack({p: estimate(number(run), "seed", "symmetric").map(back) for p, run in runs.items()}, "phase")


def paired(runs, number, rival):
    """The mean over networks of a number of each beside another one of the same networks, by phase."""
    return Measurement(stack({p: beside(number(run), rival(run), "seed") for p, run in runs.items()}, "phase"))


# --- claims: the gradient at a point


@measures("C.3.kinks.gradient")
def gradient(kinked):
    """Gradient at a point over drift of a look, at the first wait; geometric mean over networks."""
    return Measurement(by_phase(kinked, lambda run: np.log(first(run.gradient_norm / run.drift_norm)), np.exp))


@measures("C.3.kinks.direction")
def direction(kinked):
    """Cosine of the way down the gradient with the way that weights then go."""
    return Measurement(by_phase(kinked, lambda run: first(run.cos_way)))


@measures("C.3.kinks.instant")
def instant(kinked):
    """τ₉₀ foretold from one instant by the walked one, after the first wait."""
    return Measurement(by_phase(kinked, lambda run: foretold(run, "one instant"), np.exp))


@measures("C.3.kinks.look")
def look(kinked):
    """τ₉₀ foretold from a look of a hundred steps by the walked one, after the first wait."""
    return Measurement(by_phase(kinked, lambda run: foretold(run, "first look"), np.exp))


@measures("C.3.kinks.smooth")
def smooth_gradient(smooth):
    """The same as of :func:`gradient` for smooth networks."""
    return gradient.function(smooth)


@measures("C.3.kinks.smooth.direction")
def smooth_direction(smooth):
    """Cosine of the gradient at a point with the drift of a look."""
    return Measurement(by_phase(smooth, lambda run: first(run.cos_drift)))


@measures("C.3.kinks.smooth.instant")
def smooth_instant(smooth):
    """The same as of :func:`instant` for smooth networks."""
    return instant.function(smooth)


# --- claims: what the kinks hold


def held(run, name, which):
    """A share that one of the sets of directions holds, at the first wait."""
    return first(run[name]).sel(set=which, drop=True)


@measures("C.3.kinks.span")
def in_gradient(kinked):
    """Share of the squared gradient at a point in the span of kinks, beside that of pairs near zero."""
    return paired(
        kinked, lambda run: held(run, "in_gradient", "kinks"), lambda run: held(run, "in_gradient", "near pairs")
    )


@measures("C.3.kinks.way")
def in_way(kinked):
    """Share of the squared way to the last record in the span of kinks, beside that of pairs near zero."""
    return paired(kinked, lambda run: held(run, "in_way", "kinks"), lambda run: held(run, "in_way", "near pairs"))


@measures("C.3.kinks.grows")
def grows(kinked):
    """Directions that kinks span after the last wait over those after the first."""

    def grown(run):
        rank = np.log(run["rank"].sel(set="kinks", drop=True))
        return rank.isel(waiting=-1, drop=True) - rank.isel(waiting=0, drop=True)

    return Measurement(by_phase(kinked, grown, np.exp))


# --- claims: how walks slow down


def size_of_excess(kinked, source, rival):
    """Size of the log of the excess in the phase that ages, beside that of a rival."""
    only = {AGEING: kinked[AGEING]}
    return paired(only, lambda run: abs(excess(run, source)), lambda run: abs(excess(run, rival)))


@measures("C.3.kinks.renewed")
def renewed(kinked):
    """Excess of walked over foretold growth of τ₉₀ where the look is renewed at each wait."""
    return Measurement(by_phase(kinked, lambda run: excess(run, "renewed look"), np.exp))


@measures("C.3.kinks.renewed.first")
def renewed_and_first(kinked):
    """Size of the log excess of the renewed look; the null: of the first look."""
    return size_of_excess(kinked, "renewed look", "first look")


@measures("C.3.kinks.renewed.slide")
def renewed_and_slide(kinked):
    """Size of the log excess of the renewed look; the null: of a renewed slide."""
    return size_of_excess(kinked, "renewed look", "renewed slide")


@measures("C.3.kinks.ageing")
def ageing(kinked):
    """Excess of walked over foretold growth, from the first look along kinks with the exact Hessian."""
    return Measurement(by_phase(kinked, lambda run: excess(run, "kinks"), np.exp))


@measures("C.3.kinks.ageing.bowl")
def ageing_and_bowl(kinked):
    """Size of the log excess along kinks with the Hessian; the null: of the first look's drift and curvature."""
    return size_of_excess(kinked, "kinks", "first look")


@measures("C.3.kinks.ageing.random")
def ageing_and_random(kinked):
    """Size of the log excess along kinks with the Hessian; the null: without as many random directions."""
    return size_of_excess(kinked, "kinks", "random directions")


@measures("C.3.kinks.ageing.near")
def ageing_and_near(kinked):
    """Size of the log excess along kinks with the Hessian; the null: without directions of pairs near zero."""
    return size_of_excess(kinked, "kinks", "near pairs")


# --- tables


def of_times(runs):
    """τ₉₀ foretold by walked one, after the first wait, the excess of growth, and squared displacement; all kinds."""
    rows = {}
    for phase, run in runs.items():
        for source in run.source.values[1:]:
            if not np.isfinite(run.overlap.sel(source=source)).any():
                continue
            end = first(run.msd).isel(time=-1, drop=True)
            moved = np.log(end.sel(source=source, drop=True) / end.sel(source="walk", drop=True))
            numbers = {"τ₉₀, foretold by walked": foretold(run, source)}
            if run.sizes["waiting"] > 1:
                numbers["excess of growth"] = excess(run, source)
            numbers["squared displacement, foretold by walked"] = moved
            rows[phase, source] = {
                what: str(estimate(n, "seed", "symmetric").map(np.exp)) for what, n in numbers.items()
            }
    return pd.DataFrame.from_dict(rows, "index")
