"""Do models driven by the effects of networks move as these do? Figs. 5 and D.7 to D.9 of paper B.

``batches`` are paths of both models, driven by effects that either reads off networks, in batches of runs, by ``data``;
``blind`` are the L-model's with a constant effect within classes and none between them; ``n`` trials are behind them.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate, proportion
from deepmech.core.random import Stream
from deepmech_book import figures
from deepmech_book.claims.functions import Measurement, by_threshold, measures
from deepmech_book.elastic_sde import paths as paths_of
from deepmech_book.elastic_sde import readings
from deepmech_book.elastic_sde.panels import by_share, joined

N_DRAWINGS = 4000
"""Figures drawn as the authors' program draws them, of which shares are taken, to a hundredth."""
STRUCTURES: list[Any] = ["isotropic", "logits"]
ESTIMATORS = [*readings.MODELS, "none"]
"""Whose effects drive the models; "none" are constant effects, which know nothing of networks."""
OWN = xr.DataArray(np.eye(3, dtype=bool), dims=("class", "logit"))


def imitations(networks, **how):
    """The I-model and the L-model (``structure``), each driven by effects that either reads off (``estimator``)."""
    rows = {}
    for structure in STRUCTURES:
        row = {one: paths_of.imitate(networks, one, structure, **how) for one in readings.MODELS}
        rows[structure] = xr.concat(row.values(), xr.Variable("estimator", list(row)), combine_attrs="drop")
    return xr.concat(rows.values(), xr.Variable("structure", STRUCTURES), combine_attrs="drop")


def class_path(paths, k, structure, estimator):
    """Logits of one class in networks and in simulation, over the share of training."""
    others = [j for j in range(3) if j != k]
    one = paths.sel(structure=structure, estimator=estimator, drop=True).isel({"class": k, "logit": [k, *others]})
    one = one[["genuine", "median", "low", "high"]].drop_vars("class")
    return by_share(one).assign_coords(logit=["own logit", "another", "the third"])


def draw_paths(panels, **how):
    """Networks' logits (solid) with simulated ones (dashed, band of 16 to 84 %), a panel for each path of a class."""
    paths = joined(panels)
    look = {"x": "time", "by": "logit", "panel": "panel", "columns": 4, "shared": False}
    look |= {"band_of_theory": True, "theory_label": "simulated (median)"}
    look |= {"x_label": "share of training", "y_label": "mean logit", **how}
    return figures.curve_panels(paths.genuine, paths["median"], interval=(paths.low, paths.high), **look)


# --- drawings of the program (Fig. 5): the mean over runs, multiplied such that one logit ends where the networks' does


def drawings(networks, n_runs, window, n_drawings=N_DRAWINGS):
    """Shares of drawings by ``data``, ``structure`` and ``estimator`` in which logits end in the networks' order."""
    dice = Stream.of("drawings", 0)
    starts = np.stack([dice.normal("start", i, (n_runs, 3, 3)).mean(0) for i in range(n_drawings)])
    each = [[[drawn(one, s, e, starts, window) for e in ESTIMATORS] for s in STRUCTURES] for one in networks.values()]
    names = {"data": list(networks), "structure": STRUCTURES, "estimator": ESTIMATORS}
    return xr.combine_nested(each, list(names), combine_attrs="drop").assign_coords(names)


