"""Weights that know nothing of one another: free walks and harmonic wells, in closed form and step by step.

These are the nulls of the glass paper. Energy is P_D times the loss, so a weight of a network trained by overdamped
Langevin dynamics diffuses with D = μT/P_D (App. A). Times are in steps; one step is one unit of time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import erf, erfinv
from tqdm import tqdm

from deepmech import simulators
from deepmech.core import checks
from deepmech.core.labels import with_attrs
from deepmech.core.provenance import attributes
from deepmech.core.random import Stream
from deepmech.core.specs import Spec, encode

#: What results hold, and in what units.
ATTRS = {
    "overlap": ("overlap $Q(t)$", "1"),
    "msd": ("mean squared displacement", "weight²"),
    "position": ("position of a weight", "weight"),
    "time": ("time", "steps"),
    "window": ("window", "weight"),
    "weight": ("weight", "1"),
}


@dataclass(frozen=True, eq=False)
class Well(Spec):
    """Independent weights in the loss ½ k w² (App. F), or free ones with ``stiffness`` 0.

    Parameters
    ----------
    stiffness : number
        k ≥ 0, loss per weight squared; of weight decay, the regularisation λ.
    temperature : number
        T ≥ 0.
    learning_rate : number
        μ > 0, the step; μk < 2 or steps diverge.
    n_data : number
        P_D > 0; 1 gives the noise of App. F.

    Examples
    --------
    >>> Well(temperature=0.5, learning_rate=1e-3, n_data=1000).diffusion
    5e-07
    """

    stiffness: float = 0.0
    temperature: float = 0.0
    learning_rate: float = 1e-3
    n_data: float = 1.0

    def __post_init__(self) -> None:
        checks.check_real("Well.stiffness", self.stiffness, allowed="one finite number")
        checks.check_real("Well.temperature", self.temperature, 0, allowed="one finite number, >= 0")
        for field in ("learning_rate", "n_data"):
            checks.check_real(f"Well.{field}", getattr(self, field), np.nextafter(0, 1), allowed="one number > 0")
        self.check("stiffness", 0 <= self.stiffness * self.learning_rate < 2, ">= 0, and below 2 / learning_rate")

    @property
    def diffusion(self) -> float:
        """D = μT/P_D, weight squared per step."""
        return self.learning_rate * self.temperature / self.n_data

    @property
    def variance(self) -> float:
        """Stationary variance T/(kP_D) of a weight (the variance of Eq. H2); infinite for a free one."""
        return self.temperature / (self.stiffness * self.n_data) if self.stiffness > 0 else np.inf


def free_overlap(times: np.ndarray, window: float, diffusion: float) -> np.ndarray:
    """Q(t) = erf(ε/√(4Dt)) of a free walk: Eq. 6 without its factor 2/√π, with which Q(0) would not be 1.

    Parameters
    ----------
    times : array_like
        Any shape, steps.
    window : array_like
        ε, units of weight.
    diffusion : array_like
        D ≥ 0, weight² per step.

    Returns
    -------
    ndarray like ``times``

    Examples
    --------
    >>> float(free_overlap(np.array(0.0), 0.1, 1e-6))
    1.0
    """
    times, window, diffusion = checks.check_arrays("free_overlap", times=times, window=window, diffusion=diffusion)
    if np.any(diffusion < 0):
        checks.raise_invalid("free_overlap: diffusion", diffusion, "zero or positive")
    times = np.asarray(times)
    width = np.sqrt(4 * diffusion * times)
    out = np.full(np.broadcast_shapes(np.shape(window), width.shape), np.inf)
    return erf(np.divide(window, width, out=out, where=width > 0))


def free_time(window: float | np.ndarray, diffusion: float, level: float = 0.9) -> Any:
    """Time at which a free walk's overlap falls to ``level``: ε²/(4D erfinv(level)²), which is 0.1848 ε²/D at 0.9.

    Parameters
    ----------
    window : array_like
        ε, or several (…, n): then it is the mean overlap of n walks with windows of their own that falls to
        ``level``, and the result has shape (…).

    Returns
    -------
    float or ndarray
        In steps; inf without diffusion.

    Examples
    --------
    >>> round(free_time(1.0, 1.0), 4)
    0.1848
    >>> round(free_time(np.array([0.5, 1.5]), 1.0), 4)
    0.0761
    """
    windows = np.atleast_1d(checks.check_array("free_time: window", window))
    if not ((windows >= 0).all() and (windows.mean(-1) > 0).all()):
        checks.raise_invalid("free_time: window", window, "> 0")
    checks.check_real("free_time: diffusion", diffusion, 0, allowed=">= 0")
    checks.check_real("free_time: level", level, np.nextafter(0, 1), np.nextafter(1, 0), "in (0, 1)")
    share = float((windows > 0).mean(-1).min())
    if share <= level:
        raise ValueError(
            f"free_time: window: {share:.0%} of the windows are above 0, so the mean overlap is never above level = "
            f"{level} and cannot fall to it; give windows above 0"
        )
    # In u = 1/√(4Dt) the mean of erf(ε u) is concave and rises: Newton's steps from one side never pass the root.
    u = erfinv(level) / windows.mean(-1)
    for _ in range(60):
        x = windows * u[..., None]
        step = (level - erf(x).mean(-1)) / (2 / np.sqrt(np.pi) * windows * np.exp(-(x**2))).mean(-1)
        u = u + step
        if np.all(np.abs(step) <= 1e-14 * u):
            break
    with np.errstate(divide="ignore"):  # without diffusion nothing moves, ever
        time = 1 / (4 * diffusion * u**2)
    return float(time) if np.ndim(time) == 0 else time


def density(w: np.ndarray, time: float, well: Well, start: float) -> np.ndarray:
    """Probability density of a weight that began at ``start`` (Eqs. 5, F3, F4).

    Parameters
    ----------
    w : array_like
        Places, any shape.
    time : number
        Steps since the start.
    well : Well
        Of the weight.
    start : number
        Where it began.

    Returns
    -------
    ndarray like ``w``
        Per unit of weight.

    Examples
    --------
    >>> free = Well(temperature=1.0, learning_rate=0.5)
    >>> round(float(density(np.array(0.0), 1.0, free, 0.0)), 4)  # 1/√(2π)
    0.3989
    """
    checks.check_type("density: well", well, Well)
    w, times, start = checks.check_arrays("density", w=w, time=time, start=start)
    mean, spread = _mean_and_variance(times, well, start)
    return np.exp(-((w - mean) ** 2) / (2 * spread)) / np.sqrt(2 * np.pi * spread)


def _mean_and_variance(times: np.ndarray, well: Well, start: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance at ``times`` of a weight that began at ``start``."""
    rate = well.learning_rate * well.stiffness
    if rate == 0:
        return start + 0 * times, 2 * well.diffusion * times
    return start * np.exp(-rate * times), -well.variance * np.expm1(-2 * rate * times)


