"""Which layers of a model a load curve runs over, where nobody names them: found by one pass that only looks."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

INPUT, OUTPUT = "input", "output"

_NOT_HIDDEN = {"MultiheadAttention", "Softmax", "Softmax2d", "Softmin", "LogSoftmax"}
_ACTIVATIONS = tuple(getattr(nn, n) for n in nn.modules.activation.__all__ if n not in _NOT_HIDDEN)
_NORMALISATIONS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
BLOCKS = "blocks"
BEFORE = "before blocks"
"""Name of what enters the first block."""

# Activation classes outside torch.nn go by their names: NewGELUActivation, QuickGELU, Swish, HardMish, …
_ACTIVATION_NAME = re.compile(r"(relu|gelu|silu|swish|mish|tanh|sigmoid|elu|softplus|snake|activation)", re.I)
_NO_ACTIVATION = re.compile(r"linearactivation|softmax", re.I)
_FUNCTIONS = {
    *("relu", "relu_", "relu6", "leaky_relu", "leaky_relu_", "prelu", "rrelu", "elu", "elu_", "selu", "selu_", "celu"),
    *("gelu", "silu", "mish", "glu", "tanh", "tanh_", "sigmoid", "sigmoid_", "hardtanh", "hardswish", "hardsigmoid"),
    *("softplus", "softsign", "logsigmoid", "tanhshrink", "softshrink", "hardshrink", "threshold"),
}
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


@dataclass(frozen=True)
class Selection:
    """The layers of a curve by name, and in words what of the model they leave out.

    ``blocks`` tells that they are blocks, whose outputs may be tuples, and that the curve begins with what enters the
    first of them.
    """

    names: tuple[str, ...]
    left_out: str = ""
    blocks: bool = False


def is_activation(module: nn.Module) -> bool:
    """Whether a module is an activation, torch's own or by its name somebody else's.

    Examples
    --------
    >>> class QuickGELU(nn.Module): pass
    >>> [is_activation(module) for module in (QuickGELU(), nn.PReLU(), nn.Softmax(1), nn.Linear(1, 1))]
    [True, True, False, False]
    """
    if isinstance(module, _ACTIVATIONS):
        return True
    kind = type(module).__name__
    plain = not any(True for _ in module.children()) and all(p.ndim < 2 for p in module.parameters())
    return plain and bool(_ACTIVATION_NAME.search(kind)) and not _NO_ACTIVATION.search(kind)


def is_fully_connected(model: nn.Module) -> bool:
    """Whether a model is a stack of three or more equal hidden layers in ``nn.Sequential``: linear maps,
    normalisations, activations and dropout.

    Of other classes of modules nobody can say from outside what ``forward`` adds up.

    Parameters
    ----------
    model
        Any module.

    Returns
    -------
    bool

    Examples
    --------
    >>> layers = [part for width in (5, 8, 8) for part in (nn.Linear(width, 8), nn.ReLU())]
    >>> is_fully_connected(nn.Sequential(*layers, nn.Linear(8, 2))), is_fully_connected(nn.Sequential(*layers[:4]))
    (True, False)
    """
    parts = (nn.Sequential, nn.Linear, nn.BatchNorm1d, nn.LayerNorm, nn.Dropout, nn.Flatten, nn.Identity, nn.Softmax)
    modules = list(model.modules())
    hidden = [m for m in modules if isinstance(m, nn.Linear)][1:-1]
    equal = len(hidden) >= 2 and len({size for m in hidden for size in (m.in_features, m.out_features)}) == 1
    return equal and all(isinstance(module, parts) or is_activation(module) for module in modules)


def choose(
    model: nn.Module, layers: Sequence[str] | str | None, run: Callable[[], Any], main: torch.Tensor | None
) -> Selection:
    """The layers of a load curve.

    Parameters
    ----------
    model
        Any module.
    layers
        Names, ``"blocks"``, or None for the input and all activation modules.
    run
        Takes one batch through the model; needed unless layers are given by name.
    main
        The tensor of that batch that counts as the input.

    Returns
    -------
    Selection

    Raises
    ------
    ValueError
        For names that are not there, a default that finds nothing, and whole numbers as a layer.

    Examples
    --------
    >>> model, x = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)), torch.zeros(1, 3)
    >>> choose(model, None, lambda: model(x), x).names
    ('input', '1')
    """
    modules = {name: module for name, module in model.named_modules() if name}
    if layers is None and not any(map(is_activation, modules.values())):
        raise ValueError(
            "load_curve: this model has no activation modules to choose by default; "
            f"name the layers, or give layers='blocks': {_listing(modules)}"
        )
    if layers is None or layers == BLOCKS:
        with _CallLog(modules) as seen:
            seen.output = run()
        return _default(modules, seen, main) if layers is None else _blocks(modules, seen)
    _check_names(list(layers), modules)
    if INPUT in layers:
        _demand_real(main)
    return Selection(tuple(layers))


def _demand_real(main: torch.Tensor | None) -> None:
    if main is None:
        raise ValueError(f"load_curve: layer {INPUT!r}: no tensor in the batch is known to be the input; leave it out")
    if not main.is_floating_point():
        raise ValueError(
            f"load_curve: layer {INPUT!r}: the input is of type {main.dtype}. The distance between two token numbers "
            f"means nothing: leave {INPUT!r} out, and begin with the embedding. (Whole numbers that are quantities, "
            "such as pixels: give them as floating point numbers.)"
        )


class _CallLog(TorchFunctionMode):
    """Writes down which modules are called, in which order and by which activation functions, in one pass."""

    def __init__(self, modules: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.modules = modules
        self.calls: list[tuple[str, Any]] = []  # module and first argument, in the order in which calls end
        self.inside: list[str] = []
        self.functions: list[tuple[str, str, Any]] = []  # function, module around it, result
        self.output: Any = None
        self.handles: list[Any] = []

    def __enter__(self) -> _CallLog:
        for name, module in self.modules.items():
            self.handles.append(module.register_forward_pre_hook(lambda *_, name=name: self.inside.append(name)))
            self.handles.append(module.register_forward_hook(self._end(name), with_kwargs=True))
        super().__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        super().__exit__(*failure)
        for handle in self.handles:
            handle.remove()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") in _FUNCTIONS:
            around = self.inside[-1] if self.inside else ""
            if not around or not is_activation(self.modules[around]):
                self.functions.append((func.__name__.removesuffix("_"), around, result))
        return result

    def _end(self, name: str) -> Callable[..., None]:
        def end(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            self.inside.pop()
            self.calls.append((name, next(iter((*args, *kwargs.values())), None)))

        return end

    def named(self, keep: Callable[[str, Any], bool]) -> list[str]:
        """Calls of modules by the names of layers: with the number of the call where a module has several."""
        often, so_far, out = Counter(name for name, _ in self.calls), Counter[str](), []
        for name, first in self.calls:
            so_far[name] += 1
            if keep(name, first):
                out.append(f"{name}:{so_far[name]}" if often[name] > 1 else name)
        return out


def _default(modules: Mapping[str, nn.Module], seen: _CallLog, main: torch.Tensor | None) -> Selection:
    """The input, or what a normalisation or an embedding makes of it, and every activation module in order."""
    active = {name for name, module in modules.items() if is_activation(module)}
    called = {name for name, _ in seen.calls}
    if silent := [name for name in modules if name in active and name not in called]:
        raise ValueError(
            f"load_curve: layer {', '.join(map(repr, silent))} was never called in the forward pass; "
            "give layers=[...] without it"
        )
    real = main is not None and main.is_floating_point()
    kinds = _NORMALISATIONS if real else (nn.Embedding, nn.EmbeddingBag)

    def on_input(name: str, first: Any) -> bool:
        return main is not None and isinstance(modules[name], kinds) and _is_view(first, main)

    first = seen.named(on_input) or ([INPUT] if real else [])
    return Selection((*first, *seen.named(lambda name, _: name in active)), _unseen(modules, seen, active))


def _unseen(modules: Mapping[str, nn.Module], seen: _CallLog, active: set[str]) -> str:
    """What a curve over activation modules leaves out."""
    link = ("sigmoid", seen.output)  # makes probabilities of what the model returns; no layer
    hidden = [(f"{w}()", around) for w, around, made in seen.functions if not (w == link[0] and made is link[1])]
    hidden += [(type(modules[n]).__name__, n) for n, _ in seen.calls if isinstance(modules[n], nn.RNNBase)]
    if not hidden:
        return ""
    total = len(hidden) + sum(name in active for name, _ in seen.calls)
    places = [f"{what} in {f'{around!r}' if around else 'the model itself'}" for what, around in dict.fromkeys(hidden)]
    more = f" and {len(places) - 4} other places" if len(places) > 4 else ""
    return (
        f"{len(hidden)} of {total} activations are not modules and are left out ({', '.join(places[:4])}{more}): "
        "name layers that hold them, or give layers='blocks'"
    )


def _blocks(modules: dict[str, nn.Module], seen: _CallLog) -> Selection:
    """The repeated blocks: modules of one class, the outermost that repeats, from which features go to the next."""
    calls = Counter(name for name, _ in seen.calls)
    whole = {n: m for n, m in modules.items() if calls[n] and any(True for _ in m.children())}
    kinds: dict[type, list[str]] = {}
    for name, module in whole.items():
        if not isinstance(module, _CONTAINERS):
            kinds.setdefault(type(module), []).append(name)

    def times(kind: type) -> int:
        return sum(calls[name] for name in kinds[kind])

    # Three layers make a curve: an encoder and a decoder are no blocks if there are blocks in them.
    repeated: list[type] = []
    for least in (2, 3):
        repeated = [k for k in kinds if times(k) >= least] or repeated
    outer = [k for k in repeated if not any(_inside(n, kinds[o]) for n in kinds[k] for o in repeated)]
    names = kinds[max(outer, key=times)] if outer else []
    while inner := [k for k in repeated if times(k) > sum(calls[n] for n in names) and _only_hold(modules, names, k)]:
        names = kinds[inner[0]]  # a stage that holds nothing but blocks
    if not names:  # plain nn.Sequential, side by side in one parent
        parents: dict[str, list[str]] = {}
        for name, module in whole.items():
            if isinstance(module, nn.Sequential) and any(True for _ in module.parameters()):
                parents.setdefault(name.rpartition(".")[0], []).append(name)
        names = max(parents.values(), key=len, default=[])
    found = seen.named(lambda name, _: name in names)
    if len(found) < 2:
        listing = _listing(modules)
        raise ValueError(f"load_curve: layers = 'blocks': no blocks are repeated here; name the layers: {listing}")
    return Selection((BEFORE, *found), blocks=True)


def _inside(name: str, others: Sequence[str]) -> bool:
    return any(name.startswith(f"{other}.") for other in others)


def _only_hold(modules: Mapping[str, nn.Module], names: Sequence[str], kind: type) -> bool:
    """Whether modules have no parameters but those of modules of class ``kind`` in a list of theirs."""
    for name in names:
        for child in modules[name].children():
            held = list(child.children()) if isinstance(child, _CONTAINERS) else []
            if any(True for _ in child.parameters()) and not (held and all(isinstance(m, kind) for m in held)):
                return False
    return bool(names)


def stream(output: Any) -> Any:
    """The features that a block hands on: the tensor that it returns, or the first of several."""
    if isinstance(output, Mapping):
        output = tuple(output.values())
    if isinstance(output, tuple | list):
        return next((v for v in output if isinstance(v, torch.Tensor)), output)
    return output


@contextmanager
def plain_attention(model: nn.Module) -> Iterator[None]:
    """nn.TransformerEncoder computes layer by layer, with its layers' own modules and for masked tokens, too.

    Its fast path skips the modules inside, and packs the tokens that a padding mask leaves into one nested tensor.
    """
    fast = torch.backends.mha.get_fastpath_enabled()
    if fast and any(isinstance(m, nn.TransformerEncoder | nn.TransformerEncoderLayer) for m in model.modules()):
        torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def call_of(name: str, modules: dict[str, nn.Module]) -> tuple[str, int]:
    """``"act:2"`` is the second call of module ``act``; a plain name, call 0, stands for the only one."""
    module, colon, call = name.rpartition(":")
    if name not in modules and colon and module in modules and call.isdecimal() and int(call) > 0:
        return module, int(call)
    return name, 0


def _is_view(value: Any, of: torch.Tensor) -> bool:
    """Whether ``value`` is ``of`` or a reshaped view of it (nn.Flatten gives one)."""
    return (
        isinstance(value, torch.Tensor)
        and value.numel() == of.numel()
        and value.untyped_storage().data_ptr() == of.untyped_storage().data_ptr()
    )


def _check_names(layers: list[str], modules: dict[str, nn.Module]) -> None:
    if not layers:
        raise ValueError("load_curve: layers is empty; name at least one, or leave it out for the default")
    repeated = sorted({n for n in layers if layers.count(n) > 1})
    if repeated:
        raise ValueError(f"load_curve: layers names {', '.join(map(repr, repeated))} more than once")
    for name in layers:
        if name not in (INPUT, OUTPUT) and (not isinstance(name, str) or call_of(name, modules)[0] not in modules):
            close = difflib.get_close_matches(str(name), list(modules), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"load_curve: no layer {name!r}; this model has {_listing(modules)}{hint}")


def _listing(modules: dict[str, nn.Module]) -> str:
    shown = [f"{n} ({type(m).__name__})" for n, m in list(modules.items())[:40]]
    return ", ".join([INPUT, OUTPUT, *shown, *(["…"] if len(modules) > 40 else [])])
