"""The networks: each is an ``nn.Module``, and nothing else says what it computes.

A network has ``layers(x)``, which returns what load curves are measured on (the input as the first layer sees it, then
every hidden layer before its dropout) and, last, the output; calling the network gives the output alone. Inputs are
(samples, numbers), images too. Numbers in which networks trained together may differ
(:mod:`deepmech.trainers.engines.torch_func`) are buffers: slope, scale and rate of dropout. Networks with ``many`` also
run with the states of many networks beside one another, every parameter and buffer with an axis for them in front;
others take ``torch.func.vmap`` for that.

Biases that a BatchNorm subtracts take no part in training (``requires_grad`` is off), for the reason that
:class:`deepmech.trainers.MLP` gives.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from deepmech.core.random import Stream
from deepmech.trainers.specs import CNN, DROPOUT, MOST_DROPPED, FactoryNetwork, Member, layer_weights, name_of


class Network(nn.Module):
    """What every network here has in common: the output is the last of its :meth:`layers`, ``every`` gives them all."""

    many = False

    def layers(self, x: torch.Tensor) -> list[torch.Tensor]:
        raise NotImplementedError

    def forward(self, x: torch.Tensor, every: bool = False) -> torch.Tensor | list[torch.Tensor]:
        return self.layers(x) if every else self.layers(x)[-1]


class LeakyReLU(nn.Module):
    """max(x, 0) + slope · min(x, 0), with ``slope`` in [0, 1] a buffer.

    ``common`` may be set to the slope where all networks that run together have the same.
    """

    slope: torch.Tensor

    def __init__(self, slope: float) -> None:
        super().__init__()
        self.common: float | None = None
        self.register_buffer("slope", torch.tensor(float(slope), dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.common is not None:
            return F.leaky_relu(x, self.common)
        # Not PReLU: the gradient of the slope, which nobody wants, takes it twice as long.
        return torch.lerp(F.relu(x), x, _per_network(self.slope, x))


class Dropout(nn.Module):
    """Sets a share ``rate`` of the numbers to zero while training and divides the others by ``1 - rate``.

    Whether a number stays is decided by 16 random bits, which must reach ``below``: ``rate`` is resolved to 2⁻¹⁶. An
    engine sets ``draw_mask`` to its own streams; by itself the module takes its bits from torch's generator.
    """

    below: torch.Tensor
    factor: torch.Tensor
    which: torch.Tensor

    def __init__(self, rate: float) -> None:
        if not 0 <= rate < MOST_DROPPED:
            raise ValueError(f"Dropout: rate = {rate!r}: must be {DROPOUT}")
        super().__init__()
        self.draw_mask: MaskFunction | None = None
        for name, value in self.constants([rate]).items():
            self.register_buffer(name, value[0])
        self.register_buffer("which", torch.tensor(0))

    @staticmethod
    def constants(rates: Sequence[float]) -> dict[str, torch.Tensor]:
        """Values of the buffers that make up each rate."""
        values = torch.tensor(rates, dtype=torch.float64)
        return {"below": torch.round(values * 65536).int(), "factor": 1 / (1 - values)}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x
        shape = tuple(x.shape[self.which.ndim :])
        if self.draw_mask is None:
            kept = torch.randint(65536, shape, dtype=torch.int32, device=x.device) >= self.below
        elif self.which.ndim:
            kept = self.draw_mask(self.which, self.below, shape)
        else:
            kept = _Mask.apply(self.which, self.below, self.draw_mask, shape)  # type: ignore[no-untyped-call]
        return x * (kept * _per_network(self.factor, x))


#: Which numbers of a shape stay, (networks, *shape), for the networks' seeds by number and what their bits must reach.
MaskFunction = Callable[[torch.Tensor, torch.Tensor, tuple[int, ...]], torch.Tensor]


class _Mask(torch.autograd.Function):
    """What stays in one network, or at one go in all networks of a ``vmap``."""

    @staticmethod
    def forward(which: torch.Tensor, below: torch.Tensor, draw: MaskFunction, shape: tuple[int, ...]) -> torch.Tensor:
        return draw(which[None], below[None], shape)[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(
        info: Any, dims: Any, which: torch.Tensor, below: torch.Tensor, draw: MaskFunction, shape: tuple[int, ...]
    ) -> tuple[torch.Tensor, int]:
        return draw(which, below.expand(len(which)), shape), 0


#: Torch's own modules of dropout, and the function that each calls.
_TORCH_DROPOUTS: dict[type[nn.Module], Callable[..., torch.Tensor]] = {
    nn.Dropout: F.dropout,
    nn.Dropout1d: F.dropout1d,
    nn.Dropout2d: F.dropout2d,
    nn.Dropout3d: F.dropout3d,
}


def _function_of(part: nn.Module) -> Callable[..., torch.Tensor] | None:
    """What a dropout of torch's calls, or one of a class derived from it that leaves ``forward`` as it is."""
    for kind, function in _TORCH_DROPOUTS.items():
        if isinstance(part, kind) and type(part).forward is kind.forward and "forward" not in vars(part):
            return function
    return None


