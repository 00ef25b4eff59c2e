"""Two kinds of landscape behind one set of moves: a glass former cooled from its liquid, and networks as prepared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from deepmech.core.random import Stream
from deepmech.metrics import landscape as shape
from deepmech.simulators.binary_glass import BinaryGlass
from deepmech.trainers.engines.compiled.langevin import CompiledWalk, Loss, layer_sizes
from deepmech.trainers.langevin import Walker, prepare
from deepmech.trainers.specs import Dynamics, Preparation
from deepmech_book.experiments.glass import walks
from deepmech_book.experiments.glass.data import binary

GLASS = "glass"


@dataclass(frozen=True)
class Landscape:
    """One landscape and how to move in it; energies in units of the temperature, points flat.

    ``start`` and ``other`` are cold places reached independently, ``step(x, first, steps)`` walks, ``quench`` descends;
    ``rate`` is a stable step of steepest descent, ``fine`` one of finite differences. ``reference`` is the energy of
    the state before any preparation, ``rigid`` counts motions of the whole that change nothing, and ``left_out``
    networks that diverged and were replaced by those of other seeds.
    """

    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    start: np.ndarray
    other: np.ndarray
    step: Callable[[np.ndarray, int, int], np.ndarray]
    quench: Callable[[np.ndarray], np.ndarray]
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
        x = shape.quench(mixture.energy, mixture.crystal(stream), 1000).x
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

    def quench(x: np.ndarray) -> np.ndarray:
        return shape.quench(mixture.energy, x, 5000).x

    other = matched(quench(start), quench(cooled(seed + 1000)[0]), mixture.species, mixture.side)
    # A step that is stable while particles keep their distance: pairs are some thousand times stiffer than ε/σ².
    return Landscape(
        value, gradient, start, other, step, quench, 2e-4 * temperature, 1e-4, 1.0, liquid / temperature, 3
    )


def matched(start: np.ndarray, other: np.ndarray, species: np.ndarray, side: float) -> np.ndarray:
    """``other`` with particles of a kind renamed and moved by whole boxes, nearest to ``start``; no net translation.

    Examples
    --------
    Two particles that changed places across the boundary are the same state:

    >>> a = np.array([0.1, 0, 0, 2, 0, 0])
    >>> matched(a, np.array([2.0, 0, 0, 5.1, 0, 0]), np.array([0, 0]), 5.0).round(9).tolist()
    [0.1, 0.0, 0.0, 2.0, 0.0, 0.0]
    """
    a, b = start.reshape(-1, 3), other.reshape(-1, 3)
    gaps = b[None] - a[:, None]
    gaps -= side * np.rint(gaps / side)
    cost = (gaps**2).sum(-1)
    cost[species[:, None] != species[None]] = 1e6 * side**2
    chosen = linear_sum_assignment(cost)[1]
    move = gaps[np.arange(len(a)), chosen]
    return (a + move - move.mean(0)).ravel()


def _survivors(
    seed: int, dynamics: Dynamics, preparation: Preparation, data: Any
) -> tuple[np.ndarray, np.ndarray, int]:
    """Two prepared networks: of the first among seeds ``seed``, ``seed`` + 100, … whose training does not diverge.

    Beside them how many did, and were left out.
    """
    found: list[np.ndarray] = []
    for k in range(20):
        made = prepare([Walker(dynamics, preparation, seed + 100 * k, "glass walks")], data)[0]
        if made.state == "finished":
            found.append(made.weights)
        if len(found) == 2:
            return found[0], found[1], k - 1
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
    sizes = layer_sizes(loaded.x.shape[1], width, 6)
    scaled = walks.temperature_at(temperature, len(loaded.x))
    dynamics = Dynamics(width=width, regularisation=regularisation, temperature=scaled, learning_rate=walks.RATE)
    start, other, left_out = _survivors(seed, dynamics, Preparation(**preparation), loaded)
    loss, factor = Loss(sizes, loaded.x, loaded.y, regularisation), walks.P_D / temperature
    walker = CompiledWalk(sizes, loaded.x, loaded.y, "float64")
    stream, noise = Stream.of("landscape walk", seed), float(dynamics.noise(len(loaded.x)))
    rate = float(preparation["learning_rate"])

    def step(w: np.ndarray, first: int, steps: int) -> np.ndarray:
        walker.set(w)
        walker.walk(steps, first, walks.RATE, regularisation, noise, stream)
        return walker.w.copy()

    def quench(w: np.ndarray) -> np.ndarray:
        walker.set(w)
        walker.walk(descent, 0, rate, regularisation, 0.0, stream)
        return walker.w.copy()

    def value(w: np.ndarray) -> float:
        return factor * loss.value(w)

    def gradient(w: np.ndarray) -> np.ndarray:
        return factor * loss.gradient(w)

    unit = float(start.std())
    # Differences finer than the distances between kinks of ReLU units, of which every sample makes its own.
    fine = 1e-9 * unit
    return Landscape(value, gradient, start, other, step, quench, rate / factor, fine, unit, 0.5 * factor, 0, left_out)
