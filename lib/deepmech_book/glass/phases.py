"""What the pages ask of networks that walk in three phases: who survives, who is judged, how fast they decorrelate."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.metrics.relaxation import decorrelation_times
from deepmech.simulators.brownian import free_overlap, free_time
from deepmech.sweeps import Sweep, sweep_of
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech.trainers.langevin import Preparation
from deepmech_book.sweeps.glass import walks
from deepmech_book.sweeps.glass.data import title_of
from deepmech_book.sweeps.glass.forecasts import FRESH, fresh
from deepmech_book.sweeps.glass.walks import PAPER_WINDOW, PHASES, diffusion, paper_networks, sweeps
from deepmech_book.sweeps.shipped import result


def window_size(run: xr.Dataset, chi: int = PAPER_WINDOW) -> xr.DataArray:
    """ε = σ/χ of every network."""
    return run.sigma / float(run.chi[chi])


#: What the paper runs (Sec. III, Figs. 3 and 7); of its 50 initial conditions so many are left in each phase.
PAPER = {"steps": 300_000, "first wait": 20_000, "motilities after": 200_000}
SURVIVED = dict(zip(PHASES, (50, 26, 46), strict=True))
WITH_LOSS = ("regularised", "underparameterised")
"""Phases whose networks keep some data loss."""
LEVEL = 1e-4
"""Geometric mean of the final data loss at which it counts as vanished."""
LEARNT = 0.45
"""The data loss below which a network has learnt; at the origin, where it has not, it is ½."""
LEARNT_MOST = 0.2
"""The data loss below which a network has learnt as much as the paper's; others stop half-way, at about 0.3."""
NO_LOSS = 1e-12
"""The data loss below which there is none: margins are missed by a millionth. What is left moves no weight."""
NONE_FITS = "no network is without data loss after the first wait; widen them (widths) or train for longer (sgd_steps)"


def runs(
    dataset: str, changes: Mapping[str, Any] | None = None, named: Sequence[Sequence[float]] = ((), (), ())
) -> dict[str, xr.Dataset]:
    """Phase -> its networks, :func:`survivors` of :func:`sweeps`; of the overparameterised ones those :func:`lossless`.

    What the paper says of that phase it explains by flat plateaus at zero loss. If no such network is there, the phase
    is left out.
    """
    made = {phase: survivors(every(sweep)) for phase, sweep in sweeps(dataset, changes, named).items()}
    made["overparameterised"] = lossless(made["overparameterised"])
    return {phase: run for phase, run in made.items() if run.sizes["seed"]}


def every(sweep: Sweep) -> xr.Dataset:
    """The result of a sweep of walks and, where it is the book's own on MNIST, the networks trained for the forecast.

    Those walked with the same settings and seeds of their own (:data:`.forecasts.FRESH`).
    """
    parts = [result(one) for one in (sweep, *_later(sweep))]
    return xr.concat(parts, "seed", combine_attrs="override")


def waited_weights(run: xr.Dataset) -> xr.DataArray:
    """Weights where the clock first starts, of every network of ``run`` (a phase of :func:`runs`) above T = 0.

    They are over ``seed``, ``temperature`` and ``weight``.
    """
    like = sweep_of(run)
    parts = [result(walks.waited_weights(one)).weights for one in (like, *_later(like))]
    return xr.concat(parts, "seed").sel(seed=run.seed)


def _later(sweep: Sweep) -> list[Sweep]:
    """The walks of the forecast's networks, if ``sweep`` has the settings that they share."""
    return [fresh(phase) for phase in FRESH if walks.standard(phase, "mnist").key == sweep.key]


def survivors(run: xr.Dataset) -> xr.Dataset:
    """Survivors: initial conditions that diverged at no temperature, and whose network has learnt.

    It has if its data loss where the comparison begins is below :data:`LEARNT` (½ at the origin), where coldest.
    Attributes ``left_out`` and ``fallen`` say how many diverged, and how many more lie at the origin. A ValueError if
    no network survives.
    """
    dims = [d for d in run.diverged.dims if d != "seed"]
    sound = ~run.diverged.any(dims)
    learnt = run.loss_waited.isel(waiting=0, drop=True).min(dims) < LEARNT
    if not (good := sound & learnt).any():
        raise ValueError(
            f"{sweep_of(run).name}: of {good.size} initial conditions {int((~sound).sum())} diverged, the others lie "
            "at the origin, so that there is nothing to show; give more of them (n_seeds), shorter steps (sgd_rate), a "
            "longer training (sgd_steps) or a wider start (gain)"
        )
    out = {"left_out": int((~sound).sum()), "fallen": int((sound & ~learnt).sum())}
    return run.isel(seed=np.flatnonzero(good.values)).assign_attrs(out)


