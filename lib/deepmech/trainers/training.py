"""Train every member of a labelled batch of networks and give the results back with their labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from torch import nn

from deepmech.core import checks
from deepmech.core.labels import Number
from deepmech.core.spec import Spec
from deepmech.trainers.draws import Draws
from deepmech.trainers.engines.compiled.cnn import FusedCNN
from deepmech.trainers.engines.compiled.mlp import Fused
from deepmech.trainers.engines.torch_func import Torch
from deepmech.trainers.interrupts import go_on
from deepmech.trainers.records import METRICS, WORDS, Features, Record, recorded
from deepmech.trainers.run import Call, moments
from deepmech.trainers.samples import samples
from deepmech.trainers.specs import CNN, MLP, Member, Own, Training, labelled, with_values

#: ``prepare`` of each is called once for all members; then Torch trains one member or many at a time, the others one.
ENGINES: dict[str, Any] = {"compiled": Fused, "torch": Torch}
#: The same for :class:`CNN`.
CONVOLUTIONAL: dict[str, Any] = {"compiled": FusedCNN, "torch": Torch}


def train(
    network: MLP | CNN | Callable[..., nn.Module],
    training: Training,
    data: Any,
    *,
    seed: Number | int = 0,
    engine: str = "auto",
    record: Sequence[int] | int | None = None,
    metrics: Sequence[str] = ("D",),
    class_means: bool = False,
    layers: Sequence[str] | None = None,
    together: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    memory: float | None = None,
    tf32: bool = False,
    experiment: str = "train",
    **arguments: Any,
) -> xr.Dataset:
    """Train one network for every combination of the labels in ``network``, ``training``, ``seed`` and ``arguments``.

    A member's result depends on its own parameters, its seed and ``experiment`` alone: its bits are the same whether it
    is trained after others, beside others, or on any number of threads (same machine, same engine). Members that are
    trained ``together`` have the same numbers to rounding (:mod:`deepmech.trainers.engines.torch_func`).

    Parameters
    ----------
    network : a spec, or a network of your own: a function (or class) that returns an ``nn.Module`` for inputs
        (samples, numbers) and outputs (samples, classes). Its initial weights come from torch's generator, seeded by
        the member's seed; ``nn.Dropout`` modules draw from the member's stream, other random numbers in a forward pass
        are refused. Layers before a BatchNorm are best without biases (see :class:`MLP`).
    training : a spec. Every number in specs may be a labelled array (:func:`deepmech.over`).
    data : ``deepmech.data.Data``, or any object with ``x_train``, ``y_train``, ``x_test``, ``y_test`` (samples along
        the first axis), ``n_classes`` and ``fingerprint``; for CNN also ``shape``, that of one image. Arrays, lists or
        torch tensors; labels are whole numbers 0 … n_classes - 1, or real targets where n_classes is 0 or None.
    seed : an integer, or several as a labelled array. Members with the same seed share initial weights, batches and
        (nested) dropout masks.
    engine : ``"compiled"`` (fast, on CPUs; it knows :class:`MLP`, and :class:`CNN` for images with even sides),
        ``"torch"`` (any network, on any device), or ``"auto"``: the faster of those that can train these specs. They
        agree to rounding.
    record : numbers of epochs after which to measure load curves and accuracies, rising, or a whole number n: after
        every n-th, from 0 to the last; None measures once, at the end. 0 is before training, when BatchNorm still has
        its initial averages (mean 0, variance 1). A member that stopped early keeps its last state.
    metrics : ``"D"`` (spring-block paper, Eq. 3), ``"D_hat"`` (Eq. 9), or both.
    class_means : whether to record the mean features of every class as well.
    layers : for a network of your own, which layers to measure, as for
        :func:`deepmech.metrics.load_curve.load_curve`; None takes the input and every activation module.
    together : most members of equal shape that ``"torch"`` trains at once; None takes one on a CPU, as many as the
        memory holds on a GPU. Small networks are trained several times faster together.
    threads : members, or groups of them, trained at a time on a CPU; None uses every core available.
    device : ``"cpu"``, ``"cuda"`` or ``"cuda:1"`` and so on. None takes what the environment variable
        ``DEEPMECH_DEVICE`` names, so that any experiment or sweep can be sent to a GPU, or else the CPU.
    memory : bytes that the members trained at once may take, by estimate; they are cut into as many groups as that
        needs. None takes 2 GiB on a CPU, 70 % of what is free on a GPU.
    tf32 : whether products of float32 may use TF32 (ten bits of mantissa) on a GPU. Off, they are true float32.
    experiment : name that enters the random streams: another name gives independent draws for the same seeds.
    **arguments : for a network of your own, what it is called with: numbers, names, or labelled arrays of them.

    Returns
    -------
    xarray.Dataset
        With the dimensions of all labelled fields, and

        - ``load_curve`` and/or ``load_curve_hat`` (…, [at_epoch,] split, layer): D_ℓ and D̂_ℓ in evaluation mode on the
          training and the test set, of the normalised input (layer 0) and of each hidden layer before dropout; NaN
          beyond the depth of shallower networks, and for members that diverged; for a network of your own, of its
          ``layers``, with their names as the coordinate ``layer_name`` if they are the same for all members;
        - ``accuracy`` (…, [at_epoch,] split): fraction of correct answers; NaN without classes or if diverged;
        - with ``class_means``: ``class_mean`` (…, [at_epoch,] layer, class, unit), the mean features of the training
          samples of each class in evaluation mode, NaN beyond the units of narrower layers (the maps of a CNN lie
          flattened, channel by channel); ``class_spread`` (…, [at_epoch,] layer, class), the mean squared distance of
          a class's samples from that mean;
        - ``loss`` (…, epoch): mean training loss of every epoch; NaN after the last one run, and where not finite;
        - ``state`` (…): ``"finished"``, ``"stopped"`` (by ``stop_loss`` or ``stop_change``) or ``"diverged"`` (in epoch
          ``epochs_run`` the loss was not finite, or after it, the last, the network; numbers from there on are NaN);
        - ``epochs_run`` (…).

        The attribute ``engine`` says which trained, ``not_compiled`` why it was not the compiled one.

    Raises
    ------
    ValueError
        If labels clash, the data are not fit to be trained on (:func:`deepmech.trainers.samples.samples`) or do not fit
        the specs, an engine does not know what is asked of it, or a name is unknown.

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
    spec = _network(network, arguments, layers)
    checks.instance("train: training", training, Training)
    if together is not None:
        checks.whole("train: together", together)
    known = CONVOLUTIONAL if isinstance(spec, CNN) else ENGINES
    call = Call(
        "train", known, engine=engine, seed=seed, experiment=experiment, threads=threads, device=device,
        memory=memory, tf32=tf32,
    )  # fmt: skip
    own = ("split", "layer", "epoch", "at_epoch", "class", "unit")
    rows = call.align(own, **labelled(spec), **labelled(training)).members()
    members = [Member(with_values(spec, row), with_values(training, row), int(row["seed"])) for row in rows]
    metrics = _metrics(metrics, class_means)
    data = samples(
        "train", data, min(str(m.training.dtype) for m in members),  # "float32" if that is among them
        every_class=bool(metrics) or class_means, image="CNN" if isinstance(spec, CNN) else "",
    )  # fmt: skip
    chosen = [call.choose(m.network, m.training, slow=_slow(m, data)) for m in members]
    engines = [name for name, _ in chosen]
    _check(data, members, metrics, class_means)
    fewest = min(int(m.training.epochs) for m in members)
    at = None if record is None else moments("train", record, fewest, "Training.epochs")
    where = {"torch": {"device": call.device, "whole": isinstance(spec, Own)}, "compiled": {}}
    kinds = {(e, str(m.training.dtype)) for e, m in zip(engines, members, strict=True)}
    shared = {(kind, dtype): call.engines[kind].prepare(data, dtype, **where[kind]) for kind, dtype in kinds}
    draws = [Draws.of(m, experiment) for m in members]

    def fit(job: list[int]) -> list[Record]:
        """Train the members of one job: one, or with torch many."""
        kind, own = engines[job[0]], [members[i] for i in job]
        common = shared[kind, str(own[0].training.dtype)]
        records = [Record(m, data, at, metrics, class_means) for m in own]
        if kind == "torch":
            many = Torch(own, [draws[i] for i in job], common, layers)
            measure: list[Features] = [partial(many.features, k) for k in range(len(own))]
            run: Callable[[int], Any] = many.run_epoch
        else:
            one = call.engines[kind](own[0], draws[job[0]], common)
            measure, run = [one.features], lambda epoch: [one.run_epoch(epoch)]
        for made, features in zip(records, measure, strict=True):
            made.begin(features)
        for epoch in range(1, int(own[0].training.epochs) + 1):
            if all(made.over for made in records):
                break
            go_on()
            for made, features, loss in zip(records, measure, run(epoch), strict=True):
                # A member that has stopped is carried along, unrecorded, until its group ends.
                if not made.over:
                    made.add(float(loss), features)
        return records

    most = together or (len(members) if call.on_gpu else 1)
    records = call.run(fit, _jobs(call, members, engines, draws, shared, most))
    precision = ", ".join(sorted({str(m.training.dtype) for m in members}))
    result = call.result(*recorded(records, at), WORDS, data, precision, engines, network=spec, training=training)
    why = sorted({why for _, why in chosen if why})
    return result.assign_attrs(not_compiled=", ".join(why)) if why else result


