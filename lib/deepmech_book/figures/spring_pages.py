"""Pictures of the pages on paper A, its chains and its networks: general ones with the words of this chapter.

Each takes finished arrays; where it is no more than a general one with arguments given, it takes its arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech.core.labels import over
from deepmech.metrics.curvature import curvature
from deepmech_book import figures
from deepmech_book.figures import Picture
from deepmech_book.figures.picture import beside

__all__ = [
    "at_rest",
    "both_ends",
    "bounded_diagram",
    "chain_in_time",
    "creeping",
    "diagram",
    "effective_frictions",
    "fitted_in_time",
    "friction_law",
    "mean_velocities",
    "network_beside_chain",
    "network_in_time",
    "overdamped_limit",
    "ruler_extensions",
    "ruler_shapes",
    "ruler_unevenness",
    "steps_by_time_step",
]

_BLOCK, _LOAD = r"block $\ell$", r"load $D_\ell$ (in units of $y$)"
_SEPARATION = r"data separation $D_\ell$"

_chains = partial(figures.load_curves, run="run", x_label=_BLOCK, y_label=_LOAD)
_networks = partial(figures.load_curves, layer="layer", y_label=_SEPARATION)
_epochs = partial(figures.trajectories, time="at_epoch", layer="layer", x_label="epoch", y_label=_SEPARATION)

# --- chain ------------------------------------------------------------------------------------------------------------


network_beside_chain = partial(
    figures.analogy,
    alt="A feed-forward network above a chain of blocks and springs between a wall and a target; each layer of the "
    "network stands over the block that represents it.",
    figure="A.2",
)
"""Fig. 2, drawn anew."""

friction_law = partial(
    figures.friction_law, figure="A.5",
    alt="The friction law: no motion for forces between minus the leftward friction and the rightward friction, and a "
    "straight line of slope one on either side.",
)  # fmt: skip
"""Fig. 5(c), of a friction to the right and one to the left."""

# --- equilibria -------------------------------------------------------------------------------------------------------


def at_rest(run: xr.Dataset, theory: xr.Dataset) -> Picture:
    """Load curves of quiet chains over ``friction_right``, simulated and in closed form."""
    return figures.lines(
        run["load_curve"].isel(run=0, drop=True), x="block", by="friction_right", theory=1 - theory["position"],
        theory_label="closed form", label=r"$\mu_\rightarrow$ = {}", named_at=run["block"].values[-2],
        x_label=_BLOCK, y_label=_LOAD,
        alt="Load curves of quiet chains for ten frictions, from the straight diagonal to a curve that stays at one "
        "and drops only at the last spring; dashed theory lies on the points.",
    )  # fmt: skip


mean_velocities = partial(
    figures.lines, x="force", by="noise_bar", label=r"$\bar\varepsilon$ = {}", level=0.0, points=False,
    x_label=r"spring force $z = k\,\Delta d$ (in units of $ky$)", y_label="mean velocity",
    alt="Three rising curves of mean velocity over spring force; they all pass through zero at minus 0.05, and the one "
    "with the weakest noise is nearly zero between minus 0.2 and 0.1.",
)  # fmt: skip
"""Mean velocity of a block over ``force`` and ``noise_bar``."""


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


effective_frictions = partial(
    figures.lines, x="noise_bar", by="position", label=r"force {} of the way to $\mu_\rightarrow$", log="x",
    points=False, legend=True, level_label="limit", x_label=r"step noise $\bar\varepsilon$ (in units of $ky$)",
    y_label=r"effective friction $\mu_\mathrm{eff}$",
    alt="Five curves of effective friction: the lowest stays at minus 0.05, the others fall to it with noise from "
    "different values.",
)  # fmt: skip
"""Effective friction over ``noise_bar`` and ``position``, and its limit under strong noise, the ``level``."""

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


# --- folding_ruler ----------------------------------------------------------------------------------------------------


def ruler_shapes(position: xr.DataArray) -> Picture:
    """The first run of each ``pull``."""
    return figures.folding_ruler(
        position.isel(run=0, drop=True), figure="A.S1",
        alt="Zig-zag shapes of a folding ruler during three pulls. Pulled slowly, the pairs near the hand open wide "
        "and those near the pin stay folded. Jerked along the line, open and closed pairs alternate without order. "
        "Shaken sideways, all pairs open alike.",
    )  # fmt: skip


def ruler_extensions(final: xr.DataArray, slow: xr.DataArray) -> Picture:
    """Extension of each ``pair`` at the end of each ``pull``, mean over ``run``, and the slow pull in closed form."""
    return figures.lines(
        estimate(final, "run", "skewed"), slow.expand_dims(pull=["slow"]), x="pair", by="pull",
        theory_label="slow pull, closed form",
        x_label="pair, counted from the pin", y_label="extension (straight = 1)",
        alt="Final extension against pair. The slow pull rises from folded pairs at the pin to nearly straight ones at "
        "the hand and follows the closed form. Shaken sideways it is flat at 0.6. Jerked along the line it scatters "
        "around 0.6.",
    )  # fmt: skip


_SHAKEN = {
    "jerk_speed": (
        "jerk speed (unit: 2√(τ/m))",
        "Relative unevenness against jerk speed for three table frictions. With jerks all curves lie above one, "
        "highest for the smallest friction.",
    ),
    "shake_speed": (
        "shaking speed $c$ (unit: 2√(τ/m))",
        "Relative unevenness against sideways shaking speed for three table frictions. All curves fall towards zero.",
    ),
}


def ruler_unevenness(uneven: xr.DataArray) -> Picture:
    """Unevenness relative to a slow pull, over ``table_friction``, ``run`` and ``jerk_speed`` or ``shake_speed``."""
    (by,) = set(_SHAKEN) & set(map(str, uneven.dims))
    x_label, alt = _SHAKEN[by]
    # Of what is not random one run stands for all.
    mean = estimate(uneven, "run", "skewed") if uneven.sizes["run"] > 1 else uneven.isel(run=0)
    return figures.lines(
        mean, x=by, by="table_friction", label="f = {}", level=1.0, level_label="slow", x_label=x_label,
        y_label="unevenness, relative to slow", alt=alt,
    )  # fmt: skip
