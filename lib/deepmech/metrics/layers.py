"""The layers of a torch model: one watcher of its calls, which layers a load curve runs over, and what they return."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from deepmech.core import specs

INPUT, OUTPUT = _ENDS = "input", "output"
BLOCKS = "blocks"
BEFORE = "before blocks"
"""Name of what enters the first block."""
CALL = "()"
"""How names of layers end that are calls of functions, ``"block1.relu()"``."""

_NOT_HIDDEN = {"MultiheadAttention", "Softmax", "Softmax2d", "Softmin", "LogSoftmax"}
_ACTIVATIONS = tuple(getattr(nn, n) for n in nn.modules.activation.__all__ if n not in _NOT_HIDDEN)
_NORMALISATIONS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
# Activation classes outside torch.nn go by the words of their names, as NewGELUActivation, QuickGELU, Swish, HardMish,
# quick_gelu: a word begins after a small letter or none, and ends before one that is not small.
_ACTIVATION_NAME = re.compile(
    r"(?:^|(?<=[^A-Za-z])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
    r"(?i:(?:leaky)?[a-z]{0,2}relu|[a-z]?elu|silu|swish|mish|tanh|sigmoid|softplus|softsign|snake|activation$)"
    r"(?=[^a-z]|$)"
)
_NO_ACTIVATION = re.compile(r"linear|softmax|loss|norm|pool", re.I)
_FUNCTIONS = {
    *("relu", "relu6", "leaky_relu", "prelu", "rrelu", "elu", "selu", "celu", "gelu", "silu", "mish", "glu", "tanh"),
    *("sigmoid", "hardtanh", "hardswish", "hardsigmoid", "softplus", "softsign", "logsigmoid", "tanhshrink"),
    *("softshrink", "hardshrink", "threshold", "erf", "special_erf"),
}
_CLAMPS = {"clamp", "clamp_min", "clamp_max", "clip"}
_PRODUCTS = {"mul", "multiply"}
_STEPS = _CLAMPS | {"pow", "square", "exp", "abs"}  # elementwise and not linear
_ELEMENTWISE = _PRODUCTS | _STEPS | {"add", "sub", "subtract", "rsub", "div", "divide", "true_divide", "rdiv", "neg"}
_COPIES = {"to", "float", "type_as", "contiguous", "clone", "reshape"}
_ROWS = 4, 6  # samples of the two passes that tell which axis is theirs: even, since models pair them, too


@dataclass(frozen=True)
class Selection:
    """The layers of a curve by name; in words, what a layer is and what of the model they leave out.

    ``blocks`` tells that they are blocks, of whose outputs ``pool`` gets the first. ``axes`` are those of the samples,
    in what a layer returns and in what ``pool`` makes of it, where one is not the first.
    """

    names: tuple[str, ...]
    layers_are: str
    left_out: str = ""
    blocks: bool = False
    axes: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def without(self, left: Mapping[str, str]) -> Selection:
        """All but these layers, which are not over samples, and why."""
        why = _few([f"{name!r}{reason}" for name, reason in left.items()])
        told = "; ".join(filter(None, [self.left_out, f"activations that are not over samples: {why}" if left else ""]))
        return replace(self, names=tuple(n for n in self.names if n not in left), left_out=told)


@dataclass(frozen=True)
class Pass:
    """A way through the model: of ``n`` samples, ``given`` as these tensors, ``main`` the first; the pool of layers."""

    main: torch.Tensor | None
    n: int
    through: Callable[[], Any]
    given: Sequence[torch.Tensor]
    pool: Callable[[Any], Any] | None = None


Batch = Callable[[int | None], Pass]


def is_activation(module: nn.Module) -> bool:
    """Whether a module is an activation, torch's own or by its name somebody else's, ``QuickGELU``, say.

    Examples
    --------
    >>> is_activation(nn.SiLU()), is_activation(nn.Linear(2, 2))
    (True, False)
    """
    if isinstance(module, _ACTIVATIONS):
        return True
    kind = type(module).__name__
    plain = not any(True for _ in module.children()) and all(p.ndim < 2 for p in module.parameters())
    return plain and bool(_ACTIVATION_NAME.search(kind)) and not _NO_ACTIVATION.search(kind)


class CallRecorder(TorchFunctionMode):
    """Tells of calls in a forward pass, inside ``with``; afterwards all hooks are gone, also after an error.

    Of modules, when they begin and when they end; and, with ``functions``, of activation functions and elementwise
    arithmetic outside of activation modules. The name of such a call is that of the module around it and its own,
    ``"block1.relu()"``, or ``"relu()"`` in the model itself. Calls of one name are numbered from 1.
    """

    def __init__(self, modules: Mapping[str, nn.Module], functions: bool = True) -> None:
        super().__init__()
        self.modules, self.functions = dict(modules), functions
        self.inside: list[str] = []
        self.listening = True  # and not looking at what was heard, as by a pool, whose functions are not the model's
        self.counts = Counter[str]()  # of calls that have ended
        self._hooks = ExitStack()

    def on_enter(self, name: str, number: int, args: tuple[Any, ...]) -> None:
        """A module begins its call of this number, with these arguments."""

    def on_exit(self, name: str, number: int, args: tuple[Any, ...], result: Any) -> None:
        """A module, or a function, has returned this."""

    def on_function(self, function: str, name: str, args: tuple[Any, ...], result: Any) -> None:
        """Any function of torch has returned this; ``name`` is empty if the call has none."""

    def __enter__(self) -> Self:
        for name, module in self.modules.items():
            begin, end = partial(self._begin, name), partial(self._end, name)
            self._hooks.callback(module.register_forward_pre_hook(begin, with_kwargs=True).remove)
            self._hooks.callback(module.register_forward_hook(end, with_kwargs=True, always_call=True).remove)
        if self.functions:
            TorchFunctionMode.__enter__(self)
        return self

    def __exit__(self, *failure: Any) -> None:
        self._hooks.close()
        if self.functions:
            TorchFunctionMode.__exit__(self, *failure)

    def _begin(self, name: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.inside.append(name)
        self.listening = False
        self.on_enter(name, self.counts[name] + 1, (*args, *kwargs.values()))
        self.listening = True

    def _end(self, name: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        self.inside.pop()
        if result is not None:  # it has failed, and who called it may go on without
            self._ended(name, (*args, *kwargs.values()), result)

    def _ended(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        self.counts[name] += 1
        self.listening = False
        self.on_exit(name, self.counts[name], args, result)
        self.listening = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result, kwargs = func(*args, **(kwargs or {})), kwargs or {}
        if not self.listening:
            return result
        function = getattr(func, "__name__", "").partition(".")[0].strip("_")
        around, everything, name = self.inside[-1] if self.inside else "", (*args, *kwargs.values()), ""
        if function in _FUNCTIONS | _ELEMENTWISE and not (around and is_activation(self.modules[around])):
            name = f"{around}.{function}{CALL}".lstrip(".")
            self._ended(name, everything, result)
        is_relu = function in _CLAMPS and _from_zero(args, kwargs)
        self.on_function("relu" if is_relu else function, name, everything, result)
        return result


def _from_zero(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call of clamp cuts numbers off below zero, as ReLU does."""
    low = kwargs.get("min", args[1] if len(args) > 1 else None)
    return isinstance(low, int | float) and low == 0


