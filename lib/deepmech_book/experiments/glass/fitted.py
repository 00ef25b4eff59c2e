"""At how many weights per sample networks come to fit their data, and which larger ones do (Figs. 1(b), A3(a))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from deepmech.core.statistics import Interval, interval_of, share_interval, unknown, without_each_of
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
    star = transitions.n_star(sizes)
    if np.isnan(star):
        why = "the mean loss crosses the level nowhere; give narrower or wider networks, or train them for longer"
        return Fitted(star, unknown(why), np.nan, unknown(why), 0)
    larger = transitions.by_ratio(sizes).sel(ratio=slice(star, None)).values
    larger = larger[np.isfinite(larger)]
    share, n = float((larger < transitions.LEVEL).mean()), len(larger)
    between = interval_of(star, without_each_of(transitions.n_star, sizes, "seed"), scatter="symmetric")
    return Fitted(star, between, share, share_interval(share, n), n)
