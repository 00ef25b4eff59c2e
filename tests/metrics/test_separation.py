"""Laws of data separation."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech.metrics.separation import ClassMoments, data_separation, separation_ceiling

METRICS = ("D", "D_hat")
seeds = st.integers(0, 2**31)


def blobs(seed: int, n: int = 60, d: int = 5, classes: int = 4, distance: float = 2.0):
    """n points around `classes` random centres, every class at least once, of unequal sizes."""
    s = Stream.of("test separation", seed)
    y = np.concatenate([np.arange(classes), (s.uniform("labels", 0, n - classes) ** 2 * classes).astype(int)])
    return s.normal("x", 0, (n, d)) + distance * s.normal("means", 0, (classes, d))[y], y


def naive(x, y, metric):
    """Eqs. 2, 3 and 9 with full matrices and NumPy's own covariance."""
    k = range(y.max() + 1)
    p = np.array([(y == c).mean() for c in k])
    covariances = np.array([np.cov(x[y == c].T, bias=True) for c in k])
    means = np.array([x[y == c].mean(0) for c in k])
    within, between = np.einsum("k,kij->ij", p, covariances), np.cov(means.T, aweights=p, bias=True)
    if metric == "D":
        return np.log(np.trace(within) / np.trace(between))
    return np.log(np.trace(within @ np.linalg.pinv(between, rcond=1e-12, hermitian=True)))


def rotation(seed: int, d: int) -> np.ndarray:
    return np.linalg.qr(Stream.of("test rotation", seed).normal("q", 0, (d, d)))[0]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [2, 3, 8, 70])  # fewer and more features than classes and than samples
def test_equals_the_formula_with_full_matrices(metric, d):
    for seed in range(5):
        x, y = blobs(seed, d=d)
        assert data_separation(x, y, metric) == pytest.approx(naive(x, y, metric), abs=1e-9)


@given(seeds, st.floats(-50, 50), st.floats(1e-3, 1e3))
def test_rotations_shifts_and_scale_change_neither(seed, shift, scale):
    x, y = blobs(seed)
    for metric in METRICS:
        moved = scale * (x @ rotation(seed, 5) + shift)
        assert data_separation(moved, y, metric) == pytest.approx(data_separation(x, y, metric), abs=1e-9)


@given(seeds)
def test_invertible_maps_leave_d_hat_alone_while_features_are_fewer_than_classes(seed):
    x, y = blobs(seed, d=3)
    squeeze = rotation(seed, 3) * np.array([1.0, 3.0, 10.0]) @ rotation(seed + 1, 3)
    assert data_separation(x @ squeeze, y, "D_hat") == pytest.approx(data_separation(x, y, "D_hat"), abs=1e-8)
    assert abs(data_separation(x @ squeeze, y) - data_separation(x, y)) > 1e-6


@pytest.mark.parametrize("c", [0.0, 0.5, 1.0, 3.0])
def test_with_more_features_a_shear_changes_d_hat_by_its_closed_form(c):
    """Means ±e₁, round classes; x₂ += c x₁. Then Σ_b^+ = vvᵀ/|v|⁴, v = (1, c): D̂ rises by log(1 + c²/(1 + c²)²)."""
    cross = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]) / 2
    step = np.array([1, 0])
    x = np.vstack([cross + step, cross - step])
    y = np.repeat([0, 1], 4)
    shear = np.array([[1.0, c], [0.0, 1.0]])
    assert data_separation(x, y, "D_hat") == pytest.approx(np.log(1 / 8), abs=1e-12)
    rise = np.log1p(c**2 / (1 + c**2) ** 2)
    assert data_separation(x @ shear, y, "D_hat") == pytest.approx(np.log(1 / 8) + rise, abs=1e-12)


