"""Pairs of the page elastic_sde/separation; chance, fading effects and shares of runs where the answer is known."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech import ElasticSDE
from deepmech.simulators.elastic_sde import PowerLaw, separated_by_chance
from deepmech_book.elastic_sde import separation
from pairs import Page

page = Page("elastic_sde/separation")
ELEMENTS = [(model, r) for model in ("I-model", "L-model", "random $H$") for r in (0.5, 0.8, 1.2, 1.5)]


def coins(rng, share, n):
    """Runs of which a share is true."""
    share = share.expand_dims(run=n)
    return share.copy(data=rng.random(share.shape) < share)


@page.pair("B.thm21.separates", panels=(2, 3, 5, 20), usual=1.0, reach=0.015)
def elastic_classes_part(level, rng, rival):
    """Shares of 400 runs; the rival has single samples, which chance always separates."""
    chance = separation.chance_on_a_line([1] if rival else list(level))
    elastic = chance.copy(data=[1.0] if rival else list(level.values()))
    both = xr.concat([chance, elastic], xr.Variable("gap", [-0.5, 0.5]))
    return {"share": coins(rng, both, 400).mean("run"), "n_runs": 400}


def faded(rng, shares):
    """Forty runs, of which a share is separated at last, by model and exponent."""
    index = [("model", list(dict.fromkeys(m for m, _ in shares))), ("r", [0.5, 0.8, 1.2, 1.5])]
    late = xr.DataArray(np.reshape(list(shares.values()), (-1, 4)), index)
    return coins(rng, xr.concat([0 * late + 0.5, late], xr.Variable("time", [1.0, 1e5])), 40)


@page.pair("B.thm31.fades", panels=ELEMENTS, usual=1.0, reach=0.045)
def slow_effects_part_and_fast_ones_do_not(level, rng, rival):
    """A level counts runs that do as the theorem says; of the rival all are separated, whatever the exponent."""
    return {"separable": faded(rng, {at: one if at[1] < 1 or rival else 1 - one for at, one in level.items()})}


@page.pair("B.c3.random_direction", panels=[at for at in ELEMENTS if at[1] < 1], usual=1.0, reach=0.045)
def one_direction_parts_all(level, rng, rival):
    return {"along": faded(rng, {at: level.get(at, 1.0 if rival else 0.0) for at in ELEMENTS})}


@page.pair("B.thm31.threshold", panels=(2, 3, 5), usual=1.0, expected=1.0, power=0.6)
def curves_cross(level, rng, rival):
    """Fifty runs, of which half are separable at the crossing at both times; two of three keep their luck."""
    factors, runs = np.array([0.95, 1.0, 1.05]), {}
    for k, crossing in level.items():
        share = 0.5 + np.multiply.outer([1, 5], factors - crossing)
        luck = rng.random((50, 2, 3))
        kept = np.arange(50) % 3 > 0
        luck[kept, 1] = luck[kept, 0]
        coords = {"time": [1e2, 1e8], "factor": factors}
        runs[k] = xr.DataArray(luck < share, coords, ("run", "time", "factor"))
    return {"runs": runs}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=5, unique=True))
def test_effects_of_two_classes_differ_by_the_gap_and_add_up(gaps):
    model = separation.two_classes(gaps)
    np.testing.assert_allclose(model.intra - model.inter, gaps, atol=1e-12)
    np.testing.assert_allclose(model.intra + model.inter, 0.2)


def test_simulated_shares_are_those_of_the_closed_form():
    gaps, n_runs = [-0.05, 0.0, 0.05, 0.1], 4000
    share = separation.share_separated(gaps, [2, 5], n_runs)
    exact = separation.probability_at(separation.two_classes(gaps), 100.0, [2, 5])
    assert (abs(share - exact) < 5 * np.sqrt(exact * (1 - exact) / n_runs) + 1e-9).all()


def test_without_distance_only_chance_separates_and_far_apart_all_are():
    model = ElasticSDE(0.3, 0.1)
    assert separation.probability_at(model, 50.0, [3], distance=0.0).item() == pytest.approx(separated_by_chance(3))
    assert separation.probability_at(model, 50.0, [3], distance=1e9).item() == 1.0
    assert separation.probability_at(ElasticSDE(1e4, 0.0), 1e6, [3]).item() == 1.0  # beyond the largest number


def test_chance_on_a_line_is_the_formula_and_few_points_are_always_separable():
    n_draws = 3000
    share, formula = separation.separable_by_chance([1], [1, 2, 3], n_draws), separation.chance_on_a_line([1, 2, 3])
    assert (abs(share.sel(p=1) - formula) <= 4 * np.sqrt(formula * (1 - formula) / n_draws)).all()
    always = separation.separable_by_chance([3, 5], [1, 2, 3], 30)
    assert always.sel(p=3, n=[1, 2]).values.tolist() == [1.0, 1.0]
    assert always.sel(p=5).values.tolist() == [1.0, 1.0, 1.0]


def test_fading_effects_move_classes_apart_by_the_closed_form():
    """Runs of two exponents share all random numbers, so that they differ by their means alone: in the I-model class
    differences grow as e^((A − B)/K), with A − B = 1.2 ∫ (1 + t)^−r."""
    times = [1.0, 10.0]
    x = separation.fading_features([0.5, 2.0], times, 2).sel(model="I-model")
    moved = (x.sel(r=0.5) - x.sel(r=2.0)).transpose("run", "time", "class", "sample", "feature").values
    np.testing.assert_allclose(moved, moved[..., :1, :].repeat(15, -2), atol=1e-12)  # all samples of a class alike
    first, last = (moved[:, i, 0, 0] - moved[:, i, 1, 0] for i in (0, 1))
    integrals = np.stack([PowerLaw.flat(1.0, r, 0.0)[1](np.array(times)) for r in (0.5, 2.0)])
    grown = np.exp(0.4 * integrals[0]) - np.exp(0.4 * integrals[1])
    np.testing.assert_allclose(last / first, grown[1] / grown[0], rtol=1e-9)


def test_noise_of_fading_features_grows_as_brownian_motion_and_is_shared():
    x = separation.fading_features([1.5], [0.5, 8.0], 60, n_samples=40).isel(r=0)
    assert x["model"].values.tolist() == ["I-model", "L-model", "random $H$"]
    for name in x["model"].values:
        spread = x.sel(model=name).var("sample").mean(("run", "class", "feature"))
        np.testing.assert_allclose(spread, np.array([1.5, 9.0]) * 39 / 40, rtol=0.03)
    inner = x - x.mean("sample")
    assert np.allclose(inner.sel(model="L-model"), inner.sel(model="random $H$"))


def test_one_direction_separates_classes_that_lie_apart_along_it_and_no_others():
    far = np.eye(3)[:, None] * 1e3 * np.arange(1, 4)[:, None, None] + np.zeros((3, 4, 3))
    both = xr.DataArray([far, 0 * far], dims=("kind", "class", "sample", "feature"))
    assert separation.along_a_random_direction(both).values.tolist() == [True, False]


def test_strong_effects_keep_classes_apart_and_weak_ones_do_not():
    late = separation.separable_at_the_edge(3, [0.2, 4.0], [1e2, 1e8], 20).isel(time=-1).mean("run")
    assert float(late.sel(factor=0.2)) == 0.0 and float(late.sel(factor=4.0)) == 1.0
