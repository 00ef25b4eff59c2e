"""Figs. S4 to S9: other depths, widths, images, samples and optimisers, without batch normalisation, beside the print.

``diagrams`` are diagrams of networks by name, each over one kind of noise.
"""

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate, leave_one_out, rank_correlation, stack
from deepmech.metrics.curvature import curvature
from deepmech.metrics.separation import separation_ceiling
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside_others
from deepmech_book.spring_block import summaries
from deepmech_book.spring_block.summaries import STRAIGHT, NetworkDiagram, over_diagrams

# --- pictures and tables


def by_split(made):
    """Load curves at each learning rate on both sets of samples, mean over seeds, by title."""
    load, names = made["load_curve"].mean("seed"), {"train": "training samples", "test": "test samples"}
    return {name: load.sel(split=one, drop=True) for one, name in names.items()}


def bend_and_accuracy(networks):
    """Curvature of training samples and accuracy on test samples, means over seeds, by setting."""
    rows = {}
    for name, one in networks.items():
        bend, right = one["curvature"], one["accuracy"]
        if "split" in one.dims:
            bend, right = bend.sel(split="train"), right.sel(split="test")
        rows[name] = [float(bend.mean()), 100 * float(right.mean())]
    return pd.DataFrame(rows, index=["curvature", "test accuracy (%)"]).T.round(2)


def debiased(made, n_samples, n_classes=10):
    """The same networks by D without the sampling noise of class means, of classes of equal size.

    With n samples of K classes exp(−D') = (1 − K/n) exp(−D) − (K − 1)/n; nan where that is not positive.
    """
    kept = np.exp(-made["load_curve"])
    share = kept * (1 - n_classes / n_samples) - (n_classes - 1) / n_samples
    again = -np.log(share.where(share > 0))
    return made.assign(load_curve=again, curvature=curvature(again))