def dropouts(module: nn.Module) -> dict[str, Any]:
    """The modules by name whose masks a stream can draw: :class:`Dropout`, and torch's own."""
    return {name: part for name, part in module.named_modules() if isinstance(part, Dropout) or _function_of(part)}


def draw_from(name: str, part: Any, draw: MaskFunction, which: Callable[[], torch.Tensor]) -> None:
    """Let the masks of a dropout, called ``name``, come from ``draw``.

    One of torch's own stays the module that it is, with its class, its hooks and its ``p``, which may change while it
    is trained; in this one object ``forward`` is another. ``which`` gives the numbers of the networks' seeds.
    """
    if isinstance(part, Dropout):
        part.draw_mask = draw
        return
    function = _function_of(part)
    assert function is not None

    def forward(x: torch.Tensor) -> torch.Tensor:
        if function is not F.dropout:
            function(x, part.p, False)  # says what it always says about numbers of axes
        if not part.training or part.p == 0:
            return x
        rate, shape = float(part.p), tuple(x.shape)
        below = round(rate * 65536)
        if not 0 <= rate <= 1 or (below in (0, 65536) and rate < 1):
            raise ValueError(
                f"train: {type(part).__name__} {name!r} has p = {rate!r}: must be 0, 1 or between, and no nearer "
                "to either than 2⁻¹⁷, since masks are drawn by 16 bits"
            )
        if function is not F.dropout:
            # Without an axis of samples the first one is that of channels.
            lone = (function, len(shape)) in ((F.dropout1d, 2), (F.dropout3d, 4))
            shape = tuple(n if i < 2 - lone else 1 for i, n in enumerate(shape))
        below_here = torch.tensor(below, dtype=torch.int32, device=x.device)
        kept = _Mask.apply(which(), below_here, draw, shape)  # type: ignore[no-untyped-call]
        factor = torch.tensor(1 / (1 - rate) if rate < 1 else 0, dtype=torch.float64, device=x.device).to(x.dtype)
        return x.mul_(kept * factor) if part.inplace else x * (kept * factor)

    part.forward = forward


class FullyConnected(Network):
    """The network of :class:`deepmech.trainers.MLP`: [norm], hidden layers, Linear.

    A hidden layer is [Linear, [norm], activation, times ``scale`` where there is no BatchNorm, Dropout]. Dropout draws
    unit by unit.
    """

    many = True
    scale: torch.Tensor | None

    def __init__(
        self,
        sizes: Sequence[int],
        slope: float = 0.0,
        dropout: float = 0.0,
        batch_norm: bool = True,
        scale: float = 1.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.linear = nn.ModuleList([nn.Linear(a, b, bias) for a, b in pairwise(sizes)])
        self.norm = nn.ModuleList([_uncounted(nn.BatchNorm1d(n)) for n in sizes[:-1]] if batch_norm else [])
        self.activation, self.dropout = LeakyReLU(slope), Dropout(dropout)
        self.register_buffer("scale", None if batch_norm else torch.tensor(float(scale), dtype=torch.float64))
        if batch_norm:
            _subtracted(self.norm[0], *(self.linear[:-1] if bias else []))

    def layers(self, x: torch.Tensor) -> list[torch.Tensor]:
        x = _units_first(x)
        x = _normalised(self.norm[0], x) if self.norm else x
        found = [x]
        for i, linear in enumerate(self.linear[:-1]):
            x = _product(linear, x)
            x = _normalised(self.norm[i + 1], x) if self.norm else x
            x = self.activation(x) if self.scale is None else _per_network(self.scale, x) * self.activation(x)
            found.append(x)
            x = self.dropout(x)
        return _samples_first([*found, _product(self.linear[-1], x)], self.linear[0])


class Convolutional(Network):
    """The network of :class:`deepmech.trainers.CNN`: layers [Conv 3×3, BatchNorm, LeakyReLU, pool, upsample, Dropout].

    ``shape`` is that of one image, (channels, height, width). Dropout draws sample by sample, position by position.
    """

    def __init__(
        self,
        shape: Sequence[int],
        n_outputs: int,
        convolutions: int = 7,
        channels: int = 16,
        slope: float = 0.0,
        dropout: float = 0.0,
        pooling: str = "max",
    ) -> None:
        super().__init__()
        self.shape, side = tuple(shape), (int(shape[1]), int(shape[2]))
        maps = [int(shape[0]), *[channels] * convolutions]
        self.convolution = nn.ModuleList([nn.Conv2d(a, b, 3, padding=1) for a, b in pairwise(maps)])
        self.norm = nn.ModuleList([_uncounted(nn.BatchNorm2d(n)) for n in maps[1:]])
        self.activation, self.dropout = LeakyReLU(slope), Dropout(dropout)
        self.pool = nn.MaxPool2d(2) if pooling == "max" else nn.AvgPool2d(2)
        self.upsample = nn.Upsample(size=side)
        self.linear = nn.Linear(maps[-1] * side[0] * side[1], n_outputs)
        # Channels are the last axis in memory: half the time of torch's default order on a CPU, the same numbers.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        _subtracted(*self.convolution)

    def layers(self, x: torch.Tensor) -> list[torch.Tensor]:
        x = _channels_first(_channels_last(x.unflatten(1, self.shape)).contiguous())
        found = [x]
        for convolution, norm in zip(self.convolution, self.norm, strict=True):
            found.append(x := self.upsample(self.pool(self.activation(norm(convolution(x))))))
            x = _channels_first(self.dropout(_channels_last(x)))
        return [*found, self.linear(x.flatten(1))]


class LeNet(Network):
    """Two convolutions and three linear layers on 32×32 images (paper B, App. D; sizes from the authors' scripts)."""

    def __init__(self, n_channels: int, n_outputs: int) -> None:
        super().__init__()
        self.shape = (n_channels, 32, 32)
        self.convolution = nn.ModuleList([nn.Conv2d(n_channels, 6, 5), nn.Conv2d(6, 16, 5)])
        self.linear = nn.ModuleList([nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, n_outputs)])

    def layers(self, x: torch.Tensor) -> list[torch.Tensor]:
        found = [x := x.unflatten(1, self.shape)]
        for convolution in self.convolution:
            found.append(x := F.max_pool2d(F.relu(convolution(x)), 2))
        x = x.flatten(1)
        for linear in self.linear[:-1]:
            found.append(x := F.relu(linear(x)))
        return [*found, self.linear[-1](x)]


