"""Train every member of a labelled batch of networks and give the results back with their labels."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
import xarray as xr
from tqdm import tqdm

from deepmech.core import provenance
from deepmech.core.labels import Batch, Number, align
from deepmech.core.spec import Spec
from deepmech.metrics.separation import data_separation
from deepmech.trainers.draws import Draws
from deepmech.trainers.fused import Fused
from deepmech.trainers.reference import Reference
from deepmech.trainers.specs import MLP, Member, Training, labelled, with_values

#: Metric -> name of its variable in the result.
METRICS = {"D": "load_curve", "D_hat": "load_curve_hat"}
SPLITS = ("train", "test")


class Engine(Protocol):
    """What trains one member. ``prepare`` is called once for all members."""

    def run_epoch(self, epoch: int) -> float: ...

    def features(self, x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]: ...


ENGINES: dict[str, Any] = {"reference": Reference, "fused": Fused}


@dataclass
class Outcome:
    """One member's results; see :func:`train` for the meaning of each."""

    loss: np.ndarray
    state: str
    epochs_run: int
    accuracy: np.ndarray
    curves: dict[str, np.ndarray]


def train(
    network: MLP,
    training: Training,
    data: Any,
    *,
    seed: Number | int = 0,
    engine: str = "auto",
    record: Sequence[int] | None = None,
    metrics: Sequence[str] = ("D",),
    threads: int | None = None,
    experiment: str = "train",
) -> xr.Dataset:
    """Train one network for every combination of the labels in ``network``, ``training`` and ``seed``.

    A member's result depends on its own parameters, its seed and ``experiment`` alone: its bits are the same whether it
    is trained alone, among others, or on any number of threads (same machine, same engine).

    Parameters
    ----------
    network, training : specs; every number in them may be a labelled array (:func:`deepmech.over`).
    data : ``deepmech.data.Data``, or any object with ``x_train``, ``y_train``, ``x_test``, ``y_test`` (samples along
        the first axis), ``n_classes`` and ``fingerprint``.
    seed : an integer, or several as a labelled array. Members with the same seed share initial weights, batches and
        (nested) dropout masks.
    engine : ``"reference"`` (plain torch), ``"fused"`` (the same numbers to rounding, faster), or ``"auto"``: the
        fastest that can train these specs.
    record : epochs after which to measure load curves and accuracies; None measures once, at the end. 0 is before
        training, when BatchNorm still has its initial averages (mean 0, variance 1). A member that stopped early keeps
        its last state.
    metrics : ``"D"`` (spring-block paper, Eq. 3), ``"D_hat"`` (Eq. 9), or both.
    threads : members trained at a time; None uses every core available.
    experiment : name that enters the random streams: another name gives independent draws for the same seeds.

    Returns
    -------
    xarray.Dataset
        With the dimensions of all labelled fields, and

        - ``load_curve`` and/or ``load_curve_hat`` (…, [at_epoch,] split, layer): D_ℓ and D̂_ℓ in evaluation mode on the
          training and the test set, of the normalised input (layer 0) and of each hidden layer before dropout; NaN
          beyond the depth of shallower networks, and for members that diverged;
        - ``accuracy`` (…, [at_epoch,] split): fraction of correct answers; NaN without classes or if diverged;
        - ``loss`` (…, epoch): mean training loss of every epoch; NaN after the last one run;
        - ``state`` (…): ``"finished"``, ``"stopped"`` (by ``stop_loss`` or ``stop_change``) or ``"diverged"`` (the loss
          was not finite in epoch ``epochs_run``);
        - ``epochs_run`` (…).

    Raises
    ------
    ValueError
        If labels clash, the data do not fit the specs, an engine cannot do what is asked, or a name is unknown.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from deepmech import over
    >>> from deepmech.core.random import Stream
    >>> y = np.arange(60) % 3
    >>> x = (np.eye(3)[y] + 0.1 * Stream.of("example", 0).normal("x", 0, (60, 3))).astype("float32")
    >>> data = SimpleNamespace(x_train=x, y_train=y, x_test=x, y_test=y, n_classes=3, fingerprint="example")
    >>> result = train(MLP(depth=3, width=8, dropout=over("dropout", [0.0, 0.2])), Training(epochs=20), data)
    >>> result["load_curve"].sizes
    Frozen({'dropout': 2, 'split': 2, 'layer': 3})
    """
    started = time.perf_counter()
    if threads is not None and threads < 1:
        raise ValueError(f"train: threads = {threads}: must be at least 1, or None for every core")
    batch = _batch(network, training, seed)
    members = _members(batch, network, training)
    engines = [_engine(engine, m) for m in members]
    _check(data, members, metrics, record)
    shared = {
        (kind, dtype): kind.prepare(data, dtype)
        for kind, dtype in {(e, str(m.training.dtype)) for e, m in zip(engines, members, strict=True)}
    }

    def fit(i: int) -> Outcome:
        member, kind = members[i], engines[i]
        trained = kind(member, Draws.of(member, experiment), shared[kind, str(member.training.dtype)])
        return _fit(trained, member, data, record, metrics)

    # Members run beside one another, each on one thread: products of this size gain little from more, and a sum that is
    # cut among threads rounds according to their number.
    with _one_torch_thread(), ThreadPoolExecutor(threads or _cores()) as pool:
        bar = tqdm(total=len(members), desc="networks", file=sys.stderr, disable=not sys.stderr.isatty(), leave=False)
        outcomes = []
        for outcome in pool.map(fit, range(len(members))):
            outcomes.append(outcome)
            bar.update()
        bar.close()
    result = _dataset(batch, members, outcomes, record, metrics)
    spec = json.dumps({"network": network.to_json(), "training": training.to_json()})
    seeds = int(seed) if not isinstance(seed, xr.DataArray) else json.dumps(seed.values.tolist())
    precision = ", ".join(sorted({str(m.training.dtype) for m in members}))
    result.attrs = provenance.attributes(
        spec=spec, seed=seeds, dtype=precision, wall_seconds=time.perf_counter() - started
    )
    names = {kind: name for name, kind in ENGINES.items()}
    result.attrs |= {
        "engine": ", ".join(sorted({names[e] for e in engines})),
        "experiment": experiment,
        "data": str(data.fingerprint),
    }
    return result


