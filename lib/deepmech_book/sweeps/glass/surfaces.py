"""Shapes of landscapes: slices, minima, kicks, paths and curvatures of any function of many coordinates.

A landscape is given by functions of a flat point x: ``value(x)``, ``gradient(x)``, or ``slope(x)`` that returns both.
So the loss of a network and the potential energy of a glass are measured by the same code. Lengths are Euclidean, in
the units of x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from deepmech.core import specs

Value = Callable[[np.ndarray], float]
Gradient = Callable[[np.ndarray], np.ndarray]
Slope = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Plane:
    """A plane through a landscape: ``origin`` (n,) and two orthonormal ``axes`` (2, n)."""

    origin: np.ndarray
    axes: np.ndarray

    @classmethod
    def through(cls, points: np.ndarray) -> Plane:
        """The plane through three points (3, n): origin in their mean, first axis from the first to the last."""
        points = specs.check_array("Plane.through: points", points)
        if points.ndim != 2 or len(points) != 3 or not np.isfinite(points).all():
            raise ValueError(f"Plane.through: points have shape {points.shape}: give three finite points, (3, n)")
        along = points[2] - points[0]
        across = points[1] - points[0]
        length = float(np.linalg.norm(along))
        along = along / (length or 1.0)
        rest = across - (across @ along) * along
        if not (length > 0 and np.linalg.norm(rest) > 1e-9 * np.linalg.norm(across) > 0):
            raise ValueError("Plane.through: the three points lie on a line, or two are the same; choose others")
        return cls(points.mean(0), np.stack([along, rest / np.linalg.norm(rest)]))

    def point(self, u: float, v: float) -> np.ndarray:
        """The point (n,) at coordinates (u, v)."""
        return self.origin + u * self.axes[0] + v * self.axes[1]

    def place(self, point: np.ndarray) -> np.ndarray:
        """Coordinates (..., 2) of points (..., n), projected on the plane."""
        return (np.asarray(point, float) - self.origin) @ self.axes.T

    def slice(self, value: Value, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Values (len(u), len(v)) over a grid of coordinates, in the units of x."""
        return np.array([[value(self.point(a, b)) for b in v] for a in u])


@dataclass(frozen=True)
class Minimum:
    """Where a descent ended: ``x`` (n,) and its ``value``."""

    x: np.ndarray
    value: float


def minimise(slope: Slope, start: np.ndarray, calls: int = 1000) -> Minimum:
    """Descend to a nearby minimum by L-BFGS, within about ``calls`` evaluations.

    On landscapes with flat or kinked valleys the descent may stop before it reaches a stationary point; the gradient
    there tells.
    """
    options = {"maxfun": calls, "maxiter": calls, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
    done = minimize(slope, np.asarray(start, float), jac=True, method="L-BFGS-B", options=options)
    return Minimum(done.x, float(done.fun))


def linear_path(value: Value, start: np.ndarray, end: np.ndarray, n: int = 21) -> np.ndarray:
    """Values at ``n`` evenly spaced points of the straight path, ends included."""
    return np.array([value(start + s * (end - start)) for s in np.linspace(0, 1, n)])


def string_method(
    gradient: Gradient,
    start: np.ndarray,
    end: np.ndarray,
    rate: float,
    images: int = 15,
    steps: int = 200,
    limit: float = np.inf,
) -> np.ndarray:
    """A path of low values between two points (images, n), by the string method.

    Points between the ends descend by ``rate`` times the gradient, none farther than ``limit``, and are then spread
    again at equal distances along the path (E, Ren, Vanden-Eijnden, Journal of Chemical Physics 126, 164103, 2007).
    However few the steps, the highest value on the path is an upper bound of the least barrier between the ends.
    """
    if images < 3:
        raise ValueError(f"string_method: images = {images}: must be at least 3, ends included")
    shares = np.linspace(0, 1, images)
    path = start + shares[:, None] * (end - start)
    for _ in range(steps):
        for k in range(1, images - 1):
            move = rate * gradient(path[k])
            length = float(np.linalg.norm(move))
            path[k] -= move * (limit / length) if length > limit else move
        path = _evenly(path, shares)
    return path


def _evenly(path: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Points at these shares of the length of a path of straight pieces; its ends stay as they are."""
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    at = shares * along[-1]
    before = np.clip(np.searchsorted(along, at, side="right") - 1, 0, len(lengths) - 1)
    part = (at - along[before]) / np.maximum(lengths[before], np.finfo(float).tiny)
    out = path[before] + part[:, None] * (path[before + 1] - path[before])
    out[0], out[-1] = path[0], path[-1]
    return out


def curvatures(gradient: Gradient, x: np.ndarray, step: float) -> np.ndarray:
    """Eigenvalues (n,) of the matrix of second derivatives, from central differences of the gradient, by ±``step``."""
    n = len(x)
    matrix = np.empty((n, n))
    for k in range(n):
        move = np.zeros(n)
        move[k] = step
        matrix[k] = (gradient(x + move) - gradient(x - move)) / (2 * step)
    return np.linalg.eigvalsh((matrix + matrix.T) / 2)


def participation_ratio(values: np.ndarray) -> float:
    """Participation ratio (Σk)²/(n Σk²) of curvatures: 1 in a spherical well, 1/n where one direction has them all."""
    k = np.asarray(values, float)
    return float(k.sum() ** 2 / (len(k) * (k**2).sum())) if np.any(k) else 0.0
