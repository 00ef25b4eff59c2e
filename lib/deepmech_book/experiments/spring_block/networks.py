"""Figure 1: load curves and test accuracy of networks over nonlinearity and four kinds of noise.

:func:`figure_1` describes one panel as a sweep, and :func:`train_cells` computes its cells; ``summaries`` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import xarray as xr

from deepmech.data import Data, load
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import Sweep
from deepmech.trainers import MLP, Training, train
from deepmech_book.experiments.spring_block.data import recipe, sweep


@dataclass(frozen=True)
class Panel:
    """One panel of Fig. 1 as printed: what varies, from no noise to most, and how long networks are trained."""

    letter: str
    values: tuple[float, ...]
    epochs: int = 100
    rising: bool = True


#: Columns as printed; α runs over SLOPES in each panel (authors' scripts).
PANELS = {
    "data_noise": Panel("a", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)),
    "learning_rate": Panel("b", (1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.2), epochs=200),
    "dropout": Panel("c", (0.0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28)),
    "batch_size": Panel("d", (1280, 640, 320, 160, 80, 40, 20, 10), rising=False),
}
SLOPES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

_NETWORK = {f.name for f in fields(MLP)}
_TRAINING = {f.name for f in fields(Training)}


def figure_1(
    panel: str = "dropout",
    data: str | dict[str, Any] = "digits",
    values: Sequence[float] | None = None,
    slopes: Sequence[float] = SLOPES,
    n_seeds: int = 10,
    network: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
) -> Sweep:
    """One panel of Fig. 1 as a sweep over ``slope``, the panel's own parameter and ``seed``.

    Parameters
    ----------
    panel : ``"data_noise"`` (a), ``"learning_rate"`` (b), ``"dropout"`` (c) or ``"batch_size"`` (d).
    data : a key of :data:`.data.DATA`, or the arguments of :func:`deepmech.data.load` as a dictionary.
    values : the panel's columns; None takes those printed in the paper.
    slopes : negative slopes α; the paper's by default.
    n_seeds : networks per cell, seeds 0 … n_seeds - 1; the paper averages over ten.
    network, training : other fields of :class:`deepmech.trainers.MLP` and :class:`~deepmech.trainers.Training`; the
        paper's by default. Panel (b) trains for 200 epochs, the others for 100.

    All panels share seeds: where two contain the same experiment, for example (a) without noise and (c) without
    dropout, they hold the same networks.

    Raises
    ------
    ValueError
        For an unknown panel or field, or values that the specs do not allow.

    Examples
    --------
    >>> figure_1("dropout", values=[0.0, 0.1, 0.2], slopes=[0.0, 1.0], n_seeds=3).grid.shape
    (2, 3, 3)
    """
    if panel not in PANELS:
        raise ValueError(f"figure_1: panel = {panel!r}: must be one of {', '.join(PANELS)}")
    network, training = dict(network or {}), dict(training or {})
    training.setdefault("epochs", PANELS[panel].epochs)
    for name, given, allowed in (("network", network, _NETWORK), ("training", training, _TRAINING)):
        for key in given:
            if key not in allowed or key in (panel, "slope"):
                raise ValueError(f"figure_1: {name}[{key!r}]: must be a field of its spec that the panel does not vary")
    cells = {"slope": slopes, panel: PANELS[panel].values if values is None else values, "seed": range(n_seeds)}
    name, here = f"figure-1{PANELS[panel].letter}", f"{__name__}:train_cells"
    made = sweep(name, here, cells, recipe(data), network=network, training=training)
    # Made once here so that a value that is not allowed is named before anything is computed.
    specs(made.cells, network, training)
    return made


def train_cells(
    cells: xr.Dataset, data: dict[str, Any], network: dict[str, Any], training: dict[str, Any]
) -> xr.Dataset:
    """Train one network per cell; a cell's keys are fields of the specs, or ``seed``.

    Returns
    -------
    Dataset
        Over ``cell``: ``load_curve`` and ``load_curve_test`` (with ``layer``), ``curvature`` (signed, of the training
        curve, > 0 concave), ``accuracy_train`` and ``accuracy`` (of the test set), ``loss`` (of the last epoch),
        ``epochs_run``, and whether training ``stopped`` early or ``diverged``.
    """
    mlp, how = specs(cells, network, training)
    made = train(mlp, how, _load(tuple(data.items())), seed=cells["seed"], experiment="figure 1")
    curves = made["load_curve"].transpose("cell", "split", "layer")
    last = made["loss"].isel(epoch=made["epochs_run"] - 1).drop_vars("epoch")
    variables = {
        "load_curve": curves.sel(split="train", drop=True),
        "load_curve_test": curves.sel(split="test", drop=True),
        "curvature": curvature(curves.sel(split="train", drop=True)),
        "accuracy_train": made["accuracy"].sel(split="train", drop=True),
        "accuracy": made["accuracy"].sel(split="test", drop=True),
        "loss": last,
        "epochs_run": made["epochs_run"],
        "stopped": made["state"] == "stopped",
        "diverged": made["state"] == "diverged",
    }
    return xr.Dataset(variables, attrs=made.attrs)


def untrained(data: str | dict[str, Any] = "digits", n_seeds: int = 10) -> Sweep:
    """The paper's ReLU network with its initial weights: what a load curve looks like before anything is learnt.

    BatchNorm needs its averages, so the data pass fifty times through a network whose learning rate is too small to
    change any weight. The initial weights are those of the networks of :func:`figure_1` with the same seeds; the sweep
    is a single cell of Fig. 1(c), over ``seed``.

    Examples
    --------
    >>> untrained(n_seeds=3).grid.shape
    (1, 1, 3)
    """
    still = {"learning_rate": 1e-30, "epochs": 50, "stop_change": 0.0}
    one = figure_1("dropout", data, [0.0], [0.0], n_seeds, training=still)
    return replace(one, name=one.name.replace("figure-1c", "untrained"))


def specs(varied: Mapping[Any, Any], network: dict[str, Any], training: dict[str, Any]) -> tuple[MLP, Training]:
    """Both specs, with labelled arrays for what varies (``seed`` belongs to neither)."""
    return (
        MLP(**network, **{k: v for k, v in varied.items() if k in _NETWORK}),
        Training(**training, **{k: v for k, v in varied.items() if k in _TRAINING}),
    )


@lru_cache(maxsize=4)
def _load(recipe: tuple[tuple[str, Any], ...]) -> Data:
    return load(**dict(recipe))
