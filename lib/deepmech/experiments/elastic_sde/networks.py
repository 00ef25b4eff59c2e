"""LeNets trained one sample at a time, and the class means of their logits: the data of every experimental figure.

:func:`trials` describes a grid of configurations as a sweep; :func:`train_cells` trains all trials of a configuration
and keeps what the figures need of the log: class means, spreads and counts in blocks of iterations, the same for
groups of trials (for intervals), a thin sample of single logits, validation loss and accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.spec import digest
from deepmech.data import Data, load
from deepmech.sweeps import Sweep
from deepmech.trainers.lenet import SingleSample, train_lenet

GROUP = 10
"""Trials trained together, and averaged together for intervals."""
BITS = 12
"""Leading bits of the mantissa that are kept: 2⁻¹³ of a number, far less than its standard error."""


@dataclass(frozen=True)
class Setting:
    """What the authors' scripts use on one data set."""

    learning_rate: float
    iterations: int
    per_class: int
    validation: int


SETTINGS = {
    "geomnist": Setting(learning_rate=0.005, iterations=10_000, per_class=500, validation=500),
    "cifar10": Setting(learning_rate=0.001, iterations=30_000, per_class=5000, validation=1000),
}
SETTINGS["cifar10-jpeg"] = SETTINGS["cifar10"]

LABEL_ERRORS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.8)
"""p_err of Figs. 4, D.2, D.5 and D.6."""
SAMPLE_SIZES = (80, 480, 600, 4800)
"""Training samples per class of Fig. D.3."""

#: Rounding differs between machines and training amplifies it: after thousands of steps two trials are different
#: trials, and means over them differ by their standard error.
TOLERANCE = 0.5


@lru_cache(maxsize=8)
def images(dataset: str, n_classes: int, per_class: int, validation: int) -> Data:
    """The first ``n_classes`` classes of a data set with that many training and validation samples of each.

    Pixels of GEOMNIST stay in [0, 1]; those of CIFAR-10 are moved to [-1, 1], as is usual for this network.

    Examples
    --------
    >>> images("geomnist", 2, 10, 5).x_train.shape
    (20, 1024)
    """
    if dataset not in SETTINGS:
        raise ValueError(f"images: dataset = {dataset!r}: must be one of {', '.join(SETTINGS)}")
    made = dataset == "geomnist"
    sizes = {"n_train": 3 * per_class, "n_test": 3 * validation} if made else {}
    whole = load(dataset, **sizes)
    if not 2 <= n_classes <= whole.n_classes:
        raise ValueError(f"images: n_classes = {n_classes!r}: {dataset} has 2 to {whole.n_classes}")
    found = {}
    for split, n in (("train", per_class), ("test", validation)):
        labels = getattr(whole, f"y_{split}")
        own = [np.flatnonzero(labels == k) for k in range(n_classes)]
        short = min(len(o) for o in own)
        if not 1 <= n <= short:
            raise ValueError(f"images: {n} samples per class to {split}: {dataset} has 1 to {short}")
        chosen = np.sort(np.concatenate([o[:n] for o in own]))
        x = getattr(whole, f"x_{split}")[chosen]
        found[f"x_{split}"], found[f"y_{split}"] = x if made else 2 * x - 1, labels[chosen]
    mark = digest({"of": whole.fingerprint, "classes": n_classes, "per_class": per_class, "validation": validation})
    return replace(whole, **found, n_classes=n_classes, fingerprint=mark)


