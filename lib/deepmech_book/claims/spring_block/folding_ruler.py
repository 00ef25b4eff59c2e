"""Claims of the page spring_block/folding_ruler.

``final`` are extensions of the pairs at the end, over ``pull`` (slow, jerked along the line, shaken sideways), ``pair``
from the pin to the hand, ``table_friction`` and ``run``.
"""

from __future__ import annotations

import xarray as xr

from deepmech_book.claims.functions import Measurement, measures


@measures("A.S1.slow")
def slow(final: xr.DataArray) -> Measurement:
    """Extension at the hand less that at the pin after the slow pull."""
    slowly = final.sel(pull="slow", drop=True).mean("run")
    words = "On three tables of different friction. On a table without friction the slow profile is even."
    return Measurement(slowly.isel(pair=-1, drop=True) - slowly.isel(pair=0, drop=True), detail=words)


@measures("A.S1.jerky")
def jerky(final: xr.DataArray) -> Measurement:
    """Unevenness of the shaken ruler, by that of the slow one."""
    uneven = final.std("pair")
    by_slow = (uneven / uneven.sel(pull="slow", drop=True)).mean("run")
    shaken, jerked = (by_slow.sel(pull=how, drop=True) for how in ("shaken sideways", "jerked along the line"))
    words = f"Jerks along the line alone: {float(jerked.min()):.1f} to {float(jerked.max()):.1f}, by table friction."
    return Measurement(shaken, detail=f"Nothing is random where the ruler is shaken, so one run is enough. {words}")
