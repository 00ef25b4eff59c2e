"""How far walks were from what one look at their networks foretold, and the paper's claims on both.

``walked`` and ``foretold`` are walks and their forecasts by phase, of the sweeps of ``sweeps.glass.forecasts``.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, leave_one_out, stack
from deepmech.core.random import Stream
from deepmech.metrics.relaxation import decorrelation_time
from deepmech_book.claims import display, functions, registry
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside
from deepmech_book.glass import phases, regimes
from deepmech_book.sweeps.glass.forecasts import KINDS
from deepmech_book.sweeps.glass.papers_size import SOURCES
from deepmech_book.sweeps.glass.walks import FINE_WINDOW

OF_WALKS = {
    "C.2.cold_is_faster": "cold: faster than free walks",
    "C.3.one_step": "memory falls in one step",
    "C.5.no_plateau": "no weight is caged",
    "C.7.hot_is_gaussian": "hot: displacements are normal",
    "C.7.cold_is_not": "cold: displacements are not normal",
    "C.8.ages": "cold: slower the longer one waits",
    "C.8.hot_does_not": "hot: waiting changes nothing",
    "C.8.stronger_regularised": "more so with weight decay than without",
    "C.8.crossover": "waiting leaves T* as it is",
}
"""The paper's claims on walks of networks with loss that these records can be asked."""
COLUMNS = ("parabola", "slide", "free walk")
"""Kinds of forecast that are judged beside walks by the same functions."""


# --- how far forecasts of one phase are off


def learnt(run):
    """Of the walks of a phase the networks that count: they learnt as much as the paper's and did not diverge."""
    loss = run.loss_waited.isel(waiting=0, drop=True).min("temperature")
    return run.isel(seed=np.flatnonzero(~run.diverged.any("temperature") & (loss < phases.LEARNT_MOST)))


def regimes_of(run, window=FINE_WINDOW):
    """Temperatures at the crossover, and cold ones, by the time of a free walk over that of the landscape alone."""
    table = phases.times(run, window)
    rest = min(regimes.time_at_rest(table), float(phases.overlaps(run, window).time[-1]))
    slower = table.free / rest
    found = {"crossover": (slower >= 0.1) & (slower <= 10), "cold": slower > 10}
    return {name: run.temperature.values[there.values] for name, there in found.items() if there.any()}


def curve_errors(run, said, window=FINE_WINDOW):
    """Largest distance of each overlap from that of every kind of forecast, and from the mean of other networks."""
    others = leave_one_out(run.overlap, "seed").expand_dims(kind=["other networks"])
    both = xr.concat([said.overlap, others], "kind", join="inner", coords="minimal", compat="override")
    return abs(run.overlap - both).isel(chi=window, drop=True).max("time")


def distances(run, said, *names):
    """:func:`curve_errors`, mean over waits and over the temperatures of the regimes that are named."""
    at = np.concatenate([regimes_of(run).get(name, []) for name in names])
    return curve_errors(run, said).sel(temperature=at).mean(["temperature", "waiting"])


def time_errors(run, said):
    """Size of log₁₀ of foretold by walked τ₉₀ in the finest window, (kind, seed): mean over temperatures and waits.

    A forecast is read as long as the walk's record is. Where only one of the two crosses within the record, the
    record's end stands for the other; where neither does, both agree that nothing happens: the pair is left out.
    """

    def crossing(curves):
        return decorrelation_time(real.time.values, curves).time

    real, forecast = (one.overlap.isel(chi=FINE_WINDOW, drop=True) for one in (run, said))
    end = real.time.where(np.isfinite(real)).max("time")
    walked, foretold = (
        xr.apply_ufunc(crossing, one, input_core_dims=[["time"]]) for one in (real, forecast.where(np.isfinite(real)))
    )
    off = abs(np.log10(foretold.fillna(end) / walked.fillna(end)))
    return off.where(np.isfinite(walked) | np.isfinite(foretold)).mean(["temperature", "waiting"])


def displacements_off(run, said):
    """ln of foretold by walked mean squared displacements where records end and it is cold, (kind, seed, …)."""
    last = np.isfinite(run.msd) & ~np.isfinite(run.msd.shift(time=-1))
    cold = run.temperature.isin(regimes_of(run).get("cold", []))
    return np.log((said.msd / run.msd).where(last & cold & (said.msd > 0))).mean("time")


def displacement_errors(run, said):
    """Size of :func:`displacements_off`, mean over temperatures and waits."""
    return abs(displacements_off(run, said)).mean(["temperature", "waiting"])


