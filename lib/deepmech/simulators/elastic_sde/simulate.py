"""Many runs at once: of the SDE, exact in law at the recorded times, and of the training of which it is the limit."""

from __future__ import annotations

import time
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from deepmech.core import specs
from deepmech.core.compiled import INSIDE, KERNEL, Floats, Ints, Keys, Word, njit
from deepmech.core.labels import ParameterGrid
from deepmech.core.random import LOW, S32, Stream, box_muller, philox, stream_id
from deepmech.simulators.elastic_sde.model import ElasticSDE
from deepmech.simulators.elastic_sde.solution import beginnings, mean_solution, to_dataset, transitions


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
    model : ElasticSDE
        Every labelled array adds its dimensions to the result.
    times : array_like
        When to record; t ≥ 0, rising.
    start : array_like
        Mean of the features of each class at t = 0, shape (K, p).
    n_samples : int
        n, samples of each class.
    n_runs : int
        Independent runs, dimension ``run``. Run r draws the same numbers in every cell of the model's grid, and
        whatever other cells there are.
    start_spread : float
        Standard deviation of samples about ``start`` at t = 0, in every feature.
    mean : str
        What drives the drift: the mean of the n ``"samples"`` (Eq. 2: samples interact), or with ``"infinite"`` the
        solution of the LE-ODE, which is the limit of many samples that the paper puts in their place.
    seed : int
        Of the noise.

    Returns
    -------
    Dataset
        ``feature_value`` over the model's dimensions, ``run``, ``time``, ``class``, ``sample``, ``feature``.

    Raises
    ------
    ValueError
        Naming argument and value, for times, a start or numbers that do not fit.

    Examples
    --------
    >>> run = simulate(ElasticSDE(intra=2.0, inter=0.0), [0.0, 10.0], [[1.0], [-1.0]], n_samples=5)
    >>> x = run.feature_value.isel(run=0, time=-1, feature=0)
    >>> bool(x.sel({"class": 0}).min() > x.sel({"class": 1}).max())
    True
    """
    began = time.perf_counter()
    t, x0, first, streams = beginnings("simulate", model, times, start, n_samples, n_runs, start_spread, seed)
    n_runs, _, n_samples, _ = first.shape
    known = isinstance(mean, str) and mean in ("samples", "infinite")
    specs.check("simulate: mean", mean, known, "'samples' or 'infinite'")
    grid = model.grid()
    out = np.empty((grid.n, n_runs, len(t), *first.shape[1:]))
    _exact(model, grid, t, x0, first, streams, mean == "samples", out)
    setting = {"n_samples": n_samples, "n_runs": n_runs, "start_spread": start_spread, "mean": mean}
    setting["start"] = x0.tolist()
    found = (out, "run", "time", "class", "sample", "feature")
    return to_dataset(model, grid, t, began, setting, seed, feature_value=found)


def _exact(
    model: ElasticSDE, grid: ParameterGrid, t: np.ndarray, x0: np.ndarray, first: np.ndarray, streams: list[Stream],
    by_samples: bool, out: np.ndarray,
) -> None:  # fmt: skip
    """Samples about their class mean are Brownian; the means are a linear SDE of their own with noise σ/√n.

    Both are made from the same normals z: their class mean drives the means, what is left drives the samples, and the
    two are independent as for the Wiener processes themselves.
    """
    noise = np.asarray(grid.flat["noise"], float)[:, None, None, None, None]
    centre = first.mean(2)  # (run, class, feature)
    around = np.broadcast_to(first - centre[:, :, None], (grid.n, *first.shape)).copy()
    means = np.broadcast_to(centre, (grid.n, *centre.shape)).copy()
    if not by_samples:
        solved = mean_solution(model, t, x0)["mean"].values.reshape(grid.n, len(t), *x0.shape)
        drift = np.concatenate([np.broadcast_to(x0, (grid.n, 1, *x0.shape)), solved], axis=1)
    steps = transitions(model, grid, np.concatenate([[0.0], t])) if by_samples else None
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


def train_discrete(
    model: ElasticSDE,
    times: Any,
    start: Any,
    step: float,
    n_samples: int = 100,
    n_runs: int = 1,
    start_spread: float = 0.0,
    seed: int = 0,
) -> xr.Dataset:
    """Features under single-sample training with steps of length h (paper B, Eqs. 1 and 4).

    At each step a class c is drawn (p_c), one of its n samples, and a label l (P_cl); every feature of class k then
    moves by h E_kl H_kl times the drawn sample's feature, and by σ√h ζ. As h → 0 with t = mh the law tends to that of
    the SDE; what is left of the drawing at finite h is a variance of order h.

    Parameters
    ----------
    model, start, n_samples, n_runs, start_spread, seed
        As for :func:`simulate`; samples at t = 0 are the same
        numbers.
    times : array_like
        When to record; multiples of ``step``.
    step : float
        h > 0.

    Returns
    -------
    Dataset
        As of :func:`simulate`, and ``drawn`` (run, step, if the model has no dimensions): the class of every step.

    Raises
    ------
    ValueError
        As :func:`simulate`, and for times that are no multiples of ``step``.

    Examples
    --------
    >>> model = ElasticSDE(intra=1.0, inter=0.0, noise=0.0)
    >>> x = train_discrete(model, [1.0], [[1.0], [-1.0]], step=0.001, n_runs=200).feature_value.mean(("run", "sample"))
    >>> bool(abs(x.sel({"class": 0}) - np.exp(0.5)).item() < 0.01)
    True
    """
    began = time.perf_counter()
    t, x0, first, streams = beginnings("train_discrete", model, times, start, n_samples, n_runs, start_spread, seed)
    n_runs, _, n_samples, _ = first.shape
    step = specs.check_real("train_discrete: step", step, np.nextafter(0, 1), allowed="positive and finite")
    number = specs.check_steps("train_discrete: step", step, float(t[-1]) / step)
    specs.check_memory("train_discrete: step", step, 1.0 * number * (model.grid().n * (2 + n_runs / 8) + 1))
    marks = np.rint(t / step).astype(np.int64)
    if not np.allclose(marks * step, t, rtol=1e-9):
        raise ValueError(f"train_discrete: times must be multiples of step = {step}; nearest are {marks * step}")
    grid = model.grid()
    clock = np.arange(marks[-1]) * step
    rates = [np.ascontiguousarray(np.broadcast_to(r(clock), (grid.n, len(clock)))) for r, _ in model.rates(grid)]
    mixing, classes = np.cumsum(model.mixing(grid), axis=2), np.cumsum(model.weights())
    noise = np.asarray(grid.flat["noise"], float) * np.sqrt(step)
    purposes = np.array([stream_id("drawn"), stream_id("discrete noise")], np.uint64)
    out = np.empty((grid.n, n_runs, len(t), *first.shape[1:]))
    drawn = np.empty((grid.n, n_runs, len(clock)), np.int8)
    for i in range(grid.n):
        law = Law(model.blocks(), rates[0][i], rates[1][i], classes, mixing[i], noise[i], step)
        for r, stream in enumerate(streams):
            x, draws = first[r].flatten(), Draws(np.uint64(stream.key), purposes)
            _run(x, law, draws, marks, out[i, r].reshape(len(t), -1), drawn[i, r], np.empty((2, first.shape[-1])))
    setting = {"step": step, "n_samples": n_samples, "n_runs": n_runs, "start_spread": start_spread, "discrete": True,
               "start": x0.tolist()}  # fmt: skip
    found = (out, "run", "time", "class", "sample", "feature")
    return to_dataset(model, grid, t, began, setting, seed, feature_value=found, drawn=(drawn, "run", "step"))


@njit(**INSIDE)
def _pick(u: float, cumulated: Floats) -> int:
    """Index of the first entry of ``cumulated`` above u (the last one if rounding left none)."""
    for i in range(cumulated.shape[0] - 1):
        if u < cumulated[i]:
            return i
    return cumulated.shape[0] - 1


class Law(NamedTuple):
    """Of one cell's training: what each step draws and does."""

    blocks: np.ndarray
    """H (K, K, p, p)."""
    intra: np.ndarray
    """α at each step; so with ``inter``, β."""
    inter: np.ndarray
    classes: np.ndarray
    """Cumulated probabilities of classes (K,), and in rows those of the labels of each, ``mixing`` (K, K)."""
    mixing: np.ndarray
    noise: float
    """Of one step, σ√h."""
    h: float


