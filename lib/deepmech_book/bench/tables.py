"""Measures of generalisation beside one another: what the tables and the verdicts of the page on it are made from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, bootstrap
from deepmech_book.bench import fresh_networks, judge
from deepmech_book.bench.fresh_networks import Pairs, SignError
from deepmech_book.bench.judge import Judgement
from deepmech_book.bench.measures import HELD_OUT

__all__ = ["errors_of_parts", "least_worst", "mean_and_worst"]


def mean_and_worst(table: pd.DataFrame) -> tuple[xr.DataArray, tuple[xr.DataArray, xr.DataArray]]:
    """Mean and worst sign error of each measure of a leaderboard, (measure, which), and the ends of their intervals.

    The worst has no interval: both its ends are the number itself.
    """
    names = {"measure": list(table.index), "which": ["mean", "worst"]}
    numbers = [table[["mean", "worst"]].to_numpy()]
    numbers += [np.c_[table[end], table["worst"]] for end in ("low", "high")]
    value, low, high = (xr.DataArray(one, names, list(names)) for one in numbers)
    return value, (low, high)


def least_worst(found: Mapping[str, Judgement]) -> tuple[str, Estimate]:
    """Of the measures that see no validation split: the one whose worst environment is best, and the least worst error.

    In every draw of stars the least is taken anew, whichever measure has it.
    """
    own = {name: one for name, one in found.items() if name not in HELD_OUT}
    best = min(own, key=lambda name: float(own[name].worst.value))

    def least(*runs: np.ndarray) -> np.ndarray:
        pairs = zip(runs[::2], runs[1::2], strict=True)
        return np.min([judge.worst_of(*one) for one in pairs], axis=0)

    return best, bootstrap(least, *(array for one in own.values() for array in one.runs))


def errors_of_parts(
    records: Mapping[str, xr.Dataset], pairs: Mapping[str, Pairs]
) -> tuple[xr.DataArray, tuple[xr.DataArray, xr.DataArray], dict[str, dict[str, SignError]]]:
    """Sign errors of all measures in several parts, (measure, part), with the ends of their intervals, and the whole.

    Measures stand in the order of their errors in the last part.
    """
    found = {part: fresh_networks.sign_errors(record, pairs[part]) for part, record in records.items()}
    last = found[list(found)[-1]]
    names = {"measure": sorted(last, key=lambda name: last[name].value), "part": list(found)}

    def table(number: int | None) -> xr.DataArray:
        rows = [[_number(found[part][name], number) for part in names["part"]] for name in names["measure"]]
        return xr.DataArray(np.array(rows), names, list(names))

    return table(None), (table(0), table(1)), found


def _number(error: SignError, end: int | None) -> float:
    return error.value if end is None else error.interval[end]