class BiasFree(Network):
    """The network that walks (:class:`deepmech.trainers.langevin.Dynamics`): no biases, one output per sample.

    Units are ReLU, or with ``softplus`` > 0 softplus of this β.
    """

    many = True

    def __init__(self, sizes: Sequence[int], softplus: float = 0.0) -> None:
        super().__init__()
        # Beyond the threshold torch takes a straight line: by default already where float64 sees that it is none.
        self.activation = nn.Softplus(softplus, threshold=40) if softplus else nn.ReLU()
        self.linear = nn.ModuleList([nn.Linear(a, b, bias=False) for a, b in pairwise(sizes)])

    def layers(self, x: torch.Tensor) -> list[torch.Tensor]:
        found = [x := _units_first(x)]
        for linear in self.linear[:-1]:
            found.append(x := self.activation(_product(linear, x)))
        return _samples_first([*found, _product(self.linear[-1], x)], self.linear[0])


def build_network(member: Member, shape: Sequence[int], n_outputs: int, stream: Stream | None = None) -> nn.Module:
    """A member's network with its initial weights, in its precision; ``shape`` is that of one sample.

    Random numbers are those of ``stream``, if it is given, and not of the member's own.
    """
    spec, stream = member.network, stream or member.stream
    dtype = getattr(torch, member.training.dtype)
    if isinstance(spec, FactoryNetwork):
        return instantiate(spec.factory, stream, **spec.arguments).to(dtype)
    fields: dict[str, Any] = {"slope": float(spec.slope), "dropout": float(spec.dropout)}
    if isinstance(spec, CNN):
        fields |= {"convolutions": int(spec.convolutions), "channels": int(spec.channels), "pooling": str(spec.pooling)}
        module = instantiate(Convolutional, stream, shape=shape, n_outputs=n_outputs, **fields)
    else:
        fields |= {"batch_norm": bool(spec.batch_norm), "scale": member.scale, "bias": bool(spec.bias)}
        module = instantiate(FullyConnected, stream, sizes=member.sizes(int(np.prod(shape)), n_outputs), **fields)
    initialise(module.to(dtype), stream, str(getattr(spec, "init", "torch")))
    return module


