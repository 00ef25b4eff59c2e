"""Elasticity measured: what a step on one sample does to others, from the tangent kernels of paper B's own networks.

A step of gradient descent on a sample x' with label l moves the logits of another sample x by

    Δz(x) = η Θ(x, x') (e_l − p(x')),    Θ(x, x')_ij = Σ_w ∂z_i(x)/∂w ∂z_j(x')/∂w,

to first order in the step size η; p are the probabilities that the network gives. :func:`measure_cells` trains the
networks of :func:`.elastic_sde.networks.as_published` over again, stops at times evenly spread, and keeps means of
these moves by class.
:func:`~deepmech_book.beyond.tangent_kernel.real_effects` says what they are in the words of the I- and the
L-model. :func:`step_cells` takes whole steps in place of kernels, curvature included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import torch
import xarray as xr
from torch.func import functional_call, jacrev, vmap

from deepmech.core.random import Stream
from deepmech.sweeps import to_records
from deepmech.trainers.engines.compiled.lenet import CompiledLeNet, padded
from deepmech.trainers.lenet import initial_weights, sample_indices
from deepmech.trainers.modules import LeNet
from deepmech.trainers.run import settled
from deepmech_book.sweeps.elastic_sde.data import SETTINGS, images
from deepmech_book.sweeps.elastic_sde.networks import GROUP, rounded
from deepmech_book.sweeps.policy import verification_policy

EXPERIMENT = "elastic networks"
"""That of the networks whose logits the other pages use: the same seeds are the same networks."""


def _first_times(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first two times: what trials have done by then is the same."""
    names = ["kernel", "move", "move_frozen", "logits", "mean"]
    return fixed | {"iterations": fixed["every"]}, names


