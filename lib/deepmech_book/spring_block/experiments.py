"""Experiments of this chapter: name, function of its cells, what varies, what is fixed."""

from functools import partial

from deepmech.data import fingerprint
from deepmech_book.sweeps import experiments
from deepmech_book.sweeps.spring_block.networks import DATA, PANELS, SLOPES


def trained(data, compute="networks", **fixed):
    """A row of networks that are trained on images: a key of ``DATA``, or arguments of :func:`deepmech.data.load`."""
    images = DATA[data] if isinstance(data, str) else data
    named = {"name": f"{{}}-{images['name']}", "compute": f"spring_block.{compute}", "data": fingerprint(**images)}
    return {**named, "fixed": {"data": images, **fixed}}


def plane(data, noise, network=(), compute="networks", **training):
    """A diagram over slope and one kind of noise, whose columns and epochs are those of its panel of Fig. 1.

    Of ``network`` and ``training`` a page names what it changes.
    """
    cells = {"slope": SLOPES, noise: PANELS[noise].values, "seed": range(10)}
    known = dict(network), {"epochs": PANELS[noise].epochs, **training}

    def described(data, network=(), training=(), compute=compute):
        both = ({**one, **dict(other)} for one, other in zip(known, (network, training), strict=True))
        return trained(data, compute, **dict(zip(("network", "training"), both, strict=True)))

    return described, cells, {"data": data}


SGD = {"optimizer": "sgd", "learning_rate": 1e-3, "epochs": 1000, "batch_size": 100}
RATES = {"learning_rate": (1e-4, 1e-3, 1e-2), "seed": range(10)}
EPOCHS = {"epochs": 100, "record": list(range(10, 101, 5))}
RECORDED = {"slope": SLOPES, "dropout": (0.0, 0.04, 0.12, 0.2, 0.28), "seed": range(10)}
ONE = {"slope": [0.0], "dropout": [0.0], "seed": range(10)}
STILL = {"learning_rate": 1e-30, "epochs": 50, "stop_change": 0.0}
"""BatchNorm needs its averages: the data pass through networks whose weights stay as they were drawn."""
EXPERIMENTS: dict[str, experiments.Row] = {
    "figure-1a": plane("mnist-program", "data_noise"),
    "figure-1b": plane("mnist-program", "learning_rate"),
    "figure-1c": plane("mnist-program", "dropout"),
    "figure-1d": plane("mnist-program", "batch_size"),
    "figure-S5a": plane("mnist", "learning_rate", {"depth": 6}),
    "figure-S5b": plane("mnist", "learning_rate", {"depth": 12}),
    "figure-S7a": plane("fashion-mnist", "data_noise"),
    "figure-S7b": plane("fashion-mnist", "data_noise", {"depth": 6}, **SGD),
    "figure-S8": plane("cifar10-jpeg", "dropout"),
    "figure-S9a": plane("cifar10-jpeg", "learning_rate", {"depth": 12}),
    "figure-S9b": plane("cifar10-jpeg", "learning_rate", {"depth": 20}),
    "without-norm": plane("mnist", "dropout", {"batch_norm": False}),
    "two-metrics": plane("mnist", "dropout", compute="two_metrics"),
    "untrained": (trained, ONE, {"data": "mnist-program", "network": {}, "training": STILL}),
    "figure-S4": (trained, RATES, {"data": "mnist", "compute": "both_sets", "width": 784, "epochs": 100}),
    "recorded-1c": (trained, RECORDED, {"data": {**DATA["mnist"], "n_test": 500}, "compute": "recorded", **EPOCHS}),
}
experiment = partial(experiments.experiment, EXPERIMENTS)
