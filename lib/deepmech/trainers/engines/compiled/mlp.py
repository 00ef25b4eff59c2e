"""The compiled engine of fully connected networks: a whole epoch, forward and backward, in one call of machine code.

The arithmetic is in :mod:`.mlp_kernels`, which releases Python's lock for the whole epoch, so that networks train
beside one another on as many cores as there are. Agreement with plain autograd is tested parameter by parameter.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from deepmech.core.random import purpose_word
from deepmech.trainers.engines.compiled import mlp_kernels as kernels
from deepmech.trainers.engines.compiled.mlp_product import matrix, multiply, padded
from deepmech.trainers.run import go_on
from deepmech.trainers.specs import MLP, Member, Settings, Training

#: What of the specs this engine can do: each field it reads, and of names the values. All else is torch's.
_NUMBERS = (
    "depth width slope dropout batch_norm scale bias learning_rate momentum batch_size epochs data_noise label_noise "
    "schedule stop_loss stop_change weight_decay dropout_profile"
)
KNOWN: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(_NUMBERS.split(), ()),
    "init": ("torch", "orthogonal"),
    "activation": ("leaky_relu",),
    "layer_norm": (False,),
    "optimizer": ("adam", "sgd"),
    "loss": ("cross_entropy", "mse"),
    "dtype": ("float32", "float64"),
}
NUMBERS = 2**16
"""Of noise, drawn at a time; but all of a step."""
PRODUCTS = 10**9
"""Weights times samples after which an interrupt is looked for: about a second."""


class Net(NamedTuple):
    """Parameters of one network, and where they lie; layer 0 is the input, the last one the output.

    ``p`` and ``g`` (parameters and gradient) hold for each layer gain, shift and, from layer 1, the weight with shape
    (units below, padded units). With BatchNorm gain and shift are γ and β, without it the shift is the bias.
    """

    units: np.ndarray
    """(layers,), and ``padded`` to whole vectors."""
    padded: np.ndarray
    weight: np.ndarray
    """(layers,): where each layer's weight begins in ``p``; so with ``gain`` and ``shift``."""
    gain: np.ndarray
    shift: np.ndarray
    p: np.ndarray
    g: np.ndarray
    moments: np.ndarray
    """(2, parameters): what Adam remembers; of it SGD uses the first row, as velocity."""
    mean: np.ndarray
    """(layers, widest), of the last batch, before gain and shift; so with ``variance``. Float64, as all to the end."""
    variance: np.ndarray
    running_mean: np.ndarray
    running_var: np.ndarray
    unlearnt: np.ndarray
    """(layers, widest): biases that BatchNorm subtracts; they enter the running means only."""
    normed: bool
    bias: bool


class Work(NamedTuple):
    """Room for the steps of an epoch with batches of up to n samples; units are padded."""

    x: np.ndarray
    """(n, inputs): a batch; the whole training set where that is the batch, and has no noise."""
    h: np.ndarray
    """(hidden, n, units) before BatchNorm and activation."""
    d: np.ndarray
    """(n, units) derivatives with respect to what an activation gets."""
    out: np.ndarray
    """(n, outputs), then derivatives with respect to them."""
    upper: np.ndarray
    """(BLOCK, units) derivatives with respect to h; ``lower``: activations of the layer below."""
    lower: np.ndarray
    folded: np.ndarray
    """(inputs, units): the first weight times the scale of the input's BatchNorm."""
    turned: np.ndarray
    """A weight, transposed, flat."""
    coefficients: np.ndarray
    """(hidden, 5, units), see :data:`.mlp_kernels.TIMES`."""
    partial: np.ndarray
    """(3, widest), flat, in the working precision: what :func:`.mlp_kernels.add_moments` sums; ``sums`` (2, widest)."""
    sums: np.ndarray
    keep: np.ndarray
    """(steps, hidden, n / 32, units): a bit for each activation (:func:`.mlp_kernels.masks`), or one step."""
    normals: np.ndarray
    """(steps, n · inputs) (:func:`.mlp_kernels.normals`); (0, 0) without noise."""
    words: np.ndarray
    """Random words on their way into one of these."""


