"""Training the cells of a sweep of LeNets, and what is kept of their logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.specs import over
from deepmech.sweeps import each, recomputed
from deepmech.trainers.lenet import SingleSample, train_lenet
from deepmech_book.sweeps.elastic_sde.data import SETTINGS, images

GROUP = 10
"""Trials trained together, and averaged together for intervals."""
BITS = 12
"""Leading bits of the mantissa that are kept: 2⁻¹³ of a number, far less than its standard error."""


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first group of trials for a twentieth of their iterations: what they have done by then is the same."""
    block = int(np.lcm(fixed["thin"], fixed["coarse"]))
    iterations = block * max(1, fixed["iterations"] // (20 * block))
    draws = fixed.get("draws")
    group = fixed["n_trials"] // draws if draws else min(GROUP, fixed["n_trials"])
    few = {"n_trials": group, "iterations": iterations, "n_checks": 1, "moments": 0} | ({"draws": 1} if draws else {})
    return fixed | few, ["group_mean", "group_mean_true", "validation_loss", "validation_accuracy"]


@recomputed(part=_begin)
def train_cells(cells: xr.Dataset, **fixed: Any) -> xr.Dataset:
    """Train all trials of each configuration; a cell's keys and ``fixed`` are parameters of :func:`trials`.

    Returns
    -------
    Dataset
        Over ``cell`` and

        - ``mean`` (time, class, logit): mean logits of the samples drawn with a label, over trials and blocks of
          ``thin`` iterations, NaN where nobody drew it; ``mean_true``: by the samples' true class;
        - ``count`` (time, class): how many samples that is, by label;
        - ``spread`` (slow_time, class, logit): standard deviation of single logits in blocks of ``coarse`` iterations;
        - ``group_mean``, ``group_mean_true`` (group, slow_time, class, logit): as ``mean`` and ``mean_true``, of
          :data:`GROUP` trials each, or of those that share a draw;
        - ``loss`` (time): mean training loss; ``accuracy`` (time): share of samples whose largest logit is their
          label's, both before the sample's own step;
        - ``validation_loss``, ``validation_accuracy`` (trial, at_iteration);
        - with ``moments``: ``logits`` (trial, moment, logit), ``label`` (trial, moment) of single samples.

        - ``left_out``: trials that diverged. They are in no sum and no mean; their own validation and logits are NaN
          from there on.

        ``time`` is the middle of a block, in iterations. Numbers are rounded to :data:`BITS` bits, so that they pack.
    """
    made = [_configuration(**{**fixed, **cell}) for cell in each(cells)]
    return xr.concat(made, "cell").assign_attrs(device="cpu", dtype=fixed["dtype"])


def unequal(n_classes: int, rare: int, ratio: float) -> list[float]:
    """Probabilities of classes of which one is drawn ``ratio`` times less often than every other.

    Examples
    --------
    >>> unequal(3, 0, 2.0)
    [0.2, 0.4, 0.4]
    """
    if not 0 <= rare < n_classes or not ratio > 0:
        raise ValueError(
            f"unequal: rare = {rare!r}, ratio = {ratio!r}: a class from 0 to {n_classes - 1}, a ratio above 0"
        )
    weights = [ratio] * n_classes
    weights[rare] = 1.0
    return [w / sum(weights) for w in weights]


def _configuration(
    *, dataset: str, n_classes: int, n_trials: int, iterations: int, thin: int, coarse: int, n_checks: int,
    moments: int, dtype: str, validation: int, class_weights: Any, label_error: float, per_class: int, first_seed: int,
    learning_rate: float | None = None, rare: int = 0, ratio: float | None = None, draws: int | None = None,
    replacement: bool = False,
) -> xr.Dataset:  # fmt: skip
    if ratio is not None:
        class_weights = unequal(n_classes, int(rare), ratio)
    weights = None if class_weights is None else tuple(class_weights)
    rate = SETTINGS[dataset].learning_rate if learning_rate is None else learning_rate
    training = SingleSample(rate, iterations, float(label_error), weights, dtype)
    checks = np.unique(np.linspace(0, iterations, n_checks).round().astype(int))
    seeds = range(int(first_seed), int(first_seed) + n_trials)
    at = np.linspace(0, iterations - 1, moments).round().astype(int)
    groups, size = [], n_trials // draws if draws else GROUP
    for draw, start in enumerate(range(0, n_trials, size)):
        data = images(dataset, n_classes, int(per_class), validation, draw if draws else 0, replacement)
        some = over("trial", list(seeds[start : start + size]))
        log = train_lenet(training, data, seed=some, record=checks.tolist(), experiment="elastic networks")
        groups.append(_summary(log, n_classes, thin, coarse, at))
    k = n_classes
    total = {name: sum(g[name] for g in groups) for name in ("fine", "true", "slow", "square", "loss", "right", "kept")}
    kept = total["kept"] or np.nan
    mean, counts = _mean(total["fine"])
    slow, slow_counts = _mean(total["slow"])
    square = _mean(np.concatenate([total["square"], slow_counts[..., None]], -1))[0]
    by_group = ("group", "slow_time", "class", "logit")
    out = {
        "mean": (("time", "class", "logit"), mean),
        "mean_true": (("time", "class", "logit"), _mean(total["true"])[0]),
        "spread": (("slow_time", "class", "logit"), np.sqrt(np.maximum(square - slow**2, 0.0))),
        "group_mean": (by_group, np.stack([_mean(g["slow"])[0] for g in groups])),
        "group_mean_true": (by_group, np.stack([_mean(g["slow_true"])[0] for g in groups])),
        "loss": ("time", total["loss"] / (kept * thin)),
        "accuracy": ("time", total["right"] / (kept * thin)),
        "validation_loss": (("trial", "at_iteration"), _joined(groups, "validation_loss", len(checks))),
        "validation_accuracy": (("trial", "at_iteration"), _joined(groups, "validation_accuracy", len(checks))),
    }
    if moments:
        out["logits"] = (("trial", "moment", "logit"), np.concatenate([g["logits"] for g in groups]))
    result = xr.Dataset({name: (dims, rounded(values)) for name, (dims, values) in out.items()})
    result["count"] = (("time", "class"), counts.astype(np.int32))
    result["left_out"] = np.int32(n_trials - total["kept"])
    if moments:
        result["label"] = (("trial", "moment"), np.concatenate([g["label"] for g in groups]))
        result = result.assign_coords(moment=at)
    return result.assign_coords(
        {
            "time": np.arange(iterations // thin) * float(thin) + (thin - 1) / 2,
            "slow_time": np.arange(iterations // coarse) * float(coarse) + (coarse - 1) / 2,
            "class": np.arange(k),
            "logit": np.arange(k),
            "trial": np.arange(n_trials),
            "at_iteration": checks,
        }
    )


def _summary(log: xr.Dataset, k: int, thin: int, coarse: int, at: np.ndarray) -> dict[str, Any]:
    """Sums over the trials of a log, in blocks of iterations: arrays (block, class, logits and a count).

    Trials that diverged are in none of them; ``kept`` counts the others.
    """
    every, log = log, log.isel(trial=np.flatnonzero(log["state"].values == "finished"))
    z = log["logits"].values.astype(float)
    step = np.broadcast_to(np.arange(z.shape[1]), z.shape[:2])
    ones = np.ones(z.shape[:2])[..., None]
    label, true = log["label"].values.astype(int), log["true_class"].values.astype(int)

    def sums(values: np.ndarray, classes: np.ndarray, width: int) -> np.ndarray:
        where = ((step // width) * k + classes).ravel()
        size = z.shape[1] // width * k
        parts = [np.bincount(where, values[..., j].ravel(), size) for j in range(values.shape[-1])]
        return np.stack(parts, -1).reshape(-1, k, values.shape[-1])

    both = np.concatenate([z, ones], -1)
    found = {
        "fine": sums(both, label, thin),
        "true": sums(both, true, thin),
        "slow": sums(both, label, coarse),
        "slow_true": sums(both, true, coarse),
        "square": sums(z**2, label, coarse),
        "loss": log["loss"].values.astype(float).sum(0).reshape(-1, thin).sum(1),
        "right": (z.argmax(-1) == label).sum(0).reshape(-1, thin).sum(1),
        "kept": len(z),
        "logits": every["logits"].values[:, at],
        "label": every["label"].values[:, at],
    }
    for name in ("validation_loss", "validation_accuracy"):
        found[name] = every[name].values if name in every else np.empty((every.sizes["trial"], 0))
    return found


def _mean(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(means, counts) from sums whose last entry is the count."""
    counts = sums[..., -1]
    empty = np.full(sums[..., :-1].shape, np.nan)
    return np.divide(sums[..., :-1], counts[..., None], out=empty, where=counts[..., None] > 0), counts


def _joined(groups: Sequence[Mapping[str, Any]], name: str, n: int) -> np.ndarray:
    return np.concatenate([g[name].reshape(-1, n) for g in groups])


def rounded(values: Any, bits: int = BITS) -> np.ndarray:
    """float32 with ``bits`` bits of mantissa: the rest is zero, and zeros take no room in a compressed file.

    Examples
    --------
    >>> float(rounded(np.pi, 3))
    3.25
    """
    plain = np.asarray(values, np.float32)
    words, drop = np.ascontiguousarray(plain).reshape(-1).view(np.uint32), np.uint32(23 - bits)
    kept = (words + (np.uint32(1) << (drop - np.uint32(1)))) >> drop << drop
    return np.where(np.isfinite(plain), kept.view(np.float32).reshape(plain.shape), plain)
