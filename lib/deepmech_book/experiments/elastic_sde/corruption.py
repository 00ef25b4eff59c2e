"""Wrong labels: tail indices of the effects against the share p_err (Figs. 4 and D.2 of paper B)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from deepmech.metrics.elasticity import Model, integrated_effects, tail_index
from deepmech_book.experiments.elastic_sde.effects import MODELS, step_of, without_groups

LAST = 1000
"""Iterations at the end of training over which tail indices are averaged (paper B, Sec. 4.1)."""


def indices(intra: xr.DataArray, inter: xr.DataArray) -> xr.Dataset:
    """Tail indices r̂_α ``intra``, r̂_β ``inter`` and the smaller of them, ``least``.

    Of Â and B̂ they are those of the paper's App. D.1.3, of α̂ and β̂ those of its Sec. 4.1.
    """
    last = max(1, round(LAST / step_of(intra)))
    out = xr.Dataset({"intra": tail_index(intra, last=last), "inter": tail_index(inter, last=last)})
    return out.assign(least=np.minimum(out["intra"], out["inter"]))


def without_each_group(result: xr.Dataset, models: Sequence[Model] = MODELS) -> tuple[xr.Dataset, xr.Dataset]:
    """:func:`indices` of Â and B̂ over ``model``, in coarse blocks of time: of all trials, without each ``group``."""
    found = []
    for means in without_groups(result):
        both = [integrated_effects(means, model) for model in models]
        each = [indices(one["A"], one["B"]) for one in both]
        found.append(xr.concat(each, xr.Variable("model", list(models)), combine_attrs="drop"))
    return found[0], found[1]
