"""Tuning by load curve: choose noise and nonlinearity by the straightest load curve of the training samples.

The paper finds the most accurate networks where load curves are straight. If that held well enough, settings could be
chosen without any sample held out. :func:`validated` trains the rival, networks that leave a part of the samples for
validation, and :func:`regrets` says what each way of choosing costs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife
from deepmech.data import Data, load
from deepmech.sweeps import Sweep
from deepmech.trainers import train
from deepmech_book.experiments.spring_block import networks

#: Ways to choose a cell from one run of every cell; the first is the paper's suggestion, the last two are nulls.
RULES = ("straightest load curve", "validation split", "lowest training loss", "blindly")
#: The paper's suggestion with the curvature that is best for other data in place of zero.
NEAREST = "curvature best for other data"
#: A way that looks at no run at all.
CARRIED = "best cell of Fig. 1(c)"


def validated(*which: Any, held_out: float = 0.2, **how: Any) -> Sweep:
    """The networks of :func:`.networks.figure_1`, trained on a part of the samples; ``which`` and ``how`` as there.

    Parameters
    ----------
    held_out : fraction of the training samples, in (0, 1), that networks are not trained on but validated with.

    Examples
    --------
    >>> validated("dropout", values=[0.0, 0.1], slopes=[0.0, 1.0], n_seeds=3).grid.shape
    (2, 2, 3)
    """
    if not 0 < held_out < 1:
        raise ValueError(f"validated: held_out = {held_out!r}: must be between 0 and 1, both excluded")
    whole = networks.figure_1(*which, **how)
    return replace(
        whole,
        name=whole.name.replace("figure-1", "validated-1"),
        compute=f"{__name__}:train_validated",
        fixed={**whole.fixed, "held_out": held_out},
    )


def train_validated(
    cells: xr.Dataset,
    data: dict[str, Any],
    network: dict[str, Any],
    training: dict[str, Any],
    held_out: float,
) -> xr.Dataset:
    """Train one network per cell on the first samples and validate it on the others.

    Returns
    -------
    Dataset
        Over ``cell``: ``accuracy_validation``, a fraction of the samples held out.
    """
    whole = load(**data)
    part = _split(whole, round((1 - held_out) * len(whole.y_train)))
    made = train(*networks.specs(cells, network, training), part, seed=cells["seed"], experiment="figure 1")
    accuracy = made["accuracy"].sel(split="test", drop=True)
    return xr.Dataset({"accuracy_validation": accuracy}, attrs=made.attrs)


def _split(data: Data, n: int) -> Data:
    """The first ``n`` training samples to train on, and the others to test on."""
    x, y = data.x_train, data.y_train
    name = f"{data.fingerprint}, first {n}"
    return replace(data, x_train=x[:n], y_train=y[:n], x_test=x[n:], y_test=y[n:], fingerprint=name)


def place_of_best(whole: xr.Dataset) -> tuple[int, int]:
    """Row and column of the most accurate cell, mean over seeds; rows are slopes, columns noise from least to most."""
    accuracy = _ordered(whole)["accuracy"].mean("seed", skipna=False)
    row, column = np.unravel_index(np.nanargmax(accuracy.values), accuracy.shape)
    return int(row), int(column)


def _ordered(whole: xr.Dataset) -> xr.Dataset:
    noise = next(name for name in networks.PANELS if name in whole.dims)
    return whole.sortby(noise, ascending=networks.PANELS[noise].rising).transpose("slope", noise, ...)


def regrets(
    whole: xr.Dataset,
    part: xr.Dataset | None = None,
    place: tuple[int, int] | None = None,
    bend: float | None = None,
) -> xr.Dataset:
    """What every way of choosing costs in test accuracy, against the best cell of the grid.

    A run is one seed in every cell: the rule sees that run alone and names a cell. The cell's worth is the mean test
    accuracy of its *other* seeds, so that no rule is paid for the luck of the run it saw; the best cell is the best of
    the same means. Networks that diverged are never chosen, and none of their answers counts as right.

    Parameters
    ----------
    whole : a finished sweep of ``figure_1``, at least two seeds.
    part : the sweep of :func:`validated` with the same grid; without it there is no validation split.
    place : of another diagram, as :func:`place_of_best` gives it; adds the rule :data:`CARRIED`.
    bend : a curvature to come near to; adds the rule :data:`NEAREST`.

    Returns
    -------
    Dataset
        ``regret`` over ``rule`` (those of :data:`RULES` that can be had, and those added) and ``seed``, a difference of
        accuracies, ≥ 0, and ``without``, the mean regret if the run ``seed`` had never been made, neither to choose nor
        to say what cells are worth.

    Raises
    ------
    ValueError
        If the grids differ, or there are fewer than two seeds.
    """
    if whole.sizes["seed"] < 2:
        raise ValueError("regrets: one seed: a cell's worth is measured by its other seeds; give at least two")
    whole = whole if place is None else _ordered(whole)
    dims = [str(d) for d in whole["accuracy"].dims if d != "seed"]

    def flat(values: xr.DataArray) -> np.ndarray:
        return values.transpose("seed", *dims).values.reshape(whole.sizes["seed"], -1).astype(float)

    if part is not None and any(
        d not in part.indexes or not whole.indexes[d].equals(part.indexes[d]) for d in [*dims, "seed"]
    ):
        raise ValueError("regrets: the two sweeps have different grids; give both the same values, slopes and seeds")
    accuracy = np.nan_to_num(flat(whole["accuracy"]), nan=0.0)
    straightest, validation, loss, blindly = RULES
    scores = {straightest: -abs(flat(whole["curvature"]))}
    if part is not None:
        scores[validation] = flat(part["accuracy_validation"])
    scores[loss] = -flat(whole["loss"])
    if bend is not None:
        scores[NEAREST] = -abs(flat(whole["curvature"]) - bend)
    runs = len(accuracy)
    cells = {rule: np.argmax(np.nan_to_num(score, nan=-np.inf), axis=1) for rule, score in scores.items()}
    cells[blindly] = np.full(runs, -1)  # the mean over all
    if place is not None:
        cells[CARRIED] = np.full(runs, place[0] * whole.sizes[dims[1]] + place[1])
    chosen = np.stack(list(cells.values()))
    others = [np.delete(np.arange(runs), run) for run in range(runs)]
    # With two runs, one without the other has no other runs to be judged by.
    without = [_regret(accuracy[o], chosen[:, o]).mean(1) if runs > 2 else [np.nan] * len(cells) for o in others]
    found = {"regret": _regret(accuracy, chosen), "without": np.transpose(without)}
    labels = {"rule": list(cells), "seed": whole["seed"].values}
    return xr.Dataset({name: (("rule", "seed"), values) for name, values in found.items()}, labels)


def _regret(accuracy: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """What the chosen cells (rule, run) miss; ``accuracy`` (run, cell) is that of the same runs."""
    runs = len(accuracy)
    worth = (accuracy.sum(0) - accuracy) / (runs - 1)
    taken = np.where(chosen < 0, worth.mean(1), worth[np.arange(runs), chosen])
    return worth.max(1) - taken


def mean(found: xr.Dataset) -> Estimate:
    """Mean over seeds of :func:`regrets`, of one rule or the difference of two.

    Runs judge one another's cells, so the interval is that of leaving out each with all that it says.
    """
    return jackknife(found["regret"].mean("seed"), found["without"], over="seed", scatter="skewed")
