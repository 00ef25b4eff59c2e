"""Train every member of a labelled batch of networks and give the results back with their labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core import specs
from deepmech.core.labels import Number
from deepmech.core.specs import Spec
from deepmech.data.samples import Data, validate_data
from deepmech.metrics.separation import ClassMoments, MetricFunction, data_separation, require_classes
from deepmech.trainers.engines.compiled.mlp import CompiledMLP, unsupported
from deepmech.trainers.engines.torch_func import TorchEnsemble
from deepmech.trainers.modules import require_new
from deepmech.trainers.run import (
    NOTES,
    FallbackWarning,
    TrainerRun,
    record_steps,
    require_spec,
    settled,
)
from deepmech.trainers.specs import CNN, MLP, FactoryNetwork, Member, Training, code_of, name_of

Array = np.ndarray | torch.Tensor
#: In evaluation mode: features of the input and of every hidden layer, each (n, units), in a user's own network by the
#: layer's name, and the output, (n, outputs).
Features = tuple[Sequence[Array] | Mapping[str, Array], Array]

#: Metric -> name of its variable in the result.
METRICS = {"D": "load_curve", "D_hat": "load_curve_hat"}
SPLITS = ("train", "test")

#: What results hold, see :data:`deepmech.core.labels.Words`.
WORDS: dict[str, tuple[str, ...]] = {
    "load_curve": ("load curve D", "1", "at_epoch", "split", "layer"),
    "load_curve_hat": ("load curve D̂", "1", "at_epoch", "split", "layer"),
    "accuracy": ("accuracy", "1", "at_epoch", "split"),
    "class_mean": ("mean feature of a class", "1", "at_epoch", "layer", "class", "unit"),
    "class_spread": ("mean squared distance from a class's mean", "1", "at_epoch", "layer", "class"),
    "loss": ("mean training loss", "1", "epoch"),
    "state": ("how training ended", "1"),
    "epochs_run": ("epochs that were run", "1"),
    "model": ("trained network", "1"),
}


class Engine(Protocol):
    """What trains one member, or several of one shape side by side; they are numbered in their order."""

    def step(self, epoch: int) -> np.ndarray:
        """One pass over the training set, the ``epoch``-th from 1; each member's mean loss over its steps, (members,).

        The loss of a step is taken before its update; one that is not finite says that the member has diverged.
        """

    def features(self, x: np.ndarray, member: int = 0) -> Features:
        """What the layers of one member make of samples (n, …)."""

    def model(self, member: int = 0) -> nn.Module:
        """One member as a module of its own, in evaluation mode."""


@settled()
def train(
    network: MLP | CNN | Callable[..., nn.Module],
    training: Training,
    data: Any,
    *,
    seed: Number | int = 0,
    engine: str = "auto",
    record: Sequence[int] | int | None = None,
    metrics: Sequence[str | MetricFunction] = ("D",),
    class_means: bool = False,
    keep_models: bool = False,
    layers: Sequence[str] | None = None,
    ensemble_size: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    experiment: str = "train",
    arguments: Mapping[str, Any] | None = None,
    **more: Any,
) -> xr.Dataset:
    """Train one network for every combination of the labels in ``network``, ``training``, ``seed`` and ``arguments``.

    A member's result depends on its own parameters, its seed and ``experiment`` alone: its bits are the same whether it
    is trained after others, beside others, or on any number of threads (same machine, same engine), whatever torch's
    settings are. Not so with ``ensemble_size`` above 1, and on GPUs: there members draw what they draw alone, but
    torch's functions for several networks sum in another order, and numbers are the same to rounding. Adam makes more
    of rounding where a gradient is exactly zero, in a bias before a BatchNorm: a load curve then moves by 1e-4 to 2e-3.

    Parameters
    ----------
    network : MLP, CNN or callable
        A spec, or a network of your own: a function (or class) that returns an ``nn.Module`` for inputs of the samples'
        own shape and outputs (samples, classes). Its initial weights come from torch's generator, seeded by the
        member's seed. It is trained as it is written: torch's modules of dropout draw from the member's stream, and
        whatever else draws random numbers in a forward pass is refused by its name. Layers before a BatchNorm are best
        without biases (see :class:`MLP`).
    training : Training
        A spec. Every number in specs may be a labelled array (:func:`deepmech.over`).
    data : Data or tuple
        ``deepmech.data.Data`` (of arrays, ``Data.of``), or what :func:`deepmech.data.samples.validate_data` makes it
        of: arrays (x, y) or (x, y, x_test, y_test), in which whole numbers and words are labels and other numbers real
        targets, a dictionary of samples and labels, a ``Dataset`` or ``DataLoader`` of pairs or of such dictionaries,
        or two of them, to train and to test. Samples (n, numbers), for a network of your own of any shape, for CNN (n,
        channels, height, width), or (n, numbers) with the attribute ``shape``, that of one image. Results keep its
        ``fingerprint`` as their attribute ``data``, and as ``samples`` that of its numbers, which is always computed.
    seed : int or DataArray
        An integer, or several as a labelled array. Members with the same seed share initial weights, batches and
        (nested) dropout masks.
    engine : str
        ``"compiled"`` (fast, on CPUs; it knows :class:`MLP`), ``"torch"`` (any network, on any device), or ``"auto"``:
        the faster of those that can train these specs. They agree to rounding.
    record : int or list of int, optional
        Numbers of epochs after which to measure load curves and accuracies, rising, or a whole number n: after every
        n-th, from 0 to the last; None measures once, at the end. 0 is before training, when BatchNorm still has its
        initial averages (mean 0, variance 1). A member that stopped early keeps its last state.
    metrics : list of str or function
        ``"D"`` (spring-block paper, Eq. 3), ``"D_hat"`` (Eq. 9), and functions of your own: of a layer's features
        (n, units) and labels (n,), to a number, which stands in the result under the function's name.
    class_means : bool
        Whether to record the mean features of every class as well.
    keep_models : bool
        Whether to keep the trained networks as well.
    layers : list of str, optional
        For a network of your own, which layers to measure, as for :func:`deepmech.metrics.load_curve.load_curve`; None
        takes the input and every activation module.
    ensemble_size : int, optional
        Most members of equal shape that ``"torch"`` trains at once; None takes one on a CPU, all on a GPU. What does
        not fit into a GPU's memory is trained in halves. Small networks are trained several times faster together.
    threads : int, optional
        Members, or groups of them, trained at a time on a CPU; None uses every core available.
    device : str, optional
        ``"cpu"``, ``"cuda"`` or ``"cuda:1"`` and so on. None takes what the environment variable ``DEEPMECH_DEVICE``
        names, so that any experiment or sweep can be sent to a GPU, or else the CPU.
    experiment : str
        Name that enters the random streams: another name gives independent draws for the same seeds.
    arguments, **more : number, str or DataArray
        For a network of your own, what it is called with: numbers, names, or labelled arrays of them. As a mapping
        ``arguments`` they may have any name, that of an argument of ``train`` too: ``arguments={"layers": 3}``.

    Returns
    -------
    xarray.Dataset
        With the dimensions of all labelled fields, and

        - ``load_curve`` and/or ``load_curve_hat`` (…, [at_epoch,] split, layer): D_ℓ and D̂_ℓ in evaluation mode on the
          training and the test set (on the training set alone if there is no other), of the normalised input (layer 0)
          and of each hidden layer before dropout; NaN beyond the depth of shallower networks, and for members that
          diverged; for a network of your own, of its ``layers``, with their names as the coordinate ``layer_name`` if
          they are the same for all members;
        - ``accuracy`` (…, [at_epoch,] split): fraction of correct answers; NaN without classes or if diverged;
        - with ``class_means``: ``class_mean`` (…, [at_epoch,] layer, class, unit), the mean features of the training
          samples of each class in evaluation mode, NaN beyond the units of narrower layers (the maps of a CNN lie
          flattened, channel by channel); ``class_spread`` (…, [at_epoch,] layer, class), the mean squared distance of
          a class's samples from that mean;
        - ``loss`` (…, epoch): mean training loss of every epoch; NaN after the last one run, and where not finite;
        - ``state`` (…): ``"finished"``, ``"stopped"`` (by ``stop_loss`` or ``stop_change``) or ``"diverged"`` (in epoch
          ``epochs_run`` the loss was not finite, or after it, the last, the network; numbers from there on are NaN);
        - ``epochs_run`` (…);
        - with ``keep_models``: ``model`` (…), each network as an ``nn.Module`` on the CPU, in evaluation mode. No file
          holds modules: ``runs.drop_vars("model")`` before ``to_netcdf``, and ``state_dict()`` of each for itself.

        The attribute ``engine`` says which trained, ``fallback_reason`` why it was not the compiled one; where members
        differ in it, it is a coordinate along their labels. With the
        attributes ``spec``, ``call`` (other arguments), ``data``, ``samples`` and ``experiment`` it says all on which
        the numbers depend.

    Raises
    ------
    ValueError
        If labels clash, the data are not fit to be trained on (:func:`deepmech.data.samples.validate_data`) or do
        not fit the specs, an engine does not know what is asked of it, a name is unknown, or a label has the name of a
        variable or dimension of the result: before the first step.

    Warns
    -----
    FallbackWarning
        If ``"auto"`` leaves an MLP to torch, which is slower, since its specs ask for what the compiled engine does not
        know.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from deepmech import over
    >>> from deepmech.core.random import Stream
    >>> y = np.arange(60) % 3
    >>> x = (np.eye(3)[y] + 0.1 * Stream.of("example", 0).normal("x", 0, (60, 3))).astype("float32")
    >>> data = SimpleNamespace(x_train=x, y_train=y, x_test=x, y_test=y, n_classes=3, fingerprint="example")
    >>> result = train(MLP(depth=3, width=8, dropout=over("dropout", [0.0, 0.2])), Training(epochs=20), data)
    >>> result["load_curve"].sizes
    Frozen({'dropout': 2, 'split': 2, 'layer': 3})

    A network of one's own:

    >>> def narrow(width, slope=0.0):
    ...     return nn.Sequential(nn.Linear(3, width), nn.LeakyReLU(slope), nn.Dropout(0.1), nn.Linear(width, 3))
    >>> result = train(narrow, Training(epochs=20), data, seed=over("seed", [0, 1]), width=over("width", [4, 8]))
    >>> result["load_curve"].sizes, result.layer_name.values.tolist()
    (Frozen({'width': 2, 'seed': 2, 'split': 2, 'layer': 2}), ['input', '1'])
    """
    spec = _network(network, _arguments(arguments, more), layers)
    require_spec("train: training", training, Training)
    if ensemble_size is not None:
        ensemble_size = specs.check_int("train: ensemble_size", ensemble_size)
    call = TrainerRun("train", engine=engine, seed=seed, experiment=experiment, threads=threads, device=device)
    chosen_metrics = _metrics(metrics)
    words = WORDS | {name: (name, *WORDS["load_curve"][1:]) for name in chosen_metrics if name not in WORDS}
    members = [Member(n, t, s, experiment) for n, t, s in call.expand(words, spec, training)]
    if isinstance(spec, FactoryNetwork):
        require_new(members)
    specs.check_bool("train: class_means", class_means)
    specs.check_bool("train: keep_models", keep_models)
    data = validate_data(
        "train", data, training.dtype, image="CNN" if isinstance(spec, CNN) else "",
        any_shape=isinstance(spec, FactoryNetwork),
    )  # fmt: skip
    unknown = [unsupported(m.network, m.training) for m in members]
    chosen = [call.select_engine(what, _why_slower(m)) for what, m in zip(unknown, members, strict=True)]
    if isinstance(spec, MLP) and engine == "auto" and not call.on_gpu and any(unknown):
        seen = ", ".join(sorted({what for what in unknown if what}))
        specs.warn(f"train: torch trains, more slowly: the compiled engine does not know {seen}", FallbackWarning)
    engines = [name for name, _ in chosen]
    measures = {name: _measure(metric, data.n_classes) for name, metric in chosen_metrics.items()}
    _check(data, members, bool(measures) or class_means)
    fewest = min(int(m.training.epochs) for m in members)
    at = None if record is None else record_steps("train", record, fewest, "Training.epochs")

    shared: dict[str, dict[str, Any]] = {}  # by all members of an engine: the samples
    if "torch" in engines:
        whole = isinstance(spec, FactoryNetwork)
        shared["torch"] = TorchEnsemble.prepare(data, training.dtype, call.device, whole)
    if "compiled" in engines:
        shared["compiled"] = CompiledMLP.prepare(data, training.dtype)

    def fit(job: list[int]) -> list[History]:
        """Train the members of one job: one, or with torch many."""
        group = [members[i] for i in job]
        engine: Engine
        if engines[job[0]] == "torch":
            engine = TorchEnsemble(group, shared["torch"], layers)
        else:
            engine = CompiledMLP(group[0], shared["compiled"])
        histories = [History(m, data, at, measures, class_means) for m in group]
        run_epochs(engine, histories)
        for i, history in enumerate(histories if keep_models else []):
            history.model = engine.model(i)
        return histories

    named = [code_of(m) if callable(m) else m for m in dict.fromkeys(metrics)]
    options = {
        "record": at, "metrics": named, "class_means": class_means, "layers": layers, "ensemble_size": ensemble_size,
    }  # fmt: skip
    call.describe(data, training.dtype, chosen, options, network=spec, training=training)
    most = ensemble_size or (None if call.on_gpu else 1)
    if isinstance(spec, FactoryNetwork) and len(members) > 1:
        # What one of them may be refused for is found before any is trained.
        each = {json.dumps([vars(m.network), m.training.batch_size], default=repr): m for m in reversed(members)}
        for member in each.values():
            TorchEnsemble([member], shared["torch"], layers).features(data.x_train[:2])
    kinds = [None] * len(members) if most == 1 else _kinds(members, engines, shared)
    histories = call.run(fit, call.jobs(kinds, most))
    result = call.result([one.row() for one in histories], _coords(histories, at))
    return result.isel(at_epoch=0, drop=True) if at is None else result


def _network(network: Any, arguments: dict[str, Any], layers: Sequence[str] | None) -> MLP | CNN | FactoryNetwork:
    """A spec, of a user's own network too, if it fits what belongs to it."""
    kinds = "a spec, or a function that makes a module, to be called for every member"
    specs.check("train: network", network, not isinstance(network, nn.Module), kinds)
    names = layers is None or (isinstance(layers, list | tuple) and all(isinstance(name, str) for name in layers))
    specs.check("train: layers", layers, names, "a list of names of layers, or None")
    if callable(network) and not isinstance(network, Spec) and network not in (MLP, CNN):
        return FactoryNetwork(network, arguments)
    require_spec("train: network", network, MLP, CNN)
    if arguments:
        raise ValueError(
            f"train: {specs.join_repr(list(arguments))}: no such argument; {type(network).__name__} has fields"
        )
    specs.check("train: layers", layers, layers is None, f"None with {type(network).__name__}")
    return network


