"""Hooks that watch the layers of a torch model while samples run through it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from deepmech.metrics.moments import ClassMoments, Metric, Weights

INPUT, OUTPUT = "input", "output"

_NOT_HIDDEN = {"MultiheadAttention", "Softmax", "Softmax2d", "Softmin", "LogSoftmax"}
_ACTIVATIONS = tuple(getattr(nn, n) for n in nn.modules.activation.__all__ if n not in _NOT_HIDDEN)
_NORMALISATIONS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


class LayerProbe:
    """Watches a model while batches run through it and collects the moments of the watched layers."""

    def __init__(self, model: nn.Module, layers: list[str] | None, classes: int, metric: Metric, weights: Weights):
        self.model, self.layers = model, layers
        self.new_moments = lambda: ClassMoments(classes, metric, weights)
        self.moments: dict[str, ClassMoments] = {}  # in the order of the first call
        self.device = next((p.device for p in model.parameters()), torch.device("cpu"))
        modules = dict(model.named_modules())
        modules.pop("", None)
        if layers is None:
            self.watched = {n: m for n, m in modules.items() if isinstance(m, _ACTIVATIONS + _NORMALISATIONS)}
            if not any(isinstance(m, _ACTIVATIONS) for m in self.watched.values()):
                raise ValueError(
                    "load_curve: this model has no activation modules to choose by default; "
                    f"name the layers: {_listing(modules)}"
                )
        else:
            _check_names(layers, modules)
            self.watched = {n: modules[n] for n in layers if n not in (INPUT, OUTPUT)}

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

    def run(self, inputs: torch.Tensor, labels: torch.Tensor) -> None:
        self.calls = dict.fromkeys(self.watched, 0)
        self.labels = labels.to(self.device)
        self.normalised = False
        self.batch = inputs.to(self.device, copy=True)  # a copy: the model may work in place
        if self.layers is not None and INPUT in self.layers:
            self._collect(INPUT, self.batch)
        output = self.model(self.batch)
        if self.layers is None and not self.normalised:
            self._collect(INPUT, inputs.to(self.device))
        if self.layers is not None and OUTPUT in self.layers:
            self._collect(OUTPUT, output)
        silent = [n for n, c in self.calls.items() if c == 0 and (self.layers is not None or _hidden(self.watched[n]))]
        if silent:
            raise ValueError(
                f"load_curve: layer {', '.join(map(repr, silent))} was never called in the forward pass; "
                f"{'leave it out' if self.layers else 'give layers=[...] without it'}"
            )

    def curve(self) -> dict[str, float]:
        if self.layers is None:
            first = [n for n in self.moments if n == INPUT or not _hidden(self.watched[n])]
            names = first + [n for n in self.moments if n not in first]
        else:
            names = self.layers
        return {n: self.moments[n].separation() for n in names}

    def _hook(self, name: str):
        def hook(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            if self.layers is None and not _hidden(module):
                if not (args and _is_view(args[0], self.batch)):
                    return
                self.normalised = True
            self.calls[name] += 1
            if self.calls[name] > 1:
                raise ValueError(
                    f"load_curve: layer {name!r} is called more than once in a forward pass, so it is not one layer of "
                    "the curve; give every use a module of its own, or name other layers"
                )
            self._collect(name, output)

        return hook

    def _collect(self, name: str, output: Any) -> None:
        if not isinstance(output, torch.Tensor):
            raise ValueError(
                f"load_curve: layer {name!r} returns a {type(output).__name__}, not a tensor; name a layer inside it"
            )
        n = len(self.labels)
        if output.ndim == 0 or output.shape[0] != n:
            raise ValueError(
                f"load_curve: layer {name!r} returns shape {tuple(output.shape)}, which has no sample axis: "
                f"the first axis must have the length of the batch, {n}"
            )
        moments = self.moments.setdefault(name, self.new_moments())
        try:
            moments.update(output.reshape(n, -1), self.labels)
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


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode, with every submodule's own flag put back at the end (``model.train()`` would set them all)."""
    flags = [(m, m.training) for m in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, flag in flags:
            module.training = flag


def _check_names(layers: list[str], modules: dict[str, nn.Module]) -> None:
    if not layers:
        raise ValueError("load_curve: layers is empty; name at least one, or leave it out for the default")
    repeated = sorted({n for n in layers if layers.count(n) > 1})
    if repeated:
        raise ValueError(f"load_curve: layers names {', '.join(map(repr, repeated))} more than once")
    for name in layers:
        if name not in (INPUT, OUTPUT) and name not in modules:
            close = difflib.get_close_matches(str(name), list(modules), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"load_curve: no layer {name!r}; this model has {_listing(modules)}{hint}")


def _listing(modules: dict[str, nn.Module]) -> str:
    shown = [f"{n} ({type(m).__name__})" for n, m in list(modules.items())[:40]]
    return ", ".join([INPUT, OUTPUT, *shown, *(["…"] if len(modules) > 40 else [])])
