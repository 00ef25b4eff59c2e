"""Fig. S1: a folding ruler pulled slowly, jerked along the line of the pull, and shaken sideways."""

from __future__ import annotations

from typing import Any

import xarray as xr

from deepmech.core.labels import over
from deepmech.simulators.folding_ruler import Pull, Ruler, simulate, slow_profile

EXTENSION = 0.6
"""Mean extension of the pairs at the end of every pull, between 0 (folded) and 1 (straight)."""
QUICK, SLOW = 40.0, 400.0
"""Durations of quick and slow pulls, in the simulator's unit of time."""
PULLS = {
    "slow": {"duration": SLOW, "jerk_speed": 0.0, "shake_speed": 0.0},
    "jerked along the line": {"duration": QUICK, "jerk_speed": 2.0, "shake_speed": 0.0},
    "shaken sideways": {"duration": QUICK, "jerk_speed": 0.0, "shake_speed": 1.0},
}
"""The paper gives no numbers: these are ours, and :func:`strength` varies them."""


def pulls(table_frictions: Any = (0.05, 0.2, 0.5), n_pairs: int = 8, n_runs: int = 12, seed: int = 0) -> xr.Dataset:
    """The three ways to pull, on tables of different friction.

    Returns
    -------
    Dataset
        Over ``pull`` and ``table_friction``: ``position`` and ``extension`` (run, frame, node or pair), the energies of
        :func:`~deepmech.simulators.folding_ruler.simulate`, ``final`` (extension at the end), ``closed_form`` of slow
        pulling, ``outer_minus_inner``, and ``unevenness`` (standard deviation of ``final`` over pairs) per run.
    """
    ruler = Ruler(n_pairs=n_pairs, table_friction=over("table_friction", table_frictions))
    how = {
        name: xr.DataArray([p[name] for p in PULLS.values()], dims="pull", coords={"pull": list(PULLS)})
        for name in ("duration", "jerk_speed", "shake_speed")
    }
    found = simulate(ruler, Pull(extension=EXTENSION, **how), n_runs=n_runs, n_frames=5, seed=seed)
    return summarised(found).assign(closed_form=slow_profile(ruler, EXTENSION))


def strength(
    kind: str, speeds: Any, table_frictions: Any = (0.05, 0.2, 0.5), n_pairs: int = 8, n_runs: int = 8, seed: int = 0
) -> xr.Dataset:
    """Quick pulls over ``jerk_speed`` or ``shake_speed`` (whichever ``kind`` names) and table friction.

    Returns
    -------
    Dataset
        As :func:`pulls`, and ``ratio``: unevenness over that of an infinitely slow pull, per run; ``ratio_of_mean``:
        the same for the extensions averaged over runs.
    """
    if kind not in ("jerk_speed", "shake_speed"):
        raise ValueError(f"strength kind = {kind!r}: must be 'jerk_speed' or 'shake_speed'")
    ruler = Ruler(n_pairs=n_pairs, table_friction=over("table_friction", table_frictions))
    pull = Pull(extension=EXTENSION, duration=QUICK, **{kind: over(kind, speeds)})
    found = summarised(simulate(ruler, pull, n_runs=n_runs, n_frames=2, seed=seed))
    slow = slow_profile(ruler, EXTENSION).std("pair")
    return found.assign(ratio=found.unevenness / slow, ratio_of_mean=found.final.mean("run").std("pair") / slow)


def summarised(found: xr.Dataset) -> xr.Dataset:
    """Final extensions and how uneven they are."""
    final = found.extension.isel(frame=-1, drop=True)
    ends = final.isel(pair=-1, drop=True) - final.isel(pair=0, drop=True)
    return found.assign(final=final, outer_minus_inner=ends, unevenness=final.std("pair"))
