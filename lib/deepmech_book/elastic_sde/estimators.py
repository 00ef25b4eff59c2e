"""Are effects found where they are known, and what else do they depend on? App. D.1, Figs. D.1, D.3, D.4 of paper B."""

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate, jackknife, leave_one_out, stack
from deepmech.core.labels import over
from deepmech.metrics import elasticity
from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw, train_discrete
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.elastic_sde import panels, readings
from deepmech_book.elastic_sde.readings import last_tenth
from deepmech_book.elastic_sde.words import in_shares, said

ITERATIONS, TRIALS = 400, 100
ESTIMATORS: list[Any] = ["I", "L-paper", "L-program"]
"""Formulas compared: of the I-model, of the L-model as printed, and as in the authors' program."""
STARTS = np.array([[1.7, -0.4, 0.2], [-0.1, 2.0, -0.6], [0.4, 0.3, 1.5]])
"""Class means before the first step; in the L-model less their mean over logits, as networks' logits add up to zero."""

# --- logs of known models


def known_model(structure, height):
    """A model whose α rises to ``height`` per iteration at iteration 60 and dies out, with β = −0.4 α."""
    t = np.arange(ITERATIONS + 1.0)
    alpha = xr.DataArray(height * t / 60 * np.exp(1 - t / 60), {"time": t}, "time")
    return ElasticSDE(alpha, -0.4 * alpha, 3, 3, structure, noise=0.02)


def training_log(structure, start, height, seed):
    """Logits (trial, iteration, logit) of a sample of the class just drawn, before each step of Eq. 4, and that class.

    First class means are ``start`` times :data:`STARTS`; samples scatter by 0.3 about them.
    """
    at = np.arange(ITERATIONS)
    first = STARTS - STARTS.mean(1, keepdims=True) if structure == "logits" else STARTS
    run = train_discrete(known_model(structure, height), at, start * first, 1.0, 5, TRIALS, 0.3, seed)
    # No step follows the last record: any class will do there.
    drawn = np.concatenate([run.drawn, run.drawn[:, :1]], axis=1)[:, :ITERATIONS].astype(int)
    x = run.feature_value.isel(sample=0).values
    return x[np.arange(TRIALS)[:, None], at, drawn], drawn


def recovered_effects(structure, n_logs, start=1.0, height=0.03):
    """Effects read off logs, over ``log``, ``model`` and ``time``, beside true ones (``A_true``, …).

    Both begin with the mean of the first five iterations.
    """
    logs = []
    for seed in range(n_logs):
        logits, labels = training_log(structure, start, height, seed)
        means = elasticity.class_means(logits, labels, 3, pool=5)
        totals = [elasticity.integrated_effects(means, name, 5) for name in ESTIMATORS]
        rows = [z.merge(elasticity.effects(z, 51).drop_vars("gap"), combine_attrs="drop") for z in totals]
        logs.append(xr.concat(rows, over("model", ESTIMATORS)))
    found = xr.concat(logs, "log")
    t = found.time.values.astype(float)
    (alpha, a), (_, b) = known_model(structure, height).rates()
    zero = t[2]  # the mean time of the first five
    truth = {"A_true": a(t) - a(zero), "B_true": b(t) - b(zero), "intra_true": alpha(t)}
    return found.assign({name: ("time", np.ravel(values)) for name, values in truth.items()})


def recovered_by_both(n_logs, **how):
    """Logs of the I-model and of the L-model."""
    return [recovered_effects(structure, n_logs, **how) for structure in ("isotropic", "logits")]


def error(recovered, name, since=25):
    """Root mean square distance from the truth, by the largest A; of α̂ by the largest α and away from the ends."""
    off = recovered[name] - recovered[f"{name}_true"]
    if name == "intra":
        off = off.isel(time=slice(since, -25))
    return (off**2).mean("time") ** 0.5 / recovered["intra_true" if name == "intra" else "A_true"].max()


