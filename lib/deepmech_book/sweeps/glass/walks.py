"""Networks that walk in three phases (Figs. 2-5, 7, 8 and their appendices): one sweep per phase feeds them all.

Scaling down. The paper's networks have P_D = 60,000 samples. Here P_D is smaller; kept are N/P_D (through the width),
μ, λ, χ, the times, and the noise of a step, that is D = μT/P_D. Temperatures are given as the paper gives them, at
P_D = 60,000: the walk itself runs at T · P_D / 60,000. What scaling changes is the width, hence how many units are
silent, and the landscape, of fewer samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.data import Data
from deepmech.metrics import glass
from deepmech.sweeps import Sweep, to_records
from deepmech.trainers.engines.compiled.langevin import CompiledWalk, layer_sizes, n_weights
from deepmech.trainers.langevin import Dynamics, Preparation, WalkMember, log_times, run_preparation, walk
from deepmech_book.sweeps.glass.data import binary, fingerprint
from deepmech_book.sweeps.policy import verification_policy

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
#: ``phase_sweep`` and ``walked`` (``n_data``: its own P_D).
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
    """D = μT/P_D of the walks at a temperature as the paper counts it, at every number of samples."""
    return RATE * temperature / P_D


def temperature_at(temperature: Any, n_data: int) -> Any:
    """The temperature at which a walk on ``n_data`` samples has the noise of the paper's at ``temperature``."""
    return temperature * (n_data / P_D)


def standard(phase: str, dataset: str, **changed: Any) -> Sweep:
    """The sweep of a phase that this book runs on a data set; ``changed`` are arguments of
    :func:`phase_sweep` and :func:`walked`. Of the waiting times those count that fit into ``steps``."""
    for name, value, allowed in (("dataset", dataset, SETTINGS), ("phase", phase, PHASES)):
        if value not in allowed:
            raise ValueError(f"standard: {name} = {value!r}: must be one of {', '.join(map(repr, allowed))}")
    how = SETTINGS[dataset]
    arguments = {"n_data": how["n_data"], "whiten": how["whiten"], **how[phase], **changed}
    arguments["waiting"] = [w for w in arguments["waiting"] if w < arguments["steps"]]
    if not arguments["waiting"]:
        first = min(how[phase]["waiting"])
        raise ValueError(f"standard: steps = {arguments['steps']}: must be more than the first waiting time, {first}")
    return phase_sweep(phase, dataset, **arguments)


def paper_networks(phase: str, dataset: str = "mnist") -> dict[str, Any]:
    """The paper's networks of a phase on a data set: ``width``, ``n_data``, ``regularisation`` and ``chi``."""
    return PHASES[phase] | (_CIFAR[phase] if dataset == "cifar10-jpeg" else {})