class LayerRecorder(CallRecorder):
    """Watches layers of a model, by name, while batches run through it.

    A module that is called several times in a pass makes several layers, ``"name:1"``, ``"name:2"``, …
    """

    def __init__(self, model: nn.Module, layers: Selection, lenient: bool = False) -> None:
        modules, self.layers, self.lenient = {n: m for n, m in model.named_modules() if n}, layers, lenient
        self.lost: dict[str, str] = {}  # layers that turn out not to be over samples, and why; an error if not lenient
        # Name in the result -> module and call; 0 is the only one.
        self.wanted = {name: call_of(name, modules) for name in layers.names}
        if BEFORE in self.wanted:
            first, call = call_of(next(name for name in layers.names if name not in (*_ENDS, BEFORE)), modules)
            self.wanted[BEFORE] = first, -max(call, 1)  # what enters a call has its number, less than zero
        self.names: dict[tuple[str, int], list[str]] = {}
        for name, (module, call) in self.wanted.items():
            self.names.setdefault((module, call or 1), []).append(name)
        watched = [module for module, _ in self.names if module not in _ENDS]
        functions = any(name not in modules for name in watched)
        super().__init__(modules if functions else {name: modules[name] for name in watched}, functions)

    def run(
        self, inputs: Any, n: int, through: Callable[[], Any], collect: Callable[[str, Any], Any], pool: Any = None
    ) -> Any:
        """What ``through`` returns, which takes one batch of ``n`` samples with these inputs through the model.

        What a layer returns, ``pool`` of it, goes to ``collect`` by the layer's name, as (n, numbers).
        """
        before, self.counts = self.counts, Counter()
        self.n, self.collect, self.pool = n, collect, pool
        self.listening = False
        self._pass_on(INPUT, 1, inputs)
        self.listening = True
        output = through()
        self.listening = False
        self._pass_on(OUTPUT, 1, output)
        for name, (module, call) in self.wanted.items():
            calls = 1 if module in _ENDS else self.counts[module]
            if abs(call) > calls or (call == 0 and calls != 1):
                remedy = f"name its calls, {f'{module}:1'!r} to {f'{module}:{calls}'!r}" if calls else "leave it out"
                self._lose(name, f": {module!r} is called {calls} times in a forward pass", f": {remedy}")
            elif before.get(module, calls) != calls:
                why = f": {module!r} is called {before[module]} times for one batch and {calls} times for another"
                self._lose(name, why, ": name layers that every sample passes equally often")
        return output

    def kind(self, name: str) -> str:
        """Class of the module behind a layer's name, or the function; empty for the input and the output."""
        at = self.wanted[name][0]
        if name in (*_ENDS, BEFORE):
            return ""
        return type(self.modules[at]).__name__ if at in self.modules else at.rpartition(".")[2]

    def on_enter(self, name: str, number: int, args: tuple[Any, ...]) -> None:
        self._pass_on(name, -number, next(iter(tensors_in(args)), None))

    def on_exit(self, name: str, number: int, args: tuple[Any, ...], result: Any) -> None:
        self._pass_on(name, number, result)

    def _pass_on(self, module: str, call: int, value: Any) -> None:
        for name in self.names.get((module, call), ()):
            if name not in self.lost:
                self._collect(name, stream(value) if self.pool is None or self.layers.blocks else value)

    def _lose(self, name: str, why: str, remedy: str) -> None:
        if not self.lenient:
            raise ValueError(f"load_curve: layer {name!r}{why}{remedy}")
        self.lost[name] = why

    def _collect(self, name: str, value: Any) -> None:
        own, pooled = self.layers.axes.get(name, (0, 0))
        value = value if self.pool is None else self.pool(_samples_first(value, own))
        tensor = isinstance(value, torch.Tensor)
        if not tensor or value.layout != torch.strided or value.is_quantized:
            kind = f"tensor of {value.dtype}, {value.layout}" if tensor else type(value).__name__
            raise ValueError(
                f"load_curve: layer {name!r} {'is pooled to' if self.pool else 'returns'} a {kind}, "
                "not a plain tensor; name a layer inside it, or take one out with pool= (of a quantised layer "
                "pool=lambda h: h.dequantize())"
            )
        if value.ndim <= pooled or value.shape[pooled] != self.n:
            self._lose(name, f" has shape {tuple(value.shape)} of {self.n} samples", _REMEDY)
        else:
            self.collect(name, _samples_first(value, pooled).reshape(self.n, -1))


