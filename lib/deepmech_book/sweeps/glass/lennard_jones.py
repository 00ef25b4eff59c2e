"""The rival of every mark that networks lack: a glass former, measured as networks are.

The particles of Fig. 6 (:class:`~deepmech_book.sweeps.glass.binary_glass.BinaryGlass`), cooled to temperatures at
which they feel their landscape. Times are in steps of molecular dynamics, temperatures and windows in units
of the mixture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.sweeps import to_records
from deepmech_book.sweeps.glass.binary_glass import BinaryGlass
from deepmech_book.sweeps.policy import verification_policy

CAGE, ESCAPE = 0.1, 0.3
"""Windows, in diameters of large particles: about how far a coordinate swings in its cage, and far outside of it."""


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The same cooling, and the first records."""
    return fixed | {"times": fixed["times"][:8]}, ["overlap", "msd"]


@verification_policy(part=_begin)
def relax_cells(cells: xr.Dataset, waiting: int, times: list[int]) -> xr.Dataset:
    """``overlap`` (window, time) and ``msd`` (time) of the large particles' coordinates, of each cell."""
    mixture = BinaryGlass()
    large = np.repeat(mixture.species == 0, 3)
    moves = []
    for cell in to_records(cells):
        temperature, stream = float(cell["temperature"]), Stream.of("glass former", int(cell["seed"]))
        cooling = [np.full(2000, 1.0), np.linspace(1.0, temperature, 4000), np.full(waiting, temperature)]
        x = mixture.molecular_dynamics(mixture.crystal(stream), np.concatenate(cooling), stream)
        begin, now, moved = x[large], 0, []
        for t in times:
            x = mixture.molecular_dynamics(x, np.full(t - now, temperature), stream, 6000 + waiting + now)
            moved.append(np.abs(x[large] - begin))
            now = t
        moves.append(moved)
    far = xr.DataArray(np.array(moves), dims=("cell", "time", "coordinate"))
    windows = xr.DataArray([CAGE, ESCAPE], dims="window")
    coords = {"cell": cells.cell, "time": times, "window": windows.values}
    overlap = (far < windows).mean("coordinate").transpose("cell", "window", "time")
    return xr.Dataset({"overlap": overlap, "msd": (far**2).mean("coordinate")}, coords)
