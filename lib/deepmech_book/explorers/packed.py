"""Arrays in a page: rounded to a stated step and packed, two bytes a number."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

MISSING = -32768
"""Stands for what is not a number."""


def packed(values: Any, step: float) -> dict[str, Any]:
    """Numbers as 16-bit multiples of ``step``, flat, row by row; ``packed.js`` reads them.

    Raises
    ------
    ValueError
        If a number is too large for this step.

    Examples
    --------
    >>> packed([0.1234, 1.0], 0.001)
    {'step': 0.001, 'data': 'ewDoAw=='}
    """
    values = np.asarray(values, float).ravel()
    counts = np.where(np.isfinite(values), np.round(values / step), MISSING)
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest > 32767 * step:
        raise ValueError(f"packed: step = {step}: two bytes hold numbers up to {32767 * step:g}; one is {largest:g}")
    return {"step": step, "data": base64.b64encode(counts.astype("<i2").tobytes()).decode("ascii")}
