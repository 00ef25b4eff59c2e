"""Numbers of fitted chains that follow a parameter, or do not: known answers."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book.analysis.beyond import friction_fitted
from deepmech_book.analysis.spring_block import chain_fits

CELLS = {"slope": [0.0, 0.5, 1.0], "dropout": [0.0, 0.1, 0.2, 0.3], "seed": range(2)}
SLOPE, DROPOUT, _ = np.meshgrid(*CELLS.values(), indexing="ij")


def test_what_follows_a_parameter_has_rank_correlation_one_with_it():
    number = xr.DataArray(DROPOUT**2 - 3 * SLOPE, CELLS, name="number")
    assert friction_fitted.follows(number, "dropout").values == pytest.approx([1.0, 1.0])
    assert friction_fitted.follows(number, "slope").values == pytest.approx([-1.0, -1.0])
    null = friction_fitted.shuffled(number, "dropout")
    assert abs(float(null.mean())) < 0.05 and 0.5 < float(null.quantile(0.975)) < 1


def test_chains_in_order_have_the_numbers_found_and_what_was_left_over():
    """Of exact chains nothing is left over, and a second fit finds the numbers in order."""
    rng = np.random.default_rng(0)
    shape = SLOPE.shape
    numbers = {name: rng.choice(values[1:4], shape) for name, values in chain_fits.CHAINS.items()}
    numbers["time"] = np.full(shape, 100.0)
    like = xr.DataArray(np.linspace(1, 0, 6)[:, None] - np.linspace(0, 1, 30), dims=("layer", "at_epoch"))
    like = (like + xr.DataArray(np.zeros(shape), CELLS)).assign_coords(at_epoch=np.arange(1, 31), layer=range(6))
    given = xr.Dataset({name: xr.DataArray(one, CELLS) for name, one in numbers.items()})
    fit = given.assign(load_curve=chain_fits.curves_of(given, like))
    ordered = friction_fitted.in_order(fit["load_curve"] + 0.5, fit)
    assert ordered.dims == like.transpose(*ordered.dims).dims
    wanted = given.assign(
        friction_right=given.friction_right.copy(data=-np.sort(-numbers["friction_right"], 0)),
        noise_bar=given.noise_bar.copy(data=np.sort(numbers["noise_bar"], 1)),
    )
    np.testing.assert_allclose(ordered - 0.5, chain_fits.curves_of(wanted, fit["load_curve"]), atol=1e-12)


def test_a_table_says_what_numbers_follow_and_how_often_they_end_at_a_bound():
    names = ("friction_right", "friction_left", "noise_bar", "time")
    fit = xr.Dataset({name: xr.DataArray(DROPOUT + 0 * SLOPE, CELLS) for name in names})
    fit["friction_left"] = fit["friction_left"].copy(data=-SLOPE - DROPOUT / 10)
    line, bump = (xr.DataArray(one, dims="layer") for one in ([1.0, 0.5, 0.0], [0.0, 0.1, 0.0]))
    bent = line + xr.DataArray(SLOPE, CELLS) * bump
    table = friction_fitted.table_of_numbers(bent.expand_dims(at_epoch=2), fit)
    assert table.loc["noise"].tolist() == ["1.00", "0.00", "0.25", "0.25"]
    assert table.loc["friction to the left"].tolist() == ["-1.00", "-1.00", "0.08", "0.08"]
    assert table.loc["bend of the last curve, no fit", ["with slope", "share at the largest"]].tolist() == ["1.00", "–"]
    scores = {"chain": xr.Dataset({"r2": xr.DataArray(SLOPE, CELLS)})}
    assert friction_fitted.table_of_scores(scores)["chain"] == 0.5
