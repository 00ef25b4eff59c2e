"""Prepare networks, let them walk, and record how far their weights have moved, many at once and without trajectories.

A member is compared with a few reference frames (its own weights after each waiting time) as it goes; what is kept are
sums over groups of weights, so a run of any length takes the same memory.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from deepmech.core import specs
from deepmech.core.labels import Number, Words
from deepmech.core.random import Stream
from deepmech.core.specs import Spec
from deepmech.data.samples import validate_signs
from deepmech.metrics.glass import MOTILITY_EDGES, displacement_sums, motility
from deepmech.trainers.engines.compiled.langevin import TYPES, CompiledWalk, initial, layer_sizes
from deepmech.trainers.engines.torch_walk import TorchWalk
from deepmech.trainers.run import TrainerRun, record_steps, require_spec

ENDS = ("finished", "diverged")
MOST_HELD = 2**30
"""Bytes that the networks of a group, which torch takes through a step together on a CPU, hold at most, about."""
DIVERGED = 1e6
"""A network with a weight beyond this has diverged."""
COLLAPSED = 1e-4
"""With weight decay, a network whose weights all lie below this only decays: its gradient is of their sixth power."""
#: Variables of :func:`prepare`, see :data:`deepmech.core.labels.Words`.
PREPARED: Words = {
    "loss": ("loss with weight decay", "1"),
    "data_loss": ("loss without weight decay", "1"),
    "error": ("share of training samples on the wrong side", "1"),
    "norm": ("root mean square weight", "1"),
    "n_weights": ("number of weights", "1"),
    "loss_history": ("loss during the preparation", "1", "record"),
    "steps": ("steps of the preparation", "1", "record"),
    "state": ("how the run ended", "1"),
}
#: So of :func:`walk`.
WALKED: Words = {
    "count": ("weights in a group", "1", "waiting", "layer", "alive"),
    "within": ("weights that moved less than a window", "1", "waiting", "time", "chi", "layer", "alive"),
    "square": ("sum of squared displacements", "1", "waiting", "time", "layer", "alive"),
    "fourth": ("sum of fourth powers of displacements", "1", "waiting", "time", "layer", "alive"),
    "motility": ("weights that moved so far", "1", "waiting", "motility_time", "bin"),
    "still": ("weights that did not move", "1", "waiting", "motility_time"),
    "loss": ("loss without weight decay", "1", "waiting", "time"),
    "loss_waited": ("loss at the start of a comparison", "1", "waiting"),
    "sigma": ("standard deviation of weights at the first comparison", "1"),
    "noise": ("noise that a weight receives in a step", "1"),
    "n_weights": ("number of weights", "1"),
    "state": ("how the run ended", "1"),
}


@dataclass(frozen=True, eq=False)
class Dynamics(Spec):
    r"""A bias-free network of ReLU and the dynamics of its weights, one unit of time per step (glass paper, Eqs. 1-3).

    .. math:: w \leftarrow w - \mu\,\partial_w\mathcal{L} + \sqrt{2T\mu/P_D}\;\xi, \qquad
       \mathcal{L} = \frac{1}{P_D}\sum_i \tfrac12\max(0, 1 - y_i f(x_i))^2 + \frac{\lambda}{2}|w|^2

    Parameters
    ----------
    width : number or DataArray
        Units of every hidden layer.
    hidden : number or DataArray
        Number of hidden layers.
    regularisation : number or DataArray
        λ ≥ 0.
    temperature : number or DataArray
        T ≥ 0, in units where k_B = 1 and the energy is P_D times the loss (Eq. A4).
    learning_rate : number or DataArray
        μ > 0.
    batch_size : number or DataArray
        0 for the whole data set in every step; otherwise stochastic gradient descent with batches of this size, and
        then the temperature must be 0: batches make their own noise.
    softplus : number or DataArray
        0 for ReLU; otherwise β > 0 of smooth units log(1 + exp(β x))/β, which have no kinks (``torch.nn.Softplus``).
    dtype : str
        ``"mixed"`` (weights in float64, gradients in float32) or ``"float64"``. Weights in single precision would lose
        noise that is smaller than the spacing of their numbers.

    Examples
    --------
    >>> from deepmech import over
    >>> Dynamics(width=8, temperature=over("temperature", [1e-3, 1e-2])).noise(1000).values.round(7).tolist()
    [4.47e-05, 0.0001414]
    """

    CHECKS: ClassVar = {
        "width": specs.whole(1), "hidden": specs.whole(1), "regularisation": specs.not_negative(),
        "temperature": specs.not_negative(), "learning_rate": specs.positive(), "batch_size": specs.whole(0),
        "softplus": specs.not_negative(), "dtype": specs.one_of(TYPES),
    }  # fmt: skip
    SINGLE: ClassVar = ("dtype",)
    TOGETHER: ClassVar = ("batch_size", "temperature")

    width: Number = 30
    hidden: Number = 6
    regularisation: Number = 0.0
    temperature: Number = 0.0
    learning_rate: Number = 1e-3
    batch_size: Number = 0
    softplus: Number = 0.0
    dtype: str = "mixed"

    def check_together(self) -> None:
        self.check("temperature", self.batch_size == 0 or self.temperature == 0, "0 where batch_size is not 0")

    def noise(self, n_data: int) -> Any:
        """√(2Tμ/P_D), the standard deviation of the noise that a weight receives in one step."""
        return np.sqrt(2 * self.temperature * self.learning_rate / n_data)


@dataclass(frozen=True, eq=False)
class Preparation(Spec):
    """How a network comes to the place where it is watched: stochastic, then full-batch gradient descent (Sec. III).

    Initial weights are uniform in ±gain/√(units below).

    Parameters
    ----------
    gain : number or DataArray
        1 is PyTorch's default; √6 keeps the mean square of ReLU features from layer to layer. With weight decay the
        origin is a local minimum of any such network, and narrow ones with gain 1 fall into it before they learn.
    sgd_steps : number or DataArray
        Steps of stochastic gradient descent.
    batch_size : number or DataArray
        Its batches; the last one of an epoch holds what is left.
    descent_steps, slow_steps : number or DataArray
        Full-batch steps after it, at ``learning_rate`` and at a tenth of it (Sec. III A).
    learning_rate : number or DataArray
        Of all three.

    Examples
    --------
    >>> Preparation(sgd_steps=-1)
    Traceback (most recent call last):
    ValueError: Preparation.sgd_steps = -1: must be a whole number, at least 0
    """

    CHECKS: ClassVar = {
        "gain": specs.positive(), "sgd_steps": specs.whole(0), "batch_size": specs.whole(1),
        "descent_steps": specs.whole(0), "slow_steps": specs.whole(0), "learning_rate": specs.positive(),
    }  # fmt: skip

    gain: Number = 1.0
    sgd_steps: Number = 100_000
    batch_size: Number = 100
    descent_steps: Number = 0
    slow_steps: Number = 0
    learning_rate: Number = 1e-3


def log_times(last: int, per_decade: int = 10) -> np.ndarray:
    """Whole numbers from 1 to ``last``, about evenly spaced in the logarithm.

    Raises a ValueError unless both arguments are positive whole numbers.

    Examples
    --------
    >>> log_times(100, 3).tolist()
    [1, 2, 5, 10, 22, 46, 100]
    """
    last = specs.check_int("log_times: last", last)
    per_decade = specs.check_int("log_times: per_decade", per_decade)
    n = max(2, round(np.log10(last) * per_decade) + 1)
    return np.unique(np.round(np.geomspace(1, last, n)).astype(np.int64))


def prepare(
    dynamics: Dynamics,
    preparation: Preparation,
    data: Any,
    *,
    seed: Number | int = 0,
    engine: str = "auto",
    threads: int | None = None,
    device: str | None = None,
    experiment: str = "glass",
) -> xr.Dataset:
    """Prepare every member and measure where it came to rest (Fig. 1).

    Parameters
    ----------
    dynamics, preparation, data, seed, engine, threads, device, experiment
        As for :func:`walk`.

    Returns
    -------
    xarray.Dataset
        With the labels of all fields: ``loss`` (with regularisation), ``data_loss``, ``error`` (fraction of training
        samples on the wrong side), ``norm`` (root mean square weight), ``n_weights``; ``loss_history`` over ``record``
        with ``steps`` (…, record), at most 33 records from the start of the preparation to its end; and ``state``,
        ``"finished"`` or ``"diverged"``: not finite, or a weight beyond 1e6, at one of these records. All numbers are
        nan then, and the history is from there on.

    Raises
    ------
    ValueError
        As :func:`walk`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from deepmech.core.random import Stream
    >>> stream = Stream.of("example", 0)
    >>> x = stream.normal("x", 0, (64, 4))
    >>> data = SimpleNamespace(x=x, y=np.sign(x[:, 0]), fingerprint="example")
    >>> float(prepare(Dynamics(width=4, hidden=1), Preparation(sgd_steps=2000, learning_rate=0.1), data).error) < 0.2
    True
    """
    call, data, members, engine = _members(
        "prepare", dynamics, preparation, data, PREPARED, seed=seed, engine=engine, threads=threads, device=device,
        experiment=experiment,
    )  # fmt: skip
    call.describe(data, dynamics.dtype, [(engine, "")], {}, dynamics=dynamics, preparation=preparation)
    rows = []
    for member, start in zip(members, _prepared(call, members, data, engine), strict=True):
        weights, loss = start.weights, float(start.losses[-1])
        half = 0.5 * member.dynamics.regularisation * float((weights**2).sum())
        rows.append({
            "loss": loss + half, "data_loss": loss, "error": start.error, "norm": float(np.sqrt((weights**2).mean())),
            "n_weights": len(weights), "loss_history": start.losses, "steps": start.steps, "state": start.state,
        })  # fmt: skip
    return call.result(rows, {})


def walk(
    dynamics: Dynamics,
    preparation: Preparation,
    data: Any,
    *,
    steps: int,
    seed: Number | int = 0,
    waiting: Sequence[int] = (0,),
    record: Sequence[int] | int | None = None,
    chi: Sequence[float] = (300.0,),
    motility_times: Sequence[int] = (),
    engine: str = "auto",
    threads: int | None = None,
    device: str | None = None,
    experiment: str = "glass",
) -> xr.Dataset:
    """Prepare every member, let it walk, and compare it with its own weights after each waiting time.

    Parameters
    ----------
    dynamics, preparation : Dynamics, Preparation
        Every number in them may be a labelled array (:func:`deepmech.over`).
    data : Data
        ``x`` (P_D, d), ``y`` (P_D,) of ±1, both of them there; or a tuple (x, y), a ``TensorDataset``, or a ``Dataset``
        or ``DataLoader`` of pairs (x, y). Arrays, lists or tensors. ``fingerprint`` as for
        :func:`deepmech.trainers.train`.
    seed, experiment
        As for :func:`deepmech.trainers.train`, whose promise of equal bits holds here as well.
    steps : int
        Length of the walk, waiting included.
    waiting : list of int
        Waiting times t_w: steps from the start of the walk to each reference frame.
    record : int or list of int, optional
        Times t after each t_w at which to record, in steps, rising, at least 1; or a whole number n: every n-th. None
        takes ten per decade. What a frame does not reach before ``steps`` is nan.
    chi : list of float
        The overlap's windows are ε = σ/χ (Eq. B1); σ is the standard deviation of the member's weights at its first
        reference frame, and serves all frames.
    motility_times : list of int
        Times t at which to keep histograms of log₁₀ |Δw| (:data:`~deepmech.metrics.glass.MOTILITY_EDGES`).
    engine : str
        ``"compiled"`` (one network on each core, fast), ``"torch"`` (many networks at once, on any device; on a CPU at
        most 16, and fewer where a step of theirs would hold more than a GiB), or ``"auto"``: torch on a GPU, else
        compiled. They agree to rounding.
    threads : int, optional
        Networks at a time on a CPU; None uses every core available. Not for ``"torch"``.
    device
        As for :func:`deepmech.trainers.train`.

    Returns
    -------
    xarray.Dataset
        With the labels of all fields, ``waiting``, ``time``, ``layer`` and ``alive`` (0: weights into or out of a unit
        that is silent on all data at t_w; 1: the others):

        - ``count`` (…, waiting, layer, alive): weights in each group; ``within`` (…, waiting, time, chi, layer, alive):
          those that moved less than σ/χ; ``square`` and ``fourth`` (…, waiting, time, layer, alive): sums of Δw², Δw⁴.
          :func:`deepmech.metrics.glass` makes the overlap, the mean square and α₂ from these;
        - ``motility`` (…, waiting, motility_time, bin) and ``still`` (…): counts, and weights that did not move;
        - ``loss`` (…, waiting, time) and ``loss_waited`` (…, waiting): mean loss over the data, without regularisation;
        - ``sigma`` (…), ``noise`` (…) per step, ``n_weights`` (…), and ``state`` (…), ``"finished"`` or ``"diverged"``:
          not finite, or a weight beyond 1e6, in the preparation or the walk. From there on numbers are nan, and counts
          (``count``, ``motility``, ``still``) zero: nothing was counted.

    Raises
    ------
    ValueError
        If times, labels or names do not fit, or the data are not fit to be trained on
        (:func:`deepmech.data.samples.validate_data`).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from deepmech import over
    >>> from deepmech.core.random import Stream
    >>> stream = Stream.of("example", 0)
    >>> x = stream.normal("x", 0, (64, 4))
    >>> data = SimpleNamespace(x=x, y=np.sign(x[:, 0]), fingerprint="example")
    >>> hot = Dynamics(width=4, hidden=2, temperature=over("temperature", [0.1, 1.0]))
    >>> result = walk(hot, Preparation(sgd_steps=100), data, steps=100, seed=over("seed", [0, 1]))
    >>> result.within.dims
    ('temperature', 'seed', 'waiting', 'time', 'chi', 'layer', 'alive')
    """
    call, data, members, engine = _members(
        "walk", dynamics, preparation, data, WALKED, seed=seed, engine=engine, threads=threads, device=device,
        experiment=experiment,
    )  # fmt: skip
    steps = specs.check_steps("walk: steps", steps, specs.check_int("walk: steps", steps))
    within = f"a list of different whole numbers between 0 and steps - 1 = {steps - 1}"
    waiting = specs.check_ints("walk: waiting", waiting, 0, steps - 1, allowed=within).tolist()
    longest = steps - min(waiting)
    at = (
        log_times(longest) if record is None else record_steps("walk", record, longest, "steps - min(waiting)", least=1)
    )
    chi = _windows(chi)
    if np.size(motility_times):
        motility_times = specs.check_ints("walk: motility_times", motility_times, 1).tolist()
    if len({(m.dynamics.hidden) for m in members}) > 1:
        raise ValueError("walk: Dynamics.hidden differs among members, so their layers do not match; run them apart")
    numbers = 2.0 * (int(members[0].dynamics.hidden) + 1) * (len(chi) + 2) * len(waiting)
    specs.check_memory("walk: record", at if record is None else record, numbers * len(at) * len(members))
    schedule = Schedule(steps, tuple(waiting), at, tuple(chi), tuple(motility_times))

    options = {"steps": steps, "waiting": waiting, "record": at, "chi": chi, "motility_times": motility_times}
    call.describe(data, dynamics.dtype, [(engine, "")], options, dynamics=dynamics, preparation=preparation)
    prepared = [start.weights for start in _prepared(call, members, data, engine)]

    def walked(group: list[int]) -> list[dict[str, np.ndarray]]:
        group_members, starts = [members[i] for i in group], [prepared[i] for i in group]
        return run_walk(group_members, starts, data, schedule, engine, call.device)

    rows = call.run(walked, _jobs(call, members, data, engine), "walks")
    coords = {
        "waiting": list(waiting), "time": at, "chi": list(chi), "alive": [0, 1],
        "layer": np.arange(1, int(members[0].dynamics.hidden) + 2), "motility_time": list(motility_times),
        "bin": np.round((MOTILITY_EDGES[1:] + MOTILITY_EDGES[:-1]) / 2, 3),
    }  # fmt: skip
    return call.result(rows, coords)


def _members(
    caller: str, dynamics: Dynamics, preparation: Preparation, data: Any, words: Words, **how: Any
) -> tuple[TrainerRun, Any, list[WalkMember], str]:
    """The call, its data, what walks, and on which engine, if everything fits."""
    require_spec(f"{caller}: dynamics", dynamics, Dynamics)
    require_spec(f"{caller}: preparation", preparation, Preparation)
    call = TrainerRun(caller, **how)
    engine, _ = call.select_engine()
    data = validate_signs(caller, data, "float64" if dynamics.dtype == "float64" else "float32")
    members = [WalkMember(d, p, s, call.experiment) for d, p, s in call.expand(words, dynamics, preparation)]
    for one in members:
        p, d = one.preparation, one.dynamics
        for name, number in (("sgd", p.sgd_steps), ("descent", p.descent_steps), ("slow", p.slow_steps)):
            specs.check_steps(f"Preparation.{name}_steps", number, float(number))
        weights = 1.0 * d.width * (data.x_train.shape[1] + 1 + (d.hidden - 1) * d.width)
        sizes = f"Dynamics.hidden = {specs.short_repr(d.hidden)}, Dynamics.width"
        specs.check_memory(sizes, d.width, 4 * weights * min(len(members), call.workers))
    return call, data, members, engine


def _jobs(call: TrainerRun, members: Sequence[WalkMember], data: Any, engine: str) -> list[list[int]]:
    """One walker each, or with torch those of one shape, one group after another."""
    if engine == "torch":
        call.workers = 1
    # A GPU says what does not fit, and gets halves. Larger groups are hardly faster on a CPU. A step holds samples,
    # and of every hidden unit three numbers for each of them: itself, what ReLU makes of it, and the gradient.
    units = max(int(m.dynamics.hidden) * int(m.dynamics.width) for m in members)
    fits = MOST_HELD // (8 * len(data.x_train) * (data.x_train.shape[1] + 3 * units))
    most = None if call.on_gpu else min(16, max(1, fits))
    return call.jobs([member.shape if engine == "torch" else None for member in members], most)


def _windows(chi: Any) -> tuple[float, ...]:
    allowed = "a list of different numbers above 0, at least one"
    values = specs.check_array("walk: chi", chi, allowed)
    ok = values.ndim == 1 and len(np.unique(values)) == len(values) > 0 and np.all((values > 0) & (values < np.inf))
    specs.check("walk: chi", chi, ok, allowed)
    return tuple(values.tolist())


def _prepared(call: TrainerRun, members: list[WalkMember], data: Any, engine: str) -> list[Prepared]:
    """Every member's prepared network; members that differ in their walk alone share it."""
    firsts = {json.dumps(m.start): m for m in members}
    starters = list(firsts.values())

    def fit(group: list[int]) -> list[Prepared]:
        return run_preparation([starters[i] for i in group], data, engine, call.device)

    prepared = dict(zip(firsts, call.run(fit, _jobs(call, starters, data, engine), "preparations"), strict=True))
    return [prepared[json.dumps(m.start)] for m in members]