def _arguments(arguments: Mapping[str, Any] | None, more: dict[str, Any]) -> dict[str, Any]:
    named = isinstance(arguments, Mapping | None) and all(isinstance(name, str) for name in arguments or ())
    specs.check("train: arguments", arguments, named, "a dictionary of the factory's arguments by name, or None")
    if twice := sorted({*(arguments or ())} & more.keys()):
        raise ValueError(f"train: {specs.join_repr(twice)}: given in arguments and by itself; give each argument once")
    return {**(arguments or {}), **more}


def _why_slower(member: Member) -> str:
    """Why torch is the better choice though the compiled engine knows the specs."""
    wide = isinstance(member.network, MLP) and member.network.width > CompiledMLP.WIDEST
    return f"torch is faster beyond width {CompiledMLP.WIDEST}" if wide else ""


def _kinds(members: list[Member], engines: Sequence[str], shared: dict[str, dict[str, Any]]) -> list[Hashable]:
    """For every member that torch trains what its ensemble has in common; None for others."""
    known: dict[str, Hashable] = {}
    kinds = []
    for member, engine in zip(members, engines, strict=True):
        spec = member.network
        arguments = spec.arguments if isinstance(spec, FactoryNetwork) else spec.to_json()
        but_for_seeds = json.dumps([arguments, member.training.to_json()], default=repr)
        if engine == "torch" and but_for_seeds not in known:
            known[but_for_seeds] = TorchEnsemble.signature(member, shared["torch"])
        kinds.append(known.get(but_for_seeds))
    return kinds


