"""Experiments of this chapter: name, function of its cells, what varies, what is fixed."""

from dataclasses import replace
from functools import partial

import numpy as np

from deepmech.data import fingerprint
from deepmech_book.sweeps import experiments
from deepmech_book.sweeps.spring_block import in_time, regression
from deepmech_book.sweeps.spring_block.linear_networks import DROPOUT, LARGE
from deepmech_book.sweeps.spring_block.networks import DATA, PANELS, SLOPES, dataset_kwargs
from deepmech_book.sweeps.spring_block.noise_by_layer import KINDS, STRENGTHS
from deepmech_book.sweeps.spring_block.without_norm import SCALED


def trained(data, compute="networks", **fixed):
    """A row of networks that are trained on images: a key of ``DATA``, or arguments of :func:`deepmech.data.load`."""
    images = DATA[data] if isinstance(data, str) else data
    named = {"name": f"{{}}-{images['name']}", "compute": f"spring_block.{compute}", "data": fingerprint(**images)}
    return {**named, "fixed": {"data": images, **fixed}}


def in_regimes(data, epochs=100, n_records=51, width=100):
    """A row of networks in the regimes of Fig. 4; BatchNorm has averages, and the record begins, after an epoch."""
    record = np.unique(np.linspace(1, epochs, min(n_records, epochs)).round().astype(int)).tolist()
    fixed = {"regimes": in_time.REGIMES, "epochs": epochs, "record": record, "width": width}
    return trained(data, "networks_in_time", **fixed)


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


def linear(small=1e-3, large=10.0, duration=20.0, large_steps=600, n=100):
    """A row of linear networks: small steps, large ones as printed, and dropout for as long; ``large`` steps that bend.

    The last take cross-entropy, the others the squared error; ``n`` samples, features and units.
    """
    many, printed = {"learning_rate": small, "n_steps": round(duration / small)}, round(duration / LARGE)
    settings = {
        "small steps": many,
        "large steps, as printed": {"learning_rate": LARGE, "n_steps": printed},
        "large steps": {"learning_rate": large, "n_steps": large_steps, "loss": "cross_entropy"},
        "dropout": {**many, "dropout": DROPOUT},
    }
    return {"compute": "spring_block.linear_networks", "fixed": {"settings": settings, "n": n}}


def probed(epochs=100, width=100):
    """A row of networks in the regimes of Fig. S12, and untrained ones, on the Diabetes data."""
    fixed = {"regimes": regression.REGIMES, "epochs": epochs, "width": width}
    data = regression.standardised().fingerprint
    return {"name": "{}-diabetes", "compute": "spring_block.regression", "fixed": fixed, "data": data}


# By SM S3 the networks of Fig. S7(b) are trained in full batches, with which linear networks converge best (on MNIST),
# against its caption; with 100, the default of the authors' public script, they lag behind as it says.
SGD = {"optimizer": "sgd", "learning_rate": 1e-3, "epochs": 1000, "batch_size": 100}
RATES = {"learning_rate": (1e-4, 1e-3, 1e-2), "seed": range(10)}
# A row of Fig. 1(c) in finer steps, on the way: what opens the book. Every fourth column is the figure's own networks.
SHAKEN = {"slope": [0.2], "dropout": np.linspace(0, 0.28, 29).round(2).tolist(), "seed": range(5)}
WIDE, _, MNIST_20 = plane({**DATA["mnist"], "size": 20}, "batch_size", {"width": 400}, learning_rate=5e-4)
FEW = {"slope": (0.0, 0.4, 1.0), "batch_size": (1280, 320, 160, 80, 40, 20), "seed": range(10)}
ONE = {"slope": [0.0], "dropout": [0.0], "seed": range(10)}
STILL = {"learning_rate": 1e-30, "epochs": 50, "stop_change": 0.0}
"""BatchNorm needs its averages: the data pass through networks whose weights stay as they were drawn."""
# With constants in place of BatchNorm; networks of smaller seeds had been looked at before.
CONSTANTS = {"data": "mnist-program", "compute": "without_norm", "training": {"epochs": 100}}
CORNER = {"scaled": SCALED, "learning_rate": (1e-4, 3e-4, 1e-3), "seed": range(10, 20)}
CELLS = {"slope": SLOPES, "dropout": PANELS["dropout"].values, "seed": range(10, 20)}
# All images, and less than the 100 epochs of the text: the rival of fewer images.
FEWER = {"slope": SLOPES, "data_noise": PANELS["data_noise"].values, "seed": range(3)}
LESS = [5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 90, 100]
TENTHS = list(range(10, 101, 10))
FITS = 1000
"""Images that panel (a) of the print fits; the text says 2,560."""
WAYS = ("small steps", "large steps, as printed", "large steps", "dropout")
NOISY = {"noise": list(KINDS), "strength": list(STRENGTHS), "slope": (0.0, 0.4, 1.0), "seed": range(5)}
STRONG = {kind: dict(zip(STRENGTHS, values, strict=True)) for kind, values in KINDS.items()}
DRAWN = {"compute": "noise_by_layer", "kinds": STRONG, "at": [0, 10, 100], "n_draws": 20}
# Full-batch Adam, three stages of 4,000 epochs (SM S2), evenly recorded.
RAISED = {"compute": "convolutional", "training": {"learning_rate": 1e-4}, "stage": 4000, "n_records": 20}
EXPERIMENTS: dict[str, experiments.Row] = {
    "figure-1a": plane("mnist-program", "data_noise"),
    "figure-1b": plane("mnist-program", "learning_rate"),
    "figure-1c": plane("mnist-program", "dropout"),
    "figure-1d": plane("mnist-program", "batch_size"),
    "figure-S5a": plane("mnist", "learning_rate", {"depth": 6}),
    "figure-S5b": plane("mnist", "learning_rate", {"depth": 12}),
    "figure-S6a": (WIDE, FEW, MNIST_20),
    "figure-S7a": plane("fashion-mnist", "data_noise"),
    "figure-S7b": plane("fashion-mnist", "data_noise", {"depth": 6}, **SGD),
    "figure-S8": plane("cifar10-jpeg", "dropout"),
    "figure-S9a": plane("cifar10-jpeg", "learning_rate", {"depth": 12}),
    "figure-S9b": plane("cifar10-jpeg", "learning_rate", {"depth": 20}),
    "without-norm": plane("mnist", "dropout", {"batch_norm": False}),
    "two-metrics": plane("mnist", "dropout", compute="two_metrics"),
    "untrained": (trained, ONE, {"data": "mnist-program", "network": {}, "training": STILL}),
    "constants": (trained, CORNER, {**CONSTANTS, "network": {"slope": 0.0}}),
    "constants-diagram": (trained, CELLS, {**CONSTANTS, "network": {"scaled": SCALED[0]}}),
    "fewer-epochs": (trained, FEWER, {"data": "mnist-program", "compute": "fewer_epochs", "epochs": LESS}),
    "dropout-raised": (trained, {"seed": range(4)}, {"data": "mnist", "network": {}, **RAISED}),
    "figure-S12": (probed, {"regime": list(regression.REGIMES), "seed": range(10)}, {}),
    "figure-5a": (linear, {"training": WAYS, "seed": range(3)}, {}),
    "noise-by-layer": (trained, NOISY, {"data": "mnist-program", **DRAWN}),
    "figure-4": (in_regimes, {"regime": list(in_time.REGIMES), "seed": range(10)}, {"data": "mnist"}),
    "figure-S4": (trained, RATES, {"data": "mnist", "compute": "both_sets", "width": 784, "epochs": 100}),
    "shaken-1c": (trained, SHAKEN, {"data": "mnist-program", "compute": "fewer_epochs", "epochs": TENTHS}),
}
experiment = partial(experiments.experiment, EXPERIMENTS)


