"""Train every member of a labelled batch of networks and give the results back with their labels."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from deepmech.core import provenance
from deepmech.core.labels import Batch, Number, align
from deepmech.core.spec import Spec
from deepmech.trainers import checks
from deepmech.trainers.devices import batches, chosen, device_in_words, one_thread, products_in, room
from deepmech.trainers.draws import Draws
from deepmech.trainers.engines.torch_func import Torch
from deepmech.trainers.fused import Fused
from deepmech.trainers.recording import METRICS, Features, Record, dataset
from deepmech.trainers.specs import CNN, MLP, Member, Own, Training, labelled, with_values

#: ``prepare`` of each is called once for all members; then Torch trains one member or many at a time, Fused one.
ENGINES: dict[str, Any] = {"compiled": Fused, "torch": Torch}


def train(
    network: MLP | CNN | Callable[..., nn.Module],
    training: Training,
    data: Any,
    *,
    seed: Number | int = 0,
    engine: str = "auto",
    record: Sequence[int] | None = None,
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
    engine : ``"compiled"`` (fast, on CPUs; it knows :class:`MLP` alone), ``"torch"`` (any network, on any device), or
        ``"auto"``: the faster of those that can train these specs. They agree to rounding.
    record : epochs after which to measure load curves and accuracies; None measures once, at the end. 0 is before
        training, when BatchNorm still has its initial averages (mean 0, variance 1). A member that stopped early keeps
        its last state.
    metrics : ``"D"`` (spring-block paper, Eq. 3), ``"D_hat"`` (Eq. 9), or both.
    class_means : whether to record the mean features of every class as well.
    layers : for a network of your own, which layers to measure, as for
        :func:`deepmech.metrics.separation.load_curve`; None takes the input and every activation module.
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
        If labels clash, the data are not fit to be trained on (:func:`deepmech.trainers.checks.samples`) or do not fit
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
    started = time.perf_counter()
    spec = _network(network, arguments, layers)
    checks.require_spec("train", "training", training, Training)
    checks.require_threads("train", threads)
    if together is not None:
        checks.whole("train", "together", together, 1)
    checks.require_name("train", "experiment", experiment)
    checks.require_switch("train", "tf32", tf32)
    device, on_gpu = chosen(device, "train")
    memory = room(memory, device, "train")
    batch = _batch(spec, training, seed)
    members = _members(batch, spec, training)
    engines, words = zip(*[_engine(engine, m, on_gpu) for m in members], strict=True)
    metrics = _metrics(metrics, class_means)
    data = checks.samples(
        "train", data, min(str(m.training.dtype) for m in members),  # "float32" if that is among them
        every_class=bool(metrics) or class_means, image="CNN" if isinstance(spec, CNN) else "",
    )  # fmt: skip
    _check(data, members, metrics, record, class_means)
    kinds = {(e, str(m.training.dtype)) for e, m in zip(engines, members, strict=True)}
    where = {Torch: {"device": device, "whole": isinstance(spec, Own)}, Fused: {}}
    shared = {(kind, dtype): kind.prepare(data, dtype, **where[kind]) for kind, dtype in kinds}
    draws = [Draws.of(m, experiment) for m in members]

    def fit(job: list[int]) -> list[tuple[int, Record]]:
        """Train the members of one job: one, or with Torch many."""
        kind, own = engines[job[0]], [members[i] for i in job]
        common = shared[kind, str(own[0].training.dtype)]
        records = [Record(m, data, record, metrics, class_means) for m in own]
        if kind is Torch:
            many = Torch(own, [draws[i] for i in job], common, layers)
            measure: list[Features] = [partial(many.features, k) for k in range(len(own))]
            run: Callable[[int], Any] = many.run_epoch
        else:
            one = kind(own[0], draws[job[0]], common)
            measure, run = [one.features], lambda epoch: [one.run_epoch(epoch)]
        for made, features in zip(records, measure, strict=True):
            made.begin(features)
        for epoch in range(1, int(own[0].training.epochs) + 1):
            if all(made.over for made in records):
                break
            for made, features, loss in zip(records, measure, run(epoch), strict=True):
                # A member that has stopped is carried along, unrecorded, until its group ends.
                if not made.over:
                    made.add(float(loss), features)
        return list(zip(job, records, strict=True))

    most = together or (len(members) if on_gpu else 1)
    jobs = _jobs(members, engines, draws, shared, memory, most)
    workers = 1 if on_gpu else threads or provenance.cores()
    done: dict[int, Record] = {}
    # Members run beside one another, each on one thread: products of this size gain little from more, and a sum that is
    # cut among threads rounds according to their number. Attention is made of products, the one kind that vmap knows.
    with one_thread(), products_in(tf32), sdpa_kernel(SDPBackend.MATH), ThreadPoolExecutor(workers) as pool:
        bar = tqdm(total=len(members), desc="networks", file=sys.stderr, disable=not sys.stderr.isatty(), leave=False)
        for finished in pool.map(fit, jobs):
            done |= dict(finished)
            bar.update(len(finished))
        bar.close()
    result = dataset(batch, [done[i] for i in range(len(members))], record)
    specs = json.dumps({"network": spec.to_json(), "training": training.to_json()}, default=repr)
    seeds = int(seed) if not isinstance(seed, xr.DataArray) else json.dumps(seed.values.tolist())
    precision = ", ".join(sorted({str(m.training.dtype) for m in members}))
    seconds, place = time.perf_counter() - started, device_in_words(device)
    result.attrs = provenance.attributes(spec=specs, seed=seeds, device=place, dtype=precision, wall_seconds=seconds)
    names = {kind: name for name, kind in ENGINES.items()}
    result.attrs |= {
        "engine": ", ".join(sorted({names[e] for e in engines})),
        "experiment": experiment,
        "data": str(data.fingerprint),
        "tf32": "on" if tf32 else "off",
    } | ({"not_compiled": ", ".join(sorted(set(words) - {""}))} if any(words) else {})
    return result


def _network(network: Any, arguments: dict[str, Any], layers: Sequence[str] | None) -> MLP | CNN | Own:
    """A spec, of a user's own network too, if it fits what belongs to it."""
    if isinstance(network, nn.Module):
        raise ValueError(
            f"train: network = {checks.shown(network)}: must be a spec, or a function that makes a module, "
            "to be called for every member"
        )
    if callable(network) and not isinstance(network, Spec) and network not in (MLP, CNN):
        return Own(network, arguments)
    checks.require_spec("train", "network", network, MLP, CNN)
    if arguments:
        raise ValueError(
            f"train: {checks.listed(list(arguments))}: no such argument; {type(network).__name__} has fields"
        )
    if layers is not None:
        raise ValueError(f"train: layers = {checks.shown(layers)}: must be None with {type(network).__name__}")
    return network


