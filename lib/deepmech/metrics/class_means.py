"""Mean logits of every class over the trials of a training log (paper B, §4.1)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import checks
from deepmech.metrics.moments import class_labels, real_numbers


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
    pool = _odd_pool("class_means", pool)
    sums, counts = _sums(x, y, k, np.ones((1, len(x))), pool)
    missing = np.argwhere(counts[0] == 0)
    if len(missing):
        t, c = missing[0].tolist()
        raise ValueError(
            f"class_means: no trial drew class {c} within {pool} iteration(s) around {t}; pool more iterations than "
            f"{pool}, or record more than {len(x)} trials"
        )
    t = np.arange(x.shape[1]) if times is None else np.asarray(times)
    return _means_array(sums[0] / counts[0][..., None], t)


def _odd_pool(owner: str, pool: Any) -> int:
    allowed = "an odd number of iterations (an int), at least 1"
    if checks.whole(f"{owner}: pool", pool, allowed=allowed) % 2 == 0:
        checks.refuse(f"{owner}: pool", pool, allowed)
    return int(pool)


def _checked(logits: Any, classes: Any, n_classes: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    x, y = real_numbers("logits", logits), np.asarray(classes)
    if x.ndim != 3 or y.shape != x.shape[:2] or y.size == 0:
        raise ValueError(
            f"logits {x.shape} and classes {y.shape}: expected (trial, iteration, logit) and (trial, iteration), "
            "at least one of each"
        )
    if y.dtype.kind not in "iu":
        raise ValueError(f"classes have dtype {y.dtype}: must be integers 0 … K − 1")
    k = int(y.max()) + 1 if n_classes is None else checks.whole("n_classes", n_classes)
    if y.min() < 0 or y.max() >= k:
        raise ValueError(f"classes reach from {y.min()} to {y.max()}: must lie in 0 … {k - 1}")
    drawn = np.unique(y)
    if drawn.size < k:
        first = np.setdiff1d(np.arange(min(k, drawn.size + checks.FEW)), drawn)
        raise ValueError(
            f"no trial drew class {checks.listed(first, k - drawn.size)} of {k}: number the classes that occur from 0, "
            "or record more trials"
        )
    return x, y, k


def _sums(x: np.ndarray, y: np.ndarray, k: int, weights: np.ndarray, pool: int) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums (weight set, iteration, class, logit) and counts (weight set, iteration, class), pooled in time."""
    n, t, p = x.shape
    sums, counts = np.empty((len(weights), t, k, p)), np.empty((len(weights), t, k))
    for c in range(k):
        hit = y == c
        counts[:, :, c] = weights @ hit.astype(float)

        sums[:, :, c] = (weights @ np.where(hit[..., None], x, 0).astype(float).reshape(n, -1)).reshape(-1, t, p)
    return (_pooled(sums, pool), _pooled(counts, pool)) if pool > 1 else (sums, counts)


def _pooled(a: np.ndarray, pool: int) -> np.ndarray:
    """Sums over ``pool`` neighbours along axis 1, cut off at the ends."""
    total = np.concatenate([np.zeros_like(a[:, :1]), np.cumsum(a, axis=1)], axis=1)
    i = np.arange(a.shape[1])
    return total[:, np.minimum(i + pool // 2 + 1, a.shape[1])] - total[:, np.maximum(i - pool // 2, 0)]


def _means_array(values: np.ndarray, times: np.ndarray, lead: str | None = None) -> xr.DataArray:
    if times.shape != (values.shape[-3],):
        raise ValueError(f"times have shape {times.shape}: expected one per iteration, {(values.shape[-3],)}")
    coords: dict[Hashable, Any] = {"time": times, "class": np.arange(values.shape[-2])}
    if lead is not None:
        coords[lead] = np.arange(len(values))
    dims = ((lead,) if lead is not None else ()) + ("time", "class", "logit")
    return xr.DataArray(values, dims=dims, coords={**coords, "logit": np.arange(values.shape[-1])}, name="mean")


class LogitLog:
    """What a training loop has to write down for :func:`class_means`: at every step the class drawn and the logits.

    Call :meth:`record` with the logits that the network gives for the sample (or batch) it is about to train on.
    Samples of a batch become trials of their own, so that a batch needs no special care afterwards.

    Parameters
    ----------
    n_classes : int
        K, also the number of logits.

    Examples
    --------
    >>> log = LogitLog(2)
    >>> for step in range(4):
    ...     log.record(np.array([[1.0 + step, 0.0], [0.0, 2.0]]), [0, 1])
    >>> log.means().sel({"class": 0, "logit": 0}).values.tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = checks.whole("LogitLog: n_classes", n_classes)
        self._logits: list[np.ndarray] = []
        self._classes: list[np.ndarray] = []

    def record(self, logits: Any, labels: Any) -> None:
        """One step: ``logits`` (K,) or (batch, K), tensor or array, and the classes, () or (batch,), as many each
        step."""
        x = checks.array("LogitLog.record: logits", logits.detach().cpu() if hasattr(logits, "detach") else logits)
        if x.ndim not in (1, 2) or x.shape[-1] != self.n_classes:
            raise ValueError(
                f"LogitLog.record: logits {x.shape}: expected ({self.n_classes},) or (batch, {self.n_classes})"
            )
        x, y = x.reshape(-1, self.n_classes), class_labels(labels).reshape(-1)
        if y.size and not 0 <= y.min() <= y.max() < self.n_classes:
            raise ValueError(
                f"LogitLog.record: labels reach from {y.min()} to {y.max()}: must lie in 0 … {self.n_classes - 1}"
            )
        before = self._logits[-1].shape if self._logits else x.shape
        if len(x) != len(y) or x.shape != before:
            raise ValueError(
                f"LogitLog.record: logits {x.shape}, labels {y.shape}, step before {before}: must all agree"
            )
        # a copy, since loops may reuse their buffers
        self._logits.append(x.copy())
        self._classes.append(y.astype(np.int64))

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Logits (trial, iteration, logit) and classes (trial, iteration), trials being the places in the batch."""
        if not self._logits:
            raise ValueError("LogitLog: nothing recorded yet; call record(logits, labels) in the training loop")
        return np.stack(self._logits, axis=1), np.stack(self._classes, axis=1)

    def means(self, pool: int = 1) -> xr.DataArray:
        """:func:`class_means` of what has been recorded."""
        return class_means(*self.arrays(), self.n_classes, pool)
