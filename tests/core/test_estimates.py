"""The one interval: how often it covers, what it refuses, and what it says then."""

import itertools
import traceback

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, spearmanr
from scipy.stats import t as student

from deepmech.core import estimates
from deepmech.core.estimates import (
    Estimate,
    bootstrap,
    crossing,
    estimate,
    jackknife,
    leave_one_out,
    linear_slope,
    proportion,
    rank_correlation,
    stack,
)
from deepmech.core.labels import over
from deepmech.core.random import Stream

SAMPLES = 20_000
STREAM = Stream.of("statistics", 0)
#: Runs by name: how they come from normal numbers (or pairs of them), and their mean.
SYMMETRIC = {"normal": (lambda z: z[0], 0.0), "mildly skewed": (lambda z: z[0] + 0.17 * (z[0] ** 2 - 1), 0.0)}
SKEWED = {
    "exponential": (lambda z: (z[0] ** 2 + z[1] ** 2) / 2, 1.0),
    "lognormal, half": (lambda z: np.exp(z[0] / 2), np.exp(1 / 8)),
}
LONG = {"lognormal": (lambda z: np.exp(z[0]), np.exp(1 / 2))}
LAWS = SYMMETRIC | SKEWED | LONG


def drawn(law, n, samples=SAMPLES):
    """(runs, samples) of a law, and its mean."""
    change, mean = LAWS[law]
    return change(Stream.of("coverage", law, n).normal("runs", 0, (2, n, samples))), mean


def covered(found, truth):
    return float(np.mean((found.low <= truth) & (truth <= found.high)))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 60])
@pytest.mark.parametrize("scatter", estimates.MIN_RUNS)
@pytest.mark.parametrize("law", LAWS)
def test_an_interval_covers_or_there_is_none(law, scatter, n):
    """Nominal 95 %: between 93 and 97 for runs no more skewed than is said, or no interval, and why."""
    allowed = {"symmetric": SYMMETRIC, "skewed": SYMMETRIC | SKEWED, "any": LAWS}[scatter]
    runs, mean = drawn(law, n)
    found = estimate(runs, scatter=scatter)
    if n < estimates.MIN_RUNS[scatter]:
        assert np.isnan(found.low).all() and np.isnan(found.high).all() and not found.is_finite
        assert found.reason.startswith(f"too few runs for an interval: {n}") and np.isfinite(found.value).all()
    elif law in allowed:
        assert 0.93 <= covered(found, mean) <= 0.97 and found.n == n


@pytest.mark.parametrize("n", [3, 5, 10])
def test_runs_that_scatter_by_factors_belong_on_a_logarithm(n):
    """Of lognormal runs the interval of the geometric mean covers from three on, that of the mean at no such n."""
    runs, mean = drawn("lognormal", n)
    assert 0.93 <= covered(estimate(np.log(runs), scatter="symmetric").map(np.exp), 1.0) <= 0.97
    assert covered(estimate(runs, scatter="symmetric"), mean) < 0.92


@pytest.mark.parametrize("n", [3, 4, 10])
def test_of_symmetric_runs_it_is_students(n):
    runs = STREAM.normal("runs", n, n)
    reach = student.ppf(0.975, n - 1) * runs.std(ddof=1) / np.sqrt(n)
    mean = runs.mean()
    np.testing.assert_allclose(estimate(runs, scatter="symmetric").interval, [mean - reach, mean + reach])
    # A sample without skewness is not moved by taking it out.
    mirrored = np.concatenate([runs, -runs, np.arange(10) - 4.5])
    skewed = estimate(mirrored, scatter="skewed").interval
    np.testing.assert_allclose(skewed, estimate(mirrored, scatter="symmetric").interval, atol=1e-12)


@given(st.lists(st.floats(-1e3, 1e3), min_size=10, max_size=14), st.floats(-50, 50), st.floats(1e-2, 1e2))
def test_it_moves_and_scales_with_its_runs_and_holds_their_mean(runs, shift, factor):
    runs = np.array(runs)
    assume(np.ptp(runs) > 1e-3)
    low, high = estimate(runs, scatter="skewed").interval
    assert low < runs.mean() < high
    np.testing.assert_allclose(
        estimate(shift + factor * runs, scatter="skewed").interval,
        [shift + factor * low, shift + factor * high],
        rtol=1e-6,
        atol=1e-6 * factor,
    )
    np.testing.assert_allclose(estimate(-runs, scatter="skewed").interval, [-high, -low], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [3, 5, 10])
