"""Shapes of displacements (Figs. 7, A8): α₂ and motilities beside Gaussian groups, in which nothing changes its pace.

A group is a layer's weights, those at silent units apart.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import erf

from deepmech.core.estimates import estimate, stack
from deepmech.core.random import Stream
from deepmech.metrics.glass import MOTILITY_EDGES, mixture_non_gaussian
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.glass import phases, regimes
from deepmech_book.glass.clocks import measures_walks
from deepmech_book.glass.dips import dip, dip_test, unbinned
from deepmech_book.glass.phases import of_learnt_most, origins
from deepmech_book.sweeps.glass import walks

HALF_AS_FAR = float(mixture_non_gaussian(np.array([1.0, 0.25]), np.array([0.5, 0.5])))
"""α₂ of normal displacements of which one half goes half as far as the other, 0.36."""


def alphas(run):
    """α₂ over temperature (> 0) and time of all weights, of ``alive`` ones, and of Gaussian groups (``mixture``)."""
    warm = run.sel(temperature=run.temperature > 0).isel(waiting=0, drop=True)
    names = {"all": "alpha", "alive": "alpha_alive", "mixture": "alpha_mixture"}
    return xr.Dataset({k: warm[v].dropna("time", how="all") for k, v in names.items()})


def motilities(run):
    """Share of weights, pooled over networks, by log₁₀|Δw| at the last recorded time."""
    counts = run.motility.isel(waiting=0, drop=True).sum("seed").transpose("temperature", "bin")
    share = counts / (counts.sum("bin") + run.still.isel(waiting=0, drop=True).sum("seed"))
    seen = np.flatnonzero(counts.sum("temperature").values)
    # Four bins together, the same four for all: as fine as a few thousand weights allow.
    return share.isel(bin=slice(max(seen[0] - 4, 0) // 4 * 4, seen[-1] + 5)).coarsen(bin=4, boundary="pad").sum()


def moved(run, temperature):
    """log₁₀|Δw| of all weights that moved, pooled over networks."""
    counts = run.motility.isel(waiting=0, drop=True).sum("seed").sel(temperature=temperature)
    return unbinned(counts.values, MOTILITY_EDGES)


def modes(run, temperature, n_null=200):
    """Hartigan's test of :func:`moved`."""
    return dip_test(moved(run, temperature), Stream.of("dips", 0), n_null)


def scales(run, temperature):
    """Root mean square displacement and number of weights of every group that moved, networks not pooled."""
    one = run[["end_square", "end_count"]].isel(waiting=0).sel(temperature=temperature)
    square, count = one.end_square.values.ravel(), one.end_count.values.ravel()
    has = (count > 0) & (square > 0)
    return np.sqrt(square[has] / count[has]), count[has].astype(int)


def gaussian_motilities(run, temperatures):
    """:func:`motilities` of Gaussian groups of the same widths."""
    edges = np.append(0.0, 10.0 ** MOTILITY_EDGES[1:])  # what lies below is counted in the first bin
    rows = []
    for t in temperatures:
        size, count = scales(run, t)
        rows.append(np.rint(count @ np.diff(erf(edges / (np.sqrt(2) * size[:, None])), axis=1)))
    coords = {"temperature": list(temperatures), "bin": run.bin}
    expected = xr.DataArray(np.stack(rows), coords, ("temperature", "bin"))
    some = run[["motility", "still"]].sel(temperature=list(temperatures)).isel(waiting=[0], seed=[0])
    return motilities(some.assign(motility=expected.expand_dims(["seed", "waiting"]), still=some.still * 0))


def grouped_dips(run, temperature):
    """Dips, rising, of 19 draws of as many Gaussian weights in groups: these exceed all of them once in twenty."""
    size, count = scales(run, temperature)
    n = int(count.sum())
    stream, each = Stream.of("groups", n), np.log10(np.repeat(size, count))
    return np.sort([dip(each + np.log10(np.abs(stream.normal("z", i, n)))) for i in range(19)])


# --- pictures and the table


