"""How far walks were from what one look at their networks foretold, and the paper's claims on both.

``walked`` and ``foretold`` are walks and their forecasts by phase, of the sweeps of ``sweeps.glass.forecasts``.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, leave_one_out, stack
from deepmech.core.random import Stream
from deepmech.metrics.relaxation import decorrelation_time
from deepmech.simulators.harmonic import Displacement, QuadraticLandscape
from deepmech_book.claims import functions, registry
from deepmech_book.claims.display import short
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside
from deepmech_book.glass import ageing, phases, regimes
from deepmech_book.sweeps.glass.walks import FINE_WINDOW, PAPER_WINDOW, RATE, diffusion

OF_WALKS = (
    "C.2.hot_is_free", "C.2.cold_is_faster", "C.3.hot_slope", "C.3.cold_flat", "C.3.one_step", "C.4.collapse",
    "C.4.master_power", "C.A6.under_leaves", "C.5.no_plateau", "C.5.hot_is_free", "C.7.hot_is_gaussian",
    "C.7.cold_is_not", "C.8.ages", "C.8.hot_does_not", "C.8.stronger_regularised", "C.8.crossover",
)  # fmt: skip
"""The paper's claims on walks of networks with loss that these records can decide."""
COLUMNS = {"parabola": "forecast", "slide": "without curvature", "free walk": "free walk"}
"""What is judged beside walks by the same functions, and the kind of forecast that it is."""
NULLS = ("free walk", "weight decay alone", "without curvature", "without drift", "forecast")
"""Kinds of forecast by what they know: nothing, weight decay, drift, curvature, both."""


# --- how far forecasts of one phase are off


def curve_errors(run, said):
    """Largest distance of each overlap from that of every kind of forecast, and from the mean of other networks."""
    others = leave_one_out(run.overlap, "seed").expand_dims(kind=["other networks"])
    both = xr.concat([said.overlap, others], "kind", join="inner", coords="minimal", compat="override")
    return abs(run.overlap - both).isel(chi=PAPER_WINDOW, drop=True).max("time")


def distances(run, said):
    """:func:`curve_errors`, mean over temperatures and waits."""
    return curve_errors(run, said).mean(["temperature", "waiting"])


def time_errors(run, said):
    """Size of log₁₀ of foretold by walked τ₉₀, (kind, seed): median over temperatures and waits.

    A forecast is read as long as the walk's record is. Where only one of the two crosses within the record, the
    record's end stands for the other; where neither does, both agree that nothing happens: the pair is left out.
    """

    def crossing(curves):
        return decorrelation_time(real.time.values, curves).time

    real, forecast = (one.overlap.isel(chi=PAPER_WINDOW, drop=True) for one in (run, said))
    end = real.time.where(np.isfinite(real)).max("time")
    walked, foretold = (
        xr.apply_ufunc(crossing, one, input_core_dims=[["time"]]) for one in (real, forecast.where(np.isfinite(real)))
    )
    off = abs(np.log10(foretold.fillna(end) / walked.fillna(end)))
    return off.where(np.isfinite(walked) | np.isfinite(foretold)).median(["temperature", "waiting"])


def alpha_errors(run, said, warmest=1e-3):
    """log₂ of foretold by walked α₂ where records end, (kind, seed): median over waits and cold temperatures.

    Kinds are those of forecasts, and layers of different mobility, each Gaussian.
    """
    foretold = xr.concat([said.alpha, run.alpha_mixture.expand_dims(kind=["layers"])], "kind", join="inner")
    last = np.isfinite(run.alpha) & ~np.isfinite(run.alpha.shift(time=-1))
    known = last & (run.temperature <= warmest) & (foretold > 0) & (run.alpha > 0)
    return np.log2((foretold / run.alpha).where(known)).median(["time", "temperature", "waiting"])


# --- pictures and tables


def drawn(runs, temperatures, **kind):
    """Overlaps of each phase after the first wait, mean over networks, at some temperatures; of a kind of forecast."""
    first = {p: run.overlap.sel(kind).isel(waiting=0, chi=PAPER_WINDOW, drop=True) for p, run in runs.items()}
    each = {p: one.sel(temperature=temperatures).mean("seed", keep_attrs=True) for p, one in first.items()}
    return {p: one.transpose("temperature", "time").dropna("time") for p, one in each.items()}


