"""The load curve of any torch model: data separation of each layer's features (paper A, Fig. 1)."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self, get_args

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core import specs
from deepmech.metrics.evaluation import (
    Batches,
    ClassIndex,
    Forward,
    SampleBatch,
    class_names,
    closeness,
    evaluation,
    group_names,
    loader_state,
    unwrap,
)
from deepmech.metrics.folds import FOLDS, FoldAssigner, FoldMoments
from deepmech.metrics.layers import (
    BLOCKS,
    OUTPUT,
    LayerRecorder,
    Pass,
    Selection,
    keep_features,
    logits,
    select_layers,
    tensors_in,
)
from deepmech.metrics.separation import ClassMoments, Metric, MetricFunction, require_finite, separation_ceiling

Pool = Callable[..., torch.Tensor]

CLUSTERED = 0.5
"""Samples of which the nearest is at less than this share of the squared distance of independent ones are clusters."""
CLUSTER_SAMPLES = 256
"""How many are looked at."""
#: Name and ``long_name`` of the result.
_ATTRS = {
    "D": ("data_separation", "data separation"),
    "D_hat": ("data_separation_hat", "data separation D̂"),
}


class _Features:
    """Features and labels of all samples, of one layer, for a metric that is a function of them."""

    def __init__(self, metric: MetricFunction, n_folds: int) -> None:
        self.metric, self.n_folds = metric, n_folds
        self.batches: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []

    def grow(self, n_classes: int) -> None:
        """Nothing is kept by class."""

    def update(self, features: torch.Tensor, labels: torch.Tensor, folds: torch.Tensor) -> None:
        require_finite(features)
        self.batches.append((features.detach().cpu().clone(), labels, folds))

    def separation(self, debias: bool) -> float:
        x, y, _ = self._all()
        return float(self.metric(x, y))

    def leave_one_out(self, debias: bool) -> np.ndarray:
        x, y, fold = self._all()
        try:
            return np.array([self.metric(x[fold != k], y[fold != k]) for k in np.unique(fold)], float)
        except ValueError as error:
            error.add_note("load_curve: without one fold of the samples; n_folds=1 leaves intervals out")
            raise

    def coarsen(self, n_folds: int) -> None:
        """There is room for all folds."""

    def _all(self) -> tuple[np.ndarray, ...]:
        return tuple(torch.cat(parts).numpy() for parts in zip(*self.batches, strict=True))


class PartialWarning(UserWarning):
    """A load curve leaves out a part of the model or of the classes; its attributes say the same."""


def load_curve(
    model: nn.Module,
    x: Any,
    y: Any = None,
    layers: Iterable[str] | str | None = None,
    metric: Metric | MetricFunction = "D",
    batch_size: int = 1024,
    pool: Pool | None = None,
    *,
    forward: Forward | None = None,
    n_samples: int | None = None,
    debias: bool = True,
    n_folds: int = FOLDS,
    groups: Any = None,
    sample_axis: int | None = None,
) -> xr.DataArray:
    """Data separation of each layer of a torch model (paper A, Fig. 1): its load curve.

    The samples go through the model once, batch by batch, in evaluation mode. The model is left as it was
    (:func:`deepmech.metrics.evaluation.evaluation`), all hooks are removed, also after an error.

    Parameters
    ----------
    model : nn.Module
        Any module. Of ``torch.compile`` the module within is measured, uncompiled; of ``DistributedDataParallel`` the
        module within, on this process alone.
    x : array_like, mapping or loader
        What to measure on. Either arrays or tensors (n, ...), also mapped from a file, or several by name, as a
        tokenizer returns them. Or a ``DataLoader``, a ``Dataset``, a list of batches, or any other source of batches:
        tuples, the labels last, or dicts. A dict goes to the model by keyword. Everything is copied to the device of
        the model's parameters, floating point numbers in their precision.
    y : array_like, str or callable, optional
        The class of each sample, (n,) or (n, 1): numbers 0 … K − 1 or words. Of dicts: the name of the labels; by
        default ``labels``, ``label``, ``y``, ``targets`` or ``target``. Without labels: :func:`predicted_labels`, or
        any function of output and batch.
    layers : list of str or ``"blocks"``, optional
        Names out of ``model.named_modules()``, in the order wanted; ``"input"`` stands for the input itself and
        ``"output"`` for what the model returns (of several parts its ``logits`` or ``last_hidden_state``, the only one
        with more than one axis, or the one with a column for each class; ``forward`` says it otherwise). Of a layer
        that returns several tensors it is the first. ``"blocks"`` finds blocks that are repeated, such as those of a
        ResNet or a transformer, and runs over what enters the first and what each returns. By default as paper A
        measures: first the input, or the output of a normalisation layer if the model applies one directly to it (for
        token numbers, of the embedding); then every activation, a module of torch's or by its name of somebody else's,
        or a function (``F.relu`` in module ``fc``: ``"fc.relu()"``), in the order of their calls, hence before dropout.
        An activation that is combined with the tensor it was made of, x·sigmoid(x), or raised to a power, is part of a
        function, which is measured where it ends: ``"fc.mul()"``. Left out are the output, which is what the model
        returns, however it was made, also by an activation; gates, which are multiplied into other features and are
        sigmoids or smaller than those; what is not over samples, such as a table of positions, windows folded into the
        batch, or experts that see some samples; and activations that are never called. The result says so in
        ``layers_are`` and ``left_out``. What is called several times in a pass is several layers: ``"act:1"``,
        ``"act:2"``, … in the order of calls.
    metric : str or function
        ``"D"``, ``"D_hat"``, or a function of a layer's features (n, d) and class numbers (n,) to a number. For it the
        features of all samples are kept, and it is computed once more without each fold.
    batch_size : int
        Samples per forward pass; changes memory and rounding only. A loader has its own.
    pool : callable, optional
        Applied to what each layer returns, samples first, the input included, before it is measured: for example
        :func:`mean_pool`, or ``lambda h: h[:, 0]`` for the class token of a sequence. A function of two arguments also
        gets the batch, with its masks: :func:`masked_mean_pool`.
    forward : callable, optional
        How to call the model, if not with the batch without its labels: ``lambda model, batch: model(batch["image"])``.
        The batch is on the model's device.
    n_samples : int, optional
        Measure on so many. They are drawn, the same ones every time, of arrays, of a data set, and of a ``DataLoader``
        that goes through one in order; of any other source they are the first (read no further when so many are
        reached).
    debias : bool
        Take from the between-class scatter its share of sampling noise
        (:meth:`~deepmech.metrics.separation.ClassMoments.separation`), so that D does not depend on the number of
        samples. False gives the plain form, Eq. 3, which is what paper A's and this project's diagrams show. D̂ has the
        plain form only.
    n_folds : int
        Samples are dealt into so many folds, and intervals follow from the curve without each of them
        (:mod:`deepmech.metrics.interpret`): of all metrics but D̂. 1: none.
    groups : array_like or str, optional
        Where several samples show one object (views of one picture, frames of one film, words of one speaker): the
        object of each sample, (n,), whole numbers or words, as scikit-learn has it; of dicts, the name of the entry.
        Samples of a group are not independent, and all go to one fold; debiasing, too, counts what groups scatter by.
        Without it intervals of m equal views of each object are √m times too narrow.
    sample_axis : int, optional
        Of batches, the axis of the samples in the input, 1 for (steps, samples, features). By default the one that is
        as long as the labels; of two, that along which the model takes entries one by one.

    Returns
    -------
    DataArray
        ``data_separation`` over ``layer``, by name; further coordinates along it: ``depth`` counts 0, 1, …, ``kind``
        names the modules' classes; of D, ``features`` is how many a layer has, and ``largest_share`` the part of its
        variance that a single one has. Outputs with more than two axes are flattened to (samples, features): each
        position of a feature map or sequence counts as features of its own. Attributes say what was measured; of D also
        whether it is the ``"plain"`` or the ``"debiased"`` ``estimate``, and the ``ceiling``, about what plain D of as
        many samples (or groups) shows with shuffled labels; in ``unresolved`` which layers are nan because the
        corrected scatter is not positive; in ``no_interval`` which layers are too wide to be kept in folds; in
        ``left_out`` what the default could not see. Of the samples: ``taken`` (``"all"``, ``"drawn from …"``,
        ``"the first"``), ``classes`` seen of ``classes_known``, and whether they came ``sorted`` by class.

    Raises
    ------
    ValueError
        For unknown layer names; a layer that is never called; a plain name of a layer that is called more than once per
        pass; a layer that is named and is not over samples; several outputs of which not one has a column for each
        class; whole numbers, such as token numbers, as a layer; values that are not finite (the layer is named); a
        class without samples. Errors of the model pass, with a note.

    Warns
    -----
    PartialWarning
        If the default leaves out what an ``nn.LSTM`` computes inside, activations that are never called or not over
        samples; if the first samples of a source are not of all of its classes, or are sorted by class; if they lie
        in small clusters, as copies and views of few objects do, and no ``groups`` are given.

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
    batches = Batches(x, y, batch_size, n_samples, groups, sample_axis)
    curve = LoadCurve(model, layers, metric, pool=pool, forward=forward, debias=debias, n_folds=n_folds)
    batches.require_classes()
    return curve.update(batches).compute()


