r"""How far a measured step carries: a network is looked at once, and foretold from then on (page elastic_sde/horizon).

At one moment a whole step of training is taken apart: the training samples of each class, ordered by their loss, are
cut into groups, and every group takes its share of the step alone, which is then undone. A later network is taken to be
the one of the moment and amounts a of these steps. Its outputs are those of the moment and a times their measured
changes, and the amounts follow the slope of the training loss (:func:`step_amounts`). Nothing is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp
from scipy.special import log_softmax

from deepmech import trainers
from deepmech.core.random import Stream
from deepmech.data import Data, load
from deepmech.metrics.separation import data_separation
from deepmech.sweeps import Sweep, to_records
from deepmech.trainers.lenet import corrupt_labels
from deepmech_book.sweeps.elastic_sde.networks import BITS, rounded
from deepmech_book.sweeps.policy import verification_policy
from deepmech_book.sweeps.spring_block.networks import sweep

VERSION = "horizon"
LEVELS: dict[str, tuple[Any, ...]] = {
    "depth": (3, 4, 5),
    "width": (24, 36, 54),
    "pace": (0.02, 0.04, 0.06),
    "batch_size": (16, 32, 64),
    "wrong_labels": (0.0, 0.1, 0.2),
}
"""Settings, of which each network has one value at random. ``pace`` is the learning rate for batches of 32: the rate is
proportional to the batch. So many of each class's labels are those of other classes, once for all."""
DATASETS, NETWORKS = ("mnist", "fashion-mnist"), 240
IMAGES = {"size": 10, "n_train": 512, "n_test": 1000}
STOP_LOSS, MOST, FEWEST = 0.2, 240, 8
"""The moment: the training loss is first at or below this. Networks that need more epochs, or fewer, are left out."""
PAST, LATER = (0.25, 0.5, 1.0), (1.25, 1.5, 2.0, 3.0, 4.0)
"""Times of which numbers are kept, in units of the moment's epoch; each is a mean over epochs at most a tenth away."""
WINDOW, GROUPS = 0.1, 10
"""That tenth; and groups of a class."""


def settings_of(number: int) -> dict[str, Any]:
    """Data set and settings of a network.

    Examples
    --------
    >>> settings_of(3)["data"]
    'fashion-mnist'
    """
    draws = Stream.of(VERSION, number).uniform("settings", 0, len(LEVELS))
    chosen = {name: values[int(u * len(values))] for u, (name, values) in zip(draws, LEVELS.items(), strict=True)}
    return {"data": DATASETS[number % 2], **chosen}


def population(dataset: str = "mnist", networks: int = NETWORKS) -> Sweep:
    """The networks of one data set, out of so many in all, with what was foretold of each and what came.

    Examples
    --------
    >>> population("mnist", 10).grid.shape
    (5,)
    """
    numbers = [n for n in range(networks) if settings_of(n)["data"] == dataset]
    fixed = {"stop_loss": STOP_LOSS, "most": MOST, "groups": GROUPS, "levels": {k: list(v) for k, v in LEVELS.items()}}
    return sweep(VERSION, "elastic_sde.carried_steps", {"number": numbers}, {"name": dataset, **IMAGES}, **fixed)


def step_amounts(
    outputs: np.ndarray, labels: np.ndarray, changes: np.ndarray, gram: np.ndarray, rate: float, times: Sequence[float]
) -> np.ndarray:
    r"""How much of each measured step is taken by each time: gradient descent among these steps alone.

    With outputs z, their changes Δ under the steps, cross-entropy L and the steps' products G,

    .. math:: \dot a = -\mu\, G^{-1}\, \frac{\partial}{\partial a} L\Bigl(z + \sum_s a_s \Delta_s\Bigr) .

    Parameters
    ----------
    outputs : (n, K), of the training samples at the moment.
    labels : (n,), whole numbers below K.
    changes : (steps, n, K), of the outputs under each step.
    gram : (steps, steps), scalar products of the steps in weights.
    rate : learning rate μ.
    times : rising, in steps of training after the moment.

    Returns
    -------
    ndarray
        (time, step), dimensionless.

    Examples
    --------
    One sample that a step moves by 1 along its own logit: it is taken ever more slowly.

    >>> amounts = step_amounts(np.zeros((1, 2)), np.array([0]), np.array([[[1.0, 0.0]]]), np.eye(1), 1.0, [0.01, 10.0])
    >>> amounts.round(3).ravel().tolist()
    [0.005, 2.176]
    """
    inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True) * rate / len(outputs)
    wanted = np.eye(outputs.shape[1])[labels]

    def slope(_: float, amounts: np.ndarray) -> np.ndarray:
        now = outputs + np.tensordot(amounts, changes, 1)
        return inverse @ np.tensordot(changes, wanted - np.exp(log_softmax(now, 1)), 2)

    start = np.zeros(len(gram))
    output = solve_ivp(slope, (0.0, times[-1]), start, "LSODA", list(times), rtol=1e-3, atol=1e-3)
    return np.asarray(output.y.T)


@verification_policy(tolerance={"*": 5e-2})
def carry_cells(
    cells: xr.Dataset, data: dict[str, Any], stop_loss: float, most: int, groups: int, levels: dict[str, Any]
) -> xr.Dataset:
    """Train each network to the moment, measure its steps, foretell, and train on to see what comes.

    Returns
    -------
    Dataset
        Over ``cell``, ``source`` ("came", "foretold") and ``time``: ``means`` (class, logit) of training samples by
        their label, ``separation`` D of their logits, ``error`` of test samples, training ``loss`` and ``accuracy``;
        "foretold" at time 1 is the network of the moment itself. ``epoch`` of the moment; nan without one.
    """
    images = load(**data)
    rows = [_row(int(cell["number"]), images, stop_loss, most, groups) for cell in to_records(cells)]
    return xr.concat(rows, cells.cell)


