"""Pictures of the pages on paper A: each takes finished arrays and knows its labels and its text alternative."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech.metrics.curvature import curvature
from deepmech_book import figures
from deepmech_book.figures import Picture

__all__ = [
    "accuracy_and_bend",
    "accuracy_over_loss",
    "curves_by_epoch",
    "curves_of_stages",
    "few_networks",
    "layers_in_training",
    "mean_images",
    "networks_by_noise",
    "phases",
    "relu_by_dropout",
    "widths",
]

_SEPARATION = r"data separation $D_\ell$"

# --- dropout_diagram and noise_diagrams -------------------------------------------------------------------------------

_PANELS = {
    "data_noise": "Load curves of networks over data noise and negative slope. Accuracy is highest in the cells beside "
    "the line where the curvature changes sign.",
    "learning_rate": "Load curves of networks over learning rate and negative slope, from concave curves at small "
    "rates to convex ones at large rates.",
    "dropout": "A grid of small load curves. In the upper right corner, ReLU without dropout, they bulge upwards; "
    "towards more dropout and towards linear networks they straighten and then sag. The cells of highest accuracy lie "
    "along the line where the curvature changes sign.",
    "batch_size": "Load curves of networks over batch size and negative slope: concave curves for large batches and "
    "ReLU on the upper right, convex ones for small batches on the left and for linear networks.",
}


def networks_by_noise(made: xr.Dataset) -> Picture:
    """One panel of Fig. 1: a diagram of networks over one kind of noise, mean over ``seed``."""
    (noise,) = set(_PANELS) & set(made.dims)
    return figures.network_diagram(made.mean("seed", skipna=False), alt=_PANELS[str(noise)], figure="A.1")


def phases(chain: xr.Dataset, networks: xr.Dataset) -> Picture:
    """A diagram of chains, over ``friction_right``, ``noise`` and ``run``, beside networks over dropout, both with the
    phases named."""
    run = chain["load_curve"].transpose("noise", "friction_right", ...)
    run["friction_right"].attrs["long_name"] = r"friction $\mu_\rightarrow$"
    blocks = run.mean("run").to_dataset(name="load_curve")
    blocks = blocks.assign(curvature=curvature(run, dim="block").mean("run"))
    layers = networks[["load_curve", "curvature"]].mean("seed", skipna=False).transpose("dropout", "slope", ...)
    return figures.phases(
        {"a chain": blocks, "networks": layers},
        {"lazy": (0.85, 0.92), "balanced": (0.68, 0.58), "over-noisy": (0.26, 0.25)},
        alt="Two grids of small load curves side by side, a chain's and that of networks. In both the upper right is "
        "called lazy and has concave curves, the lower left is called over-noisy and has convex ones, and balanced "
        "lies between.",
    )


_FEW: Mapping[str, tuple[str, str]] = {
    "dropout": (
        "p = {}",
        "Three load curves of ReLU networks trained for this page: without dropout the curve bulges upwards, with much "
        "it sags.",
    ),
    "batch_size": (
        "batches of {}",
        "Three load curves of ReLU networks trained for this page in large, middling and small batches. All bulge "
        "upwards, that of the smallest batches least; the other two hardly differ in shape.",
    ),
}


def few_networks(few: xr.Dataset) -> Picture:
    """Load curves of a few networks trained for a page, over ``dropout`` or ``batch_size``."""
    (by,) = set(_FEW) & set(few.dims)
    label, alt = _FEW[str(by)]
    load = few["load_curve"].sel(split="train", drop=True)
    return figures.load_curves(load, by=by, layer="layer", label=label, y_label=_SEPARATION, alt=alt)


def relu_by_dropout(made: xr.Dataset) -> Picture:
    """Load curves of the ReLU networks of a diagram, mean over ``seed``."""
    load = made["load_curve"].mean("seed", skipna=False).isel(slope=0, drop=True)
    return figures.load_curves(
        load, by="dropout", layer="layer", label="p = {}", y_label=_SEPARATION,
        alt="Load curves of ReLU networks for several dropout probabilities: without dropout the last layers fall "
        "steeply, with much dropout the first ones do.",
    )  # fmt: skip


def accuracy_and_bend(made: xr.Dataset, falls: Estimate) -> Picture:
    """Test accuracy over the size of the curvature, mean over ``seed``, with their rank correlation."""
    return figures.accuracy_by_bend(
        made.mean("seed", skipna=False), (falls.value, *falls.interval),
        alt="Scatter of test accuracy over the size of the curvature, coloured by dropout.",
    )  # fmt: skip


# --- convolutional ----------------------------------------------------------------------------------------------------


def accuracy_over_loss(one: xr.Dataset) -> Picture:
    """Test accuracy over the training loss of one network, coloured by epoch."""
    return figures.scatter(
        np.log10(one["loss"]),
        100 * one["accuracy"],
        colour=one["at_epoch"].astype(float),
        colour_label="epoch",
        x_label=r"training loss ($\log_{10}$)",
        y_label="test accuracy (%)",
        alt="Test accuracy over the logarithm of the training loss, in three groups: dots of the first stage move left "
        "to the smallest losses and rise little, those of the second begin at a larger loss and lie highest, those of "
        "the third begin at the largest, lowest, and rise.",
        figure="A.S2",
    )


def curves_of_stages(ends: xr.Dataset) -> Picture:
    """Load curves at the ends of three stages, over ``stage``, ``seed`` and ``layer``."""
    return figures.load_curves(
        ends["load_curve"],
        by="stage",
        run="seed",
        layer="layer",
        y_label=_SEPARATION,
        alt="Three load curves over eight layers. Without dropout the curve rises first and falls ever faster; under 5 "
        "per cent dropout it rises to layer 1 and falls in a nearly straight line; under 30 per cent it falls fastest "
        "after layer 1 and levels off.",
        figure="A.S2",
    )


def layers_in_training(one: xr.Dataset) -> Picture:
    """Data separation of every layer of one network over ``at_epoch``, its training loss below."""
    return figures.trajectories(
        one["load_curve"],
        time="at_epoch",
        layer="layer",
        force=one.loss,
        force_label="loss",
        x_label="epoch",
        y_label=_SEPARATION,
        alt="Data separation of eight layers over epochs. Twice, when dropout is raised, all lines drop within a few "
        "epochs; after the second time the last layers rise again.",
    )


def curves_by_epoch(load: xr.DataArray) -> Picture:
    """Load curves of a small convolutional network at three epochs, over ``at_epoch`` and ``layer``."""
    return figures.load_curves(
        load,
        by="at_epoch",
        layer="layer",
        label="epoch {}",
        y_label=_SEPARATION,
        alt="Three load curves over five layers of a network trained for this page: in the middle layers each lies "
        "below the one before.",
    )


def mean_images(means: xr.DataArray) -> Picture:
    """Mean features of digits, over ``stage``, ``digit`` and ``layer``, as small pictures."""
    return figures.images(
        means,
        x="layer",
        y="digit",
        panel="stage",
        alt="Grids of small grey images: three digits, eight layers, three stages. The digits are recognisable at "
        "layer 0 and dissolve into coarse patterns that differ between the digits.",
        figure="A.S3",
    )


def widths(width: xr.DataArray) -> Picture:
    """Logarithms of the relative width of classes over ``layer``, a curve for each ``network``."""
    return figures.lines(
        width,
        x="layer",
        by="network",
        x_label=r"layer $\ell$",
        y_label="relative width, natural logarithm",
        legend=True,
        alt="Four curves over layers: the untrained network's rises; those of the three stages fall in the later "
        "layers, under dropout from earlier layers on.",
    )
