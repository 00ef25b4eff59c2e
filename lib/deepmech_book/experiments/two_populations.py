"""Two populations: the weights themselves of the cold walks in which some are fast and others slow (Fig. 7 of paper C).

The sweeps of :mod:`.glass.walks` keep sums over weights. :func:`weights` walks the same networks again, to the bit,
and keeps every weight at the first waiting time, half-way and at the end; :mod:`.slow_weights` asks where the slow ones
sit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.specs import over
from deepmech.sweeps import Sweep, each
from deepmech.trainers.langevin import Dynamics
from deepmech_book.experiments.glass import walks, wells
from deepmech_book.experiments.glass.walks import binary

COLDEST = {"regularised": 1e-8, "underparameterised": 1e-6}
"""The lowest temperature above 0 of each phase whose cold weights are of two kinds, in the paper's units."""
N_SEEDS = 16
"""Four more than in the chapter: an interval of skewed shares needs ten networks that have learnt."""


def weights(phase: str, dataset: str = "mnist", longest: int = 30_000) -> Sweep:
    """The coldest walk of a phase, one cell for each initial condition.

    Parameters
    ----------
    longest : steps of the displacement at most; it ends at one of the times that the chapter records.

    Examples
    --------
    >>> weights("regularised").fixed["stops"]
    [10000, 22888, 35776]
    """
    if phase not in COLDEST:
        raise ValueError(f"weights: phase = {phase!r}: must be one of {', '.join(map(repr, COLDEST))}")
    like = walks.standard(phase, dataset)
    waiting, steps = like.fixed["waiting"][0], like.fixed["steps"]
    last = max(t for t in like.fixed["times"] if t + waiting <= steps and t <= longest)
    fixed = {name: like.fixed[name] for name in ("data", "width", "regularisation", "preparation")}
    fixed |= {"temperature": COLDEST[phase], "stops": [waiting, waiting + last // 2, waiting + last]}
    return Sweep(
        f"glass-weights-{phase}-{dataset}", f"{__name__}:walk_weights", {"seed": over("seed", range(N_SEEDS))}, fixed,
        data=like.data,
    )  # fmt: skip


def walk_weights(
    cells: xr.Dataset,
    data: dict[str, Any],
    width: int,
    regularisation: float,
    temperature: float,
    stops: list[int],
    preparation: dict[str, Any],
) -> xr.Dataset:
    """Prepare one network per ``seed``, let it walk, and keep its weights.

    Returns
    -------
    Dataset
        Over ``cell``: ``weights`` (step, weight), as of :func:`.glass.wells.walked`.
    """
    loaded = binary(**data)
    dynamics = Dynamics(
        width=width,
        regularisation=regularisation,
        learning_rate=walks.RATE,
        temperature=walks.temperature_at(temperature, len(loaded.x)),
    )
    rows = [wells.walked(int(cell["seed"]), loaded, [dynamics], preparation, stops)[0] for cell in each(cells)]
    found = {"weights": (("cell", "step", "weight"), np.stack(rows))}
    return xr.Dataset(found, {"step": stops}, {"device": "cpu", "dtype": dynamics.dtype})
