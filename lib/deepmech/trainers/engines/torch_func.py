"""Trains any ``nn.Module``, one or many at once, on a CPU or a GPU.

Networks that differ in nothing but the values of their tensors (:func:`module_signature`) run together: the parameters
of each are a row of one matrix, its buffers lie beside those of the others, and ``torch.func.vmap`` runs one module for
all of them. A network's numbers are, to rounding, those it has alone. To the bit is not promised: how products of many
networks are summed is for the libraries behind them to decide.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from deepmech.core import specs
from deepmech.core.random import BatchedStream, Stream
from deepmech.metrics.layers import LayerRecorder, Pass, Selection, keep_features, logits, select_layers
from deepmech.trainers.modules import GENERATORS, Dropout, LeakyReLU, Network, build_network, draw_from, dropouts
from deepmech.trainers.rules import LOSSES, OPTIMIZERS, Loss
from deepmech.trainers.run import check_cancelled
from deepmech.trainers.specs import FactoryNetwork, Member

#: Parameters or buffers by name.
Tensors = dict[str, torch.Tensor]
#: Fields of Training that networks trained together have in common; all others may differ.
COMMON = ("optimizer", "batch_size", "epochs", "loss")


def check_module(module: nn.Module, x: torch.Tensor, n_classes: int) -> None:
    """Run copies of a network of a user's own on a few samples ``x``, in training and in evaluation mode.

    A ValueError if it does not take them, returns something else than (samples, outputs), with an output for each class
    or one for real targets (``n_classes`` = 0), or draws random numbers by itself: they would depend on who else is
    being trained.
    """
    kind = type(module).__name__
    for training in (True, False):
        one = copy.deepcopy(module).to(x.device).train(training)
        for name, part in dropouts(one).items():
            draw_from(name, part, _keep_all, lambda: torch.tensor(0, device=x.device))
        random_parts = _watch_random(one, x.device)
        try:
            with GENERATORS:
                output = one(x.clone())
            with suppress(ValueError):  # which of several parts is meant is not said: refused below
                output = logits(output, n_classes)[0]
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            message = str(error).strip().splitlines() or [type(error).__name__]
            if message[0].startswith("train: "):
                raise
            if "more than 1 value per channel" in message[0] and len(x) == 1:
                raise ValueError(
                    f"Training.batch_size: leaves a batch of one sample, which a BatchNorm of {kind} cannot normalise; "
                    "choose a size that leaves at least two"
                ) from error
            raise ValueError(f"train: {kind} does not take samples of shape {tuple(x.shape)}: {message[0]}") from error
        if random_parts:
            when = "training" if training else "it is measured"
            raise ValueError(
                f"train: {kind}{random_parts[0]} draws random numbers by itself while {when}: use nn.Dropout modules, "
                "whose masks come from the member's own stream, and no functional dropout or dropout inside attention"
            )
        if not isinstance(output, torch.Tensor) or output.ndim != 2 or len(output) != len(x):
            shape = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
            raise ValueError(f"train: {kind} returns {shape} for {len(x)} samples: must be (samples, outputs)")
        n = output.shape[1]
        if n < n_classes or (not n_classes and n != 1):
            needed = f"at least {n_classes}, one for each class" if n_classes else "1, as targets are real numbers"
            raise ValueError(f"train: {kind} returns {n} outputs for a sample: must be {needed}; change its last layer")


def _keep_all(which: torch.Tensor, below: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """A mask that drops nothing."""
    return torch.ones((1, *shape), dtype=torch.bool, device=which.device)


def _watch_random(module: nn.Module, device: torch.device) -> list[str]:
    """A list that fills with the parts of ``module`` that draw random numbers while it runs, innermost first."""
    found, before = list[str](), list[Any]()

    def states() -> tuple[Any, ...]:
        torchs = [torch.get_rng_state()] + ([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])
        return random.getstate(), pickle.dumps(np.random.get_state()), [s.numpy().tobytes() for s in torchs]  # noqa: NPY002

    def end(part: nn.Module, name: str) -> None:
        if before.pop() != states():
            found.append(f"'s module {name!r} ({type(part).__name__})" if name else "")

    for name, part in module.named_modules():
        if not isinstance(part, torch.jit.ScriptModule):  # take no hooks
            part.register_forward_pre_hook(lambda *_: before.append(states()))
            part.register_forward_hook(lambda part, *_, name=name: end(part, name))
    return found


def module_signature(module: nn.Module) -> tuple[Any, ...]:
    """What modules that run together have in common: all but the values of their parameters and buffers.

    What this cannot compare (functions, generators, tensors that are no buffers) is common only if it is one object.
    """

    def plain(value: Any) -> Any:
        if value is None or isinstance(value, str | int | float | complex | torch.dtype | type):
            return type(value), value
        if isinstance(value, dict):
            return tuple((plain(k), plain(v)) for k, v in value.items())
        if isinstance(value, tuple | list | set):
            return type(value), tuple(map(plain, value))
        return "object", id(value)

    parts = []
    for name, part in module.named_modules():
        attributes = {k: v for k, v in vars(part).items() if k not in ("_parameters", "_buffers", "_modules")}
        # Hooks are kept by numbers that count all hooks ever set.
        attributes |= {k: list(v.values()) for k, v in attributes.items() if "_hooks" in k and isinstance(v, dict)}
        tensors = [
            (k, None if t is None else (tuple(t.shape), t.dtype, t.requires_grad))
            for k, t in chain(part._parameters.items(), part._buffers.items())
        ]
        parts.append((name, type(part), plain(attributes), tuple(tensors)))
    return tuple(parts)


class ModuleEnsemble:
    """The states of several modules of one :func:`module_signature` beside one another.

    ``rows`` (networks, numbers) are all trained parameters, layer after layer; ``buffers``, by name, have the shape
    (networks, …); ``module`` is what is run, and its own parameters and buffers are never used.
    """

    def __init__(self, modules: Sequence[nn.Module], dtype: torch.dtype, device: str | torch.device = "cpu"):
        if len({module_signature(m) for m in modules}) > 1:
            raise ValueError(
                "train: these modules differ in more than the values of their tensors, and cannot run together: train "
                "them one by one, ensemble_size=1"
            )
        first = self._member = modules[0].to(device, dtype)
        parameters, self.buffers = stack_module_state([m.to(device, dtype) for m in modules])
        named = dict(first.named_parameters())
        self.frozen: Tensors = {k: v.detach() for k, v in parameters.items() if not named[k].requires_grad}
        self.module = copy.deepcopy(first).train()
        for name, part in self.module.named_modules():
            if isinstance(part, LeakyReLU) and len(slopes := self.buffers[f"{name}.slope"].unique()) == 1:
                part.common = float(slopes)
        # Parameters keep their order in memory, on which the speed of convolutions depends.
        self._order = {k: p.dim_order() for k, p in named.items() if p.requires_grad}
        flat = [parameters[k].detach().permute(0, *(1 + d for d in order)) for k, order in self._order.items()]
        self._shapes = [p.shape[1:] for p in flat]
        self.rows = torch.cat([p.flatten(1) for p in flat], 1)
        self.n_classes = 0  # by which the logits are known among several outputs
        #: The numbers of the networks' seeds, and, while they run, those that run now: for their masks.
        self.which = torch.zeros(len(modules), dtype=torch.int64, device=device)
        self.now = self.which[0]

    def parameters(self, rows: torch.Tensor | None = None) -> Tensors:
        """Every parameter by name, (networks, …): views of ``rows``, and those that take part in no training."""
        pieces = (self.rows if rows is None else rows).split([s.numel() for s in self._shapes], 1)
        trained = {}
        for (name, order), shape, piece in zip(self._order.items(), self._shapes, pieces, strict=True):
            part = piece.view(-1, *shape)
            back = [1 + order.index(d) for d in range(len(order))]
            trained[name] = part if back == sorted(back) else part.permute(0, *back)
        return trained | self.frozen

    def outputs(self, rows: torch.Tensor, x: torch.Tensor, dim: int | None) -> torch.Tensor:
        """What every network returns for x, (networks, samples, outputs); follows buffers.

        ``dim`` is 0 where the first axis of x is one of networks, None where all have the same samples.
        """
        parameters = self.parameters(rows)
        if isinstance(self.module, Network) and self.module.many:
            return functional_call(self.module, {**parameters, **self.buffers}, (x,))

        def one(
            parameters: Tensors, buffers: Tensors, x: torch.Tensor, which: torch.Tensor
        ) -> tuple[torch.Tensor, Tensors]:
            state, self.now = {**parameters, **buffers}, which
            output, _ = logits(functional_call(self.module, state, (x,)), self.n_classes)
            # Changes in place are seen outside; what a module puts in a buffer's place is not.
            return output, {k: state[k] for k, v in buffers.items() if state[k] is not v}

        if len(rows) == 1:
            # Alone it runs as it would anywhere; grouped convolutions of one group take twice the time.
            first, own = ({k: v[0] for k, v in named.items()} for named in (parameters, self.buffers))
            output, buffers = one(first, own, x if dim is None else x[0], self.which[0])
            output, buffers = output[None], {k: v[None] for k, v in buffers.items()}
        else:
            try:
                output, buffers = vmap(one, (0, 0, dim, 0))(parameters, self.buffers, x, self.which)
            except RuntimeError as error:
                if "vmap" not in str(error) and "Batching rule" not in str(error):
                    raise
                raise ValueError(
                    f"train: {type(self.module).__name__} cannot be run for several networks at once: "
                    f"{str(error).splitlines()[0]}"
                ) from error
        self.buffers |= {k: v.detach() for k, v in buffers.items()}
        return output

    def gradient(
        self, loss: Loss, x: torch.Tensor, y: torch.Tensor, dims: tuple[int | None, int | None] = (None, None)
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Each network's loss, its gradient in the layout of ``rows``, and the outputs; ``dims`` of x and of y."""
        rows = self.rows.detach().requires_grad_()
        output = self.outputs(rows, x, dims[0])
        found = vmap(loss, (0, dims[1]))(output, y)
        (gradient,) = torch.autograd.grad(found.sum(), rows)
        return found.detach(), gradient, output.detach()

    @torch.no_grad()
    def member(self, i: int) -> nn.Module:
        """The i-th network as a module in evaluation mode, until it is called for another."""
        tensors = dict(chain(self._member.named_parameters(), self._member.named_buffers()))
        for name, values in chain(self.parameters().items(), self.buffers.items()):
            tensors[name].copy_(values[i])
        return self._member.eval()


