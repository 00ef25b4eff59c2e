"""Pictures of the pages on paper B: each takes finished arrays and knows its labels and its text alternative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech import plots
from deepmech_book.figures import Picture, pictured

__all__ = [
    "accuracies",
    "all_times",
    "distance_from_limit",
    "effect_plane",
    "fading_effects",
    "fading_exponents",
    "gaps_along_directions",
    "logit_clouds",
    "plane_angles",
    "projected_logits",
    "separable_by_chance",
    "shapes",
    "share_separated",
    "simplex_distance",
    "threshold",
    "training_losses",
    "two_classes",
]

_clouds = pictured(plots.clouds)
_curve_panels = pictured(plots.curve_panels)
_dots = pictured(plots.dots)
_heat = pictured(plots.heat)
_images = pictured(plots.images)
_lines = pictured(plots.lines)

# --- model ------------------------------------------------------------------------------------------------------------


def two_classes(features: xr.DataArray) -> Picture:
    """Means and ranges of two classes: ``features`` over ``kind`` (a panel each), ``time``, ``class``, ``sample``."""
    return _curve_panels(
        features.mean("sample"),
        x="time",
        by="class",
        panel="kind",
        interval=(features.min("sample"), features.max("sample")),
        label="class {}",
        x_label="time $t$",
        y_label="feature",
        alt="Two panels of two classes that start close together. Left they grow apart; right they grow together, and "
        "their ranges overlap at all times.",
    )


def distance_from_limit(error: xr.DataArray) -> Picture:
    """Distances of training in single steps from the differential equation, over ``step`` and ``of``."""
    return _lines(
        error,
        x="step",
        by="of",
        x_label="step $h$",
        y_label="distance from the limit",
        alt="Two nearly straight lines towards zero: error of the mean and variance, both in proportion to the step.",
    )


# --- collapse ---------------------------------------------------------------------------------------------------------


def simplex_distance(distance: xr.DataArray) -> Picture:
    """Distance of class means from a simplex, over ``time``, a curve for each effect between classes ``inter``."""
    return _lines(
        distance,
        x="time",
        by="inter",
        label=r"$\beta$ = {}",
        log="y",
        points=False,
        legend=True,
        x_label="time $t$",
        y_label="distance from a simplex",
        alt="Two curves fall exponentially, for negative effects between classes; two stay of order one, for positive "
        "ones.",
    )


# --- separation -------------------------------------------------------------------------------------------------------


def share_separated(share: xr.DataArray, interval: tuple[xr.DataArray, xr.DataArray], theory: xr.DataArray) -> Picture:
    """Theorem 2.1: shares of separated runs over ``gap``, a curve for each ``n``, beside the closed form."""
    return _lines(
        share,
        x="gap",
        by="n",
        label="$n$ = {}",
        interval=interval,
        theory=theory,
        theory_label="closed form",
        x_label=r"$\alpha - \beta$",
        y_label="share of separated runs",
        legend=True,
        alt="Curves over the difference of effects, one for each number of samples: flat at a chance level for "
        "negative differences and rising to one for positive ones.",
    )


def effect_plane(probability: xr.DataArray) -> Picture:
    """Probability of separation over the two effects, ``intra`` and ``inter``, on equal grids."""
    return _heat(
        probability,
        x="inter",
        y="intra",
        label="probability of separation",
        x_label=r"effect between classes $\beta$",
        y_label=r"effect within classes $\alpha$",
        limits=(0, 1),
        boundary=(probability["inter"].values, probability["intra"].values),
        boundary_label=r"$\alpha = \beta$",
        alt="A square of two effects, split along its diagonal: separation is certain above it and impossible below.",
    )


def separable_by_chance(share: xr.DataArray, theory: xr.DataArray) -> Picture:
    """Shares of draws that are separable by chance over ``n``, a curve for each ``p``; ``theory`` for p = 1."""
    return _lines(
        share,
        x="n",
        by="p",
        label="$p$ = {}",
        theory=theory,
        theory_label=r"$2/\binom{2n}{n}$",
        x_label="samples per class $n$",
        y_label="share separable by chance",
        alt="Falling curves over the number of samples, one for each number of dimensions, higher for more dimensions.",
    )


def fading_effects(share: xr.DataArray, interval: tuple[xr.DataArray, xr.DataArray]) -> Picture:
    """Theorem 3.1: shares of separable runs over ``time``, a panel for each ``model``, a curve for each ``r``."""
    return _curve_panels(
        share,
        x="time",
        by="r",
        panel="model",
        label="$r$ = {}",
        log="x",
        columns=3,
        interval=interval,
        x_label="time $t$",
        y_label="share of separable runs",
        alt="Three panels of four curves over logarithmic time: those of slowly fading effects rise to one, those of "
        "fast fading ones fall to zero.",
    )


def fading_exponents(probability: xr.DataArray) -> Picture:
    """Probability of separation late in training over the exponent ``r``, a curve for each strength ``a``."""
    return _lines(
        probability,
        x="r",
        by="a",
        label="$a$ = {}",
        points=False,
        legend=True,
        x_label="exponent $r$",
        y_label="probability of separation",
        alt="Curves that fall from one to zero over the exponent, further to the right for stronger effects.",
    )


def threshold(share: xr.DataArray) -> Picture:
    """Shares of separable runs over the strength ``factor``, a curve for each ``time``."""
    return _lines(
        share,
        x="factor",
        by="time",
        label="$t$ = {}",
        x_label="strength $a$ over $K/2$",
        y_label="share of separable runs",
        legend=True,
        alt="Three rising curves over the strength that cross in one point at one and become steeper with time.",
    )


def all_times(since: xr.DataArray, now: xr.DataArray) -> Picture:
    """Shares of runs that have been separated at all times so far, and at the threshold at each ``time``.

    ``since`` has three strengths (``factor``), of which the middle one is the threshold; ``now`` likewise.
    """
    share = xr.concat([since, now.isel(factor=[1])], "factor").rename(factor="curve")
    return _lines(
        share.assign_coords(curve=["0.9 · $K/2$", "$K/2$", "1.1 · $K/2$", "at that time"]),
        x="time",
        by="curve",
        log="x",
        points=False,
        x_label="time $t$",
        y_label="share of runs",
        alt="Four curves over logarithmic time: at the lowest strength a fast fall to zero, at the threshold a slow "
        "fall while the share at each time stays level, above it a level line at one.",
    )


def gaps_along_directions(gap: xr.DataArray) -> Picture:
    """Smallest gaps between projected class means, over ``draw`` and ``choice``: mean and middle half of the draws."""
    return _dots(
        gap.mean("draw"),
        row="choice",
        interval=tuple(gap.quantile(q, "draw").drop_vars("quantile") for q in (0.25, 0.75)),
        x_label="smallest gap over the best possible",
        alt="Four rows: the best direction at one, the difference of the best two classes below it, then an arbitrary "
        "pair, then random directions.",
    )


# --- logits -----------------------------------------------------------------------------------------------------------


def logit_clouds(points: xr.DataArray, label: xr.DataArray, names: Sequence[str], **how: Any) -> Picture:
    """Single logits in the plane across (1, 1, 1), a panel for each ``moment``, a point per ``trial``.

    ``points`` has the dimension ``axis``, ``label`` is the class of each point, ``names`` name the classes; ``how``
    holds ``alt`` and ``figure`` of :class:`~deepmech_book.figures.Picture`.
    """
    return _clouds(
        points.rename(trial="point"),
        label.rename(trial="point"),
        axes="axis",
        panel="moment",
        names=names,
        title="iteration {}",
        x_label=r"$(X_1 - X_2)/\sqrt{2}$",
        y_label=r"$(X_1 + X_2 - 2X_3)/\sqrt{6}$",
        **how,
    )


def training_losses(loss: xr.DataArray) -> Picture:
    """Training loss of single networks over ``iteration``, a curve for each ``trial``; ln 3 is what guessing costs."""
    return _lines(
        loss.assign_coords(trial=loss["trial"] + 1),
        x="iteration",
        by="trial",
        label="network {}",
        legend=True,
        level=float(np.log(3)),
        level_label="ln 3",
        points=False,
        y_label="training loss",
        x_label="iteration",
        alt="Five curves that stay on a line at ln 3 for a while, each for its own time, and then fall.",
    )


def projected_logits(quantiles: xr.Dataset, simulated: xr.DataArray) -> Picture:
    """Logits along the difference of two class means over ``time``, a panel for each ``pair``, beside the L-model.

    ``quantiles`` has ``low``, ``median`` and ``high``.
    """
    return _curve_panels(
        quantiles["median"],
        x="time",
        by="class",
        panel="pair",
        interval=(quantiles["low"], quantiles["high"]),
        theory=simulated,
        theory_label="L-model",
        x_label="iteration",
        y_label="projected logits",
        alt="Two panels of three bands over training that start together at zero and part.",
    )


def accuracies(accuracy: xr.DataArray, interval: tuple[xr.DataArray, xr.DataArray]) -> Picture:
    """Training and validation accuracy (``set``) in per cent over ``iteration``, a panel for each ``name``."""
    return _curve_panels(
        accuracy,
        x="iteration",
        by="set",
        panel="name",
        interval=interval,
        level=90.0,
        x_label="iteration",
        y_label="accuracy (%)",
        alt="Two panels of two curves. Training accuracy passes 90 % in both; validation accuracy stays above 90 % "
        "with two classes and below with three.",
    )


def shapes(images: xr.DataArray) -> Picture:
    """Figure 2: drawn shapes, a row for each ``shape``, over ``sample``; images have ``row`` and ``column``."""
    return _images(
        images,
        x="sample",
        y="shape",
        x_label="sample",
        figure="B.2",
        alt="Three rows of small grey images: white triangles, rectangles and ellipses on black, turning further from "
        "left to right.",
    )


def plane_angles(angles: xr.Dataset) -> Picture:
    """Figure D.10: angles ``turn`` and ``tilt`` of the normal of the plane of the class means, over ``time``."""
    names = xr.Variable("angle", ["to the final normal", "to (1, 1, 1)"])
    return _lines(
        xr.concat([angles["turn"], angles["tilt"]], names),
        x="time",
        by="angle",
        x_label="iteration",
        y_label="angle (degrees)",
        points=False,
        legend=True,
        figure="B.D10",
        alt="Two curves of angle over iteration that lie on one another, large and jumping at first, near zero later.",
    )
