"""A real glass former to set beside networks: the Kob-Andersen mixture of Lennard-Jones particles, small and periodic.

Four fifths of the particles are large (A), one fifth small (B), with pair potentials chosen so that they do not
crystallise (Kob, Andersen, Physical Review E 51, 4626, 1995):

    4ε [(σ/r)¹² - (σ/r)⁶], shifted so that potential and force end at r = 2.5 σ

(Toxvaerd, Dyre, Journal of Chemical Physics 134, 081102, 2011). Energies are in units of ε_AA, lengths of σ_AA, masses
are 1, k_B = 1; time is then in units of σ_AA √(m/ε_AA). In these units the mixture at density 1.2 flows freely above
T ≈ 1, feels its landscape below, and hardly flows near 0.435, the transition of mode-coupling theory fitted to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepmech.core import specs
from deepmech.core.compiled import njit
from deepmech.core.random import Stream
from deepmech.core.specs import Spec

DEPTHS = np.array([[1.0, 1.5], [1.5, 0.5]])
"""ε of the pairs AA, AB, BB."""
SIZES = np.array([[1.0, 0.8], [0.8, 0.88]])
"""σ of the pairs AA, AB, BB."""
CUTOFF = 2.5
"""Where a pair's potential ends, in units of its own σ."""
#: Value and derivative of u⁻¹² - u⁻⁶ at the cutoff, u = r/σ.
_AT_CUTOFF = (CUTOFF**-12 - CUTOFF**-6, -12 * CUTOFF**-13 + 6 * CUTOFF**-7)


