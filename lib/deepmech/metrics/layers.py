"""Which layers of a model a load curve runs over, where nobody names them: found by one pass that only looks."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from deepmech.core import specs

INPUT, OUTPUT = "input", "output"

_NOT_HIDDEN = {"MultiheadAttention", "Softmax", "Softmax2d", "Softmin", "LogSoftmax"}
_ACTIVATIONS = tuple(getattr(nn, n) for n in nn.modules.activation.__all__ if n not in _NOT_HIDDEN)
_NORMALISATIONS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
BLOCKS = "blocks"
BEFORE = "before blocks"
"""Name of what enters the first block."""
ENTRY = "before "
"""How names of points begin that are what enters a module."""
CALL = "()"
"""How names of layers end that are calls of functions, ``"block1.relu()"``."""

# Activation classes outside torch.nn go by their names: NewGELUActivation, QuickGELU, Swish, HardMish, …
_ACTIVATION_NAME = re.compile(r"(relu|gelu|silu|swish|mish|tanh|sigmoid|elu|softplus|snake|activation)", re.I)
_NO_ACTIVATION = re.compile(r"linearactivation|softmax", re.I)
_FUNCTIONS = {
    *("relu", "relu_", "relu6", "leaky_relu", "leaky_relu_", "prelu", "rrelu", "elu", "elu_", "selu", "selu_", "celu"),
    *("gelu", "silu", "mish", "glu", "tanh", "tanh_", "sigmoid", "sigmoid_", "hardtanh", "hardswish", "hardsigmoid"),
    *("softplus", "softsign", "logsigmoid", "tanhshrink", "softshrink", "hardshrink", "threshold"),
}
FULLY_CONNECTED = "fully connected, equal layers"
"""The architecture for which paper A drew its phase diagram."""
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


@dataclass(frozen=True)
class Selection:
    """The layers of a curve by name, and in words what of the model they leave out.

    ``blocks`` tells that they are blocks, whose outputs may be tuples, and that the curve begins with what enters the
    first of them. ``points``, where they were asked for, lead from each layer to the next: (layer that they lead to,
    point, kind of the step that ends there), the last of each being the layer.
    """

    names: tuple[str, ...]
    left_out: str = ""
    blocks: bool = False
    points: tuple[tuple[str, str, str], ...] = ()


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


def describe(model: nn.Module) -> str:
    """What kind of network a model is, as far as its modules tell; empty where they do not.

    It is fully connected if it is a stack of three or more equal hidden layers in ``nn.Sequential``: linear maps,
    normalisations, activations and dropout. Of other classes nobody can say from outside what ``forward`` adds up.

    Examples
    --------
    >>> describe(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())), describe(nn.TransformerEncoderLayer(8, 2))
    ('convolutional', 'built of attention')
    >>> layers = [part for width in (5, 8, 8) for part in (nn.Linear(width, 8), nn.ReLU())]
    >>> describe(nn.Sequential(*layers, nn.Linear(8, 2))), describe(nn.Sequential(*layers[:4]))
    ('fully connected, equal layers', '')
    """
    parts = (nn.Sequential, nn.Linear, nn.BatchNorm1d, nn.LayerNorm, nn.Dropout, nn.Flatten, nn.Identity, nn.Softmax)
    modules = list(model.modules())
    hidden = [m for m in modules if isinstance(m, nn.Linear)][1:-1]
    equal = len(hidden) >= 2 and len({size for m in hidden for size in (m.in_features, m.out_features)}) == 1
    kinds = " ".join(type(m).__name__.lower() for m in modules)
    known = {
        FULLY_CONNECTED: equal and all(isinstance(m, parts) or is_activation(m) for m in modules),
        "built of attention": "attention" in kinds,
        "recurrent": any(isinstance(m, nn.RNNBase | nn.RNNCellBase) for m in modules),
        "convolutional": "conv" in kinds,
    }
    return next((word for word, there in known.items() if there), "")


def choose(
    model: nn.Module,
    layers: Sequence[str] | str | None,
    run: Callable[[], Any],
    main: torch.Tensor | None,
    parts: bool = False,
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
    parts
        Find the points on the way from layer to layer, too.

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
    named = layers is not None and layers != BLOCKS
    if isinstance(model, torch.jit.ScriptModule) and not set(layers or [BLOCKS]) <= {INPUT, OUTPUT}:
        raise ValueError(
            "load_curve: a scripted module (torch.jit) computes out of sight, no layer of it can be watched: measure "
            "what it was made from, original.load_state_dict(scripted.state_dict()); load_curve(original, …), or its "
            "ends, layers=['input', 'output']"
        )
    if named:
        _check_names(list(layers or ()), modules)
        if INPUT in (layers or ()) and (main is None or not main.is_floating_point()):
            raise ValueError(
                f"load_curve: layer {INPUT!r}: the input is of type {getattr(main, 'dtype', None)}. The distance "
                f"between two token numbers means nothing: leave {INPUT!r} out, and begin with the embedding. (Whole "
                "numbers that are quantities, such as pixels: give them as floating point numbers.)"
            )
        if not parts:
            return Selection(tuple(layers or ()))
    with _CallLog(modules) as seen:
        seen.output = run()
    found = Selection(tuple(layers or ())) if named else (_blocks if layers else _default)(modules, seen, main)
    return replace(found, points=tuple(_points(found.names, modules, seen, main))) if parts else found


class Functions(TorchFunctionMode):
    """Tells of every activation function that is called outside of activation modules: ``called(name, result)``.

    Its name is that of the module around it and its own: ``"block1.relu()"``, or ``"relu()"`` in the model itself.
    """

    def __init__(self, modules: Mapping[str, nn.Module], called: Callable[[str, Any], None]) -> None:
        super().__init__()
        self.modules = {n: m for n, m in modules.items() if not isinstance(m, torch.jit.ScriptModule)}  # take no hooks
        self.called = called
        self.inside: list[str] = []
        self.handles: list[Any] = []

    def __enter__(self) -> Self:
        for name, module in self.modules.items():
            self.handles.append(module.register_forward_pre_hook(lambda *_, name=name: self.inside.append(name)))
            self.handles.append(module.register_forward_hook(lambda *_: self.inside.pop() and None))
        super().__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        super().__exit__(*failure)
        for handle in self.handles:
            handle.remove()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        function = getattr(func, "__name__", "").partition(".")[0]
        if function in _FUNCTIONS:
            around = self.inside[-1] if self.inside else ""
            if not around or not is_activation(self.modules[around]):
                self.called(f"{around}.{function.removesuffix('_')}{CALL}".lstrip("."), result)
        return result


@dataclass
class _Event:
    """The end of a call of a module, or of an activation function."""

    name: str
    first: Any  # argument
    made: Any
    inside: tuple[str, ...]  # modules around it


class _CallLog(Functions):
    """Writes down which modules and activation functions are called, in the order in which calls end, in one pass."""

    def __init__(self, modules: Mapping[str, nn.Module]) -> None:
        super().__init__(modules, self._function)
        self.calls: list[_Event] = []
        self.output: Any = None

    def __enter__(self) -> Self:
        for name, module in self.modules.items():  # before the hooks by which calls end
            self.handles.append(module.register_forward_hook(self._end(name), with_kwargs=True))
        return super().__enter__()

    def _function(self, name: str, made: Any) -> None:
        self.calls.append(_Event(name, None, made, tuple(self.inside)))

    def _end(self, name: str) -> Callable[..., None]:
        def end(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            first = next(iter((*args, *kwargs.values())), None)
            self.calls.append(_Event(name, first, output, tuple(self.inside[:-1])))

        return end

    def named(self, keep: Callable[[_Event], bool]) -> dict[str, int]:
        """Calls by the names of layers, with the number of the call where there are several, and their places."""
        often, so_far, out = Counter(call.name for call in self.calls), Counter[str](), {}
        for at, call in enumerate(self.calls):
            so_far[call.name] += 1
            if keep(call):
                out[f"{call.name}:{so_far[call.name]}" if often[call.name] > 1 else call.name] = at
        return out


def _default(modules: Mapping[str, nn.Module], seen: _CallLog, main: torch.Tensor | None) -> Selection:
    """The input, or what a normalisation or an embedding makes of it, and every activation in order."""
    active = {name for name, module in modules.items() if is_activation(module)}
    called = {call.name for call in seen.calls}
    if silent := [name for name in modules if name in active and name not in called]:
        raise ValueError(
            f"load_curve: layer {', '.join(map(repr, silent))} was never called in the forward pass; "
            "give layers=[...] without it"
        )
    real = main is not None and main.is_floating_point()
    kinds = _NORMALISATIONS if real else (nn.Embedding, nn.EmbeddingBag)

    def on_input(call: _Event) -> bool:
        return main is not None and isinstance(modules.get(call.name), kinds) and _is_view(call.first, main)

    def hidden(call: _Event) -> bool:
        if call.name.endswith(CALL):  # a sigmoid at the very end makes probabilities of what the model returns
            return not (call.name.endswith(f"sigmoid{CALL}") and call.made is seen.output)
        return call.name in active

    found = seen.named(hidden)
    if not found:
        trained = {name for name, m in modules.items() if next(m.parameters(recurse=False), None) is not None}
        own = seen.named(lambda call: call.name in trained)
        raise ValueError(
            "load_curve: this model has no activation to choose by default; give layers='blocks', or name the layers, "
            f"layers={[*([INPUT] if real else []), *own]}, say; there are {_listing(modules)}"
        )
    first = list(seen.named(on_input)) or ([INPUT] if real else [])
    return Selection((*first, *found), _unseen(modules, seen, len(found)))


def _unseen(modules: Mapping[str, nn.Module], seen: _CallLog, found: int) -> str:
    """What a curve over activations leaves out: those inside of modules that compute out of sight."""
    called = {call.name for call in seen.calls}
    recurrent = [name for name, module in modules.items() if name in called and isinstance(module, nn.RNNBase)]
    scripted = [name for name, module in modules.items() if isinstance(module, torch.jit.ScriptModule)]
    hidden = [*recurrent, *(name for name in scripted if not _inside(name, scripted))]
    if not hidden:
        return ""
    places = ", ".join(f"{type(modules[n]).__name__} {n!r}" for n in hidden[: specs.FEW])
    remedy = f": layers=[…, {recurrent[0]!r}, …] takes what it returns" if recurrent else ""
    return f"what {places} computes inside is out of sight and left out, beside {found} activations{remedy}"


def _blocks(modules: dict[str, nn.Module], seen: _CallLog, main: torch.Tensor | None) -> Selection:
    """The repeated blocks: modules of one class, the outermost that repeats, from which features go to the next."""
    calls = Counter(call.name for call in seen.calls)
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
    found = seen.named(lambda call: call.name in names)
    if len(found) < 2:
        listing = _listing(modules)
        raise ValueError(f"load_curve: layers = 'blocks': no blocks are repeated here; name the layers: {listing}")
    return Selection((BEFORE, *found), blocks=True)


#: Kinds of steps between layers, by a word in the name of a module's class; what none of them does is an addition, or
#: whatever else stands between modules.
KINDS = {
    "attention": "attention",
    "norm": "normalisation",
    "pool": "pooling",
    "linear": "linear map",
    "conv": "linear map",
}
ADDITION = "addition"


def _kind(name: str, modules: Mapping[str, nn.Module]) -> str:
    if name.endswith(CALL) or is_activation(modules[name]):
        return "activation"
    kind = type(modules[name]).__name__.lower()
    return next((word for part, word in KINDS.items() if part in kind), "other modules")


def _points(
    names: Sequence[str], modules: Mapping[str, nn.Module], seen: _CallLog, main: torch.Tensor | None
) -> Iterator[tuple[str, str, str]]:
    """Points on the way from each layer to the next: what modules without parts return, and what enters one of them if
    that is not what the one before returned."""
    n = None if main is None else len(main)
    label = {at: name for name, at in seen.named(lambda call: True).items()}
    units = {name for name, module in modules.items() if _kind(name, modules) == "attention"}
    whole = {name for call in seen.calls for name in call.inside} - units
    ends = {name: (at, seen.calls[at].made) for at, name in label.items()}
    ends |= {INPUT: (-1, main), OUTPUT: (len(seen.calls), seen.output)}
    if BEFORE in names:
        begin = next(
            at for at, call in enumerate(seen.calls) if names[1].partition(":")[0] in (call.name, *call.inside)
        )
        ends[BEFORE] = begin - 1, seen.calls[ends[names[1]][0]].first
    for before, layer in pairwise(names):
        (start, made), (end, last) = ends[before], ends[layer]
        steps, made = list[tuple[str, str]](), stream(made)
        for at in range(start + 1, min(end + 1, len(seen.calls))):
            call, enters, leaves = seen.calls[at], stream(seen.calls[at].first), stream(seen.calls[at].made)
            if call.name in whole or not units.isdisjoint(call.inside) or not _measurable(leaves, n):
                continue
            if _measurable(enters, n) and not _is_view(enters, made):
                steps.append((f"{ENTRY}{label[at]}", ADDITION))
            steps.append((label[at], _kind(call.name, modules)))
            made = leaves
        if steps and steps[-1][0] != layer and isinstance(made, torch.Tensor) and _is_view(stream(last), made):
            steps[-1] = layer, steps[-1][1]
        if not steps or steps[-1][0] != layer:
            steps.append((layer, ADDITION))
        yield from ((layer, *step) for step in steps)


def _measurable(value: Any, n: int | None) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.ndim > 1 and n in (None, len(value))


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
    """``"act:2"`` is the second call of module ``act``; a plain name, call 0, stands for the only one.

    ``"before act:2"`` is what enters that call, call −2.
    """
    if name.startswith(ENTRY) and name != BEFORE:
        module, call = call_of(name.removeprefix(ENTRY), modules)
        return module, -max(call, 1)
    module, colon, number = name.rpartition(":")
    known = module in modules or module.endswith(CALL)
    if name not in modules and colon and known and number.isdecimal() and int(number) > 0:
        return module, int(number)
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
        if name in (INPUT, OUTPUT) or (isinstance(name, str) and call_of(name, modules)[0].endswith(CALL)):
            continue
        if not isinstance(name, str) or call_of(name, modules)[0] not in modules:
            close = difflib.get_close_matches(str(name), list(modules), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"load_curve: no layer {name!r}; this model has {_listing(modules)}{hint}")
        if isinstance(modules[call_of(name, modules)[0]], torch.jit.ScriptModule):
            raise ValueError(f"load_curve: layer {name!r} is scripted (torch.jit), and cannot be watched: name others")


def _listing(modules: Mapping[str, nn.Module]) -> str:
    shown = [f"{n} ({type(m).__name__})" for n, m in list(modules.items())[:40]]
    return ", ".join([INPUT, OUTPUT, *shown, *(["…"] if len(modules) > 40 else [])])
