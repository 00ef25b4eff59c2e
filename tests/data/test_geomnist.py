"""GEOMNIST: areas, orientations and blur against closed forms; an image depends on seed, split and place alone."""

from dataclasses import replace

import numpy as np
import pytest

from deepmech.data import geomnist, load

CENTRE = np.arange(32) - 15.5
X, Y = CENTRE[None, :], -CENTRE[:, None]


def still(label, n=1, **changed):
    """``n`` placements in the middle of the frame, unturned, of nominal size."""
    zero = np.zeros(n)
    at = geomnist.Placement(np.full(n, label), zero, zero, zero, zero, np.ones(n))
    return replace(at, **{k: np.broadcast_to(np.asarray(v, float), n) for k, v in changed.items()})


def moments(image):
    """Mass, centre (x, y) and covariance matrix of an image."""
    mass = image.sum()
    x, y = (image * X).sum() / mass, (image * Y).sum() / mass
    xx, yy, xy = ((image * a * b).sum() / mass for a, b in ((X - x, X - x), (Y - y, Y - y), (X - x, Y - y)))
    return mass, np.array([x, y]), np.array([[xx, xy], [xy, yy]])


def area(label, growth):
    if label == 0:
        return 4 * (4 + growth) * (8 + growth)
    if label == 1:
        return np.pi * 2 * (6 + growth) ** 2
    return 10 * (8 * np.sqrt(3) + 8) * (1 + growth / 10) ** 2


@pytest.mark.parametrize("label", [0, 1, 2])
@pytest.mark.parametrize("growth", [-1.0, 0.0, 1.0])
def test_area(label, growth):
    # Averaged over turns and shifts, so that the lattice drops out; blur keeps the mass, which stays in the frame.
    angles, shifts = np.linspace(0, 176, 45), np.linspace(-0.5, 0.5, 45)
    at = still(label, 45, growth=growth, angle=angles, dx=shifts, dy=-shifts)
    masses = geomnist.draw(at).sum((1, 2))
    assert masses.mean() == pytest.approx(area(label, growth), rel=0.01)


@pytest.mark.parametrize("angle", [0.0, 30.0, 90.0, 137.0, 176.0])
def test_rectangle_turns_by_its_angle(angle):
    _, _, cov = moments(geomnist.draw(still(0, angle=angle))[0].astype(float))
    # The long axis is vertical when unturned, and turns anticlockwise with y upwards.
    value, vector = np.linalg.eigh(cov)
    long = np.rad2deg(np.arctan2(vector[1, 1], vector[0, 1]))
    assert (long - 90 - angle + 90) % 180 - 90 == pytest.approx(0, abs=2.5)
    # Variance of a uniform segment of half-length h is h²/3; the blur adds σ² = 1 along each axis.
    assert value == pytest.approx([16 / 3 + 1, 64 / 3 + 1], rel=0.06)


def test_ellipse_is_twice_as_long_as_wide():
    _, _, cov = moments(geomnist.draw(still(1, angle=40.0))[0].astype(float))
    value = np.linalg.eigvalsh(cov)
    assert value == pytest.approx([36 / 4 + 1, 144 / 4 + 1], rel=0.03)


def test_triangle_points_up():
    widths = geomnist.draw(still(2, blur=0.1))[0].sum(1).round()
    rows = np.flatnonzero(widths)
    assert np.all(np.diff(widths[rows]) >= 0) and widths[rows[0]] < widths[rows[-1]]
    # Apex 8√3 above the centre (too thin there to meet the centre of a pixel), base 8 below it, 20 wide.
    assert 8 * np.sqrt(3) - 1.5 < Y[rows[0], 0] < 8 * np.sqrt(3)
    assert Y[rows[-1], 0] == pytest.approx(-8, abs=1) and widths.max() == pytest.approx(20, abs=1)


@pytest.mark.parametrize("sigma", [0.9, 1.0, 1.1])
def test_blur_width(sigma):
    wide, sharp = (geomnist.draw(still(0, blur=s))[0].astype(float) for s in (sigma, 0.2))
    # A Gaussian sampled at the pixels has very nearly the variance of the continuous one.
    assert np.diag(moments(wide)[2] - moments(sharp)[2]) == pytest.approx([sigma**2] * 2, rel=1e-3)


def test_backgrounds_are_black():
    images, _ = geomnist.make(300)
    assert images[images > 0].min() > 1e-15 and (images == 0).mean((1, 2)).min() > 0.1


def test_shift():
    _, centre, _ = moments(geomnist.draw(still(1, dx=1.0, dy=-1.0))[0].astype(float))
    assert centre == pytest.approx([1.0, -1.0], abs=1e-3)


def test_an_image_depends_on_seed_split_and_place_alone():
    many, labels = geomnist.make(3000, seed=4)
    few, _ = geomnist.make(7, seed=4)
    assert np.array_equal(many[:7], few) and np.array_equal(labels, np.arange(3000) % 3)
    for other in (geomnist.make(7, seed=5)[0], geomnist.make(7, seed=4, split="test")[0]):
        assert not np.any(np.all(other == few, axis=(1, 2)))


def test_parameters_fill_their_ranges():
    at = geomnist.place(6000)
    for values, low, high in (
        (at.dx, -1, 1),
        (at.dy, -1, 1),
        (at.growth, -1, 1),
        (at.angle, 0, 176),
        (at.blur, 0.9, 1.1),
    ):
        assert low <= values.min() and values.max() <= high
        # Uniform: mean and variance within five standard errors.
        assert abs(values.mean() - (low + high) / 2) < 5 * (high - low) / np.sqrt(12 * 6000)
        assert values.var() == pytest.approx((high - low) ** 2 / 12, rel=0.07)


def test_load():
    data = load("geomnist", n_train=30, n_test=9, seed=2)
    assert data.x_train.shape == (30, 1024) and data.x_test.shape == (9, 1024) and data.shape == (1, 32, 32)
    assert data.n_classes == 3 and data.x_train.dtype == np.float32
    assert data.x_train.min() >= 0 and data.x_train.max() <= 1
    assert np.array_equal(data.x_train[:6], load("geomnist", n_train=6, seed=2).x_train)
    prints = {load("geomnist", n_train=n, n_test=3, seed=s).fingerprint for n, s in ((3, 0), (6, 0), (3, 1))}
    assert len(prints) == 3
    with pytest.raises(ValueError, match=r"n_train = 0: must be a whole number"):
        load("geomnist", n_train=0)
    assert load("geomnist", size=16, n_train=3, n_test=3).x_train.shape == (3, 256)
