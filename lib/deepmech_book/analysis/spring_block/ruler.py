"""How unevenly a folding ruler has been opened (Fig. S1 of paper A)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.simulators.folding_ruler import Ruler, slow_profile


def unevenness(run: xr.Dataset, ruler: Ruler, extension: float) -> xr.DataArray:
    """Standard deviation of the final extension over pairs, by that of an infinitely slow pull.

    Parameters
    ----------
    run : Dataset
        As :func:`deepmech.simulate` gives it: ``extension`` over (…, frame, pair).
    ruler : Ruler
        The ruler of the run.
    extension : float
        Mean extension at the end of the pull.

    Returns
    -------
    DataArray
        Over all other dimensions; 1 where the pull is as uneven as a slow one.
    """
    return run["extension"].isel(frame=-1, drop=True).std("pair") / slow_profile(ruler, extension).std("pair")


def side_by_side(pulls: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Pulls of one ruler along ``pull``; where nothing is random and ``run`` has one label, it stands for all runs."""
    n_runs = max(one.sizes["run"] for one in pulls.values())
    alike = [
        one.isel(run=np.arange(n_runs) % one.sizes["run"]).assign_coords(run=range(n_runs)) for one in pulls.values()
    ]
    return xr.concat(alike, xr.Variable("pull", list(pulls)))
