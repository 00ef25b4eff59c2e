"""GEOMNIST: what the authors' program draws, closed forms, and which images a set of a given size holds."""

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from deepmech.data import fingerprint, geomnist, load

TRIANGLE, RECTANGLE, ELLIPSE = range(3)
REFERENCE = Path(__file__).parents[3] / "shared" / "papers" / "reference" / "geomnist_by_program.npz"


def one(label, r=0.0, angle=0.0, blur=1.0):
    """A single image, float64."""
    at = geomnist.Placement(np.array([label]), *(np.array([v], float) for v in (r, angle, blur)))
    return geomnist.draw(at)[0].astype(float)


@pytest.mark.skipif(not REFERENCE.is_file(), reason="numbers made by the authors' program are not at hand")
def test_images_are_those_of_the_program():
    made = np.load(REFERENCE)
    train, _ = geomnist.family(1797, 3)
    images = geomnist.draw(train)
    for k, name in enumerate(geomnist.SHAPES):
        for i, r in enumerate((-1.0, 0.0, 1.0)):
            assert np.array_equal(geomnist.shape(k, r), made[f"base_{name}"][i])
            turned = ndimage.rotate(geomnist.shape(k, r).astype(float), 176 * i / 3, reshape=False)
            np.testing.assert_allclose(turned, made[f"rotated_{name}"][i], atol=1e-6)
        own = images[train.label == k]
        # Theirs are a random 600; means of pixels scatter by a few hundredths.
        assert abs(own.mean(0) - made["mean_images"][k]).max() < 0.05
        assert own.sum((1, 2)).mean() == pytest.approx(made["brightness"][k, 0], rel=2e-3)


def test_pixels_of_the_shapes():
    # Numbers of white pixels that the authors' program draws for r = -1, 0, 1.
    wanted = {TRIANGLE: (230, 230, 230), RECTANGLE: (153, 153, 153), ELLIPSE: (147, 217, 299)}
    assert {k: tuple(int(geomnist.shape(k, r).sum()) for r in (-1, 0, 1)) for k in wanted} == wanted
    rows, columns = (np.flatnonzero(geomnist.shape(RECTANGLE, 0.0).any(axis)) for axis in (1, 0))
    assert (rows[0], rows[-1], columns[0], columns[-1]) == (12, 20, 8, 24)


def test_the_rectangle_is_shifted_by_whole_pixels():
    places = [int(np.flatnonzero(geomnist.shape(RECTANGLE, r).any(1))[0]) for r in (-1, -0.6, -0.4, 0.4, 0.6, 1)]
    assert places == [11, 11, 12, 12, 13, 13]


@pytest.mark.parametrize("label", [TRIANGLE, RECTANGLE, ELLIPSE])
def test_a_turn_by_a_right_angle_only_turns(label):
    still, turned = one(label), one(label, angle=90.0)
    np.testing.assert_allclose(turned, np.rot90(still), atol=1e-6)


def test_blur_is_a_gaussian_of_its_width():
    wide, sharp = one(ELLIPSE, r=-1.0, blur=1.1), one(ELLIPSE, r=-1.0, blur=0.01)
    at = np.arange(32) - 16

    def variance(image):
        mass = image.sum()
        mean = (image.sum(0) * at).sum() / mass
        return (image.sum(0) * (at - mean) ** 2).sum() / mass

    # The Gaussian is cut at four standard deviations and sampled at the pixels.
    assert variance(wide) - variance(sharp) == pytest.approx(1.1**2, rel=5e-3)
    assert wide.sum() == pytest.approx(sharp.sum(), rel=1e-4)


def both(n_train, n_test, seed=0):
    """Columns of :func:`geomnist.family`, training images first."""
    train, test = geomnist.family(n_train, n_test, seed)
    return {k: np.concatenate([getattr(train, k), getattr(test, k)]) for k in vars(train)}


@pytest.mark.parametrize("label", [TRIANGLE, RECTANGLE, ELLIPSE])
@pytest.mark.parametrize("sizes", [(30, 12), (31, 11), (9, 3)])
def test_a_class_is_one_curve(label, sizes):
    """Over training and test images r is an even grid from -1 to 1 and the angle one from 0 towards 176°, at once."""
    at = both(*sizes)
    own = at["label"] == label
    n = own.sum()
    order = np.argsort(at["angle"][own])
    assert np.allclose(at["angle"][own][order], 176 * np.arange(n) / n)
    assert np.allclose(at["r"][own][order], np.linspace(-1, 1, n))


def test_the_set_depends_on_both_numbers_and_on_the_seed():
    few, many, other = both(30, 12), both(30, 15), both(30, 12, seed=1)
    assert not set(few["angle"][few["angle"] > 0]) <= set(many["angle"])
    assert np.array_equal(np.sort(few["angle"]), np.sort(other["angle"]))
    assert not np.array_equal(few["angle"], other["angle"])
    # Only blur is drawn for each image on its own.
    assert not np.intersect1d(few["blur"], other["blur"]).size and few["blur"].min() >= 0.9 and few["blur"].max() <= 1.1


def test_an_independent_image_depends_on_seed_split_and_place_alone():
    many, few = geomnist.independent(3000, 4), geomnist.independent(7, 4)
    assert all(np.array_equal(getattr(many, k)[:7], getattr(few, k)) for k in vars(few))
    for other in (geomnist.independent(7, 5), geomnist.independent(7, 4, "test")):
        assert not np.intersect1d(other.angle, few.angle).size


def test_parameters_of_independent_images_fill_their_ranges_and_know_nothing_of_one_another():
    at = geomnist.independent(6000)
    for values, low, high in ((at.r, -1, 1), (at.angle, 0, 176), (at.blur, 0.9, 1.1)):
        width = high - low
        assert low <= values.min() < low + 0.01 * width and high - 0.01 * width < values.max() <= high
    assert abs(np.corrcoef(at.r, at.angle)[0, 1]) < 4 / np.sqrt(6000)


@pytest.mark.parametrize("name", ["geomnist", "geomnist-independent"])
def test_loading(name):
    data = load(name, n_train=9, n_test=6)
    assert data.x_train.shape == (9, 1024) and data.x_train.dtype == np.float32 and data.n_classes == 3
    assert data.y_train.tolist() == [0, 1, 2] * 3 and data.y_test.tolist() == [0, 1, 2] * 2
    sets = ((9, 6, 0), (6, 6, 0), (9, 3, 0), (9, 6, 1))
    assert len({fingerprint(name, n_train=n, n_test=m, seed=s) for n, m, s in sets}) == 4
    assert data.fingerprint == fingerprint(name, n_train=9, n_test=6)
    smaller = load(name, n_train=6, n_test=6).x_train
    assert np.array_equal(data.x_train[:6], smaller) == (name == "geomnist-independent")
    with pytest.raises(ValueError, match=f"load\\('{name}'\\): n_train = 0: must be a whole number"):
        load(name, n_train=0)
    assert load(name, size=16, n_train=3, n_test=3).x_train.shape == (3, 256)