def table_of_errors(walked, foretold):
    """Mean distance of overlaps from forecasts, from the least that they know to the most, and what sampling leaves.

    Columns are phases, windows and regimes after the first wait (:mod:`.regimes`).
    """
    columns, names = {}, {PAPER_WINDOW: "paper's window", FINE_WINDOW: "finest window"}
    for phase, run in walked.items():
        said = foretold[phase].overlap.sel(seed=run.seed)
        known = xr.concat([said, of_decay_alone(run, said)], "kind", coords="minimal", compat="override")
        for window, name in names.items():
            only = [one.isel(chi=[window] * (PAPER_WINDOW + 1)) for one in (run, known.to_dataset(name="overlap"))]
            errors, floor = curve_errors(*only), sampling_floor(run, window)
            for regime, at in regimes_of(run, window).items():
                means = [float(errors.sel(kind=kind, temperature=at).mean()) for kind in NULLS]
                columns[phase, name, regime] = [*means, float(floor.sel(temperature=at).mean())]
    return pd.DataFrame(columns, [*NULLS, "sampling alone"]).rename_axis("foretold by").T


def of_decay_alone(run, said):
    """Overlaps ``said`` of weights that only shrink and are kicked, from where they are after the first wait."""
    decay, free = phases.weight_decay(run), said.sel(kind=["free walk"])
    found = free.assign_coords(kind=["weight decay alone"]).copy(deep=True)
    if decay == 0:
        return found
    rested = phases.waited_weights(run).sel(temperature=phases.coldest(run), seed=said.seed)
    rested, waits = rested.astype(float), said.waiting.values
    well = QuadraticLandscape.around(np.array([decay]), np.array([[decay]]))  # that of a weight of 1
    for t, wait in product(said.temperature.values, waits):
        one = well.displacement(said.time, learning_rate=RATE, diffusion=diffusion(t), waited=wait, since=waits[0])
        for w in rested.transpose("seed", "weight"):
            moved = Displacement(one.mean * w.values, one.variance + 0 * w.values)
            for window in (PAPER_WINDOW, FINE_WINDOW):
                chi = said.chi.values[window]
                at = {"kind": "weight decay alone", "seed": w.seed, "temperature": t, "waiting": wait, "chi": chi}
                found.loc[at] = moved.overlap(float(w.std()) / chi)
    return found


def regimes_of(run, window):
    """Temperatures at the crossover, and cold ones, by the time of a free walk over that of the landscape alone."""
    table = phases.times(run, window)
    rest = min(regimes.time_at_rest(table), float(phases.overlaps(run, window).time[-1]))
    slower = table.free / rest
    found = {"crossover": (slower >= 0.1) & (slower <= 10), "cold": slower > 10}
    return {name: run.temperature.values[there.values] for name, there in found.items() if there.any()}


def sampling_floor(run, window, draws=200):
    """Mean largest distance of the overlap of as many weights, drawn from their own law, from that law.

    Weights that leave one by one are a sample of times, so it is Kolmogorov's distance up to the record's last overlap.
    """
    n = int(run.n_weights.max())
    gone = np.sort(Stream.of("sampling floor", 0).uniform("weights", 0, draws * n).reshape(draws, n), 1)
    largest = np.maximum.accumulate(np.maximum(np.arange(1, n + 1) / n - gone, gone - np.arange(n) / n), 1).mean(0)
    last = 1 - run.overlap.isel(chi=window, drop=True).min("time")
    return last.copy(data=np.interp(last, gone.mean(0), largest))


def in_their_place(walked, foretold):
    """Walks whose overlaps, displacements and non-Gaussian parameters are those foretold, as long as their records."""
    said = {p: one[["overlap", "msd", "alpha"]].sel(kind="forecast", drop=True) for p, one in foretold.items()}
    return {
        p: run.assign({n: one.where(np.isfinite(run[n])).transpose(*run[n].dims) for n, one in said[p].items()})
        for p, run in walked.items()
    }