class Data(NamedTuple):
    """The training set, padded: x (samples, inputs); real targets (samples, 1), none if there are classes."""

    x: np.ndarray
    targets: np.ndarray
    squared: bool


class Steps(NamedTuple):
    """Steps of one epoch: ``order`` of their samples, the ``labels`` in that order, ``size`` of a batch."""

    order: np.ndarray
    labels: np.ndarray
    size: int
    first: int
    """Number of its first step."""
    dropped: bool
    positive: np.ndarray
    """(hidden,): the slope of each activation for positive arguments, over the share that dropout keeps."""
    negative: np.ndarray
    noise: float
    adam: bool
    rate: float
    momentum: float
    kept: float
    """Of the parameters, before each step: 1 - rate · weight decay."""


def unknown(network: Any, training: Training) -> str:
    """What in the specs of one member this engine does not know, in words; empty if nothing.

    Types have to be the very types: what derives from a known spec may mean something else.

    Examples
    --------
    >>> unknown(MLP(), Training(optimizer="rmsprop"))
    "Training.optimizer = 'rmsprop'"
    """
    for spec, kind in ((network, MLP), (training, Training)):
        name = type(spec).__name__
        if type(spec) is not kind:
            return name
        for field in fields(spec):
            value = getattr(spec, field.name)
            if field.name not in KNOWN:
                return f"{name}.{field.name}"
            if KNOWN[field.name] and value not in KNOWN[field.name]:
                return f"{name}.{field.name} = {value!r}"
    return ""


