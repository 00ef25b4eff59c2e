"""Effects that change in time: numbers, power laws and tables, with their integrals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import Number, Spec

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
PANELS = 8
"""Gauss–Legendre panels (of 12 points) between two times for which an integral is wanted."""


@dataclass(frozen=True, eq=False)
class PowerLaw(Spec):
    """The effect scale/(1 + t)^exponent + offset (paper B, Eq. D.17), any of the three a labelled array.

    Examples
    --------
    >>> round(float(PowerLaw(scale=2.0, exponent=1.0).flat(scale=2.0, exponent=1.0, offset=0.0)[1](np.e - 1)), 6)
    2.0
    """

    scale: Number
    exponent: Number
    offset: Number = 0.0

    def __post_init__(self) -> None:
        self.require_numbers("scale", "exponent", "offset")

    @staticmethod
    def flat(scale: Any, exponent: Any, offset: Any) -> tuple[Rate, Rate]:
        """The effect and its integral from 0, as functions of time that broadcast against the parameters."""

        def value(t: Any) -> Any:
            return scale * (1 + t) ** -exponent + offset

        def integral(t: Any) -> Any:
            log = np.log1p(t)
            # (e^{q log} − 1)/q without loss near q = 0, where it is the logarithm itself
            q = (1 - exponent) * log
            safe = np.where(q == 0, 1.0, q)
            return scale * log * np.where(q == 0, 1.0, np.expm1(safe) / safe) + offset * t

        return value, integral


Rate = Callable[[Any], Any]
Effect = Number | PowerLaw
"""A number, a labelled array (linear in between if it has a dimension ``time``), or a power law."""


def is_table(effect: Any) -> bool:
    return isinstance(effect, xr.DataArray) and "time" in effect.dims


def batch_fields(name: str, effect: Any) -> dict[str, Any]:
    """What of an effect takes part in broadcasting: its numbers, or the rows of its table."""
    if isinstance(effect, PowerLaw):
        return {f"{name}_{k}": getattr(effect, k) for k in ("scale", "exponent", "offset")}
    if is_table(effect):
        rows = effect.isel(time=0, drop=True)
        return {f"{name}_row": rows.copy(data=np.arange(rows.size).reshape(rows.shape))}
    return {name: effect}


def rate(name: str, effect: Any, flat: Any) -> tuple[Rate, Rate]:
    """An effect and its integral as functions of times (T,), for all members at once: (n, T) or (1, T)."""
    if isinstance(effect, PowerLaw):
        return PowerLaw.flat(
            *(np.asarray(flat[f"{name}_{k}"], float)[:, None] for k in ("scale", "exponent", "offset"))
        )
    if is_table(effect):
        return _table(effect, flat[f"{name}_row"])
    constant = np.asarray(flat[name], float)[:, None]
    return (lambda t: constant + 0 * np.asarray(t)), (lambda t: constant * np.asarray(t))


def _table(effect: xr.DataArray, rows: np.ndarray) -> tuple[Rate, Rate]:
    knots = np.asarray(effect["time"], float)
    values = effect.transpose(..., "time").values.reshape(-1, len(knots)).astype(float)[rows]
    steps = np.diff(knots)
    areas = np.concatenate([np.zeros((len(rows), 1)), np.cumsum((values[:, 1:] + values[:, :-1]) / 2 * steps, 1)], 1)

    def place(t: Any) -> tuple[np.ndarray, np.ndarray]:
        t = np.atleast_1d(np.asarray(t, float))
        if t.min() < knots[0] - 1e-9 or t.max() > knots[-1] + 1e-9:
            raise ValueError(
                f"an effect is tabulated from t = {knots[0]:g} to {knots[-1]:g} and was asked for at "
                f"{t.min() if t.min() < knots[0] else t.max():g}; extend the table or shorten the run"
            )
        i = np.clip(np.searchsorted(knots, t, "right") - 1, 0, len(knots) - 2)
        return i, t - knots[i]

    def value(t: Any) -> np.ndarray:
        i, rest = place(t)
        return values[:, i] + (values[:, i + 1] - values[:, i]) * rest / steps[i]

    def integral(t: Any) -> np.ndarray:
        i, rest = place(t)
        return areas[:, i] + (values[:, i] + value(t)) / 2 * rest

    return value, integral


def panels(ends: np.ndarray, number: int = PANELS) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights, each (len(ends) − 1, ``number`` · 12), that integrate from each of ``ends`` to the next.

    Panels are even in log(1 + t), so that power laws over many decades are integrated as well as slow changes.
    """
    logs = np.log1p(ends)
    cuts = np.expm1(logs[:-1, None] + np.diff(logs)[:, None] * np.linspace(0, 1, number + 1))
    half = np.diff(cuts, axis=1)[..., None] / 2
    nodes = (cuts[:, :-1, None] + cuts[:, 1:, None]) / 2 + half * _NODES
    shape = (len(half), number * len(_NODES))
    return nodes.reshape(shape), (half * _WEIGHTS).reshape(shape)