def _metrics(metrics: Sequence[str | MetricFunction]) -> dict[str, str | MetricFunction]:
    """What is measured of every layer, by the names of variables."""
    known = isinstance(metrics, list | tuple) and all(callable(m) or m in tuple(METRICS) for m in metrics)
    allowed = f"a list of some of {', '.join(map(repr, METRICS))} and of functions of features and labels, or ()"
    specs.check("train: metrics", metrics, known, allowed)
    own: dict[str, MetricFunction] = {}
    taken = {*WORDS, *NOTES, *(axis for _, _, *axes in WORDS.values() for axis in axes), "split"}
    for metric in dict.fromkeys(metrics):
        if callable(metric):
            name = name_of(metric).rpartition(".")[2]
            named = name.isidentifier() and name not in taken | own.keys()
            specs.check("train: metrics", name, named, "a function with a name of its own, made with def")
            own[name] = metric
    return {**{METRICS[name]: name for name in METRICS if name in metrics}, **own}


def _measure(metric: str | MetricFunction, n_classes: int) -> Callable[[Any, np.ndarray], float]:
    """As a function of features, of an array or a tensor, and labels."""
    if isinstance(metric, str):
        return partial(data_separation, metric=metric, n_classes=n_classes)  # type: ignore[arg-type]
    return lambda features, labels: metric(np.asarray(torch.as_tensor(features).cpu()), labels)


