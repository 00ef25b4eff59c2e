"""Claims of the page glass/forecast: what one look at a network foretells of its walks.

``walked`` and ``foretold`` are walks and their forecasts by phase, of the sweeps of
:mod:`deepmech_book.sweeps.glass.forecasts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from deepmech.core.estimates import Estimate, estimate, stack
from deepmech_book.analysis.glass import forecasts
from deepmech_book.claims.functions import Measurement, measures

Runs = Mapping[str, xr.Dataset]
Score = Callable[[xr.Dataset, xr.Dataset], xr.DataArray]


def _judged(walked: Runs, foretold: Runs, score: Score, rival: str) -> Measurement:
    """Mean over networks of the forecast's score by phase, beside that of another kind of forecast."""
    each = {phase: score(run, foretold[phase]) for phase, run in walked.items()}
    null = xr.DataArray([float(one.sel(kind=rival).mean()) for one in each.values()], {"phase": list(each)})
    return Measurement(_means({phase: one.sel(kind="forecast", drop=True) for phase, one in each.items()}), null=null)


def _means(scores: Mapping[str, xr.DataArray]) -> Estimate:
    return stack({phase: estimate(one, "seed", "symmetric") for phase, one in scores.items()}, "phase")


def _distances(walked: xr.Dataset, foretold: xr.Dataset) -> xr.DataArray:
    return forecasts.errors_by_kind(walked, foretold).mean(["temperature", "waiting"])


@measures("C.3.forecast.curves")
def curves(walked: Runs, foretold: Runs) -> Measurement:
    """Distance of overlaps from the forecast's; the null: from those of free walks with the same noise."""
    return _judged(walked, foretold, _distances, "free walk")


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
