"""Networks that walk in three phases (Figs. 2-5, 7, 8 and their appendices): one sweep per phase feeds them all; and
what pages ask of them: who survives, and who is judged.

Data: two classes from ten, parity of digits or the paper's split of CIFAR-10, standardised and reduced to ten
components.

Scaling down. The paper's networks have P_D = 60,000 samples. Here P_D is smaller; kept are N/P_D (through the width),
μ, λ, χ, the times, and the noise of a step, that is D = μT/P_D. Temperatures are given as the paper gives them, at
P_D = 60,000: the walk itself runs at T · P_D / 60,000. What scaling changes is the width, hence how many units are
silent, and the landscape, of fewer samples.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import signature
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech import data as sets
from deepmech.core.random import Stream
from deepmech.core.specs import digest, over
from deepmech.data import load
from deepmech.metrics import glass
from deepmech.metrics.relaxation import decorrelation_times
from deepmech.simulators.brownian import free_overlap, free_time
from deepmech.sweeps import Sweep, recomputed, result
from deepmech.sweeps.results import sweep_of
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech.trainers.langevin import Dynamics, Preparation, log_times, walk

_RECIPE = 2
#: All training samples, where that is not what load gives; one of the digits is left for testing.
_ALL = {"digits": 1796}
PLUS = {"cifar10": (0, 2, 4, 6, 8), "cifar10-jpeg": (0, 2, 4, 6, 8)}
"""Classes labelled +1: aeroplane, bird, deer, frog, ship; of digits the even ones, which are the same numbers."""
_TITLES = {"mnist": "MNIST parity", "digits": "digits parity", "cifar10-jpeg": "CIFAR-10 (JPEG-recoded)"}


def title_of(name: str) -> str:
    """What the classes of a data set are called beside results; a name that is not known stands for itself."""
    return _TITLES.get(name, name)


@dataclass(frozen=True, eq=False)
class Binary:
    """``x`` (P_D, d) float64, ``y`` (P_D,) ±1, and where they come from."""

    x: np.ndarray
    y: np.ndarray
    fingerprint: str
    note: str


@lru_cache(maxsize=8)
def binary(
    name: str = "digits",
    n_data: int | None = None,
    components: int = 10,
    shuffle: int | None = None,
    whiten: bool = False,
) -> Binary:
    """Even against odd digits (of CIFAR-10, the paper's split), reduced to their leading principal components.

    Pixels are standardised each by its own mean and standard deviation (pixels that never change are left out) and
    projected on the leading ``components`` axes of their covariance. An axis's sign is such that its largest entry is
    positive. This is what the authors' program ``binary_PCA_MNIST.py`` does: means, deviations and axes are those of
    *all* training samples, of which the first ``n_data`` of a random order are then taken, and components keep their
    variances: on MNIST 40.5, 29.2, ..., 10.05.

    Parameters
    ----------
    name : as for :func:`deepmech.data.load`.
    n_data : P_D, how many training samples; None takes all (1,796 digits).
    shuffle : shuffle the labels with this seed: as many of each, and nothing to learn but by heart.
    whiten : make components of the samples used alone, and scale each to unit variance. The program does neither; where
        the book does, a sweep's ``data`` and its page say so.

    Examples
    --------
    >>> data = binary("digits", 500)
    >>> data.x.shape, sorted(set(data.y.tolist()))
    ((500, 10), [-1.0, 1.0])
    """
    x, values, labels, note = _components(name, n_data if whiten else None, components)
    n = len(x) if n_data is None else n_data
    if not 1 <= n <= len(x):
        raise ValueError(f"binary({name!r}): n_data = {n_data!r}: must be a whole number from 1 to {len(x)}")
    x = x / np.sqrt(values) if whiten else x[:n]
    plus = np.isin(labels[:n], PLUS.get(name, (0, 2, 4, 6, 8)))
    if shuffle is not None:
        plus = plus[Stream.of("random labels", shuffle).permutation("labels", 0, len(plus))]
    return Binary(x, np.where(plus, 1.0, -1.0), fingerprint(name, n_data, components, shuffle, whiten), note)


@lru_cache(maxsize=4)
def _components(name: str, n_data: int | None, components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Leading components of so many training samples, their variances, labels, and where they come from."""
    loaded = load(name, n_train=_ALL.get(name) if n_data is None else n_data, n_test=1)
    x = loaded.x_train.astype(float)
    spread = x.std(0)
    x = x[:, spread > 0]
    x -= x.mean(0)
    x /= spread[spread > 0]
    values, axes = np.linalg.eigh(x.T @ x / len(x))
    axes = axes[:, ::-1][:, :components]
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])
    return x @ axes, values[::-1][:components], loaded.y_train, loaded.note


