"""The batched engine: many networks of equal shape at once, by batched matrix products on one device.

Activations of M members lie in one tensor (M, units, samples). A layer is one ``baddbmm``; BatchNorm and LeakyReLU are
torch's own fused operations, to which the units of all members are so many channels; Adam is one pass over all
parameters of all members, which are one matrix. Numbers agree with :mod:`deepmech.trainers.reference` to rounding.

Whether a member's bits depend on how many others are in its batch is for the library behind ``bmm`` to decide, and on
some processors they do. What is promised is agreement to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from torch.nn import functional as F

from deepmech.trainers.batched_draws import BatchedStream
from deepmech.trainers.checks import Known, knows, require_known
from deepmech.trainers.draws import Draws
from deepmech.trainers.specs import MLP, Member, Training

#: Fields that members of one batch have in common; all others may differ.
COMMON = {"network": ("depth", "width", "batch_norm", "bias"),
          "training": ("optimizer", "batch_size", "epochs", "loss", "dtype")}  # fmt: skip


@dataclass(frozen=True)
class _Now:
    """What holds in one epoch, a row per member on the device; None where no member has any."""

    rate: torch.Tensor
    dropout: torch.Tensor | None  # what 16-bit numbers must reach to be kept
    wrong_labels: torch.Tensor | None  # the same, of labels
    kept: torch.Tensor  # factor of what is not dropped, (members, 1, 1)
    noise: torch.Tensor | None  # standard deviation of the inputs' noise, (members, 1, 1)


class Batched:
    """Trains ``members``, which must agree in :meth:`shape`. Members are numbered in their order."""

    KNOWN: ClassVar[Known] = {
        MLP: knows("depth width slope dropout batch_norm scale bias", init=("torch", "orthogonal")),
        Training: knows(
            "learning_rate momentum batch_size epochs data_noise label_noise schedule stop_loss stop_change",
            optimizer=("adam", "sgd"),
            loss=("cross_entropy", "mse"),
            dtype=("float32", "float64"),
        ),
    }

    @staticmethod
    def shape(member: Member) -> tuple[Any, ...]:
        """What members of one batch have in common."""
        return tuple(getattr(getattr(member, part), name) for part, names in COMMON.items() for name in names)

    @staticmethod
    def prepare(data: Any, dtype: str, device: str = "cpu") -> dict[str, Any]:
        """What all batches share: the training set on the device."""
        x = torch.from_numpy(np.asarray(data.x_train, dtype=dtype)).to(device)
        target = np.asarray(data.y_train)
        y = torch.from_numpy(target if data.n_classes else target.astype(dtype)).to(device)
        std = float(np.std(data.x_train, dtype=np.float64))
        return {"x": x, "y": y, "n_classes": data.n_classes, "std": std}

    @staticmethod
    def bytes_per_member(member: Member, shared: dict[str, Any]) -> int:
        """About what one member of a batch takes at the height of a step, in bytes."""
        n, n_inputs = shared["x"].shape
        size = member.training.batch_size
        batch = n if size is None else min(n, int(size))
        sizes = member.sizes(n_inputs, shared["n_classes"] or 1)
        hidden, parameters = sum(sizes[1:-1]), sum(a * b + 3 * b for a, b in pairwise(sizes))
        numbers = 10 * parameters + batch * (4 * n_inputs + 6 * hidden + 6 * sizes[1])
        # Drawn words of one layer, in int64 and with what is between them.
        drawn = 24 * batch * max(int(member.network.width), n_inputs)
        return shared["x"].element_size() * numbers + drawn

    def __init__(self, members: Sequence[Member], draws: Sequence[Draws], shared: dict[str, Any]):
        for member in members:
            require_known("batched", self.KNOWN, member.network, member.training)
        self.members, self.draws, self.shared = list(members), list(draws), shared
        self.dtype, self.device = shared["x"].dtype, shared["x"].device
        first = members[0]
        self.sizes = first.sizes(shared["x"].shape[1], shared["n_classes"] or 1)
        self.normed, self.optimizer = bool(first.network.batch_norm), str(first.training.optimizer)
        # Members with the same seed see the same numbers: they are drawn once for each seed.
        keys = [d.stream.key for d in draws]
        unique = list(dict.fromkeys(keys))
        self.one_of_seed = [keys.index(k) for k in unique]
        self.stream = BatchedStream(unique, self.device)
        self.seed = torch.tensor([unique.index(k) for k in keys], device=self.device)
        self.slope = self._column([float(m.network.slope) for m in members])
        self.scale = self._column([m.scale for m in members])[:, :, None]
        self.momentum = self._column([float(m.training.momentum) for m in members])
        self._initialise()
        self.steps = 0

    def _column(self, values: Sequence[float]) -> torch.Tensor:
        """One number per member, shape (members, 1)."""
        return torch.tensor(values, dtype=self.dtype, device=self.device)[:, None]

    def _initialise(self) -> None:
        """All trained parameters as one matrix with a row per member, and what stays as it was drawn."""
        sizes, last, m = self.sizes, len(self.sizes) - 1, len(self.members)
        drawn = [d.weights(sizes) for d in self.draws]
        parts: dict[str, np.ndarray] = {}
        self.still: dict[str, torch.Tensor] = {}
        for i in range(last + 1):
            if i > 0:
                parts[f"weight {i}"] = np.stack([layers[i - 1][0] for layers in drawn])
                bias = np.stack([layers[i - 1][1] for layers in drawn])
                if self.members[0].network.bias and (i == last or not self.normed):
                    parts[f"bias {i}"] = bias
                else:  # zero, or subtracted again by BatchNorm
                    self.still[f"bias {i}"] = torch.from_numpy(bias).to(self.device, self.dtype)
            if self.normed and i < last:
                parts[f"gamma {i}"] = np.ones((m, sizes[i]))
                if i > 0:
                    parts[f"beta {i}"] = np.zeros((m, sizes[i]))
                else:
                    self.still["beta 0"] = torch.zeros((m, sizes[0]), dtype=self.dtype, device=self.device)
        self.shapes = {name: value.shape[1:] for name, value in parts.items()}
        flat = np.concatenate([value.reshape(m, -1) for value in parts.values()], axis=1)
        self.parameters = torch.from_numpy(flat).to(self.device, self.dtype).requires_grad_()
        self.moments = [torch.zeros_like(self.parameters, requires_grad=False) for _ in range(2)]
        normed = range(last if self.normed else 0)
        self.running = [
            [torch.full((m, sizes[i]), v, dtype=self.dtype, device=self.device) for i in normed] for v in (0.0, 1.0)
        ]

    def parts(self) -> dict[str, torch.Tensor]:
        """Every parameter by name, shape (members, …): views into the one matrix, and those that stay."""
        widths = [int(np.prod(shape)) for shape in self.shapes.values()]
        pieces = self.parameters.split(widths, dim=1)
        named = {k: p.view(-1, *shape) for (k, shape), p in zip(self.shapes.items(), pieces, strict=True)}
        return named | self.still

    def run_epoch(self, epoch: int) -> np.ndarray:
        """One pass over the training set; the mean loss over its steps, each taken before its update, per member."""
        now, n = self.now(epoch), len(self.shared["y"])
        total = torch.zeros(len(self.members), dtype=torch.float64, device=self.device)
        for step, index in self.batches(epoch, n):
            loss = self.loss(now, step, index)
            self.parameters.grad = None
            loss.sum().backward()
            self._update(now.rate)
            total += loss.detach().double() * (n if index is None else index.shape[1])
        for variance in self.running[1]:
            # One that overflows makes a unit constant: finite, and no longer what it should be.
            total += torch.where(variance.isfinite().all(1), 0.0, torch.nan)
        return (total / n).cpu().numpy()

    def now(self, epoch: int) -> _Now:
        """What holds in epoch ``epoch`` by specs and schedules."""
        settings = [m.settings(epoch) for m in self.members]

        def thresholds(probabilities: list[float]) -> torch.Tensor | None:
            rounded = [[round(p * 65536)] for p in probabilities]
            return torch.tensor(rounded, dtype=torch.int32, device=self.device) if any(probabilities) else None

        dropout, noise = [s.dropout for s in settings], [s.data_noise for s in settings]
        return _Now(
            rate=self._column([s.learning_rate for s in settings]),
            dropout=thresholds(dropout),
            kept=(1 / (1 - self._column(dropout)))[:, :, None],
            wrong_labels=thresholds([s.label_noise for s in settings]),
            noise=self._column([p * self.shared["std"] for p in noise])[:, :, None] if any(noise) else None,
        )

    def batches(self, epoch: int, n: int) -> Iterator[tuple[int, torch.Tensor | None]]:
        """(step, indices per seed) of each batch; None stands for all samples in their own order."""
        drawn = [list(self.draws[i].batches(epoch, n)) for i in self.one_of_seed]
        if len(drawn[0]) == 1:
            yield drawn[0][0][0], None
            return
        # One copy to the device for the whole epoch.
        order = torch.from_numpy(np.stack([np.concatenate([i for _, i in one]) for one in drawn])).to(self.device)
        start = 0
        for step, index in drawn[0]:
            yield step, order[:, start : start + len(index)]
            start += len(index)

    def loss(self, now: _Now, step: int, index: torch.Tensor | None) -> torch.Tensor:
        """Each member's loss on its batch, with its noise, in training mode; shape (members,)."""
        n_classes = self.shared["n_classes"]
        output = self._forward(self._inputs(now, step, index), now, step)
        target = self._targets(now, step, index)
        if self.members[0].training.loss == "cross_entropy":
            return F.cross_entropy(output, target, reduction="none").mean(1)
        if n_classes:
            target = F.one_hot(target, n_classes).transpose(1, 2)
        return (output - target.to(self.dtype).view_as(output)).square().flatten(1).mean(1)

    def _inputs(self, now: _Now, step: int, index: torch.Tensor | None) -> torch.Tensor:
        """The batch of every member with its noise, shape (members, inputs, samples)."""
        x = self.shared["x"]
        batch = x.t().expand(len(self.members), -1, -1) if index is None else x[index].transpose(1, 2)[self.seed]
        # One layout for any number of members: other layouts take other paths, with other rounding.
        batch = batch.contiguous()
        if now.noise is None:
            return batch
        noise = self.stream.normal("input noise", step, batch[0].numel()).to(self.dtype)
        return batch + now.noise * noise.view(-1, *batch.shape[1:])[self.seed]

    def _targets(self, now: _Now, step: int, index: torch.Tensor | None) -> torch.Tensor:
        y, n_classes = self.shared["y"], self.shared["n_classes"]
        batch = y.expand(len(self.members), -1) if index is None else y[index][self.seed]
        if not n_classes or now.wrong_labels is None:
            return batch
        n = batch.shape[1]
        other = torch.floor(self.stream.uniform("random label", step, n) * n_classes).to(batch.dtype)
        return torch.where(self._below("label noise", step, n, now.wrong_labels), other[self.seed], batch)

    def _below(self, purpose: str, step: int, n: int, threshold: torch.Tensor) -> torch.Tensor:
        """True with each member's probability, shape (members, n)."""
        return self.stream.halves(purpose, step, n)[self.seed] < threshold

    def _forward(self, x: torch.Tensor, now: _Now, step: int) -> torch.Tensor:
        """Outputs in training mode, shape (members, outputs, samples)."""
        p, last = self.parts(), len(self.sizes) - 1
        x = self._normalise(0, x, p) if self.normed else x
        for i in range(1, last):
            x = torch.baddbmm(p[f"bias {i}"][:, :, None], p[f"weight {i}"], x)
            x = self._normalise(i, x, p) if self.normed else x
            units, samples = x.shape[1:]
            # One channel for each unit of each member, so that every member has its own slope.
            x = F.prelu(x.reshape(1, -1, samples), self.slope.expand(-1, units).reshape(-1)).view_as(x)
            x = x if self.normed else self.scale * x
            if now.dropout is not None:
                dropped = self._below(f"dropout {i}", step, units * samples, now.dropout).view_as(x)
                x = x * torch.where(dropped, 0, now.kept)
        return torch.baddbmm(p[f"bias {last}"][:, :, None], p[f"weight {last}"], x)

    def _normalise(self, i: int, x: torch.Tensor, p: dict[str, torch.Tensor]) -> torch.Tensor:
        """BatchNorm of layer ``i`` in training mode; follows the running averages."""
        mean, variance = (running[i].view(-1) for running in self.running)
        gamma, beta = p[f"gamma {i}"].reshape(-1), p[f"beta {i}"].reshape(-1)
        return F.batch_norm(x.reshape(1, -1, x.shape[2]), mean, variance, gamma, beta, True).view_as(x)

    @torch.no_grad()
    def _update(self, rate: torch.Tensor) -> None:
        """One step of torch's Adam or SGD, with every member's own learning rate and momentum."""
        self.steps += 1
        p, (first, second), g = self.parameters, self.moments, self.parameters.grad
        assert g is not None
        if self.optimizer == "sgd":
            p.sub_(rate * first.mul_(self.momentum).add_(g))
            return
        first.lerp_(g, 1 - 0.9)
        second.mul_(0.999).addcmul_(g, g, value=1 - 0.999)
        denominator = (second.sqrt() / (1 - 0.999**self.steps) ** 0.5).add_(1e-8)
        p.sub_(rate / (1 - 0.9**self.steps) * (first / denominator))

    @torch.no_grad()
    def features(self, member: int, x: np.ndarray) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Evaluation mode, one member: features of the input and of hidden layers, each (n, units), and the output."""
        p = {name: part[member] for name, part in self.parts().items()}
        h = torch.from_numpy(np.asarray(x)).to(self.device, self.dtype)
        last = len(self.sizes) - 1

        def normalise(i: int, h: torch.Tensor) -> torch.Tensor:
            mean, variance = (running[i][member] for running in self.running)
            return F.batch_norm(h, mean, variance, p[f"gamma {i}"], p[f"beta {i}"]) if self.normed else h

        features = [h := normalise(0, h) if self.normed else h]
        for i in range(1, last):
            h = F.linear(h, p[f"weight {i}"], p[f"bias {i}"])
            h = normalise(i, h) if self.normed else h
            h = F.leaky_relu(h, float(self.members[member].network.slope))
            features.append(h := h if self.normed else self.members[member].scale * h)
        return features, F.linear(h, p[f"weight {last}"], p[f"bias {last}"])
