"""Many runs of the SDE at once, exact in law at the recorded times."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np
import xarray as xr

from deepmech.core import checks
from deepmech.core.labels import Batch
from deepmech.core.random import Stream
from deepmech.simulators.elastic_sde.model import ElasticSDE
from deepmech.simulators.elastic_sde.solution import beginnings, labelled, mean_solution, transitions


def simulate(
    model: ElasticSDE,
    times: Any,
    start: Any,
    n_samples: int = 100,
    n_runs: int = 1,
    start_spread: float = 0.0,
    mean: Literal["samples", "infinite"] = "samples",
    seed: int = 0,
) -> xr.Dataset:
    """Features of ``n_samples`` samples of every class over time (paper B, Eqs. 2 and 5).

    The SDE is linear and its noise additive: the state at the recorded times is drawn from its exact law, whatever lies
    between them.

    Parameters
    ----------
    model : every labelled array adds its dimensions to the result.
    times : when to record; t ≥ 0, rising.
    start : mean of the features of each class at t = 0, shape (K, p).
    n_samples : n, samples of each class.
    n_runs : independent runs, dimension ``run``. Run r draws the same numbers in every cell of the model's grid, and
        whatever other cells there are.
    start_spread : standard deviation of samples about ``start`` at t = 0, in every feature.
    mean : what drives the drift: the mean of the n ``"samples"`` (Eq. 2: samples interact), or with ``"infinite"`` the
        solution of the LE-ODE, which is the limit of many samples that the paper puts in their place.
    seed : of the noise.

    Returns
    -------
    Dataset
        ``feature_value`` over the model's dimensions, ``run``, ``time``, ``class``, ``sample``, ``feature``.

    Examples
    --------
    >>> run = simulate(ElasticSDE(intra=2.0, inter=0.0), [0.0, 10.0], [[1.0], [-1.0]], n_samples=5)
    >>> x = run.feature_value.isel(run=0, time=-1, feature=0)
    >>> bool(x.sel({"class": 0}).min() > x.sel({"class": 1}).max())
    True
    """
    began = time.perf_counter()
    t, x0, first, streams = beginnings("simulate", model, times, start, n_samples, n_runs, start_spread, seed)
    checks.require("simulate: mean", mean, mean in ("samples", "infinite"), "'samples' or 'infinite'")
    batch = model.batch()
    out = np.empty((batch.n, n_runs, len(t), *first.shape[1:]))
    _exact(model, batch, t, x0, first, streams, mean == "samples", out)
    setting = {"n_samples": n_samples, "n_runs": n_runs, "start_spread": start_spread, "mean": mean}
    setting["start"] = x0.tolist()
    found = (out, "run", "time", "class", "sample", "feature")
    return labelled(model, batch, t, began, setting, seed, feature_value=found)


def _exact(
    model: ElasticSDE, batch: Batch, t: np.ndarray, x0: np.ndarray, first: np.ndarray, streams: list[Stream],
    by_samples: bool, out: np.ndarray,
) -> None:  # fmt: skip
    """Samples about their class mean are Brownian; the means are a linear SDE of their own with noise σ/√n.

    Both are made from the same normals z: their class mean drives the means, what is left drives the samples, and the
    two are independent as for the Wiener processes themselves.
    """
    noise = np.asarray(batch.flat["noise"], float)[:, None, None, None, None]
    centre = first.mean(2)  # (run, class, feature)
    around = np.broadcast_to(first - centre[:, :, None], (batch.n, *first.shape)).copy()
    means = np.broadcast_to(centre, (batch.n, *centre.shape)).copy()
    if not by_samples:
        solved = mean_solution(model, t, x0)["mean"].values.reshape(batch.n, len(t), *x0.shape)
        drift = np.concatenate([np.broadcast_to(x0, (batch.n, 1, *x0.shape)), solved], axis=1)
    steps = transitions(model, batch, np.concatenate([[0.0], t])) if by_samples else None
    flat = model.isotropic
    before = 0.0
    for i, now in enumerate(t):
        z = np.stack([s.normal("noise", i, first.shape[1:]) for s in streams])
        middle = z.mean(2)
        around += noise * np.sqrt(now - before) * (z - middle[:, :, None])
        kick = middle * noise[..., 0]
        if by_samples:
            assert steps is not None
            phi, root = next(steps)
            a, b = (_apply(m, v, flat) for m, v in ((phi, means), (root, np.broadcast_to(kick, means.shape))))
            means = a + b
        else:
            means = means + (drift[:, i + 1] - drift[:, i])[:, None] + np.sqrt(now - before) * kick
        out[:, :, i] = means[:, :, :, None] + around
        before = now


def _apply(matrix: np.ndarray, means: np.ndarray, classes_only: bool) -> np.ndarray:
    """(n, d, d) on (n, run, class, feature): over classes, or over classes and features together."""
    if classes_only:
        return np.einsum("nkc,nrcp->nrkp", matrix, means)
    n, runs, k, p = means.shape
    return np.einsum("nij,nrj->nri", matrix, means.reshape(n, runs, k * p)).reshape(means.shape)
