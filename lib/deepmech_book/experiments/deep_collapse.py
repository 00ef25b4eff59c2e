r"""Is deep collapse optimal? Models of the last layers of a network whose input features are free, and networks.

In a deep unconstrained feature model the features :math:`H_1` of :math:`n` samples of each of :math:`K` classes are
trained as freely as the :math:`L` weights behind them, all of them with weight decay λ:

.. math:: \ell(W_L\,\sigma(W_{L-1}\cdots\sigma(W_1 H_1))) + \frac\lambda2\Bigl(|H_1|^2 + \sum_l |W_l|^2\Bigr) .

Of two :data:`KINDS`, ``"relu"`` has σ = ReLU and half the mean squared distance to one-hot labels (Súkeník, Lampert
and Mondelli 2024), ``"linear"`` no σ and cross-entropy (Garrod and Keating 2025). In deep collapse the features of a
class are one point in each layer, and these points form a simplex. Others may have a lower :func:`least_loss`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import minimize_scalar

from deepmech.core.compiled import njit
from deepmech.core.random import Stream
from deepmech.core.specs import over
from deepmech.data import load
from deepmech.metrics.separability import etf_distance
from deepmech.sweeps import Sweep, each, recomputed
from deepmech.trainers import MLP, Training
from deepmech.trainers.engines.compiled.mlp import Fused
from deepmech.trainers.specs import Member
from deepmech_book.experiments.spring_block.networks import sweep

KINDS = ("relu", "linear")
MODELS: dict[str, Any] = {
    "classes": (3, 4, 6, 8, 10), "depth": (2, 3, 4, 5), "width": 30, "decay": 0.004, "seed": range(20),
}  # fmt: skip
"""Width and decay of Súkeník et al., Fig. 2."""
DESCENT = {"samples": 2, "rate": 0.5, "patience": 60.0}
"""Samples of a class; the learning rate of both papers; ``patience`` / decay are the steps."""
NETWORKS: dict[str, Any] = {"classes": (3, 6, 10), "depth": (3, 4, 6), "decay": (0.0, 0.01), "seed": range(10)}
"""Linear layers in all; a decay as strong as Garrod and Keating's (Figs. 4 and 8), or none."""
TRAINING = {"per_class": 50, "epochs": 300, "rate": 0.03, "batch": 25, "width": 64}
IMAGES = {"size": 10, "n_train": 2000, "n_test": 1}
SOLUTIONS = ("frame", "graph", "simplex", "pairs")
"""Collapse and a rival with ReLU: an orthogonal frame in every layer, of so many classes, and :func:`graph`, of so many
corners; and in linear models: a simplex, and classes in opposite pairs, half the rank (Garrod and Keating, Eq. 5)."""
DEEPEST, MOST, DIGITS = 6, 10, 6
"""Layers and classes to which arrays are padded with nan; decimals that are kept."""


def least_loss(solution: str, size: int, depth: int, decay: float = 0.004, samples: int = 2) -> float:
    r"""The loss of a solution at its best scale: one of :data:`SOLUTIONS`.

    At output size α the ``depth + 1`` factors cost at least :math:`\tfrac{L+1}2 λ n^{1/(L+1)} c\,α^{2/(L+1)}`, where c
    is the geometric mean of their squared norms at α = 1: that is so where all are equally large.

    Examples
    --------
    >>> [least_loss("graph", r, 4) < least_loss("frame", r * (r - 1) // 2, 4) for r in (3, 4, 5)]
    [False, True, True]
    >>> [least_loss("pairs", k, 2) < least_loss("simplex", k, 2) for k in (4, 6)]
    [False, True]
    """
    if solution not in SOLUTIONS or (solution == "pairs" and size % 2):
        raise ValueError(
            f"least_loss: {solution!r} of size {size}: must be one of {SOLUTIONS}; pairs of an even number"
        )
    root, cost = 1 / (depth + 1), float(size)
    if solution == "graph":
        cost = float(np.exp(np.mean([np.log((factor**2).sum()) for factor in graph(size, depth)])))
    elif solution != "frame":
        cost = size - 1 if solution == "simplex" else size / 2 * 4**root

    def loss(log: float) -> float:
        a = np.exp(log)
        others = (size - 1) * np.exp(-a) if solution == "simplex" else np.exp(-2 * a) + (size - 2) * np.exp(-a)
        fit = (1 - a) ** 2 / 2 if solution in ("frame", "graph") else np.log1p(others)
        return float(fit + decay / (2 * root) * cost * samples**root * a ** (2 * root))

    at = np.linspace(-3, 4, 701)
    best = at[int(np.argmin([loss(log) for log in at]))]
    return float(min(minimize_scalar(loss, bounds=(best - 0.02, best + 0.02), method="bounded").fun, loss(-np.inf)))