def fingerprint(
    name: str = "digits",
    n_data: int | None = None,
    components: int = 10,
    shuffle: int | None = None,
    whiten: bool = False,
) -> str:
    """That of :func:`binary`, also where the data set's files are not at hand.

    Examples
    --------
    >>> fingerprint("digits", 500) == binary("digits", 500).fingerprint
    True
    """
    n_train = n_data if whiten and n_data is not None else _ALL.get(name)
    recipe: dict[str, object] = {"data": sets.fingerprint(name, n_train=n_train, n_test=1), "components": components}
    recipe |= {"recipe": 1} if whiten else {"recipe": _RECIPE, "n_data": n_data}
    return digest(recipe if shuffle is None else recipe | {"shuffle": shuffle})


P_D = 60_000
"""Samples of the paper's MNIST, to which temperatures refer, those on other data sets too."""
RATE = 1e-3
"""Learning rate μ of the walk, the paper's."""
PAPER_WINDOW, FINE_WINDOW = 1, 2
"""Of the recorded windows the paper's, and one seven times as fine, in which a short record sees the landscape."""

#: The paper's networks: width and samples of its MNIST, λ and χ of Fig. 3.
PHASES: dict[str, dict[str, Any]] = {
    "regularised": {"width": 30, "n_data": P_D, "regularisation": 0.01, "chi": 300.0},
    "underparameterised": {"width": 30, "n_data": P_D, "regularisation": 0.0, "chi": 500.0},
    "overparameterised": {"width": 72, "n_data": P_D, "regularisation": 0.0, "chi": 6000.0},
}
#: What differs on CIFAR-10 (Fig. A4): samples, weaker weight decay, and a width of 80.
_CIFAR: dict[str, dict[str, Any]] = {
    "regularised": {"n_data": 50_000, "regularisation": 1e-3},
    "underparameterised": {"n_data": 50_000},
    "overparameterised": {"n_data": 50_000, "width": 80},
}
#: The preparation of the authors' program, over the paper's length μt = 4,200: PyTorch's start, steps of 0.001.
PREPARATION = {"gain": 1.0, "sgd_steps": 4_200_000, "learning_rate": 1e-3, "descent_steps": 0}
_SHORT = {"gain": 6**0.5, "sgd_steps": 200_000, "learning_rate": 0.02, "descent_steps": 2000}
#: Short ones of each phase, for narrow networks with whitened inputs: a wider start and longer steps.
WHITENED: dict[str, dict[str, Any]] = {
    "regularised": _SHORT,
    "underparameterised": _SHORT,
    "overparameterised": {**_SHORT, "sgd_steps": 400_000},
}
#: What is run for each data set: P_D, whether components are whitened, and per phase the arguments of
#: ``phase_sweep`` (``n_data``: its own P_D).
SETTINGS: dict[str, dict[str, Any]] = {
    "mnist": {
        "n_data": 8000,
        "whiten": False,
        "regularised": {
            "temperatures": (1.0, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 0.0),
            "n_seeds": 24,
            "steps": 120_000,
            "waiting": (10_000, 20_000, 50_000, 100_000),
        },
        "underparameterised": {
            "temperatures": (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 0.0),
            "n_seeds": 12,
            "steps": 60_000,
            "waiting": (10_000, 20_000, 40_000),
        },
        "overparameterised": {
            "temperatures": (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0),
            "n_seeds": 4,
            "steps": 40_000,
            "waiting": (10_000, 20_000),
        },
    },
    "cifar10-jpeg": {
        "n_data": 3000,
        "whiten": True,
        "regularised": {
            "temperatures": (1.0, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0),
            "n_seeds": 3,
            "steps": 30_000,
            "waiting": (10_000,),
            "preparation": WHITENED["regularised"],
        },
        "underparameterised": {
            "temperatures": (1.0, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0),
            "n_seeds": 3,
            "steps": 30_000,
            "waiting": (10_000,),
            "preparation": WHITENED["underparameterised"],
        },
        # So few samples of ten components are learnt by heart only with more weights than the paper's 0.66 per sample.
        "overparameterised": {
            "n_data": 1500,
            "width": 20,
            "temperatures": (0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0),
            "n_seeds": 4,
            "steps": 12_000,
            "waiting": (2000,),
            "preparation": {**WHITENED["overparameterised"], "learning_rate": 0.003},
        },
    },
}
#: On the bundled digits the same as on MNIST, but for networks that are not so narrow, with whitened inputs.
SETTINGS["digits"] = {"n_data": 1796, "whiten": True} | {
    phase: SETTINGS["mnist"][phase] | {"preparation": WHITENED[phase]} | own
    for phase, own in zip(PHASES, ({"width": 6}, {"width": 6}, {}), strict=True)
}