def _network(network: Any, arguments: dict[str, Any], layers: Sequence[str] | None) -> MLP | CNN | Own:
    """A spec, of a user's own network too, if it fits what belongs to it."""
    kinds = "a spec, or a function that makes a module, to be called for every member"
    checks.require("train: network", network, not isinstance(network, nn.Module), kinds)
    if callable(network) and not isinstance(network, Spec) and network not in (MLP, CNN):
        return Own(network, arguments)
    checks.instance("train: network", network, MLP, CNN)
    if arguments:
        raise ValueError(
            f"train: {checks.listed(list(arguments))}: no such argument; {type(network).__name__} has fields"
        )
    checks.require("train: layers", layers, layers is None, f"None with {type(network).__name__}")
    return network


def _slow(member: Member, data: Any) -> str:
    """Why torch is the better choice though the compiled engine knows the specs."""
    if isinstance(member.network, MLP) and member.network.width > Fused.WIDEST:
        return f"torch is faster beyond width {Fused.WIDEST}"
    return FusedCNN.cannot(data.shape) if isinstance(member.network, CNN) else ""


def _jobs(
    call: Call, members: list[Member], engines: Sequence[str], draws: list[Draws], shared: dict[Any, Any], most: int
) -> list[list[int]]:
    """One member each, or with torch groups of one shape that fit the memory."""
    if most == 1:
        return [[i] for i in range(len(members))]
    kinds: list[Any] = [None] * len(members)
    known: dict[str, Any] = {}
    needs: dict[int, int] = {}
    for i, (member, kind) in enumerate(zip(members, engines, strict=True)):
        if kind == "torch":
            alike = json.dumps([member.network.to_json(), member.training.to_json()], default=repr)
            if alike not in known:  # networks that differ in their seed alone
                common = shared[kind, str(member.training.dtype)]
                module = Torch.module(member, draws[i].stream, common)
                known[alike] = Torch.shape(member, module), Torch.bytes_per_member(member, module, common)
            kinds[i], needs[i] = known[alike]
    return call.jobs(kinds, needs.__getitem__, most)


