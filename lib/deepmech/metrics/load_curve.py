"""The load curve of any torch model: data separation of each layer's features (paper A, Fig. 1)."""

from __future__ import annotations

import copy
import inspect
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, Self, get_args

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core import specs
from deepmech.metrics.evaluation import (
    Batch,
    Batches,
    ClassIndex,
    Forward,
    evaluation,
    loader_state,
    regression_targets,
    unwrap,
)
from deepmech.metrics.groups import GROUPS, Deal, GroupMoments
from deepmech.metrics.layers import BLOCKS, LayerProbe, Selection, choose, describe, stream
from deepmech.metrics.regression import probe_error
from deepmech.metrics.separation import ClassMoments, Metric, NotFinite, Weights, require_finite, separation_ceiling

__all__ = ["LoadCurve", "Partial", "answers", "load_curve", "over_positions", "over_tokens", "views"]

Target = Literal["classes", "regression"]
Over = Literal["samples", "classes"]
Pool = Callable[..., torch.Tensor]

#: Name and ``long_name`` of the result.
_WORDS = {
    "D": ("data_separation", "data separation"),
    "D_hat": ("data_separation_hat", "data separation D̂"),
    "probe_error": ("probe_error", "error of a linear probe"),
}
_LARGEST_FEATURES = 2**31  # bytes


class Partial(UserWarning):
    """A load curve leaves out a part of the model; the words are also in its attribute ``left_out``."""