_REMEDY = ": none of its axes is that of the samples; leave it out, or let pool= make (samples, …) of it"


def _samples_first(value: Any, axis: int) -> Any:
    return value.movedim(axis, 0) if axis and isinstance(value, torch.Tensor) else value


class _Probe(LayerRecorder):
    """Keeps what layers return, as it is."""

    def _collect(self, name: str, value: Any) -> None:
        self.collect(name, value)


def _find_axes(
    model: nn.Module, found: Selection, batch: Batch, sizes: Sequence[int | None], made: Mapping[str, bool] | None
) -> Selection:
    """The selection with the axes of samples: those whose lengths are the numbers of samples in both passes.

    Layers without such an axis are left out, told by what they are ``made`` of: samples or parameters alone. Without
    this somebody named the layers, and gets a ValueError.
    """
    named = made is None
    seen: list[dict[str, Any]] = []
    passes = [batch(size) for size in sizes]
    for one in passes:
        seen.append({})
        with _Probe(model, found, lenient=True) as probe:
            probe.run(one.main, one.n, one.through, seen[-1].__setitem__, one.pool)
    n, pools = [one.n for one in passes], [one.pool for one in passes]
    left, axes = {}, {}
    for name in found.names:
        values = [values.get(name) for values in seen]
        if named and any(value is None for value in values):  # the pass of all samples says how often it is called
            continue
        (own, why), pooled = _axis(values, n), None
        with suppress(*([] if named or own is not None else [Exception])):  # what is not over samples need not pool
            pooled = [pool(_samples_first(v, own or 0)) for pool, v in zip(pools, values, strict=True) if pool]
        last, why = _axis(pooled, n) if pooled else (own, why)
        axes[name] = own or 0, last or 0
        if last is None and why:
            constant = len(sizes) > 1 and not (made or {}).get(name, True)
            left[name] = " is a function of parameters alone" if constant else why
    if named and left:
        name, why = next(iter(left.items()))
        raise ValueError(f"load_curve: layer {name!r}{why}{_REMEDY}")
    return replace(found, axes=axes).without(left)