def diffusion(temperature: float) -> float:
    """D = μT/P_D of the walks at a temperature as the paper counts it, at every number of samples.

    Examples
    --------
    >>> f"{diffusion(0.1):.3g}"
    '1.67e-09'
    """
    return RATE * temperature / P_D


def temperature_at(temperature: Any, n_data: int) -> Any:
    """The temperature at which a walk on ``n_data`` samples has the noise of the paper's at ``temperature``.

    Examples
    --------
    >>> round(temperature_at(0.1, 4000), 4)
    0.0067
    """
    return temperature * (n_data / P_D)


def standard(phase: str, dataset: str, **changed: Any) -> Sweep:
    """The sweep of a phase (a name of :data:`PHASES`) that this book runs on a data set.

    Parameters
    ----------
    changed : ``n_data``, ``whiten`` and arguments of :func:`phase_sweep`, to take the place of the book's. Of the
        waiting times those count that fit into ``steps``.

    Examples
    --------
    >>> standard("regularised", "mnist").fixed["width"], standard("regularised", "mnist", n_data=2000).fixed["width"]
    (10, 5)
    """
    for name, value, allowed in (("dataset", dataset, SETTINGS), ("phase", phase, PHASES)):
        if value not in allowed:
            raise ValueError(f"standard: {name} = {value!r}: must be one of {', '.join(map(repr, allowed))}")
    how = SETTINGS[dataset]
    arguments = {"n_data": how["n_data"], "whiten": how["whiten"], **how[phase], **changed}
    arguments["waiting"] = [w for w in arguments["waiting"] if w < arguments["steps"]]
    if not arguments["waiting"]:
        first = min(how[phase]["waiting"])
        raise ValueError(f"standard: steps = {arguments['steps']}: must be more than the first waiting time, {first}")
    data = {"name": dataset, "n_data": int(arguments.pop("n_data")), "whiten": arguments.pop("whiten")}
    return phase_sweep(phase, data, **arguments)


def paper_networks(phase: str, dataset: str = "mnist") -> dict[str, Any]:
    """The paper's networks of a phase on a data set: ``width``, ``n_data``, ``regularisation`` and ``chi``."""
    return PHASES[phase] | (_CIFAR[phase] if dataset == "cifar10-jpeg" else {})


