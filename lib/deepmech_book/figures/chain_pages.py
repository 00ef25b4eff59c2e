"""Pictures of pages on chains of paper A: each takes finished arrays and knows its labels and its text alternative."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.metrics.curvature import curvature
from deepmech_book import figures
from deepmech_book.figures import Picture

__all__ = [
    "at_rest",
    "bounded_diagram",
    "chain_ends",
    "chain_in_time",
    "creeping",
    "diagram",
    "effective_frictions",
    "fitted_in_time",
    "friction_law",
    "mean_velocities",
    "network_beside_chain",
    "network_ends",
    "network_in_time",
    "overdamped_limit",
    "steps_by_time_step",
]

_BLOCK, _LOAD = r"block $\ell$", r"load $D_\ell$ (in units of $y$)"
_SEPARATION = r"data separation $D_\ell$"

# --- chain ------------------------------------------------------------------------------------------------------------


def network_beside_chain() -> Picture:
    """Fig. 2, drawn anew."""
    return figures.analogy(
        alt="A feed-forward network above a chain of blocks and springs between a wall and a target; each layer of the "
        "network stands over the block that represents it.",
        figure="A.2",
    )


def friction_law(friction_right: float, friction_left: float) -> Picture:
    """Fig. 5(c)."""
    return figures.friction_law(
        friction_right, friction_left, figure="A.5",
        alt="The friction law: no motion for forces between minus the leftward friction and the rightward friction, "
        "and a straight line of slope one on either side.",
    )  # fmt: skip


# --- equilibria -------------------------------------------------------------------------------------------------------


def at_rest(run: xr.Dataset, theory: xr.Dataset) -> Picture:
    """Load curves of quiet chains over ``friction_right``, simulated and in closed form."""
    return figures.load_curves(
        run["load_curve"].isel(run=0, drop=True), by="friction_right", theory=1 - theory["position"],
        label=r"$\mu_\rightarrow$ = {}", x_label=_BLOCK, y_label=_LOAD,
        alt="Load curves of quiet chains for ten frictions, from the straight diagonal to a curve that stays at one "
        "and drops only at the last spring; dashed theory lies on the points.",
    )  # fmt: skip


def mean_velocities(velocity: xr.DataArray) -> Picture:
    """Mean velocity of a block over ``force`` and ``noise_bar``."""
    return figures.lines(
        velocity, x="force", by="noise_bar", label=r"$\bar\varepsilon$ = {}", level=0.0, points=False,
        x_label=r"spring force $z = k\,\Delta d$ (in units of $ky$)", y_label="mean velocity",
        alt="Three rising curves of mean velocity over spring force; they all pass through zero at minus 0.05, and the "
        "one with the weakest noise is nearly zero between minus 0.2 and 0.1.",
    )  # fmt: skip


def steps_by_time_step(same_noise: xr.DataArray, same_kicks: xr.DataArray, limit: float) -> Picture:
    """Mean step in elongation over ``dt`` (and ``run``) at fixed ε and at fixed ε̄, beside the limit of strong noise."""
    kinds = {"fixed ε": same_noise.mean("run"), "fixed ε̄": same_kicks.mean("run")}
    return figures.lines(
        xr.concat(kinds.values(), xr.Variable("kind", list(kinds))), x="dt", by="kind", log="x", level=limit,
        level_label="Eq. 8 of the paper", x_label=r"time step $\eta$", y_label=r"mean $\Delta d$ (in units of $y$)",
        alt="Mean step in elongation against time step: nearly constant at fixed step noise, and falling from positive "
        "values to the line of Eq. 8 at fixed noise per root time as steps become shorter.",
    )  # fmt: skip


def bounded_diagram(run: xr.Dataset, bound: float, friction_left: float) -> Picture:
    """Chains over ``noise_bar`` and ``friction_right`` whose kicks have this bound, with the line in closed form."""
    edge = np.linspace(0, friction_left, 41)
    return _diagram(
        run, "noise_bar", r"step noise $\bar\varepsilon$ (force)", (edge / bound, edge),
        r"closed form, $\bar\varepsilon c = \mu_\rightarrow$",
        alt="Phase diagram with bounded noise: concave load curves at the right, convex at the left, and the "
        "closed-form boundary as a slanted line close to where the simulated curvature changes sign.",
    )  # fmt: skip


def creeping(times: xr.DataArray, fitted: xr.DataArray) -> Picture:
    """Times over ``noise_bar`` against 1/ε̄², and an exponential fitted to them."""
    inverse = over("inverse_square", 1 / times.noise_bar.values**2)
    return figures.lines(
        inverse.copy(data=times.values), x="inverse_square", theory=inverse.copy(data=fitted.values),
        theory_label="exponential fit", log="y", x_label=r"$1/\bar\varepsilon^2$ (in units of $1/(ky)^2$)",
        y_label="drift time",
        alt="Drift time on a logarithmic scale against the inverse square of the noise: the points follow a straight "
        "line.",
    )  # fmt: skip


def effective_frictions(friction: xr.DataArray, limit: float) -> Picture:
    """Effective friction over ``noise_bar`` and ``position``, and its limit under strong noise."""
    return figures.lines(
        friction, x="noise_bar", by="position", label="{} of the way", log="x", points=False, legend=True, level=limit,
        level_label="limit", x_label=r"step noise $\bar\varepsilon$ (in units of $ky$)",
        y_label=r"effective friction $\mu_\mathrm{eff}$",
        alt="Five curves of effective friction: the lowest stays at minus 0.05, the others fall to it with noise from "
        "different values.",
    )  # fmt: skip


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
    one = run.isel(run=0, drop=True)
    return figures.trajectories(
        one["load_curve"], force=one["force"], panel="regime", figure="A.4",
        alt="Three panels of loads falling from one over time. In the first the early blocks stay high and the curves "
        "end bunched at the top; in the second they end evenly spaced; in the third the first blocks fall furthest "
        "apart.",
    )  # fmt: skip


def chain_ends(run: xr.Dataset) -> Picture:
    """Load curves at the end by regime, mean over runs."""
    return figures.load_curves(
        run["load_curve"].isel(time=-1, drop=True), by="regime", run="run", x_label=_BLOCK, y_label=_LOAD,
        alt="Three load curves from one to zero over nine points: one bulging above the diagonal, one along it, one "
        "below.",
    )  # fmt: skip


def network_in_time(networks: xr.Dataset) -> Picture:
    """The first network of each regime, with its loss."""
    one = networks.isel(seed=0, drop=True)
    return figures.trajectories(
        one["load_curve"], force=one["loss"], force_label="loss", y_label=_SEPARATION, figure="A.4", **_EPOCHS,
        alt="Three panels of data separation over epochs, one line per layer. In the first the early layers stay high "
        "and the last layers fall late; in the second all layers fall to even distances; in the third the first layers "
        "fall far apart and the last lie close together.",
    )  # fmt: skip


_EPOCHS: dict[str, Any] = {"time": "at_epoch", "layer": "layer", "panel": "regime", "x_label": "epoch"}


def network_ends(networks: xr.Dataset) -> Picture:
    """Load curves at the end by regime, mean over seeds."""
    return figures.load_curves(
        networks["load_curve"].isel(at_epoch=-1, drop=True),
        by="regime", run="seed", layer="layer", y_label=_SEPARATION,
        alt="Three load curves over eight layers: the first bulges upwards, the second is close to straight, the third "
        "sags.",
    )  # fmt: skip


def fitted_in_time(fit: xr.Dataset) -> Picture:
    """The chains that follow the networks of :func:`network_in_time` best."""
    return figures.trajectories(
        fit["load_curve"].isel(seed=0, drop=True), y_label=_SEPARATION, **_EPOCHS,
        alt="Three panels of fitted chains' loads over epochs: smooth lines that start together and spread, as the "
        "networks' do, but without the initial rise of the first panel's network.",
    )  # fmt: skip