def alpha_panels(runs):
    """Mean α₂ at the highest, a middle and the lowest temperature of each phase, and that of Gaussian groups."""
    found, null = {}, {}
    for phase, run in runs.items():
        alpha = alphas(run).mean("seed").sortby("temperature", ascending=False)
        three = alpha.isel(temperature=[0, alpha.sizes["temperature"] // 2, -1])
        found[phase], null[phase] = three["all"], three.mixture
    return phases.panels(found), phases.panels(null)


def motility_panels(runs, temperatures=None, null=None):
    """:func:`motilities` by phase at temperatures above 0, or some; and of Gaussian groups at the lowest, or some."""
    seen, expected = {}, {}
    for phase, run in runs.items():
        warm = run.sel(temperature=run.temperature > 0 if temperatures is None else list(temperatures))
        seen[phase] = motilities(warm)
        groups = gaussian_motilities(run, [phases.coldest(run)] if null is None else null)
        expected[phase] = groups.reindex(temperature=warm.temperature)
    every, rival = (
        xr.concat(one.values(), xr.Variable("phase", list(runs)), join="outer").sortby("bin")
        for one in (seen, expected)
    )
    order = {"temperature": np.sort(every.temperature)[::-1]}
    return every.reindex(order), rival.reindex(order)


def slow_weights(runs, warmest=1e-3):
    """Weights that move less than three times as far as free walks do, in words, where cold ones have two modes.

    One row a temperature with two modes (p of the dip test below 0.05), and the coldest one of every phase.
    """
    rows = {}
    for phase, run in runs.items():
        silent, n = 1 - run.alive_share.isel(waiting=0).mean("seed"), run.sizes["seed"]
        last = float(phases.overlaps(run).time[-1])
        for t in run.temperature.values[(run.temperature > 0) & (run.temperature <= warmest)]:
            sample, p = moved(run, t), modes(run, float(t)).p
            if p >= 0.05 and t > phases.coldest(run):
                continue
            free = 0.5 * np.log10(2 * walks.diffusion(float(t)) * last)
            slow = sample[sample < free + np.log10(3)]
            two = len(slow) and p < 0.05
            rows[f"{phase}, T = {t:g}"] = {
                "two modes": f"{sum(modes(run.isel(seed=[i]), float(t)).p < 0.05 for i in range(n))} of {n} networks",
                "median of slow log₁₀|Δw|": f"{np.median(slow):.1f}".replace("-", "−") if two else "–",
                "log₁₀ of a free walk": f"{free:.1f}".replace("-", "−"),
                "slow weights": f"{100 * len(slow) / len(sample):.0f} %" if two else "one mode",
                "at silent units": f"{100 * float(silent.sel(temperature=t)):.0f} %",
            }
    return pd.DataFrame.from_dict(rows, orient="index")


# --- claims


def normal_when_hot(run):
    """α₂ when hottest, at a tenth of the landscape's own time, or of the record; mean over waits."""
    until = regimes.time_within_record(run) / 10
    early = run.alpha.sel(temperature=float(run.temperature.max()), time=slice(None, until))
    early = early.dropna("time", how="all").isel(time=-1, drop=True)
    return estimate(early.mean("waiting"), "seed", "symmetric")


@measures("C.7.hot_is_gaussian")
def hot_is_gaussian(runs):
    """α₂ when hottest, by phase; the null: half of the weights are kicked half as hard."""
    found = {phase: normal_when_hot(run) for phase, run in runs.items()}
    best = of_learnt_most(runs["regularised"], normal_when_hot)
    return Measurement(stack(found, "phase"), null=HALF_AS_FAR, first_null=0.0, detail=origins(runs, best))


def far_from_gaussian(run):
    """α₂ at the last recorded time where coldest, beside that of Gaussian groups, and its words.

    The interval is of the difference, network by network.
    """
    made = alphas(run)
    low = float(made.temperature.min())
    end = made.sel(temperature=low).isel(time=-1)
    mean = end.mean("seed")
    beyond = estimate(end["all"] - end.mixture, "seed", "symmetric").map(lambda x: x + float(mean.mixture))
    words = f"T = {low:g}, last recorded time. Weights at silent units left out: {float(mean.alive):.2g}."
    return replace(beyond, value=float(mean["all"]), null=float(mean.mixture)), words


def two_modes(run):
    """The dip of motilities where coldest beside that of Gaussian groups, over the critical one, and its words.

    The interval is over networks, for the weights of one are not independent. A critical dip falls as 1/√n.
    """
    temperature = phases.coldest(run)
    found = modes(run, temperature)
    counts = run.motility.isel(waiting=0).sel(temperature=temperature).reset_coords(drop=True)

    def in_units(some):
        sample = unbinned(some.values.sum(some.get_axis_num("seed")), MOTILITY_EDGES)
        return np.log(float(dip(sample) / found.critical * np.sqrt(len(sample) / found.n)))

    one = estimate(counts, "seed", "symmetric", of=in_units).map(np.exp)
    null = grouped_dips(run, temperature)[-1] / found.critical
    return replace(one, value=found.dip / found.critical, null=null), f"T = {temperature:g}."


def with_loss(runs, number):
    """A number of each phase with loss, and their words."""
    found = {phase: number(runs[phase]) for phase in phases.WITH_LOSS}
    return stack({phase: one for phase, (one, _) in found.items()}, "phase"), found


def of_phases(runs, number, told):
    """:func:`with_loss`, each phase with its words as ``told``, and that of the networks that learnt most."""
    found, each = with_loss(runs, number)
    words = " ".join(f"{phase.capitalize()}: {told(*one)}" for phase, one in each.items())
    best = of_learnt_most(runs["regularised"], lambda run: number(run)[0])
    return Measurement(found, detail=f"{words} {best}".rstrip())


def without_loss(runs, number):
    """A number of the networks without loss, and its words."""
    found, words = number(runs["overparameterised"])
    return Measurement(found, detail=origins({"overparameterised": runs["overparameterised"]}, words))


@measures_walks("C.7.cold_is_not")
def cold_is_not(runs):
    """α₂ when coldest, in the phases with loss, beside that of Gaussian groups."""
    return of_phases(runs, far_from_gaussian, lambda one, words: words)


@measures_walks("C.7.overparameterised.cold_is_not", lossless=True)
def large_cold_is_not(runs):
    """As :func:`cold_is_not`, of networks without loss."""
    return without_loss(runs, far_from_gaussian)


@measures_walks("C.7.bimodal")
def bimodal(runs):
    """The dip of motilities when coldest, in the phases with loss, beside that of Gaussian groups."""
    return of_phases(runs, two_modes, lambda one, words: f"{one}, null {one.null:.2f}; {words}")


@measures_walks("C.7.overparameterised.bimodal", lossless=True)
def large_bimodal(runs):
    """As :func:`bimodal`, of networks without loss."""
    return without_loss(runs, two_modes)
