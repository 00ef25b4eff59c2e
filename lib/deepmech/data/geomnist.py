"""GEOMNIST: rotated, slightly varied and blurred triangles, rectangles and ellipses, 32×32 pixels (paper B, Fig. 2).

Nothing is downloaded; images are drawn as the authors' program draws them (``datasets.py``). One number r per image
says how a shape varies (:func:`family`): along the images of a class, training and test together, it goes evenly from
−1 to 1 while the angle goes evenly from 0 to 176°. All images of a class are therefore points of one curve, and which
points depends on how many there are. A harder variant draws r and angle each on its own (:func:`independent`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from deepmech.core.random import Stream

RECIPE = 3
"""Part of the data's fingerprint: raised when the images change."""

SIDE = 32
CENTRE = SIDE / 2
"""Shapes are drawn about this pixel, half a pixel off the middle of the frame, and turned about the middle."""
SHAPES = ("triangle", "rectangle", "ellipse")
"""Class k is ``SHAPES[k]``; image i of a split belongs to class i modulo 3."""

RECTANGLE = (4, 8)
"""Half-sides along rows and columns; both ends are drawn, so that 9 × 17 pixels are white."""
ELLIPSE = 6.0
"""Half-axis along rows; that along columns is twice as long."""
TRIANGLE = (10.0, 8.0 * np.sqrt(3.0), 8.0)
"""Half-width of the base, height of the apex above the centre, depth of the base below it; rows are its width."""
LARGEST_ANGLE = 176.0
"""Degrees; the last image of a class stays one step below."""
BLUR = (0.9, 1.1)
"""Standard deviation of the Gaussian, which ends at four of them."""


@dataclass(frozen=True)
class Placement:
    """How each of n images is drawn; all arrays have shape (n,).

    Attributes
    ----------
    label : ndarray of int, (n,)
        Class, 0 … 2.
    r : ndarray, (n,)
        What varies, within ±1: the ellipse has half-axes 6 + r and 2 (6 + r), the others are shifted by r pixels along
        both axes.
    angle : ndarray, (n,)
        Degrees by which the frame is turned, 0 … 176.
    blur : ndarray, (n,)
        Standard deviation of the Gaussian in pixels, 0.9 … 1.1.
    """

    label: np.ndarray
    r: np.ndarray
    angle: np.ndarray
    blur: np.ndarray


def family(n_train: int, n_test: int, seed: int = 0) -> tuple[Placement, Placement]:
    """How the training and the test images of the authors' set are drawn.

    Image i of the N images of a class, training and test together, has r = 2i/(N − 1) − 1 and angle 176° · i/N. They
    are then put in a random order, and the first of them train. So an image depends on both numbers of images; only the
    blur is drawn for each on its own.

    Examples
    --------
    >>> train, test = family(6, 3)
    >>> sorted(np.concatenate([a.r[a.label == 2] for a in (train, test)]).tolist())
    [-1.0, 0.0, 1.0]
    """
    stream, n = Stream.of("geomnist family", seed), n_train + n_test
    label = np.concatenate([np.arange(n_train), np.arange(n_test)]) % len(SHAPES)
    r, angle = np.empty(n), np.empty(n)
    for k in range(len(SHAPES)):
        own = np.flatnonzero(label == k)
        order = stream.permutation("order", k, len(own))
        r[own] = np.linspace(-1, 1, len(own))[order]
        angle[own] = (LARGEST_ANGLE * np.arange(len(own)) / len(own))[order]
    low, high = BLUR
    columns = label, r, angle, low + (high - low) * stream.uniform("blur", 0, (n,))
    train, test = ([c[part] for c in columns] for part in (slice(n_train), slice(n_train, n)))
    return Placement(*train), Placement(*test)


def independent(n: int, seed: int = 0, split: str = "train") -> Placement:
    """r, angle and blur of images 0 … n - 1 of a split, each uniform in its range and drawn on its own.

    Image i depends on seed, split and i alone, so a smaller set is the beginning of a larger one.

    Examples
    --------
    >>> bool((independent(3).angle == independent(9).angle[:3]).all())
    True
    """
    u = Stream.of("geomnist", seed).uniform(split, 0, (n, 3))
    low, high = BLUR
    label = np.arange(n) % len(SHAPES)
    return Placement(label, 2 * u[:, 0] - 1, LARGEST_ANGLE * u[:, 1], low + (high - low) * u[:, 2])


def draw(at: Placement) -> np.ndarray:
    """The images of ``at``, float32, shape (n, 32, 32).

    A shape is 1 on a background of 0 (:func:`shape`); the frame is turned by a cubic spline, which goes a little beyond
    0 and 1, and then blurred by a Gaussian that mirrors what it meets at the frame.
    """
    out = np.empty((len(at.label), SIDE, SIDE), np.float32)
    for i, (label, r, angle, blur) in enumerate(zip(at.label, at.r, at.angle, at.blur, strict=True)):
        turned = ndimage.rotate(shape(label, r).astype(float), angle, reshape=False)
        out[i] = ndimage.gaussian_filter(turned, blur)
    return out


def shape(label: int, r: float) -> np.ndarray:
    """Which pixels a shape covers before it is turned, bool, shape (32, 32).

    Examples
    --------
    >>> [int(shape(label, 0.0).sum()) for label in range(3)]
    [230, 153, 217]
    """
    row, column = np.arange(SIDE)[:, None], np.arange(SIDE)[None, :]
    if SHAPES[label] == "ellipse":
        return ((row - CENTRE) / (ELLIPSE + r)) ** 2 + ((column - CENTRE) / (2 * (ELLIPSE + r))) ** 2 < 1
    if SHAPES[label] == "rectangle":
        a, b = RECTANGLE
        # Corners are rounded to whole pixels, as the program does.
        inside = [
            (at >= round(CENTRE - half + r)) & (at <= round(CENTRE + half + r))
            for at, half in ((row, a), (column, b))
        ]  # fmt: skip
        return inside[0] & inside[1]
    width, top, bottom = TRIANGLE
    u, v = row - CENTRE - r, column - CENTRE - r  # the apex points to the left
    return (v <= bottom) & (np.abs(u) * (top + bottom) <= width * (top + v))