def test_an_exponent_of_mean_curves_covers(n):
    """Leaving out runs: a power law fitted to the mean of curves whose points scatter by 30 %."""
    x = np.log(np.geomspace(1, 100, 8))
    curves = np.exp(-0.7 * x + 0.3 * Stream.of("exponents", n).normal("runs", 0, (n, 4000, 8)))

    def power(y):
        return ((np.log(y) * (x - x.mean())).sum(-1)) / ((x - x.mean()) ** 2).sum()

    found = jackknife(power(curves.mean(0)), power(leave_one_out(curves)), scatter="symmetric")
    assert 0.93 <= covered(found, -0.7) <= 0.97


@pytest.mark.parametrize("n, m", [(3, 3), (3, 12), (5, 5), (24, 10)])
def test_a_difference_of_two_samples_covers(n, m):
    z = Stream.of("differences", n, m).normal("runs", 0, (n + m, SAMPLES))
    a, b = z[:n], 3 * z[n:]
    value = a.mean(0) - b.mean(0)
    found = jackknife(value, leave_one_out(a) - b.mean(0), a.mean(0) - leave_one_out(b), scatter="symmetric")
    assert 0.93 <= covered(found, 0.0) <= 0.97
    with pytest.raises(ValueError, match="scatter = 'skewed' of two samples"):
        jackknife(value, leave_one_out(a), leave_one_out(b), scatter="skewed")


@pytest.mark.parametrize("n", [3, 5, 10])
def test_a_slope_covers_and_two_points_have_none(n):
    x = np.linspace(0, 1, n)
    rows = 2 * x + 0.3 * Stream.of("slopes", n).normal("points", 0, (2000, n))
    hits = np.mean([low <= 2 <= high for low, high in (linear_slope(x, y).interval for y in rows)])
    assert 0.93 <= hits <= 0.97
    two = linear_slope(x[:2], rows[0, :2])
    assert not two.is_finite and two.reason.endswith("it takes 3")


@pytest.mark.parametrize("n", [3, 5, 10, 100])
def test_a_share_covers_on_average_over_true_shares(n):
    truth = (np.arange(1000) + 0.5) / 1000
    found = proportion(np.arange(n + 1) / n, n)
    hits = [binom.pmf(k, n, truth) * ((found.low[k] <= truth) & (truth <= found.high[k])) for k in range(n + 1)]
    assert 0.945 <= np.sum(hits, 0).mean() <= 0.965
    assert found.low[0] == pytest.approx(0, abs=1e-12) and found.high[0] < 0.6 and found.low[n] > 0.4
    assert not proportion(0.5, 2).is_finite
    square = proportion(over("a", [0.0, 1.0]) * xr.ones_like(over("b", [3, 4, 5]), float), n)
    assert square.low.dims == ("a", "b") and float(square.high[0, 2]) == found.high[0]
    with pytest.raises(ValueError, match=rf"share = 0.123: must be a share of n = {n} runs"):
        proportion(0.123, n)


def test_runs_that_share_data_get_rather_too_wide_an_interval():
    """Ten halvings of ten groups: how far one half is from the other, by two models that a half is projected on."""
    stream, d, samples = Stream.of("halvings", 0), 20, 400
    centre = np.repeat([1.0, 0.3, 0.1], [5, 5, 10])
    found = []
    for i in range(samples):
        groups = centre + stream.normal("groups", i, (10, d))
        ratios = []
        for split in range(10):
            order = stream.permutation("order", 10 * i + split, 10)
            own, other = groups[order[:5]].mean(0), groups[order[5:]].mean(0)
            ratios.append(
                np.linalg.norm(other - own * (np.arange(d) < 10)) / np.linalg.norm(other - own * (np.arange(d) < 5))
            )
        found.append(np.log(ratios))
    truth = np.mean(found)
    wide, narrow = (
        np.mean(
            [low <= truth <= high for low, high in (estimate(f, scatter="skewed", overlap=o).interval for f in found)]
        )
        for o in (1.0, 0.0)
    )
    assert wide >= 0.96 and narrow < 0.85


