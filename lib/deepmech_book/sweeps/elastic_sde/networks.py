"""LeNets trained one sample at a time, and the class means of their logits: the data of every experimental figure.

:func:`trials` describes a grid of configurations as a sweep; :func:`train_cells` trains all trials of a configuration
and keeps what the figures need of the log: class means, spreads and counts in blocks of iterations, the same for
groups of trials (for intervals), a thin sample of single logits, validation loss and accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.specs import digest, over
from deepmech.sweeps import Sweep
from deepmech_book.sweeps.elastic_sde.data import SETTINGS, fingerprint
from deepmech_book.sweeps.elastic_sde.training import GROUP
from deepmech_book.sweeps.elastic_sde.training import train_cells as train_cells  # sweeps name it here

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
    validation: Sequence[int] | None = None,
    first_seed: Sequence[int] | int = 0,
    iterations: int | None = None,
    thin: int = 20,
    coarse: int = 200,
    n_checks: int = 11,
    moments: int = 0,
    rare: Sequence[tuple[int, float]] | None = None,
    learning_rate: Sequence[float] | float | None = None,
    draws: int | None = None,
    replacement: bool = False,
) -> Sweep:
    """A grid of configurations, each trained in ``n_trials`` independent trials, as a sweep.

    Parameters
    ----------
    name : of the sweep: letters, digits and dashes.
    dataset : ``"geomnist"``, ``"geomnist-independent"``, ``"cifar10"`` or ``"cifar10-jpeg"``; step size, iterations and
        samples per class follow the authors' scripts (:data:`SETTINGS`) unless given.
    validation : validation samples per class for each of ``per_class``, instead of one number for all.
    n_trials : a multiple of :data:`GROUP`, or less than it.
    label_error, per_class, first_seed : one value, or several to vary over. Seeds of trials are ``first_seed`` and up:
        another one gives other trials.
    iterations : steps of a trial.
    thin, coarse : iterations averaged into one for class means, and for spreads and groups of trials; both divide
        ``iterations``.
    n_checks : how often validation loss and accuracy are measured, from before the first step to after the last.
    moments : iterations, evenly spread, at which every trial's own logits are kept; 0 for none.
    rare : pairs (class, ratio): in each configuration one class is drawn so many times less often than every other.
        They vary along the dimension ``case``, named "class, 1:ratio".
    learning_rate : one step size or several instead of the authors'.
    draws : into so many groups trials are dealt, each with images and wrong labels of its own, so that intervals over
        groups cover both. Without it all trials share one set, in groups of :data:`GROUP`.
    replacement : samples are drawn with replacement; see :func:`.data.images`.

    Returns
    -------
    Sweep
        For :func:`deepmech.sweeps.result`; see :func:`train_cells` for its variables.

    Examples
    --------
    >>> trials("doc", label_error=[0.0, 0.5], n_trials=5, iterations=400).grid.shape
    (2,)
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

    Parameters
    ----------
    which : ``"geomnist"``: without wrong labels, 3,000 samples per class (Figs. 1, 3, 5, D.1, D.7 … D.10);
        ``"corruption"``: p_err from 0 to 0.8, ten trials on each of ten draws of images and labels (Figs. 4, D.2, D.5,
        D.6); ``"corruption-independent"``: the same on the harder variant of GEOMNIST, five draws; ``"sizes"``:
        samples per class, each with two sets of 50 trials (Fig. D.3);
        ``"cifar"``, ``"cifar-2"``: three and two classes of CIFAR-10 (Figs. 1, 3, 5, D.4, D.8, D.9), 5,000 images of
        each as in the text; ``"cifar-program"``, ``"cifar-program-2"``: likewise, 2,000 drawn with replacement as in
        the authors' program, ten trials on each of ten draws; ``"cifar-sizes"``: as ``"sizes"`` (Fig. D.3);
        ``"geomnist-long"``, ``"corruption-long"``: ten times as many iterations, as the text says, 20 trials, and 6 on
        each of five draws;
        ``"imbalance"``: balanced, and each class drawn 2, 4 and 8 times less often than the others (App. E), 40 trials;
        ``"cifar-text"``, ``"cifar-text-2"``: three and two classes, 300,000 iterations at a step of 0.005, as the text
        says, 6 trials.
    changed : arguments of :func:`trials` that shall differ from that. The result ships if none does.

    Examples
    --------
    >>> as_published("corruption").grid.shape
    (10,)
    >>> as_published("corruption", n_trials=100).key == as_published("corruption").key
    True
    """
    jpeg: dict[str, Any] = {"dataset": "cifar10-jpeg", "thin": 10, "coarse": 300}
    text: dict[str, Any] = {"iterations": 300_000, "thin": 3000, "coarse": 3000, "n_trials": 1, "n_checks": 11}
    text |= {"learning_rate": 0.005, "first_seed": range(6)}
    drawn: dict[str, Any] = {"per_class": 2000, "validation": (500,), "replacement": True, "draws": 10}
    wrong: dict[str, Any] = {"label_error": LABEL_ERRORS}
    sizes: dict[str, Any] = {"per_class": SAMPLE_SIZES, "first_seed": (0, 1000), "n_checks": 1}
    long: dict[str, Any] = {"iterations": 100_000, "thin": 200, "coarse": 2000, "n_trials": 20}
    options: dict[str, dict[str, Any]] = {
        "geomnist": {"per_class": 3000, "thin": 1, "moments": 101},
        "corruption": wrong | {"draws": 10},
        "corruption-independent": wrong | {"dataset": "geomnist-independent", "n_trials": 50, "draws": 5},
        "sizes": sizes | {"validation": VALIDATION_SIZES, "n_trials": 50},
        "cifar": jpeg | {"moments": 101},
        "cifar-2": jpeg | {"n_classes": 2},
        "cifar-program": jpeg | drawn,
        "cifar-program-2": jpeg | drawn | {"n_classes": 2},
        "cifar-sizes": jpeg | sizes | {"thin": 60, "coarse": 600, "n_trials": 50},
        "geomnist-long": long | {"per_class": 3000},
        "corruption-long": long | wrong | {"n_trials": 30, "draws": 5},
        "imbalance": {"rare": RARE, "n_checks": 3, "thin": 50, "n_trials": 40},
        "cifar-text": jpeg | text,
        "cifar-text-2": jpeg | text | {"n_classes": 2},
    }
    if which not in options:
        raise ValueError(f"as_published: which = {which!r}: must be one of {', '.join(options)}")
    return trials(f"elastic-{which}", **options[which] | changed)
