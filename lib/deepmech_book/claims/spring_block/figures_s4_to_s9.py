"""Claims of the page spring_block/figures_s4_to_s9: paper A's diagrams at other depths, widths, images and optimisers,
without batch normalisation, on test samples, and beside the print.

``diagrams`` are finished diagrams of networks by name, each over one kind of noise
(:class:`~deepmech_book.analysis.spring_block.summaries.NetworkDiagram`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate, rank_correlation, stack
from deepmech_book.analysis.nulls import beside_others
from deepmech_book.analysis.spring_block import supplement
from deepmech_book.analysis.spring_block.printed import beside_best_epoch
from deepmech_book.analysis.spring_block.regimes import inside
from deepmech_book.analysis.spring_block.summaries import NetworkDiagram, beside_both, over_diagrams
from deepmech_book.analysis.spring_block.supplement import input_off
from deepmech_book.claims.functions import Measurement, measures

Diagrams = Mapping[str, xr.Dataset]


@measures("A.SM.noise_bends", "A.S7.b.noise_bends")
def noise_bends(diagrams: Diagrams) -> Measurement:
    """Rank correlation of curvature with noise in every row of every diagram."""
    return Measurement(over_diagrams(diagrams, lambda one: one.bends_with_noise))


@measures("A.SM.accuracy_falls", "A.S7.b.accuracy_falls")
def accuracy_falls(diagrams: Diagrams) -> Measurement:
    """Rank correlation of accuracy with the size of the curvature over the cells of every diagram."""
    found = over_diagrams(diagrams, lambda one: one.falls_beside("loss"))
    return Measurement(found, detail=beside_both(diagrams))


@measures("A.SM.accuracy_in_rows", "A.S7.b.accuracy_in_rows")
def accuracy_in_rows(diagrams: Diagrams) -> Measurement:
    """The same within rows, mean over rows."""
    found = over_diagrams(diagrams, lambda one: one.falls_beside("loss", in_rows=True))
    return Measurement(found, detail=beside_both(diagrams, in_rows=True))


@measures("A.S8.input_off")
def input_off_the_line(photographs: xr.Dataset, digits: xr.Dataset) -> Measurement:
    """How far D of the input lies off the line of the hidden layers; diagrams over dropout."""
    off, null = map(input_off, (photographs, digits))
    return Measurement(beside_others(off, null, "seed"))


@measures("A.S9.best_is_concave")
def best_is_concave(diagrams: Diagrams) -> Measurement:
    """Curvature of the most accurate cell of every diagram, beside the mean of its cells."""
    means = np.array([float(one["curvature"].mean()) for one in diagrams.values()])
    return Measurement(over_diagrams(diagrams, lambda one: one.best_curvature), null=means)


# --- Fig. S4: ``made`` are networks over ``learning_rate`` (three), ``split`` and ``seed`` ----------------------------


@measures("A.S4.turns")
def turns(made: xr.Dataset) -> Measurement:
    """Curvature at the smallest learning rate, and minus that at the largest, on both sets of samples."""
    ends = made["curvature"].isel(learning_rate=[0, -1])
    signed = ends * xr.DataArray([1.0, -1.0], {"learning_rate": ends["learning_rate"]})
    return Measurement(estimate(signed, "seed", "symmetric"))


@measures("A.S4.linear")
def linear(made: xr.Dataset) -> Measurement:
    """How far inside of straight the curve at the middle learning rate is, on both sets of samples."""
    middle = made["curvature"].isel(learning_rate=1, drop=True)
    each = {str(one): estimate(middle.sel(split=one, drop=True), "seed", "symmetric") for one in middle["split"].values}
    return Measurement(stack({split: inside("straight", bend) for split, bend in each.items()}, "split"))


@measures("A.S4.accuracies")
def accuracies(made: xr.Dataset) -> Measurement:
    """Accuracy on test samples, in per cent, by learning rate."""
    return Measurement(estimate(_test(made), "seed", "symmetric"))


@measures("A.S4.best")
def best(made: xr.Dataset) -> Measurement:
    """Accuracy where the curve of training samples is straightest, less that at each other learning rate."""
    bend, test = made["curvature"].sel(split="train", drop=True), _test(made)
    straightest = abs(bend.mean("seed")).idxmin("learning_rate")
    ahead = test.sel(learning_rate=straightest, drop=True) - test.drop_sel(learning_rate=straightest)
    return Measurement(estimate(ahead, "seed", "symmetric"))


def _test(made: xr.Dataset) -> xr.DataArray:
    return 100 * made["accuracy"].sel(split="test", drop=True)


# --- ``without`` and ``normed``: over ``slope``, ``dropout``, ``seed``, without and with batch normalisation ----------


@measures("A.text.no_norm_concave")
def concave(corner: xr.Dataset) -> Measurement:
    """Curvature at the best learning rate of the other seeds; ``corner``: ReLU networks without dropout, over
    ``learning_rate`` and ``scaled``."""
    bend = corner["curvature"].isel(scaled=0, drop=True)  # variance 1, the paper's words
    return Measurement(estimate(supplement.at_rate_of_others(bend), "seed", "symmetric"))


@measures("A.text.no_norm_pattern")
def pattern(without: xr.Dataset, normed: xr.Dataset) -> Measurement:
    """Curvature without batch normalisation where it is concave with it, and minus that where it is convex with it."""
    same = estimate(supplement.in_phases_of(normed, without), "seed", "symmetric")
    order = rank_correlation(without["curvature"], normed["curvature"], "seed")
    return Measurement(same, detail=f"Over all cells the rank correlation of both curvatures is {order}.")


@measures("A.text.no_norm_bends")
def bends(without: xr.Dataset) -> Measurement:
    """Rank correlation of curvature with dropout, by slope."""
    return Measurement(NetworkDiagram(without).bends_with_noise)


@measures("A.text.no_batch_norm")
def scatter(without: xr.Dataset, normed: xr.Dataset) -> Measurement:
    """By what factor curves differ more between seeds."""
    return Measurement(supplement.more_scattered(without, normed))


@measures("A.text.no_norm_rough")
def rough(without: xr.Dataset, normed: xr.Dataset) -> Measurement:
    """By what factor single curves are rougher."""
    one, other = (supplement.roughness(made).mean(["slope", "dropout"]) for made in (without, normed))
    return Measurement(estimate(one / other, "seed", "skewed"))


# --- Networks are panels of Fig. 1 over ``slope``, a noise and ``seed``; ``printed`` is one as printed ----------------


@measures("A.errata.fig1a_images")
def images_of_fig_1a(fewer: xr.Dataset, along: xr.Dataset, printed: xr.Dataset) -> Measurement:
    """Distance from the print with fewer images, networks of the same seeds; the null: with all, at the best
    ``at_epoch`` along the way. Interval over cells."""
    return Measurement(beside_best_epoch(fewer.sel(seed=along["seed"].values), along, printed))
