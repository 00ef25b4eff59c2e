"""Networks of ReLU rest on kinks of their loss: which, what they hold, how weights slide along them (page glass/kinks).

A kink is where a unit switches on a sample: a pair (sample, unit). Without noise weights chatter across some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.data import Data
from deepmech.simulators.harmonic import QuadraticLandscape
from deepmech.sweeps import to_records
from deepmech.trainers.engines.compiled.langevin import CompiledWalk
from deepmech.trainers.langevin import Dynamics, Preparation, WalkMember, run_preparation
from deepmech_book.sweeps.glass.data import binary
from deepmech_book.sweeps.glass.forecasts import gauss_newton, jacobian
from deepmech_book.sweeps.glass.walks import RATE, in_single_precision
from deepmech_book.sweeps.policy import verification_policy

LOOK = 100
"""Steps without noise in which kinks are seen and the drift is measured."""
FLIPS = 2
"""Changes of sign in these steps from which on a unit keeps flipping; one change is a kink that was passed."""
CANDIDATES = 12
"""Pairs near zero are the nearest of so many times as many, which are chosen by their distance in units of spread."""
KINDS = (
    "first look", "one instant", "renewed look", "renewed slide", "kinks", "kinks, Gauss-Newton", "Hessian",
    "random directions", "near pairs",
)  # fmt: skip
"""What foretells. Of the first look its drift, or the gradient at a point, with its curvature. Of the look at each wait
the same, or the drift alone. Of the first look the drift with the exact Hessian, along kinks or other directions."""
SETS = ("kinks", "random directions", "near pairs")
OF_WAITS = ("gradient_norm", "drift_norm", "cos_drift", "cos_way")
OF_SETS = ("pairs", "rank", "in_gradient", "in_way")


def matrices(weights: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """Flat weights as matrices (units above, units below)."""
    ends = np.cumsum([a * b for a, b in pairwise(sizes)])
    parts = np.split(weights, ends[:-1])
    return [part.reshape(above, below) for part, (below, above) in zip(parts, pairwise(sizes), strict=True)]


def pre_activations(weights: np.ndarray, sizes: Sequence[int], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What hidden units of ReLU get, (n, layer, unit), and the outputs (n,)."""
    *hidden, last = matrices(weights, sizes)
    found, a = [], x
    for layer in hidden:
        found.append(a @ layer.T)
        a = np.maximum(found[-1], 0)
    return np.stack(found, 1), (a @ last.T)[:, 0]


@dataclass(frozen=True)
class Kinks:
    """Pairs of one network: the ``sample``, hidden ``layer`` from 0 and ``unit`` of each."""

    sample: np.ndarray
    layer: np.ndarray
    unit: np.ndarray

    def normals(self, weights: np.ndarray, sizes: Sequence[int], x: np.ndarray) -> np.ndarray:
        """Derivatives of what each pair's unit gets on its sample, by all weights, (pairs, N)."""
        layers, out = matrices(weights, sizes), np.zeros((len(self.sample), len(weights)))
        starts = np.cumsum([0, *(layer.size for layer in layers)])
        for k, u in sorted(set(zip(self.layer.tolist(), self.unit.tolist(), strict=True))):
            rows, begin, row = np.flatnonzero((self.layer == k) & (self.unit == u)), starts[k], layers[k][u]
            _, by_weight = jacobian(np.append(weights[:begin], row), (*sizes[: k + 1], 1), x[self.sample[rows]])
            own = begin + u * len(row) + np.arange(len(row))
            out[np.ix_(rows, [*range(begin), *own])] = by_weight
        return out


