"""GEOMNIST: areas, orientations and blur against closed forms; which images a set of a given size holds."""

from dataclasses import replace

import numpy as np
import pytest

from deepmech.data import fingerprint, geomnist, load

TRIANGLE, RECTANGLE, ELLIPSE = range(3)
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
    if label == RECTANGLE:
        return 4 * (4 + growth) * (8 + growth)
    if label == ELLIPSE:
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
    _, _, cov = moments(geomnist.draw(still(RECTANGLE, angle=angle))[0].astype(float))
    # The long axis is vertical when unturned, and turns anticlockwise with y upwards.
    value, vector = np.linalg.eigh(cov)
    long = np.rad2deg(np.arctan2(vector[1, 1], vector[0, 1]))
    assert (long - 90 - angle + 90) % 180 - 90 == pytest.approx(0, abs=2.5)
    # Variance of a uniform segment of half-length h is h²/3; the blur adds σ² = 1 along each axis.
    assert value == pytest.approx([16 / 3 + 1, 64 / 3 + 1], rel=0.06)


def test_ellipse_is_twice_as_long_as_wide():
    _, _, cov = moments(geomnist.draw(still(ELLIPSE, angle=40.0))[0].astype(float))
    value = np.linalg.eigvalsh(cov)
    assert value == pytest.approx([36 / 4 + 1, 144 / 4 + 1], rel=0.03)


def test_triangle_points_up():
    widths = geomnist.draw(still(TRIANGLE, blur=0.1))[0].sum(1).round()
    rows = np.flatnonzero(widths)
    assert np.all(np.diff(widths[rows]) >= 0) and widths[rows[0]] < widths[rows[-1]]
    # Apex 8√3 above the centre (too thin there to meet the centre of a pixel), base 8 below it, 20 wide.
    assert 8 * np.sqrt(3) - 1.5 < Y[rows[0], 0] < 8 * np.sqrt(3)
    assert Y[rows[-1], 0] == pytest.approx(-8, abs=1) and widths.max() == pytest.approx(20, abs=1)


@pytest.mark.parametrize("sigma", [0.9, 1.0, 1.1])
def test_blur_width(sigma):
    wide, sharp = (geomnist.draw(still(RECTANGLE, blur=s))[0].astype(float) for s in (sigma, 0.2))
    # A Gaussian sampled at the pixels has very nearly the variance of the continuous one.
    assert np.diag(moments(wide)[2] - moments(sharp)[2]) == pytest.approx([sigma**2] * 2, rel=1e-3)


def test_backgrounds_are_black():
    images = geomnist.draw(geomnist.family(200, 100)[0])
    assert images[images > 0].min() > 1e-15 and (images == 0).mean((1, 2)).min() > 0.1


def test_shift():
    _, centre, _ = moments(geomnist.draw(still(ELLIPSE, dx=1.0, dy=-1.0))[0].astype(float))
    assert centre == pytest.approx([1.0, -1.0], abs=1e-3)


def both(n_train, n_test, seed=0):
    """Columns of :func:`geomnist.family`, training images first."""
    train, test = geomnist.family(n_train, n_test, seed)
    return {k: np.concatenate([getattr(train, k), getattr(test, k)]) for k in vars(train)}


@pytest.mark.parametrize("label", [TRIANGLE, RECTANGLE, ELLIPSE])
@pytest.mark.parametrize("sizes", [(30, 12), (31, 11), (9, 3)])
def test_a_class_is_one_curve(label, sizes):
    """Over training and test images r is an even grid from -1 to 1 and the angle one from 0 to 176°, at once."""
    at = both(*sizes)
    own = at["label"] == label
    angle = at["angle"][own]
    order = np.argsort(angle)
    assert np.allclose(np.sort(angle), np.linspace(0, 176, own.sum()))
    r = np.linspace(-1, 1, own.sum())
    # The rectangle's centre, (r, -r) with y upwards, has been turned about the middle of the frame by the angle.
    dx, dy, growth = (at[k][own][order] for k in ("dx", "dy", "growth"))
    place = (dx + 1j * dy) * np.exp(-1j * np.deg2rad(angle[order]))
    assert np.allclose(place, (r - 1j * r) * (label != ELLIPSE))
    assert np.allclose(growth, r * (label == ELLIPSE))


