"""Claims of the page spring_block/balance: what the friction of networks without dropout foretells.

``came`` and ``said`` are what was measured and what was foretold, of
:mod:`deepmech_book.analysis.spring_block.balance`.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech_book.analysis.nulls import beside, made_beside
from deepmech_book.analysis.spring_block import balance
from deepmech_book.claims.functions import Measurement, measures


def _judged(score: xr.DataArray) -> Measurement:
    """Mean of the chain's score over rows, beside that of the mean of the other rows."""
    chain, others = (score.sel(kind=kind, drop=True) for kind in ("chain", "other rows"))
    return Measurement(beside(chain.astype(float), others.astype(float), "row", "skewed"))


@measures("A.1.balance.dropout")
def dropout(came: xr.Dataset, said: xr.Dataset) -> Measurement:
    """How far the foretold balance was off."""
    return _judged(balance.errors(came, said))


@measures("A.1.balance.friction")
def friction(came: xr.Dataset, said: xr.Dataset) -> Measurement:
    """By how much friction erred more than the straight line through the curvature that was nearer."""
    each = balance.errors(came, said)
    lines = each.sel(kind=["curvature", "curvature and width"])
    nearer = lines.isel(kind=int(lines.mean("row").argmin("kind")), drop=True)
    return Measurement(estimate(each.sel(kind="chain", drop=True) - nearer, "row", "skewed"))


@measures("A.1.balance.sign")
def sign(came: xr.Dataset, said: xr.Dataset) -> Measurement:
    """How often the curve bent the foretold way."""
    return _judged(balance.signs(came, said))


@measures("A.1.balance.rank")
def rank(came: xr.Dataset, said: xr.Dataset) -> Measurement:
    """Whether bends ranked as foretold."""
    both = xr.Dataset({"came": came.bend, "said": said.bend})

    def by(kind: str) -> Callable[[xr.Dataset], float]:
        return lambda some: balance.rank(some.came, some.said.sel(kind=kind))

    return Measurement(made_beside(both, "row", by("chain"), by("other rows"), "skewed"))


def table(came: xr.Dataset, said: xr.Dataset) -> pd.DataFrame:
    """Mean scores of every kind of forecast, one a row."""
    off = abs(said.bend - came.bend).isel(dropout=slice(1, None)).mean(["row", "dropout"])
    columns = {
        "error of the balanced dropout": balance.errors(came, said).mean("row"),
        "bends the foretold way": balance.signs(came, said).mean("row"),
        "rank correlation of bends": balance.ranks(came, said),
        "error of the bend": off,
    }
    return pd.DataFrame({name: one.to_series() for name, one in columns.items()}).rename_axis("foretold by")
