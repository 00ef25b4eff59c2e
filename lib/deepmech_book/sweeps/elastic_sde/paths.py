"""Paths of the LE-ODE along tables of effects, fast enough for fits, and with exact derivatives by complex steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core import specs
from deepmech.core.compiled import INSIDE, KERNEL, njit


def tabulated_paths(
    parts: tuple[np.ndarray, np.ndarray], intra: Any, inter: Any, start: Any, step: float, substeps: int = 2
) -> np.ndarray:
    """Solution of x' = (α(t) M_α + β(t) M_β) x at evenly spaced times, α and β linear in between (paper B, Eq. 6).

    ``parts`` are M_α and M_β; from one time to the next there are ``substeps`` Runge–Kutta steps, whose error falls
    with their fourth power. Effects and parts may be complex: an imaginary step of 1e-30 in a parameter gives the
    path's derivative by it to rounding.
    """
    try:
        given = [np.asarray(z) for z in (intra, inter, start, *parts)]
    except (TypeError, ValueError):
        given = []
    if len(given) != 5 or any(z.dtype.kind not in "iufc" for z in given):
        raise ValueError("tabulated_paths: parts, intra, inter, start: give arrays of numbers, and two parts")
    kind = complex if any(map(np.iscomplexobj, given)) else float
    a, b, x, first, second = (np.ascontiguousarray(z, dtype=kind) for z in given)
    step = specs.check_real("tabulated_paths: step", step)
    substeps = specs.check_int("tabulated_paths: substeps", substeps)
    if a.shape != b.shape or a.ndim != 1 or first.shape != second.shape or first.shape != (x.size, x.size):
        raise ValueError(
            f"tabulated_paths: effects {a.shape}, {b.shape}, parts {first.shape}, {second.shape}, start {x.shape}: "
            "give two rows of one length, and two square matrices as large as the start"
        )
    out = np.empty((len(a), x.size), kind)
    _run(first, second, a, b, x.flatten(), float(step), int(substeps), out, np.zeros((5, x.size), kind))
    return out.reshape(len(a), *x.shape)


@njit(**INSIDE)
def _slope(
    first: np.ndarray, second: np.ndarray, a: complex, b: complex, x: np.ndarray, share: float, k: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """out = (a M_α + b M_β)(x + share k)."""
    for i in range(x.shape[0]):
        total = x[0] * 0.0
        for j in range(x.shape[0]):
            total += (a * first[i, j] + b * second[i, j]) * (x[j] + share * k[j])
        out[i] = total


@njit(**KERNEL, cache=True)
def _run(
    first: np.ndarray, second: np.ndarray, alpha: np.ndarray, beta: np.ndarray, x: np.ndarray, step: float,
    substeps: int, out: np.ndarray, k: np.ndarray,
) -> None:  # fmt: skip
    """x : (d,), moved; k : (5, d) working space, of which the first row is zero."""
    h = step / substeps
    for t in range(alpha.shape[0]):
        for i in range(x.shape[0]):
            out[t, i] = x[i]
        if t == alpha.shape[0] - 1:
            break
        for q in range(substeps):
            a0 = alpha[t] + (alpha[t + 1] - alpha[t]) * q / substeps
            b0 = beta[t] + (beta[t + 1] - beta[t]) * q / substeps
            a2 = alpha[t] + (alpha[t + 1] - alpha[t]) * (q + 1) / substeps
            b2 = beta[t] + (beta[t + 1] - beta[t]) * (q + 1) / substeps
            a1, b1 = (a0 + a2) / 2, (b0 + b2) / 2
            _slope(first, second, a0, b0, x, 0.0, k[0], k[1])
            _slope(first, second, a1, b1, x, h / 2, k[1], k[2])
            _slope(first, second, a1, b1, x, h / 2, k[2], k[3])
            _slope(first, second, a2, b2, x, h, k[3], k[4])
            for i in range(x.shape[0]):
                x[i] += h / 6 * (k[1, i] + 2 * k[2, i] + 2 * k[3, i] + k[4, i])
