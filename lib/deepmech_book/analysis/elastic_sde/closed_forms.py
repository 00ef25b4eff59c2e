"""Single steps, their limit and its closed forms: Eqs. 1 to 9 of paper B."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw, mean_solution, train_discrete
from deepmech_book.analysis.elastic_sde.model import integrated, off, start

__all__ = ["distance_from_limit", "unexplained_by_eq_9"]

GROUPS = 10
"""Groups of runs between which the variance of a class mean is measured, for an interval."""


def distance_from_limit(
    model: ElasticSDE, start: np.ndarray, t_end: float, steps: Sequence[float], n_runs: int, n_samples: int = 5
) -> xr.DataArray:
    """How far training in single steps (Eq. 1) is from the differential equation (Eq. 2), at one time.

    Parameters
    ----------
    model : ElasticSDE
        Isotropic, with constant effects and no noise.
    start : ndarray, (K, 1)
        Class means at t = 0; all samples of a class begin there.
    t_end : float
        When to compare; a multiple of each step.
    steps : sequence of float
        Lengths h of a step.
    n_runs, n_samples : int
        Runs, and samples of a class.

    Returns
    -------
    DataArray
        Over ``step``, ``of`` and ``group``. "mean": the largest error of an expected class mean, exact, hence the same
        in all groups; "variance": the largest variance of a class mean between the runs of a group.
    """
    limit = mean_solution(model, [t_end], start)["mean"].values.ravel()
    intra, inter = (part[0] for part in model.drift_parts(model.grid()))
    rows = []
    for h in steps:
        step = np.eye(model.n_classes) + h * (model.intra * intra + model.inter * inter)
        expected = np.linalg.matrix_power(step, round(t_end / h)) @ start.ravel()
        runs = train_discrete(model, [t_end], start, h, n_samples=n_samples, n_runs=n_runs).feature_value
        groups = np.array_split(runs.mean("sample").transpose("run", ...).values, GROUPS)
        rows.append((np.full(GROUPS, abs(expected - limit).max()), [part.var(0).max() for part in groups]))
    return xr.DataArray(rows, {"step": list(steps), "of": ["mean", "variance"]}, ("step", "of", "group"))


def unexplained_by_eq_9(exponents: xr.DataArray) -> xr.DataArray:
    """What Eq. 9, as printed, leaves unexplained of an L-model of three classes whose β/α changes in time.

    The paper writes the solution as three fixed vectors, multiplied by 1, e^((A − B)/3) and e^((A + B/2)/3). The best
    vectors are found by least squares.

    Parameters
    ----------
    exponents : DataArray
        β fades as 1/(1 + t)^exponent, and α as 1/(1 + t)^0.8: Eq. 9 is exact if this is 0.8, too.

    Returns
    -------
    DataArray
        Over the same dimension: largest distance from the solution at 12 times up to 6, over the solution's size.

    Examples
    --------
    >>> from deepmech import over
    >>> bool(unexplained_by_eq_9(over("exponent", [0.8])) < 1e-9)
    True
    """
    times, left = np.linspace(0.2, 6, 12), []
    for exponent in exponents.values:
        model = ElasticSDE(PowerLaw(1.5, 0.8), PowerLaw(-0.5, float(exponent)), 3, structure="logits")
        a, b = (integral(times)[0] for _, integral in model.rates())
        basis = np.stack([np.ones(12), np.exp((a - b) / 3), np.exp((a + b / 2) / 3)], 1)
        x = integrated(model, times, start(3, 3)).reshape(12, -1)
        left.append(off(basis @ np.linalg.lstsq(basis, x, rcond=None)[0], x))
    return exponents.copy(data=left)
