"""LeNets trained one sample at a time, and the class means of their logits: the data of every experimental figure.

:func:`trials` describes a grid of configurations as a sweep; :func:`train_cells` trains all trials of a configuration
and keeps what the figures need of the log: class means, spreads and counts in blocks of iterations, the same for
groups of trials (for intervals), a thin sample of single logits, validation loss and accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.specs import digest
from deepmech.sweeps import Sweep, to_records
from deepmech.trainers import SingleSample, train_lenet
from deepmech_book.sweeps.elastic_sde.data import SETTINGS, fingerprint, images
from deepmech_book.sweeps.policy import verification_policy

LABEL_ERRORS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.8)
"""p_err of Figs. 4, D.2, D.5 and D.6."""
SAMPLE_SIZES = (80, 480, 600, 4800)
"""Training samples per class of Fig. D.3."""
VALIDATION_SIZES = (20, 120, 400, 1200)
"""Validation samples per class that the text gives for them (App. D)."""
RARE = ((0, 1.0), *((k, ratio) for ratio in (2.0, 4.0, 8.0) for k in range(3)))
"""Balanced classes, then each class drawn less often than the others (App. E)."""


def trials(
    name: str,
    dataset: str = "geomnist",
    *,
    n_classes: int = 3,
    n_trials: int = 100,
    label_error: Sequence[float] | float = 0.0,
    per_class: Sequence[int] | int | None = None,
    validation: Sequence[int] | None = None,  # samples per class for each of ``per_class``
    first_seed: Sequence[int] | int = 0,  # seeds of trials from it on
    iterations: int | None = None,
    thin: int = 20,  # iterations averaged into one for class means
    coarse: int = 200,  # likewise for spreads and groups of trials
    n_checks: int = 11,  # how often validation is measured, from before the first step to after the last
    moments: int = 0,  # iterations, evenly spread, at which every trial's own logits are kept
    rare: Sequence[tuple[int, float]] | None = None,  # (class, ratio): it is drawn so many times less often
    learning_rate: Sequence[float] | float | None = None,
    draws: int | None = None,
    replacement: bool = False,
) -> Sweep:
    """A grid of configurations, each trained in ``n_trials`` independent trials, as a sweep; a sequence varies.

    Step size, iterations and samples per class follow the authors' scripts unless given. Into so many ``draws`` trials
    are dealt, each with images and wrong labels of its own, so that intervals over groups cover both; without it all
    trials share one set, in groups of :data:`GROUP`.
    """
    if dataset not in SETTINGS:
        raise ValueError(f"trials: dataset = {dataset!r}: must be one of {', '.join(SETTINGS)}")
    usual = SETTINGS[dataset]
    iterations = usual.iterations if iterations is None else iterations
    if draws is not None and (draws < 1 or n_trials % draws):
        raise ValueError(f"trials: draws = {draws!r}: must divide the {n_trials} trials")
    if draws is None and (n_trials < 1 or (n_trials > GROUP and n_trials % GROUP)):
        raise ValueError(f"trials: n_trials = {n_trials!r}: must be a multiple of {GROUP}, or at most {GROUP}")
    for field, width in (("thin", thin), ("coarse", coarse)):
        if width < 1 or iterations % width:
            raise ValueError(f"trials: {field} = {width!r}: must divide the {iterations} iterations")
    cells: dict[str, xr.DataArray] = {}
    fixed: dict[str, Any] = {
        "dataset": dataset, "n_classes": n_classes, "n_trials": n_trials, "iterations": iterations, "thin": thin,
        "coarse": coarse, "n_checks": n_checks, "moments": moments, "dtype": "float32", "validation": usual.validation,
        "class_weights": None,
    }  # fmt: skip
    sizes = usual.per_class if per_class is None else per_class
    for field, value in (("label_error", label_error), ("per_class", sizes), ("first_seed", first_seed)):
        cells[field] = over(field, np.atleast_1d(np.asarray(value)))
    # What was added later enters the sweep only where it is used: keys of stored results stay what they were.
    if learning_rate is not None:
        cells["learning_rate"] = over("learning_rate", np.atleast_1d(np.asarray(learning_rate, float)))
    if draws is not None:
        fixed["draws"] = draws
    if replacement:
        fixed["replacement"] = True
    many = {k: v for k, v in cells.items() if v.size > 1}
    if validation is not None and "per_class" not in many:
        fixed["validation"] = int(validation[0])
    elif validation is not None:
        del fixed["validation"]
        many["validation"] = many["per_class"].copy(data=np.asarray(validation))
    if rare is not None:
        case = over("case", [f"{k}, 1:{ratio:g}" for k, ratio in rare])
        many["rare"], many["ratio"] = (case.copy(data=[pair[i] for pair in rare]) for i in (0, 1))
    many = many or {"first_seed": cells["first_seed"]}
    fixed |= {k: v.values[0].item() for k, v in cells.items() if k not in many}
    kinds = np.atleast_1d(np.asarray(sizes)).tolist()
    held = [usual.validation] * len(kinds) if validation is None else validation
    both = zip(kinds, held, strict=True)
    prints = [fingerprint(dataset, n_classes, int(n), int(v), replacement=replacement) for n, v in both]
    return Sweep(
        name=name,
        compute="elastic_sde.networks",
        cells=many,
        fixed=fixed,
        data=prints[0] if len(prints) == 1 else digest(prints),
    )


def as_published(which: str, **changed: Any) -> Sweep:
    """One of the configurations that the figures of paper B show, at the authors' scale: 100 trials unless said.

    What is ``changed`` are arguments of :func:`trials`; the result ships if nothing is.
    """
    jpeg: dict[str, Any] = {"dataset": "cifar10-jpeg", "thin": 10, "coarse": 300}
    text: dict[str, Any] = {"iterations": 300_000, "thin": 3000, "coarse": 3000, "n_trials": 1, "n_checks": 11}
    text |= {"learning_rate": 0.005, "first_seed": range(6)}
    drawn: dict[str, Any] = {"per_class": 2000, "validation": (500,), "replacement": True, "draws": 10}
    wrong: dict[str, Any] = {"label_error": LABEL_ERRORS}
    sizes: dict[str, Any] = {"per_class": SAMPLE_SIZES, "first_seed": (0, 1000), "n_checks": 1}
    sets: dict[str, Any] = {"first_seed": range(2000, 2400, 50), "n_trials": 50, "n_checks": 1}
    long: dict[str, Any] = {"iterations": 100_000, "thin": 200, "coarse": 2000, "n_trials": 20}
    options: dict[str, dict[str, Any]] = {
        # Without wrong labels, 3,000 samples per class: Figs. 1, 3, 5, D.1, D.7 to D.10.
        "geomnist": {"per_class": 3000, "thin": 1, "moments": 101},
        # Ten trials on each of ten draws of images and labels: Figs. 4, D.2, D.5, D.6.
        "corruption": wrong | {"draws": 10},
        # Class means of each draw as fine as those of all: Fig. 4(c).
        "corruption-draws": {"label_error": (0.5, 2 / 3), "n_trials": 1000, "draws": 10, "coarse": 20, "n_checks": 2},
        # On the harder variant of GEOMNIST.
        "corruption-independent": wrong | {"dataset": "geomnist-independent", "n_trials": 50, "draws": 5},
        # 5,000 images of each class as in the text: Figs. 1, 3, 5, D.4, D.8, D.9.
        "cifar": jpeg | {"moments": 101},
        "cifar-2": jpeg | {"n_classes": 2},
        # 2,000 drawn with replacement, as in the authors' program.
        "cifar-program": jpeg | drawn,
        "cifar-program-2": jpeg | drawn | {"n_classes": 2},
        "cifar-sizes": jpeg | sizes | {"thin": 60, "coarse": 600, "n_trials": 50},
        # Eight sets of trials that share no seed, of each size (Fig. D.3), and four of photographs as in Fig. 3.
        "sets": sizes | sets | {"validation": VALIDATION_SIZES, "coarse": 1000},
        "cifar-sets": jpeg | sets | {"first_seed": range(2000, 2200, 50), "thin": 60, "coarse": 3000},
        # Ten times as many iterations, as the text says.
        "geomnist-long": long | {"per_class": 3000},
        "corruption-long": long | wrong | {"n_trials": 30, "draws": 5},
        # App. E.
        "imbalance": {"rare": RARE, "n_checks": 3, "thin": 50, "n_trials": 40},
        # 300,000 iterations at a step of 0.005, as the text says.
        "cifar-text": jpeg | text,
        "cifar-text-2": jpeg | text | {"n_classes": 2},
    }
    if which not in options:
        raise ValueError(f"as_published: which = {which!r}: must be one of {', '.join(options)}")
    return trials(f"elastic-{which}", **options[which] | changed)


GROUP = 10
"""Trials trained together, and averaged together for intervals."""
BITS = 12
"""Leading bits of the mantissa that are kept: 2⁻¹³ of a number, far less than its standard error."""


def _first_group(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first group of trials for a twentieth of their iterations: what they have done by then is the same."""
    block = int(np.lcm(fixed["thin"], fixed["coarse"]))
    iterations = block * max(1, fixed["iterations"] // (20 * block))
    draws = fixed.get("draws")
    group = fixed["n_trials"] // draws if draws else min(GROUP, fixed["n_trials"])
    few = {"n_trials": group, "iterations": iterations, "n_checks": 1, "moments": 0} | ({"draws": 1} if draws else {})
    return fixed | few, ["group_mean", "group_mean_true", "validation_loss", "validation_accuracy"]


@verification_policy(part=_first_group)
def train_cells(cells: xr.Dataset, **fixed: Any) -> xr.Dataset:
    """Train all trials of each configuration; a cell's keys and ``fixed`` are parameters of :func:`trials`.

    - ``mean`` (time, class, logit): mean logits of the samples drawn with a label, over trials and blocks of ``thin``
      iterations, NaN where nobody drew it; ``mean_true``: by the samples' true class;
    - ``count`` (time, class): how many samples that is, by label;
    - ``spread`` (slow_time, class, logit): standard deviation of single logits in blocks of ``coarse`` iterations;
    - ``group_mean``, ``group_mean_true`` (group, slow_time, class, logit): as ``mean`` and ``mean_true``, of
      :data:`GROUP` trials each, or of those that share a draw;
    - ``loss`` (time): mean training loss; ``accuracy`` (time): share of samples whose largest logit is their label's,
      both before the sample's own step;
    - ``validation_loss``, ``validation_accuracy`` (trial, at_iteration);
    - with ``moments``: ``logits`` (trial, moment, logit), ``label`` (trial, moment) of single samples;
    - ``left_out``: trials that diverged. They are in no sum and no mean; their own validation and logits are NaN.

    ``time`` is the middle of a block, in iterations. Numbers are rounded to :data:`BITS` bits, so that they pack.
    """
    parts = [_configuration(**{**fixed, **cell}) for cell in to_records(cells)]
    return xr.concat(parts, "cell").assign_attrs(device="cpu", dtype=fixed["dtype"])


def unequal(n_classes: int, rare: int, ratio: float) -> list[float]:
    """Probabilities of classes of which one is drawn ``ratio`` times less often than every other."""
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
    output = {
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
        output[name] = every[name].values if name in every else np.empty((every.sizes["trial"], 0))
    return output


def _mean(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(means, counts) from sums whose last entry is the count."""
    counts = sums[..., -1]
    empty = np.full(sums[..., :-1].shape, np.nan)
    return np.divide(sums[..., :-1], counts[..., None], out=empty, where=counts[..., None] > 0), counts


def _joined(groups: Sequence[Mapping[str, Any]], name: str, n: int) -> np.ndarray:
    return np.concatenate([g[name].reshape(-1, n) for g in groups])


def rounded(values: Any, bits: int = BITS) -> np.ndarray:
    """float32 with ``bits`` bits of mantissa: the rest is zero, and zeros take no room in a compressed file."""
    plain = np.asarray(values, np.float32)
    words, drop = np.ascontiguousarray(plain).reshape(-1).view(np.uint32), np.uint32(23 - bits)
    kept = (words + (np.uint32(1) << (drop - np.uint32(1)))) >> drop << drop
    return np.where(np.isfinite(plain), kept.view(np.float32).reshape(plain.shape), plain)