def _metrics(metrics: Sequence[str], class_means: bool) -> tuple[str, ...]:
    known = isinstance(metrics, list | tuple) and all(name in tuple(METRICS) for name in metrics)
    checks.require("train: metrics", metrics, known, f"a list of some of {', '.join(map(repr, METRICS))}, or ()")
    checks.switch("train: class_means", class_means)
    return tuple(dict.fromkeys(metrics))


def _check(data: Any, members: list[Member], metrics: Sequence[str], class_means: bool) -> None:
    n = len(data.x_train)
    for m in members:
        size = m.training.batch_size
        normed = isinstance(m.network, MLP) and m.network.batch_norm
        if normed and (n if size is None or size >= n else min(size, n % size or size)) < 2:
            raise ValueError(
                f"Training.batch_size = {size}: leaves a batch of one sample of the {n}, which BatchNorm cannot "
                "normalise; choose a size that leaves at least two"
            )
        if isinstance(m.network, Own) and any(field == "dropout" for _, field, _ in m.training.schedule):
            raise ValueError(
                "Training.schedule: changes dropout, but a network of your own has its rates in its modules"
            )
        if data.x_train.dtype == np.int64 and isinstance(m.network, Own) and m.settings(1).data_noise:
            raise ValueError("Training.data_noise: must be 0 where samples are whole numbers (int64)")
        if not data.n_classes and (m.training.loss != "mse" or metrics or class_means):
            raise ValueError(
                f"train: data.n_classes = {data.n_classes}: without classes Training.loss must be 'mse', with "
                "metrics=() and class_means=False"
            )
