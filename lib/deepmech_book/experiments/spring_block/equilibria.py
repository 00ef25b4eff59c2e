"""The theory page of the chain: where it rests, how friction averages over noise, and what depends on the step η."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import (
    Chain,
    averaged_friction_force,
    bounded_noise_equilibrium,
    effective_friction,
    equilibrium,
    simulate,
)
from deepmech_book.experiments.spring_block.chains import mean_step

LEFT = 0.2
"""μ← of Fig. 3, used on this page throughout."""


def rest_positions(frictions: Any, t_end: float = 300.0) -> xr.Dataset:
    """Seven quiet blocks at rest: ``simulated``, ``closed_form`` with stuck blocks, ``eq7`` as printed, ``n_moving``.

    Dimensions friction_right and block; ``leftward`` is the largest change of any position when μ← goes from 0 to 1.
    """
    chain = Chain(friction_right=over("friction_right", frictions), friction_left=LEFT, noise=0.0)
    rest = equilibrium(chain)
    mu, block, L = rest.friction_right, rest.block, chain.n_blocks
    x = simulate(chain, t_end, dt=0.05).position.isel(run=0)
    others = [simulate(replace(chain, friction_left=m), t_end, dt=0.05).position.isel(run=0) for m in (0.0, 1.0)]
    return xr.Dataset(
        {
            "simulated": x,
            "closed_form": rest.position,
            "eq7": block / (L + 1) - mu * (L * block / 2 - block * (block - 1) / 2),
            "n_moving": rest.n_moving,
            "leftward": xr.DataArray(max(float(abs(o - x).max()) for o in others)),
        }
    )


def friction_under_noise(friction_right: float, positions: Any, noise_bars: Any) -> xr.DataArray:
    """μ_eff over ε̄ for spring forces a given fraction of the way from (μ→ − μ←)/2 to μ→."""
    position, bar = over("position", positions), over("noise_bar", noise_bars)
    low = (friction_right - LEFT) / 2
    force = low + position * (friction_right - low)
    return xr.DataArray(
        effective_friction(force.values[:, None], friction_right, LEFT, bar.values[None, :]),
        dims=("position", "noise_bar"),
        coords={"position": position.values, "noise_bar": bar.values},
    )


def drift(friction_right: float, forces: Any, noise_bars: Any) -> xr.DataArray:
    """E σ(z + ε̄ζ) over spring force z and ε̄: the mean velocity whose zero is the noisy equilibrium."""
    z, bar = np.asarray(forces, float), np.asarray(noise_bars, float)
    values = averaged_friction_force(z[None, :], friction_right, LEFT, bar[:, None])
    return xr.DataArray(values, dims=("noise_bar", "force"), coords={"noise_bar": bar, "force": z})


def step_over_noise(friction_right: float, noise_bars: Any, n_runs: int, t_end: float = 400.0) -> xr.DataArray:
    """Mean Δd over blocks and runs at ``t_end`` for each ε̄."""
    chain = Chain(friction_right=friction_right, friction_left=LEFT, noise_bar=over("noise_bar", noise_bars))
    return mean_step(simulate(chain, t_end, n_runs=n_runs).position).mean("run")


def step_over_time_step(
    steps: Any, n_runs: int, noise: float = 0.01, friction_right: float = 0.04, friction_left: float = 0.12
) -> xr.Dataset:
    """Mean Δd at t = 100 against η, at fixed ε (``fixed_noise``) and at fixed ε̄ = ε/√0.01 (``fixed_noise_bar``)."""
    chain = Chain(friction_right=friction_right, friction_left=friction_left, noise=noise)
    kinds = {"fixed_noise": chain, "fixed_noise_bar": replace(chain, noise=None, noise_bar=noise / np.sqrt(0.01))}
    found = {
        name: [float(mean_step(simulate(c, 100.0, dt=dt, n_runs=n_runs).position).mean()) for dt in steps]
        for name, c in kinds.items()
    }
    return xr.Dataset({name: ("dt", values) for name, values in found.items()}, coords={"dt": list(steps)})


def bounded_noise(
    noise_bars: Any, n_runs: int, friction_right: float = 0.03, truncation: float = 2.0, t_end: float = 4000.0
) -> xr.Dataset:
    """Chains under bounded and unbounded noise at ``t_end`` / 2 and ``t_end``.

    ``step`` and ``closed_form`` (Δd at the end, bounded), ``moved_bounded`` and ``moved_unbounded`` (largest change of
    a mean position over the second half).
    """
    chain = Chain(friction_right=friction_right, friction_left=LEFT, noise_bar=over("noise_bar", noise_bars))
    setting: dict[str, Any] = {"t_end": t_end, "n_runs": n_runs, "record": [t_end / 2, t_end]}
    bounded = simulate(chain, truncation=truncation, **setting).position.mean("run")
    unbounded = simulate(chain, **setting).position.mean("run")
    return xr.Dataset(
        {
            "step": mean_step(bounded).isel(time=-1, drop=True),
            "closed_form": bounded_noise_equilibrium(chain, 0.01, truncation),
            "moved_bounded": abs(bounded.diff("time")).max("block").squeeze(drop=True),
            "moved_unbounded": abs(unbounded.diff("time")).max("block").squeeze(drop=True),
        }
    )


def bounded_diagram(
    n_friction: int, n_noise: int, n_runs: int, truncation: float = 2.0, t_end: float = 400.0
) -> xr.Dataset:
    """Fig. 3 again with bounded noise, where the phase boundary has the closed form ε̄·truncation = μ→."""
    chain = Chain(
        friction_right=over("friction_right", np.linspace(0, 0.25, n_friction).round(6)),
        friction_left=LEFT,
        noise_bar=over("noise_bar", np.linspace(0, 0.15, n_noise).round(6)),
    )
    run = simulate(chain, t_end, n_runs=n_runs, truncation=truncation)
    bend = curvature(run["load_curve"], dim="block").mean("run")
    return xr.Dataset(
        {
            "load_curve": run["load_curve"].mean("run"),
            "elastic_energy": run.elastic_energy.mean("run"),
            "curvature": bend,
        }
    )


def drift_time(noise_bars: Any, n_runs: int, friction_right: float = 0.03, n_blocks: int = 3) -> xr.Dataset:
    """Time until the mean Δd of a chain under unbounded noise has fallen to half its quiet value μ→.

    ``time`` (nan if it takes longer than is simulated) over ε̄, the ``slope`` of log time over 1/ε̄² and its leading
    prediction (μ→/2)²/2, from the Gaussian tail that a kick must come from.
    """
    chain = Chain(
        n_blocks=n_blocks, friction_right=friction_right, friction_left=LEFT, noise_bar=over("noise_bar", noise_bars)
    )
    times = np.geomspace(1, 4000, 600)
    step = mean_step(simulate(chain, 4000.0, dt=0.02, n_runs=n_runs, record=times).position)
    below = step.mean("run") < friction_right / 2
    when = below["time"].values[below.argmax("time").values]
    when = np.where(below.any("time"), when, np.nan)
    bar = np.asarray(noise_bars, float)
    known = np.isfinite(when)
    slope, log_time = np.polyfit(1 / bar[known] ** 2, np.log(when[known]), 1) if known.sum() > 1 else (np.nan, np.nan)
    return xr.Dataset(
        {
            "time": ("inverse_square", when),
            "fit": ("inverse_square", np.exp(log_time + slope / bar**2)),
            "slope": ((), slope),
            "predicted_slope": ((), (friction_right / 2) ** 2 / 2),
        },
        coords={"inverse_square": 1 / bar**2, "noise_bar": ("inverse_square", bar)},
    )
