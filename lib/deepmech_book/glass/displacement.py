"""How far weights go (Fig. 5), beside free walks, MSD = 2Dt with D = μT/P_D (Eq. 5), and weights that only decay."""

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate, proportion, stack, unknown
from deepmech.metrics.relaxation import exponent, local_powers
from deepmech.simulators.brownian import Well, well_msd
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.glass import phases, regimes
from deepmech_book.glass.clocks import measures_walks
from deepmech_book.glass.experiments import experiment
from deepmech_book.glass.phases import of_learnt_most, origins
from deepmech_book.glass.words import said
from deepmech_book.sweeps.glass import walks
from deepmech_book.sweeps.shipped import result

PAPER_RECORD = 300_000
"""Steps after the wait at which the paper's record of batches ends (Fig. 5(d))."""
TOO_FAST = "the landscape moves weights at once; train networks for longer (sgd_steps)"
OVER_FREE = "squared displacement / $2Dt$"


def msd(run):
    """Displacement of every initial condition after the first wait."""
    return run.msd.isel(waiting=0, drop=True).dropna("time")


def free(run):
    """Displacement of free walks, T > 0."""
    return 2 * walks.diffusion(1.0) * run.temperature[run.temperature > 0] * run.time.astype(float)


# --- pictures


def moved(run):
    """Mean displacement over initial conditions."""
    return said(msd(run).mean("seed"), "mean squared displacement")


def powers(run):
    """The power of time that the mean displacement follows: 1 of a free walk, 2 of a steady slide."""
    return said(local_powers(moved(run)).isel(time=slice(2, -2)), "local power of the displacement")


def beside_glass(run, glass):
    """:func:`powers` of networks, and of a glass former where coldest (``glass``: its displacement), along kind."""
    cold = local_powers(glass.sel(temperature=float(glass.temperature.min()), drop=True).mean("seed"))
    former = cold.isel(time=slice(2, -2)).assign_coords(time=cold.time[2:-2].astype(float))
    networks = powers(run)
    return said(phases.panels({"networks": networks, "glass former": former}, "kind"), networks.long_name)


def hot_cold_and_glass(run, glass):
    """:func:`beside_glass` of the hottest and of the coldest networks above T = 0, named by what they do."""
    both = beside_glass(run, glass)
    networks, former = (both.sel(kind=kind, drop=True) for kind in both.kind.values)
    kinds = {
        "hot: a free walk": networks.sel(temperature=float(run.temperature.max()), drop=True),
        "cold: a slide": networks.sel(temperature=phases.coldest(run), drop=True),
        "glass former: a cage": former.isel(temperature=0, drop=True),
    }
    return said(xr.Dataset(kinds).to_dataarray("kind"), both.long_name)


def over_free(runs):
    """Mean displacements over those of free walks, a panel a phase; at T = 0 over the coldest free walk's."""
    far = phases.panels({phase: moved(run) for phase, run in runs.items()})
    freely = phases.panels({phase: free(run) for phase, run in runs.items()}).reindex(temperature=far.temperature)
    cold = xr.concat(
        [freely.sel(phase=p, temperature=phases.coldest(run), drop=True) for p, run in runs.items()], far.phase
    )
    return said(far / freely.where(far.temperature > 0, cold), OVER_FREE)


def first_swings(run):
    """Mean displacements, by the length of a step."""
    far = run.msd.mean("seed").rename(slower="step").assign_coords(step=["whole steps", "half", "a quarter"])
    return said(far.sel(time=slice(None, 100)), "mean squared displacement")


def beside_well(run, temperature):
    """Over the displacement of free walks: those of networks, and in equilibrium in the well of weight decay."""
    well = Well(phases.weight_decay(run), temperature, walks.RATE, walks.P_D)
    networks = moved(run).sel(temperature=temperature, drop=True)
    kinds = {"networks": networks, "weight decay alone": networks.copy(data=well_msd(networks.time.values, well))}
    return said((xr.Dataset(kinds) / free(run).sel(temperature=temperature, drop=True)).to_dataarray("kind"), OVER_FREE)


# --- claims


LOW, LASTING = 0.3, 3.0
"""A plateau is a stretch of local powers below the one, over which time grows by a factor of the other or more."""


def rise_after_plateau(msd):
    """How clearly any squared displacement over ``time`` shows a cage: the rise of its local power after a plateau.

    A stretch shorter than :data:`LASTING` is a swing of weights across a steep valley. 0 if there is no plateau, or no
    rise after it. Curves at T = 0 are left out: networks at zero loss do not move at all.
    """
    msd = msd.transpose(..., "time")
    moving = msd.sel(temperature=msd.temperature > 0) if "temperature" in msd.dims else msd
    times, most = msd.time.values.astype(float), 0.0
    for curve in local_powers(moving).values.reshape(-1, msd.sizes["time"]):
        below = np.append(np.nan_to_num(curve, nan=np.inf) < LOW, False)
        for start in np.flatnonzero(below & ~np.insert(below[:-1], 0, False)):
            end = start + int(np.argmin(below[start:]))
            later = curve[end:][np.isfinite(curve[end:])]
            if times[end - 1] >= LASTING * times[start] and len(later):
                most = max(most, float(later.max() - np.nanmin(curve[start:end])))
    return most