class CachedStreams(BatchedStream):
    """As :class:`BatchedStream`; on a CPU the compiled streams, which are faster, make the same bits."""

    def words(self, purpose: str, step: int | torch.Tensor, n: int, first: int = 0) -> torch.Tensor:
        if self.device.type != "cpu" or not isinstance(step, int) or first:
            return super().words(purpose, step, n, first)
        return torch.from_numpy(self._bits(purpose, step, n).astype(np.int64))

    def mask(self, purpose: str, step: int, n: int, which: torch.Tensor, below: torch.Tensor) -> torch.Tensor:
        """As ``Stream.mask`` for the keys with numbers ``which``, where 16 bits reach ``below``; (len(which), n)."""
        if self.device.type != "cpu":
            return self.halves(purpose, step, n)[which] >= below[:, None]
        halves = self._bits(purpose, step, -(-n // 2)).view(np.uint16)[:, :n]
        return torch.from_numpy((halves if len(halves) == len(which) else halves[which]) >= below[:, None].numpy())

    def _bits(self, purpose: str, step: int, n: int) -> np.ndarray:
        keys = (self.high << 32 | self.low)[:, 0].numpy().view(np.uint64).tolist()
        return np.stack([Stream(k).bits(purpose, step, n) for k in keys])


class TorchEnsemble:
    """Trains the networks of ``members``, which agree in their :meth:`signature`. Members are numbered in their order.

    ``shared`` is what :meth:`prepare` returned; ``layers``, of networks of a user's own, are as for
    :func:`deepmech.metrics.load_curve.load_curve`. A ValueError if modules differ in structure, or draw random numbers
    by themselves.
    """

    @staticmethod
    def prepare(data: Any, dtype: str, device: str = "cpu", whole: bool = False) -> dict[str, Any]:
        """What all groups share: the training set on the device; with ``whole`` int64 samples stay as they are."""
        x, y = np.asarray(data.x_train), np.asarray(data.y_train)
        return {
            "x": torch.from_numpy(x if whole and x.dtype == np.int64 else x.astype(dtype)).to(device),
            "y": torch.from_numpy(y if data.n_classes else y.astype(dtype)).to(device),
            "n_classes": data.n_classes,
            "shape": getattr(data, "shape", x.shape[1:]),
            "dtype": getattr(torch, dtype),
            "std": float(np.std(data.x_train, dtype=np.float64)),
        }

    @staticmethod
    def module(member: Member, shared: dict[str, Any]) -> nn.Module:
        """A member's network before training."""
        return build_network(member, shared["shape"], shared["n_classes"] or 1)

    @classmethod
    def signature(cls, member: Member, shared: dict[str, Any]) -> tuple[Any, ...]:
        """What the members of an ensemble have in common."""
        return module_signature(cls.module(member, shared)), *(getattr(member.training, name) for name in COMMON)

    def __init__(
        self,
        members: Sequence[Member],
        shared: dict[str, Any],
        layers: Sequence[str] | None = None,
    ):
        self.members, self.shared = list(members), shared
        self.dtype, self.device = shared["dtype"], shared["x"].device
        self.layers = None if layers is None else list(layers)
        self.chosen: Selection | None = None
        modules = [self.module(m, shared) for m in members]
        first, n = members[0].training, len(shared["x"])
        if isinstance(members[0].network, FactoryNetwork):
            check_module(modules[0], shared["x"][:4], shared["n_classes"])
            size = n if first.batch_size is None else min(n, int(first.batch_size))
            if 1 in (size, n % size):
                check_module(modules[0], shared["x"][:1], shared["n_classes"])
        self.ensemble = ModuleEnsemble(modules, self.dtype, self.device)
        self.ensemble.n_classes = shared["n_classes"]
        self.loss, self.optimizer = LOSSES[str(first.loss)], OPTIMIZERS[str(first.optimizer)]
        # Members with the same seed see the same numbers: they are drawn once for each seed.
        keys = [m.stream.key for m in members]
        unique = list(dict.fromkeys(keys))
        self.one_of_seed = [keys.index(k) for k in unique]
        self.stream = CachedStreams(unique, self.device)
        self.seed = torch.tensor([unique.index(k) for k in keys], device=self.device)
        self.momentum = self._column([float(m.training.momentum) for m in members])
        self.decay = self._column([float(m.training.weight_decay) for m in members])
        self.memory: Tensors = {}
        self.steps, self._step, self._calls = 0, 0, Counter[int]()
        self.ensemble.which = self.seed
        self.dropouts: dict[str, Dropout] = {}
        for number, (name, part) in enumerate(dropouts(self.ensemble.module).items(), start=1):
            draw_from(name, part, partial(self._keep, number), lambda: self.ensemble.now)
            if isinstance(part, Dropout):
                self.dropouts[name] = part
                self.ensemble.buffers[f"{name}.which"] = self.seed

    def step(self, epoch: int) -> np.ndarray:
        """One pass over the training set; the mean loss over its steps, each taken before its update, per member."""
        now, n = [m.settings(epoch) for m in self.members], len(self.shared["y"])
        self._set_dropout([s.dropout for s in now])
        rate = self._column([s.learning_rate for s in now])
        noise, wrong = [s.data_noise * self.shared["std"] for s in now], [s.label_noise for s in now]
        total = torch.zeros(len(now), dtype=torch.float64, device=self.device)
        for step, index in self._batches(epoch, n):
            check_cancelled()
            self._step = step
            self._calls.clear()
            (x, x_dim), (y, y_dim) = self._inputs(noise, index), self._targets(wrong, index)
            loss, gradient, _ = self.ensemble.gradient(self.loss, x, y, (x_dim, y_dim))
            self.steps += 1
            if self.decay.any():
                self.ensemble.rows.mul_(1 - rate * self.decay)
            self.optimizer(self.ensemble.rows, gradient, rate, self.momentum, self.steps, self.memory)
            total += loss.double() * (n if index is None else index.shape[1])
        for carried in self.ensemble.buffers.values():
            if carried.ndim > 1:
                # A variance that overflows makes a unit constant: finite, and no longer what it should be.
                total[~carried.isfinite().flatten(1).all(1)] = torch.nan
        return (total / n).cpu().numpy()

    @torch.no_grad()
    @specs.in_name_of("train", "load_curve")
    def features(self, x: np.ndarray, member: int = 0) -> tuple[Any, torch.Tensor]:
        """Evaluation mode, one member: what its layers return, each (n, numbers), and the output.

        Layers by their names, unless the module says itself what its layers are.
        """
        inputs = torch.from_numpy(np.asarray(x)).to(self.device, self.shared["x"].dtype)
        module = self.ensemble.member(member)
        if isinstance(module, Network) and self.layers is None:
            *layers, output = module(inputs, every=True)
            return [h.flatten(1) for h in layers], output
        if self.chosen is None:

            def some(n: int | None) -> Pass:
                part = inputs if n is None else inputs[torch.arange(n) % len(inputs)].clone()
                return Pass(part, len(part), lambda: module(part.clone()), [part])

            self.chosen = select_layers(module, self.layers, some)
        seen: dict[str, torch.Tensor] = {}
        with LayerRecorder(module, self.chosen) as probed:
            output = probed.run(inputs, len(inputs), lambda: module(inputs.clone()), keep_features(seen))
        return {name: seen[name] for name in self.chosen.names}, logits(output, self.shared["n_classes"])[0]

    def model(self, member: int = 0) -> nn.Module:
        """One member as a module of its own, in evaluation mode; its masks come from torch's generator from now on."""
        return copy.deepcopy(self.ensemble.member(member)).cpu()

    def _column(self, values: Sequence[float]) -> torch.Tensor:
        """One number per member, shape (members, 1)."""
        return torch.tensor(values, dtype=self.dtype, device=self.device)[:, None]

    def _batches(self, epoch: int, n: int) -> Iterator[tuple[int, torch.Tensor | None]]:
        """(step, indices per seed) of each batch; None stands for all samples in their own order."""
        drawn = [list(self.members[i].batches(epoch, n)) for i in self.one_of_seed]
        if len(drawn[0]) == 1:
            yield drawn[0][0][0], None
            return
        # One copy to the device for the whole epoch.
        order = torch.from_numpy(np.stack([np.concatenate([i for _, i in one]) for one in drawn])).to(self.device)
        start = 0
        for step, index in drawn[0]:
            yield step, order[:, start : start + len(index)]
            start += len(index)

    def _of(self, samples: torch.Tensor, index: torch.Tensor | None) -> tuple[torch.Tensor, int | None]:
        """Each member's batch and 0, or one batch for all and None."""
        if index is None:
            # A network of a user's own may write into what it is given.
            return samples.clone() if isinstance(self.members[0].network, FactoryNetwork) else samples, None
        return (samples[index[0]], None) if len(index) == 1 else (samples[index[self.seed]], 0)

    def _inputs(self, noise: list[float], index: torch.Tensor | None) -> tuple[torch.Tensor, int | None]:
        """A batch, with each member's noise where there is any."""
        x, dim = self._of(self.shared["x"], index)
        if not any(noise):
            return x, dim
        n, *shape = x.shape if dim is None else x.shape[1:]
        drawn = self.stream.normal("input noise", self._step, n * int(np.prod(shape))).to(self.dtype)
        drawn = drawn.view(len(drawn), -1, n).mT.unflatten(2, shape)[self.seed]
        return x + self._column(noise).view(-1, *[1] * (drawn.ndim - 1)) * drawn, 0

    def _targets(self, wrong: list[float], index: torch.Tensor | None) -> tuple[torch.Tensor, int | None]:
        """A batch's targets; of classes, each member's share replaced by random ones."""
        y, dim = self._of(self.shared["y"], index)
        if not any(wrong) or not self.shared["n_classes"]:
            return y, dim
        n = y.shape[-1]
        below = torch.tensor([round(share * 65536) for share in wrong], dtype=torch.int32, device=self.device)
        other = torch.floor(self.stream.uniform("random label", self._step, n) * self.shared["n_classes"]).to(y.dtype)
        true = self.stream.mask("label noise", self._step, n, self.seed, below)
        return torch.where(true, y, other[self.seed]), 0

    def _set_dropout(self, rates: list[float]) -> None:
        """The rates of this epoch, unless the networks are a user's own and have theirs; what drops nothing rests."""
        buffers = self.ensemble.buffers
        for name, dropout in self.dropouts.items():
            if not isinstance(self.members[0].network, FactoryNetwork):
                for field, values in Dropout.constants(rates).items():
                    buffers[f"{name}.{field}"] = values.to(buffers[f"{name}.{field}"])
            dropout.train(bool((buffers[f"{name}.below"] > 0).any()))

    def _keep(self, number: int, which: torch.Tensor, below: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        """What the ``number``-th dropout keeps for the seeds ``which``; every call in one step has its own bits."""
        self._calls[number] += 1
        purpose = f"dropout {self._calls[number]}" + (f" of {number}" if number > 1 else "")
        return self.stream.mask(purpose, self._step, int(np.prod(shape)), which, below).view(-1, *shape)