def lossless(run: xr.Dataset) -> xr.Dataset:
    """Networks without data loss after the first wait, where coldest: below :data:`NO_LOSS`.

    Attribute ``with_loss`` says how many were left out.
    """
    loss = run.loss_waited.isel(waiting=0).sel(temperature=run.temperature.min()).values
    good = np.flatnonzero(loss < NO_LOSS)
    return run.isel(seed=good).assign_attrs(with_loss=run.sizes["seed"] - len(good))


def overlaps(run: xr.Dataset, window: int = PAPER_WINDOW, wait: int = 0) -> xr.DataArray:
    """Overlap of every initial condition in one of the recorded windows, after one of the waits."""
    return run.overlap.isel(chi=window, waiting=wait, drop=True).dropna("time", how="all")


def coldest(run: xr.Dataset) -> float:
    """The smallest temperature above 0."""
    return float(run.temperature.values[run.temperature.values > 0].min())


def times(run: xr.Dataset, window: int = PAPER_WINDOW, wait: int = 0, level: float = 0.9) -> xr.Dataset:
    """:func:`~deepmech.metrics.relaxation.decorrelation_times` over temperature, beside free walks in the same windows.

    These are ``free`` (temperature), and ``free_without`` (temperature, seed) without each initial condition.
    """
    table = decorrelation_times(run.overlap.isel(chi=window, waiting=wait, drop=True), level)
    sizes = window_size(run, window).transpose("temperature", "seed").values
    n = run.sizes["seed"]
    others = np.array([np.delete(np.arange(n), i) for i in range(n)])
    free, without = np.full(len(sizes), np.inf), np.full(sizes.shape, np.inf if n > 1 else np.nan)
    warm = run.temperature.values > 0
    rate = np.asarray(diffusion(run.temperature.values[warm]))
    free[warm] = free_time(sizes[warm], 1.0, level) / rate
    if n > 1:
        without[warm] = free_time(sizes[warm][:, others], 1.0, level) / rate[:, None]
    return table.assign(free=("temperature", free), free_without=(("temperature", "seed"), without))


def mean_overlaps(runs: Mapping[str, xr.Dataset]) -> xr.DataArray:
    """Mean :func:`overlaps` over initial conditions, a panel for each phase (Fig. 3(a-c))."""
    return panels({phase: overlaps(run).mean("seed") for phase, run in runs.items()})


def times_of_phases(runs: Mapping[str, xr.Dataset], e_fold: bool = False) -> xr.Dataset:
    """:func:`times` of each phase, or with ``e_fold`` those to 1/e, side by side (Figs. 3(d-f), A4)."""
    level = float(np.exp(-1)) if e_fold else 0.9
    return beside({phase: times(run, level=level) for phase, run in runs.items()}, "phase")


def free_overlaps(run: xr.Dataset, window: int = PAPER_WINDOW) -> xr.DataArray:
    """The overlap of free walks at each temperature, in one of the recorded windows of every initial condition."""
    sizes = window_size(run, window).transpose("seed", "temperature")
    at = list(enumerate(run.temperature.values))
    rows = [[free_overlap(run.time.values, row[k], diffusion(float(t))) for k, t in at] for row in sizes.values]
    return xr.DataArray(rows, {**sizes.coords, "time": run.time}, ("seed", "temperature", "time"))


def beside_free_walks(
    run: xr.Dataset, temperatures: Sequence[float] | None = None, window: int = PAPER_WINDOW
) -> tuple[xr.DataArray, xr.DataArray]:
    """Mean overlaps of a phase, at all or some ``temperatures``, and those of free walks where T > 0 (Fig. 2(b))."""
    shown = run if temperatures is None else run.sel(temperature=list(temperatures))
    free = free_overlaps(shown, window).mean("seed")
    return overlaps(shown, window).mean("seed"), free.sel(temperature=free.temperature > 0)


def beside(tables: Mapping[Hashable, xr.Dataset], name: str) -> xr.Dataset:
    """:func:`times` of several phases, windows, waits or sizes along ``name``, T > 0 and rising, for a picture.

    The free walks of each are given at every temperature, also where a phase was not walked.
    """
    joined = xr.concat([t.drop_dims("seed") for t in tables.values()], over(name, list(tables)), join="outer")
    joined = joined.sel(temperature=joined.temperature > 0).sortby("temperature")
    elsewhere = (joined.free * joined.temperature).median("temperature") / joined.temperature
    temperature = joined.temperature.assign_attrs(
        long_name="temperature $T$ (of the paper, at $P_D$ = 60,000)", units="1"
    )
    tau = joined.tau.assign_attrs(long_name=r"decorrelation time $\tau_{90}$", units="steps")
    return joined.assign(tau=tau, free=joined.free.fillna(elsewhere)).assign_coords(temperature=temperature)


