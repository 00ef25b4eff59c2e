"""Pictures of data and logits: GEOMNIST samples, clouds of logits, projections, planes of the class means.

Figs. 1, 2 and D.10 of paper B, from the results of :mod:`deepmech_book.experiments.elastic_sde.networks`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.core.statistics import Interval, interval
from deepmech.data import geomnist

AXES = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])
"""Two orthonormal directions in the plane of three logits that add up to a constant."""


def gallery(n: int = 8, seed: int = 0) -> xr.DataArray:
    """``n`` training images of each shape, dims (shape, sample, row, column)."""
    images, _ = geomnist.make(3 * n, seed)
    grid = images.reshape(n, 3, *images.shape[1:]).swapaxes(0, 1)
    return xr.DataArray(grid, dims=("shape", "sample", "row", "column"), coords={"shape": list(geomnist.SHAPES)})


def areas(n: int = 3000, seed: int = 0) -> xr.Dataset:
    """Mean brightness summed over the image, and the area that shapes of their sizes have, per shape.

    Returns
    -------
    Dataset
        ``drawn`` and ``closed_form`` over ``shape``, in pixels.
    """
    at = geomnist.place(n, seed)
    mass, g = geomnist.draw(at).sum((1, 2), dtype=float), at.growth
    (a, b), r, (width, top, bottom) = geomnist.RECTANGLE, geomnist.ELLIPSE, geomnist.TRIANGLE
    exact = [4 * (a + g) * (b + g), 2 * np.pi * (r + g) ** 2, width * (top + bottom) * (1 + g / width) ** 2]
    own = [at.label == k for k in range(3)]
    values = {
        "drawn": ("shape", [mass[o].mean() for o in own]),
        "closed_form": ("shape", [e[o].mean() for e, o in zip(exact, own, strict=True)]),
    }
    return xr.Dataset(values, {"shape": list(geomnist.SHAPES)})


def changed_by_number(n: int = 300, seed: int = 0) -> int:
    """Pixels of the first ten images that differ between a set of ten and one of ``n``."""
    return int((geomnist.make(10, seed)[0] != geomnist.make(n, seed)[0][:10]).sum())


def cloud(result: xr.Dataset, at: list[int]) -> tuple[xr.DataArray, xr.DataArray]:
    """Single logits in the plane of :data:`AXES` at the recorded iterations nearest to ``at``, and their labels.

    At each moment every trial gives one point: the sample it is about to be trained on.

    Returns
    -------
    points, label
        Dims (moment, point, axis) and (moment, point).
    """
    some = result.sel(moment=at, method="nearest")
    points = some["logits"].transpose("moment", "trial", "logit").values.astype(float) @ AXES.T
    coords = {"moment": some.moment.values}
    return (
        xr.DataArray(points, dims=("moment", "point", "axis"), coords=coords),
        xr.DataArray(some["label"].transpose("moment", "trial").values, dims=("moment", "point"), coords=coords),
    )


def traces(result: xr.Dataset, every: int = 1) -> xr.DataArray:
    """Class means in the plane of :data:`AXES`, dims (group, time, axis), every so many recorded times."""
    means = result["mean"].transpose("class", "time", "logit").values[:, ::every].astype(float) @ AXES.T
    return xr.DataArray(means, dims=("group", "time", "axis"))


def direction(means: xr.DataArray, k: int, other: int) -> np.ndarray:
    """ν = (X̄ᵏ − X̄ˡ)/|X̄ᵏ − X̄ˡ| at the end (paper B, Eq. C.24): of the means over the last tenth of the times."""
    last = means.isel(time=slice(-max(1, means.sizes["time"] // 10), None)).mean("time").transpose("class", "logit")
    gap = last.values[k].astype(float) - last.values[other]
    return gap / np.linalg.norm(gap)


def projected(result: xr.Dataset, k: int, other: int, bins: int = 25) -> xr.Dataset:
    """Logits of every class along :func:`direction`, over training: quantiles of single samples in time bins.

    Returns
    -------
    Dataset
        ``median``, ``low``, ``high`` (2.5 % and 97.5 %) over ``time`` and ``class``.
    """
    nu = direction(result["mean"], k, other)
    along = result["logits"].transpose("moment", "trial", "logit").values.astype(float) @ nu
    label = result["label"].transpose("moment", "trial").values
    parts = np.array_split(np.arange(len(along)), min(bins, len(along)))
    found = np.array(
        [[np.quantile(along[p][label[p] == c], [0.025, 0.5, 0.975]) for c in result["class"].values] for p in parts]
    )
    coords = {"time": [float(result.moment.values[p].mean()) for p in parts], "class": result["class"].values}
    names = ("low", "median", "high")
    return xr.Dataset({n: (("time", "class"), found[..., i]) for i, n in enumerate(names)}, coords)


def clearance(bands: xr.Dataset, above: int, below: int) -> xr.DataArray:
    """Lower end of one class's band of :func:`projected` less the upper end of another's: positive where they part."""
    return bands["low"].isel({"class": above}, drop=True) - bands["high"].isel({"class": below}, drop=True)


def along(paths: xr.DataArray, means: xr.DataArray, k: int, other: int) -> xr.DataArray:
    """Paths of class means (time, class, logit) along the :func:`direction` of ``means``: dims (time, class)."""
    nu = xr.DataArray(direction(means, k, other), dims="logit", coords={"logit": paths["logit"]})
    return xr.dot(paths, nu, dim="logit").transpose("time", "class")


def overlap(result: xr.Dataset, moments: slice) -> xr.DataArray:
    """For each pair of classes, how often a sample of the one lies on the other's side along :func:`direction`.

    The probability that a sample of class k is *not* beyond one of class l: 0 for classes that are disjoint, 1/2 for
    classes that are mixed, over all samples at the given moments (those that end training: ``slice(-10, None)``).

    Returns
    -------
    DataArray
        Over ``pair``, labelled "k, l".
    """
    some = result.isel(moment=moments)
    z, label = some["logits"].transpose(..., "logit").values.astype(float), some["label"].values
    pairs = list(combinations(range(result.sizes["class"]), 2))
    found = []
    for k, other in pairs:
        along = z @ direction(result["mean"], k, other)
        found.append(float(np.mean(along[label == k][:, None] <= along[label == other][None])))
    return over("pair", [f"{k}, {other}" for k, other in pairs]).copy(data=found)


def planes(result: xr.Dataset, width: int = 100) -> xr.Dataset:
    """The plane through three class means and how it turns (Fig. D.10).

    Parameters
    ----------
    width : iterations averaged before a normal is taken.

    Returns
    -------
    Dataset
        Over ``time``: ``turn``, the angle in degrees between the plane's normal and the final one; ``tilt``, between it
        and (1, 1, 1); ``size``, the mean distance of class means from their centre, in units of the logits.
    """
    means = result["mean"].transpose("time", "class", "logit")
    steps = means.sizes["time"] // max(1, round(width / float(np.diff(means.time.values[:2])[0])))
    x = np.stack([part.mean(0) for part in np.array_split(means.values.astype(float), steps)])
    time = [float(t.mean()) for t in np.array_split(means.time.values, steps)]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    end = normal[-max(1, steps // 10) :]
    end = (end * np.sign(end @ end[-1])[:, None]).mean(0)

    def angle(other: np.ndarray) -> np.ndarray:
        return np.degrees(np.arccos(np.clip(np.abs(normal @ other) / np.linalg.norm(other), 0, 1)))

    size = np.linalg.norm(x - x.mean(1, keepdims=True), axis=-1).mean(-1)
    values = {"turn": ("time", angle(end)), "tilt": ("time", angle(np.ones(3))), "size": ("time", size)}
    return xr.Dataset(values, {"time": time})


def shuffled(result: xr.Dataset, seed: int = 0) -> xr.Dataset:
    """The null of :func:`overlap`: the same logits with their labels in a random order."""
    label = result["label"]
    order = Stream.of("shuffled labels", seed).permutation("order", 0, label.size)
    return result.assign(label=label.copy(data=label.values.ravel()[order].reshape(label.shape)))


def first_below(curve: xr.DataArray, level: float) -> float:
    """The first time from which a one-dimensional curve stays below ``level``; inf if it never does."""
    above = np.flatnonzero(curve.values >= level)
    times = curve[curve.dims[0]].values
    if len(above) and above[-1] + 1 == len(times):
        return float("inf")
    return float(times[above[-1] + 1]) if len(above) else float(times[0])


def end_of(result: xr.Dataset, name: str) -> tuple[float, Interval]:
    """A validation measure after the last step: mean over trials, and its interval."""
    values = result[name].isel(at_iteration=-1).transpose("trial").values.astype(float)
    return float(values.mean()), interval(values, scatter="skewed")


def accuracies(results: dict[str, xr.Dataset]) -> xr.Dataset:
    """Accuracy on training samples just before their step, and on validation samples, over training.

    Parameters
    ----------
    results : of trials that vary over ``first_seed``, one trial each, by name.

    Returns
    -------
    Dataset
        ``mean``, ``low`` and ``high`` (its 95 % interval over trials) over ``name``, ``set`` ("training",
        "validation") and ``iteration``: the times of validation but the first, and the nearest recorded block of
        training samples.
    """
    rows = []
    for result in results.values():
        at = result["at_iteration"].values[1:]
        seen = result["accuracy"].sel(time=at, method="nearest").transpose("first_seed", "time").values
        unseen = result["validation_accuracy"].isel(trial=0).sel(at_iteration=at).transpose("first_seed", ...).values
        rows.append(np.stack([seen, unseen], 1))
    share = xr.DataArray(
        np.stack(rows),
        dims=("name", "trial", "set", "iteration"),
        coords={"name": list(results), "set": ["training", "validation"], "iteration": at},
    )
    low, high = interval(share, "trial", "symmetric").ends
    return xr.Dataset({"mean": share.mean("trial"), "low": low, "high": high})