def _axis(values: Sequence[Any], n: Sequence[int]) -> tuple[int | None, str]:
    """The axis of the samples in what passes of so many returned, or None, and why; nothing of what is no tensor."""
    if any(value is None for value in values):
        return None, " is called for some samples only"
    if not all(isinstance(value, torch.Tensor) for value in values):
        return None, ""
    one, *others = (tuple(value.shape) for value in values)
    if not others:
        at = [k for k, length in enumerate(one) if length == n[0]]
        why = f" has shape {one} of {n[0]} samples, and the batch cannot be divided to see which axis is theirs"
        return (at[0], "") if len(at) == 1 else (None, why)
    if one == others[0]:
        return None, f" has shape {one} for any number of samples"
    if len(one) == len(others[0]):
        moved = [(k, *pair) for k, pair in enumerate(zip(one, others[0], strict=True)) if pair[0] != pair[1]]
        k, *pair = moved[0]
        if len(moved) == 1 and pair == list(n):
            return k, ""
        if len(moved) == 1 and pair[0] % n[0] == 0 and pair[0] * n[1] == pair[1] * n[0]:
            return None, f" has {pair[0] // n[0]} rows of each sample in one axis"
    return None, f" has shape {one} of {n[0]} samples and {others[0]} of {n[1]}"


def keep_features(into: dict[str, torch.Tensor]) -> Callable[[str, torch.Tensor], None]:
    """What collects features by the names of layers: copies, since a later operation may overwrite them in place."""

    def collect(name: str, features: torch.Tensor) -> None:
        into[name] = features.clone()

    return collect


