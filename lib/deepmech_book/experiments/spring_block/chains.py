"""Figures of the spring–block chain: the phase diagrams (3, S13, S14), its three regimes in time (4) and Fig. 5(b, c).

Every function returns arrays that a figure draws and a claim measures. Settings are the paper's (captions and SM S3)
unless an argument says otherwise; where the paper leaves a range open, the docstring says what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.statistics import crossing
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain, averaged, simulate


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
    figure: str = "A.3", n_friction: int = 9, n_noise: int = 11, n_runs: int = 20, seed: int = 0
) -> xr.Dataset:
    """Load curves over rightward friction and noise (Figs. 3, S13, S14): seven blocks, unit target, γ = 1.

    Returns
    -------
    Dataset
        Over ``friction_right`` and ``noise``: ``load_curve`` (mean over runs), ``elastic_energy`` (mean),
        ``curvature`` (mean) and ``each_curvature`` (over ``run`` too), ``step`` (mean Δd).
    """
    d = DIAGRAMS[figure]
    chain = Chain(
        friction_right=over("friction_right", np.linspace(0, d.friction_range, n_friction).round(6)),
        friction_left=d.friction_left,
        noise=over("noise", d.noises(n_noise)),
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


def averaged_boundary(n_friction: int = 21, n_noise: int = 81) -> tuple[np.ndarray, np.ndarray]:
    """Where the noise-averaged chain of Fig. 3 is straight at the time of observation: (noise, friction_right).

    No simulated noise enters. Beyond the largest noise of the diagram and for μ→ ≥ μ← there is no such point.
    """
    d = DIAGRAMS["A.3"]
    friction = np.linspace(0, d.friction_left, n_friction)[1:-1]
    noise = np.linspace(0, d.noise_range, n_noise)
    chain = Chain(friction_right=over("mu", friction), friction_left=d.friction_left, noise=over("noise", noise))
    # A step of 0.1 is far inside the Runge–Kutta scheme's stability; ε̄ stays that of the diagram's own step.
    fine = replace(chain, noise=None, noise_bar=chain.noise_bar_at(0.01))
    bend = curvature(averaged(fine, d.t_end, dt=0.1)["load_curve"], dim="block").values
    straight = np.array([crossing(noise, row, way="falls") for row in bend])
    known = np.isfinite(straight)
    return straight[known], friction[known]


REGIMES = {
    "b: strong friction, little noise": {"friction_right": 0.11, "friction_left": 0.03, "noise": 0.006},
    "c: balanced": {"friction_right": 0.04, "friction_left": 0.04, "noise": 0.01},
    "d: weak friction, strong noise": {"friction_right": 0.04, "friction_left": 0.12, "noise": 0.011},
}


def regimes(n_runs: int = 50, t_end: float = 100.0, seed: int = 0) -> xr.Dataset:
    """The chain's side of Fig. 4: trajectories of seven blocks in three regimes, with shared and with own noise.

    The paper does not give the duration; 100 is that of Fig. 3.

    Returns
    -------
    Dataset
        ``load_curve`` and ``force`` over regime, noise (``shared``, ``own``, and ``none``), run and time.
    """

    def of(name: str) -> xr.DataArray:
        return xr.DataArray([r[name] for r in REGIMES.values()], dims="regime", coords={"regime": list(REGIMES)})

    chain = Chain(friction_right=of("friction_right"), friction_left=of("friction_left"), noise=of("noise"))
    times = np.linspace(0, t_end, 401)
    setting: dict[str, Any] = {"t_end": t_end, "n_runs": n_runs, "record": times, "seed": seed}
    quiet = replace(chain, noise=0.0)
    parts = {
        "shared": simulate(chain, shared_noise=True, **setting),
        "own": simulate(chain, **setting),
        "none": simulate(quiet, **setting),
    }
    together = xr.concat(list(parts.values()), dim=xr.DataArray(list(parts), dims="kind", name="kind"))
    return together[["load_curve", "force"]]


def without_right_friction(
    noises: Any = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.04), n_runs: int = 200, seed: int = 0
) -> xr.Dataset:
    """Fig. 5(b): μ→ = 0 (the caption says left friction), μ← = 0.1, k = y = 1, several strengths of noise.

    Observed at t = 100 like Fig. 3. Returns ``load_curve`` per run, ``curvature`` and ``step`` (means over runs).
    """
    chain = Chain(friction_right=0.0, friction_left=0.1, noise=over("noise", np.asarray(noises, float)))
    run = simulate(chain, 100.0, n_runs=n_runs, seed=seed)
    return xr.Dataset(
        {
            "load_curve": run["load_curve"],
            "curvature": curvature(run["load_curve"], dim="block").mean("run"),
            "step": mean_step(run.position).mean("run"),
        },
        attrs=run.attrs,
    )


def response(forces: Any, friction_right: float, friction_left: float) -> xr.DataArray:
    """Speed of one block against the spring force on it, measured in the simulator (Fig. 5(c))."""
    forces = np.asarray(forces, float)
    chain = Chain(n_blocks=1, friction_right=friction_right, friction_left=friction_left, noise=0.0)
    dt = 0.01
    # One block at x between springs of stiffness 1 to 0 and to 1 feels the force 1 − 2x.
    starts = (1 - forces) / 2
    ends = [float(simulate(chain, dt, dt=dt, start=[x]).position.sel(block=1).item()) for x in starts]
    return xr.DataArray((np.array(ends) - starts) / dt, dims="force", coords={"force": forces})


def overdamped(dampings: Any = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0), t_end: float = 3.0) -> xr.DataArray:
    """Largest distance between the noiseless second-order chain and the first-order one, times in units of γ.

    μ→ = 0.02, μ← = 0.12, k = y = 1; the maximum is over blocks and over 30 times up to ``t_end``.
    """
    quiet = Chain(friction_right=0.02, friction_left=0.12, noise=0.0)
    times = np.linspace(t_end / 30, t_end, 30)
    first = simulate(quiet, t_end, dt=0.001, record=times).position
    distance = []
    for gamma in dampings:
        chain = replace(quiet, damping=gamma)
        second = simulate(chain, t_end * gamma, dt=0.001, order="second", record=times * gamma).position
        distance.append(float(abs(second.values - first.values).max()))
    return xr.DataArray(distance, dims="damping", coords={"damping": list(dampings)})
