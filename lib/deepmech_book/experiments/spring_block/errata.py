"""Slips and silent assumptions of Shi, Pan, Dokmanić 2024, each as a small experiment for the errata page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.data import load
from deepmech.metrics.moments import Metric, Weights
from deepmech.metrics.separation import data_separation
from deepmech.simulators.spring_block import Chain, equilibrium, simulate


def balanced(dataset: str, per_class: int) -> tuple[np.ndarray, np.ndarray]:
    """The first ``per_class`` training samples of each class: x (n, d) and y (n,)."""
    data = load(dataset)
    chosen = np.concatenate([np.flatnonzero(data.y_train == k)[:per_class] for k in range(data.n_classes)])
    return data.x_train[chosen].astype(float), data.y_train[chosen]


def random_features(x: np.ndarray) -> np.ndarray:
    """Inputs and their images in seven random ReLU layers of equal width, (8, n, d)."""
    stream, features = Stream.of("errata features", 0), [x]
    for layer in range(7):
        weights = stream.normal("weights", layer, (x.shape[1], x.shape[1])) * np.sqrt(2 / x.shape[1])
        features.append(np.maximum(features[-1] @ weights, 0.0))
    return np.stack(features)


def class_weights(dataset: str = "digits", per_class: int = 80) -> xr.Dataset:
    """What the place of the class weights in Eq. 2 does to D.

    ``shift``: D as printed minus D with the weights outside, over ``layer``, balanced classes. ``moved``: largest
    change of D over layers, per ``weights``, when every feature is moved by one unit and classes have different sizes.
    """
    x, y = balanced(dataset, per_class)
    features = random_features(x)
    printed = data_separation(features, y, weights="printed")
    samples = data_separation(features, y, weights="samples")
    # Class k keeps the first (k + 1) / K of its samples.
    rank = np.array([np.sum(y[:i] == y[i]) for i in range(len(y))])
    some = rank < (y + 1) / (y.max() + 1) * per_class
    uneven, labels = features[:, some], y[some]
    kinds: list[Weights] = ["printed", "samples"]
    moved = [
        np.abs(data_separation(uneven + 1.0, labels, weights=w) - data_separation(uneven, labels, weights=w)).max()
        for w in kinds
    ]
    return xr.Dataset(
        {"shift": ("layer", printed - samples), "moved": ("weights", moved)},
        coords={"layer": np.arange(len(features)), "weights": kinds},
    )


def classes_moved(dataset: str = "digits", per_class: int = 80) -> xr.DataArray:
    """Change of the traces of the two covariances of Eq. 2 when every class is moved by a vector of its own.

    Over ``covariance``, ``"first"`` and ``"second"`` in the order of the equation, and ``layer``.
    """
    x, y = balanced(dataset, per_class)
    features = random_features(x)
    moved = features + Stream.of("errata moved").normal("class", 0, (int(y.max()) + 1, x.shape[1]))[y]

    def traces(z: np.ndarray) -> np.ndarray:
        classes = [z[:, y == k] for k in range(int(y.max()) + 1)]
        first = np.mean([one.var(1).sum(-1) for one in classes], axis=0)
        return np.array([first, np.array([one.mean(1) for one in classes]).var(0).sum(-1)])

    found = abs(traces(moved) - traces(features))
    return xr.DataArray(found, {"covariance": ["first", "second"], "layer": np.arange(len(features))})


def increments(window: float, steps: Sequence[float], n: int = 20_000) -> xr.Dataset:
    """Variance of (w(t + η) − w(t))/√η, η the ``window``, of white noise drawn at every ``step`` and of its integral.

    Variables ``white`` and ``wiener`` over ``step``, from ``n`` windows.
    """
    found = []
    for step in steps:
        size = round(window / step)
        noise = Stream.of("errata increments").normal("white", size, (n, size + 1)) / np.sqrt(step)
        both = noise[:, -1] - noise[:, 0], noise[:, :-1].sum(1) * step
        found.append([np.var(one) / window for one in both])
    return xr.Dataset({name: ("step", v) for name, v in zip(("white", "wiener"), np.transpose(found), strict=True)})


def d_hat_under_maps(dataset: str = "digits", per_class: int = 80, n_maps: int = 5) -> xr.Dataset:
    """Largest change of D and D̂ over random invertible maps (condition number 10), by number of features.

    Features are the data's leading principal components. Dimensions ``features`` and ``metric``.
    """
    x, y = balanced(dataset, per_class)
    x = x - x.mean(0)
    axes = np.linalg.svd(x, full_matrices=False)[2]
    sizes = [4, int(y.max()), 2 * int(y.max() + 1), 4 * int(y.max() + 1)]
    metrics: list[Metric] = ["D", "D_hat"]
    change = np.zeros((len(sizes), len(metrics)))
    for i, size in enumerate(sizes):
        z = x @ axes[:size].T
        for draw in range(n_maps):
            stream = Stream.of("errata maps", draw, size)
            turns = [np.linalg.qr(stream.normal(side, 0, (size, size)))[0] for side in ("left", "right")]
            there = z @ (turns[0] * np.geomspace(1, 10.0, size)) @ turns[1]
            for j, metric in enumerate(metrics):
                gap = abs(data_separation(there, y, metric=metric) - data_separation(z, y, metric=metric))
                change[i, j] = max(change[i, j], gap)
    return xr.DataArray(change, {"features": sizes, "metric": metrics}, ("features", "metric")).to_dataset("metric")


def rest_without_static_friction(dt: float = 0.01, t_end: float = 600.0) -> xr.Dataset:
    """Where a quiet Langevin chain (k = 0.1, y = 1, μ→ = 0.011, μ← = 0.016, γ = 2) rests, and where with f(0) = 0.

    Over block: ``closed_form``, ``static`` (the simulator), ``direct`` (Euler steps of Eqs. 12, 13 with sign(0) = 0).
    """
    friction_right, damping = 0.011, 2.0
    chain = Chain(friction_right=friction_right, friction_left=0.016, stiffness=0.1, damping=damping, noise=0.0)
    static = simulate(chain, t_end, dt=dt, order="langevin").position.isel(run=0, drop=True)
    x, v = np.zeros(chain.n_blocks + 2), np.zeros(chain.n_blocks)
    x[-1] = 1.0
    for _ in range(round(t_end / dt)):
        resist = np.where(v > 0, friction_right, np.where(v < 0, -0.016, 0.0))
        v = v + dt * (0.1 * (x[2:] - 2 * x[1:-1] + x[:-2]) - resist - damping * v)
        x[1:-1] += dt * v
    return xr.Dataset({"closed_form": equilibrium(chain).position, "static": static, "direct": ("block", x)})
