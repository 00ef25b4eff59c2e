"""Evaluation of a model that leaves no trace: every state that a forward pass may change is put back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn


@contextmanager
def evaluation(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards, also after an error, everything is as it was.

    Put back are each submodule's own train/eval flag, all buffers (the averages of BatchNorm, counters), and the state
    of the random numbers: of torch on the CPU and on the model's GPUs, of the modules' own generators, of NumPy and of
    Python. Mixed precision and torch.compile are switched off inside, so that it does not matter where in a training
    step one looks. Attributes that are neither parameters, buffers nor generators, such as a plain number that
    ``forward`` counts up, cannot be guarded.

    Parameters
    ----------
    model
        Any module.

    Examples
    --------
    >>> model = nn.BatchNorm1d(3)
    >>> with evaluation(model):
    ...     model.training, torch.is_grad_enabled()
    (False, False)
    >>> model.training
    True
    """
    modules = list(model.modules())
    devices = {p.device for p in model.parameters()}
    with ExitStack() as stack:
        # The generators of Python and NumPy are touched to be left alone: a model's forward may draw from them.
        stack.callback(random.setstate, random.getstate())
        stack.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002
        stack.enter_context(torch.random.fork_rng(devices=[d for d in devices if d.type == "cuda"]))
        restore_generators(stack, [value for module in modules for value in vars(module).values()])
        for module in modules:
            stack.callback(setattr, module, "training", module.training)  # model.train() would set them all
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    stack.callback(_restore_buffer, module, name, buffer, buffer._version, buffer.detach().clone())
        if "torch._dynamo" in sys.modules:  # somebody compiles: compiled code would skip the hooks of its layers
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        model.eval()
        stack.enter_context(torch.no_grad())
        for kind in {"cpu", *(d.type for d in devices)}:
            if torch.amp.is_autocast_available(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        yield


def restore_generators(stack: ExitStack, values: list[object]) -> None:
    """Let ``stack`` put back the state of every torch generator among ``values`` when it closes."""
    generators = {id(value): value for value in values if isinstance(value, torch.Generator)}
    for generator in generators.values():
        stack.callback(generator.set_state, generator.get_state())


def unwrap(model: nn.Module) -> nn.Module:
    """The module inside torch.compile and (Distributed)DataParallel, where hooks see every layer under its own name."""
    while True:
        if isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        elif isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            model = model.module
        else:
            return model


def restore(model: nn.Module, state: Any, owner: str) -> None:
    """Load a state dict, or a file of one, into a model; of a checkpoint the part that most programs call so."""
    if isinstance(state, str | Path):
        try:
            state = torch.load(state, map_location="cpu", weights_only=True)
        except OSError:
            raise
        except Exception:  # whatever a reader of pickles meets; torch's advice is to read it all the same
            raise ValueError(
                f"{owner}: is no file of plain tensors, or holds more, which could run code when it is read; write one "
                "with torch.save(model.state_dict(), file)"
            ) from None
    for name in ("state_dict", "model_state_dict", "model"):
        state = state[name] if isinstance(state, dict) and isinstance(state.get(name), dict) else state
    try:
        model.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise ValueError(f"{owner}: does not fit the model: {' '.join(str(error).split())}") from None


def _restore_buffer(module: nn.Module, name: str, buffer: torch.Tensor, version: int, values: torch.Tensor) -> None:
    module._buffers[name] = buffer
    # Untouched buffers are not written: a pending backward pass may still need them at their version.
    if buffer._version != version:
        with torch.no_grad():
            buffer.copy_(values)