def load_curve(
    model: nn.Module,
    x: Any,
    y: Any = None,
    layers: Iterable[str] | str | None = None,
    metric: Metric = "D",
    batch_size: int = 1024,
    n_classes: int | None = None,
    weights: Weights = "samples",
    pool: Pool | None = None,
    diverged_to_nan: bool = False,
    *,
    forward: Forward | None = None,
    target: Target = "classes",
    n_samples: int | None = None,
    autocast: torch.dtype | None = None,
    debias: bool = True,
    groups: int = GROUPS,
    over: Over = "samples",
    parts: bool = False,
) -> Any:
    """Data separation of each layer of a torch model (paper A, Fig. 1): its load curve.

    The samples go through the model once, batch by batch, in evaluation mode. The model is left as it was
    (:func:`deepmech.metrics.evaluation.evaluation`), all hooks are removed, also after an error.

    Parameters
    ----------
    model
        Any module. Of ``torch.compile`` the module within is measured, uncompiled; of ``DistributedDataParallel`` the
        module within, on this process alone (:class:`LoadCurve` puts processes together).
    x
        What to measure on. Either arrays or tensors (n, ...), also mapped from a file, or several by name, as a
        tokenizer returns them. Or a ``DataLoader``, a ``Dataset`` or any source of batches: tuples, the labels last, or
        dicts. A dict goes to the model by keyword. Everything is copied to the device of the model's parameters,
        floating point numbers in their precision.
    y
        The class of each sample, (n,): numbers 0 … K − 1 or words. Of batches: where in them the labels are, by name
        or number; by default under ``labels``, ``label``, ``y``, ``targets`` or ``target``, or last. Without labels:
        :func:`answers`, or any function of output and batch; or batches of :func:`views`. Several sets of labels by
        name, ``{"class": …, "superclass": …, "answers": answers}``, are measured in one pass.
    layers
        Names out of ``model.named_modules()``, in the order wanted; ``"input"`` stands for the input itself and
        ``"output"`` for what the model returns (of an output with fields, its logits). ``"blocks"`` finds blocks that
        are repeated, such as those of a ResNet or a transformer, and runs over what enters the first and what each
        returns. By default as paper A measures: first the input, or the output of a normalisation layer if the model
        applies one directly to it (for token numbers, of the embedding); then every activation, a module of torch's or
        by its name of somebody else's, or a function (``F.relu`` in module ``fc``: ``"fc.relu()"``), in the order of
        their calls, hence before dropout. The output (logits) is left out. What is called several times in a pass is
        several layers: ``"act:1"``, ``"act:2"``, … in the order of calls.
    metric
        ``"D"`` or ``"D_hat"``.
    batch_size
        Samples per forward pass; changes memory and rounding only. A loader has its own.
    n_classes
        K; by default the largest label plus one.
    weights
        Which reading of Eq. 2, see :mod:`deepmech.metrics.separation`.
    pool
        Applied to what each layer returns, the input included, before it is measured: for example
        :func:`over_positions`, or ``lambda h: h[:, 0]`` for the class token of a sequence. A function of two arguments
        also gets the batch, with its masks: :func:`over_tokens`.
    diverged_to_nan
        A layer with values that are not finite becomes nan instead of an error.
    forward
        How to call the model, if not with the batch without its labels: ``lambda model, batch: model(batch["image"])``.
        The batch is on the model's device.
    target
        ``"regression"`` takes real ``y``, (n,) or several a sample (n, m), and measures the error of a linear probe in
        place of D (:func:`~deepmech.metrics.regression.probe_error`, root mean square over the m). It keeps the layers'
        features of all samples.
    n_samples
        Measure on the first so many (of batches: read no further when so many are reached).
    autocast
        Run the model in mixed precision, ``torch.bfloat16`` say. D itself is computed in double precision.
    debias
        Take from the between-class scatter its share of sampling noise
        (:meth:`~deepmech.metrics.separation.ClassMoments.separation`), so that D does not depend on the number of
        samples. False gives the plain form, Eq. 3, which is what paper A's and this project's diagrams show. D̂ and the
        error of a probe have the plain form only.
    groups
        Samples are dealt into so many groups, those of a class in turn, and intervals follow from the curve without
        each of them (:mod:`deepmech.metrics.reading`): of D, not of D̂ and not with weights ``"printed"``. 1: none.
    over
        ``"classes"``: intervals for other classes of the same kind, from the curve without each class.
    parts
        Split each step of D into what linear maps, normalisation, activation, attention, … take off: further
        coordinates along ``layer`` by these names, whose sum is the step. What stands between modules, such as the
        addition of a residual network (to which D of its branch has to come back), is ``addition``.

    Returns
    -------
    DataArray, of several sets of labels a Dataset
        ``data_separation`` over ``layer``, by name; further coordinates along it: ``depth`` counts 0, 1, …, and
        ``kind`` names the modules' classes. Outputs with more than two axes are flattened to (samples, features): each
        position of a feature map or sequence counts as features of its own. Attributes say what was measured; of D also
        whether it is the ``"plain"`` or the ``"debiased"`` ``estimate``, and the ``ceiling``, about what plain D of as
        many samples shows with shuffled labels; in ``unresolved`` which layers are nan because the corrected scatter is
        not positive; in ``left_out`` what the default could not see; in ``architecture`` what kind of network it is.

    Raises
    ------
    ValueError
        For unknown layer names; a layer that is never called; a plain name of a layer that is called more than once per
        pass; an output that is not a tensor or has no sample axis; whole numbers, such as token numbers, as a layer;
        values that are not finite (the layer is named); a class without samples; a batch that the model does not take.

    Warns
    -----
    Partial
        If the default leaves out what an ``nn.LSTM`` or a scripted module computes inside.

    Examples
    --------
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> from deepmech.data import load
    >>> digits = load("digits")
    >>> model = nn.Sequential(nn.BatchNorm1d(64), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10))
    >>> curve = load_curve(model, digits.x_train, digits.y_train)
    >>> curve.layer.values.tolist()
    ['0', '2']
    >>> loader = DataLoader(TensorDataset(torch.tensor(digits.x_train), torch.tensor(digits.y_train)), batch_size=100)
    >>> bool(np.allclose(load_curve(model, loader), curve, atol=1e-5))
    True
    """
    batches = Batches(x, y, batch_size, target, n_samples)
    curve = LoadCurve(
        model, layers, metric, n_classes=n_classes, weights=weights, pool=pool, diverged_to_nan=diverged_to_nan,
        forward=forward, target=target, autocast=autocast, debias=debias, groups=groups, over=over, parts=parts,
    )  # fmt: skip
    batches.require_classes(n_classes)
    return curve.take(batches).compute(reduce=False)


