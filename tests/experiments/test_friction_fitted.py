"""Chains fitted to a plane of networks: what went in comes back, and what was not shown is not used."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import t as student

from deepmech.core.estimates import estimate
from deepmech_book.experiments.spring_block import chain_fits, recorded
from deepmech_book.experiments.spring_block import friction_fitted as fitted

EPOCHS = np.arange(10, 101, 10)
CELLS = {"seed": [0, 1, 2], "slope": list(recorded.SLOPES), "dropout": list(recorded.DROPOUTS)}


def plane(**numbers):
    """What a fit would return for chains whose numbers are these functions of slope and dropout."""
    slope, dropout = (xr.DataArray(CELLS[d], {d: CELLS[d]}, d) for d in ("slope", "dropout"))
    like = xr.DataArray(np.zeros([len(v) for v in CELLS.values()]), CELLS, list(CELLS))
    made = xr.Dataset({name: like + of(slope, dropout) for name, of in numbers.items()})
    flat = {name: made[name].values.ravel() for name in fitted.NUMBERS}
    loads, _ = fitted._followed(flat, EPOCHS, 7)
    axes = (*like.dims, "layer", "at_epoch")
    made["load_curve"] = (axes, loads.reshape(*like.shape, *loads.shape[1:]))
    return made.assign_coords(layer=np.arange(8), at_epoch=EPOCHS)


@pytest.fixture(scope="module")
def lawful():
    return plane(
        friction_right=lambda slope, dropout: 0.1 - 0.08 * slope,
        friction_left=lambda slope, dropout: 0.1,
        noise_bar=lambda slope, dropout: 0.02 * np.exp(8 * dropout),
        time=lambda slope, dropout: 60.0,
    )


def test_numbers_that_follow_are_found_to_follow_and_others_are_not(lawful):
    found = fitted.follows(lawful).mean("seed")
    assert found.sel(number="friction_right", parameter="slope") == pytest.approx(-1)
    assert found.sel(number="noise_bar", parameter="dropout") == pytest.approx(1)
    # What is the same everywhere follows nothing.
    assert (
        found.sel(number="friction_right", parameter="dropout") == 0 == found.sel(number="noise_bar", parameter="slope")
    )


def test_cells_dealt_anew_follow_nothing_on_average(lawful):
    drawn = fitted.permutation_null(lawful, "friction_right", "slope")
    assert abs(float(drawn.mean())) < 0.05 and 0.1 < float(drawn.std()) < 0.3


def test_a_law_over_the_plane_foretells_a_cell_that_was_left_out(lawful):
    """The chain's own law does, and noise alone foretells nothing."""
    rival = chain_fits.relaxed(lawful["load_curve"])
    found = fitted.foretold(lawful["load_curve"], lawful, rival)
    assert float(found.sel(rule="chain").min()) > 0.99
    other = lawful["load_curve"].copy()
    other[:, 2, 2] = 5 - 3 * other[:, 2, 2]
    changed = fitted.foretold(other, lawful.assign(load_curve=other), chain_fits.relaxed(other))
    hit = {"slope": CELLS["slope"][2], "dropout": CELLS["dropout"][2]}
    for rule in ("chain", "relaxation", "interpolation"):
        assert float(changed.sel(rule=rule).sel(hit).max()) < 0.5, rule


def test_leaving_a_cell_out_by_its_leverage_is_leaving_it_out(lawful):
    load = lawful["load_curve"]
    values = lawful["noise_bar"].values + np.sin(np.arange(lawful["noise_bar"].size)).reshape(lawful["noise_bar"].shape)
    guessed = fitted._from_others(values, load)
    x, y = np.meshgrid(CELLS["slope"], np.array(CELLS["dropout"]) / max(CELLS["dropout"]), indexing="ij")
    x, y = x.ravel(), y.ravel()
    terms = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], -1)
    kept = np.arange(len(x)) != 7
    weights = np.linalg.lstsq(terms[kept], values[1].ravel()[kept], rcond=None)[0]
    assert guessed[1].ravel()[7] == pytest.approx(terms[7] @ weights)


def test_known_chains_that_are_tried_come_back_and_scatter_costs():
    known = fitted.known_chains(EPOCHS, n_groups=3, n_each=12, tried=True)
    assert set(np.unique(known.friction_left)) <= set(chain_fits.CHAINS["friction_left"])
    ranges = known["load_curve"].max(["layer", "at_epoch"]) - known["load_curve"].min(["layer", "at_epoch"])
    np.testing.assert_allclose(ranges, 1)
    clean = fitted.read_back(known, chain_fits.fitted_chains(known["load_curve"])).mean("group")
    assert float(clean.sel(number="time")) > 0.9
    nowhere = xr.DataArray(np.zeros((3, 2, 8, 10)), dims=("seed", "slope", "layer", "at_epoch"))
    nowhere = nowhere + xr.DataArray(np.linspace(1, 0, 8), dims="layer")
    np.testing.assert_allclose(fitted.with_scatter(known["load_curve"], nowhere), known["load_curve"])


def test_a_chain_that_friction_keeps_concave_is_told_from_one_in_haste():
    numbers = {
        "friction_right": np.array([0.0, 0.1]),
        "friction_left": np.array([0.0, 0.1]),
        "noise_bar": np.array([0.01, 0.01]),
        "time": np.array([3.0, 150.0]),
    }
    found = fitted.fades(xr.Dataset({name: ("chain", values) for name, values in numbers.items()}))
    assert (found.now > fitted.BENT).all()
    assert float(found.later[0]) < fitted.BENT < float(found.later[1])


def test_the_difference_of_the_frictions_follows_what_one_of_them_does(lawful):
    falls = fitted.ranks(fitted.effective(lawful), "slope")
    assert falls.sizes == {"seed": 3} and np.allclose(falls, -1)


def test_two_looks_widen_an_interval_as_half_the_error_does():
    runs = np.random.default_rng(0).normal(size=10)
    one = estimate(runs, scatter="symmetric")
    two = fitted.wider(one, looks=2)
    reach = student.ppf(0.9875, 9) * runs.std(ddof=1) / np.sqrt(10)
    np.testing.assert_allclose(two.interval, (runs.mean() - reach, runs.mean() + reach))
    np.testing.assert_allclose(fitted.wider(one, looks=1).interval, one.interval)
