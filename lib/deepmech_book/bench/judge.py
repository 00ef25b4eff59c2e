r"""How a measure is judged: pairs of networks between which one setting changed, and where it does worst.

After Jiang et al. (Fantastic generalization measures, ICLR 2020) networks are compared that differ in one setting, and
after Dziugaite et al. (In search of robust measures of generalization, NeurIPS 2020) each kind of comparison is an
environment of its own, a measure is as good as in its worst, and a pair counts as much as its two gaps can be told
apart. In environment e, with measure C and generalisation gap G of the two networks of a pair,

.. math:: \mathrm{err}_e = \frac{\sum w\,\tfrac12\,[1 - \operatorname{sign}(\Delta C)\operatorname{sign}(\Delta G)]}
   {\sum w}, \qquad w = \max\bigl(0,\ 1 - 2e^{-2n(\Delta G/2)^2}\bigr)^2

for gaps measured on n samples: the weights of their public program. An environment is a data set and a setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, bootstrap
from deepmech_book.bench.measures import MEASURES, Measure
from deepmech_book.sweeps.extras.zoo import IMAGES, LEVELS, SIZE, VALIDATION

__all__ = [
    "LEAST",
    "Judgement",
    "compared",
    "gap",
    "in_words",
    "judge_all",
    "judged",
    "leaderboard",
    "pairs_of",
    "weight",
    "worst_of",
]

LEAST = 5.0
"""Environments whose pairs weigh less in sum are left out."""


@dataclass(frozen=True)
class Judgement:
    """What the bench finds of one measure.

    ``errors`` (environment) are sign errors, 0.5 of a coin; ``mean`` and ``worst`` over environments, with intervals
    from stars drawn anew; ``runs`` is (sum of wrong weights, sum of weights), each (star, environment).
    ``n_environments`` counts those, too, whose pairs weigh too little to be among them.
    """

    errors: xr.DataArray
    mean: Estimate
    worst: Estimate
    runs: tuple[np.ndarray, np.ndarray]
    n_environments: int

    @property
    def where(self) -> str:
        """The environment in which it does worst."""
        return str(self.errors.environment.values[int(self.errors.values.argmax())])


def gap(record: xr.Dataset) -> xr.DataArray:
    """Generalisation gap: accuracy of training samples less that of test samples."""
    return record.accuracy.sel(split="train", drop=True) - record.accuracy.sel(split="test", drop=True)


def weight(difference: np.ndarray, n: int = IMAGES["n_test"] - VALIDATION) -> np.ndarray:
    """How much a pair counts: about the chance, squared, that gaps so far apart are in this order."""
    return np.maximum(0.0, 1 - 2 * np.exp(-2 * n * (difference / 2) ** 2)) ** 2


def pairs_of(record: xr.Dataset) -> pd.DataFrame:
    """All pairs of networks between which one setting changed: ``first`` and ``second`` are places in the record."""
    place = {int(n): i for i, n in enumerate(record.number.values)}
    data = record.data.values
    rows = [
        (star, place[base], place[base + j], f"{data[place[base]]}, {name.replace('_', ' ')}")
        for star, base in enumerate(range(0, int(record.number.max()) + 1, SIZE))
        for j, name in enumerate(LEVELS, start=1)
        if base in place and base + j in place
    ]
    return pd.DataFrame(rows, columns=["star", "first", "second", "environment"])


def judged(
    values: xr.DataArray | Measure, record: xr.Dataset, pairs: pd.DataFrame | None = None, equal: bool = False
) -> Judgement:
    """Judge one measure, its ``values`` over ``number``; pairs without two finite values count as ties.

    In place of values, the measure itself may be given: it gets a copy of the record, so that it cannot change what it
    is judged by. With ``equal`` every pair counts as much as any other, however close its gaps. A ValueError if values
    do not run over the record's networks, are no numbers, or are finite for none.
    """
    pairs = pairs_of(record) if pairs is None else pairs
    truth = gap(record).values.astype(float)
    values = _demand(values if isinstance(values, xr.DataArray) else values(record.copy(deep=True)), record)
    first, second = pairs["first"].to_numpy(), pairs["second"].to_numpy()
    measure = values.values.astype(float)
    far = truth[second] - truth[first]
    counts = np.where(np.isfinite(far), 1.0 if equal else weight(np.nan_to_num(far)), 0.0)
    with np.errstate(invalid="ignore"):
        agree = np.nan_to_num(np.sign(measure[second] - measure[first])) * np.sign(np.nan_to_num(far))
    frame = pairs.assign(total=counts, wrong=counts * (1 - agree) / 2)
    table = frame.pivot_table(index="star", columns="environment", values=["wrong", "total"], aggfunc="sum")
    table = table.fillna(0.0)
    heavy = table["total"].sum() >= LEAST
    names = [name for name in dict.fromkeys(pairs["environment"]) if heavy.get(name, False)]
    if not names:
        raise ValueError("bench: no environment has pairs enough whose gaps can be told apart; take more networks")
    runs = table["wrong"][names].to_numpy(), table["total"][names].to_numpy()
    errors = xr.DataArray(runs[0].sum(0) / runs[1].sum(0), {"environment": names}, ["environment"])
    mean, worst = (bootstrap(of, *runs).map(lambda end: float(np.clip(end, 0.0, 1.0))) for of in (_mean, worst_of))
    return Judgement(errors, mean, worst, runs, pairs["environment"].nunique())


def judge_all(record: xr.Dataset, names: Iterable[str] = (), equal: bool = False) -> dict[str, Judgement]:
    """Judge measures of the book, those of these ``names`` or all, on the same pairs, by name."""
    pairs = pairs_of(record)
    return {name: judged(MEASURES[name], record, pairs, equal) for name in names or MEASURES}


def compared(one: Judgement, rival: Judgement) -> Estimate:
    """The mean error of one measure, with that of a rival on the same pairs as its null."""
    less = bootstrap(lambda a, t, b, u: _mean(a, t) - _mean(b, u), *one.runs, *rival.runs)
    m = one.mean
    return Estimate(float(m.value), float(m.low), float(m.high), m.n, "", float(rival.mean.value), less.interval)


def leaderboard(record: xr.Dataset, own: Mapping[str, Measure] | None = None, equal: bool = False) -> pd.DataFrame:
    """All measures, and somebody's ``own`` by name, from the least error where each does worst to the largest.

    ``equal`` is as for :func:`judged`. What cannot be judged stands last, without numbers: the attribute ``faults`` of
    the table says why, by name.
    """
    pairs = pairs_of(record)
    rows: dict[str, dict[str, Any]] = {}
    faults: dict[str, str] = {}
    for name, measure in {**MEASURES, **(own or {})}.items():
        try:
            one = judged(measure, record, pairs, equal)
        except (Exception, SystemExit) as error:  # whatever somebody's code does, the others are judged
            if name not in (own or {}):
                raise
            faults[name], rows[name] = str(error) if isinstance(error, ValueError) else in_words(error), {}
            continue
        rows[name] = {
            "worst": float(one.worst.value), "worst in": one.where, "mean": float(one.mean.value),
            "low": float(one.mean.low), "high": float(one.mean.high),
            "beats a coin in": f"{int((one.errors < 0.5).sum())} of {one.errors.size}",
        }  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index").sort_values(["worst", "mean"])
    table.attrs["faults"] = faults
    return table.rename_axis("measure")


def in_words(error: BaseException) -> str:
    """What somebody's own code did, in one line.

    Examples
    --------
    >>> in_words(KeyError("losses")), in_words(SystemExit(0))
    ("KeyError: 'losses'", 'calls sys.exit')
    """
    said = " ".join(str(error).split())
    return "calls sys.exit" if isinstance(error, SystemExit) else f"{type(error).__name__}: {said}".removesuffix(": ")


def _demand(values: object, record: xr.Dataset) -> xr.DataArray:
    """The values, if they are a number for each network of the record; else a ValueError."""
    networks = "must be one number for each network, over 'number' alone, as record.epoch is"
    if not isinstance(values, xr.DataArray):
        raise ValueError(f"bench: values of type {type(values).__name__}: {networks}")
    if values.dims != ("number",) or not np.array_equal(values.number, record.number):
        raise ValueError(f"bench: values over {dict(values.sizes)}: {networks}")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"bench: values of type {values.dtype}: {networks}")
    if not np.isfinite(values.values.astype(float)).any():
        raise ValueError(f"bench: values are nan or infinite for every network: {networks}")
    return values


def _ratio(wrong: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.divide(wrong, total, out=np.full(wrong.shape, 0.5), where=total > 0)


def _mean(wrong: np.ndarray, total: np.ndarray) -> np.ndarray:
    return _ratio(wrong, total).mean(-1)


def worst_of(wrong: np.ndarray, total: np.ndarray) -> np.ndarray:
    """The largest error of all environments, from mean weights over stars, (…, environment)."""
    return _ratio(wrong, total).max(-1)