def _row(number: int, images: Data, stop_loss: float, most: int, groups: int) -> xr.Dataset:
    from deepmech.trainers.engines.compiled.mlp import CompiledMLP
    from deepmech.trainers.specs import Member

    s = settings_of(number)
    y = corrupt_labels(images.y_train, images.n_classes, s["wrong_labels"], Stream.of(VERSION, number, "labels"))
    training = trainers.Training(
        optimizer="sgd", learning_rate=s["pace"] * s["batch_size"] / 32, batch_size=s["batch_size"],
        epochs=5 * most, stop_loss=0.0, stop_change=0.0,
    )  # fmt: skip
    network = trainers.MLP(depth=s["depth"], width=s["width"], batch_norm=False)
    engine = CompiledMLP(
        Member(network, training, number, VERSION), CompiledMLP.prepare(replace(images, y_train=y), "float32")
    )
    path: dict[int, dict[str, Any]] = {}
    start, epoch, end = 0, 0, most
    while epoch < end:
        epoch += 1
        engine.step(epoch)
        if epoch % max(1, epoch // 20):
            continue
        now = _outputs(engine, images)
        if not all(np.isfinite(z).all() for z in now):
            return _dataset({}, 0)
        path[epoch] = _summary(*now, y, images.y_test)
        if not start and path[epoch]["loss"] <= stop_loss:
            start, end = epoch, round((LATER[-1] + WINDOW) * epoch)
            if start < FEWEST:
                return _dataset({}, 0)
            later = _predict(engine, images, y, now, groups, [start * (t - 1) for t in LATER])
            predicted = [path[start], *(_summary(*z, y, images.y_test) for z in later)]
    if not start:
        return _dataset({}, 0)
    came = []
    for t in (*PAST, *LATER):
        after = 0 if t == 1 else WINDOW  # of what comes next nothing is known at the moment
        near = [one for e, one in path.items() if -WINDOW * start <= e - t * start <= max(after * start, 0.5)]
        came.append({name: np.mean([one[name] for one in near], 0) for name in near[0]})
    return _dataset({"came": came, "foretold": predicted}, start)


def _outputs(engine: Any, images: Data) -> tuple[np.ndarray, np.ndarray]:
    return engine.features(images.x_train)[1].astype(float), engine.features(images.x_test)[1].astype(float)


def _losses(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(-log_softmax(z, 1)[np.arange(len(y)), y])


def _summary(z: np.ndarray, test: np.ndarray, y: np.ndarray, y_test: np.ndarray) -> dict[str, Any]:
    return {
        "means": np.stack([z[y == k].mean(0) for k in range(z.shape[1])]),
        "separation": data_separation(z, y, n_classes=z.shape[1]),
        "error": np.mean(test.argmax(1) != y_test),
        "loss": _losses(z, y).mean(),
        "accuracy": np.mean(z.argmax(1) == y),
    }


def _predict(
    engine: Any, images: Data, y: np.ndarray, now: tuple[np.ndarray, np.ndarray], groups: int, epochs: list[float]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Outputs of training and test samples after so many more epochs; the engine's network stays as it is."""
    weights, settings, hardest = engine.net.p.copy(), engine.member.settings(1), np.argsort(-_losses(now[0], y))
    taken, changed = [], []
    for k in range(now[0].shape[1]):
        for group in np.array_split(hardest[y[hardest] == k], groups):
            engine.gradient(settings, 0, group)
            engine.net.p[:] = weights - np.float32(settings.learning_rate * len(group) / len(y)) * engine.net.g
            taken.append(engine.net.p.astype(float) - weights)
            changed.append([after - before for after, before in zip(_outputs(engine, images), now, strict=True)])
            engine.net.p[:] = weights
    steps, (train, test) = np.stack(taken), (np.stack(part) for part in zip(*changed, strict=True))
    each = len(y) / int(engine.member.training.batch_size)
    amounts = step_amounts(now[0], y, train, steps @ steps.T, settings.learning_rate, [each * e for e in epochs])
    return [(now[0] + np.tensordot(a, train, 1), now[1] + np.tensordot(a, test, 1)) for a in amounts]


def _dataset(kept: dict[str, list[dict[str, Any]]], start: int) -> xr.Dataset:
    """What is kept of one network; nan where there is nothing."""
    times, classes = (*PAST, *LATER), 10
    sizes = {"source": 2, "time": len(times), "class": classes, "logit": classes}
    dims = {"means": tuple(sizes), **dict.fromkeys(("separation", "error", "loss", "accuracy"), ("source", "time"))}
    out = {name: np.full([sizes[d] for d in axes], np.nan, np.float32) for name, axes in dims.items()}
    for i, rows in enumerate(kept.values()):
        for name, values in out.items():
            values[i, len(times) - len(rows) :] = np.stack([row[name] for row in rows])
    bits = {"means": 7}  # a hundred numbers each time: of more bits they would weigh too much
    output = xr.Dataset({name: (axes, rounded(out[name], bits.get(name, BITS))) for name, axes in dims.items()})
    output = output.assign(epoch=np.float32(start or np.nan), diverged=not start)
    return output.assign_coords(source=["came", "foretold"], time=list(times))
