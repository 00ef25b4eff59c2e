"""The compiled engine of convolutional networks: a whole step, forward and backward, in one call of machine code.

The arithmetic is in :mod:`.cnn_step`; the rest is as in :mod:`.mlp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from deepmech.core.random import purpose_word
from deepmech.trainers.draws import Draws
from deepmech.trainers.engines.compiled import cnn_vectors as vectors
from deepmech.trainers.engines.compiled.cnn_step import TOGETHER, run_step
from deepmech.trainers.engines.compiled.mlp import TRAINING, prepared_targets
from deepmech.trainers.engines.compiled.tiles import BYTES, aligned
from deepmech.trainers.interrupts import go_on
from deepmech.trainers.known import Known, knows, require_known
from deepmech.trainers.modules import of_member
from deepmech.trainers.specs import CNN, Member, Settings, Training

#: Along one axis, what of a convolution's weights the four factors of a tile are multiplied with (:mod:`.cnn_vectors`).
ALONG = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])


class Net(NamedTuple):
    """One network, and where in ``p`` and ``g`` (parameters and gradient) the pieces begin.

    Of each layer gain, shift and the weight, (9 taps, out, in); of the last the weight, (classes, channels, tiles, 4
    pixels of a tile), and the bias.
    """

    layers: int
    images: int
    channels: int
    classes: int
    high: int
    wide: int
    plane: int
    square: int
    small: int
    image: int
    weight: np.ndarray
    gain: np.ndarray
    shift: np.ndarray
    head: int
    bias: int
    planes: np.ndarray
    filters: np.ndarray
    p: np.ndarray
    g: np.ndarray
    moments: np.ndarray
    unlearnt: np.ndarray
    variance: np.ndarray
    running_mean: np.ndarray
    running_var: np.ndarray


class Work(NamedTuple):
    """Buffers for batches of up to a given number of samples, all but the last two flat.

    ``x`` begins with room for one map with a border, of pixels and of tiles; then come the images.
    """

    x: np.ndarray
    h: np.ndarray
    p: np.ndarray
    d: np.ndarray
    v: np.ndarray
    m: np.ndarray
    u: np.ndarray
    f: np.ndarray
    back: np.ndarray
    outer: np.ndarray
    head: np.ndarray
    out: np.ndarray
    k: np.ndarray
    now: np.ndarray
    live: np.ndarray
    lanes: np.ndarray
    keep: np.ndarray
    words: np.ndarray
    halves: np.ndarray
    logits: np.ndarray
    sums: np.ndarray


class Data(NamedTuple):
    """The batch's labels, or the targets of the whole training set; what the loss does not need is empty."""

    labels: np.ndarray
    targets: np.ndarray
    squared: bool


class Now(NamedTuple):
    """What holds during one step. ``drop`` is a probability in units of 2⁻¹⁶."""

    key: np.uint64
    purposes: np.ndarray
    drop: int
    adam: bool
    rate: float
    momentum: float