def drawn(networks, structure, estimator, starts, window):
    """Own logit largest ``before`` it is multiplied, and after (``right``); all logits in order (``ordered``).

    ``aligned`` is the logit that ends where the networks' does.
    """
    means = readings.class_means(networks).transpose("time", "class", "logit")
    size = np.linalg.norm(paths_of.first_means(means), axis=-1) / np.sqrt(3)
    drive = paths_of.effects_of(networks, estimator, window)
    last = means.time.values > float(means.time[-1]) - paths_of.LAST
    times = drive.time.values[last]
    moved = paths_of.propagator(drive, structure, times[:: max(1, len(times) // 20)], 3).mean(0)
    end = np.einsum("abcd,rcd->rab", moved, starts * size[:, None])
    real, own = means.values[last].mean(0), np.arange(3)
    scaled = end[:, None] * np.moveaxis(real / end, -1, 1)[..., None]
    shares = {
        "right": (("aligned", "class"), (scaled.argmax(-1) == own).mean(0)),
        "ordered": (("aligned", "class"), (scaled.argsort(-1) == real.argsort(-1)).all(-1).mean(0)),
        "before": ("class", (end.argmax(-1) == own).mean(0)),
    }
    return xr.Dataset(shares, {"aligned": own, "class": own})


@measures("B.5.ranks")
def ranks(drawings):
    """Share of drawings in which the own logit, set to the networks', is largest; null: under the I-model; first null:
    with a constant effect within classes and none between them."""
    own = drawings.right.sel(aligned=drawings["class"]).drop_vars("aligned", errors="ignore")
    judged, null = (own.sel(estimator=list(readings.MODELS), structure=s, drop=True) for s in ("logits", "isotropic"))
    found = proportion(judged, N_DRAWINGS)
    blind = float(own.sel(structure="logits", estimator="none").min())
    return Measurement(found, null=null, first_null=blind, detail=by_threshold("B.5.ranks", found, 0.8, 0.85, 0.95))


@measures("B.5.I_fails")
def order_by_i_model(drawings):
    """Share of drawings of triangles with the right order by the I-model's estimates; null: by the L-model's."""
    first = drawings.sel({"structure": "logits", "class": 0}, drop=True)
    by_i, by_l = (first.sel(estimator=e, aligned=k, drop=True) for e, k in (("I", 1), ("L-program", 0)))
    words = (
        f"Own logit the largest: {float(by_i.right.isel(data=0)):.3f}. Order right on CIFAR-10, the first logit set "
        f"to the networks': {float(first.ordered.sel(estimator='I', aligned=0).isel(data=-1)):.3f} by the I-model's "
        f"estimates and {float(by_l.ordered.isel(data=-1)):.3f} by the L-model's."
    )
    share, null = (float(one.ordered.isel(data=0)) for one in (by_i, by_l))
    return Measurement(proportion(share, N_DRAWINGS), null=null, detail=words)


# --- paths at the end (Figs. D.7 and D.8), and relative differences (Fig. D.9)


def over_batches(measure, paths, n):
    """A measure of the paths on each data set, mean over batches of runs with its interval."""
    runs = joined({name: measure(one) for name, one in paths.items()}, "data")
    return replace(estimate(runs, "batch", "symmetric"), n=n)


def in_words(measure, paths):
    """A measure of the mean over batches, by data."""
    return ", ".join(f"{float(measure(one.mean('batch'))):.2g} on {name}" for name, one in paths.items())


def by_l(paths):
    """Relative differences (Eq. D.21) of paths whose effects are read off by the L-model."""
    return paths.distance.sel(estimator="L-program", drop=True)


def late(paths, structure, norm):
    return readings.late_mean(by_l(paths)).sel(structure=structure, norm=norm, drop=True)


def ratio_error(paths):
    """Largest distance of simulated from real ratios of another logit to the own one, at the end."""

    def ratios(logits):
        end = logits.isel(time=-1)
        return (end / end.where(OWN).max("logit")).where(~OWN)

    return abs(ratios(paths["median"]) - ratios(paths.genuine)).max(["class", "logit"])


@measures("B.D8.ratios")
def ratios(batches, blind, n):
    """How far simulated ratios are off, by data; in words with a constant effect."""
    found = over_batches(
        lambda one: ratio_error(one.sel(structure="logits", estimator="L-program", drop=True)), batches, n
    )
    return Measurement(found, detail=f"With a constant effect: {in_words(ratio_error, blind)}.")


@measures("B.D7.larger")
def i_model_is_further(batches, n):
    """Late relative difference of the I-model less that of the L-model, by norm and data."""

    def further(paths):
        both = readings.late_mean(by_l(paths)).mean("class")
        return both.sel(structure="isotropic", drop=True) - both.sel(structure="logits", drop=True)

    return Measurement(over_batches(further, batches, n))


@measures("B.D9.below")
def l_model_is_nearer(batches, n):
    """Share of times at which the L-model is nearer, by norm and data; beside it as printed, and the I-model so."""

    def nearer(paths):
        both = by_l(paths).mean("class")
        return (both.sel(structure="logits") < both.sel(structure="isotropic")).mean("time")

    def as_printed(structure, paths):
        both = by_l(paths).mean("class")
        own, other = (both.sel(structure=s, norm=k, drop=True) for s, k in ((structure, "L"), ("isotropic", "I")))
        return (own < other).mean("time")

    found = over_batches(nearer, batches, n)
    printed, norm_alone = (in_words(partial(as_printed, structure), batches) for structure in ("logits", "isotropic"))
    words = (
        f"Each in the norm of its model, as printed: {printed}; so would the I-model be below itself, measured along "
        f"d_k alone: {norm_alone}."
    )
    return Measurement(found, null=0.5, detail=f"{words} {by_threshold('B.D9.below', found, 0.5, 0.75, 0.9)}".rstrip())


@measures("B.D9.falls")
def difference_falls(batches, blind, n):
    """Late (last fifth) by early (first tenth) relative difference, by norm and data; null: with a constant effect."""

    def falls(distance):
        own = distance.mean("class")
        return readings.late_mean(own) / own.isel(time=slice(own.sizes["time"] // 10)).mean("time")

    found = over_batches(lambda one: falls(by_l(one).sel(structure="logits", drop=True)), batches, n)
    null = {name: falls(one.distance.mean("batch")) for name, one in blind.items()}
    return Measurement(found, null=joined(null, "data"))


@measures("B.D9.equal")
def classes_are_alike(batches, n):
    """Largest by smallest late relative difference of a class, along d_k, by data; null: of the I-model."""

    def spread(paths, structure, norm="L"):
        distance = late(paths, structure, norm)
        return distance.max("class") / distance.min("class")

    found, other = (over_batches(partial(spread, structure=s), batches, n) for s in ("logits", "isotropic"))
    words = in_words(partial(spread, structure="logits", norm="I"), batches)
    return Measurement(found, null=other.value, detail=f"In all coordinates: {words}.")


@measures("B.D9.terminal")
def end_is_near(batches, blind, n):
    """Late relative difference of the L-model along d_k, by data; null: with a constant effect."""
    found = over_batches(lambda one: late(one, "logits", "L").mean("class"), batches, n)
    null = {name: readings.late_mean(one.distance.mean(("batch", "class"))) for name, one in blind.items()}
    words = in_words(lambda one: late(one, "logits", "I").mean("class"), batches)
    words = f"In all coordinates, of which the paper does not speak here: {words}."
    return Measurement(found, null=joined(null, "data").sel(norm="L", drop=True), detail=words)
