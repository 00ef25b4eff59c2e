"""What only networks of paper A's supplement are asked: where the input lies, what a ceiling of D changes, how rough
and how alike curves are without batch normalisation, and what dropout changes when it sets in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, leave_one_out
from deepmech.metrics.curvature import curvature
from deepmech.metrics.separation import separation_ceiling
from deepmech.sweeps import sweep_of
from deepmech_book.analysis.spring_block.summaries import STRAIGHT, NetworkDiagram, without_input
from deepmech_book.sweeps.spring_block.convolutional import STAGES


def input_off(made: xr.Dataset) -> xr.DataArray:
    """How far D₀ lies off the line through the hidden layers, by what D falls over these; (seed,).

    The median over the cells, of ``slope`` and ``dropout``, whose curve is straight from layer 1 on.

    Parameters
    ----------
    made : Dataset
        ``load_curve`` (slope, dropout, seed, layer), the input included, and its ``curvature``.
    """
    load, hidden = made["load_curve"], without_input(made)
    line = hidden["load_curve"].polyfit("layer", 1).polyfit_coefficients.sel(degree=0, drop=True)
    reach = load.sel(layer=1, drop=True) - load.isel(layer=-1, drop=True)
    off = (load.sel(layer=0, drop=True) - line) / reach
    straight = abs(hidden["curvature"].mean("seed")) <= STRAIGHT
    return abs(off.where(straight).median(["slope", "dropout"]))


def debiased(made: xr.Dataset, n_samples: int, n_classes: int = 10) -> xr.Dataset:
    """The same networks by D without the sampling noise of class means, of classes of equal size.

    With n samples of K classes exp(−D') = (1 − K/n) exp(−D) − (K − 1)/n; nan where that is not positive.

    Parameters
    ----------
    made : Dataset
        ``load_curve`` (…, layer) by plain D.
    """
    kept: xr.DataArray = xr.apply_ufunc(np.exp, -made["load_curve"])
    share = kept * (1 - n_classes / n_samples) - (n_classes - 1) / n_samples
    again = -xr.apply_ufunc(np.log, share.where(share > 0))
    return made.assign(load_curve=again, curvature=curvature(again))


def near_the_ceiling(diagrams: Mapping[str, xr.Dataset], n_samples: int, n_classes: int = 10) -> pd.DataFrame:
    """A row for each diagram: networks within a factor of two of the ceiling of D, and accuracy without them."""
    rows = {}
    for name, made in diagrams.items():
        near = made["load_curve"] > separation_ceiling([n_samples // n_classes] * n_classes) - np.log(2)
        plain, again = NetworkDiagram(made), NetworkDiagram(debiased(made, n_samples, n_classes))
        rows[name] = {
            "near the ceiling": f"{int(near.any('layer').sum())} of {made['curvature'].size}",
            "accuracy and bend, plain": str(plain.falls_beside("loss")),
            "debiased": str(again.falls_beside("loss")),
            "within rows, plain": str(plain.falls_beside("loss", in_rows=True)),
            "debiased, too": str(again.falls_beside("loss", in_rows=True)),
            "bent cells gain, plain": str(plain.bent_gains),
            "and debiased": str(again.bent_gains),
        }
        if "dropout" in made.dims and 0 in made["layer"]:
            off = (str(estimate(input_off(one), "seed", "symmetric")) for one in (made, debiased(made, n_samples)))
            rows[name] |= dict(zip(("the input off the line, plain", "the same, debiased"), off, strict=True))
    return pd.DataFrame(rows).T.fillna("–")


def bend_and_accuracy(networks: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """A row for each setting: curvature of training samples and accuracy on test samples, means over seeds.

    Parameters
    ----------
    networks : Dataset by name
        ``curvature`` and ``accuracy`` (seed,), or (seed, split) where both sets of samples were measured.
    """
    rows = {}
    for name, one in networks.items():
        both = (
            one if "split" not in one.dims else one.sel(split="train").assign(accuracy=one.accuracy.sel(split="test"))
        )
        rows[name] = [float(both["curvature"].mean()), 100 * float(both["accuracy"].mean())]
    return pd.DataFrame(rows, index=["curvature", "test accuracy (%)"]).T.round(2)


def same_cells(diagram: xr.Dataset, other: xr.Dataset) -> xr.Dataset:
    """The networks of a diagram at the labels, of cells and of seeds, that another diagram has."""
    return diagram.sel({dim: other[dim] for dim in other["curvature"].dims})


# --- figures_s4_to_s9, without batch normalisation --------------------------------------------------------------------


def at_rate_of_others(bend: xr.DataArray) -> xr.DataArray:
    """Curvature (seed,) of each seed at the ``learning_rate`` where the mean over all *other* seeds is largest."""
    best = leave_one_out(bend, "seed").argmax("learning_rate")
    return bend.isel(learning_rate=best).drop_vars("learning_rate")


def table_of_corner(corner: xr.Dataset) -> pd.DataFrame:
    """Curvature, training loss and test accuracy (%), means over seeds, by constant and learning rate."""
    columns = {
        "curvature": corner["curvature"],
        "training loss": corner["loss"],
        "test accuracy (%)": 100 * corner["accuracy"],
    }
    return pd.concat({name: one.mean("seed").to_pandas().round(2) for name, one in columns.items()}, axis=1)


def in_phases_of(other: xr.Dataset, made: xr.Dataset) -> xr.DataArray:
    """Curvature of networks, mean over the cells that are concave in ``other``, and minus that over its convex cells.

    Concave is a curvature, mean over seeds, above :data:`~.summaries.STRAIGHT`, convex one below its negative.

    Parameters
    ----------
    other, made : Dataset
        ``curvature`` (slope, dropout, seed), of the same cells.

    Returns
    -------
    DataArray, dims (phase, seed)
        Both are positive where the second diagram has the phases of the first.
    """
    known, bend = other["curvature"].mean("seed"), made["curvature"]
    phases = {"concave": bend.where(known > STRAIGHT), "convex": -bend.where(known < -STRAIGHT)}
    cells = [one.mean(["slope", "dropout"]) for one in phases.values()]
    return xr.concat(cells, xr.Variable("phase", list(phases)))


def roughness(made: xr.Dataset) -> xr.DataArray:
    """Root mean square distance of each load curve from its best parabola over the layers, by the curve's height."""
    curve = made["load_curve"].transpose(..., "layer").astype(float)
    powers = np.vander(np.arange(curve.sizes["layer"]), 3)
    left = curve - curve.copy(data=curve.values @ (powers @ np.linalg.pinv(powers)).T)
    rough: xr.DataArray = (left**2).mean("layer") ** 0.5 / (curve.max("layer") - curve.min("layer"))
    return rough


def scatter_of_seeds(made: xr.Dataset) -> float:
    """Standard deviation of load curves between seeds, in units of a cell's mean height, rms over layers and cells."""
    curve = made["load_curve"].astype(float)
    height = curve.isel(layer=0, drop=True) - curve.isel(layer=-1, drop=True)
    return float((curve / height.mean("seed")).var("seed", ddof=1).mean() ** 0.5)


def more_scattered(one: xr.Dataset, other: xr.Dataset) -> Estimate:
    """:func:`scatter_of_seeds` of one set of networks over that of another, with an interval over seeds of both."""

    both = xr.concat([one[["load_curve"]], other[["load_curve"]]], "kind", join="exact")

    def factor(some: xr.Dataset) -> float:
        return float(np.log(scatter_of_seeds(some.isel(kind=0)) / scatter_of_seeds(some.isel(kind=1))))

    return estimate(both, "seed", "symmetric", of=factor).map(np.exp)


# --- convolutional ----------------------------------------------------------------------------------------------------


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
