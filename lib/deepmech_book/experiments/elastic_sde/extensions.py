"""Unequal classes (paper B, App. E): the L-model fitted to unequal networks themselves, with and without weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from deepmech.core.specs import over
from deepmech.metrics.elasticity import relative_difference
from deepmech.sweeps import Sweep, each, recomputed, result
from deepmech_book.experiments.elastic_sde import networks
from deepmech_book.experiments.elastic_sde.effects import late
from deepmech_book.experiments.elastic_sde.extensions_fit import fit, halves
from deepmech_book.experiments.elastic_sde.training import unequal


def weights_of(case: xr.Dataset) -> np.ndarray:
    """Probabilities of the classes of one configuration of an "imbalance" sweep."""
    return np.array(unequal(case.sizes["class"], int(case["rare"]), float(case["ratio"])))


def own_fits() -> Sweep:
    """:func:`fit_cells` for every unequal case of the stored networks and four halves of their trials, as a sweep."""
    source = networks.as_published("imbalance")
    cases = np.flatnonzero(source.cells["ratio"].values > 1)
    cells, fixed = {"case": over("case", cases), "split": over("split", range(4))}, {"of": source.name}
    return Sweep(f"{source.name}-fits", f"{__name__}:fit_cells", cells, fixed, version=2, data=source.key)


@recomputed(tolerance={"*": 1e-4})  # as :func:`.extensions_fit.fit_cells`
def fit_cells(cells: xr.Dataset, *, of: str) -> xr.Dataset:
    """For each ``case`` (number) and ``split`` what :func:`own_effects` finds in a stored result."""
    source = result(networks.as_published(of.removeprefix("elastic-")))
    made = []
    for cell in each(cells):
        case = source.isel(case=cell["case"])
        groups = case["group_mean"].rename(slow_time="time").astype(float)
        made.append(own_effects(groups, weights_of(case), cell["split"]).assign(ratio=case["ratio"].item()))
    return xr.concat(made, "cell").assign_attrs(device="cpu", dtype="float64")


def own_effects(groups: xr.DataArray, weights: Sequence[float] | np.ndarray, split: int = 0) -> xr.Dataset:
    """The L-model fitted to the unequal networks themselves, with their weights and with equal ones.

    Fitted to one half of the trials from their first recorded time on, measured on the other half.

    Returns
    -------
    Dataset
        ``distance`` (weights, norm): mean over classes and the last fifth of training of RD_k, for "as drawn", "equal"
        and "other trials"; ``cost`` (fit) of the first two: root mean square of what the fit minimised.
    """
    dims = ("time", "class", "logit")
    own, other = (half.transpose(*dims) for half in halves(groups, split))
    found = [fit(own, "L", weights=w) for w in (np.asarray(weights), None)]
    end = late(own.sizes["time"])
    rows = [
        [float(relative_difference(other.values[end], p.values[end], norm).mean()) for norm in ("I", "L")]
        for p in (*(f["path"] for f in found), own)
    ]
    return xr.Dataset(
        {
            "distance": (("weights", "norm"), rows),
            "cost": ("fit", [float(f["cost"]) for f in found]),
        },
        {"weights": ["as drawn", "equal", "other trials"], "norm": ["I", "L"], "fit": ["as drawn", "equal"]},
    )