def test_closed_form_of_crosses():
    """Class k at height k on the first axis, its 2d points at ±a on every axis: Tr Σ_w = a², Tr Σ_b = (K² − 1)/12."""
    d, a, classes = 3, 0.25, 5
    cross = a * np.vstack([np.eye(d), -np.eye(d)])
    x = np.vstack([cross + k * np.eye(d)[0] for k in range(classes)])
    y = np.repeat(np.arange(classes), 2 * d)
    assert data_separation(x, y) == pytest.approx(np.log(12 * a**2 / (classes**2 - 1)), abs=1e-13)
    assert data_separation(x, y, "D_hat") == pytest.approx(np.log(12 * a**2 / d / (classes**2 - 1)), abs=1e-13)


def test_gaussian_blobs_reach_their_expectation():
    """K = 2 at ±m, unit Gaussians in d dimensions: D -> log(d/|m|²), D̂ -> log(1/|m|²), with an error N^(-1/2)."""
    d, m, n = 20, 3.0, 40_000
    y = np.arange(n) % 2
    x = Stream.of("test gaussian", 0).normal("x", 0, (n, d))
    x[:, 0] += m * (2 * y - 1)
    # Relative standard errors: Tr Σ_w has 2/(d n) variance, |mean gap|² has 4/(m² n).
    sigma = np.sqrt(2 / (d * n) + 4 / (m**2 * n))
    assert data_separation(x, y) == pytest.approx(np.log(d / m**2), abs=4 * sigma)
    assert data_separation(x, y, "D_hat") == pytest.approx(-2 * np.log(m), abs=4 * np.sqrt(2 / n + 4 / (m**2 * n)))


@given(seeds, st.lists(st.integers(0, 60), max_size=6), st.sampled_from(METRICS))
def test_any_batches_in_any_order_give_the_whole(seed, cuts, metric):
    x, y = blobs(seed)
    order = Stream.of("test order", seed).permutation("order", 0, len(x))
    stream = ClassMoments(4, metric)
    for part in np.split(order, sorted(cuts)):
        stream.update(x[part], y[part])
    whole = data_separation(x, y, metric)
    assert stream.separation() == pytest.approx(whole, abs=1e-10)