@dataclass(frozen=True, eq=False)
class BinaryGlass(Spec):
    """The mixture in a periodic cube, ``density`` particles per σ_AA³; ``friction`` is that of the heat bath, 1/time.

    At density 1.2 there have to be at least 150, so that no particle sees another one twice.
    """

    n_particles: int = 150
    density: float = 1.2
    time_step: float = 0.004
    friction: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_particles", specs.check_int("BinaryGlass.n_particles", self.n_particles))
        for field in ("density", "time_step", "friction"):
            specs.check_real(f"BinaryGlass.{field}", getattr(self, field), allowed="one finite number")
        self.check("density", self.density > 0, "> 0")
        self.check("time_step", 0 < self.time_step <= 0.01, "> 0 and at most 0.01, or fast collisions go wrong")
        self.check("friction", self.friction > 0, "> 0")
        least = int(np.ceil(self.density * (2 * CUTOFF) ** 3 - 1e-9))
        allowed = f"a whole number, at least {least}: a box of two cutoffs at this density"
        self.check("n_particles", self.n_particles >= least, allowed)

    @property
    def side(self) -> float:
        """Length of the box, in σ_AA."""
        return float((self.n_particles / self.density) ** (1 / 3))

    @property
    def species(self) -> np.ndarray:
        """(n_particles,) 0 for A, 1 for B."""
        return (np.arange(self.n_particles) >= self.n_particles - self.n_particles // 5).astype(np.int64)

    def energy(self, positions: np.ndarray) -> tuple[float, np.ndarray]:
        """Potential energy (ε_AA) and its gradient, of flat positions (3 n_particles,), also outside the box."""
        slope = np.zeros(3 * self.n_particles)
        x = np.ascontiguousarray(specs.check_array("BinaryGlass.energy: positions", positions))
        if x.shape != slope.shape:
            raise ValueError(f"BinaryGlass.energy: positions {x.shape}: give {slope.shape}, flat")
        return float(_energy(x, self.species, self.side, slope)), slope

    def crystal(self, stream: Stream) -> np.ndarray:
        """Flat positions of particles of both kinds thrown on the places of a cubic lattice."""
        per_side = int(np.ceil(self.n_particles ** (1 / 3)))
        places = np.stack(np.meshgrid(*[np.arange(per_side)] * 3, indexing="ij"), -1).reshape(-1, 3)
        chosen = stream.permutation("places", 0, len(places))[: self.n_particles]
        return (places[chosen] * self.side / per_side).ravel()

    def molecular_dynamics(
        self, positions: np.ndarray, temperatures: Sequence[float] | np.ndarray, stream: Stream, first: int = 0
    ) -> np.ndarray:
        """Flat positions after one step of Langevin dynamics at each of ``temperatures``.

        Velocities are drawn anew at the first temperature. The integrator is BAOAB (Leimkuhler, Matthews, Applied
        Mathematics Research eXpress 2013, 34): kick, drift, heat bath, drift, kick. ``first`` numbers the steps, for
        their random numbers. The centre of mass is kept where it was.
        """
        specs.check_type("molecular_dynamics: stream", stream, Stream)
        x = np.array(specs.check_array("molecular_dynamics: positions", positions))
        temperatures = specs.check_array("molecular_dynamics: temperatures", temperatures)
        good = temperatures.ndim == 1 and temperatures.size > 0 and bool((temperatures >= 0).all())
        if x.shape != (3 * self.n_particles,) or not good:
            raise ValueError(
                f"molecular_dynamics: positions {x.shape}, temperatures {temperatures.shape}: give "
                f"({3 * self.n_particles},) and a list of one or more numbers >= 0"
            )
        start = x.reshape(-1, 3).mean(0)
        v = np.sqrt(temperatures[0]) * stream.normal("velocities", first, len(x))
        keep = np.exp(-self.friction * self.time_step)
        for begin in range(0, len(temperatures), _CHUNK):
            part = temperatures[begin : begin + _CHUNK]
            # Chunks are numbered by their first step, so that a run does not depend on how it is cut elsewhere.
            noise = stream.normal("heat bath", first + begin, (len(part), len(x)))
            _baoab(x, v, self.species, self.side, self.time_step, keep, part, noise)
        return (x.reshape(-1, 3) - x.reshape(-1, 3).mean(0) + start).ravel()


_CHUNK = 200


@njit(nogil=True, cache=True, error_model="numpy")
def _energy(x, species, side, slope):
    """Sum over pairs at nearest images; ``slope`` becomes its gradient."""
    value, tilt = _AT_CUTOFF
    total = 0.0
    slope[:] = 0.0
    n = species.shape[0]
    for i in range(n):
        a0, a1, a2 = 0.0, 0.0, 0.0
        for j in range(i + 1, n):
            dx, dy, dz = x[3 * i] - x[3 * j], x[3 * i + 1] - x[3 * j + 1], x[3 * i + 2] - x[3 * j + 2]
            dx -= side * np.rint(dx / side)
            dy -= side * np.rint(dy / side)
            dz -= side * np.rint(dz / side)
            size = SIZES[species[i], species[j]]
            s2 = (dx * dx + dy * dy + dz * dz) / (size * size)
            if s2 < CUTOFF * CUTOFF:
                depth = 4.0 * DEPTHS[species[i], species[j]]
                u = np.sqrt(s2)
                w2 = 1.0 / s2
                w6 = w2 * w2 * w2
                total += depth * (w6 * w6 - w6 - value - tilt * (u - CUTOFF))
                push = depth * ((6.0 * w6 - 12.0 * w6 * w6) * w2 - tilt / u) / (size * size)
                a0 += push * dx
                a1 += push * dy
                a2 += push * dz
                slope[3 * j] -= push * dx
                slope[3 * j + 1] -= push * dy
                slope[3 * j + 2] -= push * dz
        slope[3 * i] += a0
        slope[3 * i + 1] += a1
        slope[3 * i + 2] += a2
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def _baoab(x, v, species, side, dt, keep, temperatures, noise):
    slope = np.empty(x.shape[0])
    _energy(x, species, side, slope)
    for t in range(temperatures.shape[0]):
        heat = np.sqrt(temperatures[t] * (1.0 - keep * keep))
        for k in range(x.shape[0]):
            v[k] -= 0.5 * dt * slope[k]
            x[k] += 0.5 * dt * v[k]
            v[k] = keep * v[k] + heat * noise[t, k]
            x[k] += 0.5 * dt * v[k]
        _energy(x, species, side, slope)
        for k in range(x.shape[0]):
            v[k] -= 0.5 * dt * slope[k]
