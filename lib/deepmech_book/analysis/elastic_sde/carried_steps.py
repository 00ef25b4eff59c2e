"""How far networks went from what their measured steps foretold, and from what straight lines and power laws say.

Records are those of :func:`deepmech_book.sweeps.elastic_sde.carried_steps.carry_cells` over ``number``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, proportion
from deepmech_book.sweeps.elastic_sde.carried_steps import LATER, PAST, settings_of

__all__ = [
    "JUDGED",
    "NULLS",
    "PATHS",
    "RIVALS",
    "distances",
    "horizon",
    "order",
    "predictions",
    "right_order",
    "share_nearer",
    "table",
    "typical",
]

PATHS = ("means", "separation", "error")
"""What is foretold, each with its own distance."""
NULLS = ("nothing moves", "straight line", "power law")
JUDGED = LATER[1:]
"""Times of the claims."""
RIVALS = ("test error then", "training loss then", "training error then")
"""Numbers of the moment by which networks might be ordered; the last two are what a trivial law knows."""
APART = 0.02
"""Test errors that are less far apart are in no order."""


def predictions(record: xr.Dataset, name: str) -> xr.DataArray:
    """What a number of a network will be at all later times, by "measured steps" and each of :data:`NULLS`.

    A straight line goes on as fast as in the second half of the time until the moment. A power law goes through the
    moment, its half and its quarter: with q the number and g = log₂ of how far it went in the last half by how far in
    the quarter before (at most 3 either way), ``q(t) = q(1) + (q(1) - q(½)) (tᵍ - 1)/(1 - 2⁻ᵍ)``.

    Returns
    -------
    DataArray
        (kind, …, time); errors within [0, 1].
    """
    came, moment = record[name].sel(source="came", drop=True), record[name].sel(source="foretold", drop=True)
    early, half, now = (came.sel(time=t, drop=True) for t in PAST)
    time = record.time.sel(time=list(LATER))
    size = [
        abs(one) if name != "means" else np.sqrt((one**2).sum(["class", "logit"])) for one in (now - half, half - early)
    ]
    power = np.log2(xr.where((size[0] > 0) & (size[1] > 0), size[0] / size[1], 1.0)).clip(-3, 3)
    power = power.where(abs(power) > 1e-3, 1e-3)
    lead = (time**power - 1) / (1 - 2.0**-power)
    kinds = {
        "measured steps": moment.sel(time=list(LATER)),
        "nothing moves": moment.sel(time=1.0, drop=True) + 0 * time,
        "straight line": now + 2 * (now - half) * (time - 1),
        "power law": now + (now - half) * lead,
    }
    found = xr.concat(list(kinds.values()), xr.Variable("kind", list(kinds)), coords="minimal", compat="override")
    return found.clip(0, 1) if name == "error" else found


def distances(record: xr.Dataset, name: str) -> xr.DataArray:
    """Distance of each of :func:`predictions` from what came, (kind, number, time).

    Of means the root of the sum of squares over classes and logits, in units of how far they went since the moment.
    """
    came = record[name].sel(source="came", time=list(LATER), drop=True)
    apart = abs(predictions(record, name) - came)
    if name != "means":
        return apart
    apart = (apart**2).sum(["class", "logit"], skipna=False) ** 0.5
    return apart / apart.sel(kind="nothing moves", drop=True)


def share_nearer(record: xr.Dataset, name: str) -> Estimate:
    """Share of networks of which the measured steps say more nearly what comes than each null: (null, time).

    Only :data:`JUDGED` times; where both are as near, neither is nearer.
    """
    far = distances(record, name).sel(time=list(JUDGED)).dropna("number")
    nearer = far.sel(kind="measured steps", drop=True) < far.sel(kind=list(NULLS))
    return proportion(nearer.rename(kind="null").mean("number"), far.sizes["number"])


def horizon(share: Estimate) -> float:
    """The last time, from the first on, until which more than half of networks are nearer, surely, by every null; 1 if
    there is none."""
    sure = (share.low > 0.5).all("null").values
    return float([1.0, *share.low.time.values][int(np.argmin([*sure, False]))])


def right_order(measure: np.ndarray, truth: np.ndarray, data: np.ndarray) -> float:
    """Share of pairs of networks on one data set that a number orders as their test errors are; ties count half.

    All arrays are (network,); pairs whose errors differ by less than :data:`APART` are left out.
    """
    apart = truth[:, None] - truth
    counts = (apart > APART) & (data[:, None] == data)
    says = np.sign(measure[:, None] - measure)
    return float((1 + says[counts]).mean() / 2)


def order(record: xr.Dataset, time: float = 2.0) -> Estimate:
    """:func:`right_order` of the test errors foretold for a time, less that by each of :data:`RIVALS`."""
    then = record.sel(source="foretold", time=1.0, drop=True)
    columns = {
        "truth": record.error.sel(source="came", time=time, drop=True),
        "foretold": record.error.sel(source="foretold", time=time, drop=True),
        **dict(zip(RIVALS, (then.error, then["loss"], 1 - then.accuracy), strict=True)),
    }
    table = xr.Dataset(columns).dropna("number")
    table = table.assign(data=("number", [settings_of(int(n))["data"] for n in table.number.values]))

    def less(some: xr.Dataset) -> xr.DataArray:
        truth, data = some.truth.values, some["data"].values
        ours, *rivals = (right_order(some[name].values, truth, data) for name in ("foretold", *RIVALS))
        return xr.DataArray(ours - np.array(rivals), {"rival": list(RIVALS)}, ["rival"])

    return estimate(table, "number", "symmetric", of=less)


def typical(record: xr.Dataset) -> dict[str, xr.DataArray]:
    """Median over networks of :func:`distances`, by what is foretold: arrays (kind, time)."""
    names = dict(zip(PATHS, ("mean logits", "separation D", "test error"), strict=True))
    return {words: distances(record, name).median("number") for name, words in names.items()}


def table(record: xr.Dataset) -> pd.DataFrame:
    """:func:`typical` as a table: rows are what is foretold and how, columns times."""
    rows = {name: far.to_pandas() for name, far in typical(record).items()}
    return pd.concat(rows, names=["", "foretold by"]).round(3)
