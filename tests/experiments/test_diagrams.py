"""Diagrams of the supplement: what each changes in Fig. 1, and the numbers that their claims share."""

import numpy as np
import pytest
import xarray as xr

from deepmech.sweeps import run
from deepmech_book import figures
from deepmech_book.experiments.spring_block import networks, summaries
from deepmech_book.experiments.spring_block.diagrams import DIAGRAMS, diagram

TINY = {"name": "digits", "n_train": 120, "n_test": 100}


def test_a_diagram_trains_the_networks_of_figure_1_under_its_own_settings():
    size = {"network": {"width": 12}, "training": {"epochs": 3}}
    one = run(diagram("S5a", TINY, [1e-3], [0.0, 1.0], 1, **size))
    same = run(
        networks.figure_1("learning_rate", TINY, [1e-3], [0.0, 1.0], 1, {"width": 12, "depth": 6}, {"epochs": 3})
    )
    xr.testing.assert_identical(one.drop_attrs(), same.drop_attrs())
    assert one.sizes["layer"] == 6


def test_what_the_supplement_changes():
    sweeps = {name: diagram(name, "digits") for name in DIAGRAMS}
    assert all(sweep.n_cells == 480 for sweep in sweeps.values())
    assert {name: sweep.fixed["training"]["epochs"] for name, sweep in sweeps.items() if "S5" in name} == {
        "S5a": 200,
        "S5b": 200,
    }
    assert sweeps["S7b"].fixed["training"] == {
        "optimizer": "sgd",
        "learning_rate": 1e-3,
        "epochs": 1000,
        "batch_size": 100,
    }
    assert sweeps["S9b"].fixed["network"] == {"depth": 20}
    names = [sweep.name for sweep in sweeps.values()] + [networks.figure_1(p, "digits").name for p in networks.PANELS]
    # A stored result is found by "name-*": no name may begin with another.
    assert not [(a, b) for a in names for b in names if a is not b and b.startswith(a)]


def test_a_figure_that_is_no_diagram_is_named():
    with pytest.raises(ValueError, match=r"figure = 'S4'.*S5a"):
        diagram("S4")


def made_up(bend: np.ndarray, accuracy: np.ndarray, n: int = 10) -> xr.Dataset:
    """A sweep's result of ``n`` seeds, half of them 0.03 more curved and half less."""
    dims = ("slope", "dropout", "seed")
    coords = {"slope": [0.0, 1.0], "dropout": [0.0, 0.1, 0.2], "seed": np.arange(n)}
    each = {
        "curvature": bend[..., None] + 0.03 * (-1) ** np.arange(n),
        "accuracy": np.repeat(accuracy[..., None], n, -1),
    }
    return xr.Dataset({k: (dims, v) for k, v in each.items()}, coords)


BEND = np.array([[0.3, 0.1, -0.1], [0.05, -0.15, -0.35]])


def test_numbers_of_two_diagrams_side_by_side():
    peaked, rising = made_up(BEND, 1 - abs(BEND)), made_up(BEND, 0.5 + BEND)
    found = {"peaked": summaries.measures(peaked), "rising": summaries.measures(rising)}
    table = summaries.table(found)
    assert table.loc["highest accuracy"].tolist() == ["95.0 %", "80.0 %"]
    assert table.loc["its cell", "peaked"] == "α = 1, dropout 0"


@pytest.mark.parametrize("n", [1, 2, 9])
def test_too_few_seeds_have_no_interval(n):
    found = summaries.measures(made_up(BEND, 1 - abs(BEND), n))
    assert f"too few runs for an interval: {n}," in found.falls.why
    assert "[" not in summaries.table({"few": found}).loc["rank correlation of accuracy with |curvature|", "few"]


def test_the_input_off_the_line_of_the_layers():
    """Residuals orthogonal to a line leave the fit exact; neither scale nor shift of D counts."""
    left = np.array([1.0, -1.0, -1.0, 1.0]) / 10
    line = 3 - 0.5 * np.arange(5)
    load = xr.DataArray(line + np.concatenate([[-0.3], left]), dims="layer")
    assert summaries.input_off(load) == pytest.approx(-0.3 / 1.5)
    assert summaries.input_off(2 * load - 1) == pytest.approx(float(summaries.input_off(load)))


def test_a_network_diagram_knows_its_noise():
    means = made_up(BEND, 1 - abs(BEND)).mean("seed")
    load = xr.DataArray(np.linspace(1, 0, 4), dims="layer", coords={"layer": np.arange(4)})
    means["load_curve"] = load * xr.ones_like(means.curvature)
    axes = figures.network_diagram(means, alt="six small load curves").render().axes
    assert axes[1].get_xlabel() == "dropout probability"
    assert [t.get_text() for t in axes[1].get_xticklabels()] == ["0.2", "0.1", "0"]
    batches = means.rename(dropout="batch_size").assign_coords(batch_size=[1000, 100, 10])
    axes = figures.network_diagram(batches, alt="six small load curves").render().axes
    assert [t.get_text() for t in axes[1].get_xticklabels()] == ["10", "100", "1000"]
    points = figures.accuracy_by_bend(means, (-1, -1, -1), alt="six points of accuracy").render().axes[0].collections[0]
    assert sorted(points.get_offsets()[:, 0]) == pytest.approx(sorted(abs(BEND).ravel()))
    with pytest.raises(ValueError, match="exactly one"):
        figures.network_diagram(means.rename(dropout="heat"), alt="six small load curves")