def _batch(network: MLP, training: Training, seed: Number | int) -> Batch:
    seeds = np.asarray(seed)
    if seeds.dtype.kind not in "iu" or np.any(seeds < 0):
        raise ValueError(f"train: seed = {seed!r}: must be a whole number, at least 0, or a labelled array of them")
    batch = align("train", **labelled(network), **labelled(training), seed=seed)
    for own in ("split", "layer", "epoch", "at_epoch"):
        if own in batch.dims:
            raise ValueError(f"train: a field has the dimension {own!r}, which results use themselves; rename it")
    return batch


def _members(batch: Batch, network: MLP, training: Training) -> list[Member]:
    whole = {"depth", "width", "batch_size", "epochs"}
    members = []
    for row in batch.members():
        values: dict[str, Any] = {k: int(v) if k in whole else v for k, v in row.items()}

        def part(spec: Spec, values: dict[str, Any] = values) -> Any:
            return with_values(spec, {k: values[k] for k in labelled(spec)})

        members.append(Member(part(network), part(training), int(values["seed"])))
    return members


def _engine(name: str, member: Member) -> Any:
    if name == "auto":
        return Reference if Fused.cannot(member) else Fused
    if name not in ENGINES:
        raise ValueError(f"train: engine = {name!r}: must be 'auto' or one of {', '.join(map(repr, ENGINES))}")
    if name == "fused" and (reason := Fused.cannot(member)):
        raise ValueError(f"train: engine = 'fused' cannot train {reason}; use engine='auto' or 'reference'")
    return ENGINES[name]


def _check(data: Any, members: list[Member], metrics: Sequence[str], record: Sequence[int] | None) -> None:
    for name in metrics:
        if name not in METRICS:
            raise ValueError(f"train: metrics: {name!r} is unknown; choose from {', '.join(map(repr, METRICS))}")
    n = len(data.x_train)
    for m in members:
        size, epochs = m.training.batch_size, m.training.epochs
        if m.network.batch_norm and (n if size is None or size >= n else min(size, n % size or size)) < 2:
            raise ValueError(
                f"Training.batch_size = {size}: leaves a batch of one sample of the {n}, which BatchNorm cannot "
                "normalise; choose a size that leaves at least two"
            )
        if record is not None and not all(0 <= e <= epochs for e in record):
            raise ValueError(f"train: record = {list(record)}: must lie between 0 and Training.epochs = {epochs}")
        if not data.n_classes and (m.training.loss == "cross_entropy" or metrics):
            raise ValueError("train: data without classes need Training.loss = 'mse' and metrics=()")