def test_labels_stay_and_a_run_that_is_not_finite_leaves_no_interval_where_it_stands():
    runs = over("seed", range(12)) * over("noise", [1.0, 2.0, 3.0])
    low, high = estimate(runs, "seed", scatter="skewed").interval
    assert low.dims == ("noise",) and (low < runs.mean("seed")).all() and (high > runs.mean("seed")).all()
    np.testing.assert_array_equal(low.values, estimate(runs.transpose("noise", "seed"), "seed", scatter="skewed").low)
    diverged = runs.where((runs["seed"] != 3) | (runs["noise"] != 2.0))
    found = estimate(diverged, "seed", scatter="skewed")
    assert np.isfinite(found.low.values).tolist() == [True, False, True]
    assert found.reason == estimates.UNKNOWN and found.map(lambda end: end.sel(noise=1.0)).is_finite
    with pytest.raises(ValueError, match=r"over = 'run': must be the dimension of runs, one of \('seed', 'noise'\)"):
        estimate(runs, "run")


def test_bad_runs_are_named():
    for bad, words in (
        ([True, False, True], "booleans; the estimate of a share"),
        (["a", "b"], r"runs = \['a', 'b'\]: must be real numbers"),
        ([], r"runs of shape \(0,\)"),
        (3.0, r"runs of shape \(\)"),
    ):
        with pytest.raises(ValueError, match=words):
            estimate(bad)
    with pytest.raises(ValueError, match="scatter = 'normal': must be one of 'symmetric', 'skewed', 'any'"):
        estimate([1.0, 2.0, 3.0], scatter="normal")
    with pytest.raises(ValueError, match="leave it out"):
        estimate([1.0, 2.0, 3.0], "seed")


def test_equal_runs_give_a_point_and_one_run_nothing():
    assert estimate(np.full(10, 0.5), scatter="skewed").interval == (0.5, 0.5)
    assert jackknife(2.0, np.full(3, 2.0), np.full(4, 2.0), scatter="symmetric").interval == (2.0, 2.0)
    one = np.array([[1.0, 2.0]])
    found = jackknife(one[0], leave_one_out(one), scatter="symmetric")
    assert not found.is_finite and "1, and with symmetric scatter it takes 3" in found.reason


numbers = st.lists(st.integers(-5, 5), min_size=3, max_size=20)


@given(st.data())
def test_rank_correlation_is_spearmans_with_ties_and_ignores_monotone_maps(data):
    x = np.array(data.draw(numbers), float)
    y = np.array(data.draw(st.lists(st.integers(-5, 5), min_size=len(x), max_size=len(x))), float)
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)

    def runs(values):
        """Ten runs that all say the same, as labelled cells."""
        return xr.DataArray(np.tile(values, (10, 1)), dims=("seed", "cell"))

    got = rank_correlation(runs(x), runs(y), "seed")
    assert got.value == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert got.interval == pytest.approx((got.value, got.value), abs=1e-12)
    assert rank_correlation(runs(np.exp(x)), runs(y**3), "seed").value == got.value
    assert rank_correlation(runs(-x), runs(y), "seed").value == pytest.approx(-got.value, abs=1e-12)


@pytest.mark.parametrize(("scatter", "shared"), [(0.2, False), (0.02, True)])
def test_the_interval_of_a_rank_correlation_is_over_runs(scatter, shared):
    """Ten runs of a smooth diagram: each cell scatters by itself, or all of a run together. Cells are not resampled."""
    x, hits = np.linspace(0, 1, 48), []
    y, stream = 0.3 * np.sin(9 * x) - x, Stream.of("ranks", int(shared))
    truth = spearmanr(x, y).statistic
    for i in range(300):
        noise = stream.normal("runs", i, (2, 10, 1 if shared else 48))
        noise = scatter * noise * (np.sin(3 * x + np.arange(2)[:, None, None]) if shared else 1.0)
        runs = [xr.DataArray(v + n, dims=("seed", "cell")) for v, n in zip((x, y), noise, strict=True)]
        found = rank_correlation(*runs, "seed")
        hits.append(found.low <= truth <= found.high)
    # Of 300 samples, give or take three standard errors.
    assert 0.93 - 0.038 <= np.mean(hits) <= 0.97 + 0.03


