"""Growth of noise on its way through a network, and the convex cells of a diagram: known answers."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book.analysis.spring_block.noise_by_layer import growth, where_convex


def test_activations_count_from_the_second_layer_to_the_last_and_gradients_the_other_way():
    layers = [0.0, 1e-3, 1e-2, 1e-1]  # of the first layer under dropout there is no noise
    made = xr.Dataset({"relative": (("signal", "layer"), [layers, layers[::-1]])})
    made = made.assign_coords(signal=["activations", "gradients"], layer=range(1, 5))
    made["relative"].loc[{"signal": "gradients"}] = [1.0, 1e-1, 1e-2, 1e-4]
    assert growth(made).values == pytest.approx([2.0, 3.0])


def test_cells_are_those_whose_curvature_lies_below_zero_with_its_interval():
    bend = np.array([[0.1, 0.1, -0.1], [0.1, -0.001, -0.1], [0.1, -0.1, -0.1]])
    scatter = np.linspace(-0.01, 0.01, 6)
    cells = {"dropout": [0.04, 0.12, 0.28], "slope": [0.0, 0.4, 1.0], "seed": range(6)}
    diagram = xr.Dataset({"curvature": xr.DataArray(bend[..., None] + scatter, cells)})
    number = np.arange(9.0).reshape(3, 3)
    cells = {"strength": ["weak", "middle", "strong"], "slope": [0.0, 0.4, 1.0], "seed": range(2)}
    numbers = xr.DataArray(np.stack([number] * 2, -1), cells).assign_coords(noise="dropout")
    found = where_convex(numbers, diagram)
    assert found.isel(seed=0).values.tolist() == [2.0, 5.0, 7.0, 8.0]
    assert found["at"].values.tolist() == [
        "slope 1, weak", "slope 1, middle", "slope 0.4, strong", "slope 1, strong",
    ]  # fmt: skip
    assert where_convex(numbers, diagram + 1).sizes["at"] == 0