def _fit(engine: Engine, member: Member, data: Any, record: Sequence[int] | None, metrics: Sequence[str]) -> Outcome:
    epochs, depth = int(member.training.epochs), int(member.network.depth)
    wanted = [epochs] if record is None else [int(e) for e in record]
    loss = np.full(epochs, np.nan)
    accuracy = np.full((len(wanted), 2), np.nan)
    curves = {name: np.full((len(wanted), 2, depth), np.nan) for name in metrics}

    def measure(places: list[int]) -> None:
        if not places:
            return
        for s, split in enumerate(SPLITS):
            x, y = getattr(data, f"x_{split}"), getattr(data, f"y_{split}")
            features, output = engine.features(x)
            if data.n_classes:
                accuracy[places, s] = np.mean(np.argmax(output, axis=1) == y)
            for name in metrics:
                curves[name][places, s] = [_separation(f, y, name, data.n_classes) for f in features]

    measure([i for i, e in enumerate(wanted) if e == 0])
    state, epoch = "finished", 0
    for epoch in range(1, epochs + 1):
        loss[epoch - 1] = engine.run_epoch(epoch)
        if not np.isfinite(loss[epoch - 1]):
            state = "diverged"
            break
        change = abs(loss[epoch - 1] - loss[epoch - 2]) if epoch > 1 else np.inf
        if loss[epoch - 1] < float(member.training.stop_loss) or change < float(member.training.stop_change):
            state = "stopped"
            break
        measure([i for i, e in enumerate(wanted) if e == epoch])
    if state == "stopped":
        measure([i for i, e in enumerate(wanted) if e >= epoch])
    return Outcome(loss, state, epoch, accuracy, curves)


def _separation(features: np.ndarray, labels: np.ndarray, metric: Any, n_classes: int) -> float:
    """D or D̂; NaN for features that are no longer finite."""
    if not np.all(np.isfinite(features)):
        return float("nan")
    return data_separation(features, labels, metric=metric, n_classes=n_classes)


def _dataset(
    batch: Batch, members: list[Member], outcomes: list[Outcome], record: Sequence[int] | None, metrics: Sequence[str]
) -> xr.Dataset:
    depth = max(int(m.network.depth) for m in members)
    epochs = max(int(m.training.epochs) for m in members)
    at: tuple[str, ...] = () if record is None else ("at_epoch",)

    def stacked(values: list[np.ndarray], width: int | None = None) -> np.ndarray:
        """Along a first axis of members, padded with NaN to ``width`` along the last; without the axis of records."""
        padded = [
            v
            if width is None
            else np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, width - v.shape[-1])], constant_values=np.nan)
            for v in values
        ]
        return np.stack(padded)

    def measured(values: np.ndarray) -> np.ndarray:
        return values[:, 0] if record is None else values

    variables: dict[str, Any] = {}
    for name in metrics:
        curves = stacked([o.curves[name] for o in outcomes], depth)
        variables[METRICS[name]] = batch.unflatten(measured(curves), *at, "split", "layer")
    variables["accuracy"] = batch.unflatten(measured(stacked([o.accuracy for o in outcomes])), *at, "split")
    variables["loss"] = batch.unflatten(stacked([o.loss for o in outcomes], epochs), "epoch")
    variables["state"] = batch.unflatten(np.array([o.state for o in outcomes], dtype="<U8"))
    variables["epochs_run"] = batch.unflatten(np.array([o.epochs_run for o in outcomes]))
    coords: dict[Any, Any] = dict(batch.coords)
    coords |= {"split": list(SPLITS), "layer": np.arange(depth), "epoch": np.arange(1, epochs + 1)}
    if record is not None:
        coords["at_epoch"] = [int(e) for e in record]
    return xr.Dataset(variables, coords=coords)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
