"""Hooks that watch the layers of a torch model while samples run through it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from deepmech.metrics.layers import BEFORE, CALL, INPUT, OUTPUT, Functions, call_of, stream
from deepmech.metrics.separation import NotFinite

Call = tuple[str, int]
"""A module's name, and which of its calls in a pass, from 1 on; negative for what enters that call."""


class LayerProbe:
    """Watches layers of a model, by name, while batches run through it; :meth:`collect` gets what they return.

    A module that is called several times in a pass makes several layers, ``"name:1"``, ``"name:2"``, …

    Parameters
    ----------
    model
        Any module.
    layers
        Names as of :func:`~deepmech.metrics.load_curve.load_curve`.
    pool
        Applied to what a layer returns.
    diverged_to_nan
        A layer whose values are not finite is noted in ``diverged``, and no error.
    """

    def __init__(
        self,
        model: nn.Module,
        layers: Sequence[str],
        pool: Callable[[Any], Any] | None = None,
        diverged_to_nan: bool = False,
    ):
        self.pool, self.diverged_to_nan = pool, diverged_to_nan
        self.diverged: set[Call] = set()
        self.modules = {n: m for n, m in model.named_modules() if n}
        # Name in the result -> module and call; 0 is the only one.
        self.wanted = {name: call_of(name, self.modules) for name in layers}
        self.calls: dict[str, int] = {}

    def collect(self, key: Call, features: torch.Tensor) -> None:
        """Take what a layer returned for a batch, (n, numbers)."""
        raise NotImplementedError

    @contextmanager
    def attached(self) -> Iterator[None]:
        """The layers are watched inside ``with``; all hooks are gone afterwards, also after an error."""
        names = dict.fromkeys(name for name, _ in self.wanted.values())
        watched = [name for name in names if name in self.modules]
        functions = [name for name in names if name.endswith(CALL) and name not in self.modules]
        self.calls = dict.fromkeys([*watched, *functions], -1)
        with ExitStack() as stack:
            for name in watched:
                enter, leave = self._hooks(name)
                stack.callback(self.modules[name].register_forward_pre_hook(enter, with_kwargs=True).remove)
                stack.callback(self.modules[name].register_forward_hook(leave).remove)
            if BEFORE in self.wanted:
                first = self.modules[watched[0]]
                stack.callback(first.register_forward_pre_hook(self._enter, with_kwargs=True).remove)
            if functions:
                stack.enter_context(Functions(self.modules, self._function))
            yield

    def run(self, inputs: torch.Tensor, n: int, through: Callable[[], Any]) -> Any:
        """What ``through`` returns, which takes one batch of ``n`` samples with these inputs through the model."""
        before, self.calls, self.n, self.entered = self.calls, dict.fromkeys(self.calls, 0), n, False
        if INPUT in self.wanted:
            self._collect(INPUT, 1, inputs)
        output = through()
        if OUTPUT in self.wanted:
            self._collect(OUTPUT, 1, output)
        if silent := [name for name, calls in self.calls.items() if calls == 0]:
            raise ValueError(
                f"load_curve: layer {', '.join(map(repr, silent))} was never called in the forward pass; leave it out"
            )
        for name, (module, call) in self.wanted.items():
            calls = self.calls.get(module, 1)
            if abs(call) > calls:
                raise ValueError(f"load_curve: layer {name!r}: {module!r} is called {calls} times in a forward pass")
            if call == 0 and calls > 1:
                raise ValueError(
                    f"load_curve: layer {name!r} is called more than once in a forward pass, so it is not one layer of "
                    f"the curve; name its calls, {f'{name}:1'!r} to {f'{name}:{calls}'!r}, or other layers"
                )
            if before.get(module, -1) not in (-1, calls):
                raise ValueError(
                    f"load_curve: layer {module!r} is called {before[module]} times for one batch and {calls} times "
                    "for another: name layers that every sample passes equally often"
                )
        return output

    def names(self) -> dict[str, Call]:
        """Module and call by the layer's name, in the order of the curve."""
        return {name: (module, call or 1) for name, (module, call) in self.wanted.items()}

    def kind(self, name: str) -> str:
        """Class of the module behind a layer's name, or the function; empty for the input and the output."""
        module = self.modules.get(at := self.wanted[name][0])
        return (at.rpartition(".")[2] if at.endswith(CALL) else "") if module is None else type(module).__name__

    def _hooks(self, name: str) -> tuple[Callable[..., None], Callable[..., None]]:
        calls = {call or 1 for module, call in self.wanted.values() if module == name}

        def enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if (call := -self.calls[name] - 1) in calls:
                self._collect(name, call, next(iter((*args, *kwargs.values())), None))

        def leave(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            self._function(name, stream(output) if isinstance(module, nn.RNNBase) and self.pool is None else output)

        return enter, leave

    def _function(self, name: str, output: Any) -> None:
        """A call of a module or of a function has ended."""
        if name in self.calls:
            self.calls[name] += 1
            if any(module == name and (call or 1) == self.calls[name] for module, call in self.wanted.values()):
                self._collect(name, self.calls[name], output)

    def _enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self.entered:
            self.entered = True
            self._collect(BEFORE, 1, (*args, *kwargs.values()))

    def _collect(self, name: str, call: int, output: Any) -> None:
        if self.pool is not None:
            output = self.pool(output)
        if not isinstance(output, torch.Tensor):
            raise ValueError(
                f"load_curve: layer {name!r} {'is pooled to' if self.pool else 'returns'} a {type(output).__name__}, "
                "not a tensor; name a layer inside it, or take the tensor out with pool="
            )
        if output.ndim == 0 or output.shape[0] != self.n:
            raise ValueError(
                f"load_curve: layer {name!r} returns shape {tuple(output.shape)}, which has no sample axis: "
                f"the first axis must have the length of the batch, {self.n}"
            )
        output = output.dequantize() if output.is_quantized else output
        output = output.full_tensor() if hasattr(output, "full_tensor") else output  # of a sharded model
        self.guarded((name, call), output.reshape(self.n, -1))

    def guarded(self, key: Call, features: torch.Tensor) -> None:
        """:meth:`collect`, with the layer's name on an error."""
        try:
            self.collect(key, features)
        except ValueError as error:
            if not (self.diverged_to_nan and isinstance(error, NotFinite)):
                raise ValueError(f"load_curve: layer {key[0]!r}: {error}") from None
            self.diverged.add(key)
