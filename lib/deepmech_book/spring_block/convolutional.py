"""Figs. S2 and S3: a convolutional network while dropout is raised twice.

``made`` are networks over ``seed``, of :func:`.sweeps.spring_block.convolutional.train_through_stages`; claims are
judged at the paper's size.
"""

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import sweep_of
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside
from deepmech_book.spring_block.summaries import inside_straight
from deepmech_book.spring_block.words import said
from deepmech_book.sweeps.spring_block.convolutional import STAGES


def stage_ends(made):
    """Curves and accuracies at the ends of the three stages, over ``stage``."""
    last = int(made["at_epoch"][-1])
    ends = made[["load_curve", "accuracy"]].sel(at_epoch=[last // 3, 2 * last // 3, last]).rename(at_epoch="stage")
    return ends.assign_coords(stage=list(STAGES)).assign(accuracy_without=made["accuracy_without"])


# --- pictures and table


def over_loss(one):
    """Training loss, test accuracy in per cent, and epoch of the records of one network."""
    return (
        said(np.log10(one["loss"]), r"training loss ($\log_{10}$)"),
        said(100 * one["accuracy"], "test accuracy", "%"),
        said(one["at_epoch"].astype(float), "epoch"),
    )


def widths_of_classes(made):
    """Logarithm of the relative width of classes by layer, mean over digits, of the three stages and untrained."""

    def width(ratio):
        return xr.apply_ufunc(np.log, ratio.mean("seed")).mean("digit")

    untrained = width(made["class_width_before"]).expand_dims(stage=["untrained"])
    widths = xr.concat([untrained, width(made["class_width"])], "stage").rename(stage="network")
    return said(widths, "relative width, natural logarithm")


def table_of_stages(made):
    """Mean and standard deviation over networks at the end of each stage, beside the text's word for the curve."""
    ends = stage_ends(made)

    def told(runs):
        both = zip(runs.mean("seed").values, runs.std("seed", ddof=1).values, strict=True)
        return ["–" if np.isnan(mean) else f"{mean:.2f} ± {off:.2f}".replace("-", "−") for mean, off in both]

    rows = {
        "as the text has it": ["concave", "linear", "convex"],
        "curvature with the image": told(curvature(ends["load_curve"])),
        "curvature from layer 1 on": told(curvature(ends["load_curve"].sel(layer=slice(1, None)))),
        "test accuracy (%)": told(100 * ends["accuracy"]),
        "the same without dropout (%)": told(100 * ends["accuracy_without"]),
    }
    return pd.DataFrame(rows, index=list(STAGES)).T


# --- claims


def judged(made, found):
    """What was found in runs of the paper's images and stages; smaller ones cannot decide a claim."""
    whole = sweep_of(made).fixed["data"]["name"] == "mnist" and int(made["at_epoch"][-1]) == 12_000
    return Measurement(found, not_testable=None if whole else "needs the paper's 2,560 images and 4,000 epochs a stage")


def bend(made, stage):
    """Curvature at the end of a stage."""
    return estimate(curvature(stage_ends(made)["load_curve"]).isel(stage=stage, drop=True), "seed", "symmetric")


@measures("A.S2.order")
def order(made):
    """Steps of the curvature from stage to stage."""
    steps = curvature(stage_ends(made)["load_curve"]).diff("stage")
    return judged(made, estimate(steps, "seed", "symmetric"))


@measures("A.S2.concave")
def concave(made):
    """Curvature at the end of the first stage."""
    return judged(made, bend(made, 0))


@measures("A.S2.linear")
def linear(made):
    """How far inside of straight the curve is at the end of the second stage."""
    return judged(made, inside_straight(bend(made, 1)))


@measures("A.S2.convex")
def convex(made):
    """Curvature at the end of the third stage."""
    return judged(made, bend(made, 2))


@measures("A.S2.accuracy")
def accuracy(made):
    """Change of accuracy over the second stage, and minus that to the first record of the third."""
    right, last = made["accuracy"], int(made["at_epoch"][-1])
    ends = [right.sel(at_epoch=at, drop=True) for at in (last // 3, 2 * last // 3)]
    at_once = right.sel(at_epoch=slice(2 * last // 3 + 1, None)).isel(at_epoch=0, drop=True)
    changes = xr.concat([ends[1] - ends[0], ends[1] - at_once], xr.Variable("stage", list(STAGES)[1:]))
    return judged(made, estimate(changes, "seed", "symmetric"))


@measures("A.S2.not_time")
def not_time(made):
    """Change of accuracy over the second stage; the null: over as many epochs without dropout."""
    ends = stage_ends(made)
    gained, alone = (ends[name].diff("stage").isel(stage=0, drop=True) for name in ("accuracy", "accuracy_without"))
    return judged(made, beside(gained, alone, "seed"))
