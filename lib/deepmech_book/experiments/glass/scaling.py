"""What scaling down keeps and what it changes: regularised networks on more and more samples of one data set.

Kept are N/P_D (within what whole widths allow), λ, μ, χ, the number of steps, and the noise of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr

from deepmech.sweeps import Sweep, result
from deepmech_book.experiments.glass import phases, walks
from deepmech_book.experiments.glass.walks import WHITENED

TEMPERATURES = (0.01, 1e-3, 1e-4, 1e-6, 0.0)


def standard(
    dataset: str,
    sizes: Sequence[int] = (2000, 4000, 8000),
    widths: Sequence[int] | None = None,
    temperatures: Sequence[Sequence[float]] | None = None,
    n_seeds: Sequence[int] = (24, 12, 12),
    steps: Sequence[int] = (30_000, 120_000, 20_000),
    waiting: Sequence[Sequence[int]] | None = None,
    preparation: dict[str, Any] = WHITENED["regularised"],
) -> dict[int, Sweep]:
    """P_D -> the sweep of the regularised phase at that size, with whitened inputs.

    Lists go with ``sizes``; None takes the widths of N/P_D, :data:`TEMPERATURES` and a first wait of 10,000 steps.

    Examples
    --------
    >>> {n: sweep.fixed["width"] for n, sweep in standard("mnist").items()}
    {2000: 5, 4000: 7, 8000: 10}
    """
    made = {}
    for i, n in enumerate(sizes):
        hot = TEMPERATURES if temperatures is None else temperatures[i]
        waits = [w for w in ((10_000,) if waiting is None else waiting[i]) if w < steps[i]]
        if not waits:
            raise ValueError(f"scaling: steps = {steps[i]}: must be more than the first waiting time, at P_D = {n}")
        data = {"name": dataset, "n_data": n, "whiten": True}
        made[n] = walks.phase_sweep(
            "regularised", data, hot, n_seeds[i], steps[i], waits, preparation,
            None if widths is None else widths[i], f"glass-scaling-{n}-{dataset}",
        )  # fmt: skip
    return made


def survivors(dataset: str, sizes: Sequence[int], *how: Any) -> dict[int, xr.Dataset]:
    """Survivors at every size; ``how`` as for :func:`standard`."""
    return {n: phases.survivors(result(sweep)) for n, sweep in standard(dataset, sizes, *how).items()}