def well_overlap(times: np.ndarray, well: Well, window: float, start: float) -> np.ndarray:
    """Q(t) of weights that began at ``start`` (Eq. F6, with T/P_D for T).

    Parameters
    ----------
    times : array_like
        Any shape, steps.
    well : Well
        Of the weights.
    window : array_like
        ε.
    start : array_like
        Where they began.

    Returns
    -------
    ndarray like ``times``

    Examples
    --------
    >>> free = Well(temperature=1.0, learning_rate=0.5)
    >>> bool(np.isclose(well_overlap(9.0, free, 2.0, 0.0), free_overlap(9.0, 2.0, free.diffusion)))
    True
    """
    checks.check_type("well_overlap: well", well, Well)
    times, window, start = checks.check_arrays("well_overlap", times=times, window=window, start=start)
    mean, spread = _mean_and_variance(times, well, start)
    gap, scale = start - mean, np.sqrt(2 * spread)
    scale = np.where(scale > 0, scale, np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        return 0.5 * (erf((gap + window) / scale) - erf((gap - window) / scale))


def final_overlap(well: Well, window: float, start: np.ndarray | float) -> np.ndarray:
    """Q∞ of weights that began at ``start`` (Eq. G1).

    Parameters
    ----------
    well : Well
        Of the weights; stiffness > 0.
    window : array_like
        ε.
    start : array_like
        Where they began, any shape.

    Returns
    -------
    ndarray like ``start``

    Examples
    --------
    >>> well = Well(stiffness=1.0, temperature=1.0)
    >>> bool(np.isclose(final_overlap(well, 0.3, 0.5), well_overlap(1e6, well, 0.3, 0.5)))
    True
    """
    checks.check_type("final_overlap: well", well, Well)
    window, start = checks.check_arrays("final_overlap", window=window, start=start)
    scale = 1 / np.sqrt(2 * well.variance)
    return 0.5 * (erf(scale * (start + window)) - erf(scale * (start - window)))


def well_msd(times: np.ndarray, well: Well, start: float | None = None) -> np.ndarray:
    """⟨(w(t) - w(0))²⟩ for weights that began at ``start``, or, with None, in equilibrium.

    In equilibrium it rises to 2T/(kP_D), twice Eq. H4, which is the variance: both times fluctuate.

    Parameters
    ----------
    times : array_like
        Any shape, steps.
    well : Well
        Of the weights.
    start : array_like, optional
        Where they began; None for equilibrium.

    Returns
    -------
    ndarray like ``times``
        Weight squared.

    Examples
    --------
    >>> float(well_msd(1e9, Well(stiffness=1.0, temperature=0.5)))
    1.0
    """
    checks.check_type("well_msd: well", well, Well)
    (times,) = checks.check_arrays("well_msd", times=times)
    rate = well.learning_rate * well.stiffness
    if rate == 0:
        return 2 * well.diffusion * times
    if start is None:
        return -2 * well.variance * np.expm1(-rate * times)
    (start,) = checks.check_arrays("well_msd", start=start)
    mean, spread = _mean_and_variance(times, well, start)
    return (start - mean) ** 2 + spread


def ageing_factor(waiting: np.ndarray, learning_rate: float, decay: float) -> np.ndarray:
    """e^{μλt_w}: by how much weight decay alone, with no data and no noise, slows decorrelation after a wait.

    Weights shrink as e^{-μλt}, so the time in which one moves by a fixed small window grows by this factor.

    Parameters
    ----------
    waiting : array_like
        t_w, steps, any shape.
    learning_rate : float
        μ.
    decay : float
        λ, loss per weight squared.

    Returns
    -------
    ndarray like ``waiting``

    Examples
    --------
    >>> float(ageing_factor(0.0, 0.1, 0.2))
    1.0
    """
    waiting, learning_rate, decay = checks.check_arrays(
        "ageing_factor", waiting=waiting, learning_rate=learning_rate, decay=decay
    )
    return np.exp(learning_rate * decay * waiting)


def simulate(
    well: Well,
    times: Sequence[int],
    start: np.ndarray | float | None = None,
    *,
    windows: Sequence[float] = (),
    n_weights: int = 10_000,
    seed: int = 0,
) -> xr.Dataset:
    """Walk ``n_weights`` weights step by step, as the trainer does, and record them at ``times`` (steps, increasing).

    Parameters
    ----------
    start : (n_weights,), which the result keeps as the coordinate ``start``, or a number; None draws from equilibrium
        (from 0 if free).
    windows : list of float
        Sensitivities of the overlap.

    Returns
    -------
    xarray.Dataset
        ``overlap`` (time, window), ``msd`` (time), ``position`` (time, weight).

    Raises
    ------
    ValueError
        If times are not increasing positive integers.

    Examples
    --------
    >>> free = Well(temperature=1.0, learning_rate=0.1)
    >>> float(simulate(free, [100], 0.0, n_weights=2000).msd[0]) > 10
    True
    """
    began = time.perf_counter()
    checks.check_type("simulate: well", well, Well)
    steps = checks.check_ints("simulate: times", times, 1, rising=True, allowed="increasing integers >= 1")
    checks.check_steps("simulate: times", times, float(steps[-1]))
    n_weights = checks.check_int("simulate: n_weights", n_weights)
    checks.check_memory("simulate: n_weights", n_weights, n_weights * len(steps))
    seed = checks.check_int("simulate: seed", seed, 0)
    edges = checks.check_array("simulate: windows", windows)
    checks.check("simulate: windows", windows, edges.ndim == 1 and (edges >= 0).all(), "a list of numbers >= 0")
    stream = Stream.of("brownian", seed)
    if start is None:
        spread = np.sqrt(well.variance) if well.stiffness > 0 else 0.0
        w = spread * stream.normal("start", 0, n_weights)
    else:
        first_places = checks.check_array("simulate: start", start)
        if first_places.shape not in ((), (n_weights,)):
            raise ValueError(f"simulate: start has shape {first_places.shape}: give a number, or ({n_weights},)")
        checks.check("simulate: start", start, np.isfinite(first_places).all(), "finite numbers")
        w = np.broadcast_to(first_places, (n_weights,)).copy()
    first, noise = w.copy(), np.sqrt(2 * well.diffusion)
    shrink = 1 - well.learning_rate * well.stiffness
    positions, t = [], 0
    with tqdm(total=int(steps[-1]), disable=None, leave=False) as bar:
        for step in steps:
            while t < step:
                w = shrink * w + noise * stream.normal("step", t, n_weights)
                t += 1
                bar.update()
            positions.append(w.copy())
    position = np.array(positions)
    moved = np.abs(position - first)
    within = [(moved < window).mean(1) for window in edges]
    apart = start is not None and np.ndim(start) > 0
    setting = {"start": "the coordinate start" if apart else start, "n_weights": n_weights}
    spec = json.dumps(encode({**well.to_json(), **setting}))
    made = xr.Dataset(
        {
            "overlap": (("time", "window"), np.stack(within, -1) if within else np.empty((len(steps), 0))),
            "msd": ("time", (moved**2).mean(1)),
            "position": (("time", "weight"), position),
        },
        {"time": steps, "window": edges, **({"start": ("weight", first)} if apart else {})},
        attributes(spec=spec, seed=seed, wall_seconds=time.perf_counter() - began),
    )
    return with_attrs(made, ATTRS)


simulators.simulate.register(Well, simulate)
