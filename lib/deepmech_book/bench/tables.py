"""Measures of generalisation beside one another: what the tables and the verdicts of the page on it are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, bootstrap
from deepmech_book.bench import fresh_networks, judge
from deepmech_book.bench.fresh_networks import BEND, Pairs, Part, SignError, Truth
from deepmech_book.bench.judge import Judgement
from deepmech_book.bench.measures import HELD_OUT

__all__ = ["by_part_and_truth", "errors_of_parts", "least_worst", "mean_errors", "summaries_of_parts"]


def mean_errors(tables: Mapping[str, pd.DataFrame], measures: Sequence[str]) -> Estimate:
    """Mean sign errors of some measures in several leaderboards, by rule, (measure, rule)."""
    names = {"measure": list(measures), "rule": list(tables)}

    def numbers(column: str) -> xr.DataArray:
        rows = [[table.loc[measure, column] for table in tables.values()] for measure in measures]
        return xr.DataArray(np.array(rows, float), names, list(names))

    value, low, high = map(numbers, ("mean", "low", "high"))
    return Estimate(value, low, high)


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
    records: Mapping[str, xr.Dataset], pairs: Mapping[str, Pairs], measures: Sequence[str] = ()
) -> tuple[Estimate, dict[str, dict[str, SignError]]]:
    """Sign errors of some measures, or of all, in several parts, (measure, part), and the whole.

    Measures stand in the order of their errors in the last part.
    """
    found = {part: fresh_networks.sign_errors(record, pairs[part], measures) for part, record in records.items()}
    last = found[list(found)[-1]]
    names = {"measure": sorted(last, key=lambda name: last[name].value), "part": list(found)}

    def table(number: int | None) -> xr.DataArray:
        rows = [[_number(found[part][name], number) for part in names["part"]] for name in names["measure"]]
        return xr.DataArray(np.array(rows), names, list(names))

    return Estimate(table(None), table(0), table(1)), found


def summaries_of_parts(
    records: Mapping[str, xr.Dataset], pairs: Mapping[str, Pairs], found: Mapping[str, Mapping[str, SignError]]
) -> pd.DataFrame:
    """What sign errors on the test loss lie between: a coin's band and the twins' floor, and those of some measures.

    Arguments are by part; ``found`` is the last of :func:`errors_of_parts`.
    """
    rows = {
        part: {
            "coin, 95 % of": "{:.2f} to {:.2f}".format(*fresh_networks.coin(pairs[part])),
            "the twin in place of the first network": fresh_networks.noise_floor(record, pairs[part], "loss").value,
            "bend": found[part][BEND].value,
            "training loss": found[part]["training loss"].value,
            "bend less the median of the others": fresh_networks.less_median(found[part], pairs[part].n_stars).value,
        }
        for part, record in records.items()
    }
    return pd.DataFrame(rows)


def by_part_and_truth(records: Mapping[Part, xr.Dataset]) -> pd.DataFrame:
    """Sign errors of all measures where every pair counts alike, by part and what is true of test samples."""
    found = {
        f"{part}, test {truth}": fresh_networks.sign_errors(one, fresh_networks.pairs_of(one, part, truth, equal=True))
        for part, one in records.items()
        for truth in get_args(Truth)
    }
    return pd.DataFrame({title: {name: one.value for name, one in errors.items()} for title, errors in found.items()})


def _number(error: SignError, end: int | None) -> float:
    return error.value if end is None else error.interval[end]
