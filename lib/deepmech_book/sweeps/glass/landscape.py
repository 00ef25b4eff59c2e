"""Fig. 6 measured: the loss of networks beside the energy of a real glass former, by the same moves in both.

The paper draws the landscape of a glass as round basins of one size, and expects that of a network to be extended, with
no length of its own. Each landscape here is walked in, cold, and every stretch of the walk ends in a quench. Then: a
slice through three of the quenched places; kicks of growing length, and whether a quench undoes them; how far a descent
goes if it is given more time; curvatures; and paths, straight and relaxed, along the walk and to a place reached
independently.

Lengths are root mean squares per coordinate, in units of the landscape's own scale: the diameter σ_AA of the large
particles, or the standard deviation σ of a network's weights. Energies (of networks, P_D times the loss) are in units
of the walk's temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import linear_sum_assignment

from deepmech.core.provenance import cores
from deepmech.core.random import Stream
from deepmech.sweeps import to_records
from deepmech.trainers.engines.compiled.langevin import CompiledWalk, layer_sizes
from deepmech.trainers.langevin import Dynamics, Preparation, WalkMember, run_preparation
from deepmech_book.sweeps.glass import surfaces as shape
from deepmech_book.sweeps.glass import walks
from deepmech_book.sweeps.glass.binary_glass import BinaryGlass
from deepmech_book.sweeps.glass.data import binary
from deepmech_book.sweeps.glass.hinge_loss import HingeLoss
from deepmech_book.sweeps.policy import verification_policy

GLASS = "glass"
SYSTEMS = (GLASS, *walks.PHASES)
WIDE = 0.25
"""Half-width of the slice that all landscapes share, in units of their own scale."""
GRID = np.linspace(-1, 1, 33)
PROBABILITIES = np.linspace(0, 1, 101)


# A descent of thousands of steps amplifies the last bits of its sums, which differ between makers of processors.
@verification_policy(platform_dependent=True)
def survey(
    cells: xr.Dataset,
    networks: dict[str, dict[str, Any]],
    temperatures: dict[str, float],
    kicks: Sequence[float],
    legs: int,
    leg: int,
    calls: Sequence[int],
    descent: int,
    directions: int,
    images: int,
    relaxing: int,
) -> xr.Dataset:
    """Measure one landscape per cell (``system``, ``seed``).

    networks : phase -> its data, width, regularisation and preparation.
    temperatures : of every system's walk; of networks, as the paper counts them.
    kicks : lengths, in units of the landscape's own scale.
    legs, leg : stretches of the walk, and steps in each.
    calls : evaluations after which a descent by L-BFGS is looked at.
    descent : steps of a network's quench; a glass is quenched until it rests.
    directions : kicks of each length.
    images, relaxing : points of a path, and steps in which it relaxes.

    Over ``cell``: ``slice`` (u, v), energies over the plane of three quenched places, around their middle and above the
    lowest value; ``places`` (point, axis) where they lie, ``half_width`` the length of one unit of u and v; ``wide``
    (u, v), the same around the first place, with :data:`WIDE` for unit; ``hop`` (leg), distance between one quenched
    place and the next; ``strays`` (kick, direction), how far apart the quenches of a kicked and of the same unkicked
    walker end, over the kick; ``sunk`` (calls), distance that a descent has gone, and ``sinking``, its energy above the
    last; ``curvature`` (probability), quantiles over the largest, ``roundness`` and ``flat`` (share below a millionth
    of the largest, rigid motions left out); ``near`` and ``far`` (path, place), energies to the place farthest on the
    walk and to another seed's, above the higher end; ``near_distance``, ``far_distance``; ``gained``, energy of the
    unprepared state above the first place; ``unit``, ``n_coordinates``; ``left_out``, networks that diverged in their
    preparation and were replaced.
    """

    def one(cell: dict[str, Any]) -> dict[str, Any]:
        g = ground(cell, networks, temperatures, descent)
        stream, root = Stream.of("landscape", int(cell["seed"])), g.unit * np.sqrt(len(g.start))
        first, walked = _walk(g, legs, leg, root)
        output = walked | _paths(g, first, walked.pop("farthest"), images, relaxing, root)
        output |= _curvatures(g, first) | _descent(g, calls, root)
        output |= {
            "strays": _response(g, first, kicks, directions, stream, root),
            "gained": g.reference - g.value(first),
        }
        output |= {"unit": g.unit, "n_coordinates": len(g.start), "left_out": g.left_out}
        return output | {"diverged": not np.isfinite(g.value(first))}

    with ThreadPoolExecutor(cores()) as pool:
        rows = list(pool.map(one, to_records(cells)))
    dims = {
        "slice": ("u", "v"), "wide": ("u", "v"), "places": ("point", "axis"), "hop": ("leg",),
        "strays": ("kick", "direction"), "sunk": ("calls",), "sinking": ("calls",), "curvature": ("probability",),
        "near": ("path", "place"), "far": ("path", "place"),
    }  # fmt: skip
    data = {k: (("cell", *dims.get(k, ())), np.array([r[k] for r in rows])) for k in rows[0]}
    coords = {
        "u": GRID, "v": GRID, "kick": list(kicks), "probability": PROBABILITIES, "path": ["straight", "relaxed"],
        "place": np.linspace(0, 1, images), "leg": np.arange(1, legs + 1), "calls": list(calls),
    }  # fmt: skip
    return xr.Dataset(data, coords)


def _walk(g: Landscape, legs: int, leg: int, root: float) -> tuple[np.ndarray, dict[str, Any]]:
    """The first quenched place, and the walk from it: hops, the farthest place, and the slice through three."""
    at, places = g.start, [g.minimise(g.start)]
    for k in range(legs):
        at = g.step(at, k * leg, leg)
        places.append(g.minimise(at))
    points = np.array(places)
    plane, corners = _widest(points)
    half = 1.6 * float(np.abs(corners).max())
    own = plane.slice(g.value, GRID * half, GRID * half)
    wide = shape.Plane(places[0], plane.axes).slice(g.value, GRID * WIDE * root, GRID * WIDE * root)
    return places[0], {
        "slice": (own - own.min()).astype("float32"),
        "wide": (wide - wide.min()).astype("float32"),
        "places": corners / half,
        "half_width": half / root,
        "hop": np.linalg.norm(np.diff(points, axis=0), axis=1) / root,
        "farthest": points[int(np.argmax(np.linalg.norm(points - points[0], axis=1)))],
    }


def _response(
    g: Landscape, first: np.ndarray, kicks: Sequence[float], directions: int, stream: Stream, root: float
) -> np.ndarray:
    calm = g.minimise(first)
    out = np.empty((len(kicks), directions))
    for d in range(directions):
        towards = stream.normal("kick", d, len(g.start))
        if g.rigid:
            towards = (towards.reshape(-1, g.rigid) - towards.reshape(-1, g.rigid).mean(0)).ravel()
        towards *= root / np.linalg.norm(towards)
        for i, kick in enumerate(kicks):
            out[i, d] = np.linalg.norm(g.minimise(first + kick * towards) - calm) / (kick * root)
    return out


def _descent(g: Landscape, calls: Sequence[int], root: float) -> dict[str, np.ndarray]:
    ends = [shape.minimise(g.slope, g.start, n) for n in calls]
    return {
        "sunk": np.array([np.linalg.norm(e.x - g.start) for e in ends]) / root,
        "sinking": np.array([e.value - ends[-1].value for e in ends]),
    }


def _curvatures(g: Landscape, x: np.ndarray) -> dict[str, Any]:
    k = shape.curvatures(g.gradient, x, g.fine)
    k = np.sort(k[np.argsort(np.abs(k))][g.rigid :])
    stiff = max(float(np.abs(k).max()), np.finfo(float).tiny)
    return {
        "curvature": np.quantile(k / stiff, PROBABILITIES),
        "roundness": shape.participation_ratio(k),
        "flat": float(np.mean(np.abs(k) <= 1e-6 * stiff)),
    }


def _paths(
    g: Landscape, first: np.ndarray, farthest: np.ndarray, images: int, relaxing: int, root: float
) -> dict[str, Any]:
    output: dict[str, Any] = {}
    for name, end in (("near", farthest), ("far", g.minimise(g.other))):
        line = shape.linear_path(g.value, first, end, images)
        bent = shape.string_method(g.gradient, first, end, g.rate, images, relaxing, 0.02 * root)
        output[name] = np.array([line, [g.value(p) for p in bent]]) - max(line[0], line[-1])
        output[f"{name}_distance"] = float(np.linalg.norm(end - first)) / root
    return output


def _widest(points: np.ndarray) -> tuple[shape.Plane, np.ndarray]:
    """The plane through the first minimum, the one farthest from it, and the one farthest from the line between."""
    away = points - points[0]
    far = int(np.argmax(np.linalg.norm(away, axis=1)))
    along = away[far] / np.linalg.norm(away[far])
    side = int(np.argmax(np.linalg.norm(away - np.outer(away @ along, along), axis=1)))
    plane = shape.Plane.through(points[[0, side, far]])
    return plane, plane.place(points[[0, side, far]])


@dataclass(frozen=True)
class Landscape:
    """One landscape and how to move in it; energies in units of the temperature, points flat.

    ``start`` and ``other`` are cold places reached independently, ``step(x, first, steps)`` walks, ``minimise``
    descends; ``rate`` is a stable step of steepest descent, ``fine`` one of finite differences. ``reference`` is the
    energy of the state before any preparation, ``rigid`` counts motions of the whole that change nothing, and
    ``left_out`` networks that diverged and were replaced by those of other seeds.
    """

    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    start: np.ndarray
    other: np.ndarray
    step: Callable[[np.ndarray, int, int], np.ndarray]
    minimise: Callable[[np.ndarray], np.ndarray]
    rate: float
    fine: float
    unit: float
    reference: float
    rigid: int
    left_out: int = 0

    def slope(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        return self.value(x), self.gradient(x)


def ground(
    cell: dict[str, Any], networks: dict[str, dict[str, Any]], temperatures: dict[str, float], descent: int
) -> Landscape:
    """The landscape of a cell of the sweep: ``system`` (:data:`GLASS` or a phase of networks) and ``seed``."""
    system, seed = str(cell["system"]), int(cell["seed"])
    if system == GLASS:
        return _glass(seed, temperatures[system])
    return _network(seed, temperatures[system], descent, **networks[system])


def _glass(seed: int, temperature: float) -> Landscape:
    """The mixture, cooled from T = 1; its other minimum is cooled from another start and its particles renamed."""
    mixture = BinaryGlass()
    hot, cooling = np.full(2000, 1.0), np.append(np.linspace(1.0, temperature, 4000), np.full(1000, temperature))

    def cooled(seed: int) -> tuple[np.ndarray, float]:
        stream = Stream.of("landscape glass", seed)
        x = shape.minimise(mixture.energy, mixture.crystal(stream), 1000).x
        x = mixture.molecular_dynamics(x, hot, stream)
        return mixture.molecular_dynamics(x, cooling, stream, len(hot)), mixture.energy(x)[0]

    start, liquid = cooled(seed)
    stream = Stream.of("landscape glass walk", seed)

    def value(x: np.ndarray) -> float:
        return mixture.energy(x)[0] / temperature

    def gradient(x: np.ndarray) -> np.ndarray:
        return mixture.energy(x)[1] / temperature

    def step(x: np.ndarray, first: int, steps: int) -> np.ndarray:
        return mixture.molecular_dynamics(x, np.full(steps, temperature), stream, first)

    def minimise(x: np.ndarray) -> np.ndarray:
        return shape.minimise(mixture.energy, x, 5000).x

    other = matched(minimise(start), minimise(cooled(seed + 1000)[0]), mixture.species, mixture.side)
    # A step that is stable while particles keep their distance: pairs are some thousand times stiffer than ε/σ².
    return Landscape(
        value, gradient, start, other, step, minimise, 2e-4 * temperature, 1e-4, 1.0, liquid / temperature, 3
    )


def matched(start: np.ndarray, other: np.ndarray, species: np.ndarray, side: float) -> np.ndarray:
    """``other`` with particles of a kind renamed and moved by whole boxes, nearest to ``start``; no net translation."""
    a, b = start.reshape(-1, 3), other.reshape(-1, 3)
    gaps = b[None] - a[:, None]
    gaps -= side * np.rint(gaps / side)
    cost = (gaps**2).sum(-1)
    cost[species[:, None] != species[None]] = 1e6 * side**2
    chosen = linear_sum_assignment(cost)[1]
    move = gaps[np.arange(len(a)), chosen]
    return (a + move - move.mean(0)).ravel()


def _converged(
    seed: int, dynamics: Dynamics, preparation: Preparation, data: Any
) -> tuple[np.ndarray, np.ndarray, int]:
    """Two prepared networks: of the first among seeds ``seed``, ``seed`` + 100, … whose training does not diverge.

    Beside them how many did, and were left out.
    """
    weights: list[np.ndarray] = []
    for k in range(20):
        run = run_preparation([WalkMember(dynamics, preparation, seed + 100 * k, "glass walks")], data)[0]
        if run.state == "finished":
            weights.append(run.weights)
        if len(weights) == 2:
            return weights[0], weights[1], k - 1
    raise ValueError(
        f"landscape: of 20 networks of {dynamics.width} units at most one stayed finite; take a smaller learning_rate"
    )


def _network(
    seed: int,
    temperature: float,
    descent: int,
    data: dict[str, Any],
    width: int,
    regularisation: float,
    preparation: dict[str, Any],
) -> Landscape:
    """A prepared network; its other place is another seed's. Energies are P_D · loss / T."""
    loaded = binary(**data)
    sizes = layer_sizes(loaded.x_train.shape[1], width, 6)
    scaled = walks.temperature_at(temperature, len(loaded.x_train))
    dynamics = Dynamics(width=width, regularisation=regularisation, temperature=scaled, learning_rate=walks.RATE)
    start, other, left_out = _converged(seed, dynamics, Preparation(**preparation), loaded)
    loss, factor = HingeLoss(sizes, loaded.x_train, loaded.y_train, regularisation), walks.P_D / temperature
    walker = CompiledWalk(sizes, loaded.x_train, loaded.y_train, "float64")
    stream, noise = Stream.of("landscape walk", seed), float(dynamics.noise(len(loaded.x_train)))
    rate = float(preparation["learning_rate"])

    def step(w: np.ndarray, first: int, steps: int) -> np.ndarray:
        walker.set(w)
        walker.walk(steps, first, walks.RATE, regularisation, noise, [stream])
        return walker.w[0]

    def minimise(w: np.ndarray) -> np.ndarray:
        walker.set(w)
        walker.walk(descent, 0, rate, regularisation, 0.0, [stream])
        return walker.w[0]

    def value(w: np.ndarray) -> float:
        return factor * loss.value(w)

    def gradient(w: np.ndarray) -> np.ndarray:
        return factor * loss.gradient(w)

    unit = float(start.std())
    # Differences finer than the distances between kinks of ReLU units, of which every sample makes its own.
    fine = 1e-9 * unit
    return Landscape(
        value, gradient, start, other, step, minimise, rate / factor, fine, unit, 0.5 * factor, 0, left_out
    )
