"""Single steps, their limit and its closed forms: Eqs. 1 to 9 of paper B."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw, mean_solution, train_discrete
from deepmech_book.analysis.elastic_sde.model import integrated, off, start

__all__ = ["closed_form_error", "distance_from_limit", "order_of_convergence", "unexplained_by_eq_9"]

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
    intra, inter = (part[0] for part in model.drift_parts(model.batch()))
    rows = []
    for h in steps:
        step = np.eye(model.n_classes) + h * (model.intra * intra + model.inter * inter)
        expected = np.linalg.matrix_power(step, round(t_end / h)) @ start.ravel()
        runs = train_discrete(model, [t_end], start, h, n_samples=n_samples, n_runs=n_runs).feature_value
        groups = np.array_split(runs.mean("sample").transpose("run", ...).values, GROUPS)
        rows.append((np.full(GROUPS, abs(expected - limit).max()), [part.var(0).max() for part in groups]))
    return xr.DataArray(rows, {"step": list(steps), "of": ["mean", "variance"]}, ("step", "of", "group"))


def order_of_convergence(error: xr.DataArray) -> xr.DataArray:
    """The power p of h with which an error falls: the slope of its logarithm over log h, by least squares.

    Parameters
    ----------
    error : DataArray
        Over ``step`` and any others; positive.

    Examples
    --------
    >>> h = np.array([0.1, 0.2, 0.4])
    >>> round(float(order_of_convergence(xr.DataArray(5 * h**2, {"step": h}, "step"))), 9)
    2.0
    """
    logs = xr.apply_ufunc(np.log, error).assign_coords(step=np.log(error["step"].values))
    return logs.polyfit("step", 1).polyfit_coefficients.sel(degree=1)


def closed_form_error(structure: Literal["isotropic", "logits"], n_classes: Sequence[int]) -> xr.DataArray:
    """Distance of the closed form of the class means from numerical integration, for effects that change in time.

    Parameters
    ----------
    structure : {"isotropic", "logits"}
        The I-model, Eq. 7, or the L-model, Eq. 9 mended.
    n_classes : sequence of int
        Numbers of classes K; as many features.

    Returns
    -------
    DataArray
        Over ``classes``: the largest distance at five times up to 5, over the size of the solution.

    Examples
    --------
    >>> bool((closed_form_error("isotropic", [2]) < 1e-6).all())
    True
    """
    errors, times = [], np.linspace(0, 5, 6)[1:]
    for k in n_classes:
        model, x0 = ElasticSDE(PowerLaw(1.5, 0.6), PowerLaw(-0.5, 1.2), k, k, structure), start(k, k)
        errors.append(off(mean_solution(model, times, x0)["mean"].values, integrated(model, times, x0)))
    return over("classes", list(n_classes)).copy(data=errors)


def unexplained_by_eq_9(exponent: float) -> float:
    """What Eq. 9, as printed, leaves unexplained of an L-model of three classes whose β/α changes in time.

    The paper writes the solution as three fixed vectors, multiplied by 1, e^((A − B)/3) and e^((A + B/2)/3). The best
    vectors are found by least squares.

    Parameters
    ----------
    exponent : float
        β fades as 1/(1 + t)^exponent, and α as 1/(1 + t)^0.8: Eq. 9 is exact if this is 0.8, too.

    Returns
    -------
    float
        Largest distance from the solution at 12 times up to 6, over the solution's size.
    """
    times = np.linspace(0.2, 6, 12)
    model = ElasticSDE(PowerLaw(1.5, 0.8), PowerLaw(-0.5, exponent), 3, structure="logits")
    a, b = (integral(times)[0] for _, integral in model.rates())
    basis = np.stack([np.ones(12), np.exp((a - b) / 3), np.exp((a + b / 2) / 3)], 1)
    x = integrated(model, times, start(3, 3)).reshape(12, -1)
    return off(basis @ np.linalg.lstsq(basis, x, rcond=None)[0], x)
