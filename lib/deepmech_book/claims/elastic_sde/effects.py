"""Claims of the page elastic_sde/effects: Fig. 3 of paper B.

``estimated`` is what :func:`deepmech_book.analysis.elastic_sde.effects.estimate` reads off networks, smoothed over
``window`` iterations; ``networks`` are results of networks themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate, stack
from deepmech_book.analysis.elastic_sde import effect_curves, effects
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
    return Measurement(shares, null=effect_curves.share_below(guessing), first_null=1.0)


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
    """Fluctuation of α̂ over the first tenth of training, L-model by I-model, over sets; first null: the last tenth."""
    n = networks.sizes["time"] // 10
    early, late = (effect_curves.window_sensitivity(networks, 191, at) for at in (slice(n), slice(-n, None)))
    return Measurement(estimate(early, "set", "symmetric").map(np.exp), first_null=float(np.exp(late.mean())))