@dataclass(frozen=True)
class WalkMember:
    """One member: plain numbers in its specs."""

    dynamics: Dynamics
    preparation: Preparation
    seed: int
    experiment: str = "glass"

    @cached_property
    def stream(self) -> Stream:
        return Stream.of(self.experiment, self.seed)

    def sizes(self, data: Any) -> tuple[int, ...]:
        """Units of every layer of its network on these data."""
        return layer_sizes(data.x_train.shape[1], int(self.dynamics.width), int(self.dynamics.hidden))

    @property
    def start(self) -> tuple[Any, ...]:
        """What decides the prepared network: members that agree in it share it."""
        d = self.dynamics
        return d.width, d.hidden, d.regularisation, d.softplus, d.dtype, self.preparation.to_json(), self.seed

    @property
    def shape(self) -> tuple[Any, ...]:
        """What members of one group have in common."""
        d, p = self.dynamics, self.preparation
        lengths = p.sgd_steps, p.descent_steps, p.slow_steps
        return d.width, d.hidden, d.softplus, d.dtype, d.batch_size, p.batch_size, *lengths


@dataclass(frozen=True)
class Prepared:
    """A network at the end of its preparation, and its way there.

    Its flat ``weights`` in float64; the data ``losses`` after so many ``steps``, (33,), from the start to the end; the
    ``error``, a share of the samples; and the ``state``: all as :func:`prepare` returns them.
    """

    weights: np.ndarray
    steps: np.ndarray
    losses: np.ndarray
    error: float
    state: str


