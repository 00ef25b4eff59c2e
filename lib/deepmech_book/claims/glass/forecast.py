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


def by_phase(walked: Runs, foretold: Runs, score: Score) -> Estimate:
    """Means over networks of a score of each, by phase."""
    return stack({p: estimate(score(run, foretold[p]), "seed", "symmetric") for p, run in walked.items()}, "phase")


def rival(walked: Runs, foretold: Runs, score: Score) -> xr.DataArray:
    """Means over networks of a rival's score, by phase."""
    each = {phase: score(run, foretold[phase]).mean("seed") for phase, run in walked.items()}
    return xr.concat(list(each.values()), xr.Variable("phase", list(each)), coords="minimal", compat="override")


def _distance(kind: str) -> Score:
    def score(walked: xr.Dataset, foretold: xr.Dataset) -> xr.DataArray:
        errors = forecasts.errors_by_kind(walked, foretold)
        return errors.sel(kind=kind, drop=True).mean(["temperature", "waiting"])

    return score


def _time(kind: str) -> Score:
    return lambda walked, foretold: forecasts.time_errors(walked, foretold).sel(kind=kind, drop=True)


@measures("C.3.forecast.curves")
def curves(walked: Runs, foretold: Runs) -> Measurement:
    """Distance of overlaps from the forecast's; the null: from those of free walks with the same noise."""
    found = by_phase(walked, foretold, _distance("forecast"))
    return Measurement(found, null=rival(walked, foretold, _distance("free walk")))


@measures("C.3.forecast.others")
def others(walked: Runs, foretold: Runs) -> Measurement:
    """Distance of overlaps from the forecast's less that from the mean of other networks."""
    mine, theirs = _distance("forecast"), _distance("other networks")
    return Measurement(by_phase(walked, foretold, lambda run, said: mine(run, said) - theirs(run, said)))


@measures("C.3.forecast.times")
def times(walked: Runs, foretold: Runs) -> Measurement:
    """Size of log₁₀ of foretold by walked times; the null: of times of free walks."""
    return Measurement(by_phase(walked, foretold, _time("forecast")), null=rival(walked, foretold, _time("free walk")))


@measures("C.3.forecast.alpha")
def alpha(walked: Runs, foretold: Runs) -> Measurement:
    """log₂ of foretold by walked α₂; the null: that of layers of different mobility."""

    def of_forecast(run: xr.Dataset, said: xr.Dataset) -> xr.DataArray:
        return forecasts.alpha_errors(run, said.alpha.sel(kind="forecast", drop=True))

    def of_layers(run: xr.Dataset, said: xr.Dataset) -> xr.DataArray:
        return forecasts.alpha_errors(run, run.alpha_mixture)

    return Measurement(by_phase(walked, foretold, of_forecast), null=rival(walked, foretold, of_layers))
