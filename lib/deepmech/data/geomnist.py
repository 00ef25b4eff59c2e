"""GEOMNIST: rotated, slightly varied and blurred rectangles, ellipses and triangles, 32×32 pixels (paper B, Fig. 2).

Nothing is downloaded: image ``i`` of a split is a function of the seed, the split and ``i`` alone, so a smaller set is
the beginning of a larger one. Sizes in pixels follow the authors' scripts; where those leave a distribution open it is
uniform here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepmech.core.random import Stream

RECIPE = 1
"""Part of the data's fingerprint: raised when the images change."""

SIDE = 32
SHAPES = ("rectangle", "ellipse", "triangle")
"""Class k is ``SHAPES[k]``; image i belongs to class i modulo 3."""

RECTANGLE = (4.0, 8.0)
"""Half-sides."""
ELLIPSE = 6.0
"""Shorter half-axis; the longer is twice as long."""
TRIANGLE = (10.0, 8.0 * np.sqrt(3.0), 8.0)
"""Half-width of the base, height of the apex above the centre, depth of the base below it."""
LARGEST_ANGLE = 176.0
"""Degrees."""
BLUR = (0.9, 1.1)
"""Standard deviation of the Gaussian."""
REACH = 5
"""Pixels beyond which the Gaussian (there below 2e-7) is zero: backgrounds are then exactly black, and free of numbers
so small that processors take twenty times as long over them."""

_CHUNK = 2048


@dataclass(frozen=True)
class Placement:
    """How each of n images is drawn; all arrays have shape (n,).

    Attributes
    ----------
    label : class, 0 … 2.
    dx, dy : shift of the centre in pixels, within ±1.
    growth : what is added to the size in pixels, within ±1 (see :func:`draw`).
    angle : degrees, 0 … 176.
    blur : standard deviation of the Gaussian in pixels, 0.9 … 1.1.
    """

    label: np.ndarray
    dx: np.ndarray
    dy: np.ndarray
    growth: np.ndarray
    angle: np.ndarray
    blur: np.ndarray


def place(n: int, seed: int = 0, split: str = "train") -> Placement:
    """Class, position, size, angle and blur of images 0 … n - 1 of a split.

    Examples
    --------
    >>> bool((place(3).angle == place(9).angle[:3]).all())
    True
    """
    u = Stream.of("geomnist", seed).uniform(split, 0, (n, 5))
    low, high = BLUR
    return Placement(
        label=np.arange(n) % len(SHAPES),
        dx=2 * u[:, 0] - 1,
        dy=2 * u[:, 1] - 1,
        growth=2 * u[:, 2] - 1,
        angle=LARGEST_ANGLE * u[:, 3],
        blur=low + (high - low) * u[:, 4],
    )


def draw(at: Placement) -> np.ndarray:
    """The images of ``at``, float32, shape (n, 32, 32): 1 inside the shape and 0 outside, then blurred.

    A pixel is inside if its centre is. ``growth`` g adds g to both half-sides of the rectangle, makes the half-axes
    6 + g and 2 (6 + g), and scales the triangle by 1 + g/10. The Gaussian is sampled at the pixels up to
    :data:`REACH` and normalised; what it spreads beyond the frame is lost.
    """
    n = len(at.label)
    out = np.empty((n, SIDE, SIDE), np.float32)
    for start in range(0, n, _CHUNK):
        part = slice(start, min(start + _CHUNK, n))
        inside = _inside(*(a[part] for a in (at.label, at.dx, at.dy, at.growth, at.angle)))
        smooth = _gaussian(at.blur[part])
        out[part] = smooth @ inside.astype(np.float32) @ smooth
    return np.minimum(out, 1.0, out=out)


def make(n: int, seed: int = 0, split: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """Images, float32 in [0, 1], shape (n, 32, 32), and classes, int64, shape (n,).

    Parameters
    ----------
    n : number of images; image i has class i modulo 3 and does not depend on n.
    seed, split : choose the set; ``split`` is any word.

    Examples
    --------
    >>> images, labels = make(6)
    >>> images.shape, labels.tolist()
    ((6, 32, 32), [0, 1, 2, 0, 1, 2])
    """
    at = place(n, seed, split)
    return draw(at), at.label.astype(np.int64)


def _inside(label: np.ndarray, dx: np.ndarray, dy: np.ndarray, growth: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Whether each pixel's centre lies in the shape, shape (n, 32, 32); v points up in the shape's own frame."""
    centre = np.arange(SIDE) - (SIDE - 1) / 2
    turn = np.deg2rad(angle)[:, None, None]
    x = (centre[None, :] - dx[:, None])[:, None, :]
    y = (-centre[None, :] - dy[:, None])[:, :, None]
    u, v = np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x
    inside = np.empty(u.shape, bool)
    for k, shape in enumerate((_in_rectangle, _in_ellipse, _in_triangle)):
        own = label == k
        inside[own] = shape(u[own], v[own], growth[own, None, None])
    return inside


def _in_rectangle(u: np.ndarray, v: np.ndarray, g: np.ndarray) -> np.ndarray:
    a, b = RECTANGLE
    return (np.abs(u) <= a + g) & (np.abs(v) <= b + g)


def _in_ellipse(u: np.ndarray, v: np.ndarray, g: np.ndarray) -> np.ndarray:
    r = ELLIPSE + g
    return u**2 + (v / 2) ** 2 <= r**2


def _in_triangle(u: np.ndarray, v: np.ndarray, g: np.ndarray) -> np.ndarray:
    width, top, bottom = TRIANGLE
    s = 1 + g / width
    # The sides fall from the apex at height `top` to the half-width at height -bottom.
    return (v >= -bottom * s) & (np.abs(u) * (top + bottom) <= width * (top * s - v))


def _gaussian(sigma: np.ndarray) -> np.ndarray:
    """The blur along one axis, float32, shape (n, 32, 32); symmetric."""
    offset = np.arange(SIDE)
    weight = np.exp(-0.5 * (offset / sigma[:, None]) ** 2) * (offset <= REACH)
    weight /= weight[:, :1] + 2 * weight[:, 1:].sum(1, keepdims=True)
    return weight.astype(np.float32)[:, np.abs(offset[:, None] - offset[None, :])]