def left_over(walked, foretold):
    """What forecasts leave over, where coldest: by how much τ₉₀ grows up to the last wait after which the records of
    both see it, and how far mean squared displacements are foretold too large where records end."""
    rows, theirs = {}, in_their_place(walked, foretold)
    at, said = ageing.at_judged(walked), ageing.at_judged(theirs)
    for phase, run in walked.items():
        seen = np.union1d(0, np.flatnonzero(np.isfinite(at[phase].tau) & np.isfinite(said[phase].tau)))
        grown = {who: ageing.growth(one[phase].isel(waiting=seen)) for who, one in (("walks", at), ("forecasts", said))}
        last = np.isfinite(run.msd) & ~np.isfinite(run.msd.shift(time=-1))
        ratio = np.log((theirs[phase].msd / run.msd).where(last)).sel(temperature=run.temperature.min(), drop=True)
        moved = estimate(ratio.mean(["time", "waiting"]), "seed", "symmetric").map(np.exp)
        rows[phase] = {f"τ₉₀ of {who} grows by": str(one.ratio) for who, one in grown.items()}
        rows[phase] |= {"between": grown["walks"].waits, "squared displacements, foretold by walked": str(moved)}
    return pd.DataFrame(rows)


def of_forecasts(walked, foretold, glass):
    """The paper's claims on these walks and, by the same functions, on :data:`COLUMNS`, in words.

    ``glass`` is a glass former, whose overlap in a window as wide as its cages and whose displacement are nulls of two.
    What a column satisfies, too, is no sign of more than that column knows.
    """
    nulls = {"C.3.one_step": glass.overlap, "C.5.no_plateau": glass.msd}
    each = {"walks": walked}
    for what, kind in COLUMNS.items():
        only = {p: one.sel(kind=[kind]).assign_coords(kind=["forecast"]) for p, one in foretold.items()}
        each[what] = in_their_place(walked, only)
    rows = {}
    for name in OF_WALKS:
        one, of_one_phase = registry.claim(name), name in ("C.2.cold_is_faster", "C.4.master_power")
        function = functions.functions_of(one.page)[name].function
        given = [nulls[name]] if name in nulls else []
        found = {what: function(r["regularised"] if of_one_phase else r, *given) for what, r in each.items()}
        numbers = most_apart({what: m.measured for what, m in found.items()})
        rows[one.statement] = {w: f"{functions.judged(name, m).verdict}: {numbers[w]}" for w, m in found.items()}
    return pd.DataFrame.from_dict(rows, "index").rename_axis("claim of the paper")


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
        return short(one.value, one.interval if np.isfinite(one.low) else None)[0]

    return {what: text(one) for what, one in known.items()}


# --- claims


def judged(walked, foretold, score, rival):
    """Mean over networks of the forecast's score by phase, beside that of another kind of forecast."""
    each = {p: score(run, foretold[p]) for p, run in walked.items()}
    kinds = [{p: one.sel(kind=kind, drop=True) for p, one in each.items()} for kind in ("forecast", rival)]
    return Measurement(stack({p: beside(kinds[0][p], kinds[1][p], "seed") for p in each}, "phase"))


@measures("C.3.forecast.curves")
def curves(walked, foretold):
    """Distance of overlaps from the forecast's; the null: from those of free walks with the same noise."""
    each = left_over(walked, foretold).items()
    words = " ".join(f"{p.capitalize()}: {', '.join(f'{what} {n}' for what, n in one.items())}." for p, one in each)
    return replace(judged(walked, foretold, distances, "free walk"), detail=f"Left over where coldest. {words}")


@measures("C.3.forecast.others")
def others(walked, foretold):
    """Distance of overlaps from the forecast's less that from the mean of other networks."""
    each = {p: distances(run, foretold[p]) for p, run in walked.items()}
    less = {p: one.sel(kind="forecast") - one.sel(kind="other networks") for p, one in each.items()}
    return Measurement(stack({p: estimate(one, "seed", "symmetric") for p, one in less.items()}, "phase"))


@measures("C.3.forecast.times")
def times(walked, foretold):
    """Size of log₁₀ of foretold by walked times; the null: of times of free walks."""
    return judged(walked, foretold, time_errors, "free walk")


@measures("C.3.forecast.alpha")
def alpha(walked, foretold):
    """log₂ of foretold by walked α₂; the null: that of layers of different mobility."""
    return judged(walked, foretold, alpha_errors, "layers")