@dataclass(eq=False)
class _Call:
    """The end of a call of a module, or of an activation function or a step around one."""

    name: str
    number: int
    takes_all: bool  # whether its first tensor is the input
    inside: tuple[str, ...]  # modules around it
    active: bool = False  # an activation, or the end of a function that one is part of
    of_samples: bool = True  # and not of parameters alone
    result: Any = None  # of an activation
    version: int = 0  # of the result, at that time
    whole: _Call | None = None  # the function that it is part of
    ends: bool = False  # such a function
    gate: bool = False  # whether it scales features
    uses: list[_Call | None] = field(default_factory=list)  # activations made of it; None is the output

    def makes(self, output: Any) -> bool:
        """Whether its result, which nobody has overwritten, is this output: as it is, reshaped or copied."""
        own = self.result
        if not (isinstance(own, torch.Tensor) and isinstance(output, torch.Tensor)) or _version(own) != self.version:
            return False
        if _shares(own, output):
            return True
        same = own.layout == output.layout == torch.strided and own.device == output.device
        same = same and own.numel() == output.numel() and own.shape[:1] == output.shape[:1]
        return same and bool((own.reshape(-1) == output.reshape(-1)).all())


@dataclass(frozen=True)
class _Trace:
    """What a tensor is made of: number by number of one tensor, with which activations; of which activations at all."""

    root: object
    calls: tuple[_Call, ...] = ()
    sources: frozenset[_Call] = frozenset()


class _CallTable(CallRecorder):
    """Writes down all calls of one pass, in the order in which they end, and what tensors are made of."""

    def __init__(self, modules: Mapping[str, nn.Module], one: Pass) -> None:
        super().__init__(modules)
        self.main = one.main
        self.calls: list[_Call] = []
        self.traces: Any = WeakTensorKeyDictionary()
        for given in one.given:
            self.traces[given] = _Trace(object())
        with self:
            self.output = stream(one.through())
        for call in self._of(self.output).sources:
            call.uses.append(None)
        self.active = [call for call in self.calls if call.active and not call.whole]

    def _of(self, tensor: Any) -> _Trace:
        return self.traces.get(tensor, _Trace(None)) if isinstance(tensor, torch.Tensor) else _Trace(None)

    def on_exit(self, name: str, number: int, args: tuple[Any, ...], result: Any) -> None:
        first = next(iter(tensors_in(args)), None)
        self.calls.append(_Call(name, number, _is_all(first, self.main), tuple(self.inside)))
        if name in self.modules and is_activation(self.modules[name]):
            self._activate(self._of(first), result)

    def _activate(self, of: _Trace, result: Any, parts: Sequence[_Call] = ()) -> None:
        """The last call is an activation, of a tensor with this trace, or the end of a function with these parts."""
        call = self.calls[-1]
        call.active, call.of_samples, call.ends = True, of.root is not None, bool(parts)
        call.result, call.version = result, _version(result)
        for source in of.sources:
            source.uses.append(call)
        for part in parts:
            part.whole = call
        if call.of_samples and isinstance(result, torch.Tensor):
            kept = tuple(c for c in of.calls if c not in parts)
            self.traces[result] = _Trace(of.root, (*kept, call), frozenset([call]))

    def on_function(self, function: str, name: str, args: tuple[Any, ...], result: Any) -> None:
        tensors = tensors_in(args)
        if function in _FUNCTIONS:
            if name:
                self._activate(self._of(tensors[0]), result)
            return
        known = [t for t in tensors if self._of(t).root is not None]
        traces = [self._of(t) for t in known]
        sources = frozenset[_Call]().union(*(t.sources for t in traces))
        for made in tensors_in(result) if known else ():
            calls = tuple(dict.fromkeys(call for t in traces for call in t.calls))
            alike = len({t.root for t in traces}) == 1
            if name and alike:
                self.traces[made] = _Trace(traces[0].root, calls, sources)
                parts = calls if len(traces) > 1 else calls[-1:] if function in _STEPS else ()
                if parts:
                    self._activate(self.traces[made], made, parts)
            elif name:
                if function in _PRODUCTS:
                    self._scale(*known)
                self.traces[made] = _Trace(object(), (), sources)
            else:
                copied = function in _COPIES or _shares(made, known[0])
                same = copied and made.shape == known[0].shape
                self.traces[made] = _Trace(
                    traces[0].root if same else object(), traces[0].calls if copied else (), sources
                )

    def _scale(self, one: torch.Tensor, other: torch.Tensor) -> None:
        """Mark what scales features in a product of two tensors: sigmoids, and what has fewer numbers than they."""
        for small, large in ((one, other), (other, one)):
            for call in self._of(small).calls[-1:]:
                around = [type(self.modules[n]).__name__ for n in (*call.inside[-1:], call.name) if n in self.modules]
                bounded = "sigmoid" in " ".join([*around, call.name.rpartition(".")[2]]).lower()
                n = min(call.result.numel(), small.numel())  # one was expanded, or is a part
                call.gate |= large.shape[:1] == small.shape[:1] and n < large.numel() + bounded

    def named(self, keep: Callable[[_Call], bool]) -> list[str]:
        """Calls by the names of layers, with the number of the call where there are several."""
        calls = filter(keep, self.calls)
        return [f"{call.name}:{call.number}" if self.counts[call.name] > 1 else call.name for call in calls]