def graph(corners: int, depth: int) -> list[np.ndarray]:
    r"""The solution of a strongly regular graph, its output one: H_1, W_1, …, W_L for one sample of each class.

    Classes are the pairs of r corners. Up to the last but one layer a class is the sum of its two corners, which takes
    r dimensions. There :math:`W_{L-1}` has ½ on the corners of a class and −½ elsewhere: pairs that share one corner
    get 0, pairs that share none −1, which the last ReLU takes away. So what is left is one dimension a class.
    """
    if corners < 3 or depth < 3:
        raise ValueError(f"graph: corners = {corners}, depth = {depth}: must both be at least 3")
    pairs = list(combinations(range(corners), 2))
    sums = np.array([[float(i in pair) for pair in pairs] for i in range(corners)])
    u, s, v = np.linalg.svd(sums, full_matrices=False)
    first = [np.sqrt(s)[:, None] * v, u * np.sqrt(s)]
    return [*first, *[np.eye(corners)] * (depth - 3), sums.T - 0.5, np.eye(len(pairs))]


def models(kind: str, **changed: Any) -> Sweep:
    """Runs of descent over classes, depth and seed; what is ``changed`` is one value or several.

    Examples
    --------
    >>> models("relu").grid.shape, models("linear", classes=10, depth=2, width=(10, 20)).grid.shape
    ((5, 4, 20), (2, 20))
    """
    if kind not in KINDS:
        raise ValueError(f"models: kind = {kind!r}: must be one of {', '.join(map(repr, KINDS))}")
    settings = MODELS | changed
    cells = {n: over(n, list(v)) for n, v in settings.items() if not np.isscalar(v)}
    fixed = {"kind": kind, **DESCENT} | {n: v for n, v in settings.items() if np.isscalar(v)}
    return Sweep(f"deep-collapse-{kind}", f"{__name__}:descend_cells", cells, fixed)


@recomputed(tolerance={"*": 1e-3})
def descend_cells(
    cells: xr.Dataset, *, kind: str, samples: int, rate: float, patience: float, **fixed: Any
) -> xr.Dataset:
    """Descend from features and weights that are normal with variance 1 / width; ``loss`` at the end, and geometry."""
    rows = []
    for cell in each(cells):
        s = fixed | cell
        k, depth, width, decay = int(s["classes"]), int(s["depth"]), int(s["width"]), float(s["decay"])
        stream = Stream.of("deep collapse", kind, int(s["seed"]))
        h = stream.normal("features", 0, (k * samples, width)) / np.sqrt(width)
        w = np.stack([stream.normal("weights", layer, (width, width)) for layer in range(depth)]) / np.sqrt(width)
        w[-1, :, k:] = 0
        y = np.repeat(np.arange(k), samples)
        loss = descend(h, w, y, k, kind == "relu", rate, decay, round(patience / decay))
        features, x = [], h
        for layer in w[:-1]:
            x = np.maximum(x @ layer, 0) if kind == "relu" else x @ layer
            features.append(x)
        rows.append({"loss": loss} | geometry(features, y, w[-1, :, :k].T))
    return rounded(rows)


def networks(dataset: str = "mnist", **changed: Any) -> Sweep:
    """Networks on the first few classes of a data set, over classes, depth, decay and seed."""
    recipe = {"name": dataset, **IMAGES}
    return sweep("deep-collapse", f"{__name__}:train_cells", NETWORKS | changed, recipe, **TRAINING)


@recomputed(tolerance={"*": 1e-3})
def train_cells(
    cells: xr.Dataset, data: dict[str, Any], per_class: int, epochs: int, rate: float, batch: int, width: int
) -> xr.Dataset:
    """Train one plain ReLU network per cell, with cross-entropy; ``accuracy`` on the training images, and geometry."""
    images, rows = load(**data), []
    for cell in each(cells):
        k, y = int(cell["classes"]), images.y_train
        mine = np.concatenate([np.flatnonzero(y == c)[:per_class] for c in range(k)])
        few = replace(images, x_train=images.x_train[mine], y_train=y[mine], n_classes=k)
        network = MLP(depth=int(cell["depth"]), width=width, batch_norm=False, scale=1.0, init="orthogonal")
        training = Training(
            optimizer="sgd", learning_rate=rate, momentum=0.9, batch_size=batch, epochs=epochs,
            weight_decay=float(cell["decay"]), stop_loss=0.0, stop_change=0.0,
        )  # fmt: skip
        engine = Fused(Member(network, training, int(cell["seed"]), "deep collapse"), Fused.prepare(few, "float32"))
        for epoch in range(1, epochs + 1):
            engine.run_epoch(epoch)
        (_, *features), z = engine.features(few.x_train)
        last = engine.part(engine.net, engine.net.p, "weight", int(cell["depth"]))
        found = geometry([x.astype(float) for x in features], few.y_train, last.astype(float))
        rows.append({"accuracy": float((z.argmax(1) == few.y_train).mean())} | found)
    return rounded(rows)


