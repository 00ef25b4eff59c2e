"""One training run seen through three theories: its load curve, its margins and how far its weights have gone.

:func:`look_cells` trains the networks of :func:`.elastic_sde.networks.as_published` over again and stops them at times
evenly spread over the logarithm of time. At each stop all three are measured: data separation of every layer (paper A),
mean logits by class, which make α̂ and β̂ (paper B), and overlap and α₂ of the weights (paper C).
:func:`half_times` says when each of them changes, and :func:`rank_over` whether it does so in the same networks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import xarray as xr

from deepmech.core.estimates import Estimate, crossing, jackknife, spearman
from deepmech.metrics.glass import displacement_sums, mixture_non_gaussian, non_gaussian
from deepmech.metrics.separation import data_separation
from deepmech.sweeps import Sweep, recomputed
from deepmech.trainers.langevin import log_times
from deepmech.trainers.modules import LeNet
from deepmech.trainers.run import one_thread
from deepmech_book.experiments.elastic_sde.data import SETTINGS
from deepmech_book.experiments.elastic_sde.training import rounded
from deepmech_book.experiments.tangent_kernel import Trial, groups, load_weights, of_trials

BEFORE = "stop before"
"""Label along ``since`` of displacements from one stop to the next."""
BITS = 9
"""Leading bits of the mantissa that are kept: a thousandth of a number."""


def looked_at(dataset: str = "geomnist", n_trials: int = 100, *, per_decade: int = 20, chi: float = 10.0) -> Sweep:
    """The networks of :func:`.tangent_kernel.of_trials`, seen through three lenses by a hundred samples of each class.

    Parameters
    ----------
    per_decade : stops in each of the last three decades of time; the first is after a thousandth of training.
    chi : the overlap's window is σ/χ, with σ the standard deviation of the initial weights.

    Examples
    --------
    >>> looked_at(n_trials=20, per_decade=1).fixed["stops"]
    [0, 10, 100, 1000, 10000]
    """
    n = SETTINGS[dataset].iterations
    stops, waiting = [0, *log_times(n, per_decade, n // 1000).tolist()], [0, n // 100, n // 10]
    how = {"per_class": 100, "chi": chi, "stops": stops, "waiting": waiting}
    return of_trials("three-lenses", f"{__name__}:look_cells", dataset, n_trials, **how)


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first dozen stops: what trials have done by then is the same."""
    stops = fixed["stops"][:12]
    few = {"stops": stops, "waiting": [t for t in fixed["waiting"] if t in stops]}
    return fixed | few, ["load", "logits", "loss", "accuracy", *MOVED]


MOVED = {
    "overlap": "share of weights that moved less than the window",
    "msd": "mean squared displacement over the variance of the initial weights",
    "alpha2": "non-Gaussian parameter of displacements",
    "alpha2_layers": "non-Gaussian parameter that layers of different pace give alone",
}


@recomputed(tolerance={"*": 1e-3}, part=_begin)
def look_cells(
    cells: xr.Dataset, *, stops: list[int], waiting: list[int], per_class: int, chi: float, **which: Any
) -> xr.Dataset:
    """Train ten trials for each ``group``, stop them, and look.

    Returns
    -------
    Dataset
        Over ``cell``, ``trial`` within the group and ``time``, on the trial's held-out samples:

        - ``load`` (layer): data separation D_ℓ of the input, of both convolutions after pooling and of both hidden
          linear layers;
        - ``logits`` (class, logit): mean logits; ``loss``: cross-entropy; ``accuracy``;

        and, of all weights without biases:

        - ``overlap``, ``msd``, ``alpha2``, ``alpha2_layers`` (since): see :data:`MOVED`. ``since`` is a waiting time,
          in words, or :data:`BEFORE`; nan before it, and α₂ also where nothing has moved.
    """
    at = np.array(stops)
    with one_thread():
        rows = [[_look(one, waiting, chi) for one in group] for group in groups(cells, at, per_class, **which)]
    each = ("cell", "trial", "time")
    dims = {"load": (*each, "layer"), "logits": (*each, "class", "logit"), "loss": each, "accuracy": each}
    dims |= {name: (*each, "since") for name in MOVED}
    out = {n: (d, rounded([[one[n] for one in row] for row in rows], BITS)) for n, d in dims.items()}
    since = [*map(str, waiting), BEFORE]
    return xr.Dataset(out, {"time": at.astype(float), "since": since}, {"device": "cpu", "dtype": "float32"})


