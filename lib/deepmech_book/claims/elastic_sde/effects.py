"""Claims of the page elastic_sde/effects: Figs. 3, D.1, D.3 and D.4 and App. D.1 of paper B.

``estimated`` is what :func:`deepmech_book.analysis.elastic_sde.effects.estimate` reads off networks, smoothed over
``window`` iterations; ``networks`` are results of networks themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate, stack
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


@measures("B.3.below", "B.3.cifar", "B.3.cifar_program")
def below(estimated: xr.Dataset) -> Measurement:
    """Share of the first third of training in which β̂ < α̂."""
    return Measurement(effect_curves.share_below(estimated), null=1.0)


@measures("B.3.late")
def late(networks: xr.Dataset) -> Measurement:
    """By what factor Â grows faster, late, in the L-model than in the I-model, and how fast in each."""
    growth = effects.over_groups(networks, effect_curves.late_growth)
    each = (growth.select(lambda end, m=str(model): float(end.sel(model=m))) for model in MODELS)  # type: ignore[misc]
    words = "; ".join(f"{model}: {one}" for model, one in zip(MODELS, each, strict=True))
    words = f"Growth of Â over the second half by model: {words}."
    return Measurement(effect_curves.late_growth_ratio(networks), detail=words)


@measures("B.3.late_cifar", "B.3.late_program")
def late_on_photos(networks: xr.Dataset) -> Measurement:
    """By what factor Â grows faster, late, in the L-model than in the I-model."""
    return Measurement(effect_curves.late_growth_ratio(networks))


@measures("B.3.norm")
def norm(networks: xr.Dataset) -> Measurement:
    """Distance of the mean norm from Â by that from a straight line."""
    return Measurement(effects.over_groups(networks, effect_curves.norm_against_line))


@measures("B.3.alike")
def alike(photos: xr.Dataset, shapes: xr.Dataset, window: int) -> Measurement:
    """When α̂ is largest, on photographs and on shapes."""
    found, expected = (effect_curves.course(one, window).peak for one in (photos, shapes))
    return Measurement(found, expected=expected)


@measures("B.3.wilder")
def wilder(networks: xr.Dataset) -> Measurement:
    """Fluctuation of α̂ over the first tenth of training, L-model by I-model; ``networks`` are sets of trials."""
    begin, end = slice(50), slice(-50, None)
    early = effect_curves.window_sensitivity(networks, 191, begin)
    late = effect_curves.window_sensitivity(networks, 191, end)
    other = " early and ".join(
        f"{float(np.exp(effect_curves.window_sensitivity(networks, 151, at).mean())):.2f}" for at in (begin, end)
    )
    return Measurement(
        estimate(early, "set", "symmetric").map(np.exp),
        null=float(np.exp(late.mean())),
        detail=f"With the program's window of 151: {other} late.",
    )


# --- Appendix D.1 -----------------------------------------------------------------------------------------------------


def _recovered(name: str, of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    return Measurement(recovery.recovery_error(name, of_i, of_l))


@measures("B.estimators.recover_A")
def recover_A(of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    """Error of Â on logs of each model (:func:`deepmech_book.analysis.elastic_sde.recovery.recovered_effects`)."""
    words = "Bias of Â: {:.3f} (I), {:.3f} (L). Â ends at {:.1f}.".format(
        recovery.bias(of_i, "A", "I"), recovery.bias(of_l, "A", "L"), float(of_l.A_true[-1])
    )
    return Measurement(recovery.recovery_error("A", of_i, of_l), detail=words)


@measures("B.estimators.recover_B")
def recover_B(of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    """Error of B̂."""
    return _recovered("B", of_i, of_l)


@measures("B.estimators.recover_intra")
def recover_intra(of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    """Error of α̂."""
    return _recovered("intra", of_i, of_l)


@measures("B.estimators.level_from_noise")
def level_from_noise(of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    """Error of Â on logs that start within their noise."""
    return _recovered("A", of_i, of_l)


@measures("B.estimators.shape_from_noise")
def shape_from_noise(of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    """Error of α̂ over the last three quarters of such logs."""
    return Measurement(recovery.recovery_error("intra", of_i, of_l, of_l.sizes["time"] // 4))


@measures("B.tails.slope")
def tail_slope(tails: xr.Dataset) -> Measurement:
    """Distance of the local slope from the exponent, of :func:`~.analysis.elastic_sde.recovery.tail_indices`."""
    return Measurement(abs(tails.slope - tails.r), null=abs(tails["index"] - tails.r).max().item())


@measures("B.tails.index_on_fast")
def tail_index_on_fast(tails: xr.Dataset) -> Measurement:
    """Index and slope of the strongest effects that fade faster than 1/t."""
    fast = tails.sel(r=tails.r[tails.r > 1.1]).isel(strength=-1)
    return Measurement(fast["index"], null=fast.slope)


@measures("B.tails.unit")
def tail_unit(tails: xr.Dataset) -> Measurement:
    """Index of the weakest effects less that of the strongest, mean over exponents."""
    index = tails["index"]
    return Measurement(float((index.isel(strength=0) - index.isel(strength=-1)).mean()))


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


@measures("B.D3.insensitive")
def insensitive(by_size: xr.Dataset) -> Measurement:
    """Distance of Â of 480 and of 4,800 samples per class, by the noise."""
    noise, between = effect_curves.size_distances(effect_curves.without_start(by_size.A))
    apart = "; ".join(
        f"{m}: {float(between.sel(model=m).mean()):.2f} between sizes on average, "
        f"{float(noise.sel(model=m).mean()):.2f} between sets of trials"
        for m in MODELS
    )
    return Measurement(effect_curves.distance_by_noise(by_size, "480 and 4800"), detail=apart)


@measures("B.D3.cifar")
def insensitive_on_photos(by_size: xr.Dataset) -> Measurement:
    """As :func:`insensitive`."""
    return Measurement(effect_curves.distance_by_noise(by_size, "480 and 4800"))


@measures("B.D3.small_sets")
def small_sets(by_size: xr.Dataset) -> Measurement:
    """Distance of Â of 80 and of 4,800 samples per class, by the noise."""
    return Measurement(effect_curves.distance_by_noise(by_size, "80 and 4800"))


@measures("B.D3.cifar_small")
def small_sets_on_photos(by_size: xr.Dataset, accuracy: xr.DataArray) -> Measurement:
    """As :func:`small_sets`; ``accuracy`` on training samples over ``time``, ``per_class`` and ``first_seed``."""
    known = accuracy.isel(time=slice(-10, None)).mean(["first_seed", "time"])
    words = ", ".join(f"{float(a):.1%} ({int(a.per_class):,})" for a in known)
    words = f"Accuracy on training samples at the end, by n: {words}."
    return Measurement(effect_curves.distance_by_noise(by_size, "80 and 4800"), detail=words)


@measures("B.D3.growth")
def growth(by_size: xr.Dataset) -> Measurement:
    """Distance of what Â gains after iteration 1,000, of 80 and of 4,800 samples per class, by the noise."""
    noise, between = effect_curves.size_distances(effect_curves.gained(by_size.A))
    noise = noise.mean("per_class")
    small, large = (between.sel(pair=pair, drop=True) / noise for pair in ("80 and 4800", "480 and 4800"))
    gains = "; ".join(
        f"{m}: {float(small.sel(model=m)):.1f} times the noise, which is {float(noise.sel(model=m)):.2f}"
        for m in MODELS
    )
    return Measurement(small, null=large, detail=f"{gains}.")


Kinds = Mapping[str, tuple[xr.Dataset, xr.Dataset]]
"""Networks of two classes and of three, by where their images come from."""


@measures("B.D4.rises")
def rises_by_classes(kinds: Kinds) -> Measurement:
    """Â at the end of training by number of classes."""
    ends = {name: effect_curves.growth_by_classes(*both)["A"] for name, both in kinds.items()}
    return Measurement(stack(ends, "images"))


@measures("B.D4.falls")
def falls_by_classes(kinds: Kinds) -> Measurement:
    """B̂ at the end of training by number of classes."""
    ends = {name: effect_curves.growth_by_classes(*both)["B"] for name, both in kinds.items()}
    words = "; ".join(f"{name}: {one.map(lambda end: end[0])}" for name, one in ends.items())
    return Measurement(stack(ends, "images"), detail=f"With two classes, by images: {words}.")


@measures("B.D4.scale")
def scale(kinds: Kinds) -> Measurement:
    """By what factor Â is larger with three classes."""
    times = {name: effect_curves.growth_by_classes(*both)["times"] for name, both in kinds.items()}
    words = "; ".join(f"{name}: {one}" for name, one in times.items())
    return Measurement(stack(times, "images"), null=1.5, detail=f"By images: {words}.")
