"""Effects within and between classes, read off networks: Fig. 3 of paper B."""

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate, stack
from deepmech.metrics import elasticity
from deepmech_book.claims import nulls
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.elastic_sde import panels, readings
from deepmech_book.elastic_sde.readings import mean_norm, start_and_end
from deepmech_book.elastic_sde.words import in_shares

# --- pictures


def side_by_side(curves, said):
    """Both data sets and models as panels, over the share of training."""
    shares = {data: panels.by_share(one) for data, one in curves.items()}
    each = {
        f"{data}, {title}": one.sel(model=model, drop=True)
        for data, one in shares.items()
        for model, title in panels.MODELS.items()
    }
    return in_shares(panels.joined(each), said)


def integrated(by_data):
    """Â and B̂ of each data set."""
    return side_by_side({data: panels.integrals(one) for data, one in by_data.items()}, "integrated effect")


def bands(by_data, window):
    """Lower and upper ends of 95 % bands of Â and B̂, over groups of trials.

    Half-widths are those of class means in coarse blocks of time, of which the first is the start.
    """
    ends = {}
    for data, one in by_data.items():
        curves = readings.estimate(one, window)[["A", "B"]]
        found = readings.over_groups(one, lambda means: readings.integrated_by_model(means).to_dataarray("effect"))
        half = ((found.high - found.low) / 2).to_dataset("effect")
        half = half.interp(time=curves["time"], kwargs={"fill_value": "extrapolate"})
        ends[data] = curves - half, curves + half
    return tuple(integrated({data: both[side] for data, both in ends.items()}) for side in (0, 1))


def rates(by_data):
    """α̂ and β̂ of each data set, per 1,000 iterations."""
    return side_by_side({data: panels.rates(one) for data, one in by_data.items()}, panels.SLOPES)


def table_of_gaps(networks):
    """Â − B̂ at the end, mean of the last hundred recorded times, by formula and start, a column a set of networks."""
    names = {"I": "I-model", "L-program": "L-model, the program's", "L": "L-model, ours"}
    starts = {"the first hundred iterations": readings.START, "the first record": 1}
    rows = {}
    for data, one in networks.items():
        for start, iterations in starts.items():
            both = readings.integrals(one, list(names), start=iterations).isel(time=slice(-100, None)).mean("time")
            for model, words in names.items():
                rows[f"{words}, from {start}", data] = float((both.A - both.B).sel(model=model))
    return pd.Series(rows).unstack(sort=False)


# --- claims


def rms(gap):
    """Root mean square over ``time``."""
    return (gap**2).mean("time") ** 0.5


def course(estimated, window):
    """When α̂ is largest (``peak``, a share of training), and its means at the beginning and the end, by the maximum.

    Within half a window of the beginning, where the filter extrapolates, no maximum is looked for.
    """
    alpha = estimated["intra"]
    edge = readings.window_of(estimated, window) // 2
    inner = alpha.isel(time=slice(edge, None))
    ends = start_and_end(alpha) / inner.max("time")
    shares = {name: ends.sel(part=part, drop=True) for name, part in (("begin", "start"), ("end", "end"))}
    return xr.Dataset({"peak": (inner.argmax("time") + edge) / alpha.sizes["time"], **shares})


@measures("B.3.peak")
def peak(by_set, estimated, window):
    """When α̂ is largest, over sets of trials (``first_seed``); ``estimated``, of all together, tells how large."""
    highest = "{:.1f} (I), {:.1f} (L)".format(*(1000 * estimated.intra.max("time")).values)
    words = f"Maximum per 1,000 iterations with 3,000 samples per class: {highest}."
    found = estimate(course(by_set, window)["peak"], "first_seed", "symmetric")
    return Measurement(found, null=0.5, detail=words)


@measures("B.3.rises")
def rises(by_set, window):
    """α̂ at the beginning by its maximum, over sets of trials."""
    return Measurement(estimate(course(by_set, window)["begin"], "first_seed", "symmetric"), null=1.0)


@measures("B.3.falls")
def falls(by_set, window):
    """α̂ at the end by its maximum, over sets of trials."""
    return Measurement(estimate(course(by_set, window)["end"], "first_seed", "symmetric"), null=1.0)


