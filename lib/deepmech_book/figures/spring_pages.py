"""Pictures of the pages on paper A, its chains and its networks: general ones with the words of this chapter.

Each takes finished arrays; where it is no more than a general one with arguments given, it takes its arrays.
"""

from __future__ import annotations

from functools import partial

import xarray as xr

from deepmech_book import figures
from deepmech_book.figures import Picture
from deepmech_book.figures.picture import beside

__all__ = [
    "both_ends",
    "chain_in_time",
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
