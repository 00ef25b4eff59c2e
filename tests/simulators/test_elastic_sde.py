"""Laws of the locally elastic SDE: closed forms against integration, exact laws against Euler steps and counting."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from deepmech import over
from deepmech.core.random import Stream
from deepmech.simulators.elastic_sde import (
    ElasticSDE,
    PowerLaw,
    critical_strength,
    mean_over_noise,
    mean_solution,
    mixed_logits,
    separated_by_chance,
    separation_probability,
    simulate,
    train_discrete,
)
from deepmech_book.elastic_sde.model import integrated
from elastic_euler import euler

BUMP = xr.DataArray([0.0, 1.5, 0.4], dims="time", coords={"time": [0.0, 1.0, 4.0]})
EFFECTS = {
    "constant": (1.0, -0.4),
    "power law": (PowerLaw(1.2, 0.7), PowerLaw(-0.5, 1.3)),
    "table": (BUMP, -0.3 * BUMP[::1]),
}


def start_of(k, p):
    return Stream.of("test elastic", k, p, 0).normal("start", 0, (k, p))


CLOSED = [
    {"n_classes": 2},
    {"n_classes": 4, "n_features": 2},
    {"n_classes": 3, "label_mixing": 0.4},
    {"n_classes": 3, "structure": "logits"},
    {"n_classes": 4, "structure": "logits"},
]
GENERAL = [
    {"n_classes": 3, "class_weights": [0.6, 0.3, 0.1]},
    {"n_classes": 3, "structure": "logits", "label_mixing": 0.5},
    {"n_classes": 3, "structure": "logits", "class_weights": [0.5, 0.25, 0.25]},
    {"n_classes": 2, "n_features": 2, "structure": start_of(4, 4).reshape(2, 2, 2, 2)},
    {"n_classes": 3, "structure": mixed_logits(3, 0.7)},
]


@pytest.mark.parametrize(
    ("effects", "setting"),
    [(e, s) for e in EFFECTS for s in CLOSED] + [(e, s) for e in ("constant", "power law") for s in GENERAL],
    ids=lambda part: part if isinstance(part, str) else ",".join(part),
)
def test_closed_forms_and_general_solutions_solve_the_equation(effects, setting):
    model = ElasticSDE(*EFFECTS[effects], **setting)
    times, x0 = np.array([0.0, 0.5, 2.0, 3.5]), start_of(model.n_classes, model.n_features)
    np.testing.assert_allclose(
        mean_solution(model, times, x0)["mean"], integrated(model, times, x0), rtol=2e-5, atol=2e-6
    )


def test_a_table_is_integrated_from_each_of_its_times_to_the_next():
    """Estimated effects jump at every step; asked at a single time, the solution is that asked at each time."""
    t = np.arange(0.0, 400.0)
    noise = xr.DataArray(Stream.of("rough").normal("effect", 0, (2, 400)), dims=("effect", "time"), coords={"time": t})
    rough = ElasticSDE(*(0.03 + 0.1 * one for one in noise), n_classes=3, structure="logits")
    x0 = start_of(3, 3)
    found, whole = (mean_solution(rough, at, x0)["mean"].isel(time=-1) for at in ([399.0], t))
    np.testing.assert_allclose(found, whole, rtol=1e-9)
    np.testing.assert_allclose(found, integrated(rough, np.array([399.0]), x0)[0], rtol=1e-4, atol=1e-4)


def test_equations_3_and_7_to_rounding():
    x0 = start_of(3, 2)
    model = ElasticSDE(intra=PowerLaw(2.0, 1.0), inter=0.3, n_classes=3, n_features=2)
    t = 5.0
    a, b = 2 * np.log(6), 1.5
    want = (x0 - x0.mean(0)) * np.exp((a - b) / 3) + x0.mean(0) * np.exp((a + 2 * b) / 3)
    np.testing.assert_allclose(mean_solution(model, [t], x0)["mean"][0], want, rtol=1e-13)


def test_equation_9_holds_with_fixed_vectors_only_while_the_ratio_of_effects_is_constant():
    """X(t) must lie in the span of 1, e^{(A−B)/K}, e^{(A+B/(K−1))/K} if the vectors beside them are fixed."""
    x0, times = start_of(3, 3), np.linspace(0.2, 6, 12)
    for inter, holds in ((PowerLaw(-0.5, 0.8), True), (PowerLaw(-0.5, 2.0), False)):
        model = ElasticSDE(PowerLaw(1.5, 0.8), inter, n_classes=3, structure="logits")
        (_, a), (_, b) = model.rates()
        basis = np.stack(
            [1 + 0 * times, np.exp((a(times)[0] - b(times)[0]) / 3), np.exp((a(times)[0] + b(times)[0] / 2) / 3)], 1
        )
        x = mean_solution(model, times, x0)["mean"].values.reshape(len(times), -1)
        left = x - basis @ np.linalg.lstsq(basis, x, rcond=None)[0]
        assert (np.abs(left).max() < 1e-10) == holds


@given(st.floats(0.2, 3.0), st.floats(0.0, 40.0))
def test_integrals_of_power_laws_match_quadrature(exponent, t):
    value, integral = PowerLaw.flat(1.3, exponent, 0.2)
    assert integral(t) == pytest.approx(quad(value, 0, t)[0], rel=1e-9, abs=1e-12)


def test_power_law_at_exponent_one_is_the_limit():
    near, at = (PowerLaw.flat(1.0, r, 0.0)[1](1e4) for r in (1 + 1e-9, 1.0))
    assert near == pytest.approx(at, rel=1e-7)


MODELS = {
    "isotropic": ElasticSDE(PowerLaw(1.0, 0.5), 0.2, n_classes=3, n_features=2, noise=0.7),
    "logits": ElasticSDE(1.0, -0.5, n_classes=3, structure="logits", noise=0.7),
    "weighted": ElasticSDE(PowerLaw(1.0, 0.5), 0.2, n_classes=3, class_weights=[0.5, 0.3, 0.2], noise=0.7),
}


@pytest.mark.parametrize(
    "name,mean", [("isotropic", "samples"), ("logits", "samples"), ("weighted", "samples"), ("logits", "infinite")]
)
def test_exact_sampling_has_the_law_of_small_euler_steps(name, mean):
    """Mean and covariance of all classes and samples, and between two times: sampling error and order dt."""
    model, runs = MODELS[name], 2000
    x0 = start_of(model.n_classes, model.n_features)
    setting = {"n_samples": 2, "n_runs": runs, "start_spread": 0.3, "mean": mean}
    one = simulate(model, [0.5, 2.0], x0, **setting)
    two = euler(model, [0.5, 2.0], x0, 0.05, seed=1, **setting)
    a, b = one.feature_value.values.reshape(runs, -1), two.reshape(runs, -1)
    spread = np.sqrt((a.var(0) + b.var(0)) / runs)
    assert (np.abs(a.mean(0) - b.mean(0)) < 4.5 * spread + 0.05 * np.abs(a.mean(0)) + 0.02).all()
    va, vb = np.cov(a.T), np.cov(b.T)
    scale = np.sqrt(np.outer(np.diag(va), np.diag(va)))
    assert (np.abs(va - vb) / scale).max() < 0.2  # 5 standard errors of a covariance of 2,000 runs, and O(dt)


def test_covariance_of_the_means_in_closed_form():
    """I-model with constant effects: Var of a class difference is σ²/n · 2(e^{2λt} − 1)/(2λ), λ = (α − β)/K."""
    model, n, t = ElasticSDE(intra=1.5, inter=0.5, noise=2.0), 3, 1.7
    run = simulate(model, [0.4, 0.9, t], [[0.0], [0.0]], n_samples=n, n_runs=20000)
    difference = run.feature_value.isel(time=-1, feature=0).mean("sample").diff("class")
    lam = 0.5
    want = 4 / n * 2 * np.expm1(2 * lam * t) / (2 * lam)
    assert float(difference.var()) == pytest.approx(want, rel=4 * np.sqrt(2 / 20000))


def test_single_sample_training_tends_to_the_sde_as_steps_shrink():
    """Eq. 1 → Eq. 2: the mean with error of order h, the variance of the drawing itself of order h."""
    model = ElasticSDE(intra=1.0, inter=-0.5, n_classes=2, noise=0.0)
    x0, runs = np.array([[1.0], [-0.4]]), 4000
    want = mean_solution(model, [2.0], x0)["mean"].values.ravel()
    variance, errors = [], []
    for h in (0.1, 0.05, 0.025):
        x = train_discrete(model, [2.0], x0, step=h, n_samples=3, n_runs=runs).feature_value.isel(
            time=0, sample=0, feature=0
        )
        discrete = (
            np.linalg.matrix_power(np.eye(2) + h * np.array([[0.5, -0.25], [-0.25, 0.5]]), round(2 / h)) @ x0.ravel()
        )
        np.testing.assert_allclose(x.mean("run"), discrete, atol=5 * float(x.std("run").max()) / np.sqrt(runs))
        errors.append(np.abs(discrete - want).max())
        variance.append(float(x.var("run").max()))
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 2.0, rtol=0.1)
    np.testing.assert_allclose(np.array(variance[:-1]) / variance[1:], 2.0, rtol=0.25)


@pytest.mark.parametrize("structure,mixing", [("isotropic", 0.0), ("logits", 0.3)])
def test_single_sample_training_has_the_noise_and_the_draws_it_should(structure, mixing):
    weights = [0.5, 0.3, 0.2]
    model = ElasticSDE(0.8, 0.2, 3, 3, structure, noise=0.5, class_weights=weights, label_mixing=mixing)
    x0, runs, h = start_of(3, 3), 3000, 0.01
    made = train_discrete(model, [1.0], x0, step=h, n_samples=2, n_runs=runs)
    counts = np.bincount(made.drawn.values.ravel(), minlength=3) / made.drawn.size
    np.testing.assert_allclose(counts, weights, atol=5 * np.sqrt(0.25 / made.drawn.size))
    x = made.feature_value.isel(time=0)
    want = mean_solution(model, [1.0], x0)["mean"][0]
    np.testing.assert_allclose(x.mean(("run", "sample")), want, atol=0.03)
    apart = x.isel(sample=0) - x.isel(sample=1)  # the pulls are common, the noise is not
    np.testing.assert_allclose(apart.var("run"), 2 * 0.25, rtol=0.15)


def test_a_member_alone_in_seven_and_in_any_number_of_runs():
    grid = over("intra", np.linspace(0.5, 2.0, 7))
    x0 = start_of(3, 2)
    for extra in ({}, {"class_weights": [0.5, 0.3, 0.2]}):
        many = simulate(ElasticSDE(grid, 0.3, 3, 2, **extra), [0.5, 2.0], x0, 4, 5, 0.1)
        alone = simulate(ElasticSDE(1.25, 0.3, 3, 2, **extra), [0.5, 2.0], x0, 4, 2, 0.1)
        same = many.feature_value.sel(intra=1.25, method="nearest").isel(run=slice(2)).values
        assert np.array_equal(same, alone.feature_value.values)
    many = train_discrete(ElasticSDE(grid, 0.3, 3, 2), [1.0], x0, 0.05, 4, 3)
    alone = train_discrete(ElasticSDE(1.25, 0.3, 3, 2), [1.0], x0, 0.05, 4, 1)
    assert np.array_equal(many.feature_value.isel(intra=3, run=0), alone.feature_value.isel(run=0))


def test_labelled_arrays_label_the_result():
    model = ElasticSDE(PowerLaw(over("a", [1.0, 2.0]), over("r", [0.5, 1.0, 2.0])), noise=over("sigma", [0.1, 1.0]))
    run = simulate(model, [1.0], [[1.0], [0.0]], n_samples=3)
    assert dict(run.sizes) == {"a": 2, "r": 3, "sigma": 2, "run": 1, "time": 1, "class": 2, "sample": 3, "feature": 1}
    assert "versions" in run.attrs
    table = xr.DataArray([[0.0, 1.0], [1.0, 1.0]], dims=("case", "time"), coords={"case": [0, 1], "time": [0.0, 2.0]})
    grown = mean_solution(ElasticSDE(table), [2.0], [[1.0], [1.0]])["mean"].isel(time=0, feature=0)
    np.testing.assert_allclose(grown.sel({"class": 0}), [np.exp(0.5), np.e])


def test_chance_and_signal():
    assert separated_by_chance(1) == 1 and separated_by_chance(3) == pytest.approx(2 / 20)
    for n in (1, 2, 4, 7):
        assert separation_probability(0.0, n) == pytest.approx(separated_by_chance(n), rel=1e-9)
        curve = separation_probability(np.linspace(0, 30, 31), n)
        assert (np.diff(curve) >= -1e-12).all() and curve[-1] == pytest.approx(1, abs=1e-9)
    z = Stream.of("test chance", 0).normal("z", 0, (40000, 2, 4)) + np.array([[1.5], [0.0]])
    counted = ((z[:, 0].min(1) > z[:, 1].max(1)) | (z[:, 0].max(1) < z[:, 1].min(1))).mean()
    assert separation_probability(1.5, 4) == pytest.approx(counted, abs=4 * np.sqrt(counted / 40000))


@pytest.mark.parametrize("k,label_noise", [(2, 0.0), (3, 0.0), (3, 0.4), (5, 0.0)])
def test_the_threshold_is_sharp(k, label_noise):
    """Signal over noise neither grows nor falls at the critical strength, grows above it and falls below."""
    a = critical_strength(k, label_noise) * over("factor", [0.9, 1.0, 1.1])
    model = ElasticSDE(PowerLaw(a, 1.0), n_classes=k, label_mixing=label_noise)
    ratio = mean_over_noise(model, [1e2, 1e8], start_spread=1.0)
    change = np.log(ratio.isel(time=1) / ratio.isel(time=0)).values
    assert change[0] < -0.5 and change[2] > 0.5 and abs(change[1]) < 1e-9
    assert critical_strength(k, (k - 1) / k) == np.inf


@pytest.mark.parametrize(
    "change,words",
    [
        ({"n_classes": 1}, "n_classes = 1: must be"),
        ({"noise": -1.0}, "noise = -1.0: must be zero or positive"),
        ({"structure": "round"}, "structure = 'round': must be one of"),
        ({"structure": "logits", "n_features": 5}, "must be n_classes = 2"),
        ({"structure": np.ones((2, 2, 3, 2))}, r"structure = .*blocks of shape .*, not \(2, 2, 3, 2\)"),
        ({"class_weights": [0.5, 0.6]}, "add up to 1"),
        ({"label_mixing": 1.5}, "between 0 and 1"),
        ({"label_mixing": [[1.0, 0.0], [0.0, 1.0]]}, "a number or a labelled array"),
        ({"intra": np.nan}, "intra = nan: must be finite"),
        ({"inter": np.exp}, "inter = .*: must be"),
    ],
)
def test_specs_are_checked(change, words):
    with pytest.raises(ValueError, match=words):
        ElasticSDE(**change)


def test_calls_are_checked():
    model = ElasticSDE()
    with pytest.raises(ValueError, match="one finite mean per class"):
        mean_solution(model, [1.0], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="tabulated from t = 0 to 4 and was asked for at 9"):
        mean_solution(ElasticSDE(BUMP), [9.0], [[1.0], [0.0]])
    with pytest.raises(ValueError, match="multiples of step"):
        train_discrete(model, [1.0], [[1.0], [0.0]], step=0.3)