def test_shapes_are_shifted_before_they_are_turned():
    """A rectangle at angle 0 and one at 90° lie where (r, -r) goes when the whole frame is turned."""
    at = both(300, 300)
    for angle in (0.0, 88.0):
        i = np.flatnonzero(at["label"] == RECTANGLE)[np.argmin(abs(at["angle"][at["label"] == RECTANGLE] - angle))]
        r, turn = 2 * at["angle"][i] / 176 - 1, np.deg2rad(at["angle"][i])
        one = geomnist.Placement(**{k: v[i : i + 1] for k, v in at.items()})
        _, centre, _ = moments(geomnist.draw(one)[0].astype(float))
        assert centre == pytest.approx([r * (np.cos(turn) + np.sin(turn)), r * (np.sin(turn) - np.cos(turn))], abs=0.35)


def test_the_set_depends_on_both_numbers_and_on_the_seed():
    few, many, other = both(30, 12), both(30, 15), both(30, 12, seed=1)
    assert not set(few["angle"][:30]) <= set(many["angle"])
    assert np.array_equal(np.sort(few["angle"]), np.sort(other["angle"]))
    assert not np.array_equal(few["angle"], other["angle"])
    # Only blur is drawn for each image on its own.
    assert not np.intersect1d(few["blur"], other["blur"]).size and few["blur"].min() >= 0.9 and few["blur"].max() <= 1.1
    # Training images are a random part of the grid.
    train = geomnist.family(600, 600)[0]
    middle = np.median(train.angle[train.label == ELLIPSE])
    assert 60 < middle < 116 and train.angle.max() > 170


def test_an_independent_image_depends_on_seed_split_and_place_alone():
    many, few = geomnist.independent(3000, 4), geomnist.independent(7, 4)
    assert all(np.array_equal(getattr(many, k)[:7], getattr(few, k)) for k in vars(few))
    for other in (geomnist.independent(7, 5), geomnist.independent(7, 4, "test")):
        assert not np.intersect1d(other.angle, few.angle).size


def test_parameters_fill_their_ranges():
    at = geomnist.independent(6000)
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


@pytest.mark.parametrize("name", ["geomnist", "geomnist-independent"])
def test_load(name):
    data = load(name, n_train=30, n_test=9, seed=2)
    assert data.x_train.shape == (30, 1024) and data.x_test.shape == (9, 1024) and data.shape == (1, 32, 32)
    assert data.n_classes == 3 and data.x_train.dtype == np.float32
    assert data.x_train.min() >= 0 and data.x_train.max() <= 1
    assert np.array_equal(data.y_train, np.arange(30) % 3)
    smaller = load(name, n_train=6, n_test=9, seed=2).x_train
    assert np.array_equal(data.x_train[:6], smaller) == (name == "geomnist-independent")
    sets = ((3, 3, 0), (6, 3, 0), (3, 6, 0), (3, 3, 1))
    assert len({load(name, n_train=n, n_test=m, seed=s).fingerprint for n, m, s in sets}) == 4
    assert load(name, n_train=3, n_test=3).fingerprint == fingerprint(name, n_train=3, n_test=3)
    with pytest.raises(ValueError, match=f"load\\('{name}'\\): n_train = 0: must be a whole number"):
        load(name, n_train=0)
    assert load(name, size=16, n_train=3, n_test=3).x_train.shape == (3, 256)


def test_the_two_sets_differ():
    assert (
        load("geomnist", n_train=9, n_test=3).fingerprint
        != load("geomnist-independent", n_train=9, n_test=3).fingerprint
    )
