"""Mean logits of every class over the trials of a training log (paper B, §4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import checks
from deepmech.metrics.separation import class_labels, real_numbers, require_classes

__all__ = ["class_means"]


def class_means(
    logits: Any, classes: Any, n_classes: int | None = None, pool: int = 1, times: Any = None
) -> xr.DataArray:
    """Mean logits of every class at every iteration, over the trials that drew the class there.

    Parameters
    ----------
    logits
        Shape (trial, iteration, logit): what the network said about the sample it was about to train on.
    classes
        Integers 0 … K − 1, shape (trial, iteration): the class (or the label) of that sample.
    n_classes
        K; by default the largest class plus one.
    pool
        Iterations taken together around each one (odd; fewer at the ends). With few trials some class is drawn by no
        trial at some iteration, and 1 is not enough.
    times
        What stands for time, shape (iteration,); by default 0, 1, 2, …

    Returns
    -------
    DataArray
        Dimensions ``time``, ``class``, ``logit``; units of the logits. Accumulated in float64.

    Raises
    ------
    ValueError
        For shapes that do not fit, classes out of range, or a class that nobody drew (the iteration is named).

    Examples
    --------
    >>> logits = np.zeros((4, 2, 3)) + np.arange(4)[:, None, None]
    >>> class_means(logits, [[0, 1], [1, 0], [0, 0], [1, 1]]).values[:, :, 0].tolist()
    [[1.0, 2.0], [1.5, 1.5]]
    """
    x, y, k = _checked(logits, classes, n_classes)
    allowed = "an odd number of iterations (an int), at least 1"
    if checks.check_int("class_means: pool", pool, allowed=allowed) % 2 == 0:
        checks.raise_invalid("class_means: pool", pool, allowed)
    t = np.arange(x.shape[1]) if times is None else np.asarray(times)
    if t.shape != x.shape[1:2]:
        raise ValueError(f"times have shape {t.shape}: expected one per iteration, {x.shape[1:2]}")
    every = np.ones((1, len(x)))
    hits = [y == c for c in range(k)]
    counts = np.stack([every @ hit.astype(float) for hit in hits], -1)[0]
    each = [every @ np.where(hit[..., None], x, 0).astype(float).reshape(len(x), -1) for hit in hits]
    sums = np.stack([one.reshape(x.shape[1:]) for one in each], 1)
    if pool > 1:
        sums, counts = _pooled(sums, pool), _pooled(counts, pool)
    missing = np.argwhere(counts == 0)
    if len(missing):
        at, c = missing[0].tolist()
        raise ValueError(
            f"class_means: no trial drew class {c} within {pool} iteration(s) around {at}; pool more iterations than "
            f"{pool}, or record more than {len(x)} trials"
        )
    coords = {"time": t, "class": np.arange(k), "logit": np.arange(x.shape[-1])}
    return xr.DataArray(sums / counts[..., None], coords, ("time", "class", "logit"), "mean")


def _checked(logits: Any, classes: Any, n_classes: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    x, y = real_numbers("logits", logits), class_labels(classes)
    if x.ndim != 3 or y.shape != x.shape[:2] or y.size == 0:
        raise ValueError(
            f"logits {x.shape} and classes {y.shape}: expected (trial, iteration, logit) and (trial, iteration), "
            "at least one of each"
        )
    k = int(y.max()) + 1 if n_classes is None else checks.check_int("n_classes", n_classes)
    if not 0 <= y.min() <= y.max() < k:
        raise ValueError(f"classes reach from {y.min()} to {y.max()}: must lie in 0 … {k - 1}")
    require_classes(y, k)
    return x, y, k


def _pooled(a: np.ndarray, pool: int) -> np.ndarray:
    """Sums over ``pool`` neighbours along the first axis, cut off at the ends."""
    total = np.concatenate([np.zeros_like(a[:1]), np.cumsum(a, axis=0)])
    i = np.arange(len(a))
    return np.asarray(total[np.minimum(i + pool // 2 + 1, len(a))] - total[np.maximum(i - pool // 2, 0)])
