"""What the courses of estimated effects say: Figs. 3, D.1, D.3 and D.4 of paper B.

``estimated`` is what :func:`deepmech_book.analysis.elastic_sde.effects.estimate` gives: ``A``, ``B``, ``intra`` and
``inter`` over ``model`` and ``time``. ``means`` are class means over ``time``, ``class`` and ``logit``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, estimate
from deepmech.metrics import elasticity
from deepmech_book.analysis import nulls
from deepmech_book.analysis.elastic_sde import effects
from deepmech_book.analysis.elastic_sde.curves import mean_norm, start_and_end

__all__ = [
    "course",
    "course_of_sets",
    "end_values",
    "late_growth",
    "late_growth_ratio",
    "later_peak",
    "norm_against_line",
    "rms",
    "share_below",
    "table_of_readings",
    "window_sensitivity",
]


def rms(gap: xr.DataArray) -> xr.DataArray:
    """Root mean square over ``time``.

    Examples
    --------
    >>> rms(xr.DataArray([3.0, -3.0, 3.0], dims="time")).item()
    3.0
    """
    return (gap**2).mean("time") ** 0.5


def share_below(estimated: xr.Dataset) -> xr.DataArray:
    """Share of the first third of training in which β̂ < α̂ (Fig. 3), over the other dimensions."""
    third = estimated.isel(time=slice(0, estimated.sizes["time"] // 3))
    return (third["inter"] < third["intra"]).mean("time")


def course(estimated: xr.Dataset, window: int) -> xr.Dataset:
    """When α̂ is largest, and how large it is at the beginning and at the end, compared with that (Fig. 3).

    Parameters
    ----------
    estimated : Dataset
        ``intra`` over ``time`` and any others.
    window : int
        Of the filter that made it, in iterations: within half of it of the beginning, where the filter extrapolates,
        no maximum is looked for.

    Returns
    -------
    Dataset
        ``peak``, a share of training; ``begin`` and ``end``, means over the first 3 % and the last tenth of training by
        the maximum.
    """
    alpha = estimated["intra"]
    edge = effects.window_of(estimated, window) // 2
    inner = alpha.isel(time=slice(edge, None))
    ends = start_and_end(alpha) / inner.max("time")
    shares = {name: ends.sel(part=part, drop=True) for name, part in (("begin", "start"), ("end", "end"))}
    return xr.Dataset({"peak": (inner.argmax("time") + edge) / alpha.sizes["time"], **shares})


def course_of_sets(estimated: xr.Dataset, window: int) -> dict[str, Estimate]:
    """:func:`course` of several sets of trials, mean with its interval over sets.

    Parameters
    ----------
    estimated : Dataset
        Over ``per_class``, ``first_seed`` (a set for each pair), ``model`` and ``time``.
    window : int
        As for :func:`course`.

    Returns
    -------
    dict
        "peak", "begin" and "end", over ``model``.
    """
    sets = _course_by_set(estimated, window)
    return {str(name): estimate(sets[name], "set", "symmetric") for name in sets}


def _course_by_set(estimated: xr.Dataset, window: int) -> xr.Dataset:
    sets = course(estimated, window).stack(set=["per_class", "first_seed"])
    return sets.drop_vars(["set", "per_class", "first_seed"])


def later_peak(estimated: xr.Dataset, other: xr.Dataset, window: int) -> Estimate:
    """By how much later α̂ is largest than elsewhere, as a share of training, mean over sets of trials of both.

    Parameters
    ----------
    estimated, other : Dataset
        As for :func:`course_of_sets`, of independent networks.
    window : int
        As for :func:`course`.

    Returns
    -------
    Estimate
        Over ``model``, with its interval over sets.
    """
    one, two = (_course_by_set(each, window)["peak"] for each in (estimated, other))
    return nulls.less(one, two, "set")


def late_growth(means: xr.DataArray, models: Sequence[elasticity.Model] = effects.MODELS) -> xr.DataArray:
    """Growth of Â over the second half of training, by model.

    Each end is a mean over a twentieth of training: from the middle on, and up to the end.

    Returns
    -------
    DataArray
        Over ``model`` and the other dimensions of ``means``; a pure number.
    """
    a = effects.integrated_by_model(means, models)["A"]
    n = a.sizes["time"]
    width, middle = max(1, n // 20), n // 2
    late, before = (a.isel(time=at).mean("time") for at in (slice(-width, None), slice(middle, middle + width)))
    return late - before


def late_growth_ratio(result: xr.Dataset, model: elasticity.Model = "L-program") -> Estimate:
    """By what factor Â grows faster in the L-model than in the I-model, late, with its interval over groups of trials.

    Parameters
    ----------
    result : Dataset
        Of networks, with ``group_mean``.
    model : {"L-program", "L"}
        Whose formula reads the L-model's effects.

    Returns
    -------
    Estimate
        Negative where one of the two falls.
    """

    def ratio(means: xr.DataArray) -> xr.DataArray:
        growth = late_growth(means, ("I", model))
        return growth.sel(model=model, drop=True) / growth.sel(model="I", drop=True)

    return effects.over_groups(result, ratio)


def norm_against_line(means: xr.DataArray) -> xr.DataArray:
    """How far the mean norm of class means is from the I-model's Â, by how far it is from a straight line.

    Both are laid over the norm with the level and the factor that bring them nearest, by least squares. Below 1 the
    norm has rather the shape of Â than none.
    """
    norm = mean_norm(means)
    line = xr.DataArray(np.arange(norm.sizes["time"], dtype=float), {"time": norm["time"]}, dims="time")

    def apart(other: xr.DataArray) -> xr.DataArray:
        one, two = (z - z.mean("time") for z in (norm, other))
        return rms(one - two * (one * two).mean("time") / (two**2).mean("time"))

    return apart(elasticity.integrated_effects(means, "I")["A"]) / apart(line)


def end_values(result: xr.Dataset, window: int, names: Mapping[str, str]) -> dict[str, float]:
    """What is read off one set of networks, in one column of a table.

    Parameters
    ----------
    result : Dataset
        Of networks.
    window : int
        Of the filter, in iterations.
    names : mapping
        Names of the estimators, ``"I"``, ``"L-program"`` and others.

    Returns
    -------
    dict
        Ends of Â and B̂ (mean of the last hundred recorded times), also with the first record as the start, as in the
        program, and the time of the maximum of α̂ by estimator; the factor of :func:`late_growth_ratio` by estimators of
        the L-model, and validation accuracy.
    """
    estimated = effects.estimate(result, window, list(names))  # type: ignore[arg-type]
    by_program = effects.integrals(result, list(names), start=1)  # type: ignore[arg-type]
    end, other = (one[["A", "B"]].isel(time=slice(-100, None)).mean("time") for one in (estimated, by_program))
    columns = {"Â": end["A"], "B̂": end["B"], "Â from the first record on": other["A"]}
    columns |= {"B̂ from the first record on": other["B"], "time of the maximum": course(estimated, window)["peak"]}
    rows = {
        f"{name}, {words}": float(values.sel(model=model))
        for name, values in columns.items()
        for model, words in names.items()
    }
    for model in (one for one in names if one != "I"):
        rows[f"late growth of Â, L ÷ I, {names[model]}"] = float(late_growth_ratio(result, model).value)  # type: ignore[arg-type]
    return rows | {"validation accuracy": float(result["validation_accuracy"].isel(at_iteration=-1).mean())}


def table_of_readings(networks: Mapping[str, xr.Dataset], window: int) -> pd.DataFrame:
    """:func:`end_values` of several sets of networks, a column each, by the program's formulas and by ours."""
    names = {"I": "I-model", "L-program": "L-model, the program's", "L": "L-model, ours"}
    return pd.DataFrame({name: end_values(one, window, names) for name, one in networks.items()})


def window_sensitivity(
    result: xr.Dataset, window: int, at: slice, wide: int = 551, model: elasticity.Model = "L-program"
) -> xr.DataArray:
    """Logarithm of how much further α̂ is from that with a wide window in the L-model than in the I-model.

    Parameters
    ----------
    result : Dataset
        Of networks, over ``per_class`` and ``first_seed``.
    window, wide : int
        Of the filters, in iterations.
    at : slice
        Which of the recorded times.
    model : {"L-program", "L"}
        Whose formula reads the L-model's effects.

    Returns
    -------
    DataArray
        Over ``set``, a pair of ``per_class`` and ``first_seed``.
    """
    narrow, trend = (effects.estimate(result, one, ("I", model))["intra"] for one in (window, wide))
    gap = (narrow - trend).isel(time=at)
    size = rms(gap)
    ratio = xr.apply_ufunc(np.log, size.sel(model=model, drop=True) / size.sel(model="I", drop=True))
    return ratio.stack(set=["per_class", "first_seed"]).drop_vars(["per_class", "first_seed", "set"])
