"""Experiments of this chapter: name, function of its cells, what varies, what is fixed."""

from functools import partial

from deepmech_book.spring_block.experiments import trained
from deepmech_book.sweeps import experiments
from deepmech_book.sweeps.elastic_sde.data import SETTINGS, fingerprint
from deepmech_book.sweeps.extras.coverage import DRAWN, DRAWN_SAMPLES, POPULATIONS, TRUTH
from deepmech_book.sweeps.spring_block.architectures import IMAGES, KINDS

DIGITS = {"name": "digits", "n_train": 500}
MNIST = {"name": "mnist", "n_train": 2560, "n_test": 500}
SLOPES = (0.0, 0.5, 1.0)
CELLS = {"slope": SLOPES, "dropout": (0.0, 0.15, 0.3, 0.5), "seed": range(10)}
ENDS = {"slope": SLOPES, "dropout": (0.0, 0.5), "seed": range(10)}
STILL = {"learning_rate": 1e-30, "epochs": 10, "stop_change": 0.0}
"""BatchNorm needs its averages: the data pass through networks whose weights stay as they were drawn."""


def kind_of(name, training):
    """What is fixed in a diagram of one of ``KINDS``."""
    return {"data": DIGITS, "compute": "architectures", "kind": name, "training": {"batch_size": 100, **training}}


def stopped(dataset, compute="tangent_kernel", **fixed):
    """A row of groups of ten networks, those of the page on effects, stopped 41 times between their steps.

    What is looked at are validation samples of three classes, eight of each, drawn for each network.
    """
    n = SETTINGS[dataset].iterations
    which = {"n_classes": 3, "training_samples": 3000, "validation": SETTINGS[dataset].validation}
    fixed = {"dataset": dataset, **which, "iterations": n, "every": n // 40, "per_class": 8, **fixed}
    data = fingerprint(dataset, *which.values())
    return {"name": f"{{}}-{dataset}", "compute": f"elastic_sde.{compute}", "fixed": fixed, "data": data}


GROUPS = {"group": range(10)}
EXPERIMENTS: dict[str, experiments.Row] = {
    **{f"travels-{name}": (trained, CELLS, kind_of(name, how)) for name, (*_, how) in KINDS.items()},
    **{f"travels-{name}-untrained": (trained, ENDS, kind_of(name, STILL)) for name in KINDS},
    "travels-resolutions": (
        trained,
        {"images": tuple(IMAGES), "seed": range(3)},
        {"data": MNIST, "compute": "resolutions", "network": {"slope": 0.2}, "training": {"epochs": 100}},
    ),
    "coverage": (
        lambda **fixed: {"compute": "extras.coverage", "fixed": fixed},
        {"population": tuple(POPULATIONS), "block": range(10)},
        {"draws": 100, "truth": TRUTH},
    ),
    "coverage-drawn": (
        lambda **fixed: {"compute": "extras.coverage_drawn", "fixed": fixed},
        {"population": tuple(DRAWN), "samples": DRAWN_SAMPLES, "block": range(5)},
        {"draws": 20},
    ),
    # Class means of the samples trained on are kept in blocks of so many iterations.
    "tangent-kernel": (stopped, GROUPS, {"dataset": "geomnist", "thin": 50}),
    "finite-steps": (stopped, GROUPS, {"dataset": "geomnist", "compute": "finite_steps"}),
}
experiment = partial(experiments.experiment, EXPERIMENTS)
