"""Claims of the page elastic_sde/effects: Figs. 3, D.1, D.3 and D.4 and App. D.1 of paper B.

``estimated`` is what :func:`deepmech_book.analysis.elastic_sde.effects.estimate` reads off networks, smoothed over
``window`` iterations; ``networks`` are results of networks themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, stack
from deepmech_book.analysis.elastic_sde import effect_curves, effects, recovery
from deepmech_book.claims.functions import Measurement, measures

MODELS = effects.MODELS

# --- Figure 3 ---------------------------------------------------------------------------------------------------------


@measures("B.3.peak")
def peak(by_size: xr.Dataset, estimated: xr.Dataset, window: int) -> Measurement:
    """When α̂ is largest, over sets of trials; ``estimated``, of one set, tells how large."""
    highest = "{:.1f} (I), {:.1f} (L)".format(*(1000 * estimated.intra.max("time")).values)
    words = f"Maximum per 1,000 iterations with 3,000 samples per class: {highest}."
    return Measurement(effect_curves.course_of_sets(by_size, window)["peak"], null=0.5, detail=words)


@measures("B.3.rises")
def rises(by_size: xr.Dataset, window: int) -> Measurement:
    """α̂ at the beginning by its maximum, over sets of trials."""
    return Measurement(effect_curves.course_of_sets(by_size, window)["begin"], null=1.0)


@measures("B.3.falls")
def falls(by_size: xr.Dataset, window: int) -> Measurement:
    """α̂ at the end by its maximum, over sets of trials."""
    return Measurement(effect_curves.course_of_sets(by_size, window)["end"], null=1.0)


@measures("B.3.below")
def below(estimated: Mapping[str, xr.Dataset], guessing: xr.Dataset) -> Measurement:
    """Share of the first third of training in which β̂ < α̂, by ``images``; ``guessing``: where nothing is learnt."""
    shares = xr.concat(
        [effect_curves.share_below(one) for one in estimated.values()], xr.Variable("images", list(estimated))
    )
    return Measurement(shares, null=effect_curves.share_below(guessing))


@measures("B.3.late")
def late(networks: Mapping[str, xr.Dataset]) -> Measurement:
    """By what factor Â grows faster, late, in the L-model than in the I-model, by ``images``; beside it, ours."""
    found = {name: effect_curves.late_growth_ratio(one) for name, one in networks.items()}
    words = "; ".join(
        f"{name}: {one}, by margins {effect_curves.late_growth_ratio(networks[name], 'L')}"
        for name, one in found.items()
    )
    return Measurement(stack(found, "images"), detail=f"By images: {words}.")


@measures("B.3.norm")
def norm(networks: xr.Dataset) -> Measurement:
    """Distance of the mean norm from Â by that from a straight line."""
    return Measurement(effects.over_groups(networks, effect_curves.norm_against_line))


@measures("B.3.alike")
def alike(photos: xr.Dataset, shapes: xr.Dataset, window: int) -> Measurement:
    """When α̂ is largest on photographs, less the same on shapes, over sets of trials of each."""
    found = effect_curves.later_peak(photos, shapes, window)
    each = {m: float(effect_curves.course_of_sets(photos, window)["peak"].value.sel(model=m)) for m in MODELS}
    words = "; ".join(f"{m}: {v:.2f}" for m, v in each.items())
    return Measurement(found, expected=0.0, detail=f"On photographs, as a share of training: {words}.")


@measures("B.3.wilder")
def wilder(networks: xr.Dataset) -> Measurement:
    """Fluctuation of α̂ over the first tenth of training, L-model by I-model; ``networks`` are sets of trials."""
    n = networks.sizes["time"] // 10
    early, late = (effect_curves.window_sensitivity(networks, 191, at) for at in (slice(n), slice(-n, None)))
    words = f"Over the last tenth: {float(np.exp(late.mean())):.2f}."
    return Measurement(estimate(early, "set", "symmetric").map(np.exp), detail=words)


# --- Appendix D.1 -----------------------------------------------------------------------------------------------------


@measures("B.estimators.recover")
def recover(of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    """Errors on logs of each model (:func:`deepmech_book.analysis.elastic_sde.recovery.recovered_effects`)."""
    return Measurement(recovery.recovery_error(["A", "B", "intra"], of_i, of_l))


@measures("B.estimators.from_noise")
def from_noise(of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    """Errors on logs that start within their noise; of α̂ over the last three quarters."""
    return Measurement(recovery.recovery_error(["A", "intra"], of_i, of_l, of_l.sizes["time"] // 4))


@measures("B.tails.index_on_fast")
def tail_index_on_fast(tails: xr.Dataset) -> Measurement:
    """Index of the strongest effects that fade faster than 1/t; null: of those that fade more slowly, the largest."""
    strong = tails.isel(strength=-1)
    fast, slow = (strong.sel(r=strong.r[keep]) for keep in (strong.r > 1.1, strong.r < 1))
    slopes = ", ".join(f"{float(v):.2f}" for v in fast.slope)
    return Measurement(fast["index"], null=float(slow["index"].max()), detail=f"Local slopes there: {slopes}.")


# --- Figure D.1 -------------------------------------------------------------------------------------------------------


@measures("B.D1.small")
def small_window(by_window: xr.Dataset, trend: xr.DataArray) -> Measurement:
    """Scatter of α̂ with the smallest window about the trend, by the maximum of that."""
    rough = effect_curves.roughness(by_window, trend)
    of_model = {m: ", ".join(f"{v:.2g}" for v in rough.sel(model=m).values) for m in MODELS}
    shares = "; ".join(f"{m}: {numbers}" for m, numbers in of_model.items())
    words = (
        f"By window, as shares of the maximum of the trend: {shares}. That they fall says "
        "nothing: the trend is itself such an estimate, with a larger window."
    )
    return Measurement(rough.isel(window=0), detail=words)


# --- Figures D.3 and D.4 ----------------------------------------------------------------------------------------------

Images = Mapping[str, xr.Dataset]
"""Effects read off networks by number of samples, by where their images come from."""


def _by_noise(by_size: Images, pair: str) -> Measurement:
    found = {name: effect_curves.distance_by_noise(one, pair) for name, one in by_size.items()}
    return Measurement(stack(found, "images"))


@measures("B.D3.insensitive")
def insensitive(by_size: Images) -> Measurement:
    """Distance of Â of 480 and of 4,800 samples per class, by the noise."""
    return _by_noise(by_size, "480 and 4800")


@measures("B.D3.small_sets")
def small_sets(by_size: Images) -> Measurement:
    """Distance of Â of 80 and of 4,800 samples per class, by the noise."""
    return _by_noise(by_size, "80 and 4800")


@measures("B.D3.growth")
def growth(by_size: xr.Dataset) -> Measurement:
    """Distance of what Â gains after iteration 1,000, of 80 and of 4,800 samples per class, by the noise."""
    noise, between = effect_curves.size_distances(effect_curves.gained(by_size.A))
    noise = noise.mean("per_class")
    small, large = (between.sel(pair=pair, drop=True) / noise for pair in ("80 and 4800", "480 and 4800"))
    words = ", ".join(f"{float(large.sel(model=m)):.2f} ({m})" for m in MODELS)
    return Measurement(small, detail=f"480 and 4,800 samples: {words}.")


Kinds = Mapping[str, tuple[xr.Dataset, xr.Dataset]]
"""Networks of two classes and of three, by where their images come from."""


def _by_classes(kinds: Kinds, name: str) -> dict[str, Estimate]:
    return {images: effect_curves.growth_by_classes(*both)[name] for images, both in kinds.items()}


@measures("B.D4.rises")
def rises_by_classes(kinds: Kinds) -> Measurement:
    """Â at the end of training by number of classes."""
    return Measurement(stack(_by_classes(kinds, "A"), "images"))


@measures("B.D4.falls")
def falls_by_classes(kinds: Kinds) -> Measurement:
    """B̂ at the end of training by number of classes."""
    ends = _by_classes(kinds, "B")
    words = "; ".join(f"{name}: {one.map(lambda end: end[0])}" for name, one in ends.items())
    return Measurement(stack(ends, "images"), detail=f"With two classes, by images: {words}.")


@measures("B.D4.scale")
def scale(kinds: Kinds) -> Measurement:
    """By what factor Â is larger with three classes; null: the 3/2 of equal growth of class differences."""
    times = _by_classes(kinds, "times")
    words = "; ".join(f"{name}: {one}" for name, one in times.items())
    return Measurement(stack(times, "images"), null=1.5, detail=f"By images: {words}.")
