"""Claims of the page glass/forecast: what one look at a network foretells of its walks.

``walked`` and ``foretold`` are walks and their forecasts by phase, of the sweeps of
:mod:`deepmech_book.sweeps.glass.forecasts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, stack
from deepmech_book.analysis.glass import forecasts
from deepmech_book.analysis.nulls import beside
from deepmech_book.claims import functions, registry
from deepmech_book.claims.display import short
from deepmech_book.claims.functions import Measurement, measures

Runs = Mapping[str, xr.Dataset]
Score = Callable[[xr.Dataset, xr.Dataset], xr.DataArray]


def _judged(walked: Runs, foretold: Runs, score: Score, rival: str) -> Measurement:
    """Mean over networks of the forecast's score by phase, beside that of another kind of forecast."""
    each = {phase: score(run, foretold[phase]) for phase, run in walked.items()}
    both = {p: [one.sel(kind=kind, drop=True) for kind in ("forecast", rival)] for p, one in each.items()}
    return Measurement(stack({phase: beside(own, null, "seed") for phase, (own, null) in both.items()}, "phase"))


def _means(scores: Mapping[str, xr.DataArray]) -> Estimate:
    return stack({phase: estimate(one, "seed", "symmetric") for phase, one in scores.items()}, "phase")


def _distances(walked: xr.Dataset, foretold: xr.Dataset) -> xr.DataArray:
    return forecasts.errors_by_kind(walked, foretold).mean(["temperature", "waiting"])


@measures("C.3.forecast.curves")
def curves(walked: Runs, foretold: Runs) -> Measurement:
    """Distance of overlaps from the forecast's; the null: from those of free walks with the same noise."""
    each = forecasts.left_over(walked, foretold).items()
    words = " ".join(f"{p.capitalize()}: {', '.join(f'{what} {n}' for what, n in one.items())}." for p, one in each)
    return replace(_judged(walked, foretold, _distances, "free walk"), detail=f"Left over where coldest. {words}")


@measures("C.3.forecast.others")
def others(walked: Runs, foretold: Runs) -> Measurement:
    """Distance of overlaps from the forecast's less that from the mean of other networks."""
    each = {phase: _distances(run, foretold[phase]) for phase, run in walked.items()}
    return Measurement(_means({p: a.sel(kind="forecast") - a.sel(kind="other networks") for p, a in each.items()}))


@measures("C.3.forecast.times")
def times(walked: Runs, foretold: Runs) -> Measurement:
    """Size of log₁₀ of foretold by walked times; the null: of times of free walks."""
    return _judged(walked, foretold, forecasts.time_errors, "free walk")


@measures("C.3.forecast.alpha")
def alpha(walked: Runs, foretold: Runs) -> Measurement:
    """log₂ of foretold by walked α₂; the null: that of layers of different mobility."""

    def score(run: xr.Dataset, said: xr.Dataset) -> xr.DataArray:
        mixture = run["alpha_mixture"].expand_dims(kind=["layers"])
        return forecasts.alpha_errors(run, xr.concat([said.alpha, mixture], "kind", join="inner"))

    return _judged(walked, foretold, score, "layers")


OF_WALKS = (
    "C.2.hot_is_free", "C.2.cold_is_faster", "C.3.hot_slope", "C.3.cold_flat", "C.3.one_step", "C.4.collapse",
    "C.4.master_power", "C.A6.under_leaves", "C.5.no_plateau", "C.5.hot_is_free", "C.7.hot_is_gaussian",
    "C.7.cold_is_not", "C.8.ages", "C.8.hot_does_not", "C.8.stronger_regularised", "C.8.crossover",
)  # fmt: skip
"""The paper's claims on walks of networks with loss that these records can decide."""


def of_forecasts(walked: Runs, foretold: Runs, glass: xr.Dataset) -> pd.DataFrame:
    """The paper's claims on these walks, and the same claims, by the same functions, on what was foretold of them.

    Parameters
    ----------
    walked, foretold : mapping of str to Dataset
        As everywhere here.
    glass : Dataset
        ``overlap`` in a window as wide as its cages, and ``msd``, of a glass former: the null of two of the claims.

    Returns
    -------
    DataFrame
        By statement: ``walks`` and ``forecasts``, each a verdict and a number with its interval. What forecasts
        satisfy, too, is true in a parabola and no sign of a glass.
    """

    def given(name: str, runs: Runs) -> tuple[Any, ...]:
        if name in ("C.2.cold_is_faster", "C.4.master_power"):
            return (runs["regularised"],)
        caged = {"C.3.one_step": glass.overlap, "C.5.no_plateau": glass.msd.mean("seed")}
        return (runs, caged[name]) if name in caged else (runs,)

    both = {"walks": walked, "forecasts": forecasts.in_their_place(walked, foretold)}
    rows = {}
    for name in OF_WALKS:
        one = registry.claim(name)
        function = functions.functions_of(one.page)[name].function
        found = {what: function(*given(name, runs)) for what, runs in both.items()}
        numbers = _most_apart({what: m.measured for what, m in found.items()})
        verdicts = {what: functions.judged(name, m).verdict for what, m in found.items()}
        rows[one.statement] = {what: f"{verdict}: {numbers[what]}" for what, verdict in verdicts.items()}
    return pd.DataFrame.from_dict(rows, "index").rename_axis("claim of the paper")


def _most_apart(measured: Mapping[str, Any]) -> dict[str, str]:
    """Two measurements as text, each with its interval; of arrays, the elements that differ most."""
    known = {what: one if isinstance(one, Estimate) else Estimate(one) for what, one in measured.items()}
    values = xr.align(*(xr.DataArray(one.value) for one in known.values()), join="inner")
    apart = abs(values[0] - values[1])
    if not np.isfinite(apart).any():
        return dict.fromkeys(measured, "–")
    place = apart.argmax(...) if apart.ndim else {}
    where = {dim: apart[dim].values[int(at)] for dim, at in place.items()}

    def text(one: Estimate) -> str:
        one = one.select(lambda numbers: round(float(numbers.sel(where) if where and np.ndim(numbers) else numbers), 9))
        return short(one.value, one.interval if np.isfinite(one.low) else None)[0]

    return {what: text(one) for what, one in known.items()}