def initialise(module: nn.Module, stream: Stream, init: str = "torch") -> None:
    """Draw the parameters of all Linear and convolutional layers (:func:`deepmech.trainers.specs.layer_weights`)."""
    layers = [m for m in module.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    for i, layer in enumerate(layers, start=1):
        drawn = layer_weights(stream, i, tuple(layer.weight.shape), init)
        with torch.no_grad():
            for parameter, values in zip((layer.weight, layer.bias), drawn, strict=True):
                if parameter is not None:
                    parameter.copy_(torch.from_numpy(values))


#: Held while somebody looks at the generators of the whole process, or seeds them.
GENERATORS = threading.Lock()


def instantiate(factory: Callable[..., nn.Module], stream: Stream, **arguments: Any) -> nn.Module:
    """What ``factory`` makes, with the same random numbers of torch for the same stream.

    It is a copy, so that the factory's own module stays as it is.
    """
    return copy.deepcopy(_built(factory, stream, arguments))


def _built(factory: Callable[..., nn.Module], stream: Stream, arguments: Mapping[str, Any]) -> nn.Module:
    """What ``factory`` returns for these arguments; a ValueError if that is no module.

    While it runs, torch's generator is seeded with the first 63 bits of the stream's purpose "module"; its state is put
    back.
    """
    low, high = stream.bits("module", 0, 2).tolist()
    with GENERATORS, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed((high << 32 | low) >> 1)
        try:
            module = factory(**arguments)
        except (TypeError, ValueError, RuntimeError, MemoryError) as error:
            if "allocate" in str(error):
                raise ValueError(f"train: {name_of(factory)} makes a network that no memory holds: {error}") from error
            several = [
                name for name, value in arguments.items() if isinstance(value, list | tuple | range | np.ndarray)
            ]
            if not several:
                raise
            raise ValueError(
                f"train: {name_of(factory)} does not take {several[0]} = {arguments[several[0]]!r} ({error}); to train "
                f"a network for each of several values, give {several[0]}=over({several[0]!r}, values)"
            ) from error
    if not isinstance(module, nn.Module):
        raise ValueError(f"train: the network's factory returned a {type(module).__name__}: must be an nn.Module")
    return module


def require_new(members: Sequence[Member]) -> None:
    """A ValueError if networks of different seeds, made by a user's factory, have modules or trained parameters in
    common: they would all start from the same weights."""
    firsts = list({m.seed: m for m in reversed(members)}.values())[::-1]  # of each seed, which have equal arguments
    if len(firsts) == 1:
        return
    factory = firsts[0].network.factory  # type: ignore[union-attr]
    one, two = (_built(factory, m.stream, m.network.arguments) for m in firsts[:2])  # type: ignore[union-attr]
    trained = {id(p) for p in one.parameters() if p.requires_grad}
    if one is two or any(id(p) in trained for p in two.parameters()):
        what = "the same module" if one is two else "modules with the same parameters"
        raise ValueError(
            f"train: {name_of(factory)} returns {what} for the seeds {firsts[0].seed} and {firsts[1].seed}: make a new "
            "module in every call; if all are to start from equal weights, return copy.deepcopy(module)"
        )


def _subtracted(*layers: nn.Module) -> None:
    """The next BatchNorm subtracts these layers' biases: they stay as they are."""
    for layer in layers:
        layer.bias.requires_grad_(False)


def _uncounted(norm: Any) -> Any:
    """A BatchNorm without its count of batches, which nothing reads and every step would pay for."""
    norm.num_batches_tracked = None
    return norm


def _units_first(x: torch.Tensor) -> torch.Tensor:
    """([networks,] samples, units) as (networks, units, samples), in which products and BatchNorm are fastest."""
    return x.mT if x.ndim == 3 else x.T[None]


def _samples_first(layers: list[torch.Tensor], linear: Any) -> list[torch.Tensor]:
    """What :func:`_units_first` turned, turned back; without an axis of networks if ``linear`` has none."""
    return [h.mT if linear.weight.ndim == 3 else h[0].T for h in layers]


def _product(linear: Any, x: torch.Tensor) -> torch.Tensor:
    """Linear on (networks, units, samples)."""
    weight = linear.weight.view(-1, *linear.weight.shape[-2:])
    x = x.expand(len(weight), -1, -1)
    return (
        torch.bmm(weight, x) if linear.bias is None else torch.baddbmm(linear.bias.view(len(weight), -1, 1), weight, x)
    )


def _normalised(norm: Any, x: torch.Tensor) -> torch.Tensor:
    """BatchNorm on (networks, units, samples), a channel for every unit of every network."""
    mean, variance, gain, shift = (v.reshape(-1) for v in (norm.running_mean, norm.running_var, norm.weight, norm.bias))
    x = x.expand(len(mean) // x.shape[1], -1, -1)
    channels = x.reshape(1, -1, x.shape[2])
    return F.batch_norm(channels, mean, variance, gain, shift, norm.training, norm.momentum, norm.eps).view_as(x)


def _per_network(number: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """One number, or one for each network along the first axis of x, to be multiplied with x."""
    number = number.to(x.dtype) if number.is_floating_point() else number
    return number.view(-1, *[1] * (x.ndim - 1)) if number.ndim else number


def _channels_last(x: torch.Tensor) -> torch.Tensor:
    return x.permute(0, 2, 3, 1)


def _channels_first(x: torch.Tensor) -> torch.Tensor:
    return x.permute(0, 3, 1, 2)
