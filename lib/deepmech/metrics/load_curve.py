"""The load curve of any torch model: data separation of each layer's features (paper A, Fig. 1)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core import checks
from deepmech.metrics.batches import Batch, Batches, ClassIndex, Forward, loader_state, regression_targets
from deepmech.metrics.evaluation import evaluation, unwrap
from deepmech.metrics.layers import BLOCKS, Selection, choose, is_fully_connected, plain_attention, stream
from deepmech.metrics.moments import ClassMoments, Metric, Weights, require_finite, separation_ceiling
from deepmech.metrics.probing import Call, LayerProbe
from deepmech.metrics.reading import FULLY_CONNECTED, Reading, read
from deepmech.metrics.regression import probe_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Partial", "load_curve", "over_positions", "over_tokens"]

Target = Literal["classes", "regression"]
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
) -> xr.DataArray:
    """Data separation of each layer of a torch model (paper A, Fig. 1): its load curve.

    The samples go through the model once, batch by batch, in evaluation mode. The model is left as it was
    (:func:`deepmech.metrics.evaluation.evaluation`), all hooks are removed, also after an error.

    Parameters
    ----------
    model
        Any module. Inside ``torch.compile`` or ``DistributedDataParallel`` the module within is measured, on this
        process alone.
    x
        What to measure on. Either arrays or tensors (n, ...), also mapped from a file, or several by name, as a
        tokenizer returns them. Or a ``DataLoader``, a ``Dataset`` or any source of batches: tuples, the labels last, or
        dicts. A dict goes to the model by keyword. Everything is copied to the device of the model's parameters,
        floating point numbers in their precision.
    y
        The class of each sample, (n,): numbers 0 … K − 1 or words. Of batches: where in them the labels are, by name
        or number; by default under ``labels``, ``label``, ``y``, ``targets`` or ``target``, or last.
    layers
        Names out of ``model.named_modules()``, in the order wanted; ``"input"`` stands for the input itself and
        ``"output"`` for what the model returns (of an output with fields, its logits). ``"blocks"`` finds blocks that
        are repeated, such as those of a ResNet or a transformer, and runs over what enters the first and what each
        returns. By default as paper A measures: first the input, or the output of a normalisation layer if the model
        applies one directly to it (for token numbers, of the embedding); then every activation module, torch's or by
        its name somebody else's, in the order of their calls, hence before dropout. The output (logits) is left out. A
        module that is called several times in a pass is several layers: ``"act:1"``, ``"act:2"``, … in the order of
        calls.
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
        (:meth:`~deepmech.metrics.moments.ClassMoments.separation`), so that D does not depend on the number of samples.
        False gives the plain form, Eq. 3, which is what paper A's and this project's diagrams show. D̂ and the error of
        a probe have the plain form only.

    Returns
    -------
    DataArray
        ``data_separation`` over ``layer``, by name; further coordinates along it: ``depth`` counts 0, 1, …, and
        ``kind`` names the modules' classes. Outputs with more than two axes are flattened to (samples, features): each
        position of a feature map or sequence counts as features of its own. Attributes say what was measured; of D also
        whether it is the ``"plain"`` or the ``"debiased"`` ``estimate``, and the ``ceiling``, about what plain D of as
        many samples shows with shuffled labels; in ``unresolved`` which layers are nan because the corrected scatter is
        not positive; in ``left_out`` which activations the default could not see; and ``architecture`` where it is that
        of paper A's networks, a stack of equal layers.

    Raises
    ------
    ValueError
        For unknown layer names; a layer that is never called; a plain name of a layer that is called more than once per
        pass; an output that is not a tensor or has no sample axis; whole numbers, such as token numbers, as a layer;
        values that are not finite (the layer is named); a class without samples; a batch that the model does not take.

    Warns
    -----
    Partial
        If the default leaves out activations that are plain functions (``F.relu``), or those inside an ``nn.LSTM``.

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
    measurement = Measurement(
        model, x, y, layers, metric, batch_size, n_classes, weights, pool, diverged_to_nan, forward, target, n_samples,
        autocast, debias,
    )  # fmt: skip
    return measurement()


