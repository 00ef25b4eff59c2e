"""Pictures of the pages on paper A, its chains and its networks: general ones with the words of this chapter.

Each takes finished arrays; where it is no more than a general one with arguments given, it takes its arrays.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech_book import figures
from deepmech_book.figures import Picture
from deepmech_book.figures.picture import beside

__all__ = [
    "accuracy_over_loss",
    "both_ends",
    "chain_in_time",
    "curvatures_in_two_metrics",
    "curves_by_epoch",
    "curves_of_stages",
    "fitted_in_time",
    "layers_in_training",
    "mean_images",
    "network_in_time",
    "networks_in_d_hat",
    "two_metrics",
    "two_metrics_by_dropout",
    "widths",
]

_BLOCK, _LOAD = r"block $\ell$", r"load $D_\ell$ (in units of $y$)"
_SEPARATION = r"data separation $D_\ell$"

_chains = partial(figures.load_curves, run="run", x_label=_BLOCK, y_label=_LOAD)
_networks = partial(figures.load_curves, layer="layer", y_label=_SEPARATION)
_epochs = partial(figures.trajectories, time="at_epoch", layer="layer", x_label="epoch", y_label=_SEPARATION)

# --- three_regimes ----------------------------------------------------------------------------------------------------


def chain_in_time(run: xr.Dataset) -> Picture:
    """The first run of each regime."""
    one = run.isel(run=0, drop=True).assign_coords(regime=_REGIMES)
    return figures.trajectories(
        one["load_curve"], force=one["force"], panel="regime", figure="A.4",
        alt="Three panels of loads falling from one over time. In the first the early blocks stay high and the curves "
        "end bunched at the top; in the second they end evenly spaced; in the third the first blocks fall furthest "
        "apart.",
    )  # fmt: skip


_REGIMES = ["(b) lazy", "(c) balanced", "(d) over-noisy"]


def both_ends(run: xr.Dataset, networks: xr.Dataset) -> Picture:
    """Load curves of chains and of networks at the end by regime, mean over runs and over seeds."""
    chain = _chains(
        run["load_curve"].isel(time=-1, drop=True).assign_coords(regime=_REGIMES), by="regime",
        alt="Three load curves of chains from one to zero over nine points: one bulging above the diagonal, one along "
        "it, one below.",
    )  # fmt: skip
    last = networks["load_curve"].isel(at_epoch=-1, drop=True).assign_coords(regime=_REGIMES)
    network = _networks(
        last, by="regime", run="seed",
        alt="Three load curves of networks over eight layers: the first bulges upwards, the second is close to "
        "straight, the third sags.",
    )  # fmt: skip
    return beside({"chains": chain, "networks": network}, figure="A.4")


def network_in_time(networks: xr.Dataset) -> Picture:
    """The first network of each regime, with its loss."""
    one = networks.isel(seed=0, drop=True).assign_coords(regime=_REGIMES)
    return _epochs(
        one["load_curve"], force=one["loss"], force_label="loss", panel="regime", figure="A.4",
        alt="Three panels of data separation over epochs, one line per layer. In the first the early layers stay high "
        "and the last layers fall late; in the second all layers fall to even distances; in the third the first layers "
        "fall far apart and the last lie close together.",
    )  # fmt: skip


def fitted_in_time(fit: xr.Dataset) -> Picture:
    """The chains that follow the networks of :func:`network_in_time` best."""
    return _epochs(
        fit["load_curve"].isel(seed=0, drop=True).assign_coords(regime=_REGIMES), panel="regime",
        alt="Three panels of fitted chains' loads over epochs: smooth lines that start together and spread, as the "
        "networks' do, but without the initial rise of the first panel's network.",
    )  # fmt: skip


_NAMED = {0.0: "ReLU", 1.0: "linear"}


# --- metrics_compared -------------------------------------------------------------------------------------------------


def networks_in_d_hat(made: xr.Dataset) -> Picture:
    """Figure S10: a diagram of networks measured in the second metric, mean over ``seed``."""
    return figures.network_diagram(
        made.mean("seed", skipna=False), figure="A.S10",
        alt="A grid of small load curves measured in the second metric, over dropout probability and negative slope.",
    )  # fmt: skip


def curvatures_in_two_metrics(in_d: xr.Dataset, in_d_hat: xr.Dataset, rank: Estimate) -> Picture:
    """Curvature of every cell of a diagram in one metric over that in the other, means over ``seed``."""
    one, other = (made["curvature"].mean("seed") for made in (in_d, in_d_hat))
    return figures.scatter(
        one, other, colour=one["slope"].broadcast_like(one).transpose(*one.dims), rank=rank,
        x_label="curvature of $D$", y_label=r"curvature of $\hat D$",
        alt="Scatter of the curvature in one metric over the curvature in the other, coloured by negative slope.",
    )  # fmt: skip


def two_metrics(few: xr.Dataset) -> Picture:
    """Load curves of training samples in both metrics, of networks over ``slope`` trained for the page."""
    few = few.sel(split="train", drop=True)
    return figures.layer_curves(
        {"$D$": few["load_curve"], r"$\hat D$": few["load_curve_hat"]},
        by="slope", by_label=r"negative slope $\alpha$", y_label="separation",
        alt="Two panels, one for each metric, with load curves of a ReLU and of a linear network over eight layers.",
    )  # fmt: skip


def two_metrics_by_dropout(made: xr.Dataset) -> Picture:
    """Load curves in both metrics of ReLU and of linear networks over ``dropout``, mean over ``seed``."""
    mean = made["load_curve"].mean("seed")
    return figures.layer_curves(
        {
            f"{kind}, {name}": mean.sel(slope=slope, metric=metric, drop=True)
            for slope, kind in _NAMED.items()
            for metric, name in (("D", "$D$"), ("D_hat", r"$\hat D$"))
        },
        by="dropout", by_label="dropout probability", y_label="separation", columns=4, figure="A.S11",
        alt="Four panels of load curves for several dropout probabilities: ReLU networks in both metrics, then linear "
        "ones. The curves of the two metrics bend alike in ReLU networks.",
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
    return _networks(
        ends["load_curve"],
        by="stage",
        run="seed",
        alt="Three load curves over eight layers. Without dropout the curve rises first and falls ever faster; under 5 "
        "per cent dropout it rises to layer 1 and falls in a nearly straight line; under 30 per cent it falls fastest "
        "after layer 1 and levels off.",
        figure="A.S2",
    )


def layers_in_training(one: xr.Dataset) -> Picture:
    """Data separation of every layer of one network over ``at_epoch``, its training loss below."""
    return _epochs(
        one["load_curve"],
        force=one.loss,
        force_label="loss",
        alt="Data separation of eight layers over epochs. Twice, when dropout is raised, all lines drop within a few "
        "epochs; after the second time the last layers rise again.",
    )


curves_by_epoch = partial(
    _networks,
    by="at_epoch",
    label="epoch {}",
    alt="Three load curves over five layers of a network trained for this page: in the middle layers each lies below "
    "the one before.",
)
"""Load curves of a small convolutional network at three epochs, over ``at_epoch`` and ``layer``."""

mean_images = partial(
    figures.images,
    x="layer",
    y="digit",
    panel="stage",
    alt="Grids of small grey images: three digits, eight layers, three stages. The digits are recognisable at layer 0 "
    "and dissolve into coarse patterns that differ between the digits.",
    figure="A.S3",
)
"""Mean features of digits, over ``stage``, ``digit`` and ``layer``, as small pictures."""

widths = partial(
    figures.lines,
    x="layer",
    by="network",
    x_label=r"layer $\ell$",
    y_label="relative width, natural logarithm",
    legend=True,
    alt="Four curves over layers: the untrained network's rises; those of the three stages fall in the later layers, "
    "under dropout from earlier layers on.",
)
"""Logarithms of the relative width of classes over ``layer``, a curve for each ``network``."""
