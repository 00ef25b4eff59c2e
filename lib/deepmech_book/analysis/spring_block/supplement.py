"""What dropout changes when it sets in: the convolutional network of Figs. S2 and S3."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech.sweeps import sweep_of
from deepmech_book.sweeps.spring_block.convolutional import STAGES


def stage_ends(made: xr.Dataset) -> xr.Dataset:
    """Curves and accuracies at the ends of the three stages of a run of
    :func:`.convolutional.dropout_raised`, over ``stage``."""
    last = int(made["at_epoch"][-1])
    ends = made[["load_curve", "accuracy"]].sel(at_epoch=[last // 3, 2 * last // 3, last]).rename(at_epoch="stage")
    return ends.assign_coords(stage=list(STAGES)).assign(accuracy_without=made["accuracy_without"])


def of_the_papers_size(made: xr.Dataset) -> bool:
    """Whether a run of :func:`.convolutional.dropout_raised` has the paper's images and stages of 4,000 epochs."""
    return sweep_of(made).fixed["data"]["name"] == "mnist" and int(made["at_epoch"][-1]) == 12_000


def table_of_stages(made: xr.Dataset) -> pd.DataFrame:
    """Mean and standard deviation over networks at the end of each stage, beside the text's word for the curve."""
    ends = stage_ends(made)

    def told(runs: xr.DataArray) -> list[str]:
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


def widths_of_classes(made: xr.Dataset) -> xr.DataArray:
    """Logarithm of the relative width of classes by layer, mean over digits, of the three stages and untrained."""

    def width(ratio: xr.DataArray) -> xr.DataArray:
        means: xr.DataArray = xr.apply_ufunc(np.log, ratio.mean("seed")).mean("digit")
        return means

    untrained = width(made["class_width_before"]).expand_dims(stage=["untrained"])
    return xr.concat([untrained, width(made["class_width"])], "stage").rename(stage="network")