def select_layers(model: nn.Module, layers: Sequence[str] | str | None, batch: Batch) -> Selection:
    """The layers of a load curve: names, ``"blocks"``, or None for the input and all activations.

    ``batch`` makes passes of so many samples, or of all (None). A ValueError for names that are not there, whole
    numbers as a layer, and if nothing is found.
    """
    modules = {name: module for name, module in model.named_modules() if name}
    if layers is not None and layers != BLOCKS:
        _check_names(layers, modules)
    sizes: Sequence[int | None] = _ROWS
    try:
        for size in sizes:
            batch(size).through()
    except Exception:  # of a batch that cannot be divided; if it is not for this model, the whole one says so
        sizes = [None]
    if layers is not None and layers != BLOCKS:
        main = batch(sizes[0]).main
        if INPUT in layers and (main is None or not main.is_floating_point()):
            raise ValueError(
                f"load_curve: layer {INPUT!r}: the input is of type {getattr(main, 'dtype', None)}. The distance "
                f"between two token numbers means nothing: leave {INPUT!r} out, and begin with the embedding. (Whole "
                "numbers that are quantities, such as pixels: give them as floating point numbers.)"
            )
        found = Selection(tuple(layers), "as named", blocks=BEFORE in layers)
        return _find_axes(model, found, batch, sizes, None)
    table = _CallTable(modules, batch(sizes[0]))
    if modules and not any(call.active or call.name in modules for call in table.calls):
        raise ValueError(
            "load_curve: no module of the model was called, and no activation: let forward call it, "
            "forward=lambda model, batch: model(…)"
        )
    made = dict(zip(table.named(lambda call: True), (call.of_samples for call in table.calls), strict=True))
    found = _find_axes(model, (_blocks if layers else _default)(table), batch, sizes, made)
    if not set(found.names) - {INPUT, BEFORE}:
        raise ValueError(f"load_curve: {found.left_out}: name other layers, or let pool= make (samples, …) of them")
    return found


