"""Weights that know nothing of one another: free walks and harmonic wells, in closed form.

These are the nulls of the glass paper. Energy is P_D times the loss, so a weight of a network trained by overdamped
Langevin dynamics diffuses with D = μT/P_D (App. A). Times are in steps; one step is one unit of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erf, erfinv

from deepmech.core import specs
from deepmech.core.specs import Spec


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
        specs.check_real("Well.stiffness", self.stiffness, allowed="one finite number")
        specs.check_real("Well.temperature", self.temperature, 0, allowed="one finite number, >= 0")
        for field in ("learning_rate", "n_data"):
            specs.check_real(f"Well.{field}", getattr(self, field), np.nextafter(0, 1), allowed="one number > 0")
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
    times, window, diffusion = specs.check_arrays("free_overlap", times=times, window=window, diffusion=diffusion)
    if np.any(diffusion < 0):
        specs.raise_invalid("free_overlap: diffusion", diffusion, "zero or positive")
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
    windows = np.atleast_1d(specs.check_array("free_time: window", window))
    if not ((windows >= 0).all() and (windows.mean(-1) > 0).all()):
        specs.raise_invalid("free_time: window", window, "> 0")
    specs.check_real("free_time: diffusion", diffusion, 0, allowed=">= 0")
    specs.check_real("free_time: level", level, np.nextafter(0, 1), np.nextafter(1, 0), "in (0, 1)")
    share = float((windows > 0).mean(-1).min(initial=1.0))
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


def _mean_and_variance(times: np.ndarray, well: Well, start: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance at ``times`` of a weight that began at ``start``."""
    rate = well.learning_rate * well.stiffness
    if rate == 0:
        return start + 0 * times, 2 * well.diffusion * times
    return start * np.exp(-rate * times), -well.variance * np.expm1(-2 * rate * times)


def well_overlap(times: np.ndarray, well: Well, window: float, start: float) -> np.ndarray:
    """Q(t) of weights that began at ``start`` (Eq. F6, with T/P_D for T): of their Gaussians (Eqs. 5, F3, F4).

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
    specs.check_type("well_overlap: well", well, Well)
    times, window, start = specs.check_arrays("well_overlap", times=times, window=window, start=start)
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
    specs.check_type("final_overlap: well", well, Well)
    window, start = specs.check_arrays("final_overlap", window=window, start=start)
    scale = 1 / np.sqrt(2 * well.variance)
    return 0.5 * (erf(scale * (start + window)) - erf(scale * (start - window)))


def well_msd(times: np.ndarray, well: Well) -> np.ndarray:
    """⟨(w(t) - w(0))²⟩ in equilibrium.

    It rises to 2T/(kP_D), twice Eq. H4, which is the variance: both times fluctuate.

    Parameters
    ----------
    times : array_like
        Any shape, steps.
    well : Well
        Of the weights.

    Returns
    -------
    ndarray like ``times``
        Weight squared.

    Examples
    --------
    >>> float(well_msd(1e9, Well(stiffness=1.0, temperature=0.5)))
    1.0
    """
    specs.check_type("well_msd: well", well, Well)
    (times,) = specs.check_arrays("well_msd", times=times)
    rate = well.learning_rate * well.stiffness
    if rate == 0:
        return 2 * well.diffusion * times
    return -2 * well.variance * np.expm1(-rate * times)


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
    waiting, learning_rate, decay = specs.check_arrays(
        "ageing_factor", waiting=waiting, learning_rate=learning_rate, decay=decay
    )
    return np.exp(learning_rate * decay * waiting)