def width_for(like: dict[str, Any], n_data: int) -> int:
    """The width whose number of weights per sample is nearest to that of the paper's networks ``like``.

    Examples
    --------
    >>> width_for(paper_networks("regularised"), 60000), width_for(paper_networks("regularised"), 4000)
    (30, 7)
    >>> width_for(paper_networks("overparameterised"), 4000)
    18
    """
    wanted = n_weights(layer_sizes(10, like["width"], 6)) / like["n_data"] * n_data
    below = max(1, int((121 + 20 * wanted) ** 0.5 - 11) // 10)  # of width w there are 5w² + 11w weights
    return min((below, below + 1), key=lambda w: abs(n_weights(layer_sizes(10, w, 6)) - wanted))


def phase_sweep(
    phase: str,
    data: dict[str, Any],
    temperatures: Sequence[float],
    n_seeds: int,
    steps: int,
    waiting: Sequence[int],
    preparation: dict[str, Any] = PREPARATION,
    width: int | None = None,
    name: str | None = None,
) -> Sweep:
    """Walks of one phase over temperatures and initial conditions.

    Parameters
    ----------
    phase : a name of :data:`PHASES`.
    data : arguments of :func:`~deepmech_book.sweeps.glass.walks.binary`, with ``n_data``.
    temperatures : in the paper's units (at P_D = 60,000).
    waiting : waiting times; the overlap's window comes from the first one.
    width : that of N/P_D of the phase, if None.

    Examples
    --------
    >>> phase_sweep("regularised", {"name": "digits", "n_data": 500}, [0.1, 0.0], 3, 5000, [500]).grid.shape
    (3, 2)
    """
    kind = paper_networks(phase, data["name"])
    n_data = int(data["n_data"])
    fixed = {
        "data": dict(data),
        "width": width_for(kind, n_data) if width is None else width,
        "regularisation": kind["regularisation"],
        "chi": [kind["chi"] * f for f in (1 / 7, 1, 7)],
        "steps": steps,
        "waiting": list(waiting),
        "times": log_times(steps - min(waiting), 8).tolist(),
        "preparation": preparation,
    }
    return Sweep(
        name or f"glass-{phase}-{data['name']}",
        "glass.walks",
        {"seed": over("seed", range(n_seeds)), "temperature": over("temperature", list(temperatures))},
        fixed,
        data=fingerprint(**data),
    )


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The same preparation, and of the record what comes soon after the first waiting time."""
    first, soon = fixed["waiting"][0], fixed["waiting"][0] // 10
    short = {"waiting": [first], "steps": first + soon, "times": [t for t in fixed["times"] if t <= soon]}
    return fixed | short, ["overlap", "msd", "alpha", "alpha_alive", "msd_layer", "sigma", "n_weights"]


@recomputed(part=_begin)
def walk_cells(
    cells: xr.Dataset,
    data: dict[str, Any],
    width: int,
    regularisation: float,
    chi: list[float],
    steps: int,
    waiting: list[int],
    times: list[int],
    preparation: dict[str, Any],
) -> xr.Dataset:
    """Walk one network per cell (``seed``, and ``temperature`` or ``batch_size``) and reduce its record.

    Returns
    -------
    Dataset
        Over ``cell``, ``waiting`` and ``time``: ``overlap`` (also over ``chi``), ``msd``, ``alpha`` (α₂ of all
        weights), ``alpha_alive`` (without weights at silent units), ``alpha_mixture`` (what Gaussian groups, one per
        layer and alive or not, would give), ``loss``; ``alive_share`` (fraction of
        weights, over waiting); ``motility`` (waiting, bin) and ``still`` at the last recorded time of each, and there
        per group of weights (layer, alive) ``end_square`` (sum of Δw²) and ``end_count``; ``sigma``, ``n_weights``,
        ``diverged``.
    """
    loaded = binary(**data)
    n_data = len(loaded.x)
    dynamics = Dynamics(
        width=width,
        regularisation=regularisation,
        learning_rate=RATE,
        temperature=temperature_at(cells["temperature"], n_data) if "temperature" in cells else 0.0,
        batch_size=cells.get("batch_size", 0),
    )
    last = [max(t for t in times if t + w <= steps) for w in waiting]
    made = walk(
        dynamics, Preparation(**preparation), loaded, steps=steps, seed=cells["seed"], waiting=waiting, record=times,
        chi=chi, motility_times=sorted(set(last)), experiment="glass walks",
    )  # fmt: skip
    groups = ["layer", "alive"]
    total = made.sum(groups, skipna=False)
    count, alive = made["count"], made.isel(alive=1, drop=True)
    ends = xr.DataArray(last, {"waiting": waiting}, dims="waiting")
    found = xr.Dataset(
        {
            "overlap": (total["within"] / total["count"]).transpose("cell", "waiting", "time", "chi"),
            "msd": total["square"] / total["count"],
            "alpha": _alpha(total["square"], total["fourth"], total["count"]),
            "alpha_alive": _alpha(*(alive[k].sum("layer", skipna=False) for k in ("square", "fourth", "count"))),
            "alpha_mixture": _mixture(made["square"], count, groups),
            "msd_layer": made["square"].sum("alive", skipna=False) / count.sum("alive"),
            "loss": made["loss"],
            "loss_waited": made["loss_waited"],
            "alive_share": count.isel(alive=1, drop=True).sum("layer") / total["count"],
            "motility": made["motility"].sel(motility_time=ends).drop_vars("motility_time"),
            "still": made["still"].sel(motility_time=ends).drop_vars("motility_time"),
            "end_square": made["square"].sel(time=ends).drop_vars("time"),
            "end_count": count,
            "sigma": made["sigma"],
            "n_weights": made["n_weights"],
            "diverged": made["state"] == "diverged",
        }
    )
    for k, values in found.data_vars.items():
        if values.dtype == float and k != "sigma":
            found[k] = values.astype("float32")
    return found.assign_attrs(made.attrs)


def _alpha(square: xr.DataArray, fourth: xr.DataArray, count: xr.DataArray) -> xr.DataArray:
    return xr.apply_ufunc(glass.non_gaussian, square, fourth, count)


def _mixture(square: xr.DataArray, count: xr.DataArray, groups: list[str]) -> xr.DataArray:
    one = square.stack(group=groups)
    many = count.stack(group=groups).broadcast_like(one).transpose(*one.dims)
    values = glass.mixture_non_gaussian(one.values, many.values, one.dims.index("group"))
    return xr.DataArray(values, dims=[d for d in one.dims if d != "group"]).assign_coords(
        {d: one[d] for d in one.dims if d != "group"}
    )


def window_size(run: xr.Dataset, chi: int = PAPER_WINDOW) -> xr.DataArray:
    """ε = σ/χ of every network."""
    return run.sigma / float(run.chi[chi])


#: What the paper runs (Sec. III, Figs. 3 and 7); of its 50 initial conditions so many are left in each phase.
PAPER = {"steps": 300_000, "first wait": 20_000, "motilities after": 200_000}
SURVIVED = dict(zip(PHASES, (50, 26, 46), strict=True))
LEVEL = 1e-4
"""Geometric mean of the final data loss at which it counts as vanished."""
LEARNT = 0.45
"""The data loss below which a network has learnt; at the origin, where it has not, it is ½."""
NONE_FITS = "no network is without data loss after the first wait; widen them (widths) or train for longer (sgd_steps)"


def sweeps(
    dataset: str,
    changes: Mapping[str, Any] | None = None,
    named: Sequence[Sequence[float]] = ((), (), ()),
) -> dict[str, Sweep]:
    """Phase -> its sweep, :func:`.standard` but for ``changes``.

    Parameters
    ----------
    changes : ``n_data``, ``whiten`` and arguments of :func:`.phase_sweep` for all phases, and by the name of a
        phase those of one.
    named : temperatures of each phase that a page speaks of.

    Raises
    ------
    ValueError
        If a phase is walked at fewer temperatures than a page speaks of, or there is no such setting.

    Examples
    --------
    >>> made = sweeps("digits", {"n_data": 500, "steps": 20_000, "regularised": {"n_seeds": 2}})
    >>> made["regularised"].grid.shape, made["overparameterised"].fixed["waiting"]
    ((2, 9), [10000])
    """
    changes = dict(changes or {})
    one_phase = {phase: changes.pop(phase, {}) for phase in PHASES}
    known = {"n_data", "whiten", *signature(phase_sweep).parameters} - {"phase", "data", "name"}
    if unknown := sorted({*changes, *chain(*one_phase.values())} - known):
        names, allowed = ", ".join(map(repr, unknown)), ", ".join(sorted(known))
        raise ValueError(f"changes: {names}: must be of {allowed}, or by phase: {', '.join(PHASES)}")
    made = {phase: standard(phase, dataset, **changes | one) for phase, one in one_phase.items()}
    for (phase, sweep), needed in zip(made.items(), named, strict=True):
        given = sweep.cells["temperature"].values.tolist()
        if missing := sorted(set(needed) - set(given)):
            words = ", ".join(f"{t:g}" for t in missing)
            raise ValueError(
                f"temperatures = {given!r} of {phase} networks: this page speaks of {words}, too; add them"
            )
    return made


def runs(
    dataset: str, changes: Mapping[str, Any] | None = None, named: Sequence[Sequence[float]] = ((), (), ())
) -> dict[str, xr.Dataset]:
    """Phase -> its networks, :func:`survivors` of :func:`sweeps`; of the overparameterised ones those :func:`lossless`.

    What the paper says of that phase it explains by flat plateaus at zero loss. If no such network is there, the phase
    is left out.
    """
    made = {phase: survivors(result(sweep)) for phase, sweep in sweeps(dataset, changes, named).items()}
    made["overparameterised"] = lossless(made["overparameterised"])
    return {phase: run for phase, run in made.items() if run.sizes["seed"]}


def survivors(run: xr.Dataset, level: float = LEARNT) -> xr.Dataset:
    """Survivors: initial conditions that diverged at no temperature, and whose network has learnt.

    It has if its data loss where the comparison begins is below ``level`` (½ at the origin), where it is coldest.
    Attributes ``left_out`` and ``fallen`` say how many diverged, and how many more lie at the origin. A ValueError if
    no network survives.
    """
    dims = [d for d in run.diverged.dims if d != "seed"]
    sound = ~run.diverged.any(dims)
    learnt = run.loss_waited.isel(waiting=0, drop=True).min(dims) < level
    if not (good := sound & learnt).any():
        raise ValueError(
            f"{sweep_of(run).name}: of {good.size} initial conditions {int((~sound).sum())} diverged, the others lie "
            "at the origin, so that there is nothing to show; give more of them (n_seeds), shorter steps (sgd_rate), a "
            "longer training (sgd_steps) or a wider start (gain)"
        )
    out = {"left_out": int((~sound).sum()), "fallen": int((sound & ~learnt).sum())}
    return run.isel(seed=np.flatnonzero(good.values)).assign_attrs(out)


def lossless(run: xr.Dataset) -> xr.Dataset:
    """Networks without data loss after the first wait, where coldest: below :data:`LEVEL`.

    Attribute ``with_loss`` says how many were left out.
    """
    loss = run.loss_waited.isel(waiting=0).sel(temperature=run.temperature.min()).values
    good = np.flatnonzero(loss < LEVEL)
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
    for i in np.flatnonzero(run.temperature.values > 0):
        rate = diffusion(float(run.temperature[i]))
        free[i] = free_time(sizes[i], rate, level)
        without[i] = free_time(sizes[i][others], rate, level) if n > 1 else np.nan
    return table.assign(free=("temperature", free), free_without=(("temperature", "seed"), without))


def free_overlaps(run: xr.Dataset, window: int = PAPER_WINDOW) -> xr.DataArray:
    """The overlap of free walks at each temperature, in the window of every initial condition."""
    sizes = window_size(run, window).transpose("seed", "temperature")
    at = list(enumerate(run.temperature.values))
    rows = [[free_overlap(run.time.values, row[k], diffusion(float(t))) for k, t in at] for row in sizes.values]
    return xr.DataArray(rows, {**sizes.coords, "time": run.time}, ("seed", "temperature", "time"))


def beside(tables: Mapping[Hashable, xr.Dataset], name: str) -> xr.Dataset:
    """:func:`times` of several phases, windows, waits or sizes along ``name``, T > 0 and rising, for a picture.

    The free walks of each are given at every temperature, also where a phase was not walked.
    """
    joined = xr.concat([t.drop_dims("seed") for t in tables.values()], over(name, list(tables)), join="outer")
    joined = joined.sel(temperature=joined.temperature > 0).sortby("temperature")
    elsewhere = (joined.free * joined.temperature).median("temperature") / joined.temperature
    return joined.assign(free=joined.free.fillna(elsewhere))


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


def origin(run: xr.Dataset) -> str:
    """Where a run's numbers come from, in words, for the detail of a claim."""
    how = sweep_of(run).fixed
    n_data, n = how["data"]["n_data"], n_weights(layer_sizes(10, how["width"], 6))
    size = f"P_D = {n_data}, width {how['width']}, N/P_D = {n / n_data:.3f}"
    words = (("left_out", "more diverged"), ("fallen", "more lie at the origin"), ("with_loss", "more keep some loss"))
    gone = ", ".join(f"{run.attrs[name]} {what}" for name, what in words if run.attrs.get(name))
    lost = f" ({gone})" if gone else ""
    return f"{title_of(how['data']['name'])}, {size}, {run.sizes['seed']} initial conditions{lost}."


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


def batches(
    dataset: str,
    n_data: int,
    width: int,
    batch_sizes: Sequence[int],
    n_seeds: int,
    steps: int,
    waiting: int,
    preparation: dict[str, Any],
) -> Sweep:
    """Fig. 5(d): the regularised phase under stochastic gradient descent, over batch sizes."""
    data = {"name": dataset, "n_data": n_data, "whiten": SETTINGS[dataset]["whiten"]}
    like = phase_sweep("regularised", data, (0.0,), n_seeds, steps, (waiting,), preparation, width)
    cells = {"seed": like.cells["seed"], "batch_size": over("batch_size", batch_sizes)}
    return replace(like, name=f"glass-batches-{dataset}", cells=cells)