def run_preparation(
    members: Sequence[WalkMember], data: Any, engine: str = "compiled", device: str = "cpu"
) -> list[Prepared]:
    """Prepare members of one :attr:`~WalkMember.shape` side by side; the compiled engine takes one."""
    network, streams, sizes = _group(members, data, engine, device)
    gains = [float(m.preparation.gain) for m in members]
    network.set(np.stack([gain * initial(sizes, stream) for gain, stream in zip(gains, streams, strict=True)]))
    p, n = members[0].preparation, len(data.x_train)
    rate = np.array([float(m.preparation.learning_rate) for m in members])
    decay = np.array([float(m.dynamics.regularisation) for m in members])
    zero = np.zeros(len(members))
    sgd, fast = int(p.sgd_steps), int(p.sgd_steps) + int(p.descent_steps)
    total = fast + int(p.slow_steps)
    stops = np.round(np.linspace(0, total, 33)).astype(int)
    done, errors, diverged = 0, zero, np.zeros(len(members), bool)
    losses = np.full((len(members), len(stops)), np.nan)
    for k, stop in enumerate(stops):
        before, start = done, network.w
        collapsed = (decay > 0) & (np.abs(start).max(1) < COLLAPSED)
        while done < stop and not collapsed.all():
            if done < sgd:
                done = _stochastic(network, streams, "order", n, int(p.batch_size), rate, decay, done, min(stop, sgd))
            else:
                end = min(stop, fast if done < fast else total)
                network.walk(end - done, done, rate if done < fast else rate / 10, decay, zero, streams)
                done = end
        if collapsed.any():
            # Nothing else happens any more, and products of such numbers take processors many times longer.
            shrink = (1 - rate * decay) ** (min(stop, fast) - min(before, fast))
            slowly = (1 - rate / 10 * decay) ** (max(stop - fast, 0) - max(before - fast, 0))
            network.set(np.where(collapsed[:, None], start * shrink[:, None] * slowly[:, None], network.w))
        done = stop
        loss, errors, _ = _evaluated(network, diverged)
        losses[:, k] = np.where(diverged, np.nan, loss)
        if diverged.all():
            break
    ends = np.where(diverged[:, None], np.nan, network.w)
    return [
        Prepared(weights, stops, history, np.nan if failed else float(error), ENDS[int(failed)])
        for weights, history, error, failed in zip(ends, losses, errors, diverged, strict=True)
    ]


