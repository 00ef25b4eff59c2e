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

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, bootstrap
from deepmech_book.bench.measures import MEASURES, Measure
from deepmech_book.experiments.zoo import IMAGES, LEVELS, SIZE, VALIDATION

LEAST = 5.0
"""Environments whose pairs weigh less in sum are left out."""


@dataclass(frozen=True)
class Judgement:
    """What the bench finds of one measure.

    ``errors`` (environment) are sign errors, 0.5 of a coin; ``mean`` and ``worst`` over environments, with intervals
    from stars drawn anew; ``runs`` is (sum of wrong weights, sum of weights), each (star, environment).
    """

    errors: xr.DataArray
    mean: Estimate
    worst: Estimate
    runs: tuple[np.ndarray, np.ndarray]

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
    values: xr.DataArray, record: xr.Dataset, pairs: pd.DataFrame | None = None, equal: bool = False
) -> Judgement:
    """Judge one measure, its ``values`` over ``number``; pairs without two finite values count as ties.

    With ``equal`` every pair counts as much as any other, however close its gaps. A ValueError if values do not run
    over the record's networks.
    """
    pairs = pairs_of(record) if pairs is None else pairs
    if values.dims != ("number",) or not np.array_equal(values.number, record.number):
        raise ValueError(f"bench: values over {values.dims}: must be one number for each network, over 'number' alone")
    first, second = pairs["first"].to_numpy(), pairs["second"].to_numpy()
    measure, truth = values.values.astype(float), gap(record).values.astype(float)
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
    return Judgement(errors, mean, worst, runs)


def compared(one: Judgement, rival: Judgement) -> Estimate:
    """The mean error of one measure, with that of a rival on the same pairs as its null."""
    less = bootstrap(lambda a, t, b, u: _mean(a, t) - _mean(b, u), *one.runs, *rival.runs)
    m = one.mean
    return Estimate(float(m.value), float(m.low), float(m.high), m.n, "", float(rival.mean.value), less.interval)


def leaderboard(record: xr.Dataset, own: Mapping[str, Measure] | None = None, equal: bool = False) -> pd.DataFrame:
    """All measures, and somebody's ``own`` by name, from the least error where each does worst to the largest.

    ``equal`` is as for :func:`judged`.
    """
    pairs = pairs_of(record)
    rows = {}
    for name, measure in {**MEASURES, **(own or {})}.items():
        one = judged(measure(record), record, pairs, equal)
        rows[name] = {
            "worst": float(one.worst.value), "worst in": one.where, "mean": float(one.mean.value),
            "low": float(one.mean.low), "high": float(one.mean.high),
            "beats a coin in": f"{int((one.errors < 0.5).sum())} of {one.errors.size}",
        }  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index").sort_values(["worst", "mean"])
    return table.rename_axis("measure")


def _ratio(wrong: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.divide(wrong, total, out=np.full(wrong.shape, 0.5), where=total > 0)


def _mean(wrong: np.ndarray, total: np.ndarray) -> np.ndarray:
    return _ratio(wrong, total).mean(-1)


def worst_of(wrong: np.ndarray, total: np.ndarray) -> np.ndarray:
    """The largest error of all environments, from mean weights over stars, (…, environment)."""
    return _ratio(wrong, total).max(-1)
