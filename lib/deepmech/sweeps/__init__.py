"""Room: grids of cells, computed chunk by chunk into a store that survives a kill, and returned as labelled arrays.

A :class:`Sweep` names the function that computes cells. :func:`run` computes what is missing and returns the grid,
:func:`load` only reads it; :func:`result` gives what ships with the book, a part of a larger grid too, or else computes
it; :func:`ship` and :func:`verify` make and check what ships.
"""

from deepmech.core.labels import to_records
from deepmech.sweeps.record import Report, Stale, verify
from deepmech.sweeps.results import NotShipped, cli_run, cli_verify, result, ship
from deepmech.sweeps.store import DamagedChunk, StoreError
from deepmech.sweeps.sweep import CellsFailed, Incomplete, Sweep, connect, load, recomputed, run

__all__ = [
    "CellsFailed",
    "DamagedChunk",
    "Incomplete",
    "NotShipped",
    "Report",
    "Stale",
    "StoreError",
    "Sweep",
    "cli_run",
    "cli_verify",
    "connect",
    "load",
    "recomputed",
    "result",
    "run",
    "ship",
    "to_records",
    "verify",
]