def _look(trial: Trial, waiting: list[int], chi: float) -> dict[str, np.ndarray]:
    k, data = trial.data.n_classes, trial.data
    x = torch.from_numpy(np.asarray(data.x_test[trial.chosen], np.float32))
    y, module, found = data.y_test[trial.chosen], LeNet(data.shape[0], k), []
    references: dict[Any, np.ndarray] = {}
    for stop, _ in zip(trial.at.tolist(), trial.stops(), strict=True):
        weights = trial.engine.weights()
        load_weights(module, weights)
        now, layer = flat(weights)
        if not references:
            spread, references[BEFORE] = float(now.std()), now
        if stop in waiting:
            references[stop] = now
        since = [references.get(t) for t in (*waiting, BEFORE)]
        moved = [moves(now, reference, layer, spread, chi) for reference in since]
        found.append(seen(module, x, y) | dict(zip(MOVED, np.transpose(moved), strict=True)))
        references[BEFORE] = now
    return {name: np.stack([one[name] for one in found]) for name in found[0]}


def flat(weights: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """All weights of a network in a row, float64, and the layer of each; biases are left out, paper C has none."""
    parts = [np.asarray(weight, float).ravel() for weight, _ in weights]
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def moves(now: np.ndarray, reference: np.ndarray | None, layer: np.ndarray, spread: float, chi: float) -> np.ndarray:
    """The numbers of :data:`MOVED` from ``reference`` to ``now``; nan without a reference.

    Examples
    --------
    >>> moves(np.array([0.0, 3.0]), np.zeros(2), np.array([0, 0]), 1.0, 1.0).round(3).tolist()
    [0.5, 4.5, -0.333, 0.0]
    """
    if reference is None:
        return np.full(len(MOVED), np.nan)
    n = int(layer.max()) + 1
    sums, count = displacement_sums(now, reference, layer, n, [spread / chi]), np.bincount(layer, minlength=n)
    total = sums.square.sum()
    alpha = non_gaussian(total, sums.fourth.sum(), np.array(len(now)))
    layers = mixture_non_gaussian(sums.square, count)
    return np.array([sums.within.sum() / len(now), total / len(now) / spread**2, alpha, layers])


def seen(module: LeNet, x: torch.Tensor, y: np.ndarray) -> dict[str, Any]:
    """Load curve, mean logits by class, cross-entropy and accuracy of a network on samples."""
    with torch.no_grad():
        *features, z = module.layers(x)
        loss = torch.nn.functional.cross_entropy(z, torch.from_numpy(np.asarray(y, np.int64)))
    logits = z.double().numpy()
    return {
        "load": np.array([data_separation(h.flatten(1), y) for h in features]),
        "logits": np.stack([logits[y == c].mean(0) for c in range(logits.shape[1])]),
        "loss": float(loss),
        "accuracy": float((logits.argmax(1) == y).mean()),
    }


LAST = 5
"""Stops at the end whose mean stands for where a quantity ends: a single step of one sample moves the last one."""


def progress(values: xr.DataArray) -> xr.DataArray:
    """The share of its whole change that a quantity has made, from the first stop to the mean of the last ones.

    Examples
    --------
    >>> progress(xr.DataArray([1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0], dims="time")).values.tolist()
    [0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    begin, end = values.isel(time=0), values.isel(time=slice(-LAST, None)).mean("time")
    return (values - begin) / (end - begin)


def half_times(share: xr.DataArray) -> xr.DataArray:
    """When half of the change is made for the first time, linear in the logarithm of time between stops.

    It is the same on any scale of time. Nan if that is before the first stop after the start, or never.

    Examples
    --------
    >>> t = [0.0, 10.0, 100.0, 1000.0]
    >>> half_times(xr.DataArray([0.0, 0.0, 1.0, 1.0], {"time": t}, "time")).round(1).item()
    31.6
    """
    later = share.isel(time=slice(1, None))
    at = np.log(later["time"].values)

    def half(curve: np.ndarray) -> float:
        return float(np.exp(crossing(at, curve, 0.5, way="rises")))

    return xr.apply_ufunc(half, later, input_core_dims=[["time"]], vectorize=True)


def rank_over(x: np.ndarray, y: np.ndarray, given: np.ndarray | None = None) -> Estimate:
    """Spearman's ρ over networks with its interval; with ``given``, of what a third time leaves of both (partial).

    The interval leaves out networks in turn, on the scale of arctanh ρ.

    Examples
    --------
    >>> x = np.arange(20.0)
    >>> round(rank_over(x, x**2).value, 6), round(rank_over(x, -x).value, 6)
    (1.0, -1.0)
    """
    columns = [x, y] if given is None else [x, y, given]

    def rho(*of: np.ndarray) -> np.ndarray:
        both = spearman(of[0], of[1])
        if len(of) == 3:
            left, right = spearman(of[0], of[2]), spearman(of[1], of[2])
            both = (both - left * right) / np.sqrt((1 - left**2) * (1 - right**2))
        # Perfect order has no finite arctanh.
        return np.arctanh(np.clip(both, -1 + 1e-12, 1 - 1e-12))

    others = np.array([np.delete(np.arange(len(x)), i) for i in range(len(x))])
    value, without = float(rho(*columns)), rho(*(c[others] for c in columns))
    return jackknife(value, without, scatter="symmetric").map(lambda end: float(np.tanh(end)))
