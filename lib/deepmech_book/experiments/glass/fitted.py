"""At how many weights per sample networks come to fit their data, and which larger ones do (Figs. 1(b), A3(a))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from deepmech.core.statistics import Interval, interval_of, share_interval
from deepmech_book.experiments.glass import transitions


@dataclass(frozen=True)
class Fitted:
    """``star``, N*/P_D of :func:`.transitions.n_star`, and ``share``, that of the ``n`` larger networks without loss.

    Both have their interval over networks, and are nan where the mean loss crosses the level nowhere.
    """

    star: float
    star_interval: Interval
    share: float
    share_interval: Interval
    n: int


def fitted(sizes: xr.Dataset) -> Fitted:
    """What networks of several sizes at rest, without weight decay, say of the transition between them."""
    star, n_seeds = transitions.n_star(sizes), sizes.sizes["seed"]
    if np.isnan(star):
        why = "the mean loss crosses the level nowhere; give narrower or wider networks, or train them for longer"
        none = Interval(np.nan, np.nan, why)
        return Fitted(star, none, np.nan, none, 0)
    # Without the only initial condition there is none.
    without = [transitions.n_star(sizes.drop_isel(seed=i)) for i in range(n_seeds)] if n_seeds > 1 else [np.nan]
    larger = transitions.by_ratio(sizes).sel(ratio=slice(star, None)).values
    larger = larger[np.isfinite(larger)]
    share, n = float((larger < transitions.LEVEL).mean()), len(larger)
    between = interval_of(star, np.array(without), scatter="symmetric")
    return Fitted(star, between, share, share_interval(share, n), n)
