"""GEOMNIST: rotated, slightly varied and blurred triangles, rectangles and ellipses, 32×32 pixels (paper B, Fig. 2).

Nothing is downloaded. In the authors' set one number per image says how it is placed (:func:`family`): along the images
of a class, training and test together, it goes evenly from −1 to 1 while the angle goes evenly from 0 to 176°. All
images of a class are therefore points of one curve, and which points depends on how many there are. A harder variant
draws place, size and angle each on its own (:func:`independent`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepmech.core.random import Stream

RECIPE = 2
"""Part of the data's fingerprint: raised when the images change."""

SIDE = 32
SHAPES = ("triangle", "rectangle", "ellipse")
"""Class k is ``SHAPES[k]``; image i of a split belongs to class i modulo 3."""

GROWS = np.array([False, False, True])
"""Whether a class of the authors' set varies in size, and not in place."""

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
    dx, dy : shift of the centre in pixels, to the right and up.
    growth : what is added to the size in pixels, within ±1 (see :func:`draw`).
    angle : degrees anticlockwise, 0 … 176.
    blur : standard deviation of the Gaussian in pixels, 0.9 … 1.1.
    """

    label: np.ndarray
    dx: np.ndarray
    dy: np.ndarray
    growth: np.ndarray
    angle: np.ndarray
    blur: np.ndarray


def family(n_train: int, n_test: int, seed: int = 0) -> tuple[Placement, Placement]:
    """How the training and the test images of the authors' set are drawn.

    A class with N images in all has r evenly from −1 to 1 and the angle evenly from 0 to 176°, together. The ellipse
    has half-axes 6 + r and 2 (6 + r); triangle and rectangle keep their size and are shifted by r pixels to the right
    and down before they are rotated about the centre of the frame. The N images are then put in a random order, and the
    first of them train. So an image depends on both numbers of images; only the blur is drawn for each on its own.

    Examples
    --------
    >>> train, test = family(6, 3)
    >>> sorted(np.concatenate([a.angle[a.label == 2] for a in (train, test)]).tolist())
    [0.0, 88.0, 176.0]
    """
    stream, n = Stream.of("geomnist family", seed), n_train + n_test
    label = np.concatenate([np.arange(n_train), np.arange(n_test)]) % len(SHAPES)
    r, angle = np.empty(n), np.empty(n)
    for k in range(len(SHAPES)):
        own = np.flatnonzero(label == k)
        order = stream.permutation("order", k, len(own))
        r[own] = np.linspace(-1, 1, len(own))[order]
        angle[own] = np.linspace(0, LARGEST_ANGLE, len(own))[order]
    turn, shift = np.deg2rad(angle), np.where(GROWS[label], 0.0, r)
    low, high = BLUR
    columns = {
        "label": label,
        "dx": shift * (np.cos(turn) + np.sin(turn)),
        "dy": shift * (np.sin(turn) - np.cos(turn)),
        "growth": r - shift,
        "angle": angle,
        "blur": low + (high - low) * stream.uniform("blur", 0, (n,)),
    }
    train, test = ({k: v[part] for k, v in columns.items()} for part in (slice(n_train), slice(n_train, n)))
    return Placement(**train), Placement(**test)


def independent(n: int, seed: int = 0, split: str = "train") -> Placement:
    """Class, position, size, angle and blur of images 0 … n - 1 of a split, each uniform in its range.

    Shifts go to ±1 pixel along either axis, and every shape grows or shrinks. Image i depends on seed, split and i
    alone, so a smaller set is the beginning of a larger one.

    Examples
    --------
    >>> bool((independent(3).angle == independent(9).angle[:3]).all())
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


def _inside(label: np.ndarray, dx: np.ndarray, dy: np.ndarray, growth: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Whether each pixel's centre lies in the shape, shape (n, 32, 32); v points up in the shape's own frame."""
    centre = np.arange(SIDE) - (SIDE - 1) / 2
    turn = np.deg2rad(angle)[:, None, None]
    x = (centre[None, :] - dx[:, None])[:, None, :]
    y = (-centre[None, :] - dy[:, None])[:, :, None]
    u, v = np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x
    inside = np.empty(u.shape, bool)
    for k, shape in enumerate((_in_triangle, _in_rectangle, _in_ellipse)):
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