class Measurement:
    """A load curve to be measured once, or again and again while a model trains; arguments as of :func:`load_curve`."""

    def __init__(
        self, model: nn.Module, x: Any, y: Any, layers: Iterable[str] | str | None, metric: Metric, batch_size: int,
        n_classes: int | None, weights: Weights, pool: Pool | None, diverged_to_nan: bool, forward: Forward | None,
        target: Target, n_samples: int | None, autocast: torch.dtype | None, debias: bool,
    ) -> None:  # fmt: skip
        checks.instance("load_curve: model", model, nn.Module)
        checks.whole("load_curve: batch_size", batch_size, allowed="a whole number, at least 1")
        if n_samples is not None:
            checks.whole("load_curve: n_samples", n_samples, allowed="a whole number, at least 1, or None")
        if n_classes is not None:
            checks.whole("load_curve: n_classes", n_classes, 2)
        checks.require("load_curve: target", target, target in get_args(Target), "'classes' or 'regression'")
        if target == "regression" and not (metric == "D" and weights == "samples" and n_classes is None):
            raise ValueError(
                "load_curve: target = 'regression' has no classes: leave out metric, weights and n_classes"
            )
        if (isinstance(layers, str) and layers != BLOCKS) or not (layers is None or isinstance(layers, Iterable)):
            raise ValueError(f"load_curve: layers = {layers!r}: give a list of names, or 'blocks'")
        checks.switch("load_curve: diverged_to_nan", diverged_to_nan)
        checks.switch("load_curve: debias", debias)
        for name, function, allowed in (
            ("pool", pool, "a function of what a layer returns, such as over_positions"),
            ("forward", forward, "a function of model and batch"),
        ):
            checks.require(f"load_curve: {name}", function, function is None or callable(function), allowed)
        floating = autocast is None or (isinstance(autocast, torch.dtype) and autocast.is_floating_point)
        allowed = "a floating point type, such as torch.bfloat16, or None"
        checks.require("load_curve: autocast", autocast, floating, allowed)
        self.model, self.forward, self.autocast = model, forward, autocast
        self.layers = list(layers) if isinstance(layers, Iterable) and layers != BLOCKS else layers
        self.pool, self.diverged_to_nan = pool, diverged_to_nan
        self.metric: str = metric if target == "classes" else "probe_error"
        self.weights, self.n_classes, self.debias = weights, n_classes, debias and self.metric == "D"
        self.batches = Batches(x, y, batch_size, target, n_samples)
        if target == "classes":
            self._classes()
        self.selection: tuple[Selection, tuple[str, ...]] | None = None

    def _classes(self) -> ClassIndex:
        return ClassIndex(self.n_classes, self.batches.labels)

    def __call__(self) -> xr.DataArray:
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
        classes = None if self.metric == "probe_error" else self._classes()
        probe: _Probe | None = None
        samples = 0
        with evaluation(model), loader_state(self.batches.loader), ExitStack() as stack:
            stack.enter_context(plain_attention(model))
            if self.autocast is not None:
                stack.enter_context(torch.autocast(device.type, self.autocast))
            for batch in self.batches:
                labels = regression_targets(batch.labels) if classes is None else classes(batch.labels)
                batch = batch.to(device, dtype)
                if probe is None:
                    probe = _Probe(self, model, self._select(model, batch, device), classes)
                    stack.enter_context(probe.attached())
                probe.take(batch, labels)
                samples += len(labels)
        assert probe is not None
        attributes: dict[str, Any] = {"long_name": _WORDS[self.metric][1], "metric": self.metric, "samples": samples}
        if classes is not None:
            classes.require_all()
            attributes |= {"units": "1", "weights": self.weights, "classes": classes.classes}
        if probe.selection.left_out:
            attributes["left_out"] = probe.selection.left_out
        if is_fully_connected(model):
            attributes["architecture"] = FULLY_CONNECTED
        curve = probe.curve()
        if self.metric == "D":
            attributes |= {"estimate": "debiased" if self.debias else "plain", "ceiling": probe.ceiling()}
            if unresolved := [name for name, key in probe.names().items() if self.debias and probe.unresolved(key)]:
                attributes["unresolved"] = ", ".join(unresolved)
        along = {"depth": np.arange(len(curve)), "kind": [probe.kind(name) for name in curve]}
        coords = {"layer": list(curve)} | {name: ("layer", values) for name, values in along.items()}
        return xr.DataArray(list(curve.values()), coords, "layer", _WORDS[self.metric][0], attributes)

    def _select(self, model: nn.Module, batch: Batch, device: torch.device) -> Selection:
        """The layers; found once, and again if the model has other modules than it had."""
        modules = tuple(name for name, _ in model.named_modules())
        if self.selection is None or self.selection[1] != modules:
            look = batch.to(device, None)  # a copy: the model may work in place
            with evaluation(model):  # what is measured must not depend on whether somebody looked before
                found = choose(model, self.layers, partial(look.through, model, self.forward), look.main(model))
            if found.left_out:
                warnings.warn(f"load_curve: {found.left_out}", Partial, stacklevel=_stack_level())
            self.selection = found, modules
        return self.selection[0]


