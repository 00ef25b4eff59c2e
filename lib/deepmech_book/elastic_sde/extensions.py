"""Unequal classes, wrong labels and other directions: Appendix E of paper B."""

from dataclasses import replace

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, proportion
from deepmech.core.labels import over
from deepmech.metrics.elasticity import margins, relative_difference
from deepmech.metrics.separability import separated_along
from deepmech.simulators.elastic_sde import ElasticSDE, simulate
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.elastic_sde.readings import late, late_mean, without_groups
from deepmech_book.elastic_sde.words import in_shares
from deepmech_book.sweeps.elastic_sde import extension_models
from deepmech_book.sweeps.elastic_sde.networks import unequal
from deepmech_book.sweeps.elastic_sde.paths import tabulated_paths

# --- networks of which a class is rare


def compared(case, balanced, fitted, since):
    """Margins, log p less its mean, and how far three guesses end from class means, with ends of bands, of one case."""
    p = np.array(unequal(case.sizes["class"], int(case.rare), float(case.ratio)))
    time = case.slow_time.values
    step, end = float(time[1] - time[0]), late(len(time))
    (clean, fewer_clean), (real, fewer_real) = (without_groups(d) for d in (balanced, case))
    n, m = fewer_clean.sizes["group"], fewer_real.sizes["group"]
    order = ("group", "time", "class", "logit")
    # All networks, without each group of balanced ones, without each group of unequal ones.
    clean = xr.concat([clean, fewer_clean, *[clean] * m], "group").transpose(*order)
    x = xr.concat([real, *[real] * n, fewer_real], "group").transpose(*order).values
    drift = extension_models.drift("L", np.empty(0), p)
    best = [tabulated_paths(drift, fitted.intra, fitted.inter, one[since], step, substeps=8) for one in x]
    guesses = {
        "model": np.stack(best),
        "balanced networks": clean.values,
        "unmoved logits": np.broadcast_to(x[:, :1], x.shape),
    }
    far = [relative_difference(x[:, end], g[:, end]).values.mean(1) for g in guesses.values()]
    parts: dict[str, tuple] = {"prior": ("class", np.log(p) - np.log(p).mean())}
    for name, dims, v in (
        ("margin", ("what", "time", "class"), margins(x).values),
        ("distance", ("what", "model", "class"), np.stack(far, 1)),
    ):
        ends = jackknife(v[0], v[1 : n + 1], v[n + 1 :], scatter="symmetric").interval
        parts[name] = dims, np.stack([v[0], *ends])
    labels = {"what": ["value", "low", "high"], "time": time, "model": list(guesses), "class": case["class"].values}
    return xr.Dataset(parts, labels, {"n_groups": min(n, m)})


def unequal_networks(trained):
    """Of each case in which a class is rare: ``margin``, ``prior``, and ``distance`` of the L-model's late class means.

    Its effects are those of the model that follows balanced networks best, from the time on at which their margins
    exceed their noise; its pulls are weighted by the probabilities of classes. Bands (``what``) are over groups of
    trials of both kinds of networks, and leave out the scatter of the fit.
    """
    ratio = trained.ratio.values
    balanced, uneven = trained.isel(case=int(np.argmin(ratio))), trained.isel(case=np.flatnonzero(ratio > 1))
    groups = balanced.group_mean.rename(slow_time="time").astype(float)
    since = extension_models.begins(groups)
    fitted = extension_models.fit(groups.isel(time=slice(since, None)).mean("group"), "L")
    rows = [compared(uneven.isel(case=i), balanced, fitted, since) for i in range(uneven.sizes["case"])]
    together = xr.concat(rows, xr.Variable("case", uneven.case.values)).assign(fitted_from=float(fitted.time[0]))
    return together.assign_coords({name: ("case", uneven[name].values) for name in ("rare", "ratio")})


def by_role(values):
    """Means over which class is rare, for the rare one and for the others, over ``role`` and ``ratio``."""
    own = values["class"] == values.rare
    roles = [values.where(own).mean("class"), values.where(~own).mean("class")]
    return xr.concat(roles, xr.Variable("role", ["rare", "others"])).groupby("ratio").mean("case")