def trials(
    name: str,
    dataset: str = "geomnist",
    *,
    n_classes: int = 3,
    n_trials: int = 100,
    label_error: Sequence[float] | float = 0.0,
    per_class: Sequence[int] | int | None = None,
    first_seed: Sequence[int] | int = 0,
    iterations: int | None = None,
    thin: int = 20,
    coarse: int = 200,
    n_checks: int = 11,
    moments: int = 0,
    class_weights: Sequence[float] | None = None,
    dtype: str = "float32",
) -> Sweep:
    """A grid of configurations, each trained in ``n_trials`` independent trials, as a sweep.

    Parameters
    ----------
    name : of the sweep: letters, digits and dashes.
    dataset : ``"geomnist"``, ``"cifar10"`` or ``"cifar10-jpeg"``; step size, iterations and samples per class follow
        the authors' scripts (:data:`SETTINGS`) unless given.
    n_trials : a multiple of :data:`GROUP`, or less than it.
    label_error, per_class, first_seed : one value, or several to vary over. Seeds of trials are ``first_seed`` and up:
        another one gives other trials.
    iterations : steps of a trial.
    thin, coarse : iterations averaged into one for class means, and for spreads and groups of trials; both divide
        ``iterations``.
    n_checks : how often validation loss and accuracy are measured, from before the first step to after the last.
    moments : iterations, evenly spread, at which every trial's own logits are kept; 0 for none.
    class_weights, dtype : as in :class:`deepmech.trainers.SingleSample`.

    Returns
    -------
    Sweep
        For :func:`deepmech.sweeps.run` or :func:`~deepmech.sweeps.obtain`; see :func:`train_cells` for its variables.

    Examples
    --------
    >>> trials("doc", label_error=[0.0, 0.5], n_trials=5, iterations=400).grid.shape
    (2,)
    """
    if dataset not in SETTINGS:
        raise ValueError(f"trials: dataset = {dataset!r}: must be one of {', '.join(SETTINGS)}")
    usual = SETTINGS[dataset]
    iterations = usual.iterations if iterations is None else iterations
    if n_trials < 1 or (n_trials > GROUP and n_trials % GROUP):
        raise ValueError(f"trials: n_trials = {n_trials!r}: must be a multiple of {GROUP}, or at most {GROUP}")
    for field, width in (("thin", thin), ("coarse", coarse)):
        if width < 1 or iterations % width:
            raise ValueError(f"trials: {field} = {width!r}: must divide the {iterations} iterations")
    cells: dict[str, xr.DataArray] = {}
    fixed: dict[str, Any] = {
        "dataset": dataset, "n_classes": n_classes, "n_trials": n_trials, "iterations": iterations, "thin": thin,
        "coarse": coarse, "n_checks": n_checks, "moments": moments, "dtype": dtype, "validation": usual.validation,
        "class_weights": None if class_weights is None else list(class_weights),
    }  # fmt: skip
    sizes = usual.per_class if per_class is None else per_class
    for field, value in (("label_error", label_error), ("per_class", sizes), ("first_seed", first_seed)):
        cells[field] = over(field, np.atleast_1d(np.asarray(value)))
    many = {k: v for k, v in cells.items() if v.size > 1} or {"first_seed": cells["first_seed"]}
    fixed |= {k: v.values[0].item() for k, v in cells.items() if k not in many}
    kinds = np.atleast_1d(np.asarray(sizes)).tolist()
    prints = [images(dataset, n_classes, int(n), usual.validation).fingerprint for n in kinds]
    return Sweep(
        name=name,
        compute="deepmech.experiments.elastic_sde.networks:train_cells",
        cells=many,
        fixed=fixed,
        data=prints[0] if len(prints) == 1 else digest(prints),
        tolerance=TOLERANCE,
    )


def as_published(which: str) -> Sweep:
    """One of the configurations that the figures of paper B show, at the authors' scale: 100 trials unless said.

    Parameters
    ----------
    which : ``"geomnist"``: without wrong labels, 3,000 samples per class (Figs. 1, 3, 5, D.1, D.7 … D.10);
        ``"corruption"``: p_err from 0 to 0.8 (Figs. 4, D.2, D.5, D.6); ``"sizes"``: samples per class, each with two
        sets of 50 trials (Fig. D.3); ``"cifar"``, ``"cifar-2"``: three and two classes of CIFAR-10 (Figs. 1, 3, 5, D.4,
        D.8, D.9); ``"cifar-sizes"`` (Fig. D.3); ``"geomnist-long"``,
        ``"cifar-long"``: ten times as many iterations, as the text says; ``"corruption-long"``: so many for 30 trials
        of two shares of wrong labels.

    Examples
    --------
    >>> as_published("corruption").grid.shape
    (10,)
    """
    jpeg: dict[str, Any] = {"dataset": "cifar10-jpeg", "thin": 10, "coarse": 300}
    options: dict[str, dict[str, Any]] = {
        "geomnist": {"per_class": 3000, "thin": 1, "moments": 101},
        "corruption": {"label_error": LABEL_ERRORS},
        "sizes": {"per_class": SAMPLE_SIZES, "first_seed": (0, 1000), "n_trials": 50, "n_checks": 1},
        "cifar": jpeg | {"moments": 101},
        "cifar-2": jpeg | {"n_classes": 2},
        "cifar-sizes": jpeg | {"per_class": SAMPLE_SIZES, "thin": 60, "coarse": 600},
        "geomnist-long": {"per_class": 3000, "iterations": 100_000, "thin": 100, "coarse": 1000},
        "cifar-long": jpeg | {"iterations": 300_000, "thin": 300, "coarse": 3000},
        "corruption-long": {
            "label_error": (0.6, 2 / 3),
            "n_trials": 30,
            "iterations": 100_000,
            "thin": 200,
            "coarse": 2000,
        },
    }
    if which not in options:
        raise ValueError(f"as_published: which = {which!r}: must be one of {', '.join(options)}")
    return trials(f"elastic-{which}", **options[which])