def geometry(features: list[np.ndarray], y: np.ndarray, last: np.ndarray) -> dict[str, Any]:
    """How far features of hidden layers, each (sample, unit), are from deep collapse; ``last`` are the last weights.

    - ``within`` (layer): the share of the features' spread that is within classes, 0 in collapse (1 without any);
    - ``simplex`` (layer): distance of the centred class means from a simplex, :func:`.etf_distance`;
    - ``spectrum`` (layer, number): singular values of the centred class means, over the largest;
    - ``dual``: cosine of the last weights, centred over classes, with the centred class means of the last layer.
    """
    k, rows = int(y.max()) + 1, last - last.mean(0)
    within, simplex = np.full((2, DEEPEST - 1), np.nan)
    spectrum, dual = np.full((DEEPEST - 1, MOST), np.nan), np.nan
    for i, x in enumerate(features):
        means = np.stack([x[y == c].mean(0) for c in range(k)])
        centred, spread = means - means.mean(0), float(((x - x.mean(0)) ** 2).sum())
        within[i] = 1.0
        if 0 < spread < np.inf:
            within[i] = ((x - means[y]) ** 2).sum() / spread
            simplex[i] = etf_distance(means, centred=True)
            values = np.linalg.svd(centred, compute_uv=False)[:k]
            spectrum[i, : len(values)] = values / values[0]
            dual = float((rows * centred).sum() / (np.linalg.norm(rows) * np.linalg.norm(centred)))
    return {"within": within, "simplex": simplex, "spectrum": spectrum, "dual": dual}


def collapsed(found: xr.Dataset) -> xr.DataArray:
    """Whether runs have collapsed in all their hidden layers, by the rule frozen in ``book/laws``, 1 or 0."""
    met = (found.within <= 0.01) & (found.simplex <= 0.1)
    return (met.where(found.within.notnull(), True).all("layer") & (found.dual >= 0.99)).astype(float)


def rounded(rows: list[dict[str, Any]]) -> xr.Dataset:
    """What was found of each cell as a dataset."""
    dims: Mapping[str, tuple[str, ...]] = {"within": ("layer",), "simplex": ("layer",), "spectrum": ("layer", "number")}
    out = {n: (("cell", *dims.get(n, ())), np.round([row[n] for row in rows], DIGITS)) for n in rows[0]}
    coords = {"layer": np.arange(1, DEEPEST), "number": np.arange(1, MOST + 1)}
    return xr.Dataset(out, coords, {"device": "cpu", "dtype": "float64"})


@njit(cache=True, error_model="numpy")
def descend(
    h: np.ndarray, w: np.ndarray, y: np.ndarray, k: int, relu: bool, rate: float, decay: float, steps: int
) -> float:  # pragma: no cover
    """Gradient descent on features h (sample, unit) and weights w (layer, in, out), in place; the loss before the
    last step. Sums run in a fixed order, so that bits are equal on all processors (cross-entropy: up to ``exp``)."""
    n, width, depth = h.shape[0], h.shape[1], w.shape[0]
    x = np.zeros((depth + 1, n, width))
    delta, back, g = np.zeros((n, width)), np.zeros((n, width)), np.zeros((width, width))
    loss = 0.0
    for _ in range(steps):
        x[0] = h
        for layer in range(depth):
            _multiply(x[layer + 1], x[layer], w[layer])
            if relu and layer + 1 < depth:
                x[layer + 1] = np.maximum(x[layer + 1], 0.0)
        loss = _slope(delta, x[depth], y, k, relu)
        for layer in range(depth - 1, -1, -1):
            _multiply(g, np.ascontiguousarray(x[layer].T), delta)
            _multiply(back, delta, np.ascontiguousarray(w[layer].T))
            if relu and layer > 0:
                back *= x[layer] > 0
            loss += decay / 2 * (w[layer] ** 2).sum()
            w[layer] -= rate * (g + decay * w[layer])
            delta[:] = back
        loss += decay / 2 * (h**2).sum()
        h -= rate * (delta + decay * h)
    return loss


@njit(cache=True, error_model="numpy")
def _multiply(out: np.ndarray, x: np.ndarray, w: np.ndarray) -> None:  # pragma: no cover
    out[:] = 0
    for j in range(x.shape[0]):
        for i in range(x.shape[1]):
            a = x[j, i]
            if a != 0:
                for o in range(w.shape[1]):
                    out[j, o] += a * w[i, o]


@njit(cache=True, error_model="numpy")
def _slope(delta: np.ndarray, z: np.ndarray, y: np.ndarray, k: int, square: bool) -> float:  # pragma: no cover
    """Mean loss of outputs z (their first k columns), and its derivatives in ``delta``."""
    n, loss = len(y), 0.0
    delta[:] = 0
    for j in range(n):
        top = z[j, :k].max()
        total = np.exp(z[j, :k] - top).sum()
        for c in range(k):
            true = 1.0 if c == y[j] else 0.0
            if square:
                delta[j, c] = (z[j, c] - true) / n
                loss += (z[j, c] - true) ** 2 / (2 * n)
            else:
                delta[j, c] = (np.exp(z[j, c] - top) / total - true) / n
                loss += true * (np.log(total) - z[j, c] + top) / n
    return loss