@dataclass
class _State:
    """What a load curve knows of the samples that it has seen."""

    classes: ClassIndex
    deal: FoldAssigner
    samples: int = 0
    order: int = 0  # a checksum of the samples, as they came
    moments: dict[str, Any] = field(default_factory=dict)  # by names of layers
    layer: dict[str, str] = field(default_factory=dict)  # kinds of modules by names of layers, in the curve's order
    notes: dict[str, Any] = field(default_factory=dict)  # attributes of the result
    last: int = -1  # class of the last sample
    changes: int = 0  # how often the class changed from one sample to the next
    columns: int = 0  # of the output, if labels tell of so many classes
    output: str = ""  # which part of what the model returns it is
    predicted: bool = False
    grouped: bool = False
    failed: bool = False  # some samples were taken, and others of the same call were not


class LoadCurve:
    """A load curve of samples that come little by little: ``update``, ``compute``, ``reset``.

    What a metric of torchmetrics is, with the model inside.

    Parameters
    ----------
    model, layers, metric, pool, forward, debias, n_folds
        As for :func:`load_curve`.

    Examples
    --------
    >>> from deepmech.data import load
    >>> x, y = load("digits").x_train[:1000], load("digits").y_train[:1000]
    >>> model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))
    >>> metric = LoadCurve(model).update(x[:500], y[:500]).update(x[500:], y[500:])
    >>> bool(np.allclose(metric.compute(), load_curve(model, x, y), atol=1e-5))
    True
    """

    def __init__(
        self, model: nn.Module, layers: Iterable[str] | str | None = None, metric: Metric | MetricFunction = "D", *,
        pool: Pool | None = None, forward: Forward | None = None, debias: bool = True, n_folds: int = FOLDS,
    ) -> None:  # fmt: skip
        specs.check_type("load_curve: model", model, nn.Module)
        known = callable(metric) or metric in get_args(Metric)
        specs.check("load_curve: metric", metric, known, "'D', 'D_hat' or a function of features and labels")
        specs.check_bool("load_curve: debias", debias)
        n_folds = specs.check_int("load_curve: n_folds", n_folds)
        if isinstance(layers, str) and layers != BLOCKS:
            raise ValueError(f"load_curve: layers = {layers!r}: give a list of names, or 'blocks'")
        self.layers = layers if layers is None or isinstance(layers, str) else list(layers)
        self.model, self.metric, self.pool, self.forward, self.n_folds = model, metric, pool, forward, n_folds
        self.debias = debias and metric == "D"
        self.selection: tuple[Selection, tuple[str, ...]] | None = None  # with the names of modules it was made for
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.state = _State(ClassIndex(), FoldAssigner(self.n_folds))

    def update(self, x: Any, y: Any = None, groups: Any = None, sample_axis: int | None = None) -> Self:
        """Take samples through the model: a batch or a whole loader, as for :func:`load_curve`.

        After an error on the way it has to be ``reset``.
        """
        batches = x if isinstance(x, Batches) else Batches(x, y, groups=groups, sample_axis=sample_axis)
        model, state = unwrap(self.model), self.state
        self._require_whole()
        if (grouped := batches.groups is not None) and self.debias:
            allowed = "two or more, since sampling noise of groups is taken from folds; or debias=False"
            specs.check("load_curve: n_folds", self.n_folds, self.n_folds > 1, allowed)
        if state.samples and grouped != state.grouped:
            raise ValueError("LoadCurve.update: groups of some samples only: give them with all, or with none")
        state.grouped, state.failed = grouped, True
        if batches.known is not None and not state.samples:
            state.classes = ClassIndex(batches.known)
        device, dtype = _place(model)
        probe: LayerRecorder | None = None
        chosen = not isinstance(self.layers, list)
        with evaluation(model), loader_state(batches.loader), ExitStack() as stack:
            for batch in batches:
                state.samples += len(batch)
                state.order = zlib.crc32(batch.digest(), state.order)
                batch = batch.to(device, dtype)
                state.columns = batches.classes_known or max(state.columns, _columns(batch))
                if state.samples == len(batch) and not grouped:
                    _note_clusters(model, batch)
                if probe is None:
                    found = self._select(model, batch, device)
                    probe = stack.enter_context(LayerRecorder(model, found, lenient=chosen))
                self._through(model, batch, probe)
        if probe is not None:
            if probe.lost:
                found = found.without(probe.lost)
                _warn(found.left_out)
                self.selection = found, tuple(name for name, _ in model.named_modules())
            state.layer = {name: probe.kind(name) for name in found.names}
            words = {
                "output": state.output,
                "left_out": found.left_out,
                "stream": int(found.blocks),
                "layers_are": found.layers_are,
            }
            state.notes = {name: word for name, word in words.items() if word}
        self._note_source(batches)
        state.failed = False
        return self

    def _require_whole(self) -> None:
        if self.state.failed:
            raise ValueError("LoadCurve: samples were taken in part, before an error: call reset(), and give all again")

    def _note_source(self, batches: Batches) -> None:
        """Note, and warn of, what of its classes a source has shown."""
        state = self.state
        seen, known = len(state.classes.number), batches.classes_known
        state.notes["taken"] = batches.taken
        if known is not None and not state.predicted:
            state.notes["classes_known"] = known
        in_runs = state.samples >= 5 * seen and state.changes < 2 * seen
        state.notes["sorted"] = int(in_runs)
        few = batches.taken != "all" and seen < state.notes.get("classes_known", 0)
        if seen > 1 and (few or (batches.taken == "the first" and in_runs)):
            of = f"{seen} of {known} classes" if few else f"{seen} classes, one after the other,"
            _warn(f"{of} are among the {state.samples} samples taken: shuffle the source, or take more of it")

    def _select(self, model: nn.Module, batch: SampleBatch, device: torch.device) -> Selection:
        """The layers; found once, and again if the model has other modules than it had."""
        modules = tuple(name for name, _ in model.named_modules())
        if self.selection is None or self.selection[1] != modules:

            def some(n: int | None) -> Pass:
                # From all over the batch, repeated if it has fewer; a copy, since the model may work in place.
                rows = None if n is None else np.arange(n) * max(1, len(batch) // n) % len(batch)
                part = (batch if rows is None else batch.some(rows)).to(device, None)
                given = tensors_in([part.whole, part.args, part.named])

                def through() -> Any:  # each as if nobody had looked before
                    with evaluation(model):
                        return self._output(model, part)

                return Pass(part.main(model), len(part), through, given, self._pool(part))

            batch = self._with_axis(model, batch)
            found = select_layers(model, self.layers, some)
            if found.left_out:
                _warn(found.left_out)
            self.selection = found, modules
        return self.selection[0]

    def _with_axis(self, model: nn.Module, batch: SampleBatch) -> SampleBatch:
        """The axis of its samples, where the first two of its input are as long: that whose entries go alone.

        What comes of the last samples is the same without those before them, which is not so of steps in time.
        """
        main = batch.main(model)
        if batch.axis is not None or main is None or main.ndim < 2 or not len(batch) == len(main) == main.shape[1]:
            return batch
        for axis in (0, 1):
            told = replace(batch, axis=axis)
            with suppress(Exception), evaluation(model):  # what cannot be divided so
                parts = [told.some(np.arange(start, 6)).to(main.device, None) for start in (0, 2)]
                six, last = (next(iter(tensors_in(self._output(model, part)))) for part in parts)
                at = [k for k, pair in enumerate(zip(six.shape, last.shape, strict=True)) if pair == (6, 4)]
                if any(torch.allclose(six.narrow(k, 2, 4), last, 1e-3, 1e-4) for k in at):
                    return told
        return batch

    def _output(self, model: nn.Module, batch: SampleBatch) -> Any:
        """What the model returns; if it is looked at, of several parts the logits."""
        output = batch.through(model, self.forward)
        if isinstance(self.layers, list) and OUTPUT not in self.layers and not callable(batch.labels):
            return output
        output, part = logits(output, self.state.columns)
        if self.state.output not in ("", part):
            raise ValueError(
                f"load_curve: the output was {self.state.output}, by the classes seen so far, and is now {part}: say "
                "which it is, forward=lambda model, batch: model(…)[…]"
            )
        self.state.output = part
        return output

    def _pool(self, batch: SampleBatch) -> Callable[[Any], Any] | None:
        """The pool of this batch's layers."""
        pool = self.pool
        if pool is None or not _takes_batch(pool):
            return pool
        return lambda output: pool(output, batch.whole)

    def _through(self, model: nn.Module, batch: SampleBatch, probe: LayerRecorder) -> None:
        """One batch through the model, and what its layers return to their moments."""
        main = batch.main(model)
        run = partial(
            probe.run, torch.zeros(0) if main is None else main, len(batch), partial(self._output, model, batch),
            pool=self._pool(batch),
        )  # fmt: skip
        if callable(batch.labels):
            self.state.predicted = True
            kept: dict[str, torch.Tensor] = {}  # until there are labels
            places = self._label(batch.labels(run(keep_features(kept)), batch.whole), batch.groups)
            for layer, features in kept.items():
                self._collect(*places, layer, features)
        else:
            run(partial(self._collect, *self._label(batch.labels, batch.groups)))

    def _label(self, labels: Any, groups: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """The classes of the batch that comes, and the folds of its samples."""
        state = self.state
        classes = state.classes(labels)
        state.order = zlib.crc32(classes.numpy().tobytes(), state.order)
        if len(classes):
            row = torch.cat([torch.tensor([state.last]), classes])
            state.changes, state.last = state.changes + int((row[1:] != row[:-1]).sum()), int(row[-1])
        groups = group_names(groups, len(classes))
        folds = state.deal(classes, groups)
        if groups is not None:
            state.order = zlib.crc32(folds.numpy().tobytes(), state.order)
        return classes, folds

    def _collect(self, classes: torch.Tensor, folds: torch.Tensor, layer: str, features: torch.Tensor) -> None:
        """What a layer returned for samples of these classes and folds."""
        n, state = self.state.classes.classes, self.state
        if layer not in state.moments:
            state.moments[layer] = self._moments(n)
        moments = state.moments[layer]
        moments.grow(n)
        try:
            moments.update(features, classes, *((folds,) if self.metric != "D_hat" else ()))
        except ValueError as error:
            raise ValueError(f"load_curve: layer {layer!r}: {error}") from None

    def _moments(self, n_classes: int) -> Any:
        """What collects a layer's features."""
        if callable(self.metric):
            return _Features(self.metric, self.n_folds)
        if self.metric == "D":
            return FoldMoments(n_classes, self.n_folds, self.state.grouped)
        return ClassMoments(n_classes, self.metric)

    def compute(self) -> xr.DataArray:
        """The curve of all samples so far, as :func:`load_curve` returns it."""
        state = self.state
        self._require_whole()
        if not state.layer:
            raise ValueError("LoadCurve.compute: no samples yet; call update(x, y) first")
        state.classes.require_all(every=not state.predicted)
        names = list(state.layer)
        values = [state.moments[name].separation(self.debias) for name in names]
        layers: dict[str, Any] = {"layer": names, "depth": ("layer", np.arange(len(names)))}
        layers["kind"] = "layer", list(state.layer.values())
        metric = self.metric if isinstance(self.metric, str) else getattr(self.metric, "__name__", "metric")
        name, words = _ATTRS.get(metric, (metric, metric))
        attributes = {"long_name": words, "metric": metric, "samples": state.samples} | state.notes
        curve = xr.DataArray(values, layers, "layer", name, attributes)
        curve.attrs |= {"units": "1", "classes": state.classes.classes, "order": f"{state.order:08x}"}
        if state.grouped:
            curve.attrs["n_groups"] = len(state.deal.fold_of)
        if (precision := torch.get_float32_matmul_precision()) != "highest":  # the user's own, as the model is
            curve.attrs["matmul_precision"] = precision
        if self.metric == "D":
            self._note_moments(curve)
        if self.metric != "D_hat":
            self._note_folds(curve)
        return curve

    def _note_moments(self, curve: xr.DataArray) -> None:
        """Note what moments tell beside D, of features and of the estimate."""
        moments = {name: self.state.moments[name] for name in curve.layer.values.tolist()}
        curve.coords["features"] = "layer", [m.anchor.shape[1] for m in moments.values()]
        curve.coords["largest_share"] = "layer", [m.largest_share() for m in moments.values()]
        curve.attrs["estimate"] = "debiased" if self.debias else "plain"
        curve.attrs["ceiling"] = separation_ceiling(self.state.deal.seen)
        nan = [name for name, value in zip(moments, curve.values, strict=True) if np.isnan(value)]
        if unresolved := [name for name in nan if self.debias and not np.isnan(moments[name].separation(False))]:
            curve.attrs["unresolved"] = ", ".join(unresolved)

    def _note_folds(self, curve: xr.DataArray) -> None:
        """Note the curve without each fold of samples."""
        moments = {name: self.state.moments[name] for name in curve.layer.values.tolist()}
        kept = {name: m for name, m in moments.items() if m.n_folds > 2}
        if self.n_folds > 2 and (wide := [name for name in moments if name not in kept]):
            curve.attrs["no_interval"] = ", ".join(wide)
        for one in kept.values():  # folds that one layer had to join are joined in all
            one.coarsen(min(other.n_folds for other in kept.values()))
        left = {name: one.leave_one_out(self.debias) for name, one in kept.items()}
        n_folds = max(map(len, left.values()), default=0)  # with samples
        if n_folds > 2:
            rows = [curve.values, *np.array([left.get(n, np.full(n_folds, np.nan)) for n in moments]).T]
            curve.attrs |= {"folds": n_folds, "layers": len(moments), "jackknife": np.ravel(rows).tolist()}


def predicted_labels(output: Any, batch: Any = None) -> torch.Tensor:
    """The network's own answers as labels, ``load_curve(model, loader, predicted_labels)``: where output is largest.

    A curve over these says how far apart the network holds what it *calls* different, right or wrong.

    Parameters
    ----------
    output : tensor (n, classes), what the model returns.
    batch : not looked at.

    Returns
    -------
    tensor (n,) of class numbers

    Raises
    ------
    ValueError
        For an output of another form.

    Examples
    --------
    >>> predicted_labels(torch.tensor([[0.1, 0.9], [0.7, 0.3]])).tolist()
    [1, 0]
    """
    if not (isinstance(output, torch.Tensor) and output.ndim == 2):
        raise ValueError(
            "predicted_labels: the model's output is no tensor (n, classes): write a function of output and batch"
        )
    return output.argmax(1)


def mean_pool(features: torch.Tensor) -> torch.Tensor:
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
    >>> mean_pool(torch.zeros(5, 16, 8, 8)).shape, mean_pool(torch.zeros(5, 10, 32)).shape
    (torch.Size([5, 16]), torch.Size([5, 32]))
    """
    if features.ndim > 3:
        return features.flatten(2).mean(2)
    return features.mean(1) if features.ndim == 3 else features


def masked_mean_pool(features: torch.Tensor, batch: Any) -> torch.Tensor:
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
    >>> masked_mean_pool(h, {"attention_mask": mask}).tolist()
    [[1.0], [4.0]]
    """
    if features.ndim < 3:
        return features
    mask = batch["attention_mask"] if isinstance(batch, Mapping) and "attention_mask" in batch else None
    if mask is None or mask.shape != features.shape[:2]:
        shape = "none" if mask is None else tuple(mask.shape)
        raise ValueError(
            f"masked_mean_pool: features {tuple(features.shape)}, attention_mask {shape}: expected (n, tokens, "
            "features) and (n, tokens); for other batches write pool=lambda h, batch: …"
        )
    kept = (mask != 0)[..., None].to(features.dtype)
    mean: torch.Tensor = (features * kept).sum(1) / kept.sum(1).clamp(min=1)
    return mean


def _place(model: nn.Module) -> tuple[torch.device, torch.dtype | None]:
    """Device and precision of a model, as far as it has parameters; a ValueError if it cannot be measured."""
    parameters = dict(model.named_parameters())
    if empty := [name for name, p in parameters.items() if nn.parameter.is_lazy(p) or p.is_meta]:
        raise ValueError(
            f"load_curve: {empty[0]!r} has no numbers yet: run one batch through a lazy model before; give a model on "
            "the device meta its weights, after model.to_empty(device='cpu')"
        )
    dtype = next((p.dtype for p in parameters.values() if p.is_floating_point()), None)
    return next((p.device for p in parameters.values()), torch.device("cpu")), dtype


def _takes_batch(pool: Pool) -> bool:
    """Whether a pool asks for a second argument."""
    try:
        inspect.signature(pool).bind(0)
    except TypeError:
        return True
    except ValueError:  # there is no signature to ask
        pass
    return False


def _columns(batch: SampleBatch) -> int:
    """How many classes its labels tell of: numbers 0 … K − 1, or words; 0 of labels that the model makes."""
    if callable(batch.labels):
        return 0
    names = class_names(batch.labels)
    return int(names.max()) + 1 if names.dtype.kind in "iu" else len(np.unique(names))


def _note_clusters(model: nn.Module, batch: SampleBatch) -> None:
    """Warn if samples of the first batch are too close to each other to be independent."""
    main = batch.main(model)
    if main is None or not main.is_floating_point() or callable(batch.labels) or len(main) != len(batch):
        return
    close = closeness(main[:CLUSTER_SAMPLES], np.asarray(batch.labels[:CLUSTER_SAMPLES])) if main[0].numel() > 1 else 1
    if close < CLUSTERED:
        _warn(
            f"the squared distance to the nearest sample is {close:.2g} of what it is between independent samples: if "
            "some are copies, or several views of one object, intervals are too narrow: say whose they are, groups="
        )


def _warn(message: str) -> None:
    specs.warn(f"load_curve: {message}", PartialWarning)