def alpha_errors(run, said):
    """log₂ of foretold by walked α₂ where records end, (kind, seed): median over waits and cold temperatures.

    Kinds are those of forecasts, and layers of different mobility, each Gaussian.
    """
    foretold = xr.concat([said.alpha, run.alpha_mixture.expand_dims(kind=["layers"])], "kind", join="inner")
    last = np.isfinite(run.alpha) & ~np.isfinite(run.alpha.shift(time=-1))
    cold = run.temperature.isin(regimes_of(run).get("cold", []))
    known = last & cold & (foretold > 0) & (run.alpha > 0)
    return np.log2((foretold / run.alpha).where(known)).median(["time", "temperature", "waiting"])


# --- pictures and tables


def drawn(runs, **kind):
    """Overlaps of each phase in the finest window after the first wait, mean over networks; of a kind of forecast."""
    first = {p: run.overlap.sel(kind).isel(waiting=0, chi=FINE_WINDOW, drop=True) for p, run in runs.items()}
    each = {p: one.mean("seed", keep_attrs=True) for p, one in first.items()}
    return {p: one.transpose("temperature", "time").dropna("time") for p, one in each.items()}


def table_of_errors(walked, foretold):
    """Mean distance of overlaps from forecasts, from the least that they know to the most, and what sampling leaves.

    Columns are phases and regimes, in the finest window (:mod:`.regimes`).
    """
    columns = {}
    for phase, run in walked.items():
        errors, floor = curve_errors(run, foretold[phase]), sampling_floor(run, FINE_WINDOW)
        for regime, at in regimes_of(run).items():
            means = [float(errors.sel(kind=kind, temperature=at).mean()) for kind in (*KINDS, "other networks")]
            columns[phase, regime] = [*means, float(floor.sel(temperature=at).mean())]
    return pd.DataFrame(columns, [*KINDS, "other networks", "weights drawn anew"]).rename_axis("foretold by")


def at_the_crossover(walked, foretold):
    """Of each kind of forecast and phase the mean distance of overlaps there, and what sampling leaves."""
    found = {}
    for phase, run in walked.items():
        floor = sampling_floor(run, FINE_WINDOW).sel(temperature=regimes_of(run)["crossover"])
        floor = floor.mean(["temperature", "waiting"]).expand_dims(kind=["weights drawn anew"])
        each = xr.concat([distances(run, foretold[phase], "crossover"), floor], "kind", join="inner")
        found[phase] = estimate(each, "seed", "symmetric")
    value = "largest miss (share of weights)"
    return stack(found, "phase").map(lambda one: one.transpose("kind", "phase").assign_attrs(long_name=value))


def sampling_floor(run, window, draws=200):
    """Mean largest distance of the overlap of as many weights, drawn from their own law, from that law.

    Weights that leave one by one are a sample of times, so it is Kolmogorov's distance up to the record's last overlap.
    """
    n = int(run.n_weights.max())
    gone = np.sort(Stream.of("sampling floor", 0).uniform("weights", 0, draws * n).reshape(draws, n), 1)
    largest = np.maximum.accumulate(np.maximum(np.arange(1, n + 1) / n - gone, gone - np.arange(n) / n), 1).mean(0)
    last = 1 - run.overlap.isel(chi=window, drop=True).min("time")
    return last.copy(data=np.interp(last, gone.mean(0), largest))


def in_their_place(walked, foretold, kind):
    """Walks whose overlaps, displacements and non-Gaussian parameters are those foretold, as long as their records."""
    said = {p: one[["overlap", "msd", "alpha"]].sel(kind=kind, drop=True) for p, one in foretold.items()}
    return {
        p: run.assign({n: one.where(np.isfinite(run[n])).transpose(*run[n].dims) for n, one in said[p].items()})
        for p, run in walked.items()
    }


def of_papers_size(runs):
    """Of one network a phase the distances in the finest window of what foretold it, and how far it was to go.

    ``runs`` are those of :mod:`.sweeps.glass.papers_size`.
    """
    rows = {}
    for phase, run in runs.items():
        one = run.isel(seed=0, chi=FINE_WINDOW)
        off = abs(one.overlap - one.overlap.sel(source="walk")).max("time").drop_sel(source=["walk", SOURCES[3]])
        went = (one.msd.sel(source="parabola") / one.msd.sel(source="walk")).isel(time=-1)
        for t in one.temperature.values.tolist():
            row = {str(name): float(off.sel(source=name, temperature=t)) for name in off.source.values}
            rows[phase, f"T = {t:g}"] = row | {"squared displacement": float(went.sel(temperature=t))}
    return pd.DataFrame(rows).T