def _check(data: Data, members: list[Member], measured: bool) -> None:
    n = len(data.x_train)
    for split in SPLITS if measured and data.n_classes else ():
        if (y := getattr(data, f"y_{split}")) is not None:
            try:
                require_classes(y, data.n_classes, f"train: data.y_{split}: ")
            except ValueError as error:
                raise ValueError(f"{error}, or measure no load curves and class means (metrics=())") from None
    epochs = max(int(m.training.epochs) for m in members)
    specs.check_memory("Training.epochs", epochs, 1.0 * epochs * len(members))
    for m in members:
        size = m.training.batch_size
        steps = -(-n // min(n, int(size or n)))
        specs.check_steps("Training.epochs", int(m.training.epochs), 1.0 * int(m.training.epochs) * steps)
        _check_memory(m, data)
        normed = isinstance(m.network, MLP) and m.network.batch_norm
        if normed and (n if size is None or size >= n else min(size, n % size or size)) < 2:
            raise ValueError(
                f"Training.batch_size = {size}: leaves a batch of one sample of the {n}, which BatchNorm cannot "
                "normalise; choose a size that leaves at least two"
            )
        if isinstance(m.network, FactoryNetwork) and any(field == "dropout" for _, field, _ in m.training.schedule):
            raise ValueError(
                "Training.schedule: changes dropout, but a network of your own has its rates in its modules"
            )
        if data.x_train.dtype == np.int64 and isinstance(m.network, FactoryNetwork) and m.settings(1).data_noise:
            raise ValueError("Training.data_noise: must be 0 where samples are whole numbers (int64)")
        if not data.n_classes and (m.training.loss != "mse" or measured):
            raise ValueError(
                f"train: data.n_classes = {data.n_classes}: without classes Training.loss must be 'mse', with "
                "metrics=() and class_means=False; if the targets are labels, y.astype(int) makes them whole numbers"
            )


def _check_memory(member: Member, data: Data) -> None:
    """A ValueError if the weights of one network, their gradient and what Adam keeps of it do not fit into memory."""
    spec, classes, inputs = member.network, max(1, int(data.n_classes)), data.x_train.shape[1]
    if isinstance(spec, MLP):
        width = int(spec.width)
        weights = 1.0 * width * (inputs + (int(spec.depth) - 2) * width + classes)
        sizes = f"MLP.depth = {specs.short_repr(int(spec.depth))}, with {classes:,} outputs, MLP.width"
        specs.check_memory(sizes, width, 4 * weights)
    elif isinstance(spec, CNN):
        channels = int(spec.channels)
        inner = 9.0 * channels * (data.shape[0] + (int(spec.convolutions) - 1) * channels)
        outer = 1.0 * channels * data.shape[1] * data.shape[2] * classes
        sizes = f"CNN.convolutions = {specs.short_repr(int(spec.convolutions))}, with {classes:,} outputs, CNN.channels"
        specs.check_memory(sizes, channels, 4 * (inner + outer))


def run_epochs(engine: Engine, histories: Sequence[History]) -> None:
    """Train the members of ``engine`` to the end, each with its history; all have the same number of epochs at most."""
    measures = [partial(engine.features, member=i) for i in range(len(histories))]
    for history, features in zip(histories, measures, strict=True):
        history.begin(features)
    for epoch in range(1, len(histories[0].loss) + 1):
        if all([history.over for history in histories]):
            break
        for history, features, loss in zip(histories, measures, engine.step(epoch), strict=True):
            # A member that has stopped is carried along, unrecorded, until its group ends.
            if not history.over:
                history.add(float(loss), features)


class History:
    """One member's results; see :func:`train` for the meaning of each, and ``over`` says whether training has ended.

    ``epochs`` are those after which to measure; None measures once, at the end.
    """

    def __init__(
        self, member: Member, data: Data, epochs: np.ndarray | None,
        metrics: Mapping[str, Callable[[Any, np.ndarray], float]], class_means: bool,
    ):  # fmt: skip
        self.training, self.data, self.class_means = member.training, data, class_means
        self.model: nn.Module | None = None
        self.splits = [split for split in SPLITS if getattr(data, f"x_{split}") is not None]
        self.wanted = np.array([int(member.training.epochs)] if epochs is None else epochs, dtype=int)
        self.loss = np.full(int(member.training.epochs), np.nan)
        self.state, self.epoch, self.over = "finished", 0, len(self.loss) == 0
        self.metrics, self.names = metrics, list[str]()

    def begin(self, features: Callable[[np.ndarray], Features]) -> None:
        """To be called before the first epoch."""
        n, (layers, _) = len(self.wanted), features(self.data.x_train[:2])
        self.names = list(layers) if isinstance(layers, Mapping) else []
        shape = n, len(self.splits)
        self.accuracy = np.full(shape, np.nan)
        self.curves: dict[Any, np.ndarray] = {name: np.full((*shape, len(layers)), np.nan) for name in self.metrics}
        self.spread = np.full((n, len(layers), self.data.n_classes), np.nan)
        self.mean = np.full((*self.spread.shape, 0), np.nan, np.float32)
        places = self.wanted == 0
        if self.over or places.any():
            self._measure(places, features)

    def add(self, loss: float, features: Callable[[np.ndarray], Features]) -> None:
        """One epoch was run, with mean loss ``loss``."""
        before = self.loss[self.epoch - 1] if self.epoch > 0 else np.inf
        self.epoch += 1
        if not np.isfinite(loss):
            self.state, self.over = "diverged", True
            return
        self.loss[self.epoch - 1] = loss
        if loss < float(self.training.stop_loss) or abs(loss - before) < float(self.training.stop_change):
            self.state = "stopped"
        self.over = self.state == "stopped" or self.epoch == len(self.loss)
        places = self.wanted >= self.epoch if self.state == "stopped" else self.wanted == self.epoch
        if self.over or places.any():
            self._measure(places, features)

    def _measure(self, places: np.ndarray, features: Callable[[np.ndarray], Features]) -> None:
        """Measure at ``places``, if any; at the end of training in any case whether the network is finite still."""
        for s, split in enumerate(self.splits):
            x, y = getattr(self.data, f"x_{split}"), getattr(self.data, f"y_{split}")
            measured, output = features(x)
            layers = list(measured.values()) if isinstance(measured, Mapping) else measured
            if not all(map(_finite, (*layers, output))):
                # The loss of an epoch is that before its updates: the last of them is seen here only.
                self.state = "diverged" if self.over else self.state
                for values in (self.accuracy, *self.curves.values(), self.mean, self.spread):
                    values[places] = np.nan
                return
            if not places.any():
                continue
            if self.data.n_classes:
                guess = output.argmax(1)
                self.accuracy[places, s] = np.mean((guess.cpu().numpy() if torch.is_tensor(guess) else guess) == y)
            for name, metric in self.metrics.items():
                self.curves[name][places, s] = [metric(f, y) for f in layers]
            if self.class_means and split == "train":
                self._measure_classes(places, layers, y)

    def _measure_classes(self, places: np.ndarray, layers: Sequence[Array], y: np.ndarray) -> None:
        n_places, points, classes, units = self.mean.shape
        widest = max(f.shape[1] for f in layers)
        if units < widest:
            self.mean = np.full((n_places, points, classes, widest), np.nan, np.float32)
        for i, f in enumerate(layers):
            moments = ClassMoments(classes).update(f, y)
            assert moments.mean is not None
            self.mean[places, i, :, : f.shape[1]] = moments.mean.cpu().numpy()
            self.spread[places, i] = (moments.spread / moments.count).cpu().numpy()

    def row(self) -> dict[str, Any]:
        """All variables of this member."""
        more = {"class_mean": self.mean, "class_spread": self.spread} if self.class_means else {}
        if self.model is not None:
            more["model"] = np.array(None)
            more["model"][()] = self.model
        return {
            **self.curves, "accuracy": self.accuracy, **more, "loss": self.loss,
            "state": np.array(self.state, "<U8"), "epochs_run": self.epoch,
        }  # fmt: skip


def _finite(features: Any) -> bool:
    return bool(torch.isfinite(torch.as_tensor(features)).all())


def _coords(histories: Sequence[History], at: np.ndarray | None) -> dict[str, Any]:
    longest = max(histories, key=lambda one: one.spread.shape[1])
    coords: dict[str, Any] = {
        "split": longest.splits, "layer": np.arange(longest.spread.shape[1]),
        "epoch": np.arange(1, max(len(one.loss) for one in histories) + 1),
    }  # fmt: skip
    if longest.names and all(one.names == longest.names[: len(one.names)] for one in histories):
        coords["layer_name"] = ("layer", longest.names)
    if longest.class_means:
        coords["class"] = np.arange(longest.data.n_classes)
    return coords if at is None else coords | {"at_epoch": at}
