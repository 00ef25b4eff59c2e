"""Claims of the page elastic_sde/extensions: Appendix E of paper B.

``unequal`` is what :func:`deepmech_book.analysis.elastic_sde.extended_models.unequal_networks` tells of networks of
which a class is rare; ``fits`` are models fitted to networks by ``data``
(:mod:`deepmech_book.sweeps.elastic_sde.extension_models`), of ``n`` trials that were halved.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, proportion
from deepmech_book.analysis.elastic_sde import extended_models
from deepmech_book.claims.functions import Measurement, measures

Fits = Mapping[str, xr.Dataset]

# --- unequal classes --------------------------------------------------------------------------------------------------


@measures("B.ext.imbalance_predicted")
def imbalance_predicted(unequal: xr.Dataset) -> Measurement:
    """Distance of the model's prediction over that of balanced networks' paths, by ``ratio``; null: unmoved logits."""
    far = extended_models.by_role(unequal["distance"]).mean("role")
    model = extended_models.with_band(far.sel(model="model"))
    own, unmoved = (far.sel(model=m, what="value", drop=True) for m in ("balanced networks", "unmoved logits"))
    worst = int(np.argmax(model.value.values))
    words = (
        f"The fitted model starts at iteration {float(unequal['fitted_from']):,.0f}. Where it is farthest off: "
        f"{float(model.value[worst]):.1f} of at most 2, and the other paths {float(own[worst]):.1f}."
    )
    low, high = (end / own for end in model.interval)
    return Measurement(Estimate(model.value / own, low, high, null=unmoved / own), detail=words)


# --- wrong labels -----------------------------------------------------------------------------------------------------


@measures("B.appE.labels")
def labels(share: xr.DataArray, n_runs: int) -> Measurement:
    """Share of runs that separate up to half of the labels wrong, and of those that do not from two thirds on."""
    share = share.where((share["p_err"] <= 0.5) | (share["p_err"] > 0.66), drop=True)
    below = share["p_err"] <= 0.5
    null = xr.where(below, share.where(~below).max(), 1 - share.where(below).min())
    return Measurement(proportion(share.where(below, 1 - share), n_runs), null=null)


# --- directions (Eq. E.1) and pairs -----------------------------------------------------------------------------------


def _beside_l_model(fits: Fits, model: str, n: int) -> Measurement:
    """Distance of a model over that of the L-model, by ``data`` and ``norm``; null: of the I-model."""
    return Measurement(extended_models.beside_model(extended_models.late_distances(fits), model, "I", "L", n))


@measures("B.ext.E1_nearer")
def e1_nearer(fits: Fits, n: int) -> Measurement:
    """Eq. E.1 with its condition beside the L-model."""
    return _beside_l_model(fits, "own first", n)