class FusedCNN:
    """Trains one member; as :class:`~deepmech.trainers.engines.torch_func.Torch` does many."""

    KNOWN: ClassVar[Known] = {
        CNN: knows("convolutions channels slope dropout", pooling=("max",)),
        Training: TRAINING,
    }

    @staticmethod
    def prepare(data: Any, dtype: str) -> dict[str, Any]:
        """What all members share: the training set."""
        own = {"x": np.asarray(data.x_train, dtype=dtype), "shape": tuple(map(int, data.shape))}
        return own | prepared_targets(data, dtype)

    @staticmethod
    def cannot(shape: Sequence[int]) -> str:
        """Why not, for images of this shape; empty if it can."""
        _, high, wide = shape
        return f"it does not know images of odd sides, {high} × {wide}" if high % 2 or wide % 2 else ""

    def __init__(self, member: Member, draws: Draws, shared: dict[str, Any]):
        require_known("compiled", self.KNOWN, member.network, member.training)
        if why := self.cannot(shared["shape"]):
            raise ValueError(f"train: engine = 'compiled': {why}; use engine='auto' or 'torch'")
        self.member, self.draws, self.shared = member, draws, shared
        self.dtype = str(member.training.dtype)
        self.lanes = BYTES // np.dtype(self.dtype).itemsize
        self.module = of_member(member, shared["shape"], shared["n_classes"] or 1, draws.stream)
        self.net = self._net()
        for name, value in self.module.named_parameters():
            if (part := self.part(self.net.p, name)) is not None:
                part[...] = value.detach().numpy().reshape(part.shape)
            else:
                self.net.unlearnt[int(name.split(".")[1])] = value.detach().numpy()
        words = [purpose_word(f"dropout {i + 1}") for i in range(self.net.layers)]
        self.purposes = np.array(words, np.uint64)
        self.work: Work | None = None
        self.held: tuple[int, int] | None = None

    def _net(self) -> Net:
        spec, (images, height, width) = self.member.network, self.shared["shape"]
        layers, channels, classes = int(spec.convolutions), int(spec.channels), self.shared["n_classes"] or 1
        sizes = [9 * channels * images] + [9 * channels * channels] * (layers - 1)
        sizes += [channels] * (2 * layers) + [classes * channels * height * width, classes]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        end, high, wide = int(starts[-1]), height // 2, width // 2
        some = max(images, channels)
        return Net(
            layers, images, channels, classes, high, wide,
            plane=some * high * wide * self.lanes,
            square=some * channels,
            small=(height + 2) * (width + 2) * self.lanes,
            image=((height + 2) * (width + 2) + (high + 2) * (wide + 2)) * self.lanes,
            weight=starts[:layers],
            gain=starts[layers : 2 * layers],
            shift=starts[2 * layers : 3 * layers],
            head=int(starts[-3]),
            bias=int(starts[-2]),
            planes=np.array([*range(16), *(4 * i + j for i in (0, 1, 3) for j in (0, 1, 3))]),
            filters=np.einsum("iu,jv->ijuv", ALONG, ALONG).reshape(16, 9).astype(self.dtype),
            p=aligned(end, self.dtype),
            g=aligned(end, self.dtype),
            moments=np.zeros((2, end), self.dtype),
            unlearnt=np.zeros((layers, channels)),
            variance=np.ones((layers, channels)),
            running_mean=np.zeros((layers, channels)),
            running_var=np.ones((layers, channels)),
        )  # fmt: skip

    def part(self, vector: np.ndarray, name: str) -> np.ndarray | None:
        """What the module calls ``name`` as a view of ``vector``, which is ``p``, ``g`` or a moment; None if fixed.

        In the module's order; the axis of pixels of the last weight is (channels, height / 2, 2, width / 2, 2).
        """
        net, (kind, *rest) = self.net, name.split(".")
        if kind == "linear" and rest == ["bias"]:
            return vector[net.bias : net.bias + net.classes]
        if kind == "linear":
            tiled = vector[net.head : net.bias].reshape(net.classes, net.channels, net.high, net.wide, 2, 2)
            return tiled.swapaxes(3, 4)
        i = int(rest[0])
        if kind == "norm":
            start = (net.gain if rest[1] == "weight" else net.shift)[i]
            return vector[start : start + net.channels]
        if rest[1] == "bias":
            return None
        below = net.channels if i else net.images
        taps = vector[net.weight[i] : net.weight[i] + 9 * net.channels * below]
        return taps.reshape(3, 3, net.channels, below).transpose(2, 3, 0, 1)

    def _buffers(self, n: int) -> Work:
        net, lanes = self.net, self.lanes
        blocks, tiles = -(-n // lanes), net.high * net.wide
        pixels = 4 * tiles * net.channels
        border = (2 * net.high + 2) * (2 * net.wide + 2) * lanes

        def zeros(*shape: int, kind: str = "") -> np.ndarray:
            return aligned(int(np.prod(shape)), kind or self.dtype)

        words = zeros(pixels // 2 + 16, kind="uint32")
        return Work(
            x=zeros(net.image + blocks * net.images * border),
            h=zeros(net.layers, blocks, pixels, lanes),
            p=zeros(net.layers, blocks, net.channels, tiles, lanes),
            d=zeros(blocks, net.channels, tiles, lanes),
            v=zeros(16, net.plane),
            m=zeros(16, net.plane),
            u=zeros(net.layers, 16, net.square),
            f=zeros(TOGETHER, pixels, lanes),
            back=zeros(border),
            outer=zeros(max(16 * net.square, net.classes * pixels), lanes),
            head=zeros(net.classes, net.channels, tiles),
            out=zeros(blocks, net.classes, lanes),
            k=zeros(net.layers, net.channels, vectors.CONSTANTS),
            now=zeros(2),
            live=zeros(2, lanes),
            lanes=zeros(2, lanes),
            keep=zeros(net.layers, blocks, pixels, kind="uint16"),
            words=words,
            halves=words.view(np.uint16),
            logits=np.zeros((n, net.classes), self.dtype),
            sums=np.zeros((2, net.channels)),
        )

    def _images(self, x: np.ndarray) -> None:
        """Into the lanes; those beyond the last sample are empty."""
        assert self.work is not None
        net, n = self.net, len(x)
        blocks = -(-n // self.lanes)
        full = np.zeros((blocks * self.lanes, *self.shared["shape"]), self.dtype)
        full[:n] = x.reshape(n, *self.shared["shape"])
        size = (blocks, net.images, 2 * net.high + 2, 2 * net.wide + 2, self.lanes)
        own = self.work.x[net.image :][: int(np.prod(size))].reshape(size)
        own[:, :, 1:-1, 1:-1] = np.moveaxis(full.reshape(blocks, self.lanes, *self.shared["shape"]), 1, -1)
        self.work.live[: self.lanes] = 1
        self.work.live[self.lanes :] = np.arange(self.lanes) < n - (blocks - 1) * self.lanes

    def _step(self, now: Settings, step: int, index: np.ndarray, learns: bool) -> float:
        """Summed loss of one batch."""
        n, spec, stream = len(index), self.member.training, self.draws.stream
        if self.work is None or len(self.work.logits) < n:
            self.work, self.held = self._buffers(n), None
        whole = n == len(self.shared["x"]) and not now.data_noise
        if not (whole and self.held):
            x = self.shared["x"][index]
            if now.data_noise:
                noise = stream.normal("input noise", step, (x[0].size, n)).T.reshape(x.shape)
                x = x + (now.data_noise * self.shared["std"] * noise).astype(self.dtype)
            self._images(x)
            self.held = (n, 0) if whole else None
        labels = self.shared["y"]
        if len(labels):
            labels = labels[index]
            if now.label_noise:
                other = np.floor(stream.uniform("random label", step, n) * self.shared["n_classes"])
                labels = np.where(stream.keep("label noise", step, n, now.label_noise), labels, other.astype(int))
        self.work.now[:] = float(self.member.network.slope), 1 / (1 - now.dropout)
        return float(
            run_step(
                self.work,
                self.net,
                Data(labels, self.shared["targets"], str(spec.loss) == "mse"),
                index,
                step,
                Now(
                    key=np.uint64(stream.key),
                    purposes=self.purposes,
                    drop=round(now.dropout * 65536),
                    adam=str(spec.optimizer) == "adam",
                    rate=now.learning_rate,
                    momentum=float(spec.momentum),
                ),
                learns,
            )
        )

    def run_epoch(self, epoch: int) -> float:
        """One pass over the training set; returns the mean loss over its steps, each taken before its update."""
        n, now = len(self.shared["x"]), self.member.settings(epoch)
        total = 0.0
        for step, index in self.draws.batches(epoch, n):
            go_on()
            total += self._step(now, step, index, True)
        carried = np.isfinite(self.net.running_mean).all() and np.isfinite(self.net.running_var).all()
        return total / n if carried else np.nan

    def gradient(self, now: Settings, step: int, index: np.ndarray) -> float:
        """Loss of one batch; leaves the gradient of every parameter in ``self.net.g``."""
        return self._step(now, step, index, False) / len(index)

    @torch.no_grad()
    def features(self, x: np.ndarray) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Evaluation mode: the image and every layer, each (n, numbers), and the output; the module computes them."""
        for name, value in self.module.named_parameters():
            if (part := self.part(self.net.p, name)) is not None:
                value.copy_(torch.from_numpy(np.ascontiguousarray(part)).reshape(value.shape))
        norms: Any = self.module.norm
        for i, norm in enumerate(norms):
            norm.running_mean.copy_(torch.from_numpy(self.net.running_mean[i]))
            norm.running_var.copy_(torch.from_numpy(self.net.running_var[i]))
        *layers, output = self.module.eval()(torch.from_numpy(np.asarray(x, self.dtype)), every=True)
        return [h.flatten(1) for h in layers], output