def options(owner: str, given: Mapping[str, Any], without: Iterable[str] = ()) -> dict[str, Any]:
    """All arguments of :func:`load_curve` behind ``x`` and ``y``, as given or by default; no others."""
    behind = list(inspect.signature(load_curve).parameters.items())[3:]
    known = {name: parameter.default for name, parameter in behind if name not in without}
    if unknown := given.keys() - known.keys():
        raise ValueError(f"{owner}: {', '.join(sorted(unknown))}: load_curve takes {', '.join(known)}")
    return known | dict(given)


class LoadCurve:
    """A load curve of samples that come little by little, or to several processes: ``update``, ``compute``, ``reset``.

    What a metric of torchmetrics is, with the model inside. Further arguments are those of :func:`load_curve`, but for
    those of the samples.

    Examples
    --------
    >>> from deepmech.data import load
    >>> x, y = load("digits").x_train[:1000], load("digits").y_train[:1000]
    >>> model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))
    >>> one, two = (LoadCurve(model).update(x[half], y[half]) for half in (slice(500), slice(500, None)))
    >>> bool(np.allclose(one.merge(two).compute(), load_curve(model, x, y), atol=1e-5))
    True
    """

    def __init__(
        self, model: nn.Module, layers: Iterable[str] | str | None = None, metric: Metric = "D", **how: Any
    ) -> None:
        known = options("LoadCurve", how | {"metric": metric}, without=("batch_size", "n_samples"))
        o = SimpleNamespace(**known)
        specs.instance("load_curve: model", model, nn.Module)
        if o.n_classes is not None:
            specs.whole("load_curve: n_classes", o.n_classes, 2)
        floating = isinstance(o.autocast, torch.dtype) and o.autocast.is_floating_point
        for name, fits, allowed in (
            ("target", o.target in get_args(Target), "'classes' or 'regression'"),
            ("over", o.over in get_args(Over), "'samples' or 'classes'"),
            ("pool", o.pool is None or callable(o.pool), "a function of what a layer returns, as over_positions"),
            ("forward", o.forward is None or callable(o.forward), "a function of model and batch"),
            ("autocast", o.autocast is None or floating, "a floating point type, as torch.bfloat16, or None"),
        ):
            specs.require(f"load_curve: {name}", known[name], fits, allowed)
        for name in ("diverged_to_nan", "debias", "parts"):
            specs.switch(f"load_curve: {name}", known[name])
        specs.whole("load_curve: groups", o.groups)
        if o.target == "regression":
            if not (metric == "D" and o.weights == "samples" and o.n_classes is None):
                raise ValueError(
                    "load_curve: target = 'regression' has no classes: leave out metric, weights and n_classes"
                )
            o.metric = "probe_error"
        if (isinstance(layers, str) and layers != BLOCKS) or not (layers is None or isinstance(layers, Iterable)):
            raise ValueError(f"load_curve: layers = {layers!r}: give a list of names, or 'blocks'")
        o.debias = o.debias and o.metric == "D"
        self.model, self.how, self.forward, self.pool = model, o, o.forward, o.pool
        del o.forward, o.pool  # functions do not go from process to process
        self.layers = list(layers) if isinstance(layers, Iterable) and layers != BLOCKS else layers
        self.selection: Any = None  # a Selection, and the names of the modules that it was made for
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.samples, self.order = 0, 0
        self.sets: dict[Any, _Labelled] = {}  # by the names of sets of labels
        self.diverged: set[str] = set()
        self.layer: dict[str, str] = {}  # kinds of modules by the names of layers, in the order of the curve
        self.words: dict[str, Any] = {}

    def update(self, x: Any, y: Any = None, batch_size: int = 1024, n_samples: int | None = None) -> Self:
        """Take samples through the model: a batch or a whole loader, as for :func:`load_curve`."""
        return self.take(Batches(x, y, batch_size, self.how.target, n_samples))

    def take(self, batches: Batches) -> Self:
        """Take batches that are ready through the model."""
        model = unwrap(self.model)
        parameters = dict(model.named_parameters())
        if lazy := [name for name, parameter in parameters.items() if nn.parameter.is_lazy(parameter)]:
            raise ValueError(
                f"load_curve: {lazy[0]!r} has no shape yet, and the first pass would draw it: "
                "run one batch through the model before"
            )
        dtype = next((p.dtype for p in parameters.values() if p.is_floating_point()), None)
        device = next((p.device for p in parameters.values()), torch.device("cpu"))
        for name in batches.places:
            self.sets.setdefault(name, _Labelled(self.how, batches.known.get(name)))
        probe: LayerProbe | None = None
        with evaluation(model), loader_state(batches.loader), ExitStack() as stack:
            if self.how.autocast is not None:
                stack.enter_context(torch.autocast(device.type, self.how.autocast))
            for batch in batches:
                self.samples, self.order = self.samples + len(batch), zlib.crc32(batch.digest(), self.order)
                batch = batch.to(device, dtype)
                if probe is None:
                    found = self._select(model, batch, device)
                    points = [point for _, point, _ in found.points]
                    probe = LayerProbe(model, list(dict.fromkeys((*found.names, *points))))
                    stack.enter_context(probe)
                self._through(model, batch, probe, found)
        if probe is not None:
            self.layer = {name: probe.kind(name) for name in probe.wanted}
            words = {"left_out": found.left_out, "architecture": describe(model), "stream": int(found.blocks)}
            self.words = {name: word for name, word in words.items() if word}
        return self

    def _select(self, model: nn.Module, batch: Batch, device: torch.device) -> Selection:
        """The layers; found once, and again if the model has other modules than it had."""
        modules = tuple(name for name, _ in model.named_modules())
        if self.selection is None or self.selection[1] != modules:
            with evaluation(model):  # what is measured must not depend on whether somebody looked before
                for some in (batch if self.forward else batch.head(), batch):
                    look = some.to(device, None)  # a copy: the model may work in place
                    through = partial(look.through, model, self.forward)
                    try:
                        found = choose(model, self.layers, through, look.main(model), self.how.parts)
                        break
                    except (ValueError, RuntimeError, IndexError):  # not of the model's whole batch: let that speak
                        if some is batch:
                            raise
            if found.left_out:
                warnings.warn(f"load_curve: {found.left_out}", Partial, stacklevel=_stack_level())
            self.selection = found, modules
        return self.selection[0]

    def _through(self, model: nn.Module, batch: Batch, probe: LayerProbe, found: Selection) -> None:
        """One batch through the model; what layers return goes to each set of labels."""
        tuples = found.blocks or found.points
        made = {name: labels for name, labels in batch.labels.items() if callable(labels)}
        ready = [self.sets[name] for name in batch.labels if name not in made]
        kept: list[tuple[str, torch.Tensor]] = []

        def pooled(output: Any) -> Any:
            output = stream(output) if tuples else output
            if self.pool is None:
                return output
            return self.pool(output, batch.whole) if _takes_two(self.pool) else self.pool(output)

        def collect(layer: str, features: torch.Tensor) -> None:
            self._collect(layer, features, ready)
            if made:
                kept.append((layer, features.clone()))  # until there are labels; the model may work in place

        for name in batch.labels.keys() - made.keys():
            self.sets[name].begin(batch.labels[name])
        main, pool = batch.main(model), pooled if self.pool is not None or tuples else None
        inputs = torch.zeros(0) if main is None else main
        output = probe.run(inputs, len(batch), lambda: _logits(batch.through(model, self.forward)), collect, pool)
        for name, labels in made.items():
            self.sets[name].begin(labels(output, batch.whole))
        for layer, features in kept:
            self._collect(layer, features, [self.sets[name] for name in made])

    def _collect(self, layer: str, features: torch.Tensor, sets: list[_Labelled]) -> None:
        try:
            for one in sets:
                one.collect(layer, features)
        except ValueError as error:
            if not (self.how.diverged_to_nan and isinstance(error, NotFinite)):
                raise ValueError(f"load_curve: layer {layer!r}: {error}") from None
            self.diverged.add(layer)

    def merge(self, *others: LoadCurve) -> Self:
        """Add the samples of others, measured over the same layers."""
        for other in others:
            if self.layer and list(other.layer) != list(self.layer):
                raise ValueError(f"LoadCurve.merge: layers are {list(self.layer)} here, {list(other.layer)} there")
            self.layer, self.words, self.selection = other.layer, other.words, other.selection
            self.samples, self.diverged = self.samples + other.samples, self.diverged | other.diverged
            self.order = zlib.crc32(str(other.order).encode(), self.order)
            for name, one in other.sets.items():
                self.sets.setdefault(name, _Labelled(self.how)).merge(one)
        return self

    def compute(self, reduce: bool = True) -> Any:
        """The curve of all samples so far, as :func:`load_curve` returns it.

        With ``reduce`` in a run of ``torch.distributed``: of the samples of all processes, all of which have to call.
        """
        whole = self
        if reduce and torch.distributed.is_available() and torch.distributed.is_initialized():
            states: list[Any] = [None] * torch.distributed.get_world_size()
            kept = ("samples", "order", "sets", "diverged", "layer", "words")
            torch.distributed.all_gather_object(states, {name: getattr(self, name) for name in kept})
            whole = copy.copy(self)
            whole.reset()
            for state in states:
                vars(other := copy.copy(self)).update(state)
                whole.merge(other)
        if not whole.layer:
            raise ValueError("LoadCurve.compute: no samples yet; call update(x, y) first")
        curves = {name: whole._curve(one) for name, one in whole.sets.items()}
        return curves[None] if None in curves else xr.Dataset(curves)

    def _curve(self, one: _Labelled) -> xr.DataArray:
        if one.classes is not None:
            one.classes.require_all()
        how, found = self.how, self.selection[0]
        value = {name: np.nan if name in self.diverged else one.value(name) for name in self.layer}
        names = [name for name in self.layer if name in found.names]
        values, finite = np.array([value[n] for n in names]), np.array([n not in self.diverged for n in names])
        layers: dict[str, Any] = {"layer": names, "depth": ("layer", np.arange(len(names)))}
        layers["kind"] = "layer", [self.layer[name] for name in names]
        attributes = {"long_name": _WORDS[how.metric][1], "metric": how.metric, "samples": self.samples} | self.words
        curve = xr.DataArray(values, layers, "layer", _WORDS[how.metric][0], attributes)
        if one.classes is not None:
            curve.attrs |= {"units": "1", "weights": how.weights, "classes": one.classes.classes}
        if how.metric == "D":
            ceiling = separation_ceiling(one.deal.seen, how.weights)
            curve.attrs |= {"estimate": "debiased" if how.debias else "plain", "ceiling": ceiling}
            curve.attrs["order"] = f"{self.order:08x}{one.order:08x}"
            sound = [name for name in names if name not in self.diverged]
            lost = [name for name in sound if how.debias and np.isnan(value[name])]
            if unresolved := [name for name in lost if not np.isnan(one.moments[name].separation(False))]:
                curve.attrs["unresolved"] = ", ".join(unresolved)
            if (groups := one.without(sound)) is not None:
                left = np.full((len(groups), len(names)), np.nan)
                left[:, finite] = groups
                curve.attrs |= {"over": how.over, "groups": len(groups), "layers": len(names)}
                curve.attrs["jackknife"] = np.concatenate([values[None], left]).ravel().tolist()
        for kind in dict.fromkeys(kind for _, _, kind in found.points):
            curve.coords[kind] = "layer", np.where(np.arange(len(names)) > 0, 0.0, np.nan)
        last = value[names[0]]
        for layer, point, kind in found.points:
            curve.coords[kind].loc[{"layer": layer}] += last - value[point]
            last = value[point]
        return curve