def run_walk(
    members: Sequence[WalkMember],
    starts: Sequence[np.ndarray],
    data: Any,
    schedule: Schedule,
    engine: str = "compiled",
    device: str = "cpu",
) -> list[dict[str, np.ndarray]]:
    """Walk members of one :attr:`~WalkMember.shape` side by side; ``out`` of each one's :class:`Recorder`."""
    network, streams, sizes = _group(members, data, engine, device)
    network.set(np.stack(starts))
    n = len(data.x_train)
    rate = np.array([float(m.dynamics.learning_rate) for m in members])
    decay = np.array([float(m.dynamics.regularisation) for m in members])
    noise = np.array([float(m.dynamics.noise(n)) for m in members])
    batch, done = int(members[0].dynamics.batch_size), 0
    recorders = [Recorder(sizes, schedule, float(size)) for size in noise]
    diverged = np.zeros(len(members), bool)
    for stop in schedule.stops():
        if batch:
            _stochastic(network, streams, "walk order", n, batch, rate, decay, done, stop)
        else:
            network.walk(stop - done, done, rate, decay, noise, streams)
        done = stop
        losses, _, active = _evaluated(network, diverged)
        if diverged.all():
            break
        now = network.w
        for i in np.flatnonzero(~diverged):
            recorders[i].add(stop, now[i], float(losses[i]), [layer[i] for layer in active])
    for recorder, failed in zip(recorders, diverged, strict=True):
        recorder.out["state"] = np.array(ENDS[int(failed)])
    return [recorder.out for recorder in recorders]


