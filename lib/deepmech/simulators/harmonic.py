"""Weights in the quadratic landscape around one instant: how far each will have moved, in closed form.

Near weights w₀ a loss is taken as ``g·(w - w₀) + ½ (w - w₀)·H·(w - w₀)``, with its gradient g and curvature H at w₀.
Langevin steps in it (glass paper, Eq. 3) move every weight by a Gaussian amount at every temperature, of which this
module knows mean and variance; nothing is fitted. Overlap, mean squared displacement and non-Gaussian parameter follow.
What networks do otherwise is not quadratic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from deepmech.core import specs

__all__ = ["Displacement", "QuadraticLandscape"]


@dataclass(frozen=True)
class Displacement:
    """Gaussian displacements.

    Parameters
    ----------
    mean : ndarray, (…, N)
        In units of weight.
    variance : ndarray, (…, N)
        In weight squared.

    Examples
    --------
    >>> Displacement(np.array([0.0, 3.0]), np.array([1.0, 0.0])).msd
    np.float64(5.0)
    """

    mean: np.ndarray
    variance: np.ndarray

    def overlap(self, window: float) -> np.ndarray:
        """Share of the N weights expected within ±``window`` > 0 of where they were (Eq. 4), (…).

        Examples
        --------
        >>> Displacement(np.array([0.0, 0.0, 3.0]), np.zeros(3)).overlap(1.0).round(3)
        np.float64(0.667)
        """
        specs.check_real("overlap: window", window, np.nextafter(0, 1), allowed="> 0")
        spread = np.sqrt(2 * self.variance)
        constant = spread == 0
        left, right = (erf((window + side * self.mean) / np.where(constant, 1, spread)) for side in (1, -1))
        return np.where(constant, np.abs(self.mean) < window, (left + right) / 2).mean(-1)

    @property
    def msd(self) -> np.ndarray:
        """Mean squared displacement over weights (Eq. 7), (…), weight squared."""
        return (self.mean**2 + self.variance).mean(-1)

    @property
    def non_gaussian(self) -> np.ndarray:
        """α₂ over weights (Eq. 9), (…); 0 if all have one variance and no mean, nan where nothing moves."""
        fourth = (self.mean**4 + 6 * self.mean**2 * self.variance + 3 * self.variance**2).mean(-1)
        with np.errstate(invalid="ignore"):
            return fourth / (3 * self.msd**2) - 1


@dataclass(frozen=True)
class QuadraticLandscape:
    """Gradient and curvature of a loss at one instant, along the curvature's own directions.

    Attributes
    ----------
    slope : (N,), derivative of the loss along each direction.
    curvature : (N,), second derivative along each, rising.
    modes : (N, N), directions as columns, each of length 1.

    Examples
    --------
    One weight that rolls down ``-0.2 w + ½ w²`` comes to rest at 0.2, and has there the variance of a well:

    >>> bowl = QuadraticLandscape.around([-0.2], [[1.0]])
    >>> late = bowl.displacement([10_000], learning_rate=0.01, diffusion=1e-6)
    >>> late.mean.round(6).item(), late.variance.round(6).item()
    (0.2, 0.000101)
    """

    slope: np.ndarray
    curvature: np.ndarray
    modes: np.ndarray

    @classmethod
    def around(cls, gradient: np.ndarray, curvature: np.ndarray) -> QuadraticLandscape:
        """The landscape of a gradient (N,) and a symmetric curvature matrix (N, N), weight decay included in both.

        A ValueError if shapes differ, a number is not finite, or the matrix is not symmetric.
        """
        g = specs.check_array("QuadraticLandscape: gradient", gradient)
        matrix = specs.check_array("QuadraticLandscape: curvature", curvature)
        if g.ndim != 1 or matrix.shape != (len(g), len(g)):
            raise ValueError(f"QuadraticLandscape: gradient {g.shape}, curvature {matrix.shape}: give (N,) and (N, N)")
        for name, values in (("gradient", g), ("curvature", matrix)):
            specs.check(f"QuadraticLandscape: {name}", values, np.isfinite(values).all(), "finite numbers")
        symmetric = np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * np.abs(matrix).max(initial=0.0))
        specs.check("QuadraticLandscape: curvature", matrix, symmetric, "a symmetric matrix")
        values, modes = np.linalg.eigh((matrix + matrix.T) / 2)
        return cls(modes.T @ g, values, modes)

    def displacement(
        self, times: np.ndarray, *, learning_rate: float, diffusion: float, waited: int = 0, since: int = 0
    ) -> Displacement:
        """How far each weight moves in ``times`` steps after a waiting time.

        Along a direction of curvature h a step multiplies the distance from the bottom by r = 1 - μh and adds noise of
        variance 2D. So t steps move a direction at rest by ``-(1 - rᵗ) slope/h`` and give it the variance
        ``2D (1 - r²ᵗ)/(1 - r²)``; a flat one drifts by -μt slope, and diffuses by 2Dt. Noise begins at step 0: what it
        has done by the waiting time relaxes like the rest.

        Parameters
        ----------
        times : (n,) whole numbers ≥ 0, steps after the waiting time.
        learning_rate : float
            μ > 0; where μh is 2 or more steps diverge, and so does what is said here.
        diffusion : float
            D = μT/P_D ≥ 0, weight squared per step.
        waited : int
            Steps from the start of the walk to the end of the waiting time.
        since : int
            The step of the walk at which gradient and curvature were measured, at most ``waited``.

        Returns
        -------
        Displacement
            Of shape (n, N).
        """
        specs.check_real("displacement: learning_rate", learning_rate, np.nextafter(0, 1), allowed="> 0")
        specs.check_real("displacement: diffusion", diffusion, 0, allowed=">= 0")
        waited = specs.check_int("displacement: waited", waited, 0)
        since = specs.check_int("displacement: since", since, 0, waited)
        steps = specs.check_ints("displacement: times", times, 0)[:, None]
        x = learning_rate * self.curvature
        gone = self._decayed(x, steps)
        flat = x == 0
        walked = np.where(flat, steps, gone / np.where(flat, 1, x)) * learning_rate
        mean = -(self.slope * (1 - self._decayed(x, waited - since)) * walked) @ self.modes.T
        spread = gone**2 * self._variance(x, waited) + self._variance(x, steps)
        return Displacement(mean, 2 * diffusion * spread @ (self.modes**2).T)

    @staticmethod
    def _decayed(x: np.ndarray, steps: np.ndarray | int) -> np.ndarray:
        """1 - (1 - x)ⁿ, the share of a distance from the bottom that is gone after n steps; exact where it is tiny."""
        small = np.abs(x) < 0.5
        return np.where(small, -np.expm1(steps * np.log1p(-np.where(small, x, 0))), 1 - np.power(1 - x, steps))

    @classmethod
    def _variance(cls, x: np.ndarray, steps: np.ndarray | int) -> np.ndarray:
        """Variance from noise of variance 1 in each of so many steps."""
        double = x * (2 - x)  # a step leaves this share less of a variance
        flat = double == 0
        return np.where(flat, steps, cls._decayed(double, steps) / np.where(flat, 1, double))