class _Labelled:
    """Samples under one set of labels: moments of classes in each layer, or all features where there are targets."""

    def __init__(self, how: SimpleNamespace, labels: np.ndarray | None = None) -> None:
        self.how = how
        self.classes = None if how.metric == "probe_error" else ClassIndex(how.n_classes, labels)
        self.deal, self.order = Deal(how.groups), 0
        self.grouped = how.metric == "D" and how.weights == "samples"
        self.moments: dict[str, Any] = {}
        self.features: dict[str, list[torch.Tensor]] = {}
        self.targets: list[Any] = []

    def begin(self, labels: Any) -> None:
        """Labels of the batch that comes."""
        if self.classes is None:
            self.targets.append(regression_targets(labels))
            return
        self.labels = self.classes(labels)
        self.order = zlib.crc32(self.labels.numpy().tobytes(), self.order)
        self.places = self.deal(self.labels)

    def collect(self, layer: str, features: torch.Tensor) -> None:
        """What a layer returned for that batch."""
        if self.classes is None:
            require_finite(features)
            self.features.setdefault(layer, []).append(features.detach().cpu())
            if sum(t.nbytes for parts in self.features.values() for t in parts) > _LARGEST_FEATURES:
                raise ValueError(
                    "the features of all layers take more than 2 GiB: give pool=, n_samples= or fewer layers"
                )
            return
        n = self.classes.classes
        if layer not in self.moments:
            made = GroupMoments(n, self.how.groups) if self.grouped else None
            self.moments[layer] = made or ClassMoments(n, self.how.metric, self.how.weights)
        self.moments[layer].grow(n)
        self.moments[layer].update(features, self.labels, *([self.places] if self.grouped else []))

    def merge(self, other: _Labelled) -> None:
        """Add the samples of another, whose classes may be numbered in another way."""
        if self.classes is None or other.classes is None or not self.grouped:
            raise ValueError("LoadCurve.merge: only D with weights = 'samples' can be put together from several parts")
        number = self.classes.number
        places = torch.tensor([number.setdefault(name, len(number)) for name in other.classes.number])
        self.order = zlib.crc32(str(other.order).encode(), self.order)
        for layer, moments in other.moments.items():
            self.moments.setdefault(layer, GroupMoments(self.classes.classes, self.how.groups)).merge(moments, places)
        seen = nn.functional.pad(self.deal.seen, (0, len(number) - len(self.deal.seen)))
        self.deal.seen = seen.index_add_(0, places[: len(other.deal.seen)], other.deal.seen)

    def value(self, layer: str) -> float:
        """Separation, or the error of a probe."""
        if self.classes is not None:
            return float(self.moments[layer].separation(self.how.debias))
        y = np.concatenate(self.targets)
        features = torch.cat(self.features[layer])
        values = (features.float() if features.dtype.itemsize < 4 else features).numpy()
        errors = [probe_error(values, column) for column in (y if y.ndim == 2 else y[:, None]).T]
        return float(np.sqrt(np.mean(np.square(errors))))

    def without(self, sound: list[str]) -> np.ndarray | None:
        """D of these layers without each group, (group, layer)."""
        if not (self.grouped and sound and self.how.groups > 1):
            return None
        moments = [self.moments[layer] for layer in sound]
        for one in moments:  # groups that one layer had to join are joined in all
            one.join(min(other.groups for other in moments))
        found = np.array([one.without(self.how.debias, self.how.over) for one in moments]).T
        return found if len(found) > 2 else None