def of_forecasts(walked, foretold, glass):
    """The paper's claims on these walks and, by the same functions, on :data:`COLUMNS`, in words.

    ``glass`` is a glass former, whose overlap in a window as wide as its cages and whose displacement are nulls of two.
    What a column satisfies, too, is no sign of more than that column knows.
    """
    nulls = {"C.3.one_step": glass.overlap, "C.5.no_plateau": glass.msd}
    each = {"walks": walked}
    each |= {kind: in_their_place(walked, foretold, kind) for kind in COLUMNS}
    rows = {}
    for name, words in OF_WALKS.items():
        one, of_one_phase = registry.claim(name), name == "C.2.cold_is_faster"
        function = functions.functions_of(one.page)[name].function
        given = [nulls[name]] if name in nulls else []
        found = {what: function(r["regularised"] if of_one_phase else r, *given) for what, r in each.items()}
        numbers = most_apart({what: m.measured for what, m in found.items()})
        rows[words] = {w: f"{functions.judged(name, m).verdict}: {numbers[w]}" for w, m in found.items()}
    return pd.DataFrame.from_dict(rows, "index").rename_axis("claim of the paper")


def sign(judged):
    """Of a cell of :func:`of_forecasts` the verdict alone."""
    return display.LOOKS[judged.partition(":")[0]][0]


def most_apart(measured):
    """Measurements as text, each with its interval; of arrays, the elements that differ most between any two."""
    known = {what: one if isinstance(one, Estimate) else Estimate(one) for what, one in measured.items()}
    values = xr.align(*(xr.DataArray(one.value) for one in known.values()), join="inner")
    joined = xr.concat(values, "column")
    apart = joined.max("column") - joined.min("column")
    if not np.isfinite(apart).any():
        return dict.fromkeys(measured, "–")
    place = apart.argmax(...) if apart.ndim else {}
    where = {dim: apart[dim].values[int(at)] for dim, at in place.items()}

    def text(one):
        one = one.select(lambda numbers: round(float(numbers.sel(where) if where and np.ndim(numbers) else numbers), 9))
        if not np.isfinite(one.value):
            return "–"
        return display.short(one.value, one.interval if np.isfinite(one.low) else None)[0]

    return {what: text(one) for what, one in known.items()}


# --- claims


def judged(walked, foretold, score, rival, *names):
    """Mean over networks of the parabola's score by phase, beside that of another kind of forecast."""
    each = {p: score(run, foretold[p], *names) for p, run in walked.items()}
    kinds = [{p: one.sel(kind=kind, drop=True) for p, one in each.items()} for kind in ("parabola", rival)]
    return Measurement(stack({p: beside(kinds[0][p], kinds[1][p], "seed") for p in each}, "phase"))


@measures("C.3.forecast.curves")
def curves(walked, foretold):
    """Distance of overlaps from the parabola's at the crossover; the null: from a walk at T = 0 that diffuses, too."""
    return judged(walked, foretold, distances, "walk at T = 0", "crossover")


@measures("C.3.forecast.cold")
def cold(walked, foretold):
    """Distance of overlaps from the parabola's where cold; the null: from a slide in the well of weight decay."""
    return judged(walked, foretold, distances, "slide in weight decay", "cold")


@measures("C.3.forecast.others")
def others(walked, foretold):
    """Distance of overlaps from the parabola's less that from the mean of other networks, crossover and cold."""
    each = {p: distances(run, foretold[p], "crossover", "cold") for p, run in walked.items()}
    less = {p: one.sel(kind="parabola") - one.sel(kind="other networks") for p, one in each.items()}
    return Measurement(stack({p: estimate(one, "seed", "symmetric") for p, one in less.items()}, "phase"))


@measures("C.3.forecast.times")
def times(walked, foretold):
    """Size of log₁₀ of foretold by walked times; the null: of times of a slide in the well of weight decay."""
    return judged(walked, foretold, time_errors, "slide in weight decay")


@measures("C.3.forecast.displacement")
def displacement(walked, foretold):
    """Size of ln of foretold by walked displacements; the null: of a slide in the well of weight decay."""
    off = {p: displacements_off(run, foretold[p]).sel(kind="parabola") for p, run in walked.items()}
    mean = {
        p: estimate(one.mean(["temperature", "waiting"]), "seed", "symmetric").map(np.exp) for p, one in off.items()
    }
    words = "; ".join(f"{phase} {one}" for phase, one in mean.items())
    found = judged(walked, foretold, displacement_errors, "slide in weight decay")
    return replace(found, detail=f"Squared displacements, foretold by walked: {words}.")


@measures("C.3.forecast.alpha")
def alpha(walked, foretold):
    """log₂ of foretold by walked α₂; the null: that of layers of different mobility."""
    return judged(walked, foretold, alpha_errors, "layers")
