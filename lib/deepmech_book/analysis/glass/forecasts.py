"""How far walks were from what one look at their networks foretold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate, leave_one_out
from deepmech.metrics.relaxation import decorrelation_time
from deepmech_book.analysis.glass import ageing
from deepmech_book.sweeps.glass.walks import PAPER_WINDOW


def curve_errors(walked: xr.Dataset, foretold: xr.DataArray) -> xr.DataArray:
    """Largest distance of overlaps from foretold ones, in the paper's window, over the times that the walks reached.

    Parameters
    ----------
    walked : Dataset
        Of walks: ``overlap`` (seed, temperature, waiting, time, chi).
    foretold : DataArray
        Overlaps with the same dimensions, and perhaps others.

    Returns
    -------
    DataArray
        Without time and window, of differences in [0, 1].
    """
    real, said = (one.isel(chi=PAPER_WINDOW, drop=True) for one in (walked.overlap, foretold))
    return abs(real - said).max("time").rename("distance of overlaps").assign_attrs(units="1")


def in_their_place(walked: Mapping[str, xr.Dataset], foretold: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Walks whose overlaps, displacements and non-Gaussian parameters are those foretold, as long as their records."""
    names = ("overlap", "msd", "alpha")
    said = {phase: one.sel(kind="forecast", drop=True) for phase, one in foretold.items()}
    return {
        phase: run.assign({n: said[phase][n].where(np.isfinite(run[n])).transpose(*run[n].dims) for n in names})
        for phase, run in walked.items()
    }


def of_other_networks(walked: xr.Dataset) -> xr.DataArray:
    """For each network the mean overlap of all others at the same temperature, wait and time: a null of forecasts."""
    others: xr.DataArray = leave_one_out(walked.overlap, "seed")
    return others


def errors_by_kind(walked: xr.Dataset, foretold: xr.Dataset) -> xr.DataArray:
    """:func:`curve_errors` of all kinds of forecast, and of :func:`of_other_networks` as one more."""
    others = of_other_networks(walked).expand_dims(kind=["other networks"])
    both = xr.concat([foretold.overlap, others], "kind", join="inner", coords="minimal", compat="override")
    return curve_errors(walked, both)


def times(overlap: xr.DataArray) -> xr.DataArray:
    """τ₉₀ of every single curve along ``time``; nan where it is not crossed within the record."""

    def one(curve: np.ndarray) -> float:
        known = np.isfinite(curve)
        return decorrelation_time(overlap.time.values[known], curve[known]).time

    return xr.apply_ufunc(one, overlap, input_core_dims=[["time"]], vectorize=True, output_dtypes=[float])


def time_errors(walked: xr.Dataset, foretold: xr.Dataset) -> xr.DataArray:
    """Size of log₁₀ of foretold by walked τ₉₀, (kind, seed): median over temperatures and waits.

    A forecast is read as long as the walk's record is. Where only one of the two crosses within the record, the
    record's end stands for the other; where neither does, both agree that nothing happens: the pair is left out.
    """
    real, said = (one.overlap.isel(chi=PAPER_WINDOW, drop=True) for one in (walked, foretold))
    said = said.where(np.isfinite(real))
    end = real.time.where(np.isfinite(real)).max("time")
    a, b = times(real), times(said)
    off: xr.DataArray = abs(xr.apply_ufunc(np.log10, b.fillna(end) / a.fillna(end)))
    off = off.where(np.isfinite(a) | np.isfinite(b))
    return off.median(["temperature", "waiting"]).rename("size of log₁₀ of foretold by walked time")


def alpha_errors(walked: xr.Dataset, foretold: xr.DataArray, warmest: float = 1e-3) -> xr.DataArray:
    """log₂ of foretold by walked α₂ where records end, (…, seed): median over waits and temperatures up to ``warmest``.

    ``foretold`` is α₂ with the walks' dimensions, and perhaps others.
    """
    last = np.isfinite(walked.alpha) & ~np.isfinite(walked.alpha.shift(time=-1))
    cold = walked.temperature <= warmest
    ratio = np.log2((foretold / walked.alpha).where(last & cold & (foretold > 0) & (walked.alpha > 0)))
    return ratio.median(["time", "temperature", "waiting"]).rename("log₂ of foretold by walked α₂")


def table_of_errors(walked: Mapping[str, xr.Dataset], foretold: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """Mean of :func:`errors_by_kind` over networks, temperatures and waits: rows are kinds, columns phases."""
    dims = ["seed", "temperature", "waiting"]
    means = {phase: errors_by_kind(run, foretold[phase]).mean(dims).to_series() for phase, run in walked.items()}
    return pd.DataFrame(means).rename_axis("foretold by")


def left_over(walked: Mapping[str, xr.Dataset], foretold: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """What forecasts leave over, where coldest: by how much τ₉₀ grows up to the last wait after which the records of
    both see it, and how far mean squared displacements are foretold too large where records end."""
    rows, theirs = {}, in_their_place(walked, foretold)
    at, said = ageing.at_judged(walked), ageing.at_judged(theirs)
    for phase, run in walked.items():
        seen = np.flatnonzero(np.isfinite(at[phase].tau) & np.isfinite(said[phase].tau))
        grown = {who: ageing.growth(one[phase].isel(waiting=seen)) for who, one in (("walks", at), ("forecasts", said))}
        last = np.isfinite(run.msd) & ~np.isfinite(run.msd.shift(time=-1))
        ratio = np.log((theirs[phase].msd / run.msd).where(last)).sel(temperature=run.temperature.min(), drop=True)
        moved = estimate(ratio.mean(["time", "waiting"]), "seed", "symmetric").map(np.exp)
        rows[phase] = {f"τ₉₀ of {who} grows by": str(one.ratio) for who, one in grown.items()}
        rows[phase] |= {"between": grown["walks"].waits, "squared displacements, foretold by walked": str(moved)}
    return pd.DataFrame(rows)


def drawn(overlap: xr.DataArray, temperatures: Sequence[float]) -> xr.DataArray:
    """Overlaps after the first wait, mean over networks, at some temperatures: (temperature, time)."""
    first = overlap.isel(waiting=0, chi=PAPER_WINDOW, drop=True).sel(temperature=list(temperatures))
    return first.mean("seed", keep_attrs=True).transpose("temperature", "time").dropna("time")