def answers(output: Any, batch: Any = None) -> torch.Tensor:
    """The network's own answers as labels, ``load_curve(model, loader, answers)``: where its output is largest.

    A curve over these says how far apart the network holds what it *calls* different, right or wrong.

    Examples
    --------
    >>> answers(torch.tensor([[0.1, 0.9], [0.7, 0.3]])).tolist()
    [1, 0]
    """
    if not (isinstance(output, torch.Tensor) and output.ndim == 2):
        raise ValueError("answers: the model's output is no tensor (n, classes): write a function of output and batch")
    return output.argmax(1)


def views(x: Any, change: Callable[[torch.Tensor], torch.Tensor], n: int = 8) -> Iterator[tuple[torch.Tensor, Any]]:
    """Batches in which each sample is a class of its own: n changed copies of it, for ``load_curve(model, views(…))``.

    A curve over these says how well layers tell samples apart whatever the change; it needs no labels.

    Parameters
    ----------
    x : tensor or array (samples, …).
    change : makes other views of a batch (samples, …): noise, a crop, another rotation.
    n : copies of each.

    Examples
    --------
    >>> [labels.tolist() for _, labels in views(torch.zeros(2, 3), lambda x: x + torch.randn_like(x), n=2)]
    [[0, 1, 0, 1]]
    """
    samples = torch.as_tensor(x)
    for start in range(0, len(samples) * n, 1024):
        which = torch.arange(start, min(start + 1024, len(samples) * n)) % len(samples)
        yield change(samples[which]), which


