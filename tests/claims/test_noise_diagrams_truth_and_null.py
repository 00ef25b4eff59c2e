"""Claims of the page on Fig. 1, on made-up diagrams of networks with all four kinds of noise and on those of nulls."""

import numpy as np
import pytest
import runs_spring_block as made
import xarray as xr
from runs_spring_block import networks
from truth_and_null import Pairs

from deepmech_book.analysis.spring_block.summaries import NetworkDiagram
from deepmech_book.sweeps.spring_block.networks import PANELS

pairs = Pairs("spring_block/noise_diagrams")


def bend(slope, at):
    """Concave for ReLU without noise; noise and a larger slope bend curves downwards."""
    return 0.2 - slope / 4 - at / 2


def bends_anew(dim: str):
    """Panels as they should be, or with the cells along ``dim`` dealt anew within rows or columns."""

    def maker(true, rng):
        panels = {noise: made.networks(rng, bend, noise=noise) for noise in PANELS}
        if not true:
            for noise, one in panels.items():
                along, alone = (noise, "slope") if dim == "noise" else ("slope", noise)
                panels[noise] = made.shuffled(rng, one, along, [alone])
        return {"panels": panels}

    return maker


pairs.of("A.1.noise_bends")(bends_anew("noise"))
pairs.of("A.1.slope_bends")(bends_anew("slope"))


@pairs.of("A.1.lazy_corner", "A.1.convex_side")
def curves_that_bend(true, rng):
    """Or that are all straight but for scatter."""
    shape = bend if true else lambda slope, at: 0 * at
    return {"panels": {noise: made.networks(rng, shape, noise=noise) for noise in PANELS}}


@pairs.of("A.1.accuracy_falls", "A.1.accuracy_in_rows")
def accuracy_of_straight_curves(true, rng):
    """Or accuracy that follows the training loss, wherever curves are straight."""
    accuracy = (lambda c, slope, at: 0.95 - abs(c) / 5) if true else (lambda c, slope, at: 0.95 - (slope + at) / 10)
    return {"panels": {noise: made.networks(rng, bend, accuracy, noise=noise) for noise in PANELS}}


@pairs.of("A.text.same_fit")
def accuracy_of_fitted_networks(true, rng):
    """Or accuracies of the cells that fit, dealt anew to these."""
    panel = made.networks(rng, bend, noise="learning_rate")
    if not true:
        fits = (panel.accuracy_train == 1).all("seed").values
        numbers = panel.accuracy.values.copy()
        numbers[fits] = rng.permutation(numbers[fits], axis=0)
        panel = panel.assign(accuracy=panel.accuracy.copy(data=numbers))
    return {"panels": {"learning_rate": panel}}


@pairs.of("A.text.test_curves")
def curves_of_test_samples(true, rng):
    """Or test curves of other cells, or such as are all bent by more than training curves are."""
    panels = {noise: made.networks(rng, bend, noise=noise) for noise in PANELS}
    for noise, one in panels.items() if not true else ():
        if rng.random() < 0.5:
            other = made.shuffled(rng, one, noise, ["slope"]).load_curve_test
        else:
            other = made.curves(one.curvature - 0.3)
        panels[noise] = one.assign(load_curve_test=other)
    return {"panels": panels}


@pairs.fair("A.1.accuracy_falls", "A.1.accuracy_in_rows", "A.text.same_fit")
def as_the_loss_tells(rng):
    """Accuracy that falls with the loss and with the size of the curvature alike, each but for scatter of its own."""
    panel = made.networks(rng, bend, noise="learning_rate")
    size = abs(panel.curvature)
    off, beside = rng.normal(0, 0.05, (2, *size.shape))
    return {"panels": {"learning_rate": panel.assign(loss=size + off, curvature=panel.curvature + beside)}}


def best_at(rng, bend, **how):
    """A diagram of networks that are the most accurate at this curvature; mostly concave."""
    return networks(
        rng, lambda slope, at: 0.35 - 0.45 * at - 0.05 * slope, lambda c, slope, at: 0.95 - abs(c - bend) / 2, **how
    )


@pairs.of("A.1.best_is_straight", "A.SM.best_is_straight")
def straight_cells_win(true, rng):
    """Of the null, half of the diagrams have the best cells elsewhere, and half are equally accurate everywhere.

    Ten seeds choose cells, and of one diagram forty fresh ones judge.
    """
    other = best_at(rng, rng.choice([-0.09, 0.12, 0.2]), n_seeds=50) if rng.uniform() < 0.5 else networks(
        rng, lambda slope, at: 0.25 - 0.45 * at - 0.05 * slope, lambda c, slope, at: 0.9, n_seeds=50
    )  # fmt: skip
    second = best_at(rng, 0.0, n_seeds=50) if true else other
    made = {"(b)": best_at(rng, 0.0, noise="learning_rate"), "(c)": second.isel(seed=slice(10))}
    slopes, values = zip(*NetworkDiagram(made["(c)"]).champions(), strict=True)
    cells = {"slope": xr.DataArray(list(slopes), dims="place"), "dropout": xr.DataArray(list(values), dims="place")}
    return {"diagrams": made, "fresh": {"(c)": second.isel(seed=slice(10, None)).sel(cells)}}


@pairs.of("A.S9.bent_is_better")
def bent_cells_win(true, rng):
    """Of the null, the straight cells of one of two diagrams are the most accurate, or all cells are."""
    return straight_cells_win(False, rng) if not true else {
        "diagrams": {depth: best_at(rng, 0.2, noise="learning_rate") for depth in ("S9(a)", "S9(b)")}, "fresh": {}
    }  # fmt: skip


@pairs.of("A.1.best_cell")
def the_best_cell_is_straight(true, rng):
    return {"diagrams": {"(b)": best_at(rng, 0.0, noise="learning_rate"), "(c)": best_at(rng, 0.0 if true else 0.12)}}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)


def test_panels_differ_in_their_noise_alone():
    one, other = (
        made.networks(np.random.default_rng(0), bend, noise=noise).curvature for noise in ("dropout", "batch_size")
    )
    xr.testing.assert_equal(one, other.rename(batch_size="dropout").assign_coords(dropout=one.dropout))
