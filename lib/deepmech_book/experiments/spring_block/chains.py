"""What several pages about the spring–block chain share: phase diagrams (Figs. 3, S13, S14), regimes (4), rest, steps.

Settings are the paper's (captions and SM S3); where the paper leaves a range open, it is said here what stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import crossing
from deepmech.core.labels import over
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain, averaged, equilibrium, simulate


@dataclass(frozen=True)
class Diagram:
    """Settings of one phase diagram; the paper's figures show the ranges of friction and noise without numbers."""

    order: Any
    stiffness: float
    friction_left: float
    t_end: float
    friction_range: float
    noise_range: float
    noise_decay: float = 0.0
    spacing: int = 1

    def noises(self, n: int) -> np.ndarray:
        """Noise along the abscissa: even steps (``spacing`` 1), or steps that widen to reach strong noise (2)."""
        values = self.noise_range * np.linspace(0, 1, n) ** self.spacing
        return np.array([float(f"{v:.3g}") for v in values])


DIAGRAMS = {
    "A.3": Diagram("first", 1.0, 0.2, 100.0, friction_range=0.25, noise_range=0.02),
    "A.S13": Diagram("second", 1.0, 0.12, 100.0, friction_range=0.15, noise_range=0.16, spacing=2),
    "A.S14": Diagram(
        "langevin", 0.1, 0.016, 300.0, friction_range=0.02, noise_range=0.12, noise_decay=0.002, spacing=2
    ),
}


def mean_step(position: xr.DataArray) -> xr.DataArray:
    """Mean of Δd_ℓ = d_{ℓ+1} − d_ℓ over all blocks, from positions over ``block``, wall and target included."""
    return position.diff("block").diff("block").mean("block")


def phase_diagram(
    figure: str = "A.3",
    n_friction: int = 9,
    n_noise: int = 11,
    n_runs: int = 20,
    seed: int = 0,
    strongest: bool = False,
) -> xr.Dataset:
    """Load curves over rightward friction and noise (Figs. 3, S13, S14): seven blocks, unit target, γ = 1.

    With ``strongest``, only the strongest noise, where leftward friction is the larger one.

    Returns
    -------
    Dataset
        Over ``friction_right`` and ``noise``: ``load_curve`` (mean over runs), ``elastic_energy`` (mean),
        ``curvature`` (mean) and ``each_curvature`` (over ``run`` too), ``step`` (mean Δd).
    """
    d = DIAGRAMS[figure]
    friction, noise = np.linspace(0, d.friction_range, n_friction).round(6), d.noises(n_noise)
    chain = Chain(
        friction_right=over("friction_right", friction[friction < d.friction_left] if strongest else friction),
        friction_left=d.friction_left,
        noise=over("noise", noise[-1:] if strongest else noise),
        stiffness=d.stiffness,
    )
    run = simulate(chain, d.t_end, order=d.order, n_runs=n_runs, noise_decay=d.noise_decay, seed=seed)
    bend = curvature(run["load_curve"], dim="block")
    return xr.Dataset(
        {
            "load_curve": run["load_curve"].mean("run"),
            "elastic_energy": run.elastic_energy.mean("run"),
            "curvature": bend.mean("run"),
            "each_curvature": bend,
            "step": mean_step(run.position).mean("run"),
        },
        attrs=run.attrs,
    )


def averaged_boundary(n_friction: int = 21, n_noise: int = 41) -> tuple[np.ndarray, np.ndarray]:
    """Where the noise-averaged chain of Fig. 3 is straight at the time of observation: (noise, friction_right).

    No simulated noise enters. Beyond the largest noise of the diagram and for μ→ ≥ μ← there is no such point.
    """
    d = DIAGRAMS["A.3"]
    friction = np.linspace(0, d.friction_left, n_friction)[1:-1]
    noise = np.linspace(0, d.noise_range, n_noise)
    chain = Chain(friction_right=over("mu", friction), friction_left=d.friction_left, noise=over("noise", noise))
    # A step of 0.25 is inside the Runge–Kutta scheme's stability; ε̄ stays that of the diagram's own step.
    fine = replace(chain, noise=None, noise_bar=chain.noise_bar_at(0.01))
    bend = curvature(averaged(fine, d.t_end, dt=0.25)["load_curve"], dim="block").values
    straight = np.array([crossing(noise, row, way="falls") for row in bend])
    known = np.isfinite(straight)
    return straight[known], friction[known]


REGIMES = {
    "b: strong friction, little noise": {"friction_right": 0.11, "friction_left": 0.03, "noise": 0.006},
    "c: balanced": {"friction_right": 0.04, "friction_left": 0.04, "noise": 0.01},
    "d: weak friction, strong noise": {"friction_right": 0.04, "friction_left": 0.12, "noise": 0.011},
}

LEFT = 0.2
"""μ← of Fig. 3."""


def rest_positions(frictions: Any) -> xr.Dataset:
    """Seven quiet blocks at rest: ``simulated``, ``closed_form`` with stuck blocks, ``eq7`` as printed, ``n_moving``.

    Dimensions friction_right and block; ``leftward`` is the largest change of any position when μ← goes from 0 to 1.
    """
    chain = Chain(friction_right=over("friction_right", frictions), friction_left=LEFT, noise=0.0)
    rest = equilibrium(chain)
    mu, block, L = rest.friction_right, rest.block, chain.n_blocks
    x, *others = (
        simulate(replace(chain, friction_left=m), 300.0, dt=0.05).position.isel(run=0) for m in (LEFT, 0.0, 1.0)
    )
    return xr.Dataset(
        {
            "simulated": x,
            "closed_form": rest.position,
            "eq7": block / (L + 1) - mu * (L * block / 2 - block * (block - 1) / 2),
            "n_moving": rest.n_moving,
            "leftward": xr.DataArray(max(float(abs(o - x).max()) for o in others)),
        }
    )


def step_over_time_step(steps: Any, n_runs: int) -> xr.Dataset:
    """Mean Δd at t = 100 against η, at fixed ε (``fixed_noise``) and at fixed ε̄ = ε/√0.01 (``fixed_noise_bar``)."""
    chain = Chain(friction_right=0.04, friction_left=0.12, noise=0.01)
    kinds = {"fixed_noise": chain, "fixed_noise_bar": replace(chain, noise=None, noise_bar=0.01 / np.sqrt(0.01))}
    found = {
        name: [float(mean_step(simulate(c, 100.0, dt=dt, n_runs=n_runs).position).mean()) for dt in steps]
        for name, c in kinds.items()
    }
    return xr.Dataset({name: ("dt", values) for name, values in found.items()}, coords={"dt": list(steps)})
