"""Fig. S1: how unevenly a folding ruler is opened, pulled slowly, jerked along the line or shaken sideways."""

import numpy as np
import xarray as xr

from deepmech.simulators.folding_ruler import slow_profile
from deepmech_book.spring_block.words import said


def side_by_side(pulls):
    """Pulls of one ruler along ``pull``; where nothing is random and ``run`` has one label, it stands for all runs."""
    n = max(one.sizes["run"] for one in pulls.values())
    alike = [one.isel(run=np.arange(n) % one.sizes["run"]).assign_coords(run=range(n)) for one in pulls.values()]
    return xr.concat(alike, xr.Variable("pull", list(pulls)))


def unevenness(run, ruler, extension):
    """Standard deviation over pairs of the extension at the end, by that of an infinitely slow pull."""
    uneven = run["extension"].isel(frame=-1, drop=True).std("pair") / slow_profile(ruler, extension).std("pair")
    return said(uneven, "unevenness, relative to slow")


def table(final):
    """Standard deviation over pairs of each pull, mean over runs; of ``pull``, ``table_friction`` and ``run``."""
    return final.std("pair").mean("run").to_pandas().round(2)