class Fused:
    """Trains one member; as :class:`~deepmech.trainers.engines.torch_func.Torch` does many."""

    #: Its products are made for weights that stay in the cache; with wider layers torch's own are faster. Of the
    #: plain torch's processor time it took 0.8 at width 400, 1.0 to 1.1 at 700, 1.3 at 1,200 (full and batches of 160).
    WIDEST = 700

    @staticmethod
    def prepare(data: Any, dtype: str) -> dict[str, Any]:
        """What all members share: the training set, raw, and normalised over the whole of it."""
        x = np.asarray(data.x_train, dtype=dtype)
        n, n_inputs = x.shape
        raw, normed = matrix(n, n_inputs, dtype), matrix(n, n_inputs, dtype)
        raw[:, :n_inputs] = normed[:, :n_inputs] = x
        mean, variance = np.zeros((2, raw.shape[1]))
        kernels.standardise(normed, mean, variance, matrix(3, n_inputs, dtype), matrix(2, n_inputs, "float64"))
        y, classes = np.asarray(data.y_train), int(data.n_classes or 0)
        return {
            "raw": raw, "normed": normed, "statistics": (mean, variance), "n_inputs": n_inputs, "n_classes": classes,
            "y": y.astype(np.int64) if classes else np.zeros(0, np.int64),
            "targets": np.zeros((0, 1), dtype) if classes else y.astype(dtype).reshape(-1, 1),
            "std": float(np.std(data.x_train, dtype=np.float64)),
        }  # fmt: skip

    def __init__(self, member: Member, shared: dict[str, Any]):
        assert isinstance(member.network, MLP)
        self.member, self.spec, self.shared = member, member.network, shared
        self.sizes = member.sizes(shared["n_inputs"], shared["n_classes"] or 1)
        self.normed = bool(self.spec.batch_norm)
        self.dtype = str(member.training.dtype)
        self.net = self._net()
        self.data = Data(shared["raw"], shared["targets"], str(member.training.loss) == "mse")
        self.work, self._room = self._buffers(0, 0, False, False), (0, 0, False, False)
        self.masked = np.array([purpose_word(f"dropout {i}") for i in range(1, len(self.sizes) - 1)], np.uint64)

    def _net(self) -> Net:
        sizes, spec = self.sizes, self.spec
        wide = [padded(s) for s in sizes]
        starts: dict[str, list[int]] = {"gain": [], "shift": [], "weight": []}
        end = 0
        for i, size in enumerate(wide):
            for name, length in (("gain", size), ("shift", size), ("weight", sizes[i - 1] * size if i else 0)):
                starts[name].append(end)
                end += length
        vectors = (len(sizes), max(wide))
        net = Net(
            units=np.array(sizes),
            padded=np.array(wide),
            **{name: np.array(start) for name, start in starts.items()},
            p=np.zeros(end, self.dtype),
            g=np.zeros(end, self.dtype),
            moments=np.zeros((2, end), self.dtype),
            mean=np.zeros(vectors),
            variance=np.zeros(vectors),
            running_mean=np.zeros(vectors),
            running_var=np.ones(vectors),
            unlearnt=np.zeros(vectors),
            normed=self.normed,
            bias=bool(spec.bias),
        )
        for i, size in enumerate(sizes):
            net.p[starts["gain"][i] :][:size] = 1
        for i, (weight, bias) in enumerate(self.member.weights(sizes), start=1):
            self.part(net, net.p, "weight", i)[...] = weight
            if self.normed and i < len(sizes) - 1:
                # Biases whose gradient is zero because BatchNorm follows; they enter the running means only.
                net.unlearnt[i, : sizes[i]] = bias.astype(self.dtype)
            else:
                self.part(net, net.p, "shift", i)[...] = bias
        return net

    @staticmethod
    def part(net: Net, vector: np.ndarray, name: str, layer: int) -> np.ndarray:
        """The gain, shift or weight (out, in) of a layer as a view of ``vector``, which is ``p``, ``g`` or a moment."""
        units, below = net.units[layer], net.units[layer - 1]
        start = getattr(net, name)[layer]
        if name != "weight":
            return vector[start : start + units]
        return vector[start : start + below * net.padded[layer]].reshape(below, -1)[:, :units].T

    def _buffers(self, n: int, steps: int, dropped: bool, noisy: bool) -> Work:
        wide, hidden = [int(s) for s in self.net.padded], len(self.sizes) - 2
        numbers = n * self.sizes[0]
        most = max(wide)

        def zeros(*shape: int) -> np.ndarray:
            return np.zeros(shape, self.dtype)

        return Work(
            x=zeros(n, wide[0]),
            h=zeros(hidden, n, wide[1]),
            d=zeros(n, wide[1]),
            out=zeros(n, wide[-1]),
            upper=zeros(kernels.BLOCK, wide[1]),
            lower=zeros(kernels.BLOCK, wide[1]),
            folded=zeros(self.sizes[0], wide[1]),
            turned=zeros(max(self.sizes) * most),
            coefficients=zeros(hidden, 5, wide[1]),
            partial=zeros(3 * most),
            sums=np.zeros(2 * most),
            keep=np.zeros((steps if dropped else 1, hidden, -(-n // 32), wide[1]), np.uint32),
            normals=np.zeros((steps, numbers + numbers % 2) if noisy else (0, 0)),
            words=np.zeros(max(numbers + 1 if noisy else 0, 2048 + n), np.uint32),
        )

    def _begin(self, now: Settings, first: int, size: int, order: np.ndarray) -> tuple[Work, Steps]:
        """Work space, and what holds in the steps over the samples in ``order``; their random numbers are drawn."""
        n, spec, shared, stream = len(self.data.x), self.member.training, self.shared, self.member.stream
        need = size, -(-len(order) // size), now.dropout > 0, now.data_noise > 0
        if any(wanted > has for wanted, has in zip(need, self._room, strict=True)):
            self._room = tuple(map(max, zip(need, self._room, strict=True)))  # type: ignore[assignment]
            self.work = self._buffers(*self._room)
        work, steps, key = self.work, need[1], np.uint64(stream.key)
        rates, wrong = np.array(self.member.rates(now.dropout)), round(now.label_noise * 65536)
        drop = np.round(rates * 65536).astype(np.int64)
        positive = 1 / (1 - rates) * self.member.scale
        labels = shared["y"][order] if shared["n_classes"] else shared["y"]

        def purpose(name: str) -> np.uint64:
            return np.uint64(purpose_word(name))

        if drop.any():
            units = self.net.units[1:-1]
            kernels.masks(work.keep[:steps], units, len(order), size, drop, key, first, self.masked, work.words)
        if now.data_noise > 0:
            drawn = len(order), size, key, first, purpose("input noise")
            kernels.normals(work.normals[:steps], self.sizes[0], *drawn, work.words)
        if wrong and shared["n_classes"]:
            replaced, other = purpose("label noise"), purpose("random label")
            kernels.relabel(labels, size, wrong, shared["n_classes"], key, first, replaced, other, work.words)
        if now.data_noise == 0 and size == n:
            work = work._replace(x=shared["normed" if self.normed else "raw"])
            if self.normed:
                mean, variance = shared["statistics"]
                self.net.mean[0, : len(mean)], self.net.variance[0, : len(mean)] = mean, variance
        return work, Steps(
            order=order, labels=labels, size=size, first=first, dropped=bool(drop.any()),
            positive=positive.astype(self.dtype), negative=(positive * self.spec.slope).astype(self.dtype),
            noise=now.data_noise * shared["std"], adam=str(spec.optimizer) == "adam", rate=now.learning_rate,
            momentum=float(spec.momentum), kept=1 - now.learning_rate * float(spec.weight_decay),
        )  # fmt: skip

    def run_epoch(self, epoch: int) -> float:
        """One pass over the training set; returns the mean loss over its steps, each taken before its update."""
        now, n = self.member.settings(epoch), len(self.data.x)
        first, size, order = self.member.order(epoch, n)
        # Of noise no more is drawn at a time than stays in the cache until it is used.
        piece = size * max(1, NUMBERS // (size * self.sizes[0])) if now.data_noise > 0 else n
        piece = min(piece, size * max(1, PRODUCTS // (size * len(self.net.p))))
        total = 0.0
        for begin in range(0, n, piece):
            go_on()
            work, steps = self._begin(now, first + begin // size, size, order[begin : begin + piece])
            total = float(kernels.run_steps(self.net, work, self.data, steps, True, total))
        return total / n

    def gradient(self, now: Settings, step: int, index: np.ndarray) -> float:
        """Loss of one batch; leaves the gradient of every parameter in ``self.net.g``."""
        work, constants = self._begin(now, step, len(index), index)
        return float(kernels.run_steps(self.net, work, self.data, constants, False, 0.0)) / len(index)

    @np.errstate(over="ignore", invalid="ignore")
    def features(self, x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Evaluation mode: features of the input and every hidden layer, each (n, units), and the output."""
        net, sizes, last = self.net, self.sizes, len(self.sizes) - 1
        below = matrix(len(x), sizes[0], self.dtype)
        below[:, : sizes[0]] = x
        if self.normed:
            self._evaluate_norm(0, below)
        features = [below[:, : sizes[0]]]
        slope, scale = (np.dtype(self.dtype).type(v) for v in (self.spec.slope, self.member.scale))
        for i in range(1, last + 1):
            h = matrix(len(x), sizes[i], self.dtype)
            rows = net.p[net.weight[i] : net.weight[i] + sizes[i - 1] * net.padded[i]]
            weight = rows.reshape(sizes[i - 1], -1)
            multiply(h, below, below.shape[1], 1, weight, sizes[i - 1], 0, h[:0])
            if self.normed and i < last:
                self._evaluate_norm(i, h)
            else:
                h[:, : sizes[i]] += self.part(net, net.p, "shift", i)
            if i < last:
                np.multiply(h, slope, out=h, where=h < 0)
                h *= scale
            below = h
            features.append(h[:, : sizes[i]])
        return features[:-1], features[-1]

    def _evaluate_norm(self, i: int, h: np.ndarray) -> None:
        net, units = self.net, self.sizes[i]
        mean = net.running_mean[i, :units] - net.unlearnt[i, :units]
        g = self.part(net, net.p, "gain", i) / np.sqrt(net.running_var[i, :units] + kernels.EPSILON)
        b = self.part(net, net.p, "shift", i) - mean * g
        h[:, :units] *= g.astype(self.dtype)
        h[:, :units] += b.astype(self.dtype)