@verification_policy(tolerance={"*": 1e-3}, part=_first_times)
def measure_cells(
    cells: xr.Dataset, *, iterations: int, every: int, per_class: int, thin: int, **which: Any
) -> xr.Dataset:
    """Train ten trials for each ``group`` and measure their kernels on the way; ``which`` as for :func:`groups`.

    - ``kernel`` (time, class, other): trace of Θ over logits, divided by their number, mean over pairs of different
      samples of the two classes;
    - ``move`` (time, class, trained, logit): how much a step on a sample of the class ``trained`` moves the logits of
      those of a class, mean over such pairs; ``move_frozen``: by the kernels of the initial weights;
    - ``logits`` (time, class, logit): mean logits of these samples;
    - ``mean`` (block, class, logit): mean logits of the samples about to be trained on, in blocks of ``thin``.
    """
    at, rows = np.arange(0, iterations + 1, every), []
    for group in groups(cells, at, per_class, **which):
        with settled():
            trials = [_kernels(trial, per_class) for trial in group]
        output = {name: np.mean([t[name] for t in trials], 0) for name in ("kernel", "move", "move_frozen", "logits")}
        output["mean"] = _block_means(
            [t["log"] for t in trials], [t["label"] for t in trials], which["n_classes"], thin
        )
        rows.append(output)
    square = ("cell", "time", "class")
    dims = {
        "kernel": (*square, "other"), "move": (*square, "trained", "logit"), "logits": (*square, "logit"),
        "move_frozen": (*square, "trained", "logit"), "mean": ("cell", "block", "class", "logit"),
    }  # fmt: skip
    out = {name: (d, rounded(np.stack([row[name] for row in rows]))) for name, d in dims.items()}
    blocks = np.arange(iterations // thin) * float(thin) + (thin - 1) / 2
    return xr.Dataset(out, {"time": at.astype(float), "block": blocks}, {"device": "cpu", "dtype": "float32"})


def groups(
    cells: xr.Dataset, at: np.ndarray, per_class: int, *, dataset: str, n_classes: int, training_samples: int,
    validation: int,
) -> Iterator[Iterator[Trial]]:  # fmt: skip
    """The trials of each group, one after another, to be stopped at the times ``at``."""
    data, rate = images(dataset, n_classes, training_samples, validation), SETTINGS[dataset].learning_rate
    for cell in to_records(cells):
        seeds = range(GROUP * cell["group"], GROUP * (cell["group"] + 1))
        yield (Trial(seed, data, rate, at, per_class) for seed in seeds)


class Trial:
    """A network of paper B's that is stopped on its way; :meth:`stops` trains it.

    It is measured between the validation samples ``chosen``, ``per_class`` of each class, sorted by class; ``label``
    and ``log`` are what was trained on in each iteration, and the logits just before.
    """

    def __init__(self, seed: int, data: Any, rate: float, at: np.ndarray, per_class: int) -> None:
        k, channels, stream = data.n_classes, data.shape[0], Stream.of(EXPERIMENT, seed)
        self.seed, self.data, self.at = seed, data, at
        self.engine = CompiledLeNet(initial_weights(stream, channels, k), rate, "float32")
        self._order = sample_indices(stream, data.y_train, k, int(at[-1]), None)
        self.label, self.log = data.y_train[self._order], np.empty((len(self._order), k), np.float32)
        own, members = Stream.of("tangent kernel", seed), [np.flatnonzero(data.y_test == c) for c in range(k)]
        few = [m[own.permutation(f"class {c}", 0, len(m))[:per_class]] for c, m in enumerate(members)]
        self.chosen = np.concatenate(few)

    def stops(self) -> Iterator[None]:
        """Train from one of the times ``at`` to the next."""
        x, y = padded(self.data.x_train, self.data.shape[0], "float32"), self.data.y_train
        nobody, never = (x[:0], y[:0]), np.zeros(0, np.int64)
        for begin, stop in zip([0, *self.at], self.at, strict=False):
            if stop > begin:
                self.log[begin:stop] = self.engine.run(x, y, self._order[begin:stop], nobody, never)[0]
            if not self.engine.finite:
                raise FloatingPointError(f"trial {self.seed} diverged before iteration {stop}")
            yield


def _kernels(trial: Trial, per_class: int) -> dict[str, Any]:
    data, k, rate = trial.data, trial.data.n_classes, trial.engine.rate
    samples = torch.from_numpy(np.asarray(data.x_test[trial.chosen], np.float32))
    module, frozen = LeNet(data.shape[0], k), None
    output: dict[str, list[np.ndarray]] = {name: [] for name in ("kernel", "move", "move_frozen", "logits")}
    for _ in trial.stops():
        load_weights(module, trial.engine.weights())
        theta, z = tangent_kernel(module, samples)
        frozen = theta if frozen is None else frozen
        for name, kernel in (("move", theta), ("move_frozen", frozen)):
            output[name].append(rate * class_moves(kernel, z, k))
        output["kernel"].append(class_blocks(np.einsum("aibi->ab", theta) / k, k))
        output["logits"].append(z.reshape(k, per_class, k).mean(1))
    return {name: np.stack(v) for name, v in output.items()} | {"log": trial.log, "label": trial.label}


def load_weights(module: LeNet, weights: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Put (weight, bias) of every layer into a module."""
    layers = [*module.convolution, *module.linear]
    with torch.no_grad():
        for layer, (weight, bias) in zip(layers, weights, strict=True):
            cast(torch.nn.Linear, layer).weight.copy_(torch.from_numpy(np.ascontiguousarray(weight)))
            cast(torch.nn.Linear, layer).bias.copy_(torch.from_numpy(np.ascontiguousarray(bias)))


def tangent_kernel(module: torch.nn.Module, x: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Θ (sample, logit, sample, logit), and the logits (sample, logit), float64.

    >>> linear = torch.nn.Linear(2, 3)
    >>> theta, _ = tangent_kernel(linear, torch.tensor([[1.0, 0.0], [2.0, 2.0]]))
    >>> theta[:, 0, :, 0].tolist(), float(abs(theta[:, 0, :, 1]).max())  # x·x' + 1 for the bias, logit by logit
    ([[2.0, 3.0], [3.0, 9.0]], 0.0)
    """
    parameters = {name: p.detach() for name, p in module.named_parameters()}

    def logits(weights: dict[str, torch.Tensor], one: torch.Tensor) -> torch.Tensor:
        return functional_call(module, weights, (one[None],))[0]

    parts = vmap(jacrev(logits), (None, 0))(parameters, x)
    with torch.no_grad():
        z = module(x).double().numpy()
    n, k = z.shape
    flat = torch.cat([part.reshape(n * k, -1) for part in parts.values()], 1)
    return (flat @ flat.T).double().numpy().reshape(n, k, n, k), z


def class_blocks(pairs: np.ndarray, k: int) -> np.ndarray:
    """Means of (n, n, …) over pairs of different samples of two classes, (K, K, …); samples are sorted by class."""
    m = len(pairs) // k
    sums = pairs.reshape(k, m, k, m, *pairs.shape[2:]).sum((1, 3))
    own = pairs[np.arange(k * m), np.arange(k * m)].reshape(k, m, *pairs.shape[2:]).sum(1)
    sums[np.arange(k), np.arange(k)] -= own
    counts = np.where(np.eye(k, dtype=bool), m * (m - 1), m * m)
    return sums / counts.reshape(k, k, *[1] * (sums.ndim - 2))


def class_moves(theta: np.ndarray, z: np.ndarray, k: int) -> np.ndarray:
    """Mean Θ(x, x')(e_l − p(x')) by class of x and class l of x': (class, trained, logit)."""
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    residual = np.repeat(np.eye(k), len(z) // k, 0) - p
    return class_blocks(np.einsum("aibj,bj->abi", theta, residual), k)


def _block_means(logs: list[np.ndarray], labels: list[np.ndarray], k: int, thin: int) -> np.ndarray:
    """Mean logits by class over trials, in blocks of iterations; nan where no trial drew the class."""
    z, y = np.stack(logs).astype(float), np.stack(labels)
    is_class = (y[..., None] == np.arange(k)).astype(float)
    sums = np.einsum("tic,tij->icj", is_class, z).reshape(-1, thin, k, k).sum(1)
    counts = is_class.sum(0).reshape(-1, thin, k).sum(1)[..., None]
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def _first_step(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first two times: what trials have done by then is the same."""
    return fixed | {"iterations": fixed["every"]}, ["move", "logits"]


@verification_policy(tolerance={"*": 1e-3}, part=_first_step)
def step_cells(cells: xr.Dataset, *, iterations: int, every: int, per_class: int, **which: Any) -> xr.Dataset:
    """Train ten trials for each ``group``; at each time take a step on every sample, look at the others, and undo it.

    ``move`` and ``logits`` as of :func:`measure_cells`, but of whole steps.
    """
    at = np.arange(0, iterations + 1, every)
    output = np.stack([np.mean([_moves(one) for one in group], 0) for group in groups(cells, at, per_class, **which)])
    out = {
        "move": (("cell", "time", "class", "trained", "logit"), rounded(output[:, :, :, :-1])),
        "logits": (("cell", "time", "class", "logit"), rounded(output[:, :, :, -1])),
    }
    return xr.Dataset(out, {"time": at.astype(float)}, {"device": "cpu", "dtype": "float32"})


def _moves(trial: Trial) -> np.ndarray:
    """Moves by class (time, class, trained, logit) with, behind the last class trained on, the logits themselves."""
    data, k, output = trial.data, trial.data.n_classes, []
    samples, labels = padded(data.x_test[trial.chosen], data.shape[0], "float32"), data.y_test[trial.chosen]
    for _ in trial.stops():
        moves, z = finite_moves(trial.engine, samples, labels)
        means = z.reshape(k, -1, k).mean(1)
        output.append(np.concatenate([class_blocks(moves, k), means[:, None]], 1))
    return np.stack(output)


def finite_moves(engine: CompiledLeNet, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a whole step on each sample does to the logits of every other (sample, stepped on, logit); and the logits.

    ``x`` are images as the engine takes them; the engine is left as it was.
    """
    nobody, never, every = (x[:0], y[:0]), np.zeros(0, np.int64), np.arange(len(x))
    kept, rate = [a.copy() for a in engine.parameters], engine.rate

    def answers() -> np.ndarray:
        engine.rate = 0.0
        return engine.run(x, y, every, nobody, never)[0].astype(float)

    before, after = answers(), []
    for i in every:
        engine.rate = rate
        engine.run(x, y, every[i : i + 1], nobody, never)
        after.append(answers() - before)
        for now, old in zip(engine.parameters, kept, strict=True):
            now[:] = old
    engine.rate = rate
    return np.stack(after, 1), before