def with_band(values):
    return Estimate(*(values.sel(what=name, drop=True) for name in ("value", "low", "high")))


@measures("B.ext.imbalance_predicted")
def imbalance_predicted(unequal):
    """Distance of the model's prediction over that of balanced networks' paths, by ``ratio``; null: unmoved logits."""
    far = by_role(unequal.distance).mean("role")
    model = with_band(far.sel(model="model"))
    own, unmoved = (far.sel(model=m, what="value", drop=True) for m in ("balanced networks", "unmoved logits"))
    worst = int(np.argmax(model.value.values))
    words = (
        f"The fitted model starts at iteration {float(unequal.fitted_from):,.0f}. Where it is farthest off: "
        f"{float(model.value[worst]):.1f} of at most 2, and the other paths {float(own[worst]):.1f}."
    )
    low, high = (end / own for end in model.interval)
    found = Estimate(model.value / own, low, high, unequal.n_groups, null=unmoved / own)
    return Measurement(found, detail=words)


# --- wrong labels in the I-model


def share_separated(fractions, n_runs):
    """Share of runs of the I-model (α = 1, β = −1/2) in which two of three classes are separated at t = 60.

    Twenty samples of each class start about the corners of a triangle of side 1; the line is that through two of them.
    """
    angles = 2 * np.pi * np.arange(3) / 3
    x0 = np.stack([np.cos(angles), np.sin(angles)], 1) / np.sqrt(3)
    mixed = ElasticSDE(1.0, -0.5, 3, 2, label_mixing=over("p_err", fractions))
    run = simulate(mixed, [60.0], x0, 20, n_runs, 0.2, mean="infinite")
    return separated_along(run.feature_value.isel(time=0), x0[1] - x0[0]).sel(pair="0-1").mean("run")


@measures("B.appE.labels")
def labels(share, n_runs):
    """Share of runs that separate up to half of the labels wrong, and of those that do not from two thirds on."""
    share = share.where((share.p_err <= 0.5) | (share.p_err > 0.66), drop=True)
    below = share.p_err <= 0.5
    null = xr.where(below, share.where(~below).max(), 1 - share.where(below).min())
    return Measurement(proportion(share.where(below, 1 - share), n_runs), null=null)


# --- other directions (Eq. E.1)


def by_norm(distances, names):
    """Relative differences of each data set in each norm, called ``names``, over the share of training."""
    panels = {
        f"{data},\n{words}": one.sel(norm=n, drop=True) for data, one in distances.items() for n, words in names.items()
    }
    return in_shares(
        xr.concat(panels.values(), xr.Variable("panel", list(panels)), join="outer"), "relative difference"
    )


def courses(fits, names):
    """Relative differences of fitted models, called ``names``, median over halvings, over the share of training."""
    curves = {}
    for data, one in fits.items():
        some = one.distance.median("split").isel(time=slice(1, None)).sel(model=list(names))
        some = some.assign_coords(time=some.time / float(some.time[-1]), model=list(names.values()))
        curves[data] = some.interp(time=np.linspace(0, 1, 101))
    return by_norm(curves, {"I": "all coordinates", "L": "along $d_k$"})


@measures("B.ext.E1_nearer")
def nearer(fits, n):
    """Late distance of Eq. E.1 with its condition over the L-model's, by ``data`` and ``norm``; null: the I-model's.

    Medians over halvings of ``n`` trials, which share trials: intervals are those of Nadeau and Bengio.
    """
    far = xr.concat([late_mean(one.distance) for one in fits.values()], xr.Variable("data", list(fits)))
    own, rival, base = (far.sel(model=m, drop=True) for m in ("own first", "I", "L"))
    logs, middle = (xr.apply_ufunc(np.log, one) for one in (own / base, (own / base).median("split")))
    found = estimate(logs, "split", "skewed", overlap=1.0, at=middle).map(np.exp)
    less = (own - rival) / base
    apart = estimate(less, "split", "skewed", overlap=1.0, at=less.median("split"))
    found = replace(found, value=(own / base).median("split"), n=n)
    return Measurement(replace(found, null=(rival / base).median("split"), difference=apart.interval))
