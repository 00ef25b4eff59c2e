"""What only the supplement's diagrams are asked: known answers on made-up curves."""

import numpy as np
import pytest
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.spring_block import supplement


def straight(lift, n_seeds=3):
    """Straight load curves from 7 to 0 over seven hidden layers, their input ``lift`` above the line."""
    layer = np.arange(8)
    load = (7.0 - layer) / 7 + lift * (layer == 0)
    cells = {"slope": [0.0, 1.0], "dropout": [0.0, 0.1, 0.2], "seed": range(n_seeds), "layer": layer}
    load = xr.DataArray(np.broadcast_to(load, (2, 3, n_seeds, 8)).copy(), cells)
    return xr.Dataset({"load_curve": load, "curvature": curvature(load)})


@pytest.mark.parametrize("lift", [0.0, 0.3, -0.3])
def test_the_input_lies_off_the_line_by_what_it_was_lifted(lift):
    # Six of seven steps are between hidden layers.
    assert supplement.input_off(straight(lift)).values == pytest.approx(abs(lift) * 7 / 6, abs=1e-9)


def test_cells_that_bend_do_not_say_where_the_input_lies():
    made = straight(0.3)
    layer, first = made["layer"], made["dropout"] == 0.0
    bent = made["load_curve"].where(~first, 5 * (1 - (layer / 7) ** 4))
    assert supplement.input_off(made.assign(load_curve=bent)).values == pytest.approx(0.35, abs=1e-9)


def test_debiasing_undoes_what_the_noise_of_class_means_does():
    """Tr Σw loses, and Tr Σb gains, (K − 1) in n shares of the spread: of exp(−D) = b/w with b' = b + (K − 1)/n etc."""
    n, k, true = 400, 10, np.linspace(2.0, 0.5, 4)
    within = 1 - k / n  # of the spread within classes, what is left about means of the same samples
    between = np.exp(-true) + (k - 1) / n
    plain = xr.DataArray(-np.log(between / within), {"layer": range(4)})
    again = supplement.debiased(xr.Dataset({"load_curve": plain}), n, k)
    np.testing.assert_allclose(again["load_curve"], true)


def test_a_row_has_the_curvature_of_training_and_the_accuracy_of_test_samples():
    both = xr.Dataset(
        {"curvature": (("split", "seed"), [[0.1, 0.3], [9, 9]]), "accuracy": (("split", "seed"), [[1, 1], [0.5, 0.7]])},
        {"split": ["train", "test"]},
    )
    rows = supplement.bend_and_accuracy({"both": both, "one": both.sel(split="test")})
    assert rows.loc["both"].tolist() == [0.2, 60.0] and rows.loc["one"].tolist() == [9.0, 60.0]
