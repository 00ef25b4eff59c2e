"""Pictures of the pages on paper A, its chains and its networks: general ones with the words of this chapter.

Each takes finished arrays; where it is no more than a general one with arguments given, it takes its arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech.metrics.curvature import curvature
from deepmech_book import figures
from deepmech_book.figures import Picture
from deepmech_book.figures.picture import beside

__all__ = [
    "both_ends",
    "chain_in_time",
    "curvatures_in_two_metrics",
    "diagram",
    "fitted_in_time",
    "network_in_time",
    "networks_in_d_hat",
    "overdamped_limit",
    "two_metrics",
    "two_metrics_by_dropout",
]

_BLOCK, _LOAD = r"block $\ell$", r"load $D_\ell$ (in units of $y$)"
_SEPARATION = r"data separation $D_\ell$"

_chains = partial(figures.load_curves, run="run", x_label=_BLOCK, y_label=_LOAD)
_networks = partial(figures.load_curves, layer="layer", y_label=_SEPARATION)
_epochs = partial(figures.trajectories, time="at_epoch", layer="layer", x_label="epoch", y_label=_SEPARATION)

# --- phase_diagram ----------------------------------------------------------------------------------------------------

_DIAGRAMS = {
    "A.3": "A grid of small load curves. At the right, without noise, all are concave; towards the left, with noise, "
    "they become straight and then convex, later the larger the friction. Above a friction of 0.2 none becomes convex.",
    "A.S13": "A grid of small load curves for the chain with inertia: concave at the right, convex at the left below a "
    "friction of 0.12, with a line of straight curves between. Elastic energy is least near that line.",
    "A.S14": "A grid of small load curves for the Langevin chain: concave at the right, convex at the left for small "
    "friction, with a line of straight curves between.",
}


def diagram(run: xr.Dataset, figure: str, straight: xr.DataArray | None = None) -> Picture:
    """Chains of Fig. 3, S13 or S14 over ``noise`` and ``friction_right``, with a line at the noise ``straight``."""
    noise = r"initial noise $\varepsilon_0$" if figure == "A.S14" else r"noise $\varepsilon$"
    line = None if straight is None else straight.dropna("friction_right")
    return _diagram(
        run, "noise", f"{noise} (force × √time)", None if line is None else (line.values, line.friction_right.values),
        "" if line is None else "noise-averaged chain is straight", alt=_DIAGRAMS[figure], figure=figure,
    )  # fmt: skip


def _diagram(
    run: xr.Dataset, x: str, x_label: str, boundary: tuple[Any, Any] | None, boundary_label: str, **how: Any
) -> Picture:
    """Mean load curves, shaded by elastic energy and by curvature."""
    mean = run.mean("run")
    bend = curvature(run["load_curve"], dim="block").mean("run")
    return figures.phase_diagram(
        mean["load_curve"], x=x, y="friction_right", shade=mean["elastic_energy"], curvature=bend, boundary=boundary,
        boundary_label=boundary_label, x_label=x_label, y_label=r"friction $\mu_\rightarrow$ (force)",
        shade_label="elastic energy (force × length)", **how,
    )  # fmt: skip


def overdamped_limit(distance: xr.DataArray) -> Picture:
    """Distance of the chain with inertia from the overdamped one over ``damping``, and a power law through the last."""
    last = distance.isel(damping=-1, drop=True)
    return figures.lines(
        distance, x="damping", x_label=r"damping $\gamma$", y_label="largest distance (in units of $y$)",
        theory=last * (distance.damping[-1] / distance.damping) ** 2, theory_label=r"$\propto \gamma^{-2}$", log="xy",
        alt="Distance between second-order and first-order chain against damping on logarithmic axes, approaching a "
        "straight line of slope minus two.",
    )  # fmt: skip


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
