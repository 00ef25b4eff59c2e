"""What a sweep costs: its arithmetic counted, its memory estimated, its time from a measured rate.

Counted are multiplications and additions of the products, forward, back and for the gradient: six for every weight and
sample of a step, ten more per weight and step for Adam. Time is that count at a rate that somebody measured: here, on a
task of the same shape that is cut short; with a kept calibration; or when a result of the same function that ships was
made. Where nothing can be counted, time goes by the number of cells.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from deepmech.core import provenance
from deepmech.core.files import write_whole
from deepmech.core.spec import digest
from deepmech.sweeps import Sweep
from deepmech.trainers import CNN, MLP, Training
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech.trainers.specs import Preparation
from deepmech_book.press import asked

_BOOK = "deepmech_book.experiments."
#: Products per second in single precision, by the makers' data sheets (no tensor cores): no run is faster.
DEVICES = {"t4": 8.1e12, "v100": 15.7e12, "a100": 19.5e12, "l4": 30.3e12, "h100": 66.9e12, "h200": 66.9e12}


@dataclass(frozen=True)
class Work:
    """What the cells of a sweep take.

    Attributes
    ----------
    engine : ``"mlp"``, ``"cnn"``, ``"lenet"`` or ``"langevin"``: which engine does it.
    flop : floating-point operations of all cells.
    bytes : of memory that one cell needs while it is computed, data included; an estimate.
    shape : what the rate depends on, in words.
    short : fixed parameters of a task of the same shape that takes a second or so, if there is one.
    """

    engine: str
    flop: float
    bytes: float
    shape: str
    short: dict[str, Any] | None = None


_counted: dict[str, Work | None] = {}


def work(sweep: Sweep) -> Work | None:
    """The work of a sweep, counted once; None of a function of which nobody has said how to count."""
    if sweep.key not in _counted:
        count = _COUNTS.get(sweep.compute.removeprefix(_BOOK))
        _counted[sweep.key] = None if count is None else count(sweep)
    return _counted[sweep.key]


def _shape_of(recipe: Mapping[str, Any]) -> tuple[int, int]:
    """Samples and numbers per sample that a recipe of :func:`deepmech.data.load` gives."""
    whole = {"digits": (1000, 64), "mnist": (60_000, 784), "fashion-mnist": (60_000, 784)}.get(recipe["name"])
    samples, features = whole or (50_000, 3072)
    if recipe.get("size"):
        features = (3 if recipe["name"].startswith("cifar") else 1) * recipe["size"] ** 2
    return recipe.get("n_train") or samples, features


def _mlp(
    sweep: Sweep,
    recipe: Mapping[str, Any],
    rows: list[dict[str, Any]],
    short: dict[str, Any] | None,
    share: float = 1.0,
) -> Work:
    """Fully connected networks; a row holds fields of their specs, and all rows have as many cells."""
    samples, features = _shape_of(recipe)
    samples = int(samples * share)
    flop, weights, batch = 0.0, 0, samples
    for row in rows:
        mlp, how = MLP(**_some(row, MLP)), Training(**_some(row, Training))
        depth, width = int(mlp.depth), int(mlp.width)
        weights = features * width + (depth - 2) * width**2 + 10 * width
        batch = min(samples, int(how.batch_size or samples))
        flop += int(how.epochs) * weights * (6.0 * samples + 10 * math.ceil(samples / batch))
    flop *= sweep.n_cells / len(rows)
    held = 4 * samples * features + 16 * weights + 12 * batch * int(mlp.depth) * int(mlp.width)
    shape = f"{sweep.compute.rpartition('.')[2]} depth {mlp.depth} width {mlp.width} features {features} batch {batch}"
    return Work("mlp", flop, held, shape, short)


def _some(row: Mapping[str, Any], spec: Any) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k in spec.__dataclass_fields__}


def _rows(sweep: Sweep, **more: Any) -> list[dict[str, Any]]:
    """The parameters of every cell with the first seed; those of other seeds are the same."""
    seeds = np.asarray(sweep.grid.flat["seed"])
    return [{**more, **row} for row in sweep.parameters(np.flatnonzero(seeds == seeds[0]).tolist())]


def _diagram(sweep: Sweep) -> Work:
    fixed = dict(sweep.fixed)
    quick = {**fixed, "training": {**fixed["training"], "epochs": 2}}
    share = 1 - fixed.get("held_out", 0.0)
    return _mlp(sweep, fixed["data"], _rows(sweep, **fixed["network"], **fixed["training"]), quick, share)


def _regimes(sweep: Sweep) -> Work:
    fixed = dict(sweep.fixed)
    rows = [{**fixed["regimes"][r["regime"]], "epochs": fixed["epochs"], "width": fixed["width"]} for r in _rows(sweep)]
    return _mlp(sweep, fixed["data"], rows, {**fixed, "epochs": 2, "record": [1, 2]})


def _both_sets(sweep: Sweep) -> Work:
    fixed = dict(sweep.fixed)
    return _mlp(
        sweep, fixed["data"], _rows(sweep, **_some(fixed, MLP), **_some(fixed, Training)), {**fixed, "epochs": 2}
    )


def _by_layer(sweep: Sweep) -> Work:
    rows = [{"epochs": max(sweep.fixed["at"])}]
    return _mlp(sweep, sweep.fixed["data"], rows, None)


def _linear(sweep: Sweep) -> Work:
    n = sweep.fixed["n"]
    steps = {name: how["n_steps"] for name, how in sweep.fixed.get("settings", {}).items()}
    rows = [
        {"depth": 8, "width": n, "epochs": steps[r["training"]] if steps else sweep.fixed["n_steps"]}
        for r in _rows(sweep)
    ]
    return replace(
        _mlp(sweep, {"name": "random", "n_train": n, "size": 1}, rows, None), shape=f"linear networks, n {n}"
    )


def _cnn(sweep: Sweep) -> Work:
    fixed = dict(sweep.fixed)
    network, (samples, pixels) = CNN(**fixed["network"]), _shape_of(fixed["data"])
    channels = int(network.channels)
    inner = (int(network.convolutions) - 1) * channels**2
    per_image = 9 * pixels * (channels + inner) + 10 * channels * pixels
    epochs = 5 * fixed["stage"]  # three stages, and two more of the network that is left without dropout
    held = 4 * samples * pixels * (1 + 3 * channels * int(network.convolutions))
    short = {**fixed, "stage": 2, "n_records": 1}
    shape = f"convolutions, {channels} channels, {samples} images of {pixels} pixels"
    return Work("cnn", 6.0 * per_image * samples * epochs * sweep.n_cells, held, shape, short)


def _lenet(sweep: Sweep) -> Work:
    fixed = dict(sweep.fixed)
    colours = 3 if str(fixed["dataset"]).startswith("cifar") else 1
    weights = 784 * 25 * 6 * colours + 100 * 150 * 16 + 400 * 120 + 120 * 84 + 84 * fixed["n_classes"]

    def largest(name: str) -> float:
        return max(np.atleast_1d(sweep.cells.get(name, fixed.get(name, 0))).tolist())

    held = 4 * 1024 * colours * (largest("per_class") * fixed["n_classes"] + largest("validation")) + 16 * 62_000
    iterations = 20 * fixed["coarse"]
    brief = {**fixed, "iterations": iterations, "n_trials": min(2, fixed["n_trials"]), "n_checks": 1, "moments": 0}
    short = brief if iterations < fixed["iterations"] else None
    steps = float(fixed["iterations"]) * fixed["n_trials"] * sweep.n_cells
    return Work("lenet", 6.0 * weights * steps, held, f"LeNet, {colours} colours", short)


def _preparing(preparation: Mapping[str, Any], n_data: int) -> float:
    """Samples that pass through a network while it is prepared."""
    how = Preparation(**preparation)
    return int(how.sgd_steps) * int(how.batch_size) + (int(how.descent_steps) + int(how.slow_steps)) * n_data


def _weights(width: int) -> int:
    return n_weights(layer_sizes(10, width, 6))


def _langevin(samples: float, width: int, n_data: int, short: dict[str, Any] | None) -> Work:
    held = 8 * n_data * 11 + 200 * _weights(width)
    return Work("langevin", 6.0 * _weights(width) * samples, held, f"walk, width {width}, {n_data} samples", short)


def _walks(sweep: Sweep) -> Work:
    fixed = dict(sweep.fixed)
    n_data = fixed["data"]["n_data"]
    batches = sweep.cells.get("batch_size")
    each = n_data if batches is None else float(np.mean([b or n_data for b in batches.values]))
    seeds = sweep.cells["seed"].size  # networks that differ in their walk alone share their preparation
    samples = sweep.n_cells * fixed["steps"] * each + seeds * _preparing(fixed["preparation"], n_data)
    steps = max(60, round(1e9 / (6 * _weights(fixed["width"]) * n_data)))
    brief = {"steps": steps, "waiting": [steps // 2], "times": [1, steps // 4], "preparation": {"sgd_steps": 10}}
    return _langevin(samples, fixed["width"], n_data, fixed | brief if steps < fixed["steps"] else None)


def _rest(sweep: Sweep) -> Work:
    fixed = dict(sweep.fixed)
    n_data, widths = fixed["data"]["n_data"], sweep.cells["width"].values.tolist()
    samples = _preparing(fixed["preparation"], n_data) * sweep.n_cells / len(widths)
    parts = [_langevin(samples, w, n_data, None) for w in widths]
    short = fixed | {"preparation": fixed["preparation"] | {"sgd_steps": 4000, "descent_steps": 5, "slow_steps": 0}}
    flop = sum(p.flop for p in parts)
    return replace(parts[-1], flop=flop, short=short, shape=f"preparation, width {max(widths)}, {n_data} samples")


def _waited(sweep: Sweep) -> Work:
    fixed = dict(sweep.fixed)
    n_data, each = fixed["data"]["n_data"], len(fixed["temperatures"]) * fixed["waiting"]
    samples = sweep.n_cells * (each * n_data + _preparing(fixed["preparation"], n_data))
    return _langevin(samples, fixed["width"], n_data, None)


def _landscape(sweep: Sweep) -> Work:
    """Mostly gradients of all samples: of walks, quenches, descents, relaxing paths, and one for each curvature."""
    fixed, parts = dict(sweep.fixed), []
    quenches = fixed["legs"] + 2 + (len(fixed["kicks"]) + 1) * fixed["directions"]
    gradients = fixed["legs"] * fixed["leg"] + quenches * fixed["descent"] + sum(fixed["calls"])
    gradients += 2 * fixed["images"] * fixed["relaxing"]
    for how in fixed["networks"].values():
        n_data = how["data"]["n_data"]
        samples = (gradients + 2 * _weights(how["width"])) * n_data + _preparing(how["preparation"], n_data)
        parts.append(_langevin(samples * sweep.cells["seed"].size, how["width"], n_data, None))
    return replace(parts[-1], flop=sum(p.flop for p in parts), shape="landscapes")


_COUNTS: dict[str, Callable[[Sweep], Work]] = {
    "spring_block.networks:train_cells": _diagram,
    "spring_block.metrics_compared:train_in_two_metrics": _diagram,
    "spring_block.tuning:train_validated": _diagram,
    "spring_block.networks_in_time:train_regimes": _regimes,
    "spring_block.networks_in_time:train_on_both_sets": _both_sets,
    "spring_block.asymmetric_noise:train_and_draw": _by_layer,
    "spring_block.linear_networks:train_cells": _linear,
    "spring_block.convolutional:train_through_stages": _cnn,
    "elastic_sde.networks:train_cells": _lenet,
    "glass.walks:walk_cells": _walks,
    "glass.transitions:rest": _rest,
    "glass.wells:waited": _waited,
    "glass.landscape:survey": _landscape,
}


@dataclass(frozen=True)
class Rate:
    """Floating-point operations (or cells) per second, and where the number is from."""

    value: float
    per_cell: bool
    basis: str


def from_shipped(sweep: Sweep) -> Rate | None:
    """The rate at which the shipped result of the same function was made whose cells are most like these."""

    def seconds(path: Path) -> float:
        return float(asked.read(path).attrs["wall_seconds"])

    same = {path: other for path, other in asked.shipped().items() if other.compute == sweep.compute}
    if not same:
        return None
    if (mine := work(sweep)) is None:
        path, other = next(iter(same.items()))
        return Rate(other.n_cells / seconds(path), True, f"by cells, from {other.name}")
    # A function is counted for all its sweeps or for none.
    flop = {path: theirs.flop for path, other in same.items() if (theirs := work(other)) is not None}
    size = math.log(mine.flop / sweep.n_cells)
    path = min(flop, key=lambda path: abs(math.log(flop[path] / same[path].n_cells) - size))
    return Rate(flop[path] / seconds(path), False, f"scaled from {same[path].name}")


class Calibration:
    """Rates of this machine by function and shape, measured once and kept in a file.

    Parameters
    ----------
    path : where they are kept.
    seconds : of all cores that measuring may cost; 0 measures nothing.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self._path, self._left = path, seconds
        try:
            self._kept: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            self._kept = {}

    def rate(self, sweep: Sweep) -> Rate | None:
        """The rate of a task of the sweep's shape, kept or measured now; None if it may not or cannot be measured."""
        counted = work(sweep)
        if counted is None or counted.short is None:
            return None
        key = digest([counted.shape, sweep.compute, provenance.machine(), sweep.code])
        if key not in self._kept:
            if self._left <= 0:
                return None
            started = time.process_time()
            measured = _measured(sweep, counted.short, self._left)
            self._left -= (time.process_time() - started) / provenance.cores()
            if measured is None:
                return None
            self._kept[key] = measured
            write_whole(self._path, json.dumps(self._kept, indent=1))
        return Rate(self._kept[key], False, f"measured here ({counted.shape})")


def _measured(sweep: Sweep, short: dict[str, Any], left: float) -> float | None:
    """Operations per second of all cores by a short task, after one that warms up; None if it cannot be run here."""
    middle = max(0, min(sweep.n_cells // 2, sweep.n_cells - provenance.cores()))
    part = sweep.slice(range(middle, min(sweep.n_cells, middle + provenance.cores())))
    brief = Sweep("brief", sweep.compute, {str(k): v for k, v in part.items()}, short)
    counted = work(brief)
    assert counted is not None
    if counted.flop / 20e9 > left:  # at a slow core's rate
        return None
    try:
        with threadpool_limits(1, "blas"):
            for _ in range(2):
                # Of the processor's time, since other work on the machine shall not count.
                started = time.process_time()
                brief.function()(part, **short)
                took = (time.process_time() - started) / provenance.cores()
    except Exception:  # no data, too short a task: the caller has another way
        return None
    return counted.flop / took