def caged(displacements):
    """Whether displacements of each network (``seed``), at any temperature, show a cage."""
    each = displacements.transpose("seed", ...)
    return np.array([rise_after_plateau(each.isel(seed=i)) >= LOW for i in range(each.sizes["seed"])])


@measures_walks("C.5.no_plateau")
def no_plateau(runs, glass):
    """Share of networks with a cage from 10 steps on (before, the size of a step does); null: of ``glass`` formers."""
    found = {phase: caged(msd(run).sel(time=slice(10, None))) for phase, run in runs.items()}
    every = np.concatenate([found[phase] for phase in phases.WITH_LOSS])
    each = ", ".join(f"{one.sum()} of {one.size} {phase}" for phase, one in found.items())
    null = float(caged(glass).mean())
    return Measurement(proportion(float(every.mean()), every.size), null=null, detail=f"Networks with a cage: {each}.")


def early(run, temperature=0.1):
    """Displacement over 2Dt and its power of time, up to a tenth of the landscape's own time; both 1 of a free walk."""
    until = regimes.time_within_record(run) / 10
    far = msd(run).sel(temperature=temperature).transpose("seed", "time").sel(time=slice(None, until))
    if far.sizes["time"] < 2:
        return unknown(TOO_FAST), unknown(TOO_FAST)
    ratio = (far / free(run).sel(temperature=temperature)).mean("time")
    return estimate(ratio, "seed", "symmetric"), exponent(far.time.values, far.values)


@measures_walks("C.5.hot_is_free")
def hot_is_free(runs):
    """Early hot displacements over those of free walks, by phase; the null: kicks with half the variance."""
    found = {phase: early(run) for phase, run in runs.items()}
    slopes = "; ".join(f"{phase}: {power}" for phase, (_, power) in found.items())
    best = of_learnt_most(runs["regularised"], lambda run: early(run)[0])
    words = origins(runs, f"Power of time (1 of a free walk): {slopes}.", best)
    return Measurement(
        stack({phase: ratio for phase, (ratio, _) in found.items()}, "phase"), 1.0, 0.5, words, first_null=1.0
    )


@measures_walks("C.5.over_diffuses", lossless=True)
def over_diffuses(runs):
    """The last displacement of networks without loss over 2Dt; the null: underparameterised ones, where coldest."""
    last = {phase: (msd(run) / free(run)).isel(time=-1, drop=True) for phase, run in runs.items()}
    far, rival = last["overparameterised"], last["underparameterised"]
    each = ", ".join(f"{ratio:.2g}" for ratio in far.sel(temperature=far.temperature.min()).values)
    words = origins({"overparameterised": runs["overparameterised"]}, f"One by one, where coldest: {each}.")
    null = float(rival.sel(temperature=rival.temperature.min()).mean())
    return Measurement(estimate(far, "seed", "symmetric"), 1.0, null, words)


def swings():
    """Cold networks that have learnt, at smaller rates (:func:`.rates.rate_cells`)."""
    run = result(experiment("glass-rates-cold"))
    return run.isel(seed=np.flatnonzero(~run.diverged & (run.loss < phases.LEARNT)))


@measures("C.5.steps", "C.5.steps_half")
def shorter(run, slower):
    """First squared displacements at a smaller rate over those at the whole; the null is a cage, which stays."""
    ratio = np.log(run.early.sel(slower=slower, drop=True) / run.early.sel(slower=1, drop=True))
    beside = np.exp(np.log(run.gradient_norm / run.drift_norm).mean("seed")).sel(slower=[1, slower]).values
    words = f"Gradient over drift, of which a smooth valley would leave 1: {beside[0]:.0f}, then {beside[1]:.0f}."
    return Measurement(estimate(ratio, "seed", "symmetric").map(np.exp), null=1.0, detail=words)


@measures("C.5.localised")
def localised(batches, control):
    """The displacement with single samples where the paper's record ends; ``control``: without weight decay."""
    one, other = (1e4 * msd(run).sel(batch_size=int(batches.batch_size.min()), drop=True) for run in (batches, control))
    if float(one.time[-1]) < PAPER_RECORD:
        why = f"the record ends after {float(one.time[-1]):,.0f} steps, before the paper's; walk for longer (steps_d)"
        return Measurement(not_testable=why)
    at, null = (run.sel(time=PAPER_RECORD, method="nearest") for run in (one, other))
    end, (power, without) = one.mean("seed")[-1], (local_powers(run.mean("seed"))[-2] for run in (one, other))
    words = (
        f"Batch size {int(batches.batch_size.min())}, {float(at.time):,.0f} steps after the wait. At the end of this "
        f"record, after {float(end.time):,.0f}: {float(end):.2g}, rising as time to the power {float(power):.2f} "
        f"(without weight decay {float(without):.2f})."
    )
    return Measurement(at.drop_vars("time"), None, float(null.mean()), origins({"regularised": batches}, words))