def train_cells(cells: list[dict[str, Any]], **fixed: Any) -> xr.Dataset:
    """Train all trials of each configuration; a cell's keys and ``fixed`` are parameters of :func:`trials`.

    Returns
    -------
    Dataset
        Over ``cell`` and

        - ``mean`` (time, class, logit): mean logits of the samples drawn with a label, over trials and blocks of
          ``thin`` iterations, NaN where nobody drew it; ``mean_true``: by the samples' true class;
        - ``count`` (time, class): how many samples that is, by label;
        - ``spread`` (slow_time, class, logit): standard deviation of single logits in blocks of ``coarse`` iterations;
        - ``group_mean`` (group, slow_time, class, logit): as ``mean``, of :data:`GROUP` trials each;
        - ``loss`` (time): mean training loss;
        - ``validation_loss``, ``validation_accuracy`` (trial, at_iteration);
        - with ``moments``: ``logits`` (trial, moment, logit), ``label`` (trial, moment) of single samples.

        ``time`` is the middle of a block, in iterations. Numbers are rounded to :data:`BITS` bits, so that they pack.
    """
    made = [_configuration(**{**fixed, **cell}) for cell in cells]
    return xr.concat(made, "cell").assign_attrs(device="cpu", dtype=fixed["dtype"])


def _configuration(
    *, dataset: str, n_classes: int, n_trials: int, iterations: int, thin: int, coarse: int, n_checks: int,
    moments: int, dtype: str, validation: int, class_weights: Any, label_error: float, per_class: int, first_seed: int,
) -> xr.Dataset:  # fmt: skip
    data = images(dataset, n_classes, int(per_class), validation)
    weights = None if class_weights is None else tuple(class_weights)
    training = SingleSample(SETTINGS[dataset].learning_rate, iterations, float(label_error), weights, dtype)
    checks = np.unique(np.linspace(0, iterations, n_checks).round().astype(int))
    seeds = range(int(first_seed), int(first_seed) + n_trials)
    at = np.linspace(0, iterations - 1, moments).round().astype(int)
    groups = []
    for start in range(0, n_trials, GROUP):
        some = over("trial", list(seeds[start : start + GROUP]))
        log = train_lenet(training, data, seed=some, validate=checks.tolist(), experiment="elastic networks")
        groups.append(_summary(log, n_classes, thin, coarse, at))
    k = n_classes
    total = {name: sum(g[name] for g in groups) for name in ("fine", "true", "slow", "square", "loss")}
    mean, counts = _mean(total["fine"])
    slow, slow_counts = _mean(total["slow"])
    square = total["square"] / slow_counts[..., None]
    out = {
        "mean": (("time", "class", "logit"), mean),
        "mean_true": (("time", "class", "logit"), _mean(total["true"])[0]),
        "spread": (("slow_time", "class", "logit"), np.sqrt(np.maximum(square - slow**2, 0.0))),
        "group_mean": (("group", "slow_time", "class", "logit"), np.stack([_mean(g["slow"])[0] for g in groups])),
        "loss": ("time", total["loss"] / (n_trials * thin)),
        "validation_loss": (("trial", "at_iteration"), _joined(groups, "validation_loss", len(checks))),
        "validation_accuracy": (("trial", "at_iteration"), _joined(groups, "validation_accuracy", len(checks))),
    }
    if moments:
        out["logits"] = (("trial", "moment", "logit"), np.concatenate([g["logits"] for g in groups]))
    result = xr.Dataset({name: (dims, rounded(values)) for name, (dims, values) in out.items()})
    result["count"] = (("time", "class"), counts.astype(np.int32))
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
    """Sums over the trials of a log, in blocks of iterations: arrays (block, class, logits and a count)."""
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
        "square": sums(z**2, label, coarse),
        "loss": log["loss"].values.astype(float).sum(0).reshape(-1, thin).sum(1),
        "logits": log["logits"].values[:, at],
        "label": log["label"].values[:, at],
    }
    for name in ("validation_loss", "validation_accuracy"):
        found[name] = log[name].values if name in log else np.empty((len(z), 0))
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