@measures("B.3.alike")
def alike(photos, shapes, window):
    """When α̂ is largest on photographs, less the same on shapes, over sets of trials of each."""
    one, two = (course(each, window)["peak"] for each in (photos, shapes))
    words = "; ".join(f"{m}: {float(one.sel(model=m).mean()):.2f}" for m in readings.MODELS)
    found = nulls.less(one, two, "first_seed")
    return Measurement(found, expected=0.0, detail=f"On photographs, as a share of training: {words}.")


def share_below(estimated):
    """Share of the first third of training in which β̂ < α̂."""
    third = estimated.isel(time=slice(0, estimated.sizes["time"] // 3))
    return (third["inter"] < third["intra"]).mean("time")


@measures("B.3.below")
def below(estimated, guessing):
    """Share of the first third of training in which β̂ < α̂, by ``images``; ``guessing``: where nothing is learnt."""
    shares = xr.concat([share_below(one) for one in estimated.values()], xr.Variable("images", list(estimated)))
    return Measurement(shares, null=share_below(guessing), first_null=1.0)


def late_growth_ratio(result, model="L-program"):
    """By what factor Â grows faster in the L-model than in the I-model over the second half, over groups of trials.

    Each end is a mean over a twentieth of training: from the middle on, and up to the end.
    """

    def ratio(means):
        a = readings.integrated_by_model(means, ("I", model))["A"]
        n = a.sizes["time"]
        width, middle = max(1, n // 20), n // 2
        late, before = (a.isel(time=at).mean("time") for at in (slice(-width, None), slice(middle, middle + width)))
        growth = late - before
        return growth.sel(model=model, drop=True) / growth.sel(model="I", drop=True)

    return readings.over_groups(result, ratio)


@measures("B.3.late")
def late(networks):
    """By what factor Â grows faster, late, in the L-model than in the I-model, by ``images``; beside it, ours."""
    found = {name: late_growth_ratio(one) for name, one in networks.items()}
    words = "; ".join(
        f"{name}: {one}, by margins {late_growth_ratio(networks[name], 'L')}" for name, one in found.items()
    )
    photos = {name: one for name, one in found.items() if name != "shapes"}
    return Measurement(stack(photos, "images"), detail=f"By images: {words}.")


def norm_against_line(means):
    """How far the mean norm of class means is from the I-model's Â, by how far it is from a straight line.

    Both are laid over the norm with the level and the factor that bring them nearest, by least squares. Below 1 the
    norm has rather the shape of Â than none.
    """
    norm = mean_norm(means)
    line = xr.DataArray(np.arange(norm.sizes["time"], dtype=float), {"time": norm["time"]}, dims="time")

    def apart(other):
        one, two = (z - z.mean("time") for z in (norm, other))
        return rms(one - two * (one * two).mean("time") / (two**2).mean("time"))

    return apart(elasticity.integrated_effects(means, "I")["A"]) / apart(line)


@measures("B.3.norm")
def norm(networks):
    """Distance of the mean norm from Â by that from a straight line."""
    return Measurement(readings.over_groups(networks, norm_against_line))


def window_sensitivity(result):
    """Logarithm of how much further α̂ with a window of 191 is from that with 551 in the L-model than in the I-model,
    over the first and over the last tenth of training."""
    narrow, trend = (readings.estimate(result, one, ("I", "L-program"))["intra"] for one in (191, 551))
    n, apart = result.sizes["time"] // 10, narrow - trend
    sizes = [rms(apart.isel(time=at)) for at in (slice(n), slice(-n, None))]
    return [np.log(size.sel(model="L-program", drop=True) / size.sel(model="I", drop=True)) for size in sizes]


@measures("B.3.wilder")
def wilder(networks):
    """Fluctuation of α̂ over the first tenth of training, L-model by I-model, over sets; first null: the last tenth."""
    early, late = window_sensitivity(networks)
    return Measurement(estimate(early, "first_seed", "symmetric").map(np.exp), first_null=float(np.exp(late.mean())))