def _batch(network: MLP | CNN | Own, training: Training, seed: Number | int) -> Batch:
    checks.require_seed("train", seed)
    batch = align("train", **labelled(network), **labelled(training), seed=seed)
    checks.require_free("train", batch.dims, ("split", "layer", "epoch", "at_epoch", "class", "unit"))
    return batch


def _members(batch: Batch, network: MLP | CNN | Own, training: Training) -> list[Member]:
    whole = {"depth", "width", "convolutions", "channels", "batch_size", "epochs"}
    members = []
    for row in batch.members():
        values: dict[str, Any] = {k: int(v) if k in whole else v for k, v in row.items()}

        def part(spec: Spec, values: dict[str, Any] = values) -> Any:
            return with_values(spec, {k: values[k] for k in labelled(spec)})

        members.append(Member(part(network), part(training), int(values["seed"])))
    return members


def _engine(name: str, member: Member, on_gpu: bool) -> tuple[Any, str]:
    """The engine that trains a member; and, if "auto" left the compiled one aside, why."""
    if name not in ("auto", *ENGINES):
        raise ValueError(f"train: engine = {name!r}: must be 'auto' or one of {', '.join(map(repr, ENGINES))}")
    cannot = {n: checks.unknown(kind.KNOWN, member.network, member.training) for n, kind in ENGINES.items()}
    if cannot["torch"]:
        raise ValueError(f"train: no engine knows {cannot['torch']}")
    if name != "auto":
        why = cannot[name] or ("on a GPU" if on_gpu and name == "compiled" else "")
        if why:
            raise ValueError(f"train: engine = {name!r} cannot train {why}; use engine='auto' or 'torch'")
        return ENGINES[name], ""
    why = cannot["compiled"] and f"it does not know {cannot['compiled']}"
    if not why and on_gpu:
        why = "it runs on CPUs"
    if not why and member.network.width > Fused.WIDEST:
        why = f"torch is faster beyond width {Fused.WIDEST}"
    return (Torch, why) if why else (Fused, "")


def _jobs(
    members: list[Member],
    engines: Sequence[Any],
    draws: list[Draws],
    shared: dict[Any, Any],
    memory: float,
    most: int,
) -> list[list[int]]:
    """Members by number, cut into what is trained at once: one each, or groups of one shape that fit the memory."""
    alone = [[i] for i, kind in enumerate(engines) if kind is Fused or most == 1]
    if len(alone) == len(members):
        return alone
    groups: dict[Any, tuple[list[int], int]] = {}
    known: dict[Any, tuple[Any, int]] = {}
    for i, (member, kind) in enumerate(zip(members, engines, strict=True)):
        if kind is Fused:
            continue
        alike = json.dumps([member.network.to_json(), member.training.to_json()], default=repr)
        if alike not in known:  # networks that differ in their seed alone
            common = shared[kind, str(member.training.dtype)]
            module = Torch.module(member, draws[i].stream, common)
            known[alike] = Torch.shape(member, module), Torch.bytes_per_member(member, module, common)
        shape, need = known[alike]
        groups.setdefault(shape, ([], need))[0].append(i)
    cut = [group for own, need in groups.values() for group in batches(own, need, memory, "train")]
    return alone + [group[i : i + most] for group in cut for i in range(0, len(group), most)]


def _metrics(metrics: Sequence[str], class_means: bool) -> tuple[str, ...]:
    if not isinstance(metrics, list | tuple) or any(name not in tuple(METRICS) for name in metrics):
        names = ", ".join(map(repr, METRICS))
        raise ValueError(f"train: metrics = {checks.shown(metrics)}: must be a list of some of {names}, or ()")
    checks.require_switch("train", "class_means", class_means)
    return tuple(dict.fromkeys(metrics))


def _check(
    data: Any, members: list[Member], metrics: Sequence[str], record: Sequence[int] | None, class_means: bool
) -> None:
    n = len(data.x_train)
    if record is not None:
        fewest = min(int(m.training.epochs) for m in members)
        checks.wholes("train", "record", record, 0, (fewest, "Training.epochs"), rising=False)
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