@pytest.mark.parametrize("metric", METRICS)
def test_no_digits_are_lost_far_from_the_origin_or_in_collapse(metric):
    """Numbers exact in binary: spread 2^-20 around means 0 and 2 at the offset 2^20, 4 samples at a time."""
    tiny = 2.0**-20
    y = np.arange(400) % 2
    x = (2.0**20 + 2.0 * y + tiny * (1 - 2 * (np.arange(400) // 2 % 2)))[:, None]
    moments = ClassMoments(2, metric)
    for start in range(0, 400, 4):
        moments.update(x[start : start + 4], y[start : start + 4])
    assert moments.separation() == pytest.approx(2 * np.log(tiny), abs=1e-12)


@given(seeds)
def test_within_and_between_make_the_total(seed):
    """Tr Σ_w + Tr Σ_b = Tr Cov, so D is a function of the explained variance."""
    x, y = blobs(seed)
    ratio = np.exp(data_separation(x, y))
    means = np.array([x[y == k].mean(0) for k in range(4)])
    explained = ((means[y] - x.mean(0)) ** 2).sum() / ((x - x.mean(0)) ** 2).sum()
    assert ratio == pytest.approx(1 / explained - 1, rel=1e-9)


def test_eq_2_as_printed_adds_a_constant_for_equal_classes_and_depends_on_the_origin_otherwise():
    x, _ = blobs(3, n=60)
    even, uneven = np.arange(60) % 4, blobs(3, n=60)[1]

    def printed(x, y, metric="D"):
        """Σ_w is the plain mean over classes, Σ_b the covariance of the vectors N_k/N x̄_k."""
        within = np.mean([np.cov(x[y == k].T, bias=True) for k in range(4)], 0)
        between = np.cov(np.array([(y == k).mean() * x[y == k].mean(0) for k in range(4)]).T, bias=True)
        if metric == "D":
            return np.log(np.trace(within) / np.trace(between))
        return np.log(np.trace(within @ np.linalg.pinv(between, rcond=1e-12, hermitian=True)))

    for metric in METRICS:
        assert printed(x, even, metric) - data_separation(x, even, metric) == pytest.approx(2 * np.log(4), abs=1e-9)
        assert printed(x + 1, even, metric) == pytest.approx(printed(x, even, metric), abs=1e-9)
    assert abs(printed(x + 1, uneven) - printed(x, uneven)) > 0.01


def test_tensors_and_precisions():
    x, y = blobs(1)
    single = x.astype(np.float32)
    want = data_separation(single.astype(np.float64), y)
    assert data_separation(single, y) == want
    assert data_separation(torch.tensor(single, requires_grad=True), torch.tensor(y)) == want


def test_degenerate_classes():
    points = np.array([[0.0, 0.1], [0.3, 0.7], [1.0, 0.2]])
    y = np.array([0, 1, 2])
    for metric in METRICS:
        # One sample per class: no width at all.
        assert data_separation(points, y, metric) == -np.inf
        # A class of one sample counts with zero width: here half of the within-class variance of the other class.
        two = data_separation(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1]), metric)
        assert two == pytest.approx(np.log((2 / 3) / (2 / 9 * 16)))
        # Classes collapsed to points that are not exact in binary, in several batches.
        moments = ClassMoments(3, metric)
        for copies in (1, 3, 7, 11):
            moments.update(points.repeat(copies, axis=0), y.repeat(copies))
        assert moments.separation() == -np.inf
        # Coinciding means, and a dead layer.
        cross = np.array([[1.0], [-1.0], [2.0], [-2.0]])
        assert data_separation(cross, np.array([0, 0, 1, 1]), metric) == np.inf
        for copies in range(1, 12):
            dead = np.full((copies + 2, 3), 0.1)
            assert np.isnan(data_separation(dead, np.array([0, *[1] * copies, 2]), metric))


def test_means_on_a_line_span_one_direction():
    """K = 3 classes whose means are collinear: the second direction of Σ_b is rounding and must not be inverted."""
    for seed in range(20):
        noise, y = blobs(seed, n=30, classes=3, distance=0.0)
        for k in range(3):
            noise[y == k] -= noise[y == k].mean(0)
        x = noise + np.outer(y, rotation(seed, 5)[0]) + 100
        assert data_separation(x, y, "D_hat") == pytest.approx(naive(x, y, "D_hat"), abs=1e-6)


def test_width_across_the_means_only_is_complete_collapse_for_d_hat():
    """Width 1 on one axis, means apart on another, then rotated: D̂ falls to log 10⁻¹⁶ or below, never to nan."""
    y = np.arange(40) % 2
    x = np.stack([y, np.arange(40) // 2 % 2], axis=1).astype(float)
    assert data_separation(x, y, "D_hat") == -np.inf
    assert data_separation(x, y) == pytest.approx(0, abs=1e-12)
    for seed in range(50):
        assert data_separation(x @ rotation(seed, 2), y, "D_hat") < -30


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros((3, 2)), np.array([0, 2, 2]), "class 1 of 3 has no sample"),
        (np.zeros((3, 2)), np.array([0, 0, 0]), "at least two classes"),
        (np.zeros((3, 2)), np.array([0.0, 1.0, 1.0]), "type float64: expected integers"),
        (np.zeros((3, 2)), np.array([0, -1, 1]), "labels run from -1 to 1"),
        (np.zeros((3, 2)), np.array([0, 1]), r"features \(3, 2\) and labels \(2,\): expected"),
        (np.zeros(3), np.array([0, 1, 1]), r"features \(3,\) and labels \(3,\): expected"),
        (np.array([[0.0], [np.nan], [np.inf]]), np.array([0, 1, 1]), "2 of 3 values are nan or infinite"),
    ],
)
def test_bad_input_is_named(x, y, message):
    with pytest.raises(ValueError, match=message):
        data_separation(x, y)


