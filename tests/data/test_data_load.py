"""Splits, scaling and resampling of datasets."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech.data import load, resize

REAL = Path(os.environ.get("DEEPMECH_DATA", "")) / "mnist" / "train-images-idx3-ubyte.gz"
needs_mnist = pytest.mark.skipif(not REAL.is_file(), reason="MNIST is not in DEEPMECH_DATA (deepmech data fetch mnist)")


def rows(x: np.ndarray) -> list[bytes]:
    return sorted(row.tobytes() for row in x)


def test_unknown_names_get_the_list():
    with pytest.raises(ValueError, match=r"'mnits': unknown; the names are digits, .*did you mean 'mnist'"):
        load("mnits")


def test_digits_are_all_there_once():
    from sklearn.datasets import load_digits

    data = load("digits")
    assert (data.x_train.shape, data.x_test.shape) == ((1000, 64), (797, 64))
    assert data.x_train.dtype == np.float32 and data.y_train.dtype == np.int64
    original = load_digits()
    assert rows(np.vstack([data.x_train, data.x_test])) == rows((original.data / 16).astype(np.float32))
    labels = {row.tobytes(): y for row, y in zip((original.data / 16).astype(np.float32), original.target, strict=True)}
    assert [labels[row.tobytes()] for row in data.x_train] == data.y_train.tolist()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 1000), st.integers(1, 797))
def test_a_smaller_set_is_the_beginning_of_a_larger_one_and_never_meets_the_test_set(n_train, n_test):
    whole, part = load("digits"), load("digits", n_train=n_train, n_test=n_test)
    np.testing.assert_array_equal(part.x_train, whole.x_train[:n_train])
    np.testing.assert_array_equal(part.x_test, whole.x_test[-n_test:])
    assert (part.fingerprint == whole.fingerprint) == ((n_train, n_test) == (1000, 797))


def test_the_split_gives_way_where_one_side_asks_for_more():
    assert load("digits", n_train=1700).x_test.shape[0] == 97
    assert load("digits", n_test=1700).x_train.shape[0] == 97
    assert load("diabetes", n_train=20).x_test.shape[0] == 100
    with pytest.raises(ValueError, match="n_train = 1700 and n_test = 98 need more than its 1797"):
        load("digits", n_train=1700, n_test=98)


@pytest.mark.parametrize("bad", [{"n_train": 0}, {"n_train": 1.5}, {"n_train": 10_000}, {"size": 0}, {"size": 2.5}])
def test_numbers_out_of_range(bad):
    ((name, value),) = bad.items()
    with pytest.raises(ValueError, match=f"{name} = {value}"):
        load("digits", **bad)
    with pytest.raises(ValueError, match="patients are not images"):
        load("diabetes", size=8)


def test_seeds_choose_the_split_and_nothing_else():
    first, again, other = load("digits"), load("digits"), load("digits", seed=1)
    np.testing.assert_array_equal(first.x_train, again.x_train)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert not np.array_equal(first.x_train, other.x_train)
    assert rows(np.vstack([first.x_train, first.x_test])) == rows(np.vstack([other.x_train, other.x_test]))


def test_diabetes_features_span_the_unit_interval():
    data = load("diabetes")
    x = np.vstack([data.x_train, data.x_test])
    np.testing.assert_array_equal([x.min(axis=0), x.max(axis=0)], [np.zeros(10), np.ones(10)])
    assert data.n_classes == 0 and data.y_train.dtype == np.float32
    assert (data.x_train.shape, data.x_test.shape) == ((342, 10), (100, 10))
    y = np.concatenate([data.y_train, data.y_test])
    assert (y.min(), y.max()) == (25, 346)


def test_fingerprints_see_everything_that_chooses_numbers():
    variants = [{}, {"seed": 1}, {"size": 6}, {"n_train": 999}, {"n_test": 796}]
    prints = {load("digits", **v).fingerprint for v in variants} | {load("diabetes").fingerprint}
    assert len(prints) == len(variants) + 1


def test_images_keep_their_shape_for_convolutions():
    assert load("digits").shape == (1, 8, 8)
    data = load("digits", size=5)
    assert data.shape == (1, 5, 5) and data.x_train.shape == (1000, 25)
    assert "5×5" in data.note


def test_resampling_by_a_whole_factor_keeps_ramps_away_from_the_border():
    """An antialiased triangle kernel reproduces linear pictures; only border pixels see a cut kernel."""
    ramp = np.broadcast_to(np.linspace(0, 1, 24, dtype=np.float32), (1, 1, 24, 24))
    small = resize(np.ascontiguousarray(ramp), 8)[0, 0]
    centres = (np.arange(8) * 3 + 1) / 23
    np.testing.assert_allclose(small[:, 1:-1], np.broadcast_to(centres[1:-1], (8, 6)), atol=1e-6)
    np.testing.assert_allclose(small, small[:1].repeat(8, 0), atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_resampling_stays_in_the_unit_interval_and_is_linear(height, size, seed):
    x = Stream.of("test resize", seed).uniform("x", 0, (3, 2, height, height)).astype(np.float32)
    small = resize(x, size)
    assert small.min() >= 0 and small.max() <= 1
    np.testing.assert_allclose(resize(x[:1] / 2 + x[1:2] / 2, size), small[:1] / 2 + small[1:2] / 2, atol=1e-6)


def test_an_image_is_resampled_alike_alone_and_in_company():
    x = load("digits").x_train.reshape(-1, 1, 8, 8)
    np.testing.assert_array_equal(resize(x, 5)[[7]], resize(x[[7]], 5))


def test_small_downloads_are_split_by_seed(installed):
    data = load("mnist", size=10, n_train=12, n_test=5)
    assert (data.x_train.shape, data.x_test.shape) == ((12, 100), (5, 100))
    whole = load("mnist", size=10)
    np.testing.assert_array_equal(whole.x_train[:12], data.x_train)
    np.testing.assert_array_equal(whole.y_test[:5], data.y_test)
    assert sorted(whole.y_train) == sorted(np.arange(30) % 10)
    assert not np.array_equal(load("mnist", size=10, seed=1).y_train, whole.y_train)
    with pytest.raises(ValueError, match=r"n_train = 31: must be a whole number .* from 1 to 30"):
        load("mnist", n_train=31)


@needs_mnist
def test_real_mnist_as_paper_a_uses_it():
    data = load("mnist", size=10, n_train=2560)
    assert (data.x_train.shape, data.x_test.shape, data.n_classes) == ((2560, 100), (10_000, 100), 10)
    assert np.bincount(data.y_test).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    # Bilinear resampling spreads every pixel's weight evenly but for the border, which is empty in MNIST.
    full = load("mnist", n_train=2560)
    np.testing.assert_array_equal(full.y_train, data.y_train)
    np.testing.assert_allclose(data.x_train.mean(1), full.x_train.mean(1), atol=0.01)