def width_for(like: dict[str, Any], n_data: int) -> int:
    """The width whose number of weights per sample is nearest to that of the paper's networks ``like``."""
    wanted = n_weights(layer_sizes(10, like["width"], 6)) / like["n_data"] * n_data
    below = max(1, int((121 + 20 * wanted) ** 0.5 - 11) // 10)  # of width w there are 5w² + 11w weights
    return min((below, below + 1), key=lambda w: abs(n_weights(layer_sizes(10, w, 6)) - wanted))


def phase_sweep(phase: str, dataset: str, temperatures: Sequence[float], n_seeds: int, **fixed: Any) -> Sweep:
    """Walks of one phase over temperatures, as the paper counts them, and initial conditions (:func:`walked`)."""
    cells = {"seed": over("seed", range(n_seeds)), "temperature": over("temperature", list(temperatures))}
    row = walked(dataset, phase=phase, **fixed)
    return Sweep(row.pop("name").format(f"glass-{phase}"), cells=cells, **row)


def walked(
    dataset: str = "mnist",
    n_data: int = P_D,
    phase: str = "regularised",
    whiten: bool | None = None,
    per_decade: int = 8,
    **fixed: Any,
) -> dict[str, Any]:
    """A row of networks that walk; what it does not say is the paper's of its phase, times are those of the record.

    The overlap's window comes from the first waiting time; without ``width`` it is that of the phase's N/P_D.
    """
    kind = paper_networks(phase, dataset)
    whiten = SETTINGS[dataset]["whiten"] if whiten is None else whiten
    data: dict[str, Any] = {"name": dataset, "n_data": n_data, "whiten": whiten}
    like = {"width": width_for(kind, n_data), "regularisation": kind["regularisation"], "preparation": PREPARATION}
    fixed = {**like, **fixed}
    fixed["times"] = log_times(fixed["steps"] - min(fixed["waiting"]), per_decade).tolist()
    fixed |= {"data": data, "waiting": list(fixed["waiting"]), "chi": [kind["chi"] * f for f in (1 / 7, 1, 7)]}
    return {"name": f"{{}}-{dataset}", "compute": "glass.walks", "fixed": fixed, "data": fingerprint(**data)}


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The same preparation, and of the record what comes soon after the first waiting time."""
    first, soon = fixed["waiting"][0], fixed["waiting"][0] // 10
    short = {"waiting": [first], "steps": first + soon, "times": [t for t in fixed["times"] if t <= soon]}
    return fixed | short, ["overlap", "msd", "alpha", "alpha_alive", "msd_layer", "sigma", "n_weights"]


@verification_policy(part=_begin)
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

    Over ``cell``, ``waiting`` and ``time``: ``overlap`` (also over ``chi``), ``msd``, ``alpha`` (α₂ of all weights),
    ``alpha_alive`` (without weights at silent units), ``alpha_mixture`` (what Gaussian groups, one per layer and alive
    or not, would give), ``loss``; ``alive_share`` (fraction of weights, over waiting); ``motility`` (waiting, bin) and
    ``still`` at the last recorded time of each, and there per group of weights (layer, alive) ``end_square`` (sum of
    Δw²) and ``end_count``; ``sigma``, ``n_weights``, ``diverged``.
    """
    loaded = binary(**data)
    n_data = len(loaded.x_train)
    dynamics = Dynamics(
        width=width,
        regularisation=regularisation,
        learning_rate=RATE,
        temperature=temperature_at(cells["temperature"], n_data) if "temperature" in cells else 0.0,
        batch_size=cells.get("batch_size", 0),
    )
    last = [max(t for t in times if t + w <= steps) for w in waiting]
    runs = walk(
        dynamics, Preparation(**preparation), loaded, steps=steps, seed=cells["seed"], waiting=waiting, record=times,
        chi=chi, motility_times=sorted(set(last)), experiment="glass walks",
    )  # fmt: skip
    groups = ["layer", "alive"]
    total = runs.sum(groups, skipna=False)
    count, alive = runs["count"], runs.isel(alive=1, drop=True)
    ends = xr.DataArray(last, {"waiting": waiting}, dims="waiting")
    output = overlap_and_loss(runs).assign(
        {
            "alpha": _alpha(total["square"], total["fourth"], total["count"]),
            "alpha_alive": _alpha(*(alive[k].sum("layer", skipna=False) for k in ("square", "fourth", "count"))),
            "alpha_mixture": _mixture(runs["square"], count, groups),
            "msd_layer": runs["square"].sum("alive", skipna=False) / count.sum("alive"),
            "alive_share": count.isel(alive=1, drop=True).sum("layer") / total["count"],
            "motility": runs["motility"].sel(motility_time=ends).drop_vars("motility_time"),
            "still": runs["still"].sel(motility_time=ends).drop_vars("motility_time"),
            "end_square": runs["square"].sel(time=ends).drop_vars("time"),
            "end_count": count,
            "n_weights": runs["n_weights"],
        }
    )
    return in_single_precision(output).assign_attrs(runs.attrs)


def overlap_and_loss(runs: xr.Dataset) -> xr.Dataset:
    """Of walks over ``cell``: ``overlap`` (waiting, time, chi), ``msd``, ``loss`` (waiting, time), ``loss_waited``,
    ``sigma`` and ``diverged``."""
    total = runs.sum(["layer", "alive"], skipna=False)
    return runs[["loss", "loss_waited", "sigma"]].assign(
        overlap=(total["within"] / total["count"]).transpose("cell", "waiting", "time", "chi"),
        msd=total["square"] / total["count"],
        diverged=runs["state"] == "diverged",
    )


def in_single_precision(output: xr.Dataset) -> xr.Dataset:
    """What a walk found, as it is stored: all but the spreads ``sigma`` in single precision."""
    doubles = [name for name, values in output.data_vars.items() if values.dtype == float and name != "sigma"]
    return output.assign({name: output[name].astype("float32") for name in doubles})


def _alpha(square: xr.DataArray, fourth: xr.DataArray, count: xr.DataArray) -> xr.DataArray:
    return xr.apply_ufunc(glass.non_gaussian, square, fourth, count)


def _mixture(square: xr.DataArray, count: xr.DataArray, groups: list[str]) -> xr.DataArray:
    one = square.stack(group=groups)
    many = count.stack(group=groups).broadcast_like(one).transpose(*one.dims)
    values = glass.mixture_non_gaussian(one.values, many.values, one.dims.index("group"))
    return xr.DataArray(values, dims=[d for d in one.dims if d != "group"]).assign_coords(
        {d: one[d] for d in one.dims if d != "group"}
    )


def sweeps(
    dataset: str,
    changes: Mapping[str, Any] | None = None,
    named: Sequence[Sequence[float]] = ((), (), ()),
) -> dict[str, Sweep]:
    """Phase -> its sweep, :func:`.standard` but for ``changes`` of all phases, or of one by its name.

    ``named`` are the temperatures of each phase that a page speaks of: it is refused if one of them is missing.
    """
    changes = dict(changes or {})
    one_phase = {phase: changes.pop(phase, {}) for phase in PHASES}
    known = {"n_data", "whiten", "width", "temperatures", "n_seeds", "steps", "waiting", "preparation"}
    if unknown := sorted({*changes, *chain(*one_phase.values())} - known):
        names, allowed = ", ".join(map(repr, unknown)), ", ".join(sorted(known))
        raise ValueError(f"changes: {names}: must be of {allowed}, or by phase: {', '.join(PHASES)}")
    phases = {phase: standard(phase, dataset, **changes | one) for phase, one in one_phase.items()}
    for (phase, sweep), needed in zip(phases.items(), named, strict=True):
        given = sweep.cells["temperature"].values.tolist()
        if missing := sorted(set(needed) - set(given)):
            words = ", ".join(f"{t:g}" for t in missing)
            raise ValueError(
                f"temperatures = {given!r} of {phase} networks: this page speaks of {words}, too; add them"
            )
    return phases


def waited_weights(like: Sweep) -> Sweep:
    """The weights after the first wait of the walks of ``like``, at its temperatures above 0."""
    warm = [float(t) for t in like.cells["temperature"].values if t > 0]
    same = {k: like.fixed[k] for k in ("data", "width", "regularisation", "preparation")}
    return Sweep(
        f"{like.name}-waited",
        "glass.waited",
        {"seed": like.cells["seed"]},
        same | {"temperatures": warm, "waiting": like.fixed["waiting"][0]},
        data=like.data,
    )


def _hottest(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """One walk in place of all."""
    return fixed | {"temperatures": fixed["temperatures"][:1]}, ["weights"]


def weights_at(
    seed: int, data: Data, dynamics: Sequence[Dynamics], preparation: dict[str, Any], stops: Sequence[int]
) -> np.ndarray:
    """The weights of one network of :func:`walk_cells` at ``stops`` of its walks by each of ``dynamics``.

    They are float64, (dynamics, stop, weight), flat, layer after layer, each (units above, units below).
    """
    first = WalkMember(dynamics[0], Preparation(**preparation), seed, "glass walks")
    start = run_preparation([first], data)[0].weights
    network, output = CompiledWalk(first.sizes(data), data.x_train, data.y_train, dynamics[0].dtype), []
    for one in dynamics:
        network.set(start)
        for begin, stop in pairwise([0, *stops]):
            noise = float(one.noise(len(data.x_train)))
            network.walk(stop - begin, begin, RATE, float(one.regularisation), noise, [first.stream])
            output.append(network.w)
    return np.stack(output).reshape(len(dynamics), len(stops), -1)


@verification_policy(part=_hottest)
def wait_cells(
    cells: xr.Dataset,
    data: dict[str, Any],
    width: int,
    regularisation: float,
    preparation: dict[str, Any],
    temperatures: list[float],
    waiting: int,
) -> xr.Dataset:
    """``weights`` (cell, temperature, weight) after ``waiting`` steps of the walks of :func:`walk_cells`.

    They are nan where the preparation diverged.
    """
    loaded = binary(**data)
    scaled = [temperature_at(t, len(loaded.x_train)) for t in temperatures]
    dynamics = [Dynamics(width=width, regularisation=regularisation, learning_rate=RATE, temperature=t) for t in scaled]
    rows = [weights_at(int(cell["seed"]), loaded, dynamics, preparation, [waiting]) for cell in to_records(cells)]
    values = np.stack(rows)[:, :, 0].astype("float32")
    return xr.Dataset(
        {"weights": (("cell", "temperature", "weight"), values, {"long_name": "weight"})},
        {"cell": cells.cell, "temperature": temperatures, "weight": np.arange(values.shape[-1])},
    )
