"""Mean paths for effects given as tables, fast enough to be fitted: the LE-ODE by steps of fourth order."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core.compiled import njit


def tabulated_paths(
    parts: tuple[np.ndarray, np.ndarray], intra: Any, inter: Any, start: Any, step: float, substeps: int = 2
) -> np.ndarray:
    """Solution of x' = (α(t) M_α + β(t) M_β) x at evenly spaced times, α and β linear in between (paper B, Eq. 6).

    Parameters
    ----------
    parts : (M_α, M_β)
        (d, d) each: :func:`~deepmech.simulators.elastic_sde.drift_matrix` for what multiplies α and β.
    intra, inter : arrays (T,)
        Effects at the times, per unit of time.
    start : array
        x at the first time, d numbers in any shape.
    step : float
        From one time to the next.
    substeps : int
        Runge–Kutta steps within one; the error falls with their fourth power.

    Returns
    -------
    ndarray
        (T, \\*start.shape).

    Raises
    ------
    ValueError
        For shapes that do not fit.

    Examples
    --------
    >>> m = np.eye(1)
    >>> path = tabulated_paths((m, 0 * m), [1.0, 1.0], [0.0, 0.0], [1.0], step=1.0, substeps=8)
    >>> bool(abs(path[-1, 0] - np.e) < 1e-4)
    True
    """
    a, b, x = (np.ascontiguousarray(z, dtype=float) for z in (intra, inter, start))
    first, second = (np.ascontiguousarray(m, dtype=float) for m in parts)
    if a.shape != b.shape or a.ndim != 1 or first.shape != second.shape or first.shape != (x.size, x.size):
        raise ValueError(
            f"tabulated_paths: effects {a.shape}, {b.shape}, parts {first.shape}, {second.shape}, start {x.shape}: "
            "give two rows of one length, and two square matrices as large as the start"
        )
    out = np.empty((len(a), x.size))
    _run(first, second, a, b, x.ravel(), float(step), int(substeps), out)
    return out.reshape(len(a), *x.shape)


@njit(nogil=True, cache=True, error_model="numpy")
def _slope(first, second, a, b, x, out):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[0]):
            total += (a * first[i, j] + b * second[i, j]) * x[j]
        out[i] = total


@njit(nogil=True, cache=True, error_model="numpy")
def _run(first, second, alpha, beta, start, step, substeps, out):
    d = start.shape[0]
    x, k1, k2, k3, k4 = start.copy(), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    out[0] = x
    h = step / substeps
    for t in range(alpha.shape[0] - 1):
        for q in range(substeps):
            a0 = alpha[t] + (alpha[t + 1] - alpha[t]) * q / substeps
            b0 = beta[t] + (beta[t + 1] - beta[t]) * q / substeps
            a2 = alpha[t] + (alpha[t + 1] - alpha[t]) * (q + 1) / substeps
            b2 = beta[t] + (beta[t + 1] - beta[t]) * (q + 1) / substeps
            a1, b1 = (a0 + a2) / 2, (b0 + b2) / 2
            _slope(first, second, a0, b0, x, k1)
            _slope(first, second, a1, b1, x + h / 2 * k1, k2)
            _slope(first, second, a1, b1, x + h / 2 * k2, k3)
            _slope(first, second, a2, b2, x + h * k3, k4)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[t + 1] = x
