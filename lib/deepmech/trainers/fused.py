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


class _Rows:
    """A feature-major matrix whose rows start on 64-byte boundaries; ``tensor`` is (rows, n), ``array`` has padding.

    Long rows get a little more padding: at 2,560 samples successive rows would fall on few sets of the cache.
    """

    def __init__(self, rows: int, n: int, dtype: torch.dtype):
        stride = -(-n // 16) * 16 + (16 if n >= 512 else 0)
        whole = torch.zeros((rows, stride), dtype=dtype)
        self.array, self.tensor = whole.numpy(), whole[:, :n]


class _Buffers:
    """Activations of one batch size."""

    def __init__(self, sizes: list[int], n: int, dtype: torch.dtype):
        self.x = _Rows(sizes[0], n, dtype)
        self.h = [_Rows(size, n, dtype) for size in sizes[1:]]
        self.a = [_Rows(size, n, dtype) for size in sizes[1:-1]]
        # ∂loss/∂a of neighbouring layers lie in two buffers by turns.
        self.d = [_Rows(sizes[1], n, dtype) for _ in range(2)]
        self.words = np.empty(4 * (n // 8 + 2), np.uint32)


class Fused:
    """Trains one member; the same interface as :class:`deepmech.trainers.reference.Reference`."""

    @staticmethod
    def cannot(member: Member) -> str:
        """What in the specs this engine cannot train, in words; empty if nothing."""
        return "Training.loss = 'mse'" if member.training.loss != "cross_entropy" else ""

    @staticmethod
    def prepare(data: Any, dtype: str) -> dict[str, Any]:
        """What all members share: the training set feature-major, raw, and normalised over the whole of it."""
        x = np.ascontiguousarray(np.asarray(data.x_train, dtype=dtype).T)
        whole = _Rows(x.shape[0], x.shape[1], getattr(torch, dtype))
        whole.tensor.numpy()[...] = x
        mean, variance = np.zeros(len(x)), np.zeros(len(x))
        kernels.standardise(whole.array, x.shape[1], mean, variance)
        return {
            "x": x,
            "y": np.asarray(data.y_train, dtype=np.int64),
            "n_classes": data.n_classes,
            "std": float(np.std(data.x_train, dtype=np.float64)),
            "whole": (whole, mean, variance),
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
        n = len(index)
        if n not in self.buffers:
            self.buffers[n] = _Buffers(self.sizes, n, self.dtype)
        buffers = self.buffers[n]
        threshold = np.uint16(round(now.dropout * 65536))
        key, factor = np.uint64(self.draws.stream.key), 1 / (1 - now.dropout)
        drops = [(threshold, factor, key, np.uint64(step), purpose) for purpose in self.purposes]
        x = self._inputs(buffers, now, step, index)
        y = self.draws.noisy_labels(self.shared["y"][index], step, now, self.shared["n_classes"])
        loss = self._forward(buffers, x, y, drops)
        self._backward(buffers, x, len(index), drops)
        return loss

    def _inputs(self, buffers: _Buffers, now: Settings, step: int, index: np.ndarray) -> _Rows:
        """The batch with its noise, normalised but not yet scaled if there is BatchNorm."""
        n, data, x = len(index), self.shared["x"], buffers.x
        if self.normed and now.data_noise == 0 and n == data.shape[1]:
            x, mean, variance = self.shared["whole"]
        else:
            kernels.gather(data, index, x.array)
            if now.data_noise > 0:
                noise = torch.from_numpy(self.draws.input_noise(step, n, len(data))).to(self.dtype)
                x.tensor.add_(noise, alpha=now.data_noise * self.shared["std"])
            if not self.normed:
                return x
            mean, variance = self.mean[0], self.inverse[0]
            kernels.standardise(x.array, n, mean, variance)
        kernels.follow(mean, variance, n, self.running_mean[0], self.running_var[0])
        return x

    def _forward(self, buffers: _Buffers, x: _Rows, y: np.ndarray, drops: list[Any]) -> float:
        p, slope, last, n = self.p, float(self.member.network.slope), len(self.sizes) - 1, len(y)
        below = x
        for i in range(1, last):
            weight, h, a, drop = p.tensor[f"weight {i}"], buffers.h[i - 1], buffers.a[i - 1], drops[i - 1]
            if i == 1 and self.normed:
                # The scale of the input's BatchNorm is folded into the weights.
                weight = torch.mul(weight, p.tensor["gamma 0"], out=self.folded)
            torch.mm(weight, below.tensor, out=h.tensor)
            if self.normed:
                kernels.forward_norm(
                    h.array, n, a.array, p.array[f"gamma {i}"], p.array[f"beta {i}"], self.still[i],
                    self.running_mean[i], self.running_var[i], self.mean[i], self.inverse[i], slope, drop,
                    buffers.words,
                )  # fmt: skip
            else:
                bias = p.array[f"bias {i}"]
                kernels.forward_plain(h.array, n, a.array, bias, slope, self.member.scale, drop, buffers.words)
            below = a
        logits = buffers.h[-1]
        torch.mm(p.tensor[f"weight {last}"], below.tensor, out=logits.tensor)
        bias, d_bias = p.array[f"bias {last}"], self.g.array[f"bias {last}"]
        return float(kernels.cross_entropy(logits.array, n, bias, y, d_bias))

    def _backward(self, buffers: _Buffers, x: _Rows, n: int, drops: list[Any]) -> None:
        p, g, slope = self.p, self.g, float(self.member.network.slope)
        upper = buffers.h[-1]
        for i in range(len(self.sizes) - 1, 1, -1):
            a, h, d, drop = buffers.a[i - 2], buffers.h[i - 2], buffers.d[i % 2], drops[i - 2]
            torch.mm(upper.tensor, a.tensor.t(), out=g.tensor[f"weight {i}"])
            torch.mm(p.tensor[f"weight {i}"].t(), upper.tensor, out=d.tensor)
            if self.normed:
                kernels.backward_norm(
                    d.array, n, a.array, h.array, p.array[f"gamma {i - 1}"], self.mean[i - 1], self.inverse[i - 1],
                    slope, drop, g.array[f"gamma {i - 1}"], g.array[f"beta {i - 1}"],
                )  # fmt: skip
            else:
                kernels.backward_plain(d.array, n, a.array, slope, self.member.scale, drop, g.array[f"bias {i - 1}"])
            upper = d
        torch.mm(upper.tensor, x.tensor.t(), out=g.tensor["weight 1"])
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
