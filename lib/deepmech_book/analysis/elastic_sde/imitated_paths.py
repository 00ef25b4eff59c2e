"""How near the models' paths come to networks (paper B, Figs. 5, D.7 to D.9).

``paths`` is what :func:`deepmech_book.analysis.elastic_sde.imitation.imitate` gives, over ``structure``
("isotropic", "logits") and ``estimator`` ("I", "L-program") too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import Model
from deepmech_book.analysis.elastic_sde import effects, imitation

__all__ = [
    "N_DRAWINGS",
    "distance_by_l",
    "drawings",
    "falls",
    "further_away",
    "imitations",
    "l_model",
    "late_distance",
    "nearer",
    "nearer_as_printed",
    "other_logits",
    "over_batches",
    "over_data",
    "own_aligned",
    "ratio_error",
    "spread_of_classes",
    "terminal_distance",
]

N_DRAWINGS = 4000
"""Figures drawn as the authors' program draws them, of which shares are taken, to a hundredth."""
ESTIMATORS = (*effects.MODELS, "none")
"""Whose effects drive the models; "none" are constant effects, which know nothing of networks."""
OWN = xr.DataArray(np.eye(3, dtype=bool), dims=("class", "logit"))


def over_data(numbers: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """A number of each data set, over ``data``.

    Examples
    --------
    >>> over_data({"GEOMNIST": xr.DataArray(1.0), "CIFAR-10": xr.DataArray(2.0)}).values.tolist()
    [1.0, 2.0]
    """
    return xr.concat(numbers.values(), xr.Variable("data", list(numbers)))


def over_batches(measure: Callable[[xr.Dataset], xr.DataArray], paths: Mapping[str, xr.Dataset], n: int) -> Estimate:
    """A measure of the paths on each data set, mean over batches of runs with its interval.

    Parameters
    ----------
    measure : callable
        From paths, over ``batch`` too, to numbers.
    paths : mapping
        Paths by the name of the data set.
    n : int
        Networks behind them.

    Returns
    -------
    Estimate
        Over ``data``.
    """
    runs = over_data({name: measure(one) for name, one in paths.items()})
    return replace(estimate(runs, "batch", "symmetric"), n=n)


def imitations(result: xr.Dataset, **how: Any) -> xr.Dataset:
    """The I-model and the L-model, each driven by effects that either of them reads off networks.

    Parameters
    ----------
    result : Dataset
        Of networks.
    how
        Further arguments of :func:`~deepmech_book.analysis.elastic_sde.imitation.imitate`.

    Returns
    -------
    Dataset
        Its paths over ``structure`` and ``estimator`` too.
    """
    structures: tuple[imitation.Structure, ...] = ("isotropic", "logits")
    estimators: tuple[Model, ...] = effects.MODELS
    rows = []
    for structure in structures:
        row = [imitation.imitate(result, estimator, structure, **how) for estimator in estimators]
        rows.append(xr.concat(row, xr.Variable("estimator", list(estimators)), combine_attrs="drop"))
    return xr.concat(rows, xr.Variable("structure", list(structures)), combine_attrs="drop")


def drawings(results: Mapping[str, xr.Dataset], n_runs: int, window: int, n_drawings: int = N_DRAWINGS) -> xr.Dataset:
    """How often a figure drawn as the program draws it shows a class's own logit as the largest in the end (Fig. 5).

    The program draws the mean over runs, multiplied such that one logit ends where the networks' does.

    Parameters
    ----------
    results : mapping
        Results of networks with three classes by the name of the data set.
    n_runs : int
        Runs behind a figure, from normal starts as large as the networks' first class means.
    window : int
        Of the smoothing filter, in iterations.
    n_drawings : int
        Figures drawn.

    Returns
    -------
    Dataset
        Shares of figures, over ``data``, ``structure`` ("isotropic", "logits") and ``estimator`` (:data:`ESTIMATORS`):
        ``before``, the mean is multiplied, over ``class``; after (``right``), and with all logits in the networks'
        order (``ordered``), over ``aligned``, the logit that is set to the networks', too.
    """
    dice = Stream.of("drawings", 0)
    starts = np.stack([dice.normal("start", i, (n_runs, 3, 3)).mean(0) for i in range(n_drawings)])
    structures: tuple[imitation.Structure, ...] = ("isotropic", "logits")
    each = {
        name: [[_drawn(one, s, e, starts, window) for e in ESTIMATORS] for s in structures]
        for name, one in results.items()
    }
    names = {"data": list(results), "structure": list(structures), "estimator": list(ESTIMATORS)}
    return xr.combine_nested(list(each.values()), list(names), combine_attrs="drop").assign_coords(names)


def _drawn(result: xr.Dataset, structure: Any, estimator: Any, starts: np.ndarray, window: int) -> xr.Dataset:
    """:func:`drawings` of one result and one model, from starts of unit size (drawing, class, logit)."""
    k = 3
    means = effects.class_means(result).transpose("time", "class", "logit")
    size = np.linalg.norm(imitation.first_means(means), axis=-1) / np.sqrt(k)
    drive = imitation.effects_of(result, estimator, window)
    last = means["time"].values > float(means["time"][-1]) - imitation.LAST
    times = drive["time"].values[last]
    moved = imitation.propagator(drive, structure, times[:: max(1, len(times) // 20)], k).mean(0)
    end = np.einsum("abcd,rcd->rab", moved, starts * size[:, None])
    real, own = means.values[last].mean(0), np.arange(k)
    scaled = end[:, None] * np.moveaxis(real / end, -1, 1)[..., None]
    dims = ("aligned", "class")
    shares: dict[str, Any] = {
        "right": (dims, (scaled.argmax(-1) == own).mean(0)),
        "ordered": (dims, (scaled.argsort(-1) == real.argsort(-1)).all(-1).mean(0)),
        "before": ("class", (end.argmax(-1) == own).mean(0)),
    }
    return xr.Dataset(shares, {"aligned": own, "class": own})


def own_aligned(shares: xr.Dataset) -> xr.DataArray:
    """Shares of :func:`drawings` in which the own logit is largest, after it was set to the networks'."""
    return shares["right"].sel(aligned=shares["class"]).drop_vars("aligned", errors="ignore")


# --- logits at the end (Figs. D.7 and D.8) ----------------------------------------------------------------------------


def l_model(paths: xr.Dataset) -> xr.Dataset:
    """Those paths of :func:`imitations` that are the L-model's, with effects that are read off by the L-model."""
    return paths.sel(structure="logits", estimator="L-program", drop=True)


def other_logits(paths: xr.DataArray) -> xr.DataArray:
    """Other logits over the own one at the end, over ``class`` and ``logit``; nan for the own one itself."""
    end = paths.isel(time=-1)
    return (end / end.where(OWN).max("logit")).where(~OWN)


def ratio_error(paths: xr.Dataset) -> xr.DataArray:
    """Largest distance of simulated from real :func:`other_logits`, of the paths of one model."""
    simulated, real = (other_logits(paths[name]) for name in ("median", "genuine"))
    return abs(simulated - real).max(["class", "logit"])


# --- relative differences (Fig. D.9) ----------------------------------------------------------------------------------


def distance_by_l(paths: xr.Dataset) -> xr.DataArray:
    """Relative differences RD_k(t) (Eq. D.21) of paths whose effects are read off by the L-model."""
    return paths["distance"].sel(estimator="L-program", drop=True)


def late_distance(paths: xr.Dataset) -> xr.DataArray:
    """:func:`distance_by_l`, mean over the last fifth of training."""
    return effects.late_mean(distance_by_l(paths))


def further_away(paths: xr.Dataset) -> xr.DataArray:
    """By how much the I-model is further away than the L-model, late, mean over classes; over ``norm``."""
    both = late_distance(paths).mean("class")
    return both.sel(structure="isotropic", drop=True) - both.sel(structure="logits", drop=True)


def nearer(paths: xr.Dataset) -> xr.DataArray:
    """Share of times at which the L-model is nearer than the I-model, in each ``norm``, mean over classes."""
    both = distance_by_l(paths).mean("class")
    return (both.sel(structure="logits") < both.sel(structure="isotropic")).mean("time")


def nearer_as_printed(paths: xr.Dataset, structure: str) -> xr.DataArray:
    """Share of times at which a model is nearer along d_k alone than the I-model is in all coordinates.

    Parameters
    ----------
    structure : {"logits", "isotropic"}
        The model measured along d_k; "isotropic" tells how much is owed to the norm alone.
    """
    both = distance_by_l(paths).mean("class")
    own, other = (both.sel(structure=s, norm=n, drop=True) for s, n in ((structure, "L"), ("isotropic", "I")))
    return (own < other).mean("time")


def falls(distance: xr.DataArray) -> xr.DataArray:
    """Late (last fifth) by early (first tenth) relative difference, mean over classes."""
    own = distance.mean("class")
    return effects.late_mean(own) / own.isel(time=slice(own.sizes["time"] // 10)).mean("time")


def spread_of_classes(paths: xr.Dataset, structure: str, norm: str = "L") -> xr.DataArray:
    """Largest by smallest late relative difference of a class."""
    distance = late_distance(paths).sel(structure=structure, norm=norm, drop=True)
    return distance.max("class") / distance.min("class")


def terminal_distance(paths: xr.Dataset, norm: str) -> xr.DataArray:
    """Late relative difference of the L-model, mean over classes, in one ``norm``."""
    return late_distance(paths).sel(structure="logits", norm=norm, drop=True).mean("class")
