"""What only the supplement's diagrams are asked: known answers on made-up curves."""

import numpy as np
import pytest
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.spring_block import summaries, supplement
from deepmech_book.sweeps.spring_block import networks


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


def test_each_seed_is_read_at_the_rate_that_all_others_like_best():
    bend = xr.DataArray([[9.0, 1.0, 1.0], [2.0, 2.0, 2.0]], {"learning_rate": [1e-4, 1e-3], "seed": range(3)})
    # The first seed's 9 draws the others to the first rate, and not the seed itself.
    assert supplement.at_rate_of_others(bend).values.tolist() == [2.0, 1.0, 1.0]


def test_a_parabola_is_smooth_and_a_zigzag_is_as_rough_as_high():
    layer = np.arange(8)
    load = xr.DataArray([(7.0 - layer) ** 2, (-1.0) ** layer], dims=("kind", "layer"))
    parabola, zigzag = supplement.roughness(xr.Dataset({"load_curve": load})).values
    assert parabola == pytest.approx(0, abs=1e-12) and 0.45 < zigzag <= 0.5


def test_curves_twice_as_scattered_are_twice_as_scattered_at_any_scale():
    rng = np.random.default_rng(0)
    mean, off = np.linspace(7, 0, 8), rng.normal(size=(2, 3, 10, 8))
    cells = ("slope", "dropout", "seed", "layer")
    one, other = (xr.Dataset({"load_curve": (cells, 5 * (mean + size * off))}) for size in (2e-3, 1e-3))
    found = supplement.more_scattered(one, other)
    assert found.value == pytest.approx(2, rel=1e-2) and found.low < 2.02 and found.high > 1.98
    assert supplement.scatter_of_seeds(one) == pytest.approx(2e-3 / 7, rel=0.2)


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
    drawn = summaries.as_drawn({networks.TITLES[figure]: made for figure in ("S7a", "S8", "S9b")})
    assert [one.sizes["layer"] for one in drawn.values()] == [4, 4, 3, 3]
    assert list(drawn)[2] == "S8(b), the same from layer 1"
    assert float(drawn["S8(b), the same from layer 1"]["curvature"]) == pytest.approx(0, abs=1e-12)


def test_a_diagram_has_the_phases_of_another_or_lacks_one():
    cells = {"slope": [0.0, 1.0], "dropout": [0.0, 0.1, 0.2], "seed": range(2)}
    bend = xr.DataArray([[0.3, 0.1, 0.02], [0.01, -0.1, -0.2]], {d: cells[d] for d in ("slope", "dropout")})
    known, sagging = (xr.Dataset({"curvature": one.expand_dims(seed=2)}) for one in (bend, bend - 0.25))
    np.testing.assert_allclose(supplement.in_phases_of(known, known), [[0.2, 0.2], [0.15, 0.15]])
    np.testing.assert_allclose(supplement.in_phases_of(known, sagging), [[-0.05, -0.05], [0.4, 0.4]], atol=1e-12)


def test_the_same_cells_of_two_diagrams():
    cells = {"slope": [0.0, 0.5, 1.0], "dropout": [0.0, 0.1], "seed": range(4)}
    whole = xr.Dataset({"curvature": xr.DataArray(np.arange(24.0).reshape(3, 2, 4), cells)})
    part = whole.sel(slope=[0.0, 1.0], dropout=[0.1], seed=[0, 1])
    xr.testing.assert_identical(supplement.same_cells(whole, part * 0), part)
