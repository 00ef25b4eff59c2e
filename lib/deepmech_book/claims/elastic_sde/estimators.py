"""Claims of the page elastic_sde/estimators: App. D.1 and Figs. D.1, D.3 and D.4 of paper B.

Names as in :mod:`deepmech_book.claims.elastic_sde.effects`.
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech.core.estimates import Estimate, stack
from deepmech_book.analysis.elastic_sde import effect_curves, effects, recovery
from deepmech_book.claims.functions import Measurement, measures

MODELS = effects.MODELS

# --- Appendix D.1 -----------------------------------------------------------------------------------------------------


@measures("B.estimators.recover")
def recover(of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    """Errors on logs of each model (:func:`deepmech_book.analysis.elastic_sde.recovery.recovered_effects`)."""
    return Measurement(recovery.recovery_error(["A", "B", "intra"], of_i, of_l))


@measures("B.estimators.from_noise")
def from_noise(of_i: xr.Dataset, of_l: xr.Dataset) -> Measurement:
    """Errors on logs that start within their noise; of α̂ over the last three quarters."""
    return Measurement(recovery.recovery_error(["A", "intra"], of_i, of_l, of_l.sizes["time"] // 4))


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
    return Measurement(small, first_null=large)


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