def panels(curves: Mapping[str, xr.DataArray], along: str = "phase") -> xr.DataArray:
    """Curves over time of several phases (or what else they are of) along a dimension, for panels side by side.

    Records differ in their times; each is given at all times of all, between its own on straight lines in log t.
    """
    times = np.unique(np.concatenate([one.time.values for one in curves.values()])).astype(float)
    made = []
    for one in curves.values():
        at = one.assign_coords(time=np.log(one.time.values.astype(float))).interp(time=np.log(times))
        made.append(at.assign_coords(time=times))
    joined = xr.concat(made, over(along, list(curves)), join="outer")
    return joined.sortby("temperature", ascending=False) if "temperature" in joined.dims else joined


def weight_decay(run: xr.Dataset) -> float:
    """λ of a phase's networks."""
    return float(sweep_of(run).fixed["regularisation"])


def decayed(run: xr.Dataset) -> float:
    """μλ times the steps of the preparation: factors of e that weight decay alone has taken from a weight."""
    how = sweep_of(run).fixed
    prepared = Preparation(**how["preparation"])
    steps = prepared.sgd_steps + prepared.descent_steps
    return float(steps * prepared.learning_rate * how["regularisation"])


def origin(run: xr.Dataset) -> str:
    """Where a run's numbers come from, in words, for the detail of a claim."""
    how = sweep_of(run).fixed
    n_data, n = how["data"]["n_data"], n_weights(layer_sizes(10, how["width"], 6))
    size = f"P_D = {n_data}, width {how['width']}, N/P_D = {n / n_data:.3f}"
    words = (("left_out", "more diverged"), ("fallen", "more lie at the origin"), ("with_loss", "more keep some loss"))
    gone = ", ".join(f"{run.attrs[name]} {what}" for name, what in words if run.attrs.get(name))
    lost = f" ({gone})" if gone else ""
    return f"{source(how['data'])}, {size}, {run.sizes['seed']} initial conditions{lost}."


def source(data: Mapping[str, Any]) -> str:
    """What the samples of a sweep are called; inputs and labels are the program's where nothing else is said."""
    shuffled = ", shuffled labels" if "shuffle" in data else ""
    return title_of(data["name"]) + " with whitened inputs" * bool(data.get("whiten")) + shuffled


def of_learnt_most(run, measure):
    """What a claim's measure, an estimate, is of those networks of a phase alone that learnt as much as the paper's.

    A sentence, in which of an array the least and the largest number stand; empty where all or none are of this kind.
    """
    loss = run.loss_waited.isel(waiting=0).sel(temperature=0.0).values
    best = run.isel(seed=np.flatnonzero(loss < LEARNT_MOST))
    if best.sizes["seed"] in (0, run.sizes["seed"]):
        return ""
    found = measure(best)
    ends = np.ravel(found.value)
    said = str(found.map(lambda end: np.ravel(end)[0])) if ends.size == 1 else f"{ends.min():.3g} to {ends.max():.3g}"
    return f"Of the {best.sizes['seed']} that learnt as much as the paper's alone: {said}."


def origins(runs, *words):
    """Where the numbers of several phases come from, a sentence each, and the sentences that follow, if any."""
    each = (f"{phase.capitalize()}: {origin(run)}" for phase, run in runs.items())
    return " ".join([*each, *filter(None, words)])


def overview(runs: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """What walked, one row per phase; numbers are ours / the paper's (a dash: it does not say)."""
    rows = {}
    for phase, run in runs.items():
        how = sweep_of(run).fixed
        name, n_data, width = how["data"]["name"], how["data"]["n_data"], how["width"]
        kind = paper_networks(phase, name)
        n, n_paper = (n_weights(layer_sizes(10, w, 6)) for w in (width, kind["width"]))
        ours = {"steps": how["steps"], "first wait": how["waiting"][0]}
        ours["motilities after"] = int(run.msd.isel(waiting=0).dropna("time").time[-1])
        left = SURVIVED[phase] if name in ("mnist", "digits") else "–"
        rows[phase] = {
            "samples": f"{n_data:,} / {kind['n_data']:,}",
            "width": f"{width} / {kind['width']}",
            "initial conditions": f"{run.sizes['seed']} / {left}",
            **{k: f"{v:,} / {PAPER[k]:,}" for k, v in ours.items()},
            "weights per sample": f"{n / n_data:.3f} / {n_paper / kind['n_data']:.3f}",
            "diverged": str(run.attrs["left_out"]),
            "at the origin": str(run.attrs["fallen"]),
            "left out for their loss": str(run.attrs.get("with_loss", "–")),
            "silent weights": f"{100 * (1 - float(run.alive_share.mean())):.0f} %",
        }
    return pd.DataFrame.from_dict(rows, orient="index")
