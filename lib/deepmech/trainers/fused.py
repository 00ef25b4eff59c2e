"""The fused CPU engine: explicit forward and backward passes, library matrix products, one kernel between two products.

One full-batch step of the paper's network is bound by its 21 matrix products; what remains between them
(:mod:`deepmech.trainers.kernels`) is read and written once forward and once backward. Everything goes into buffers that
are made once. Agreement with :mod:`deepmech.trainers.reference` is tested parameter by parameter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from deepmech.core.random import purpose_word
from deepmech.trainers import kernels
from deepmech.trainers.draws import Draws
from deepmech.trainers.specs import Member, Settings


class _Flat:
    """Tensors that lie one after another in one vector, each on a 64-byte boundary; optimisers see the vector only."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], dtype: torch.dtype):
        aligned = {k: -(-int(np.prod(s)) // 16) * 16 for k, s in shapes.items()}
        self.vector = torch.zeros(sum(aligned.values()), dtype=dtype)
        self.tensor: dict[str, torch.Tensor] = {}
        start = 0
        for name, shape in shapes.items():
            self.tensor[name] = self.vector[start : start + int(np.prod(shape))].view(shape)
            start += aligned[name]
        self.array = {k: t.numpy() for k, t in self.tensor.items()}


class _Buffers:
    """Activations of one batch size, feature-major."""

    def __init__(self, sizes: list[int], batch: int, dtype: torch.dtype):
        def empty(rows: int) -> torch.Tensor:
            return torch.empty((rows, batch), dtype=dtype)

        self.x = empty(sizes[0])
        self.h = [empty(size) for size in sizes[1:]]
        self.a = [empty(size) for size in sizes[1:-1]]
        # ∂loss/∂a of neighbouring layers lie in two buffers by turns.
        self.d = [empty(sizes[1]), empty(sizes[1])]
        self.words = np.empty(4 * (batch // 8 + 2), np.uint32)


class Fused:
    """Trains one member; the same interface as :class:`deepmech.trainers.reference.Reference`."""

    @staticmethod
    def cannot(member: Member) -> str:
        """What in the specs this engine cannot train, in words; empty if nothing."""
        return "Training.loss = 'mse'" if member.training.loss != "cross_entropy" else ""

    @staticmethod
    def prepare(data: Any, dtype: str) -> dict[str, Any]:
        """What all members share: the training set feature-major, raw and normalised over the whole of it."""
        x = np.ascontiguousarray(np.asarray(data.x_train, dtype=dtype).T)
        return {
            "x": x,
            "y": np.asarray(data.y_train, dtype=np.int64),
            "n_classes": data.n_classes,
            "std": float(np.std(data.x_train, dtype=np.float64)),
        }

    def __init__(self, member: Member, draws: Draws, shared: dict[str, Any]):
        self.member, self.draws, self.shared = member, draws, shared
        self.dtype = getattr(torch, str(member.training.dtype))
        self.sizes = member.sizes(shared["x"].shape[0], shared["n_classes"])
        self.normed = bool(member.network.batch_norm)
        self.purposes = [np.uint64(purpose_word(f"dropout {i}")) for i in range(1, len(self.sizes) - 1)]
        self.steps = 0
        self._initialise()
        self.buffers: dict[int, _Buffers] = {}

    def _initialise(self) -> None:
        sizes, last = self.sizes, len(self.sizes) - 1
        shapes: dict[str, tuple[int, ...]] = {"gamma 0": (sizes[0],)} if self.normed else {}
        for i in range(1, last + 1):
            shapes[f"weight {i}"] = (sizes[i], sizes[i - 1])
            if self.normed and i < last:
                shapes |= {f"gamma {i}": (sizes[i],), f"beta {i}": (sizes[i],)}
            else:
                shapes[f"bias {i}"] = (sizes[i],)
        self.p, self.g = _Flat(shapes, self.dtype), _Flat(shapes, self.dtype)
        self.moments = [np.zeros_like(self.p.vector.numpy()) for _ in range(2)]
        #: Biases whose gradient is zero because BatchNorm follows; they enter the running means only.
        self.still: dict[int, np.ndarray] = {}
        for i, (weight, bias) in enumerate(self.draws.weights(sizes), start=1):
            self.p.array[f"weight {i}"][...] = weight
            if self.normed and i < last:
                self.still[i] = bias.astype(str(self.member.training.dtype)).astype(np.float64)
            else:
                self.p.array[f"bias {i}"][...] = bias
        for name, array in self.p.array.items():
            if name.startswith("gamma"):
                array[...] = 1
        n = range(last) if self.normed else range(0)
        self.running_mean = [np.zeros(sizes[i]) for i in n]
        self.running_var = [np.ones(sizes[i]) for i in n]
        self.mean = [np.zeros(sizes[i]) for i in n]
        self.inverse = [np.zeros(sizes[i]) for i in n]
        self.folded = torch.empty((sizes[1], sizes[0]), dtype=self.dtype)

    def run_epoch(self, epoch: int) -> float:
        """One pass over the training set; returns the mean loss over its steps, each taken before its update."""
        now = self.member.settings(epoch)
        n = len(self.shared["y"])
        total = 0.0
        for step, index in self.draws.batches(epoch, n):
            total += self.gradient(now, step, index) * len(index)
            self._update(now)
        return total / n

    def gradient(self, now: Settings, step: int, index: np.ndarray) -> float:
        """Loss of one batch; leaves the gradient of every parameter in ``self.g``."""
        buffers = self.buffers.get(len(index))
        if buffers is None:
            buffers = self.buffers[len(index)] = _Buffers(self.sizes, len(index), self.dtype)
        factor = 1 / (1 - now.dropout)
        threshold = np.uint16(round(now.dropout * 65536)) if now.dropout > 0 else np.uint16(0)
        key, step64 = np.uint64(self.draws.stream.key), np.uint64(step)
        drops = [(threshold, factor, key, step64, purpose) for purpose in self.purposes]
        x = self._inputs(buffers, now, step, index)
        loss = self._forward(buffers, x, self._labels(now, step, index), drops)
        self._backward(buffers, x, drops)
        return loss

    def _inputs(self, buffers: _Buffers, now: Settings, step: int, index: np.ndarray) -> torch.Tensor:
        data, x = self.shared["x"], buffers.x
        kernels.gather(data, index, x.numpy())
        if now.data_noise > 0:
            noise = self.draws.input_noise(step, len(index), len(data))
            x += (now.data_noise * self.shared["std"]) * torch.from_numpy(noise).to(self.dtype)
        if self.normed:
            kernels.standardise(x.numpy(), x.numpy(), self.running_mean[0], self.running_var[0])
        return x

    def _labels(self, now: Settings, step: int, index: np.ndarray) -> np.ndarray:
        return self.draws.noisy_labels(self.shared["y"][index], step, now, self.shared["n_classes"])

    def _forward(self, buffers: _Buffers, x: torch.Tensor, y: np.ndarray, drops: list[Any]) -> float:
        p, slope, last = self.p, float(self.member.network.slope), len(self.sizes) - 1
        for i in range(1, last):
            weight, h, a = p.tensor[f"weight {i}"], buffers.h[i - 1], buffers.a[i - 1]
            if i == 1 and self.normed:
                # The scale of the input's BatchNorm is folded into the weights.
                weight = torch.mul(weight, p.tensor["gamma 0"], out=self.folded)
            torch.mm(weight, x if i == 1 else buffers.a[i - 2], out=h)
            if self.normed:
                kernels.forward_norm(
                    h.numpy(), a.numpy(), p.array[f"gamma {i}"], p.array[f"beta {i}"], self.still[i],
                    self.running_mean[i], self.running_var[i], self.mean[i], self.inverse[i], slope, drops[i - 1],
                    buffers.words,
                )  # fmt: skip
            else:
                bias = p.array[f"bias {i}"]
                kernels.forward_plain(h.numpy(), a.numpy(), bias, slope, self.member.scale, drops[i - 1], buffers.words)
        logits = torch.mm(p.tensor[f"weight {last}"], buffers.a[-1], out=buffers.h[-1])
        bias, d_bias = p.array[f"bias {last}"], self.g.array[f"bias {last}"]
        return float(kernels.cross_entropy(logits.numpy(), bias, y, d_bias))

    def _backward(self, buffers: _Buffers, x: torch.Tensor, drops: list[Any]) -> None:
        p, g, slope, last = self.p, self.g, float(self.member.network.slope), len(self.sizes) - 1
        upper = buffers.h[-1]
        for i in range(last, 0, -1):
            below = x if i == 1 else buffers.a[i - 2]
            torch.mm(upper, below.t(), out=g.tensor[f"weight {i}"])
            if i == 1:
                break
            d = torch.mm(p.tensor[f"weight {i}"].t(), upper, out=buffers.d[i % 2])
            a, h, drop = buffers.a[i - 2].numpy(), buffers.h[i - 2].numpy(), drops[i - 2]
            if self.normed:
                kernels.backward_norm(
                    d.numpy(), a, h, p.array[f"gamma {i - 1}"], self.mean[i - 1], self.inverse[i - 1], slope, drop,
                    g.array[f"gamma {i - 1}"], g.array[f"beta {i - 1}"],
                )  # fmt: skip
            else:
                kernels.backward_plain(d.numpy(), a, slope, self.member.scale, drop, g.array[f"bias {i - 1}"])
            upper = d
        if self.normed:
            product = g.array["weight 1"]
            kernels.input_scale(product, p.array["weight 1"], p.array["gamma 0"], g.array["gamma 0"], product)
        if not self.member.network.bias:
            for name, array in g.array.items():
                if name.startswith("bias"):
                    array[...] = 0

    def _update(self, now: Settings) -> None:
        self.steps += 1
        p, g, training = self.p.vector.numpy(), self.g.vector.numpy(), self.member.training
        if training.optimizer == "adam":
            kernels.adam(p, g, self.moments[0], self.moments[1], now.learning_rate, self.steps)
        else:
            kernels.sgd(p, g, self.moments[0], now.learning_rate, float(training.momentum))

    def features(self, x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Evaluation mode: features of the input and every hidden layer, each (n, units), and the output."""
        p, last = self.p, len(self.sizes) - 1
        a = torch.from_numpy(np.ascontiguousarray(np.asarray(x, dtype=str(self.member.training.dtype)).T))
        if self.normed:
            a = self._evaluate_norm(0, a, p.tensor["gamma 0"], torch.zeros(self.sizes[0], dtype=self.dtype))
        features = [a]
        for i in range(1, last):
            h = torch.mm(p.tensor[f"weight {i}"], a)
            if self.normed:
                h = self._evaluate_norm(i, h, p.tensor[f"gamma {i}"], p.tensor[f"beta {i}"])
            else:
                h += p.tensor[f"bias {i}"][:, None]
            a = self.member.scale * torch.nn.functional.leaky_relu(h, float(self.member.network.slope))
            features.append(a)
        output = torch.mm(p.tensor[f"weight {last}"], a) + p.tensor[f"bias {last}"][:, None]
        return [f.numpy().T for f in features], output.numpy().T

    def _evaluate_norm(self, i: int, h: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        mean = self.running_mean[i] - self.still[i] if i > 0 else self.running_mean[i]
        g = gamma.double() / torch.from_numpy(np.sqrt(self.running_var[i] + kernels.EPSILON))
        b = beta.double() - torch.from_numpy(mean) * g
        return h * g.to(self.dtype)[:, None] + b.to(self.dtype)[:, None]
