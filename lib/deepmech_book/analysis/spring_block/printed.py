"""Fig. 1 as printed: 192 cells, read from the paper's vector figure (``fig1_printed.csv`` beside this module)."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech_book.sweeps.spring_block import networks


def printed(panel: str) -> xr.Dataset:
    """One panel of Fig. 1 as printed, a key of :data:`.networks.PANELS`.

    Returns
    -------
    Dataset
        Over ``slope`` and the panel's noise, in the order of its columns: ``accuracy``, a fraction, from the colour of
        the cell (± 0.0004); ``load_curve``, normalised to its range (± 0.005), over ``layer``; its ``curvature``.

    Examples
    --------
    >>> round(float(printed("dropout").accuracy.sel(slope=0.0, dropout=0.0)), 3)
    0.92
    """
    if panel not in networks.PANELS:
        raise ValueError(f"printed: panel = {panel!r}: must be one of {', '.join(networks.PANELS)}")
    one = networks.PANELS[panel]
    file = files("deepmech_book.analysis.spring_block").joinpath("fig1_printed.csv")
    with file.open(encoding="utf-8") as text:
        rows = pd.read_csv(text)
    rows = rows[rows["panel"] == one.letter].rename(columns={"alpha": "slope", "axis_value": panel})
    # Columns are named by numbers that were typed alike in both places.
    cells = rows.astype({"slope": float, panel: float}).set_index(["slope", panel]).to_xarray()
    cells = cells.sel({"slope": list(networks.SLOPES), panel: list(one.values)})
    layers = [cells[f"Dnorm_{layer}"].astype(float) for layer in range(8)]
    load = xr.concat(layers, xr.Variable("layer", np.arange(8))).transpose(..., "layer")
    return xr.Dataset({"load_curve": load, "accuracy": cells["test_acc"] / 100, "curvature": curvature(load)})
