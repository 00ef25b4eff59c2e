"""At how many weights per sample networks come to fit their data, and which larger ones do (Figs. 1(b), A3(a))."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, proportion, unknown
from deepmech_book.experiments.glass import transitions


def fitted(sizes: xr.Dataset) -> tuple[Estimate, Estimate]:
    """What networks of several sizes at rest, without weight decay, say of the transition between them.

    N*/P_D of :func:`.transitions.n_star`, and the share of the larger networks that are without loss; both are unknown
    where the mean loss crosses the level nowhere.
    """
    star = transitions.n_star(sizes)
    if np.isnan(star):
        none = unknown(
            "the mean loss crosses the level nowhere; give narrower or wider networks, or train them for longer"
        )
        return none, none
    larger = transitions.by_ratio(sizes).sel(ratio=slice(star, None)).values
    larger = larger[np.isfinite(larger)]
    share = proportion(float((larger < transitions.LEVEL).mean()), len(larger))
    return estimate(sizes, "seed", "symmetric", of=transitions.n_star), share
