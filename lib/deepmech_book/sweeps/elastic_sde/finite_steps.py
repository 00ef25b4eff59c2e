"""Whole steps in place of kernels: what a step on one sample does to others, curvature included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.sweeps import Sweep, recomputed
from deepmech.trainers.engines.compiled.lenet import Engine, padded
from deepmech_book.sweeps.elastic_sde.tangent_kernel import Trial, class_blocks, groups, measured
from deepmech_book.sweeps.elastic_sde.training import rounded


def stepped(dataset: str = "geomnist", n_trials: int = 30) -> Sweep:
    """The first trials of :func:`.tangent_kernel.measured`, stopped at the same times, with the same samples.

    Examples
    --------
    >>> stepped().grid.shape
    (3,)
    """
    like = measured(dataset, n_trials)
    return replace(
        like,
        name=f"finite-steps-{dataset}",
        compute="elastic_sde.finite_steps",
        fixed={name: value for name, value in like.fixed.items() if name != "thin"},
    )


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first two times: what trials have done by then is the same."""
    return fixed | {"iterations": fixed["every"]}, ["move", "logits"]


@recomputed(tolerance={"*": 1e-3}, part=_begin)
def step_cells(cells: xr.Dataset, *, iterations: int, every: int, per_class: int, **which: Any) -> xr.Dataset:
    """Train ten trials for each ``group``; at each time take a step on every sample, look at the others, and undo it.

    Returns
    -------
    Dataset
        Over ``cell``, ``move`` and ``logits`` as of :func:`.tangent_kernel.measure_cells`, but of whole steps.
    """
    at = np.arange(0, iterations + 1, every)
    found = np.stack([np.mean([_moves(one) for one in group], 0) for group in groups(cells, at, per_class, **which)])
    out = {
        "move": (("cell", "time", "class", "trained", "logit"), rounded(found[:, :, :, :-1])),
        "logits": (("cell", "time", "class", "logit"), rounded(found[:, :, :, -1])),
    }
    return xr.Dataset(out, {"time": at.astype(float)}, {"device": "cpu", "dtype": "float32"})


def _moves(trial: Trial) -> np.ndarray:
    """Moves by class (time, class, trained, logit) with, behind the last class trained on, the logits themselves."""
    data, k, found = trial.data, trial.data.n_classes, []
    samples, labels = padded(data.x_test[trial.chosen], data.shape[0], "float32"), data.y_test[trial.chosen]
    for _ in trial.stops():
        moves, z = finite_moves(trial.engine, samples, labels)
        means = z.reshape(k, -1, k).mean(1)
        found.append(np.concatenate([class_blocks(moves, k), means[:, None]], 1))
    return np.stack(found)


def finite_moves(engine: Engine, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a whole step on each sample does to the logits of every other (sample, stepped on, logit); and the logits.

    ``x`` are images as the engine takes them; the engine is left as it was.
    """
    nobody, never, every = (x[:0], y[:0]), np.zeros(0, np.int64), np.arange(len(x))
    kept, rate = [a.copy() for a in engine.parameters], engine.rate

    def answers() -> np.ndarray:
        engine.rate = 0.0
        return engine.run(x, y, every, nobody, never)[0].astype(float)

    before, after = answers(), []
    for i in every:
        engine.rate = rate
        engine.run(x, y, every[i : i + 1], nobody, never)
        after.append(answers() - before)
        for now, old in zip(engine.parameters, kept, strict=True):
            now[:] = old
    engine.rate = rate
    return np.stack(after, 1), before