def test_bad_options_are_named():
    x, y = blobs(0)
    with pytest.raises(ValueError, match="metric = 'E'"):
        data_separation(x, y, "E")
    with pytest.raises(ValueError, match=r"labels run from 0 to 3: expected 0 … 2"):
        data_separation(x, y, n_classes=3)
    with pytest.raises(ValueError, match="4 columns, earlier batches had 5"):
        ClassMoments(4).update(x, y).update(x[:, :4], y)
    with pytest.raises(ValueError, match="more than 2 GiB"):
        ClassMoments(2, "D_hat").update(np.zeros((2, 20_000)), np.array([0, 1]))


# --- sampling noise ---------------------------------------------------------------------------------------------------

#: Samples of each class, features, standard deviation of each class, degrees of freedom of Student's t (None: normal).
SAMPLINGS = {
    "few classes": ([20] * 3, 2, 1.0, None),
    "more features than samples": ([4] * 10, 60, 1.0, None),
    "many classes": ([3] * 30, 20, 1.0, None),
    "unequal classes": ([60, 20, 5, 2], 10, 1.0, None),
    "unequal widths": ([30, 10, 10], 10, [0.5, 2.0, 1.0], None),
    "heavy tails": ([10] * 6, 10, 1.0, 5),
    "single samples": ([20, 20, 1, 1], 10, 1.0, None),
}


def samplings(name, draws=400, scale=1.0):
    """Plain and debiased D of many samples of one population, and D of the population itself."""
    sizes, d, width, freedom = SAMPLINGS[name]
    s, y = Stream.of("test sampling noise", name), np.repeat(np.arange(len(sizes)), sizes)
    width = np.broadcast_to(width, len(sizes))
    means = scale * 0.8 * s.normal("means", 0, (len(sizes), d))
    noise = s.normal("noise", 0, (draws, len(y), d))
    if freedom is not None:
        squares = (s.normal("squares", 0, (draws, len(y), d, freedom)) ** 2).sum(-1)
        noise = noise / np.sqrt(squares / freedom) * np.sqrt((freedom - 2) / freedom)
    x = means[y] + width[y, None] * noise
    plain, mended = (np.array([data_separation(one, y, debias=b) for one in x]) for b in (False, True))
    p = np.array(sizes) / len(y)
    within, between = d * p @ width**2, p @ ((means - p @ means) ** 2).sum(1)
    with np.errstate(divide="ignore"):
        return plain, mended, np.log(within) - np.log(between), np.bincount(y)


@pytest.mark.parametrize("name", SAMPLINGS)
def test_debiased_separation_is_that_of_the_population(name):
    """Its quotient is right on average, its logarithm but for that of what scatters; plain D is too low."""
    plain, mended, true, _ = samplings(name)
    assert np.isfinite(mended).mean() > 0.98
    quotient = np.exp(true - mended[np.isfinite(mended)])
    assert abs(quotient.mean() - 1) < 4 * quotient.std() / np.sqrt(len(quotient)) + 0.01
    assert plain.mean() < true and abs(np.nanmean(mended) - true) < quotient.var() + 0.02
    assert plain.std() < np.nanstd(mended) < 3 * plain.std()


@pytest.mark.parametrize("name", ["few classes", "many classes", "unequal classes", "heavy tails"])
def test_plain_separation_ends_at_its_ceiling_where_debiased_knows_that_it_knows_nothing(name):
    """Classes that are alike: the ceiling is where plain D lies, and what is left of the scatter has either sign."""
    plain, mended, _, count = samplings(name, scale=0.0)
    scatter = np.exp(separation_ceiling(count) - plain)
    assert abs(scatter.mean() - 1) < 4 * scatter.std() / np.sqrt(len(scatter)) + 0.05
    assert 0.3 < np.isnan(mended).mean() < 0.8