def flipping(path: np.ndarray, sizes: Sequence[int], data: Any) -> tuple[Kinks, Kinks]:
    """Pairs that keep flipping on a path of weights (steps, N), and as many that lie nearest to zero and never flip.

    Of samples that cost something at its start. Near are those of the smallest distance |z|/|∇z| in weight space.
    """
    start, output = pre_activations(path[0], sizes, data.x_train)
    inside = np.flatnonzero(data.y_train * output < 1)
    x, start = data.x_train[inside], start[inside]
    last, changes = start > 0, np.zeros(start.shape, int)
    for weights in path[1:]:
        now = pre_activations(weights, sizes, x)[0] > 0
        changes, last = changes + (now != last), now
    flips = Kinks(*np.nonzero(changes >= FLIPS))
    spread = start.std(0)
    dead = spread <= 1e-6 * spread.max()  # what weight decay has left of units that nothing wants is near zero always
    rough = np.where((changes > 0) | (start == 0) | dead, np.inf, abs(start) / np.where(dead, 1, spread))
    few = np.argsort(rough, axis=None)[: min(CANDIDATES * len(flips.sample), np.isfinite(rough).sum())]
    near = Kinks(*np.unravel_index(few, rough.shape))
    steep = np.linalg.norm(near.normals(path[0], sizes, x), axis=1)
    distance = abs(start[near.sample, near.layer, near.unit]) / np.where(steep > 0, steep, np.nan)
    chosen = np.argsort(distance)[: len(flips.sample)]
    near = Kinks(near.sample[chosen], near.layer[chosen], near.unit[chosen])
    return (
        Kinks(inside[flips.sample], flips.layer, flips.unit),
        Kinks(inside[near.sample], near.layer, near.unit),
    )


def span(vectors: np.ndarray) -> np.ndarray:
    """An orthonormal basis (N, rank) of the span of vectors (n, N)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    _, values, basis = np.linalg.svd(vectors[length[:, 0] > 0] / length[length > 0][:, None], full_matrices=False)
    return basis[values > 1e-6 * values.max(initial=0)].T


def share(basis: np.ndarray, vector: np.ndarray) -> float:
    """The share of a vector's square in the span of a basis (N, rank)."""
    return float(((basis.T @ vector) ** 2).sum() / (vector**2).sum())


def hessian(weights: np.ndarray, sizes: Sequence[int], data: Any, decay: float, softplus: float) -> np.ndarray:
    """Second derivatives (N, N) of the loss, weight decay included; of ReLU those of the pattern of active units."""
    if softplus:
        engine = CompiledWalk(sizes, data.x_train, data.y_train, "float64", softplus)
        return _differences(engine, weights) + decay * np.eye(len(weights))
    matrix = gauss_newton(weights, sizes, data.x_train, data.y_train, decay)
    given, output = pre_activations(weights, sizes, data.x_train)
    inside = data.y_train * output < 1
    x, y, active = data.x_train[inside], data.y_train[inside], (given[inside] > 0).astype(float)
    layers = matrices(weights, sizes)
    starts = np.cumsum([0, *(layer.size for layer in layers)])
    below = [x, *(np.maximum(given[inside, k], 0) for k in range(active.shape[1]))]
    # With its pattern fixed a network is linear in each layer, so second derivatives are between two different layers:
    # the derivative behind the upper one, the way between the two, and what the lower one gets.
    behind = [np.ones((len(x), 1))]
    for k in range(len(layers) - 1, 0, -1):
        behind.insert(0, (behind[0] @ layers[k]) * active[:, k - 1])
    costs = -(1 - y * output[inside]) * y / len(data.y_train)
    for low in range(len(layers) - 1):
        way = active[:, low, :, None] * np.eye(active.shape[2])
        for high in range(low + 1, len(layers)):
            if high > low + 1:
                way = active[:, high - 1, :, None] * (layers[high - 1] @ way)
            ends = (costs[:, None] * behind[high])[:, :, None] * below[low][:, None, :]
            block = ends.reshape(len(x), -1).T @ way.reshape(len(x), -1)
            block = block.reshape(*ends.shape[1:], *way.shape[1:]).transpose(0, 2, 3, 1)
            block = block.reshape(layers[high].size, layers[low].size)
            rows, columns = (slice(starts[k], starts[k + 1]) for k in (high, low))
            matrix[rows, columns] += block
            matrix[columns, rows] += block.T
    return matrix


def _differences(engine: CompiledWalk, weights: np.ndarray, step: float = 1e-5) -> np.ndarray:
    rows = []
    for move in step * np.eye(len(weights)):
        both = []
        for sign in (1, -1):
            engine.set(weights + sign * move)
            both.append(engine.gradient()[0])
        rows.append((both[0] - both[1]) / (2 * step))
    return (np.array(rows) + np.array(rows).T) / 2