def over_positions(features: torch.Tensor) -> torch.Tensor:
    """Mean over positions, as ``pool`` of :func:`load_curve`: what is left when it does not matter *where* things are.

    Feature maps (n, channels, height, width, …) are averaged over all axes from the third on, sequences
    (n, tokens, features) over the second; (n, features) stays as it is. The channels-first sequences of ``nn.Conv1d``
    look like tokens: give ``lambda h: h.mean(2)`` for those.

    Parameters
    ----------
    features : tensor (n, …), what a layer returns.

    Returns
    -------
    tensor (n, features)

    Examples
    --------
    >>> over_positions(torch.zeros(5, 16, 8, 8)).shape, over_positions(torch.zeros(5, 10, 32)).shape
    (torch.Size([5, 16]), torch.Size([5, 32]))
    """
    if features.ndim > 3:
        return features.flatten(2).mean(2)
    return features.mean(1) if features.ndim == 3 else features


def over_tokens(features: torch.Tensor, batch: Any) -> torch.Tensor:
    """Mean over the tokens that are no padding, as ``pool`` of :func:`load_curve`.

    Sequences (n, tokens, features) are averaged over the tokens where ``batch["attention_mask"]``, (n, tokens), is not
    zero; (n, features) stays as it is.

    Parameters
    ----------
    features : tensor (n, tokens, features), what a layer returns.
    batch : mapping with ``attention_mask``.

    Returns
    -------
    tensor (n, features)

    Examples
    --------
    >>> h, mask = torch.tensor([[[1.0], [5.0]], [[3.0], [5.0]]]), torch.tensor([[1, 0], [1, 1]])
    >>> over_tokens(h, {"attention_mask": mask}).tolist()
    [[1.0], [4.0]]
    """
    if features.ndim < 3:
        return features
    mask = batch["attention_mask"] if isinstance(batch, Mapping) and "attention_mask" in batch else None
    if mask is None or mask.shape != features.shape[:2]:
        shape = "none" if mask is None else tuple(mask.shape)
        raise ValueError(
            f"over_tokens: features {tuple(features.shape)}, attention_mask {shape}: expected (n, tokens, features) "
            "and (n, tokens); for other batches write pool=lambda h, batch: …"
        )
    kept = (mask != 0)[..., None].to(features.dtype)
    return (features * kept).sum(1) / kept.sum(1).clamp(min=1)


def _logits(output: Any) -> Any:
    """Of an output with fields, what a classifier is after: its logits, or the last features."""
    if isinstance(output, Mapping):
        return next((output[k] for k in ("logits", "last_hidden_state") if k in output), stream(output))
    return output


def _takes_two(pool: Callable[..., Any]) -> bool:
    """Whether a function asks for a second argument, the batch."""
    try:
        parameters = inspect.signature(pool).parameters.values()
    except (TypeError, ValueError):
        return False
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in plain and p.default is inspect.Parameter.empty for p in parameters) >= 2


def _stack_level() -> int:
    """How far up the stack the caller of the library is."""
    frame, depth = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("deepmech."):
        frame, depth = frame.f_back, depth + 1
    return depth