def _default(seen: _CallTable) -> Selection:
    """The input, or what a normalisation or an embedding makes of it, and every activation in order."""
    modules, main = seen.modules, seen.main
    active = {name for name, module in modules.items() if is_activation(module)}
    silent = [f"{name!r} ({type(modules[name]).__name__})" for name in modules if name in active - seen.counts.keys()]
    real = main is not None and main.is_floating_point()
    kinds = _NORMALISATIONS if real else (nn.Embedding, nn.EmbeddingBag)
    last = [call for call in seen.active if call.makes(seen.output)]
    gates = [call for call in _gates(seen) if call not in last]
    found = seen.named(lambda call: call in seen.active and call not in last and call not in gates)
    ends = [INPUT] if real else []
    made, scaled = (specs.join_repr(seen.named(some.__contains__)) for some in (last, gates))
    if not found:
        only = f"; {made} makes the output, which is no layer by default" if last else ""
        raise ValueError(
            "load_curve: this model has no activation to choose by default; give layers='blocks', or name the layers, "
            f"layers=[…]; there are {_listing(modules)}{only}"
        )
    first = seen.named(lambda call: isinstance(modules.get(call.name), kinds) and call.takes_all)
    # What a curve over activations leaves out: those inside of modules that compute out of sight.
    recurrent = [n for n, m in modules.items() if n in seen.counts and isinstance(m, nn.RNNBase | nn.RNNCellBase)]
    left_out = [f"activations that are never called: {_few(silent)}"] if silent else []
    if recurrent:
        places = ", ".join(f"{type(modules[n]).__name__} {n!r}" for n in recurrent[: specs.FEW])
        left_out.append(
            f"what {places} computes inside is out of sight and left out, beside {len(found)} activations: "
            f"layers=[…, {seen.named(lambda call: call.name == recurrent[0])[0]!r}, …] takes what it returns"
        )
    begin = "what a first normalisation or embedding makes of the input" if first else "the input" if real else ""
    words = [", then ".join(filter(None, [begin, "each activation in the order of calls"]))]
    words += [f"without {made}, which makes the output"] if last else []
    words += [f"without gates, which scale features: {scaled}"] if gates else []
    by_hand = specs.join_repr(seen.named(lambda call: call.ends and call in seen.active))
    words += [f"functions written by hand where they end: {by_hand}"] if by_hand else []
    return Selection((*(first or ends), *found), "; ".join(words), "; ".join(left_out))


def _gates(seen: _CallTable) -> list[_Call]:
    """Of activations those by which features are scaled, and those that only make such gates.

    A gate is multiplied, number by number, into features that it is not a function of, and is a sigmoid or has fewer
    numbers than they.
    """
    found: list[_Call] = []
    for call in reversed(seen.active):
        if call.gate or (call.uses and all(use is not None and (use.whole or use) in found for use in call.uses)):
            found.append(call)
    return found


def _few(names: Sequence[str]) -> str:
    more = len(names) - specs.FEW
    return ", ".join(names[: specs.FEW]) + (f" and {more} more" if more > 0 else "")


def _blocks(seen: _CallTable) -> Selection:
    """The repeated blocks: modules of one class, the outermost that repeats, from which features go to the next."""
    modules, calls = seen.modules, seen.counts
    whole = {n: m for n, m in modules.items() if calls[n] and any(True for _ in m.children())}
    kinds: dict[Any, list[str]] = {}
    for name, module in whole.items():
        if not isinstance(module, _CONTAINERS):
            kinds.setdefault(type(module), []).append(name)
    times = {kind: sum(calls[name] for name in names) for kind, names in kinds.items()}
    # Three layers make a curve: an encoder and a decoder are no blocks if there are blocks in them.
    repeated = [k for k in kinds if times[k] > 2] or [k for k in kinds if times[k] > 1]
    within = tuple(f"{name}." for kind in repeated for name in kinds[kind])
    outer = [kind for kind in repeated if not any(name.startswith(within) for name in kinds[kind])]
    names = kinds[max(outer, key=times.__getitem__)] if outer else []
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
    classes = Counter(type(modules[call.name]).__name__ for call in seen.calls if call.name in names)
    each = _few([f"{number} calls of a {kind}" for kind, number in classes.items()])
    words = f"what enters the first block, then what each block returns: {each}"
    return Selection((BEFORE, *found), words, blocks=True)


def stream(output: Any) -> Any:
    """The features that a block hands on: the tensor that it returns, or the first of several."""
    if isinstance(output, Mapping):
        output = tuple(output.values())
    if isinstance(output, tuple | list):
        return next((v for v in output if isinstance(v, torch.Tensor)), output)
    return output