def _first(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first wait in place of all, and a short record."""
    few = {"waiting": fixed["waiting"][:1], "times": fixed["times"][:20]}
    return fixed | few, ["gradient_norm", "drift_norm", "pairs", "path"]


@verification_policy(part=_first, tolerance={"*": 1e-4})
def kink_cells(
    cells: xr.Dataset, data: dict[str, Any], width: int, regularisation: float, softplus: float, chi: float,
    waiting: list[int], times: list[int], preparation: dict[str, Any],
) -> xr.Dataset:  # fmt: skip
    """Prepare each network, let it walk without noise, and look at it after each wait.

    Over ``cell``: ``overlap`` in the window σ/``chi`` and ``msd`` of the ``walk`` and of :data:`KINDS`, (source,
    waiting, time); over ``waiting`` ``gradient_norm`` and ``drift_norm``, the cosines ``cos_drift`` of the gradient
    with the drift and ``cos_way`` of the way down it with the way to the last record; over (set, waiting), of
    :data:`SETS`, ``pairs``, the ``rank`` of their normals' span, and the shares of the squared gradient and of the
    squared way in it; ``path`` (step, axis) of the first look, along the drift and along what the gradient has beside
    it; data ``loss`` and ``error`` at the first wait; ``n_weights``; ``diverged``.
    """
    loaded, rows = binary(**data), []
    dynamics = Dynamics(width=width, regularisation=regularisation, softplus=softplus, learning_rate=RATE)
    for cell in to_records(cells):
        member = WalkMember(dynamics, Preparation(**preparation), int(cell["seed"]), "glass walks")
        start = run_preparation([member], loaded)[0]
        rows.append(_row(start.weights, member, loaded, chi, waiting, times))
    return in_single_precision(xr.concat(rows, cells.cell))


def _walked(
    start: np.ndarray, member: WalkMember, data: Data, waiting: list[int], times: list[int]
) -> dict[int, np.ndarray]:
    """Weights of a walk without noise at every step that is looked at."""
    network = CompiledWalk(member.sizes(data), data.x_train, data.y_train, "mixed", float(member.dynamics.softplus))
    network.set(start)
    decay, done, found = float(member.dynamics.regularisation), 0, {}
    for stop in sorted({wait + t for wait in waiting for t in (*range(LOOK + 1), *times)}):
        network.walk(stop - done, done, RATE, decay, 0.0, [member.stream])
        found[stop] = network.w[0]
        done = stop
    return found


def _row(
    start: np.ndarray, member: WalkMember, data: Data, chi: float, waiting: list[int], times: list[int]
) -> xr.Dataset:
    """All that is measured and foretold of one network."""
    sizes, n = member.sizes(data), len(start)
    decay, softplus = float(member.dynamics.regularisation), float(member.dynamics.softplus)
    at = _walked(start, member, data, waiting, times)
    first = at[waiting[0]]
    window = float(first.std()) / chi
    engine = CompiledWalk(sizes, data.x_train, data.y_train, "float64", softplus)
    shape = (1 + len(KINDS), len(waiting), len(times))
    overlap, msd = np.full(shape, np.nan), np.full(shape, np.nan)
    of_sets, of_waits = np.full((4, len(SETS), len(waiting)), np.nan), np.full((4, len(waiting)), np.nan)

    def put(source: int, k: int, moved: np.ndarray) -> None:
        overlap[source, k], msd[source, k] = (abs(moved) < window).mean(-1), (moved**2).mean(-1)

    def curvature(weights: np.ndarray) -> np.ndarray:
        # Of smooth units with weight decay the network's own bending counts; elsewhere it is left out.
        if softplus and decay:
            return hessian(weights, sizes, data, decay, softplus)
        return gauss_newton(weights, sizes, data.x_train, data.y_train, decay, softplus)

    bases: list[np.ndarray] = []
    landscapes: dict[str, QuadraticLandscape] = {}
    for k, wait in enumerate(waiting):
        now, later = at[wait], at[wait + LOOK]
        way = at[wait + times[-1]] - now
        drift = (now - later) / (RATE * LOOK)
        engine.set(now)
        gradient = engine.gradient()[0] + decay * now
        put(0, k, np.array([at[wait + t] for t in times]) - now)
        lengths = [float(np.linalg.norm(v)) for v in (gradient, drift, way)]
        with_drift, with_way = (gradient @ v / (lengths[0] * lengths[i]) for i, v in ((1, drift), (2, way)))
        of_waits[:, k] = *lengths[:2], with_drift, -with_way
        path = np.array([at[wait + step] for step in range(LOOK + 1)])
        renewed = QuadraticLandscape.around(drift, curvature(now))
        slide = QuadraticLandscape(drift, np.zeros(n), np.eye(n))
        for name, one in (("renewed look", renewed), ("renewed slide", slide)):
            put(1 + KINDS.index(name), k, one.displacement(np.array(times), learning_rate=RATE, diffusion=0.0).mean)
        if not softplus:
            flips, near = flipping(path, sizes, data)
            kinks = span(flips.normals(now, sizes, data.x_train))
            random = Stream.of("kinks", member.seed).normal("random directions", k, (n, kinks.shape[1]))
            bases = [kinks, np.linalg.qr(random)[0], span(near.normals(now, sizes, data.x_train))]
            for i, (count, basis) in enumerate(zip((len(flips.sample), 0, len(near.sample)), bases, strict=True)):
                of_sets[:, i, k] = count, basis.shape[1], share(basis, gradient), share(basis, way)
        if k == 0:
            beside = gradient - drift * (gradient @ drift) / (drift @ drift)
            axes = np.stack([drift / lengths[1], beside / np.linalg.norm(beside)])
            steps = (path - now) @ axes.T
            landscapes = _foretellers(renewed, gradient, drift, first, sizes, data, decay, bases)
        for name, one in landscapes.items():
            moved = one.displacement(np.array(times), learning_rate=RATE, diffusion=0.0, waited=wait - waiting[0]).mean
            put(1 + KINDS.index(name), k, moved)
    engine.set(first)
    loss, error, _ = engine.evaluate()
    axes_of = ("source", "waiting", "time")
    return xr.Dataset(
        {
            "overlap": (axes_of, overlap, {"long_name": "overlap"}),
            "msd": (axes_of, msd, {"long_name": "mean squared displacement", "units": "weight²"}),
            **{name: ("waiting", values) for name, values in zip(OF_WAITS, of_waits, strict=True)},
            **{name: (("set", "waiting"), values) for name, values in zip(OF_SETS, of_sets, strict=True)},
            "path": (("step", "axis"), steps, {"long_name": "displacement", "units": "weight"}),
            "loss": float(loss[0]), "error": float(error[0]), "n_weights": n,
            "diverged": not bool(np.isfinite(start).all()),
        },
        {
            "source": ["walk", *KINDS], "waiting": waiting, "time": times, "set": list(SETS),
            "step": np.arange(LOOK + 1), "axis": ["drift", "gradient"],
        },
    )  # fmt: skip


def _foretellers(
    look: QuadraticLandscape, gradient: np.ndarray, drift: np.ndarray, weights: np.ndarray, sizes: Sequence[int],
    data: Data, decay: float, bases: list[np.ndarray],
) -> dict[str, QuadraticLandscape]:  # fmt: skip
    """What the first look alone foretells from; of smooth units, which have no ``bases``, only look and instant."""
    instant = QuadraticLandscape(look.modes.T @ gradient, look.curvature, look.modes)
    found = {"first look": look, "one instant": instant}
    if not bases:
        return found
    bent, flat = hessian(weights, sizes, data, decay, 0.0), (look.modes * look.curvature) @ look.modes.T
    found["Hessian"] = QuadraticLandscape.around(drift, bent)
    for name, basis, matrix in (
        ("kinks", bases[0], bent), ("kinks, Gauss-Newton", bases[0], flat),
        ("random directions", bases[1], bent), ("near pairs", bases[2], bent),
    ):  # fmt: skip
        along = np.eye(len(drift)) - basis @ basis.T
        found[name] = QuadraticLandscape.around(along @ drift, along @ matrix @ along)
    return found