def test_rank_correlations_of_two_runs_have_no_interval_and_bad_ones_are_named():
    x = xr.DataArray(np.arange(10.0).reshape(2, 5) ** 2, dims=("seed", "cell"))
    found = rank_correlation(x, -x, "seed")
    assert found.value == -1
    assert found.reason == "too few runs for an interval: 2, and with skewed scatter it takes 10"
    with pytest.raises(ValueError, match="y has 1 different values in 5 cells"):
        rank_correlation(x, 0 * x, "seed")
    with pytest.raises(ValueError, match="x has 2 different values in 2 cells"):
        rank_correlation(x[:, :2], x[:, :2], "seed")
    # A diverged run takes its cell out of both.
    four = [a.isel(cell=[0, 2, 3, 4]) for a in (x, x**2 % 7)]
    assert rank_correlation(x.where(x != 1), x**2 % 7, "seed").value == rank_correlation(*four, "seed").value


@given(
    y=st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=12),
    level=st.sampled_from([-1.0, 0.0, 0.5]),
    direction=st.sampled_from(["falls", "rises", "either"]),
)
def test_a_crossing_lies_on_the_curve_and_nothing_crosses_before_it(y, level, direction):
    x = np.cumsum(np.arange(1.0, len(y) + 1))
    at = crossing(x, y, level, direction=direction)
    assert crossing(x, y, level, direction=direction, last=True) >= at or np.isnan(at)
    assert crossing(
        x, [-v for v in y], -level, direction={"falls": "rises", "rises": "falls"}.get(direction, direction)
    ) == at or np.isnan(at)
    before = [v for u, v in zip(x, y, strict=True) if u < at] if np.isfinite(at) else y
    if direction == "falls":
        assert not any(a > level >= b for a, b in itertools.pairwise(before))
    if np.isfinite(at):
        assert np.interp(at, x, y) == pytest.approx(level)


def test_a_curve_that_is_no_curve_is_named():
    with pytest.raises(ValueError, match=r"x \(2,\) and y \(3,\)"):
        crossing([0, 1], [0, 1, 2], direction="falls")
    with pytest.raises(ValueError, match="direction = 'down'"):
        crossing([0, 1], [0, 1], direction="down")
    assert np.isnan(crossing([0, 1, 2], [1.0, np.nan, -1.0], direction="falls"))


@given(st.integers(3, 10**6), st.data())
def test_shares_of_single_precision_are_those_of_double(n, data):
    k = data.draw(st.integers(0, n))
    single, double = proportion(np.float32(k / n), n), proportion(k / n, n)
    assert single.interval == double.interval
    with pytest.raises(ValueError, match="must be a share"):
        proportion((k + 0.5) / n if k < n else -0.5 / n, n)


ARRAYS = st.lists(st.floats(0.1, 9), min_size=2, max_size=2).map(np.array)


@st.composite
def estimates_with_company(draw):
    kind = draw(st.sampled_from([lambda a: a, lambda a: xr.DataArray(a, {"cell": ["a", "b"]}, ["cell"])]))
    value, width, null = (kind(draw(ARRAYS)) for _ in range(3))
    beyond = (value - null - width, value - null + width)
    return Estimate(value, value * 0.9, value + width, 7, "", null, beyond)


@given(estimates_with_company())
def test_a_change_of_an_estimate_changes_all_of_it_or_leaves_it_out(found):
    halved = found.map(np.log)
    np.testing.assert_array_equal(halved.null, np.log(found.null))
    assert halved.difference is None and halved.n == 7
    first = found.select(lambda numbers: numbers[0])
    for name in ("value", "low", "high", "null"):
        assert float(getattr(first, name)) == float(getattr(found, name)[0])
    assert [float(end) for end in first.difference] == [float(end[0]) for end in found.difference]
    pair = stack([first, found.select(lambda numbers: numbers[1])])
    for name in ("value", "low", "high", "null", "difference"):
        np.testing.assert_array_equal(getattr(pair, name), np.array(getattr(found, name)))
    named = stack({"a": first, "b": first}, "twice")
    assert named.null.dims == named.difference[0].dims == ("twice",) and named.n == 7
    assert stack([first, Estimate(1.0)]).null is stack([first, Estimate(1.0)]).difference is None
    assert stack({"a": Estimate(1.0)}, "one").difference is None