def logits(output: Any, classes: int) -> tuple[Any, str]:
    """Of an output of several parts, what a classifier is after, and which part it is.

    Its logits or last features by name, or its one tensor with more than one axis, as a loss has not, or else the one
    with as many columns as there are classes.
    """
    if isinstance(output, torch.Tensor):
        return output, ""
    fields = output if isinstance(output, Mapping) else getattr(output, "__dict__", {})
    if isinstance(output, tuple | list):
        fields = output._asdict() if hasattr(output, "_asdict") else dict(enumerate(output))
    parts = {name: v for name, v in fields.items() if isinstance(v, torch.Tensor) and v.ndim > 1}
    fit = [name for name in ("logits", "last_hidden_state") if name in parts][:1] or list(parts)
    if len(fit) > 1:
        fit = [name for name, part in parts.items() if part.ndim == 2 and part.shape[1] == classes]
    if len(fit) == 1:
        return parts[fit[0]], f"part {fit[0]!r} of {len(fields)}" if len(fields) > 1 else ""
    if not parts:
        return stream(output), ""
    shapes = ", ".join(f"{name!r} {tuple(part.shape)}" for name, part in parts.items())
    raise ValueError(
        f"load_curve: the model returns {shapes}; as many columns as there are classes, {classes or 'not known'}, have "
        f"{len(fit) or 'none'} of them: say which is the output, forward=lambda model, batch: model(…)[…]"
    )


def tensors_in(value: Any) -> list[torch.Tensor]:
    """All tensors in tuples, lists and mappings."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [tensor for part in value for tensor in tensors_in(part)]
    return [value] if isinstance(value, torch.Tensor) else []


def call_of(name: str, modules: Mapping[str, nn.Module]) -> tuple[str, int]:
    """``"act:2"`` is the second call of module ``act``; a plain name, call 0, stands for the only one."""
    module, _, number = name.rpartition(":")
    known = module in modules or module.endswith(CALL)
    if name not in modules and known and number.isdecimal() and int(number) > 0:
        return module, int(number)
    return name, 0


def _version(value: Any) -> int:
    """How often a tensor was written to."""
    return value._version if isinstance(value, torch.Tensor) and not value.is_inference() else 0


def _shares(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors lie in the same memory."""
    plain = one.layout == other.layout == torch.strided and one.numel() > 0
    return plain and one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _is_all(value: Any, of: Any) -> bool:
    """Whether a tensor is another, or a reshaped view of all of it (nn.Flatten gives one)."""
    both = isinstance(value, torch.Tensor) and isinstance(of, torch.Tensor)
    return both and value.numel() == of.numel() and _shares(value, of)


def _check_names(layers: Sequence[str], modules: Mapping[str, nn.Module]) -> None:
    if not layers:
        raise ValueError("load_curve: layers is empty; name at least one, or leave it out for the default")
    if BEFORE in layers and all(name in (*_ENDS, BEFORE) for name in layers):
        raise ValueError(f"load_curve: layer {BEFORE!r} is what enters the first block that is named: name one, too")
    if repeated := sorted({n for n in layers if layers.count(n) > 1}):
        raise ValueError(f"load_curve: layers names {', '.join(map(repr, repeated))} more than once")
    for name in layers:
        at = call_of(name, modules)[0] if isinstance(name, str) else ""
        if name in (*_ENDS, BEFORE) or at.endswith(CALL):
            continue
        if at not in modules:
            close = difflib.get_close_matches(str(name), list(modules), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"load_curve: no layer {name!r}; this model has {_listing(modules)}{hint}")


def _listing(modules: Mapping[str, nn.Module]) -> str:
    shown = [f"{n} ({type(m).__name__})" for n, m in list(modules.items())[:40]]
    return ", ".join([*_ENDS, *shown, *(["…"] if len(modules) > 40 else [])])
