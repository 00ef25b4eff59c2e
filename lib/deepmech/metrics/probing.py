"""Hooks that watch the layers of a torch model while samples run through it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from deepmech.metrics.moments import ClassMoments, Metric, NotFinite, Weights

INPUT, OUTPUT = "input", "output"

_NOT_HIDDEN = {"MultiheadAttention", "Softmax", "Softmax2d", "Softmin", "LogSoftmax"}
_ACTIVATIONS = tuple(getattr(nn, n) for n in nn.modules.activation.__all__ if n not in _NOT_HIDDEN)
_NORMALISATIONS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


class LayerProbe:
    """Watches a model while batches run through it and collects the moments of the watched layers.

    A module that is called several times in a pass has several uses, ``"name:1"``, ``"name:2"``, …; each is a layer of
    the curve. With ``diverged_to_nan`` a layer whose values are not finite becomes nan instead of an error.
    """

    def __init__(
        self,
        model: nn.Module,
        layers: list[str] | None,
        classes: int,
        metric: Metric,
        weights: Weights,
        pool: Callable[[Any], Any] | None = None,
        diverged_to_nan: bool = False,
    ):
        self.model, self.layers, self.pool, self.diverged_to_nan = model, layers, pool, diverged_to_nan
        self.new_moments = lambda: ClassMoments(classes, metric, weights)
        self.moments: dict[tuple[str, int], ClassMoments] = {}
        self.found: dict[tuple[str, int], None] = {}  # names and uses, in the order of the first call
        self.diverged: set[tuple[str, int]] = set()
        self.modules = dict(model.named_modules())
        self.modules.pop("", None)
        parameters = dict(model.named_parameters())
        self.device = next((p.device for p in parameters.values()), torch.device("cpu"))
        if lazy := [n for n, p in parameters.items() if nn.parameter.is_lazy(p)]:
            raise ValueError(
                f"load_curve: {lazy[0]!r} has no shape yet, and the first pass would draw it: "
                "run one batch through the model before"
            )
        self.wanted: dict[str, tuple[str, int]] = {}  # name in the result -> module and use; 0 is the only one
        if layers is None:
            self.watched = {n: m for n, m in self.modules.items() if isinstance(m, _ACTIVATIONS + _NORMALISATIONS)}
            if not any(isinstance(m, _ACTIVATIONS) for m in self.watched.values()):
                raise ValueError(
                    "load_curve: this model has no activation modules to choose by default; "
                    f"name the layers: {_listing(self.modules)}"
                )
        else:
            _check_names(layers, self.modules)
            self.wanted = {n: _use(n, self.modules) for n in layers}
            named = {n for n, _ in self.wanted.values()} - {INPUT, OUTPUT}
            self.watched = {n: m for n, m in self.modules.items() if n in named}

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

    def run(self, inputs: torch.Tensor, labels: torch.Tensor) -> Any:
        """One batch through the model; what the model returns."""
        before = getattr(self, "calls", None)
        self.calls = dict.fromkeys(self.watched, 0)
        self.labels = labels.to(self.device)
        self.normalised = False
        self.batch = inputs.to(self.device, copy=True)  # a copy: the model may work in place
        if INPUT in self.wanted:
            self._collect(INPUT, 1, self.batch)
        output = self.model(self.batch)
        if self.layers is None and not self.normalised:
            self._collect(INPUT, 1, inputs.to(self.device))
        if OUTPUT in self.wanted:
            self._collect(OUTPUT, 1, output)
        silent = [n for n, c in self.calls.items() if c == 0 and (self.layers is not None or _hidden(self.watched[n]))]
        if silent:
            raise ValueError(
                f"load_curve: layer {', '.join(map(repr, silent))} was never called in the forward pass; "
                f"{'leave it out' if self.layers else 'give layers=[...] without it'}"
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
        if before is not None and before != self.calls:
            changed = next(n for n in self.calls if before[n] != self.calls[n])
            raise ValueError(
                f"load_curve: layer {changed!r} is called {before[changed]} times for one batch and "
                f"{self.calls[changed]} times for another: name layers that every sample passes equally often"
            )
        return output

    def names(self) -> dict[str, tuple[str, int]]:
        """Module and use by the layer's name, in the order of the curve."""
        if self.layers is not None:
            return {k: (n, use or 1) for k, (n, use) in self.wanted.items()}
        first = [k for k in self.found if k[0] == INPUT or not _hidden(self.watched[k[0]])]
        found = first + [k for k in self.found if k not in first]
        often = {n for n, use in found if use > 1}
        return {f"{n}:{use}" if n in often else n: (n, use) for n, use in found}

    def curve(self) -> dict[str, float]:
        """Separation by layer name, in the order of the curve."""
        return {
            k: float("nan") if at in self.diverged else self.moments[at].separation() for k, at in self.names().items()
        }

    def collect(self, key: tuple[str, int], features: torch.Tensor) -> None:
        """Take what the layer returned for a batch, (n, numbers)."""
        self.moments.setdefault(key, self.new_moments()).update(features, self.labels)

    def kind(self, name: str) -> str:
        """Class of the module behind a layer's name; empty for the input and the output."""
        module = self.modules.get(_use(name, self.modules)[0])
        return "" if module is None else type(module).__name__

    def _hook(self, name: str) -> Callable[[nn.Module, tuple[Any, ...], Any], None]:
        uses = {use or 1 for module, use in self.wanted.values() if module == name}

        def hook(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            if self.layers is None and not _hidden(module):
                if not (args and _is_view(args[0], self.batch)):
                    return
                self.normalised = True
            self.calls[name] += 1
            if self.layers is None or self.calls[name] in uses:
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
        n = len(self.labels)
        if output.ndim == 0 or output.shape[0] != n:
            raise ValueError(
                f"load_curve: layer {name!r} returns shape {tuple(output.shape)}, which has no sample axis: "
                f"the first axis must have the length of the batch, {n}"
            )
        self.found[name, use] = None
        try:
            self.collect((name, use), output.reshape(n, -1))
        except NotFinite as error:
            if not self.diverged_to_nan:
                raise ValueError(f"load_curve: layer {name!r}: {error}") from None
            self.diverged.add((name, use))
        except ValueError as error:
            raise ValueError(f"load_curve: layer {name!r}: {error}") from None


def _hidden(module: nn.Module) -> bool:
    return isinstance(module, _ACTIVATIONS)


def _is_view(value: Any, of: torch.Tensor) -> bool:
    """Whether ``value`` is ``of`` or a reshaped view of it (nn.Flatten gives one)."""
    return (
        isinstance(value, torch.Tensor)
        and value.numel() == of.numel()
        and value.untyped_storage().data_ptr() == of.untyped_storage().data_ptr()
    )


def _use(name: str, modules: dict[str, nn.Module]) -> tuple[str, int]:
    """``"act:2"`` is the second use of module ``act``; a plain name, use 0, stands for the only one."""
    module, colon, use = name.rpartition(":")
    if name not in modules and colon and module in modules and use.isdecimal() and int(use) > 0:
        return module, int(use)
    return name, 0


def _check_names(layers: list[str], modules: dict[str, nn.Module]) -> None:
    if not layers:
        raise ValueError("load_curve: layers is empty; name at least one, or leave it out for the default")
    repeated = sorted({n for n in layers if layers.count(n) > 1})
    if repeated:
        raise ValueError(f"load_curve: layers names {', '.join(map(repr, repeated))} more than once")
    for name in layers:
        if name not in (INPUT, OUTPUT) and (not isinstance(name, str) or _use(name, modules)[0] not in modules):
            close = difflib.get_close_matches(str(name), list(modules), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"load_curve: no layer {name!r}; this model has {_listing(modules)}{hint}")


def _listing(modules: dict[str, nn.Module]) -> str:
    shown = [f"{n} ({type(m).__name__})" for n, m in list(modules.items())[:40]]
    return ", ".join([INPUT, OUTPUT, *shown, *(["…"] if len(modules) > 40 else [])])
