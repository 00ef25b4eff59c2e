"""What is trained, and how: frozen specs of networks and of training, in which every number may be a labelled array;
and :class:`Member`, one network of them, with plain numbers and what it draws from its stream, whatever trains it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import xarray as xr

from deepmech.core import specs
from deepmech.core.labels import Number
from deepmech.core.random import Stream
from deepmech.core.specs import Spec, encode
from deepmech.trainers import rules

#: What a schedule may change while a network is being trained.
SCHEDULED = ("dropout", "learning_rate", "data_noise", "label_noise")

#: What the specs allow, besides the names in :mod:`deepmech.trainers.rules`. The torch engines know all of it.
DTYPES = ("float32", "float64")
DTYPE = specs.one_of(DTYPES)
INITS = ("torch", "orthogonal")
POOLINGS = ("max", "average")

#: Dropout is below this: masks are drawn by 16 bits, and at any higher rate every number would be dropped.
MOST_DROPPED = 1 - 2.0**-17
DROPOUT = specs.between(0, MOST_DROPPED, "at least 0 and below 1 - 2⁻¹⁷, as masks are drawn by 16 bits")
SLOPE = specs.between(0, np.nextafter(1, 2), "between 0 (ReLU) and 1 (linear)")
STOP = specs.not_negative("at least 0 (0 never stops)")

Choice = str | xr.DataArray
Switch = bool | xr.DataArray


@dataclass(frozen=True, eq=False)
class MLP(Spec):
    r"""A fully connected network, by default the one of Figure 1 of the spring-block paper.

    BatchNorm on the input, then ``depth - 1`` times [Linear, BatchNorm, LeakyReLU, Dropout], then Linear to the
    classes. With ``batch_norm=False`` there is none at the input either and hidden layer :math:`\ell` computes
    :math:`x_\ell = c\,\sigma(W_\ell x_{\ell-1} + b_\ell)` (spring-block paper, Eq. 1).

    Parameters
    ----------
    depth : number or DataArray
        Number of Linear layers, at least 2; the load curve has ``depth`` points (input and hidden layers).
    width : number or DataArray
        Units of every hidden layer.
    slope : number or DataArray
        Slope α of LeakyReLU for negative arguments, 0 (ReLU) to 1 (linear network).
    dropout : number or DataArray
        Probability, in [0, 1), of setting an activation to zero in a training step; the others are divided by
        ``1 - dropout``. Resolved to 2⁻¹⁶, and so below 1 - 2⁻¹⁷.
    batch_norm : bool or DataArray
        Normalise every layer over the batch (ε = 1e-5, running averages with weight 0.1), or not at all.
    scale : number or DataArray, optional
        The constant c of networks without it. None takes the value that keeps the mean square of the features at
        initialisation: :math:`\sqrt{6/(1+α^2)}` for ``init="torch"``, whose weights have variance 1/(3 n),
        :math:`\sqrt{2/(1+α^2)}` for ``init="orthogonal"``.
    bias : bool or DataArray
        Whether the Linear layers have biases.
    init : str or DataArray
        ``"torch"``: weights and biases uniform in ±1/√(fan-in), PyTorch's default; ``"orthogonal"``: random orthogonal
        weights (orthonormal rows or columns), zero biases.

    Notes
    -----
    Biases that a BatchNorm subtracts again (and the shift of the input's BatchNorm) have a gradient of exactly zero.
    Automatic differentiation returns rounding noise instead, which Adam divides by its own size and turns into a random
    walk. Here these parameters keep their initial values.

    Examples
    --------
    >>> from deepmech import over
    >>> MLP(slope=over("slope", [0.0, 0.5]), dropout=0.1).dropout
    0.1
    """

    CHECKS: ClassVar = {
        "depth": specs.whole(2), "width": specs.whole(1), "slope": SLOPE, "dropout": DROPOUT,
        "batch_norm": specs.one_of((True, False)), "bias": specs.one_of((True, False)), "init": specs.one_of(INITS),
        "scale": specs.positive("positive, or None"),
    }  # fmt: skip
    TOGETHER: ClassVar = ("scale", "batch_norm")

    depth: Number = 8
    width: Number = 100
    slope: Number = 0.0
    dropout: Number = 0.0
    batch_norm: Switch = True
    scale: Number | None = None
    bias: Switch = True
    init: Choice = "torch"

    def check_together(self) -> None:
        self.check("scale", self.scale is None or not self.batch_norm, "None when batch_norm is on; it cancels it")


@dataclass(frozen=True, eq=False)
class CNN(Spec):
    r"""A convolutional network for images, by default the one of Figs. S2 and S3 of the spring-block paper.

    ``convolutions`` times [3×3 convolution, BatchNorm, LeakyReLU, 2×2 pooling, upsampling, Dropout], then Linear to the
    classes. Convolutions pad with zeros; upsampling repeats each pooled number, so that every intermediate layer has
    the height and width of the image. The load curve has ``convolutions + 1`` points: the image, and every layer before
    dropout.

    Parameters
    ----------
    convolutions : number or DataArray
        Number of convolutional layers, at least 1.
    channels : number or DataArray
        Feature maps of every convolutional layer.
    slope, dropout : number or DataArray
        As of :class:`MLP`; dropout draws for every position and channel of a feature map on its own.
    pooling : str or DataArray
        ``"max"`` or ``"average"``.

    Notes
    -----
    The paper (SM S3) gives convolutions, channels, ReLU, BatchNorm between the convolutional layers, pooling and
    upsampling after each activation, and a linear layer at the end. Size of kernels, kind and place of pooling and
    place of dropout are choices made here. Weights and biases start uniform in ±1/√(fan-in), PyTorch's default; the
    convolutions' biases keep these values, as BatchNorm subtracts them (see :class:`MLP`).

    Examples
    --------
    >>> CNN(dropout=0.05).channels
    16
    >>> CNN(pooling="median")
    Traceback (most recent call last):
    ...
    ValueError: CNN.pooling = 'median': must be one of 'max', 'average'
    """

    CHECKS: ClassVar = {
        "convolutions": specs.whole(1), "channels": specs.whole(1), "slope": SLOPE, "dropout": DROPOUT,
        "pooling": specs.one_of(POOLINGS),
    }  # fmt: skip

    convolutions: Number = 7
    channels: Number = 16
    slope: Number = 0.0
    dropout: Number = 0.0
    pooling: Choice = "max"


@dataclass(frozen=True, eq=False)
class Training(Spec):
    """How a network is trained; the defaults are those of Figure 1 of the spring-block paper.

    Parameters
    ----------
    optimizer : str or DataArray
        ``"adam"`` (β₁ = 0.9, β₂ = 0.999, ε = 1e-8) or ``"sgd"``.
    learning_rate : number or DataArray
        Step size.
    momentum : number or DataArray
        Of ``"sgd"``, in [0, 1).
    batch_size : number or DataArray, optional
        Samples per step; None is the whole training set. A new random order every epoch; a last, smaller batch is used
        too.
    epochs : number or DataArray
        Passes over the training set, at most.
    data_noise : number or DataArray
        The p of Fig. 1(a): at every step ``p · std(x_train) · N(0, 1)`` is added to the inputs, and a fraction p of the
        labels is replaced by uniform random ones.
    label_noise : number or DataArray, optional
        That fraction, if it is to differ from ``data_noise``; None follows ``data_noise``.
    loss : str or DataArray
        ``"cross_entropy"``, or ``"mse"`` against one-hot labels (or against real-valued targets).
    schedule : tuple of (int, str, float)
        Changes during training as ``(epoch, field, value)``, for example ``((4001, "dropout", 0.05),)``: from epoch
        4,001 on (epochs count from 1). Fields: dropout, learning_rate, data_noise, label_noise.
    weight_decay : number or DataArray
        Decoupled, as in AdamW, whatever the optimizer: before each step all trained parameters are multiplied by
        ``1 - learning_rate * weight_decay``.
    stop_loss, stop_change : number or DataArray
        Training stops after an epoch whose mean loss is below ``stop_loss`` or differs from that of the epoch before by
        less than ``stop_change``.
    dtype : str
        Precision of parameters and activations, ``"float32"`` or ``"float64"``.

    Examples
    --------
    >>> Training(learning_rate=-1)
    Traceback (most recent call last):
    ...
    ValueError: Training.learning_rate = -1: must be positive
    """

    CHECKS: ClassVar = {
        "optimizer": specs.one_of(rules.OPTIMIZERS), "loss": specs.one_of(rules.LOSSES),
        "dtype": DTYPE, "learning_rate": specs.positive(), "weight_decay": specs.not_negative(),
        "momentum": specs.between(0, 1, "at least 0 and below 1"), "batch_size": specs.whole(1),
        "epochs": specs.whole(0), "data_noise": specs.not_negative(), "label_noise": specs.between(),
        "stop_loss": STOP, "stop_change": STOP,
    }  # fmt: skip
    SINGLE: ClassVar = ("dtype",)
    TOGETHER: ClassVar = ("momentum", "optimizer", "data_noise", "label_noise")

    optimizer: Choice = "adam"
    learning_rate: Number = 1e-3
    momentum: Number = 0.0
    batch_size: Number | None = None
    epochs: Number = 100
    data_noise: Number = 0.0
    label_noise: Number | None = None
    loss: Choice = "cross_entropy"
    schedule: tuple[tuple[int, str, float], ...] = ()
    stop_loss: Number = 1e-4
    stop_change: Number = 1e-10
    dtype: str = "float32"
    weight_decay: Number = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        known = f"made of (epoch >= 1, field, value) with field one of {', '.join(SCHEDULED)} and a value it allows"
        listed = isinstance(self.schedule, list | tuple) and all(isinstance(c, list | tuple) for c in self.schedule)
        self.check("schedule", listed, known)
        for change in self.schedule:
            fits = (
                len(change) == 3
                and change[1] in SCHEDULED
                and all(specs.is_real(v) and np.isfinite(v) for v in change[::2])
            )
            fits = fits and change[0] == round(change[0]) >= 1
            most = MOST_DROPPED if change[1:2] == ("dropout",) else 1
            fits = fits and (change[2] > 0 if change[1] == "learning_rate" else 0 <= change[2] < most)
            self.check("schedule", fits, known)
        changes = tuple((int(epoch), field, value) for epoch, field, value in self.schedule)
        object.__setattr__(self, "schedule", changes)

    def check_together(self) -> None:
        allowed = "0 with adam, which has its own"
        self.check("momentum", self.momentum == 0 or self.optimizer != "adam", allowed)
        field = "data_noise" if self.label_noise is None else "label_noise"
        allowed = "a fraction of the labels, 0 to 1 (give label_noise apart if only the inputs are to be noisier)"
        self.check(field, 0 <= getattr(self, field) <= 1, allowed)


@dataclass(frozen=True, eq=False)
class SingleSample(Spec):
    r"""Stochastic gradient descent with one sample per step, as in paper B, Sec. 4.1.

    Parameters
    ----------
    learning_rate : number or DataArray
        Step size; the authors' scripts use 0.005 for GEOMNIST and 0.001 for CIFAR-10.
    iterations : int
        Steps, the same for all trials.
    label_error : number or DataArray
        :math:`p_\mathrm{err}`, the share of every class whose training labels are wrong, spread evenly over the other
        classes (App. D). Which samples is a property of the data and the experiment's name, not of the trial; what is
        wrong at one share is wrong, and in the same way, at every larger one.
    class_weights : tuple of float, optional
        Probabilities with which the classes 0, 1, … (true, not labelled) are drawn, adding up to 1; None draws every
        training sample with the same probability.
    dtype : str
        ``"float32"`` or ``"float64"``.

    Examples
    --------
    >>> SingleSample(label_error=1.2)
    Traceback (most recent call last):
    ...
    ValueError: SingleSample.label_error = 1.2: must be a share, 0 to 1
    """

    CHECKS: ClassVar = {
        "learning_rate": specs.positive(), "iterations": specs.whole(1), "dtype": DTYPE,
        "label_error": specs.between(0, np.nextafter(1, 2), "a share, 0 to 1"),
    }  # fmt: skip
    SINGLE: ClassVar = ("iterations", "dtype")

    learning_rate: Number = 0.005
    iterations: int = 10_000
    label_error: Number = 0.0
    class_weights: tuple[float, ...] | None = None
    dtype: str = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        specs.check_memory("SingleSample.iterations", self.iterations, self.iterations)
        if self.class_weights is not None:
            allowed = "a probability for every class, adding up to 1, or None"
            weights = specs.check_array("SingleSample.class_weights", self.class_weights, allowed)
            ok = weights.ndim == 1 and np.all(weights >= 0) and abs(weights.sum() - 1) < 1e-9
            self.check("class_weights", ok, allowed)
            object.__setattr__(self, "class_weights", tuple(float(w) for w in weights))


def name_of(factory: Any) -> str:
    """What a factory is called, for messages and records."""
    return str(getattr(factory, "__qualname__", None) or type(factory).__qualname__)


def code_of(factory: Any) -> str | None:
    """Sixteen hexadecimal digits of the source text of a function or class, and None where there is none to be read.

    They do not stand for what the text names: other functions, values around it, modules.

    Examples
    --------
    >>> code_of(name_of) == code_of(name_of) != code_of(code_of)
    True
    """
    while isinstance(factory, partial):
        factory = factory.func
    try:
        return specs.digest(inspect.getsource(factory if hasattr(factory, "__qualname__") else type(factory)))
    except (OSError, TypeError):
        return None


@dataclass(frozen=True, eq=False)
class FactoryNetwork(Spec):
    """A network of a user's own: a factory of an ``nn.Module`` and its arguments, which may be labelled arrays."""

    factory: Callable[..., Any]
    arguments: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The factory by its name, and sixteen hexadecimal digits of its text; nothing turns this back."""
        arguments = {k: encode(v) for k, v in self.arguments.items()}
        code = code_of(self.factory)
        return {"spec": "FactoryNetwork", "factory": name_of(self.factory), "code": code, "arguments": arguments}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """A ValueError: a record names a function, and what it names is not to be run."""
        raise ValueError(
            f"FactoryNetwork.from_json: the record names the factory {data.get('factory')!r}, whose code it does not "
            "hold: call train with that function and the arguments in the record"
        )

    def labelled_fields(self) -> dict[str, xr.DataArray]:
        """Its arguments that are labelled arrays."""
        return {name: value for name, value in self.arguments.items() if isinstance(value, xr.DataArray)}

    def with_fields(self, fields: Mapping[str, Any]) -> Self:
        return replace(self, arguments={**self.arguments, **fields})


class Settings(NamedTuple):
    """The quantities in force during one epoch; modules of :class:`FactoryNetwork` have dropout rates of their own."""

    dropout: float
    learning_rate: float
    data_noise: float
    label_noise: float


@dataclass(frozen=True)
class Member:
    """One network to be trained: both specs with plain numbers only, a seed, and the name of the experiment.

    Its stream depends on the seed and the experiment's name alone. Networks that share both therefore start from the
    same weights and see the same batches and (nested) dropout masks whatever their other parameters are: differences
    along a grid are paired.
    """

    network: MLP | CNN | FactoryNetwork
    training: Training
    seed: int
    experiment: str = "train"

    @cached_property
    def stream(self) -> Stream:
        return Stream.of(self.experiment, self.seed)

    def settings(self, epoch: int) -> Settings:
        """What holds in epoch ``epoch`` (from 1) by the specs and the schedule."""
        t, network = self.training, self.network
        now: dict[str, Any] = {
            "dropout": 0.0 if isinstance(network, FactoryNetwork) else network.dropout,
            "learning_rate": t.learning_rate,
            "data_noise": t.data_noise,
            "label_noise": t.label_noise,
        }
        for start, field, value in sorted(t.schedule):
            if epoch >= start:
                now[field] = value
        if now["label_noise"] is None:
            now["label_noise"] = now["data_noise"]
        return Settings(*map(float, now.values()))

    def sizes(self, n_inputs: int, n_outputs: int) -> list[int]:
        """Units of every layer of an MLP, from the input to the output."""
        assert isinstance(self.network, MLP)
        return [n_inputs, *[int(self.network.width)] * (int(self.network.depth) - 1), n_outputs]

    @property
    def scale(self) -> float:
        """The factor c after each nonlinearity of an MLP: 1 with BatchNorm."""
        assert isinstance(self.network, MLP)
        if self.network.batch_norm:
            return 1.0
        if self.network.scale is not None:
            return float(self.network.scale)
        square = 6.0 if self.network.init == "torch" else 2.0
        return float(np.sqrt(square / (1.0 + float(self.network.slope) ** 2)))

    def weights(self, sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Initial (weight, bias) of each Linear layer of an MLP, float64, shapes (out, in) and (out,)."""
        assert isinstance(self.network, MLP)
        layers = [
            layer_weights(self.stream, i, (n_out, n_in), str(self.network.init))
            for i, (n_in, n_out) in enumerate(pairwise(sizes), start=1)
        ]
        return [(weight, bias if self.network.bias else np.zeros(len(bias))) for weight, bias in layers]

    def order(self, epoch: int, n: int) -> tuple[int, int, np.ndarray]:
        """(first step, batch size, order of the samples) of epoch ``epoch``; steps count over the whole training."""
        size = self.training.batch_size
        if size is None or size >= n:
            # The whole set at once: its order has no effect, so it is left as it is.
            return epoch - 1, n, np.arange(n)
        return (epoch - 1) * -(-n // int(size)), int(size), self.stream.permutation("order", epoch, n)

    def batches(self, epoch: int, n: int) -> Iterator[tuple[int, np.ndarray]]:
        """(step, indices) of each batch of epoch ``epoch``."""
        first, size, order = self.order(epoch, n)
        for i, start in enumerate(range(0, n, size)):
            yield first + i, order[start : start + size]


def layer_weights(stream: Stream, i: int, shape: tuple[int, ...], init: str = "torch") -> tuple[np.ndarray, np.ndarray]:
    """Initial weight, of ``shape`` with outputs first, and bias of the i-th layer (from 1), float64.

    ``"torch"``: both uniform in ±1/√(fan-in), PyTorch's default; ``"orthogonal"``: orthonormal rows or columns, and no
    bias.
    """
    if init == "orthogonal":
        return _orthogonal(stream.normal(f"weight {i}", 0, shape)), np.zeros(shape[0])
    bound = 1 / np.sqrt(np.prod(shape[1:]))
    weight = (2 * stream.uniform(f"weight {i}", 0, shape) - 1) * bound
    return weight, (2 * stream.uniform(f"bias {i}", 0, shape[0]) - 1) * bound


def _orthogonal(normal: np.ndarray) -> np.ndarray:
    """A uniformly distributed matrix with orthonormal rows or columns, from a matrix of normals."""
    tall = normal.shape[0] >= normal.shape[1]
    q, r = np.linalg.qr(normal if tall else normal.T)
    q *= np.sign(np.diag(r))
    return q if tall else q.T
