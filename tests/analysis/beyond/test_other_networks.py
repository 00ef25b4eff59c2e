"""Numbers of the page on other networks, where they are known."""

import numpy as np
import pytest
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.beyond import other_networks

CELLS = {"slope": [0.0, 1.0], "dropout": [0.5, 0.0], "seed": range(4)}


def networks(bend):
    return xr.Dataset({"curvature": xr.DataArray(np.array(bend)[..., None] + np.zeros(4), CELLS)})


def test_corners_are_those_of_least_slope_and_dropout_in_whatever_order_cells_stand():
    found = other_networks.corners(networks([[-0.2, 0.3], [-0.4, 0.1]]))
    np.testing.assert_allclose(found, [[0.3] * 4, [0.3] * 4])
    fall = other_networks.falls({"plain": networks([[-0.2, 0.3], [-0.4, 0.1]])})
    np.testing.assert_allclose(fall.sel(network="plain"), -0.5)


def test_the_table_of_corners_has_curvatures_and_no_signs_of_the_claim():
    one = {"plain": networks([[-0.2, 0.3], [-0.4, 0.1]])}
    table = other_networks.table_of_corners(one, {"plain": networks(np.zeros((2, 2)))})
    assert table.loc[("plain", "much dropout"), ["curvature", "from", "to", "untrained"]].tolist() == pytest.approx(
        [-0.3, -0.3, -0.3, 0.0]
    )


def test_the_table_of_images_tells_the_first_layer_from_the_rest():
    load = xr.DataArray(np.array([4.0, 2.0, 1.0, 0.0]) + np.zeros((1, 3, 1)), dims=("images", "seed", "layer"))
    one = {"load_curve": load.assign_coords(images=["10"]), "curvature": curvature(load), "accuracy": load[..., 0]}
    row = other_networks.table_of_images(xr.Dataset(one)).loc["10"]
    assert row["share of the first layer"] == 0.5 and row["curvature from layer 1"] == 0 != row["curvature"]
