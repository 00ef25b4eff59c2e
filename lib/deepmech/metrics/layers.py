"""The layers of a torch model: one watcher of its calls, which layers a load curve runs over, and what they return."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from deepmech.core import specs

__all__ = [
    "BEFORE", "BLOCKS", "CALL", "INPUT", "OUTPUT", "CallRecorder", "LayerRecorder", "Selection", "call_of",
    "is_activation", "keep_features", "select_layers", "stream",
]  # fmt: skip

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
    *("relu", "relu_", "relu6", "leaky_relu", "leaky_relu_", "prelu", "rrelu", "elu", "elu_", "selu", "selu_", "celu"),
    *("gelu", "silu", "mish", "glu", "tanh", "tanh_", "sigmoid", "sigmoid_", "hardtanh", "hardswish", "hardsigmoid"),
    *("softplus", "softsign", "logsigmoid", "tanhshrink", "softshrink", "hardshrink", "threshold"),
}
_CLAMPS = {"clamp", "clamp_", "clamp_min", "clamp_min_", "clip", "clip_"}
_PRODUCTS = {"mul", "mul_", "multiply", "multiply_", "__mul__", "__rmul__", "__imul__"}


@dataclass(frozen=True)
class Selection:
    """The layers of a curve by name; in words, what a layer is and what of the model they leave out.

    ``blocks`` tells that they are blocks, whose outputs may be tuples.
    """

    names: tuple[str, ...]
    layers_are: str
    left_out: str = ""
    blocks: bool = False


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

    Of modules, when they begin and when they end; and, with ``functions``, of activation functions outside of
    activation modules. The name of such a call is that of the module around it and its own, ``"block1.relu()"``, or
    ``"relu()"`` in the model itself. Calls of one name are numbered from 1.
    """

    def __init__(self, modules: Mapping[str, nn.Module], functions: bool = True) -> None:
        super().__init__()
        self.modules, self.functions = dict(modules), functions
        self.inside: list[str] = []
        self.counts = Counter[str]()  # of calls that have ended
        self._hooks = ExitStack()

    def on_enter(self, name: str, number: int, args: tuple[Any, ...]) -> None:
        """A module begins its call of this number, with these arguments."""

    def on_exit(self, name: str, number: int, args: tuple[Any, ...], result: Any) -> None:
        """A module, or a function, has returned this."""

    def on_product(self, one: torch.Tensor, other: torch.Tensor) -> None:
        """Two tensors were multiplied, number by number."""

    def __enter__(self) -> Self:
        for name, module in self.modules.items():
            begin, end = partial(self._begin, name), partial(self._end, name)
            self._hooks.callback(module.register_forward_pre_hook(begin, with_kwargs=True).remove)
            self._hooks.callback(module.register_forward_hook(end, with_kwargs=True).remove)
        if self.functions:
            TorchFunctionMode.__enter__(self)
        return self

    def __exit__(self, *failure: Any) -> None:
        self._hooks.close()
        if self.functions:
            TorchFunctionMode.__exit__(self, *failure)

    def _begin(self, name: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.inside.append(name)
        self.on_enter(name, self.counts[name] + 1, (*args, *kwargs.values()))

    def _end(self, name: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        self.inside.pop()
        self._ended(name, (*args, *kwargs.values()), result)

    def _ended(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        self.counts[name] += 1
        self.on_exit(name, self.counts[name], args, result)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result, kwargs = func(*args, **(kwargs or {})), kwargs or {}
        function = getattr(func, "__name__", "").partition(".")[0]
        if function in _PRODUCTS and len(args) == 2 and all(isinstance(a, torch.Tensor) for a in args):
            self.on_product(*args)
        if function in _FUNCTIONS or (function in _CLAMPS and _from_zero(args, kwargs)):
            around = self.inside[-1] if self.inside else ""
            # Of a parameter it makes another, no features.
            of_features = not isinstance(_first(args), nn.Parameter)
            if of_features and (not around or not is_activation(self.modules[around])):
                self._ended(f"{around}.{function.removesuffix('_')}{CALL}".lstrip("."), args, result)
        return result


def _from_zero(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call of clamp cuts numbers off below zero, as ReLU does."""
    low = kwargs.get("min", args[1] if len(args) > 1 else None)
    return isinstance(low, int | float) and low == 0


class LayerRecorder(CallRecorder):
    """Watches layers of a model, by name, while batches run through it.

    A module that is called several times in a pass makes several layers, ``"name:1"``, ``"name:2"``, …
    """

    def __init__(self, model: nn.Module, layers: Sequence[str]) -> None:
        modules = {n: m for n, m in model.named_modules() if n}
        # Name in the result -> module and call; 0 is the only one.
        self.wanted = {name: call_of(name, modules) for name in layers}
        if BEFORE in self.wanted:
            first, call = call_of(next(name for name in layers if name not in (*_ENDS, BEFORE)), modules)
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
        self._pass_on(INPUT, 1, inputs)
        output = through()
        self._pass_on(OUTPUT, 1, output)
        for name, (module, call) in self.wanted.items():
            calls = 1 if module in _ENDS else self.counts[module]
            if abs(call) > calls or (call == 0 and calls != 1):
                remedy = f"name its calls, {f'{module}:1'!r} to {f'{module}:{calls}'!r}" if calls else "leave it out"
                raise ValueError(
                    f"load_curve: layer {name!r}: {module!r} is called {calls} times in a forward pass: {remedy}"
                )
            if before.get(module, calls) != calls:
                raise ValueError(
                    f"load_curve: layer {module!r} is called {before[module]} times for one batch and {calls} times "
                    "for another: name layers that every sample passes equally often"
                )
        return output

    def kind(self, name: str) -> str:
        """Class of the module behind a layer's name, or the function; empty for the input and the output."""
        at = self.wanted[name][0]
        if name in (*_ENDS, BEFORE):
            return ""
        return type(self.modules[at]).__name__ if at in self.modules else at.rpartition(".")[2]

    def on_enter(self, name: str, number: int, args: tuple[Any, ...]) -> None:
        self._pass_on(name, -number, _first(args))

    def on_exit(self, name: str, number: int, args: tuple[Any, ...], result: Any) -> None:
        recurrent = isinstance(self.modules.get(name), nn.RNNBase) and self.pool is None
        self._pass_on(name, number, stream(result) if recurrent else result)

    def _pass_on(self, module: str, call: int, value: Any) -> None:
        for name in self.names.get((module, call), ()):
            self._collect(name, value)

    def _collect(self, name: str, value: Any) -> None:
        value = value if self.pool is None else self.pool(value)
        tensor = isinstance(value, torch.Tensor)
        if not tensor or value.layout != torch.strided or value.is_quantized:
            kind = f"tensor of {value.dtype}, {value.layout}" if tensor else type(value).__name__
            raise ValueError(
                f"load_curve: layer {name!r} {'is pooled to' if self.pool else 'returns'} a {kind}, "
                "not a plain tensor; name a layer inside it, or take one out with pool="
            )
        if value.ndim == 0 or value.shape[0] != self.n:
            raise ValueError(
                f"load_curve: layer {name!r} returns shape {tuple(value.shape)}, which has no sample axis: "
                f"the first axis must have the length of the batch, {self.n}"
            )
        self.collect(name, value.reshape(self.n, -1))


def keep_features(into: dict[str, torch.Tensor]) -> Callable[[str, torch.Tensor], None]:
    """What collects features by the names of layers: copies, since a later operation may overwrite them in place."""

    def collect(name: str, features: torch.Tensor) -> None:
        into[name] = features.clone()

    return collect


@dataclass(eq=False)
class _Call:
    """The end of a call of a module, or of an activation function."""

    name: str
    number: int
    first: Any  # tensor among its arguments
    result: Any
    inside: tuple[str, ...]  # modules around it
    version: int  # of the result, at that time
    gate: int = 0  # positions of the features that it is multiplied into, if it has fewer numbers than they

    @property
    def positions(self) -> int:
        """Over how many places its result extends."""
        return self.result.shape[2:].numel() if isinstance(self.result, torch.Tensor) else 0

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


class _CallTable(CallRecorder):
    """Writes down all calls of one pass, in the order in which they end."""

    def __init__(self, modules: Mapping[str, nn.Module], run: Callable[[], Any], main: torch.Tensor | None) -> None:
        super().__init__(modules)
        self.main = main
        self.calls: list[_Call] = []
        with self:
            self.output = stream(run())

    def on_exit(self, name: str, number: int, args: tuple[Any, ...], result: Any) -> None:
        self.calls.append(_Call(name, number, _first(args), result, tuple(self.inside), _version(result)))

    def on_product(self, one: torch.Tensor, other: torch.Tensor) -> None:
        """Mark calls whose result, one number for many, scales features."""
        for small, large in ((one, other), (other, one)):
            for call in reversed(self.calls):
                if isinstance(call.result, torch.Tensor) and _shares(call.result, small):
                    features = large.shape[:1] == call.result.shape[:1] and not isinstance(large, nn.Parameter)
                    if features and call.result.numel() < large.numel():
                        call.gate = large.shape[2:].numel()

    def named(self, keep: Callable[[_Call], bool]) -> list[str]:
        """Calls by the names of layers, with the number of the call where there are several."""
        calls = filter(keep, self.calls)
        return [f"{call.name}:{call.number}" if self.counts[call.name] > 1 else call.name for call in calls]


def select_layers(
    model: nn.Module,
    layers: Sequence[str] | str | None,
    run: Callable[[], Any],
    main: torch.Tensor | None,
) -> Selection:
    """The layers of a load curve: names, ``"blocks"``, or None for the input and all activations.

    ``run`` takes one batch, whose main tensor is ``main``, through the model. A ValueError for names that are not
    there, whole numbers as a layer, and if nothing is found.
    """
    modules = {name: module for name, module in model.named_modules() if name}
    if layers is not None and layers != BLOCKS:
        _check_names(layers, modules)
        if INPUT in layers and (main is None or not main.is_floating_point()):
            raise ValueError(
                f"load_curve: layer {INPUT!r}: the input is of type {getattr(main, 'dtype', None)}. The distance "
                f"between two token numbers means nothing: leave {INPUT!r} out, and begin with the embedding. (Whole "
                "numbers that are quantities, such as pixels: give them as floating point numbers.)"
            )
        return Selection(tuple(layers), "as named", blocks=BEFORE in layers)
    table = _CallTable(modules, run, main)
    if modules and not table.calls:
        raise ValueError(
            "load_curve: no module of the model was called, and no activation: let forward call it, "
            "forward=lambda model, batch: model(…)"
        )
    return (_blocks if layers else _default)(table)


def _default(seen: _CallTable) -> Selection:
    """The input, or what a normalisation or an embedding makes of it, and every activation in order."""
    modules, main = seen.modules, seen.main
    active = {name for name, module in modules.items() if is_activation(module)}
    silent = [f"{name!r} ({type(modules[name]).__name__})" for name in modules if name in active - seen.counts.keys()]
    real = main is not None and main.is_floating_point()
    kinds = _NORMALISATIONS if real else (nn.Embedding, nn.EmbeddingBag)
    calls = [call for call in seen.calls if call.name.endswith(CALL) or call.name in active]
    last = [call for call in calls if call.makes(seen.output)]
    gates = _gates([call for call in calls if call not in last], seen)
    found = seen.named(lambda call: call in calls and call not in last and call not in gates)
    ends = [INPUT] if real else []
    made, scaled = (specs.join_repr(seen.named(some.__contains__)) for some in (last, gates))
    if not found:
        trained = {name for name, m in modules.items() if next(m.parameters(recurse=False), None) is not None}
        own = seen.named(lambda call: call.name in trained or call in last)
        only = f"; {made} makes the output, which is no layer by default" if last else ""
        raise ValueError(
            "load_curve: this model has no activation to choose by default; give layers='blocks', or name the layers, "
            f"layers={[*ends, *own]}, say; there are {_listing(modules)}{only}"
        )
    first = seen.named(lambda call: isinstance(modules.get(call.name), kinds) and _is_all(call.first, main))
    # What a curve over activations leaves out: those inside of modules that compute out of sight.
    recurrent = [name for name, module in modules.items() if name in seen.counts and isinstance(module, nn.RNNBase)]
    left_out = [f"activations that are never called: {_few(silent)}"] if silent else []
    if recurrent:
        places = ", ".join(f"{type(modules[n]).__name__} {n!r}" for n in recurrent[: specs.FEW])
        left_out.append(
            f"what {places} computes inside is out of sight and left out, beside {len(found)} activations: "
            f"layers=[…, {recurrent[0]!r}, …] takes what it returns"
        )
    begin = "what a first normalisation or embedding makes of the input" if first else "the input" if real else ""
    words = [", then ".join(filter(None, [begin, "each activation in the order of calls"]))]
    words += [f"without {made}, which makes the output"] if last else []
    words += [f"without gates, which scale features: {scaled}"] if gates else []
    return Selection((*(first or ends), *found), "; ".join(words), "; ".join(left_out))


def _gates(calls: Sequence[_Call], seen: _CallTable) -> list[_Call]:
    """Of activations those that only make numbers by which features are scaled, as in squeeze-and-excitation.

    A gate, or a module around it alone, is multiplied into features of more numbers than it has; with one that has a
    single position, and features of many, go the activations of a single position that come right before it. Modules
    of a class that holds nothing else somewhere hold nothing else anywhere: features of a single position have as many
    numbers as their gates.
    """
    around = {call.name: call.gate for call in seen.calls if call.gate}
    alone = {name for name in around if len({call.name for call in calls if name in call.inside}) == 1}
    found: list[_Call] = []
    for at, call in enumerate(calls):
        if gate := call.gate or max((around[name] for name in call.inside if name in alone), default=0):
            found.append(call)
            before = at - 1
            while gate > call.positions == 1 and before >= 0 and calls[before].positions == 1:
                found.append(calls[before])
                before -= 1
    kinds = {call: [type(seen.modules[name]) for name in call.inside] for call in calls}
    kind = {call: own[-1] for call, of in kinds.items() if (own := [k for k in of if k not in _CONTAINERS])}
    only = {kind[call] for call in found if call in kind}
    only -= {of for call, of in kind.items() if call not in found and call.positions > 1}
    return [call for call in calls if call in found or kind.get(call) in only]


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
    while inner := [k for k in repeated if times[k] > sum(calls[n] for n in names) and _only_hold(modules, names, k)]:
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
    classes = Counter(type(modules[call.name]).__name__ for call in seen.calls if call.name in names)
    each = _few([f"{number} calls of a {kind}" for kind, number in classes.items()])
    words = f"what enters the first block, then what each block returns: {each}"
    return Selection((BEFORE, *found), words, blocks=True)


def _only_hold(modules: Mapping[str, nn.Module], names: Sequence[str], kind: type) -> bool:
    """Whether modules have no parameters but those of modules of class ``kind`` in a list of theirs."""

    def holds(child: nn.Module) -> bool:
        held = list(child.children()) if isinstance(child, _CONTAINERS) else []
        return bool(held) and all(isinstance(m, kind) for m in held)

    children = [child for name in names for child in modules[name].children() if any(True for _ in child.parameters())]
    return bool(names) and all(map(holds, children))


def stream(output: Any) -> Any:
    """The features that a block hands on: the tensor that it returns, or the first of several."""
    if isinstance(output, Mapping):
        output = tuple(output.values())
    if isinstance(output, tuple | list):
        return next((v for v in output if isinstance(v, torch.Tensor)), output)
    return output


def _first(args: tuple[Any, ...]) -> Any:
    """The first tensor among arguments, or within one of them."""
    return next((v for v in map(stream, args) if isinstance(v, torch.Tensor)), None)


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
