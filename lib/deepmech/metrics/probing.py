"""Hooks that watch the layers of a torch model while samples run through it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from deepmech.metrics.layers import INPUT, OUTPUT, use_of
from deepmech.metrics.moments import NotFinite


class LayerProbe:
    """Watches layers of a model, by name, while batches run through it; :meth:`collect` gets what they return.

    A module that is called several times in a pass has several uses, ``"name:1"``, ``"name:2"``, …; each is a layer of
    its own. With ``diverged_to_nan`` a layer whose values are not finite is noted in ``diverged``, and no error.
    """

    def __init__(
        self,
        model: nn.Module,
        layers: Sequence[str],
        pool: Callable[[Any], Any] | None = None,
        diverged_to_nan: bool = False,
    ):
        self.pool, self.diverged_to_nan = pool, diverged_to_nan
        self.diverged: set[tuple[str, int]] = set()
        self.modules = {n: m for n, m in model.named_modules() if n}
        # Name in the result -> module and use; 0 is the only one.
        self.wanted = {name: use_of(name, self.modules) for name in layers}
        watched = {module for module, _ in self.wanted.values()}
        self.watched = {n: m for n, m in self.modules.items() if n in watched}
        self.calls: dict[str, int] = {}

    def collect(self, key: tuple[str, int], features: torch.Tensor) -> None:
        """Take what a layer returned for a batch, (n, numbers)."""
        raise NotImplementedError

    @contextmanager
    def attached(self) -> Iterator[None]:
        handles = []
        try:
            for name, module in self.watched.items():
                handles.append(module.register_forward_hook(self._hook(name)))
            yield
        finally:
            for handle in handles:
                handle.remove()

    def run(self, inputs: torch.Tensor, n: int, through: Callable[[], Any]) -> Any:
        """What ``through`` returns, which takes one batch of ``n`` samples with these inputs through the model."""
        before, self.calls, self.n = self.calls, dict.fromkeys(self.watched, 0), n
        if INPUT in self.wanted:
            self._collect(INPUT, 1, inputs)
        output = through()
        if OUTPUT in self.wanted:
            self._collect(OUTPUT, 1, output)
        if silent := [name for name, calls in self.calls.items() if calls == 0]:
            raise ValueError(
                f"load_curve: layer {', '.join(map(repr, silent))} was never called in the forward pass; leave it out"
            )
        for name, (module, use) in self.wanted.items():
            calls = self.calls.get(module, 1)
            if use > calls:
                raise ValueError(f"load_curve: layer {name!r}: {module!r} is called {calls} times in a forward pass")
            if use == 0 and calls > 1:
                raise ValueError(
                    f"load_curve: layer {name!r} is called more than once in a forward pass, so it is not one layer of "
                    f"the curve; name its uses, {f'{name}:1'!r} to {f'{name}:{calls}'!r}, or other layers"
                )
        if before and before != self.calls:
            changed = next(n for n in self.calls if before[n] != self.calls[n])
            raise ValueError(
                f"load_curve: layer {changed!r} is called {before[changed]} times for one batch and "
                f"{self.calls[changed]} times for another: name layers that every sample passes equally often"
            )
        return output

    def names(self) -> dict[str, tuple[str, int]]:
        """Module and use by the layer's name, in the order of the curve."""
        return {name: (module, use or 1) for name, (module, use) in self.wanted.items()}

    def kind(self, name: str) -> str:
        """Class of the module behind a layer's name; empty for the input and the output."""
        module = self.modules.get(use_of(name, self.modules)[0])
        return "" if module is None else type(module).__name__

    def _hook(self, name: str) -> Callable[[nn.Module, tuple[Any, ...], Any], None]:
        uses = {use or 1 for module, use in self.wanted.values() if module == name}

        def hook(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            self.calls[name] += 1
            if self.calls[name] in uses:
                self._collect(name, self.calls[name], output)

        return hook

    def _collect(self, name: str, use: int, output: Any) -> None:
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
        try:
            self.collect((name, use), output.reshape(self.n, -1))
        except NotFinite as error:
            if not self.diverged_to_nan:
                raise ValueError(f"load_curve: layer {name!r}: {error}") from None
            self.diverged.add((name, use))
        except ValueError as error:
            raise ValueError(f"load_curve: layer {name!r}: {error}") from None