def near_the_ceiling(diagrams, n_samples, n_classes=10):
    """Networks within a factor of two of the ceiling of D, and accuracy and bend without what it changes."""
    rows = {}
    for name, made in diagrams.items():
        near = made["load_curve"] > separation_ceiling([n_samples // n_classes] * n_classes) - np.log(2)
        plain, again = NetworkDiagram(made), NetworkDiagram(debiased(made, n_samples, n_classes))
        rows[name] = {
            "near the ceiling": f"{int(near.any('layer').sum())} of {made['curvature'].size}",
            "accuracy and bend, plain": str(plain.falls("loss")),
            "debiased": str(again.falls("loss")),
            "within rows, plain": str(plain.falls("loss", in_rows=True)),
            "debiased, too": str(again.falls("loss", in_rows=True)),
            "bent cells gain, plain": str(plain.bent_gains()),
            "and debiased": str(again.bent_gains()),
        }
        if "dropout" in made.dims and 0 in made["layer"]:
            off = (str(estimate(input_off(one), "seed", "symmetric")) for one in (made, debiased(made, n_samples)))
            rows[name] |= dict(zip(("the input off the line, plain", "the same, debiased"), off, strict=True))
    return pd.DataFrame(rows).T.fillna("–")


def same_cells(diagram, other):
    """The networks of a diagram at the labels, of cells and of seeds, that another diagram has."""
    return diagram.sel({dim: other[dim] for dim in other["curvature"].dims})


def table_of_corner(corner):
    """Curvature, training loss and test accuracy (%), means over seeds, by constant and learning rate."""
    columns = {
        "curvature": corner["curvature"],
        "training loss": corner["loss"],
        "test accuracy (%)": 100 * corner["accuracy"],
    }
    return pd.concat({name: one.mean("seed").to_pandas().round(2) for name, one in columns.items()}, axis=1)


# --- claims


@measures("A.SM.noise_bends", "A.S7.b.noise_bends")
def noise_bends(diagrams):
    """Rank correlation of curvature with noise in every row of every diagram."""
    return Measurement(over_diagrams(diagrams, lambda one: one.bends()))


@measures("A.SM.accuracy_falls", "A.S7.b.accuracy_falls")
def accuracy_falls(diagrams):
    """Rank correlation of accuracy with the size of the curvature over the cells of every diagram."""
    return summaries.accuracy_falls(diagrams)


@measures("A.SM.accuracy_in_rows", "A.S7.b.accuracy_in_rows")
def accuracy_in_rows(diagrams):
    """The same within rows, mean over rows."""
    return summaries.accuracy_falls(diagrams, in_rows=True)


def input_off(made):
    """How far D₀ lies off the line through the hidden layers, by what D falls over these, by seed.

    The median over the cells, of slope and dropout, whose curve is straight from layer 1 on.
    """
    load, hidden = made["load_curve"], summaries.without_input(made)
    line = hidden["load_curve"].polyfit("layer", 1).polyfit_coefficients.sel(degree=0, drop=True)
    reach = load.sel(layer=1, drop=True) - load.isel(layer=-1, drop=True)
    off = (load.sel(layer=0, drop=True) - line) / reach
    straight = abs(hidden["curvature"].mean("seed")) <= STRAIGHT
    return abs(off.where(straight).median(["slope", "dropout"]))


@measures("A.S8.input_off")
def input_off_the_line(photographs, digits):
    """How far D of the input lies off the line of the hidden layers; diagrams over dropout."""
    off, null = map(input_off, (photographs, digits))
    return Measurement(beside_others(off, null, "seed"))


# Fig. S4: ``made`` are networks over ``learning_rate`` (three), ``split`` and ``seed``


@measures("A.S4.linear")
def linear(made):
    """How far inside of straight the curve at the middle learning rate is, on both sets of samples."""
    middle = made["curvature"].isel(learning_rate=1, drop=True)
    each = {str(one): estimate(middle.sel(split=one, drop=True), "seed", "symmetric") for one in middle["split"].values}
    return Measurement(stack({split: summaries.inside_straight(bend) for split, bend in each.items()}, "split"))


@measures("A.S4.accuracies")
def accuracies(made):
    """Accuracy on test samples, in per cent, by learning rate."""
    return Measurement(estimate(100 * made["accuracy"].sel(split="test", drop=True), "seed", "symmetric"))


@measures("A.S4.best")
def best(made):
    """Accuracy where the curve of training samples is straightest, less that at each other learning rate."""
    bend, test = made["curvature"].sel(split="train", drop=True), 100 * made["accuracy"].sel(split="test", drop=True)
    straightest = abs(bend.mean("seed")).idxmin("learning_rate")
    ahead = test.sel(learning_rate=straightest, drop=True) - test.drop_sel(learning_rate=straightest)
    return Measurement(estimate(ahead, "seed", "symmetric"))


# ``without`` and ``normed``: over ``slope``, ``dropout``, ``seed``, without and with batch normalisation


@measures("A.text.no_norm_pattern")
def pattern(without, normed, corner):
    """Curvature without batch normalisation where it is concave with it, and minus that where it is convex with it; in
    words that of the ``corner``, ReLU networks without dropout, of each seed at the rate that is best by all others."""
    known, bend = normed["curvature"].mean("seed"), without["curvature"]
    phases = {"concave": bend.where(known > STRAIGHT), "convex": -bend.where(known < -STRAIGHT)}
    cells = [one.mean(["slope", "dropout"]) for one in phases.values()]
    same = estimate(xr.concat(cells, xr.Variable("phase", list(phases))), "seed", "symmetric")
    order = rank_correlation(without["curvature"], normed["curvature"], "seed")
    words = f"Over all cells the rank correlation of both curvatures is {order}."
    small = corner["curvature"].isel(scaled=0, drop=True)  # variance 1, the paper's words
    at = leave_one_out(small, "seed").argmax("learning_rate")
    small = estimate(small.isel(learning_rate=at).drop_vars("learning_rate"), "seed", "symmetric")
    small = f"ReLU networks without dropout have the curvature {small} at the best of three learning rates."
    return Measurement(same, detail=f"{words} {small}")


@measures("A.text.no_norm_bends")
def bends(without):
    """Rank correlation of curvature with dropout, by slope."""
    return Measurement(NetworkDiagram(without).bends())


def scatter_of_seeds(curve):
    """Standard deviation of load curves between seeds, in units of a cell's mean height, rms over layers and cells."""
    height = curve.isel(layer=0, drop=True) - curve.isel(layer=-1, drop=True)
    return float((curve / height.mean("seed")).var("seed", ddof=1).mean() ** 0.5)


@measures("A.text.no_batch_norm")
def scatter(without, normed):
    """By what factor curves differ more between seeds."""
    both = xr.concat([one["load_curve"].astype(float) for one in (without, normed)], "kind", join="exact")

    def factor(some):
        return float(np.log(scatter_of_seeds(some.isel(kind=0)) / scatter_of_seeds(some.isel(kind=1))))

    return Measurement(estimate(both, "seed", "symmetric", of=factor).map(np.exp))


def roughness(made):
    """Root mean square distance of each load curve from its best parabola over the layers, by the curve's height."""
    curve = made["load_curve"].transpose(..., "layer").astype(float)
    powers = np.vander(np.arange(curve.sizes["layer"]), 3)
    left = curve - curve.copy(data=curve.values @ (powers @ np.linalg.pinv(powers)).T)
    return (left**2).mean("layer") ** 0.5 / (curve.max("layer") - curve.min("layer"))


@measures("A.text.no_norm_rough")
def rough(without, normed):
    """By what factor single curves are rougher."""
    one, other = (roughness(made).mean(["slope", "dropout"]) for made in (without, normed))
    return Measurement(estimate(one / other, "seed", "skewed"))
