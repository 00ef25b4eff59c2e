"""Diagrams of the supplement: panels of Fig. 1 with other networks, training or data (Figs. S5 to S9, and the text).

:func:`diagram` describes each as a sweep; its cells are those of
:mod:`deepmech_book.experiments.spring_block.networks`, and ``summaries`` beside it reads the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deepmech.sweeps import Sweep
from deepmech_book.experiments.spring_block import networks
from deepmech_book.experiments.spring_block.data import recipe

_SGD = {"optimizer": "sgd", "learning_rate": 1e-3, "epochs": 1000, "batch_size": 100}
#: Figure -> the panel of Fig. 1 whose columns it has, the paper's data set, and what else it changes in networks and
#: training (captions and SM S3). Fig. S8's two panels show the same networks. Fig. S7(b) names no batch size. With the
#: default, full batches, linear networks converge best (on MNIST), against its caption; with 100, the default of the
#: authors' public script, they lag behind as it says.
DIAGRAMS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "S5a": ("learning_rate", "mnist", {"depth": 6}, {}),
    "S5b": ("learning_rate", "mnist", {"depth": 12}, {}),
    "S6a": ("batch_size", "mnist", {"width": 400}, {"learning_rate": 5e-4}),
    "S6b": ("batch_size", "mnist", {"width": 2500}, {"learning_rate": 1e-4}),
    "S7a": ("data_noise", "fashion-mnist", {}, {}),
    "S7b": ("data_noise", "fashion-mnist", {"depth": 6}, _SGD),
    "S8": ("dropout", "cifar10", {}, {}),
    "S9a": ("learning_rate", "cifar10", {"depth": 12}, {}),
    "S9b": ("learning_rate", "cifar10", {"depth": 20}, {}),
    "without-norm": ("dropout", "mnist", {"batch_norm": False}, {}),
}


def diagram(
    figure: str,
    data: str | dict[str, Any] | None = None,
    values: Sequence[float] | None = None,
    slopes: Sequence[float] = networks.SLOPES,
    n_seeds: int = 10,
    network: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
) -> Sweep:
    """One diagram of the supplement as a sweep over ``slope``, its panel's parameter and ``seed``.

    Parameters
    ----------
    figure : a key of :data:`DIAGRAMS`: ``"S5a"``, …, ``"S9b"``, or ``"without-norm"``, the dropout diagram of networks
        without BatchNorm.
    data, values, slopes, n_seeds : as for :func:`.networks.figure_1`; without ``data``, the paper's data set.
    network, training : fields that differ from the paper's, for example a smaller width.

    Examples
    --------
    >>> sweep = diagram("S5a", "digits", values=[1e-3, 1e-2], slopes=[0.0, 1.0], n_seeds=3)
    >>> sweep.name, sweep.grid.shape, sweep.fixed["network"]
    ('figure-S5a-digits', (2, 2, 3), {'depth': 6})
    """
    if figure not in DIAGRAMS:
        raise ValueError(f"diagram: figure = {figure!r}: must be one of {', '.join(DIAGRAMS)}")
    panel, own, changed, how = DIAGRAMS[figure]
    sweep = networks.figure_1(
        panel, own if data is None else data, values, slopes, n_seeds, changed | (network or {}), how | (training or {})
    )
    kind = figure if figure == "without-norm" else f"figure-{figure}"
    return replace(sweep, name=sweep.name.replace(f"figure-1{networks.PANELS[panel].letter}", kind))


def that_ship(
    data: str = "mnist", photographs: str = "cifar10-jpeg", depths: str | None = None, **grid: Any
) -> dict[str, Sweep]:
    """Fig. 1 and the diagrams of the supplement with BatchNorm that the book can draw whole, by their titles.

    Parameters
    ----------
    data, photographs, depths : data of Fig. 1, of Figs. S8 and S9, and of Fig. S5 (by default that of Fig. 1).
    grid : other arguments of :func:`diagram`.

    Examples
    --------
    >>> list(that_ship("digits", "digits", n_seeds=3))[::4]
    ['1(a) data noise', 'S5, depth 6', 'S9, CIFAR-10, depth 20']
    """
    fig1 = {f"1({one.letter}) {name.replace('_', ' ')}": name for name, one in networks.PANELS.items()}
    others = {"S5, depth 6": "S5a", "S5, depth 12": "S5b"}
    images = {"S8, CIFAR-10, dropout": "S8", "S9, CIFAR-10, depth 12": "S9a", "S9, CIFAR-10, depth 20": "S9b"}
    return (
        {title: networks.figure_1(panel, data, **grid) for title, panel in fig1.items()}
        | {title: diagram(figure, depths or data, **grid) for title, figure in others.items()}
        | {title: diagram(figure, photographs, **grid) for title, figure in images.items()}
    )


def images(dataset: str, n_train: int | None = None) -> dict[str, Any]:
    """What :func:`deepmech.data.load` is asked for by a data set's name, with another number of training images.

    Examples
    --------
    >>> images("mnist", 500)["n_train"], images("mnist") == recipe("mnist")
    (500, True)
    """
    return recipe(dataset) if n_train is None else {**recipe(dataset), "n_train": n_train}