class Draws(NamedTuple):
    """Key of a run's random numbers, and the purposes: which sample, and noise."""

    key: Word
    purposes: Keys


@njit(**KERNEL, cache=True)
def _run(x: Floats, law: Law, draws: Draws, marks: Ints, out: Floats, drawn: Ints, scratch: Floats) -> None:
    """One run from x (K n p,), which lies class after class, sample after sample; ``out`` (times, K n p) before the
    steps ``marks``, ``drawn`` (steps,) the classes; ``scratch`` (2, p) is room for a sample and its pull."""
    n_classes, p = law.blocks.shape[1:3]
    n = x.shape[0] // (n_classes * p)
    k0, k1 = draws.key & LOW, draws.key >> S32
    unit = 1.0 / 4294967296.0
    recorded = 0
    for m in range(marks[-1] + 1):
        while recorded < marks.shape[0] and marks[recorded] == m:
            for i in range(x.shape[0]):
                out[recorded, i] = x[i]
            recorded += 1
        if m == marks[-1]:
            break
        s0, s1 = np.uint64(m) & LOW, np.uint64(m) >> S32
        w = philox(np.uint64(0), s0, s1, draws.purposes[0], k0, k1)
        c = _pick((np.float64(np.int64(w[0])) + 0.5) * unit, law.classes)
        l = _pick((np.float64(np.int64(w[1])) + 0.5) * unit, law.mixing[c])
        j = min(n - 1, np.int64((np.float64(np.int64(w[2])) + 0.5) * unit * n))
        drawn[m] = c
        for a in range(p):
            scratch[0, a] = x[(c * n + j) * p + a]
        for k in range(n_classes):
            e = law.h * (law.intra[m] if k == l else law.inter[m])
            for a in range(p):
                scratch[1, a] = 0.0
                for b in range(p):
                    scratch[1, a] += e * law.blocks[k, l, a, b] * scratch[0, b]
            for i in range(n):
                for a in range(p):
                    x[(k * n + i) * p + a] += scratch[1, a]
        if law.noise > 0.0:
            for q in range((x.shape[0] + 3) // 4):
                w = philox(np.uint64(q), s0, s1, draws.purposes[1], k0, k1)
                z = box_muller(w[0], w[1]) + box_muller(w[2], w[3])
                for i in range(min(4, x.shape[0] - 4 * q)):
                    x[4 * q + i] += law.noise * z[i]
