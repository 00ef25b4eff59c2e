"""What only the supplement's diagrams are asked: known answers on made-up curves."""

import numpy as np
import pytest
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.spring_block import summaries, supplement
from deepmech_book.spring_block.experiments import TITLES


def test_stages_end_at_thirds_of_the_record():
    epochs = np.arange(10, 70, 10)
    load = xr.DataArray(epochs[:, None, None] * np.ones((1, 2, 4)), dims=("at_epoch", "seed", "layer"))
    made = xr.Dataset(
        {"load_curve": load, "accuracy": load.isel(layer=0) / 100, "accuracy_without": ("stage", [0.2, 0.2, 0.2])},
        {"at_epoch": epochs, "stage": list(supplement.STAGES), "layer": range(4)},
    )
    ends = supplement.stage_ends(made)
    assert ends["accuracy"].isel(seed=0).values.tolist() == [0.2, 0.4, 0.6]
    assert ends["stage"].values.tolist() == list(supplement.STAGES)


def test_widths_are_logarithms_of_means_over_seeds():
    ratio = xr.DataArray([[[1.0, 3.0]]], dims=("layer", "digit", "seed"))
    made = xr.Dataset({"class_width_before": ratio, "class_width": ratio.expand_dims(stage=["no dropout"]) * 2})
    found = supplement.widths_of_classes(made)
    assert found.network.values.tolist() == ["untrained", "no dropout"]
    np.testing.assert_allclose(found.values.ravel(), np.log([2, 4]))


def test_photographs_are_drawn_from_layer_1_on_where_the_paper_does():
    curve = xr.DataArray([9.0, 3.0, 2.0, 1.0], {"layer": range(4)})
    made = xr.Dataset({"load_curve": curve, "curvature": curvature(curve)})
    drawn = summaries.as_drawn({TITLES[figure]: made for figure in ("S7a", "S8", "S9b")})
    assert [one.sizes["layer"] for one in drawn.values()] == [4, 4, 3, 3]
    assert list(drawn)[2] == "S8(b), the same from layer 1"
    assert float(drawn["S8(b), the same from layer 1"]["curvature"]) == pytest.approx(0, abs=1e-12)
