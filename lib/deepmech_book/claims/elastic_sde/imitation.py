"""Claims of the page elastic_sde/imitation: Figs. 5 and D.7 to D.9 of paper B.

``drawings`` are shares of figures drawn as the authors' program draws them
(:func:`deepmech_book.analysis.elastic_sde.imitated_paths.drawings`); ``batches`` are paths of both models, driven by
effects that either reads off networks, in batches of runs, by ``data``; ``blind`` are paths of the L-model with a
constant effect within classes and none between them, likewise; ``n`` says how many trials are behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import xarray as xr

from deepmech.core.estimates import proportion
from deepmech_book.analysis.elastic_sde import effects, imitated_paths
from deepmech_book.claims.functions import Measurement, by_threshold, measures

Paths = Mapping[str, xr.Dataset]

# --- Figure 5, and Figs. D.7 and D.8 ----------------------------------------------------------------------------------


@measures("B.5.ranks")
def ranks(drawings: xr.Dataset) -> Measurement:
    """Share of drawings in which the own logit is largest, by data, estimator and class; null: under the I-model."""
    own = imitated_paths.own_aligned(drawings)
    driven = own.sel(estimator=list(effects.MODELS))
    judged, null = (driven.sel(structure=s, drop=True) for s in ("logits", "isotropic"))
    found = proportion(judged, imitated_paths.N_DRAWINGS)
    blind = float(own.sel(structure="logits", estimator="none").min())
    words = f"With a constant effect within classes and none between them, at least {blind:.3f}."
    return Measurement(found, null=null, detail=f"{words} {by_threshold('B.5.ranks', found, 0.8, 0.85, 0.95)}".rstrip())


@measures("B.5.I_fails")
def order_by_i_model(drawings: xr.Dataset) -> Measurement:
    """Share of drawings of triangles with the right order by the I-model's estimates; null: by the L-model's."""
    first = drawings.sel({"structure": "logits", "class": 0}, drop=True)
    by_i, by_l = (first.sel(estimator=e, aligned=k, drop=True) for e, k in (("I", 1), ("L-program", 0)))
    share = float(by_i["ordered"].isel(data=0))
    words = (
        f"Own logit the largest: {float(by_i['right'].isel(data=0)):.3f}. Order right on CIFAR-10, the first logit set "
        f"to the networks': {float(first['ordered'].sel(estimator='I', aligned=0).isel(data=-1)):.3f} by the I-model's "
        f"estimates and {float(by_l['ordered'].isel(data=-1)):.3f} by the L-model's."
    )
    return Measurement(
        proportion(share, imitated_paths.N_DRAWINGS), null=float(by_l["ordered"].isel(data=0)), detail=words
    )


@measures("B.D8.ratios")
def ratios(batches: Paths, blind: Paths, n: int) -> Measurement:
    """Largest distance of simulated from real ratios of logits; null: of the paths with a constant effect."""
    found = imitated_paths.over_batches(lambda one: imitated_paths.ratio_error(imitated_paths.l_model(one)), batches, n)
    null = {name: imitated_paths.ratio_error(one.mean("batch")) for name, one in blind.items()}
    return Measurement(found, null=imitated_paths.over_data(null))


@measures("B.D7.larger")
def i_model_is_further(batches: Paths, n: int) -> Measurement:
    """Late relative difference of the I-model less that of the L-model, by norm and data."""
    return Measurement(imitated_paths.over_batches(imitated_paths.further_away, batches, n))


# --- Figure D.9 -------------------------------------------------------------------------------------------------------


def _both(measure: Callable[[xr.Dataset], xr.DataArray], paths: Paths) -> str:
    """A measure of the mean over batches, by data, in words."""
    return ", ".join(f"{float(measure(one.mean('batch'))):.2g} on {name}" for name, one in paths.items())


@measures("B.D9.below")
def l_model_is_nearer(batches: Paths, n: int) -> Measurement:
    """Share of times at which the L-model is nearer, by norm and data; beside it as printed, and the I-model so."""
    found = imitated_paths.over_batches(imitated_paths.nearer, batches, n)
    printed, norm_alone = (
        _both(partial(imitated_paths.nearer_as_printed, structure=structure), batches)
        for structure in ("logits", "isotropic")
    )
    words = (
        f"Each in the norm of its model, as printed: {printed}; so would the I-model be below itself, measured along "
        f"d_k alone: {norm_alone}."
    )
    return Measurement(found, null=0.5, detail=f"{words} {by_threshold('B.D9.below', found, 0.5, 0.75, 0.9)}".rstrip())


@measures("B.D9.falls")
def difference_falls(batches: Paths, blind: Paths, n: int) -> Measurement:
    """Late by early relative difference of the L-model, by norm and data; null: with a constant effect."""
    found = imitated_paths.over_batches(
        lambda one: imitated_paths.falls(imitated_paths.distance_by_l(one).sel(structure="logits", drop=True)),
        batches,
        n,
    )
    null = {name: imitated_paths.falls(one["distance"].mean("batch")) for name, one in blind.items()}
    return Measurement(found, null=imitated_paths.over_data(null))


@measures("B.D9.equal")
def classes_are_alike(batches: Paths, n: int) -> Measurement:
    """Largest by smallest late relative difference of a class, along d_k, by data; null: of the I-model."""
    found, other = (
        imitated_paths.over_batches(partial(imitated_paths.spread_of_classes, structure=s), batches, n)
        for s in ("logits", "isotropic")
    )
    words = _both(lambda one: imitated_paths.spread_of_classes(one, "logits", "I"), batches)
    return Measurement(found, null=other.value, detail=f"In all coordinates: {words}.")


@measures("B.D9.terminal")
def end_is_near(batches: Paths, blind: Paths, n: int) -> Measurement:
    """Late relative difference of the L-model along d_k, by data; null: with a constant effect."""
    found = imitated_paths.over_batches(lambda one: imitated_paths.terminal_distance(one, "L"), batches, n)
    late = {name: effects.late_mean(one["distance"].mean(("batch", "class"))) for name, one in blind.items()}
    words = _both(lambda one: imitated_paths.terminal_distance(one, "I"), batches)
    words = f"In all coordinates, of which the paper does not speak here: {words}."
    return Measurement(found, null=imitated_paths.over_data(late).sel(norm="L", drop=True), detail=words)