class _Probe(LayerProbe):
    """Moments of the classes in each layer, or the features themselves for a probe of targets."""

    def __init__(
        self, measurement: Measurement, model: nn.Module, selection: Selection, classes: ClassIndex | None
    ) -> None:
        super().__init__(model, selection.names, None, measurement.diverged_to_nan)
        self.measurement, self.model, self.selection, self.classes = measurement, model, selection, classes
        if measurement.pool is not None or selection.blocks:
            self.pool = self._pool
        self.moments: dict[Call, ClassMoments] = {}
        self.features: dict[Call, list[torch.Tensor]] = {}
        self.targets: list[Any] = []

    def take(self, batch: Batch, labels: Any) -> None:
        """One batch through the model."""
        self.batch, self.labels = batch, labels
        if self.classes is None:
            self.targets.append(labels)
        main, forward = batch.main(self.model), self.measurement.forward
        inputs = torch.zeros(0) if main is None else main
        self.run(inputs, len(labels), lambda: _logits(batch.through(self.model, forward)))

    def collect(self, key: Call, features: torch.Tensor) -> None:
        if self.classes is not None:
            n, m = self.classes.classes, self.measurement
            moments = self.moments.setdefault(key, ClassMoments(n, m.metric, m.weights))  # type: ignore[arg-type]
            moments.grow(n)
            moments.update(features, self.labels)
            return
        require_finite(features)
        self.features.setdefault(key, []).append(features.detach().cpu())
        if sum(t.nbytes for parts in self.features.values() for t in parts) > _LARGEST_FEATURES:
            raise ValueError("the features of all layers take more than 2 GiB: give pool=, n_samples= or fewer layers")

    def curve(self) -> dict[str, float]:
        """Separation, or the error of the probe, by layer name, in the order of the curve."""
        return {name: float("nan") if key in self.diverged else self._value(key) for name, key in self.names().items()}

    def ceiling(self) -> float:
        """About what plain D shows with shuffled labels."""
        count = next((m.count for key, m in self.moments.items() if key not in self.diverged), None)
        return float("nan") if count is None else separation_ceiling(count, self.measurement.weights)

    def unresolved(self, key: Call) -> bool:
        """Whether nothing is left of the between-class scatter without its sampling noise."""
        wide = key not in self.diverged and bool(self.moments[key].spread.sum() > 0)
        return wide and np.isnan(self._value(key))

    def _value(self, key: Call) -> float:
        if self.classes is not None:
            return self.moments[key].separation(self.measurement.debias)
        y = np.concatenate(self.targets)
        features = torch.cat(self.features[key])
        values = (features.float() if features.dtype.itemsize < 4 else features).numpy()
        errors = [probe_error(values, column) for column in (y if y.ndim == 2 else y[:, None]).T]
        return float(np.sqrt(np.mean(np.square(errors))))

    def _pool(self, output: Any) -> Any:
        output, pool = stream(output) if self.selection.blocks else output, self.measurement.pool
        if pool is None:
            return output
        return pool(output, self.batch.whole) if _takes_two(pool) else pool(output)


@xr.register_dataarray_accessor("deepmech")
class LoadCurveAccessor:
    """What a load curve can do: ``curve.deepmech.plot()``, ``curve.deepmech.read()``."""

    def __init__(self, curve: xr.DataArray) -> None:
        self._curve = curve

    def plot(self, **how: Any) -> Axes:
        """Draw it: :func:`deepmech.plots.layers.plot`; the reading of a single curve is its title."""
        from deepmech.plots.layers import plot

        if "title" not in how and self._curve.ndim == 1 and self._curve.size > 2:
            how["title"] = self.read().verdict
        return plot(self._curve, **how)

    def read(self) -> Reading:
        """Say in words what it shows: :func:`deepmech.metrics.reading.read`."""
        return read(self._curve)


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
