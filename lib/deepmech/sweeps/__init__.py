"""Grids of cells, computed chunk by chunk into a store that survives a kill, and returned as labelled arrays.

A :class:`Sweep` names the function that computes cells. :func:`run` computes what is missing and returns the grid,
:func:`load` only reads it.
"""

from deepmech.core.labels import to_records
from deepmech.sweeps.run import CellsFailedError, IncompleteError, load, run
from deepmech.sweeps.store import DamagedChunkWarning
from deepmech.sweeps.sweep import Sweep, sweep_of

__all__ = [
    "CellsFailedError",
    "DamagedChunkWarning",
    "IncompleteError",
    "Sweep",
    "load",
    "run",
    "sweep_of",
    "to_records",
]