def _evaluated(
    network: CompiledWalk | TorchWalk, diverged: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """``network.evaluate()``; marks in ``diverged`` which networks have diverged, and puts those at the origin.

    They are not carried on: beyond what numbers can hold, processors take many times longer.
    """
    now = network.w
    diverged |= ~(np.isfinite(now).all(1) & (np.abs(now).max(1) < DIVERGED))
    if diverged.any():
        network.set(np.where(diverged[:, None], 0.0, now))
    found = network.evaluate()
    diverged |= ~np.isfinite(found[0])
    return found


def _group(
    members: Sequence[WalkMember], data: Any, engine: str, device: str
) -> tuple[CompiledWalk | TorchWalk, list[Stream], tuple[int, ...]]:
    """The networks of members of one shape, their random streams, and their sizes."""
    sizes, dtype, softplus = members[0].sizes(data), members[0].dynamics.dtype, float(members[0].dynamics.softplus)
    streams = [member.stream for member in members]
    if engine == "torch":
        return TorchWalk(sizes, data.x_train, data.y_train, dtype, len(members), device, softplus), streams, sizes
    return CompiledWalk(sizes, data.x_train, data.y_train, dtype, softplus), streams, sizes


def _stochastic(
    network: CompiledWalk | TorchWalk,
    streams: Sequence[Stream],
    purpose: str,
    n: int,
    batch: int,
    rate: np.ndarray,
    decay: np.ndarray,
    done: int,
    stop: int,
) -> int:
    """Stochastic gradient steps ``done`` … ``stop`` - 1 over batches; every epoch has its own order. Returns stop."""
    batch = min(batch, n)
    per_epoch = -(-n // batch)
    while done < stop:
        begin = done % per_epoch
        end = min(per_epoch, begin + stop - done)
        drawn = {s.key: s.permutation(purpose, done // per_epoch, n) for s in streams}
        network.descend([drawn[s.key] for s in streams], batch, rate, decay, begin, end)
        done += end - begin
    return done


@dataclass(frozen=True)
class Schedule:
    """When to do what during a walk."""

    steps: int
    waiting: tuple[int, ...]
    times: np.ndarray
    chi: tuple[float, ...]
    motility: tuple[int, ...]

    def stops(self) -> list[int]:
        """Every step at which something is recorded, and the last one."""
        wanted = {w + int(t) for w in self.waiting for t in (0, *self.times, *self.motility)} | {self.steps}
        return sorted(t for t in wanted if t <= self.steps)


class Recorder:
    """The record of one network's walk: sums over groups of weights, compared with themselves after each waiting time.

    It is in ``out``: keys and shapes as in :func:`walk`.
    """

    def __init__(self, sizes: Sequence[int], schedule: Schedule, noise: float):
        self.sizes, self.schedule = sizes, schedule
        self.layers = len(sizes) - 1
        self.layer = np.repeat(np.arange(self.layers), [a * b for a, b in zip(sizes[1:], sizes[:-1], strict=True)])
        frames, n_times, layers, nan = len(schedule.waiting), len(schedule.times), self.layers, np.nan
        self.out: dict[str, np.ndarray] = {
            "count": np.zeros((frames, layers, 2)),
            "within": np.full((frames, n_times, len(schedule.chi), layers, 2), nan),
            "square": np.full((frames, n_times, layers, 2), nan), "fourth": np.full((frames, n_times, layers, 2), nan),
            "motility": np.zeros((frames, len(schedule.motility), len(MOTILITY_EDGES) - 1), np.int32),
            "still": np.zeros((frames, len(schedule.motility)), np.int32), "loss": np.full((frames, n_times), nan),
            "loss_waited": np.full(frames, nan), "sigma": np.array(nan), "noise": np.array(noise),
            "n_weights": np.array(len(self.layer)), "state": np.array("finished"),
        }  # fmt: skip
        self.references: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def add(self, step: int, now: np.ndarray, loss: float, active: Sequence[np.ndarray]) -> None:
        """The network after ``step`` steps: flat weights, loss, and which units of each hidden layer are not silent."""
        out, schedule = self.out, self.schedule
        for f, waited in enumerate(schedule.waiting):
            t = step - waited
            if t == 0:
                group = 2 * self.layer + self._alive(active)
                self.references[f] = now, group
                out["count"][f] = np.bincount(group, minlength=2 * self.layers).reshape(self.layers, 2)
                out["loss_waited"][f] = loss
                if np.isnan(out["sigma"]):
                    out["sigma"] = np.array(now.std())
                continue
            if f not in self.references:
                continue
            reference, group = self.references[f]
            k = int(np.searchsorted(schedule.times, t))
            if k < len(schedule.times) and schedule.times[k] == t:
                # A network whose weights are all equal has no scale; no window then holds anything.
                windows = [max(float(out["sigma"]) / c, np.finfo(float).tiny) for c in schedule.chi]
                sums = displacement_sums(now, reference, group, 2 * self.layers, windows)
                out["within"][f, k] = sums.within.T.reshape(len(schedule.chi), self.layers, 2)
                for name, values in (("square", sums.square), ("fourth", sums.fourth)):
                    out[name][f, k] = values.reshape(self.layers, 2)
                out["loss"][f, k] = loss
            if t in schedule.motility:
                m = schedule.motility.index(t)
                out["motility"][f, m], out["still"][f, m] = motility(now, reference)

    def _alive(self, active: Sequence[np.ndarray]) -> np.ndarray:
        """1 for weights between two units that are not silent on all data, flat; inputs and the output never are."""
        active = [np.ones(self.sizes[0], bool), *active, np.ones(1, bool)]
        return np.concatenate([np.outer(b, a).ravel() for a, b in pairwise(active)]).astype(int)