def test_shuffled_labels_give_the_ceiling_whatever_the_features():
    """The mean over all ways to deal labels is exact: two samples of each of two classes, dealt in all six ways."""
    x = np.array([[0.0, 1.0], [0.5, -4.0], [7.0, 2.0], [3.0, 3.0]])
    deals = [np.isin(range(4), pair).astype(int) for pair in combinations(range(4), 2)]
    shares = [1 / (1 + np.exp(data_separation(x, y))) for y in deals]  # between over total
    assert np.mean(shares) == pytest.approx(1 / (1 + np.exp(separation_ceiling([2, 2]))))


def test_debiased_separation_where_there_is_nothing_to_correct_with():
    y = np.arange(6) // 2
    points = np.repeat(np.arange(3.0)[:, None], 2, 0)
    assert data_separation(points, y, debias=True) == -np.inf  # collapsed classes have no noise
    assert np.isnan(data_separation(np.arange(3.0)[:, None], np.arange(3), debias=True))  # no width is known
    with pytest.raises(ValueError, match="there is no such form of D̂"):
        data_separation(points, y, "D_hat", debias=True)


@given(seeds, st.integers(2, 5))
def test_kin_are_functions_of_the_same_scatters(seed, classes):
    """Fisher's ratio, Calinski-Harabasz (as scikit-learn defines it), the share of variance, NC1, CKA with labels."""
    n, s = 12 * classes, Stream.of("test kin", seed)
    y, x = np.arange(n) % classes, s.normal("x", 0, (n, 7))
    x = x + s.normal("means", 0, (classes, 7))[y]
    d, d_hat, ceiling = data_separation(x, y), data_separation(x, y, "D_hat"), np.log((n - classes) / (classes - 1))
    means, centre = np.stack([x[y == k].mean(0) for k in range(classes)]), x.mean(0)
    between, within = 12 * ((means - centre) ** 2).sum(), ((x - means[y]) ** 2).sum()
    assert np.exp(-d) == pytest.approx(between / within)
    assert np.exp(ceiling - d) == pytest.approx(between * (n - classes) / (within * (classes - 1)))
    assert 1 / (1 + np.exp(d)) == pytest.approx(between / ((x - centre) ** 2).sum())
    covariances = (x - means[y]).T @ (x - means[y]) / n, (means - centre).T @ (means - centre) / classes
    pinv = np.linalg.pinv(covariances[1], rcond=1e-10)
    assert np.exp(d_hat) / classes == pytest.approx(np.trace(covariances[0] @ pinv) / classes)
    a, b = x - centre, np.eye(classes)[y] - 1 / classes
    cka = np.linalg.norm(b.T @ a) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b))
    total = np.linalg.norm(a.T @ a / n)
    assert cka == pytest.approx(between / n / (total * np.sqrt(classes - 1)))
    # As a variance component between classes, Tr Σ_b counts K − 1 of K.
    components = within / (n - classes), (between / (classes - 1) - within / (n - classes)) / 12
    if components[1] > 0:
        expected = np.log(components[0] / components[1]) + np.log(classes / (classes - 1))
        assert data_separation(x, y, debias=True) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("width", "wrong"), [(0.0, 1), (0.0, 4), (0.3, 1), (0.3, 4), (3.0, 4)])
def test_wrong_labels_bound_separation(width, wrong):
    """Of five classes of forty pairs about their mean each gives so many pairs to each other class."""
    s, k = Stream.of("test wrong labels", 0), 5
    means, off = s.normal("means", 0, (k, 1, 3)), width * s.normal("off", 0, (k, 40, 3))
    x, true = np.concatenate([means + off, means - off], 1), np.arange(k)[:, None] + np.zeros(80, int)
    taken = np.where(np.arange(40) < 4 * wrong, 1 + np.arange(40) // wrong, 0)
    told, a = (true + np.tile(taken, 2)) % k, (1 - 4 * wrong / 40 * k / (k - 1)) ** 2
    d, bounded = (data_separation(x.reshape(-1, 3), y.ravel()) for y in (true, told))
    assert bounded == pytest.approx(np.log((np.exp(d) + 1 - a) / a), abs=1e-9)
