"""Distances from a print: known answers on made-up panels."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book.spring_block import printed
from pairs import Page

page = Page("spring_block/printed")

CURVES = np.broadcast_to([1.0, 0.5, 0.0], (2, 2, 3))
PRINT = xr.Dataset({"accuracy": (("slope", "noise"), [[0.8, 0.9], [0.7, 0.6]])})
PRINT = PRINT.assign(load_curve=(("slope", "noise", "layer"), CURVES))


def ours(points, middle=0.5):
    """Two seeds, on either side of a mean that is off by ``points``; curves from 4 to 2."""
    accuracy = PRINT["accuracy"] + points / 100 + xr.DataArray([-0.05, 0.05], dims="seed")
    load = xr.DataArray([4.0, 2 + 2 * middle, 2.0], dims="layer") * xr.ones_like(accuracy)
    return xr.Dataset({"accuracy": accuracy, "load_curve": load})


def test_accuracies_are_compared_in_points_and_curves_by_their_shape():
    off = printed.off_print(ours(2.0, 0.6), PRINT)
    np.testing.assert_allclose(off["accuracy"], 2.0)
    np.testing.assert_allclose(off["load_curve"].isel(slope=0, noise=0), [0, 0.1, 0], atol=1e-12)
    table = printed.table_of_distances({"(a)": off}).loc["(a)"]
    assert table["accuracy, rms"] == 2.0 and table["about that mean, rms"] == 0.0
    assert table["load curve, rms"] == pytest.approx(0.1 / 3**0.5, abs=0.005)


def test_the_best_epoch_is_that_of_the_smallest_distance_and_seeds_that_are_alike_are_sure():
    along = xr.concat([ours(4.0), ours(-2.0), ours(3.0)], xr.Variable("at_epoch", [10, 20, 40]))
    fewer, along = (one.mean("seed").expand_dims(seed=3) for one in (ours(0.5), along))
    found = printed.beside_best_epoch(fewer, along, PRINT)
    assert (found.value, found.null, *found.difference) == pytest.approx((0.5, 2.0, -1.5, -1.5))


def test_points_stand_over_the_printed_accuracy():
    off = {"(a)": printed.off_print(ours(2.0), PRINT)}
    theirs, difference, panel = printed.beside_their_accuracy(off, {"(a)": PRINT})
    assert theirs.sizes == difference.sizes == panel.sizes == {"panel": 1, "cell": 4}
    np.testing.assert_allclose(sorted(theirs.values.ravel()), [60, 70, 80, 90])
    np.testing.assert_allclose(difference, 2.0)


CELLS = xr.DataArray(np.linspace(0.6, 0.95, 48).reshape(6, 8), dims=("slope", "noise"))


def off_print(rng, points):
    """Three networks a cell, whose accuracies are off the print by ``points``, rms over cells, and in each seed by
    another share more or less."""
    off = rng.standard_normal((6, 8))
    off *= points / np.sqrt((off**2).mean())
    each = 1 + 0.058 * rng.standard_normal((3, 1, 1))
    return xr.Dataset({"accuracy": (("seed", *CELLS.dims), CELLS.values + off * each / 100)}, {"seed": range(3)})


@page.pair("A.errata.fig1a_images", usual=0.6)
def distances_of_seeds(level, rng, rival):
    epochs = [off_print(rng, points) for points in (4.0, level[""] if rival else 3.0)]
    along = xr.concat(epochs, xr.Variable("at_epoch", [10, 100]))
    return {"fewer": off_print(rng, level[""]), "along": along, "printed": xr.Dataset({"accuracy": CELLS})}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()