def figure_1(data, columns=None, slopes=SLOPES, n_seeds=10, **how):
    """The panels of Fig. 1 by their noise; with ``columns`` in place of those that are printed."""
    cells = {"slope": slopes, "seed": range(n_seeds)}
    return {
        noise: experiment(
            f"figure-1{one.letter}", {**cells, noise: (columns or {}).get(noise, one.values)}, data=data, **how
        )
        for noise, one in PANELS.items()
    }


def as_printed(data, **how):
    """The panels of Fig. 1 with as many images as the print shows: in (a) :data:`FITS`."""
    few = figure_1(dataset_kwargs(data, n_train=FITS), **how)
    return {**figure_1(data, **how), "data_noise": few["data_noise"]}


TITLES = {
    "S5a": "S5(a), depth 6",
    "S5b": "S5(b), depth 12",
    "S6a": "S6(a), width 400",
    "S6b": "S6(b), width 2500",
    "S7a": "S7(a), clothes",
    "S7b": "S7(b), clothes, SGD",
    "S8": "S8(a), photographs, dropout",
    "S9a": "S9(a), photographs, depth 12",
    "S9b": "S9(b), photographs, depth 20",
}
"""The diagrams of the supplement as tables and claims name them."""


def supplement(images, wide, columns=None, slopes=SLOPES, n_seeds=10, network=(), training=()):
    """The diagrams of Figs. S5 to S9 by their titles; ``images`` of "mnist", "clothes" and "photographs".

    Of Fig. S6 those in ``wide``, with their own grid: images have as many pixels as layers have units, as in the
    authors' scripts.
    """
    made = {}
    for figure, title in TITLES.items():
        data = next((one for name, one in images.items() if name in title), images["mnist"])
        grid, net, how = {"slopes": slopes, "n_seeds": n_seeds, **wide.get(figure, {})}, dict(network), dict(training)
        if figure == "S6b":  # the row of Fig. S6(a) at another width
            how = {"learning_rate": 1e-4, **how}
        if figure.startswith("S6"):
            if figure not in wide:
                continue
            net |= {"width": grid["width"]}
            data = dataset_kwargs(data, size=round(grid["width"] ** 0.5))
        row = f"figure-{figure}".replace("S6b", "S6a")
        noise = next(dim for dim in EXPERIMENTS[row][1] if dim in PANELS)
        values = grid.get("values") or (columns or {}).get(noise, PANELS[noise].values)
        cells = {"slope": grid["slopes"], noise: values, "seed": range(grid["n_seeds"])}
        sweep = experiment(row, cells, data=data, network=net, training=how)
        made[title] = replace(sweep, name=sweep.name.replace("S6a", figure) if figure == "S6b" else sweep.name)
    return made