@given(estimates_with_company(), estimates_with_company())
def test_estimates_are_equal_if_their_numbers_labels_and_words_are(one, other):
    same = Estimate(
        one.value.copy(), one.low.copy(), one.high.copy(), one.n, one.reason, one.null.copy(), one.difference
    )
    assert one == same and hash(one) == hash(same) and one != "text"
    alike = isinstance(one.value, type(other.value)) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("value", "low", "null")
    )
    assert alike or one != other
    assert one != Estimate(one.value, one.low, one.high, 8, one.reason, one.null, one.difference)
    assert Estimate(np.nan) == Estimate(float("nan")) != Estimate(0.0) == Estimate(-0.0) == Estimate(0)
    whole, real, text = (
        Estimate(xr.DataArray([1.0, 2.0], {"x": labels}, "x")) for labels in ([0, 1], [0.0, 1.0], ["0", "1"])
    )
    assert whole == real != text and hash(whole) == hash(real)


def test_what_does_not_reach_a_function_of_runs_is_refused():
    runs = xr.Dataset({"loss": ("seed", [1.0, 2.0, 6.0])})
    for name, value in (("overlap", 0.5), ("at", 1.0)):
        with pytest.raises(ValueError, match=name):
            estimate(runs, "seed", of=lambda some: float(some.loss.mean()), **{name: value})
    for wrong in (runs.loss.values, runs):
        with pytest.raises(ValueError, match="over = 'seeds'"):
            estimate(wrong, "seeds", of=lambda some: 1.0)


ODD = st.sampled_from(
    [None, True, "a", [], [0], 3, 2.0, -1.0, np.nan, {"a": 1}, xr.DataArray([1.0, 2.0], dims="b"), np.zeros(3)]
)
RUNS = np.array([1.0, 2.0, 4.0])
DOORS = {
    "estimate": lambda v, how: estimate(**{"runs": RUNS, "scatter": "symmetric"} | {how: v}),
    "jackknife": lambda v, how: jackknife(
        RUNS.mean(), *([v] if how == "runs" else [RUNS]), **{} if how == "runs" else {how: v}
    ),
    "leave_one_out": lambda v, how: leave_one_out(**{"runs": xr.DataArray(RUNS, dims="a"), "over": "a"} | {how: v}),
    "stack": lambda v, how: stack({"a": Estimate(1.0)}, v) if how == "over" else stack([]),
    "crossing": lambda v, how: crossing(**{"x": [0, 1], "y": [1, -1], "direction": "falls"} | {how: v}),
    "linear_slope": lambda v, how: linear_slope(**{"x": [0, 1, 2], "y": RUNS} | {how: v}),
    "rank_correlation": lambda v, how: rank_correlation(
        **{
            "x": xr.DataArray(np.ones((3, 4)) * range(4), dims=("a", "b")),
            "y": xr.DataArray(np.ones((3, 4)) * range(4), dims=("a", "b")),
            "over": "a",
        }
        | {how: v}
    ),
}
ASKED = {
    "estimate": ("runs", "over", "scatter", "overlap"), "jackknife": ("runs", "over", "scatter"),
    "leave_one_out": ("over",), "stack": ("over", "runs"),
    "crossing": ("x", "y", "level", "direction"), "linear_slope": ("x", "y"),
    "rank_correlation": ("x", "y", "over"),
}  # fmt: skip


@given(st.sampled_from([(door, how) for door, names in ASKED.items() for how in names]), ODD)
def test_any_argument_is_taken_or_refused_in_our_own_words(asked, value):
    door, how = asked
    try:
        DOORS[door](value, how)
    except ValueError as error:
        assert "deepmech" in traceback.extract_tb(error.__traceback__)[-1].filename, error


def test_the_middle_of_the_draws_holds_what_they_can_be_and_nothing_between():
    """The place of a maximum takes few values: ends of its interval are among them; of a mean they are as usual."""
    rng = np.random.default_rng(3)
    runs = rng.normal([0.0, 1.0, 0.9, -1.0], 0.3, (12, 4))
    place = bootstrap(lambda mean: np.array([0.0, 2.0, 7.0, 9.0])[mean.argmax(-1)], runs, percentiles=True)
    assert (place.value, place.low, place.high) == (2.0, 2.0, 7.0)
    plain, middle = (bootstrap(lambda mean: mean[:, 1], runs, percentiles=p) for p in (False, True))
    assert middle.low == pytest.approx(plain.low, abs=0.1) and middle.high == pytest.approx(plain.high, abs=0.1)