def recovery(names, of_i, of_l, since=25):
    """Errors of each estimator on its own model's data, root mean square over logs; null: nothing happens."""
    logs = {"I": of_i, "L-program": of_l}

    def errors(part):
        each = [[error(part(one), n, since).sel(model=m, drop=True) for m, one in logs.items()] for n in names]
        rows = [xr.concat(row, "model") for row in each]
        return xr.concat(rows, xr.Variable("effect", names)).assign_coords(model=list(logs))

    own, nothing = errors(lambda one: one), errors(lambda one: one.assign({n: 0 * one[n] for n in names}))
    value = (own**2).mean("log") ** 0.5
    found = estimate(own, "log", "symmetric", at=value)
    return Measurement(replace(found, value=value, null=nothing.mean("log")))


@measures("B.estimators.recover")
def recover(of_i, of_l):
    return recovery(["A", "B", "intra"], of_i, of_l)


@measures("B.estimators.from_noise")
def from_noise(of_i, of_l):
    """Of α̂ over the last three quarters."""
    return recovery(["A", "intra"], of_i, of_l, of_l.sizes["time"] // 4)


def tail_indices(exponents, strengths):
    """Tail index (Eq. D.19) after 10,000 iterations and local slope of log α̂ of effects α₀/(1 + t)^r without noise."""
    t = np.arange(10_001.0)
    totals = [[PowerLaw.flat(strength, r, 0.0)[1](t) for r in exponents] for strength in strengths]
    labels = {"strength": list(strengths), "r": list(exponents), "time": t}
    total = xr.DataArray(totals, labels, ("strength", "r", "time"))
    fading = elasticity.effects(xr.Dataset({"A": total, "B": 0 * total}), 51)["intra"]
    slope = elasticity.log_slope(fading, [1000, 9950]).isel(interval=0, drop=True)
    index = said(elasticity.tail_index(total), r"tail index $\hat r$")
    index["r"].attrs["long_name"] = "true exponent $r$"
    return xr.Dataset({"index": index, "slope": slope})


# --- smoothing (Fig. D.1)


@measures("B.D1.small")
def small_window(by_window, trend):
    """Scatter of α̂ with the smallest window about the trend, by the maximum of that."""
    rough = ((by_window.intra - trend) ** 2).mean("time") ** 0.5 / trend.max("time")
    of_model = {m: ", ".join(f"{v:.2g}" for v in rough.sel(model=m).values) for m in readings.MODELS}
    shares = "; ".join(f"{m}: {numbers}" for m, numbers in of_model.items())
    words = (
        f"By window, as shares of the maximum of the trend: {shares}. That they fall says "
        "nothing: the trend is itself such an estimate, with a larger window."
    )
    return Measurement(rough.isel(window=0), detail=words)


# --- numbers of samples (Fig. D.3)


def by_size(shapes, photos, rates=False):
    """Both effects by data and model as panels, over the share of training, a curve for each number of samples."""
    rows: dict[str, xr.DataArray] = {}
    for name, label in (panels.RATES if rates else panels.INTEGRATED).items():
        for data, one in {"shapes": shapes, "CIFAR": photos}.items():
            curves = panels.by_share(1000 * one[name] if rates else one[name])
            # Formulas are not broken into lines, but here they are.
            rows |= {f"{label}, {data}\n{t}": curves.sel(model=m, drop=True) for m, t in panels.MODELS.items()}
    every = panels.joined(rows)
    some = panels.some_times(panels.inner(every), 300) if rates else panels.hundredths(every)
    return in_shares(some, panels.SLOPES if rates else "integrated effect")


def apart(curves, few):
    """How far curves of ``few`` and of 4,800 samples lie apart, mean over sets of trials, by the scatter of one set."""
    rms = lambda gap: (gap**2).mean("time") ** 0.5  # noqa: E731
    small, large = (curves.sel(per_class=n, drop=True) for n in (few, 4800))
    scatter = (small.var("first_seed", ddof=1) + large.var("first_seed", ddof=1)).mean("time") / 2
    return rms((small - large).mean("first_seed")) / scatter**0.5


def over_sets(curves, few):
    """The same with its interval over sets, which share no seed."""
    n = curves.sizes["first_seed"]
    without = [np.log(apart(curves.drop_isel(first_seed=i), few)) for i in range(n)]
    found = jackknife(np.log(apart(curves, few)), xr.concat(without, "set"), over="set", scatter="symmetric")
    return found.map(np.exp)


def late_difference(estimated, few):
    """Late Â of ``few`` less that of 4,800 samples per class, as a share of the latter; both have each set left out."""
    late = last_tenth(estimated.A)
    small, large = (late.sel(per_class=n, drop=True) for n in (few, 4800))
    value = small.mean("first_seed") / large.mean("first_seed") - 1
    without = leave_one_out(small, "first_seed") / leave_one_out(large, "first_seed") - 1
    return jackknife(value, without, over="first_seed", scatter="symmetric")


def alike(by_set, photos, few):
    """Of shapes; beside it the same of photographs, of which there are two sets."""
    each = late_difference(photos, few).value
    words = ", ".join(f"{float(each.sel(model=m)):.2g} ({name})" for m, name in panels.MODELS.items())
    words = f"Of photographs, of which {photos.sizes['first_seed']} sets decide nothing: {words}."
    return Measurement(late_difference(by_set, few), detail=words)


@measures("B.D3.insensitive")
def insensitive(by_set, photos):
    return alike(by_set, photos, 480)


@measures("B.D3.small_sets")
def small_sets(by_set, photos):
    return alike(by_set, photos, 80)


@measures("B.D3.growth")
def growth(by_set):
    """Of what Â gains after its mean from iteration 1,000 to 1,500, between 80 and 4,800 samples."""
    gains = (by_set.A - by_set.A.sel(time=slice(1000, 1500)).mean("time")).sel(time=slice(1500, None))
    return Measurement(over_sets(gains, 80), first_null=apart(gains, 480))


# --- numbers of classes (Fig. D.4); ``kinds`` are networks of two classes and of three, by images

CLASSES = xr.Variable("classes", ["2 classes", "3 classes"])


def by_classes(few, many, window):
    """Effects by the I-model of networks of two classes and of three."""
    both = [readings.estimate(one, window, ["I"]).isel(model=0, drop=True) for one in (few, many)]
    return xr.concat(both, CLASSES)


def ends(networks):
    """Â and B̂ by the I-model, mean over the last tenth: of all trials, and without each group of them."""
    return [last_tenth(elasticity.integrated_effects(means, "I")) for means in readings.without_groups(networks)]


def end_of(name, kinds):
    found = {}
    for images, both in kinds.items():
        one = [ends(networks) for networks in both]
        every, without = (xr.concat([z[i][name] for z in one], CLASSES, combine_attrs="drop") for i in (0, 1))
        found[images] = jackknife(every, without, over="group", scatter="symmetric")
    return found


@measures("B.D4.rises")
def rises(kinds):
    return Measurement(stack(end_of("A", kinds), "images"))


@measures("B.D4.falls")
def falls(kinds):
    found = end_of("B", kinds)
    words = "; ".join(f"{name}: {one.map(lambda end: end[0])}" for name, one in found.items())
    return Measurement(stack(found, "images"), detail=f"With two classes, by images: {words}.")


@measures("B.D4.scale")
def scale(kinds):
    """By what factor Â is larger with three classes, unknown where it falls; null: 3/2 of equal growth."""
    times = {}
    for images, both in kinds.items():
        (two, some), (three, others) = ([np.log(np.where(z.A > 0, z.A, np.nan)) for z in ends(one)] for one in both)
        # What does not change from group to group does not matter to the jackknife.
        times[images] = jackknife(float(three - two), others, three - some, scatter="symmetric").map(np.exp)
    words = "; ".join(f"{name}: {one}" for name, one in times.items())
    return Measurement(stack(times, "images"), null=1.5, detail=f"By images: {words}.")
