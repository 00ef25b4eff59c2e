"""The load curve of any torch model: data separation of each layer's features (paper A, Fig. 1)."""

from __future__ import annotations

import copy
import inspect
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core import specs
from deepmech.core.estimates import Estimate
from deepmech.metrics.batches import Batch, Batches, ClassIndex, Forward, loader_state, regression_targets
from deepmech.metrics.evaluation import evaluation, unwrap
from deepmech.metrics.groups import GROUPS, Deal, GroupMoments
from deepmech.metrics.layers import BLOCKS, Selection, choose, describe, plain_attention, stream
from deepmech.metrics.probing import Call, LayerProbe
from deepmech.metrics.reading import Enough, Reading, enough, estimate, read
from deepmech.metrics.regression import probe_error
from deepmech.metrics.separation import ClassMoments, Metric, Weights, require_finite, separation_ceiling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        model, layers, metric, n_classes, weights, pool, diverged_to_nan, forward=forward, target=target,
        autocast=autocast, debias=debias, groups=groups, over=over, parts=parts,
    )  # fmt: skip
    batches.require_classes(n_classes)
    return curve.take(batches).compute(reduce=False)


class LoadCurve:
    """A load curve of samples that come little by little, or to several processes: ``update``, ``compute``, ``reset``.

    What a metric of torchmetrics is, with the model inside. Arguments are those of :func:`load_curve`.

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
        self, model: nn.Module, layers: Iterable[str] | str | None = None, metric: Metric = "D",
        n_classes: int | None = None, weights: Weights = "samples", pool: Pool | None = None,
        diverged_to_nan: bool = False, *, forward: Forward | None = None, target: Target = "classes",
        autocast: torch.dtype | None = None, debias: bool = True, groups: int = GROUPS, over: Over = "samples",
        parts: bool = False,
    ) -> None:  # fmt: skip
        specs.instance("load_curve: model", model, nn.Module)
        if n_classes is not None:
            specs.whole("load_curve: n_classes", n_classes, 2)
        floating = isinstance(autocast, torch.dtype) and autocast.is_floating_point
        for name, option, fits, allowed in (
            ("target", target, target in get_args(Target), "'classes' or 'regression'"),
            ("over", over, over in get_args(Over), "'samples' or 'classes'"),
            ("pool", pool, pool is None or callable(pool), "a function of what a layer returns, as over_positions"),
            ("forward", forward, forward is None or callable(forward), "a function of model and batch"),
            ("autocast", autocast, autocast is None or floating, "a floating point type, as torch.bfloat16, or None"),
        ):
            specs.require(f"load_curve: {name}", option, fits, allowed)
        if target == "regression" and not (metric == "D" and weights == "samples" and n_classes is None):
            raise ValueError(
                "load_curve: target = 'regression' has no classes: leave out metric, weights and n_classes"
            )
        if (isinstance(layers, str) and layers != BLOCKS) or not (layers is None or isinstance(layers, Iterable)):
            raise ValueError(f"load_curve: layers = {layers!r}: give a list of names, or 'blocks'")
        for name, value in (("diverged_to_nan", diverged_to_nan), ("debias", debias), ("parts", parts)):
            specs.switch(f"load_curve: {name}", value)
        specs.whole("load_curve: groups", groups)
        self.model, self.forward, self.autocast, self.target = model, forward, autocast, target
        self.layers = list(layers) if isinstance(layers, Iterable) and layers != BLOCKS else layers
        self.pool, self.diverged_to_nan, self.parts = pool, diverged_to_nan, parts
        self.metric: Any = metric if target == "classes" else "probe_error"
        self.weights, self.n_classes, self.debias = weights, n_classes, debias and self.metric == "D"
        self.groups, self.over = groups, over
        self.selection: tuple[Selection, tuple[str, ...]] | None = None
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.samples, self.order = 0, 0
        self.sets: dict[Any, _Labelled] = {}  # by the names of sets of labels
        self.diverged: set[Call] = set()
        self.layer: dict[str, tuple[Call, str]] = {}  # by name, in the order of the curve, with the class of the module
        self.words: dict[str, Any] = {}

    def update(self, x: Any, y: Any = None, batch_size: int = 1024, n_samples: int | None = None) -> Self:
        """Take samples through the model: a batch or a whole loader, as for :func:`load_curve`."""
        return self.take(Batches(x, y, batch_size, self.target, n_samples))

    def take(self, batches: Batches) -> Self:
        """Take batches that are ready through the model."""
        model = unwrap(self.model)
        parameters = dict(model.named_parameters())
        for name, parameter in parameters.items():
            if nn.parameter.is_lazy(parameter):
                raise ValueError(
                    f"load_curve: {name!r} has no shape yet, and the first pass would draw it: "
                    "run one batch through the model before"
                )
        dtype = next((p.dtype for p in parameters.values() if p.is_floating_point()), None)
        device = next((p.device for p in parameters.values()), torch.device("cpu"))
        for name in batches.places:
            self.sets.setdefault(name, _Labelled(self, batches.known.get(name)))
        probe: _Probe | None = None
        with evaluation(model), loader_state(batches.loader), ExitStack() as stack:
            stack.enter_context(plain_attention(model))
            if self.autocast is not None:
                stack.enter_context(torch.autocast(device.type, self.autocast))
            for batch in batches:
                self.samples, self.order = self.samples + len(batch), zlib.crc32(batch.digest(), self.order)
                batch = batch.to(device, dtype)
                if probe is None:
                    probe = _Probe(self, model, self._select(model, batch, device))
                    stack.enter_context(probe.attached())
                probe.take(batch)
        if probe is not None:
            found = probe.selection
            self.layer = {name: (key, probe.kind(name)) for name, key in probe.names().items()}
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
                        found = choose(model, self.layers, through, look.main(model), self.parts)
                        break
                    except (ValueError, RuntimeError, IndexError):  # not of the model's whole batch: let that speak
                        if some is batch:
                            raise
            if found.left_out:
                warnings.warn(f"load_curve: {found.left_out}", Partial, stacklevel=_stack_level())
            self.selection = found, modules
        return self.selection[0]

    def merge(self, *others: LoadCurve) -> Self:
        """Add the samples of others, measured over the same layers."""
        for other in others:
            if self.layer and list(other.layer) != list(self.layer):
                raise ValueError(f"LoadCurve.merge: layers are {list(self.layer)} here, {list(other.layer)} there")
            self.layer, self.words, self.selection = other.layer, other.words, other.selection
            self.samples, self.diverged = self.samples + other.samples, self.diverged | other.diverged
            self.order = zlib.crc32(str(other.order).encode(), self.order)
            for name, one in other.sets.items():
                self.sets.setdefault(name, _Labelled(self)).merge(one)
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
        assert self.selection is not None
        names = [name for name in self.layer if name in self.selection[0].names]
        keys = {name: key for name, (key, _) in self.layer.items()}
        value = {name: np.nan if key in self.diverged else one.value(key) for name, key in keys.items()}
        values = np.array([value[name] for name in names])
        layers: dict[str, Any] = {"layer": names, "depth": ("layer", np.arange(len(names)))}
        layers["kind"] = "layer", [self.layer[name][1] for name in names]
        attributes = {"long_name": _WORDS[self.metric][1], "metric": self.metric, "samples": self.samples} | self.words
        curve = xr.DataArray(values, layers, "layer", _WORDS[self.metric][0], attributes)
        if one.classes is not None:
            curve.attrs |= {"units": "1", "weights": self.weights, "classes": one.classes.classes}
        if self.metric == "D":
            sound = [keys[name] for name in names if keys[name] not in self.diverged]
            estimate, ceiling = "debiased" if self.debias else "plain", separation_ceiling(one.deal.seen, self.weights)
            curve.attrs |= {"estimate": estimate, "ceiling": ceiling, "order": f"{self.order:08x}{one.order:08x}"}
            lost = [n for n in names if self.debias and np.isnan(value[n]) and keys[n] in sound]
            if unresolved := [n for n in lost if not np.isnan(one.moments[keys[n]].separation(False))]:
                curve.attrs["unresolved"] = ", ".join(unresolved)
            if (groups := one.without(sound)) is not None:
                left = np.full((len(groups), len(names)), np.nan)
                left[:, [keys[name] in sound for name in names]] = groups
                curve.attrs |= {"over": self.over, "groups": len(groups), "layers": len(names)}
                curve.attrs["jackknife"] = np.concatenate([values[None], left]).ravel().tolist()
        points = self.selection[0].points
        for kind in dict.fromkeys(kind for _, _, kind in points):
            curve.coords[kind] = "layer", np.where(np.arange(len(names)) > 0, 0.0, np.nan)
        last = value[names[0]]
        for layer, point, kind in points:
            curve.coords[kind].loc[{"layer": layer}] += last - value[point]
            last = value[point]
        return curve


class _Labelled:
    """Samples under one set of labels: moments of classes in each layer, or all features where there are targets."""

    def __init__(self, of: LoadCurve, labels: np.ndarray | None = None) -> None:
        self.metric, self.weights, self.debias, self.over, self.groups = (
            of.metric, of.weights, of.debias, of.over, of.groups
        )  # fmt: skip
        self.classes = None if of.metric == "probe_error" else ClassIndex(of.n_classes, labels)
        self.deal, self.order = Deal(of.groups), 0
        self.grouped = of.metric == "D" and of.weights == "samples"
        self.moments: dict[Call, Any] = {}
        self.features: dict[Call, list[torch.Tensor]] = {}
        self.targets: list[Any] = []

    def begin(self, labels: Any) -> None:
        """Labels of the batch that comes."""
        if self.classes is None:
            self.targets.append(regression_targets(labels))
            return
        self.labels = self.classes(labels)
        self.order = zlib.crc32(self.labels.numpy().tobytes(), self.order)
        self.places = self.deal(self.labels)

    def collect(self, key: Call, features: torch.Tensor) -> None:
        """What a layer returned for that batch."""
        if self.classes is None:
            require_finite(features)
            self.features.setdefault(key, []).append(features.detach().cpu())
            if sum(t.nbytes for parts in self.features.values() for t in parts) > _LARGEST_FEATURES:
                raise ValueError(
                    "the features of all layers take more than 2 GiB: give pool=, n_samples= or fewer layers"
                )
            return
        n = self.classes.classes
        if key not in self.moments:
            grouped = partial(GroupMoments, n, self.groups)
            self.moments[key] = grouped() if self.grouped else ClassMoments(n, self.metric, self.weights)
        self.moments[key].grow(n)
        self.moments[key].update(features, self.labels, *([self.places] if self.grouped else []))

    def merge(self, other: _Labelled) -> None:
        """Add the samples of another, whose classes may be numbered in another way."""
        if self.classes is None or other.classes is None or not self.grouped:
            raise ValueError("LoadCurve.merge: only D with weights = 'samples' can be put together from several parts")
        places = [self.classes.number.setdefault(n, len(self.classes.number)) for n in other.classes.number]
        self.order = zlib.crc32(str(other.order).encode(), self.order)
        for key, moments in other.moments.items():
            mine = self.moments.setdefault(key, GroupMoments(self.classes.classes, self.groups))
            mine.merge(moments, torch.tensor(places))
        seen = nn.functional.pad(self.deal.seen, (0, len(self.classes.number) - len(self.deal.seen)))
        self.deal.seen = seen.index_add_(0, torch.tensor(places)[: len(other.deal.seen)], other.deal.seen)

    def value(self, key: Call) -> float:
        """Separation, or the error of a probe."""
        if self.classes is not None:
            return float(self.moments[key].separation(self.debias))
        y = np.concatenate(self.targets)
        features = torch.cat(self.features[key])
        values = (features.float() if features.dtype.itemsize < 4 else features).numpy()
        errors = [probe_error(values, column) for column in (y if y.ndim == 2 else y[:, None]).T]
        return float(np.sqrt(np.mean(np.square(errors))))

    def without(self, sound: list[Call]) -> np.ndarray | None:
        """D of these layers without each group, (group, layer)."""
        if not (self.grouped and sound and self.groups > 1):
            return None
        fewest = min(self.moments[key].groups for key in sound)
        for key in sound:  # groups that one layer had to join are joined in all
            self.moments[key].join(fewest)
        found = np.array([self.moments[key].without(self.debias, self.over) for key in sound]).T
        return found if len(found) > 2 else None


class _Probe(LayerProbe):
    """Gives what layers return to each set of labels."""

    def __init__(self, curve: LoadCurve, model: nn.Module, selection: Selection) -> None:
        names = dict.fromkeys((*selection.names, *(point for _, point, _ in selection.points)))
        super().__init__(model, list(names), None, curve.diverged_to_nan)
        self.diverged = curve.diverged
        self.curve, self.model, self.selection = curve, model, selection
        if curve.pool is not None or selection.blocks or selection.points:
            self.pool = self._pool

    def take(self, batch: Batch) -> None:
        """One batch through the model."""
        self.batch = batch
        main, forward = batch.main(self.model), self.curve.forward
        made = [name for name, labels in batch.labels.items() if callable(labels)]
        self.ready = [self.curve.sets[name] for name in batch.labels if name not in made]
        self.kept: list[tuple[Call, torch.Tensor]] | None = [] if made else None
        for name in batch.labels.keys() - set(made):
            self.curve.sets[name].begin(batch.labels[name])
        inputs = torch.zeros(0) if main is None else main
        output = self.run(inputs, len(batch), lambda: _logits(batch.through(self.model, forward)))
        kept, self.kept, self.ready = self.kept or [], None, [self.curve.sets[name] for name in made]
        for name in made:
            self.curve.sets[name].begin(batch.labels[name](output, batch.whole))
        for key, features in kept:
            self.guarded(key, features)

    def collect(self, key: Call, features: torch.Tensor) -> None:
        for labelled in self.ready:
            labelled.collect(key, features)
        if self.kept is not None:
            self.kept.append((key, features.clone()))  # until there are labels; the model may work in place

    def _pool(self, output: Any) -> Any:
        output, pool = stream(output) if self.selection.blocks or self.selection.points else output, self.curve.pool
        if pool is None:
            return output
        return pool(output, self.batch.whole) if _takes_two(pool) else pool(output)


@xr.register_dataarray_accessor("deepmech")
class LoadCurveAccessor:
    """What a load curve can do: ``curve.deepmech.plot()``, ``read()``, ``estimate()``, ``enough()``, ``parts()``."""

    def __init__(self, curve: xr.DataArray) -> None:
        self._curve = curve

    def plot(self, **how: Any) -> Axes:
        """Draw it: :func:`deepmech.plots.lines.plot`; the reading of a single curve is its title."""
        from deepmech.plots.lines import plot

        if "title" not in how and self._curve.ndim == 1 and self._curve.size > 2:
            how["title"] = self.read().verdict
        if "interval" not in how and self._curve.ndim == 1 and (found := self.estimate()).n:
            how["interval"] = found.interval
        return plot(self._curve, **how)

    def read(self) -> Reading:
        """Say in words what it shows: :func:`deepmech.metrics.reading.read`."""
        return read(self._curve)

    def enough(self) -> Enough:
        """Whether there are samples enough for a verdict: :func:`deepmech.metrics.reading.enough`."""
        return enough(self._curve)

    def estimate(self, of: Callable[[Any], Any] = lambda curve: curve) -> Estimate:
        """D, or a function of the curve such as ``curvature``, with its interval: see
        :func:`deepmech.metrics.reading.estimate`."""
        return estimate(self._curve, of)

    def parts(self) -> xr.DataArray:
        """What each kind of module takes off from layer to layer, (layer, part), of a curve with ``parts=True``."""
        kinds = [str(name) for name in self._curve.coords if name not in ("layer", "depth", "kind")]
        if not kinds:
            raise ValueError("no parts are noted on this curve: measure it with load_curve(…, parts=True)")
        return xr.concat([self._curve[kind].drop_vars(kinds) for kind in kinds], xr.Variable("part", kinds)).T[1:]


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
