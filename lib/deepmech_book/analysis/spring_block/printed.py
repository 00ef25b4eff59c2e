"""Fig. 1 as printed: 192 cells, read from the paper's vector figure (``fig1_printed.csv`` beside this module)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, leave_one_out
from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.spring_block.summaries import NetworkDiagram
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


def off_print(made: xr.Dataset, theirs: xr.Dataset) -> xr.Dataset:
    """Ours, mean over seeds, less the print: ``accuracy`` in percentage points, and ``load_curve``, each normalised to
    its range as printed ones are.

    Parameters
    ----------
    made : Dataset
        ``accuracy`` and ``load_curve`` over a panel's cells and ``seed``.
    theirs : Dataset
        The panel of :func:`printed`.
    """
    load = made["load_curve"].mean("seed", skipna=False)
    low, high = load.min("layer"), load.max("layer")
    shape = (load - low) / (high - low)
    return xr.Dataset({"accuracy": _points(made, theirs), "load_curve": shape - theirs["load_curve"]})


def rms(difference: xr.DataArray) -> float:
    """Root mean square over all cells that there are."""
    return float((difference**2).mean() ** 0.5)


def beside_best_epoch(made: xr.Dataset, along: xr.Dataset, theirs: xr.Dataset) -> Estimate:
    """Root mean square distance from the printed accuracies, in percentage points, beside that of other networks at the
    ``at_epoch`` at which it is smallest.

    Its intervals are over the cells, and the best epoch is chosen anew without each of these.
    """
    squares = [_points(one, theirs) ** 2 for one in (made, along)]
    own, other = (one.stack(cell=squares[0].dims).reset_index("cell", drop=True) for one in squares)
    without = leave_one_out(own, "cell") ** 0.5
    less = without - (leave_one_out(other, "cell") ** 0.5).min("at_epoch")
    distance, best = float(own.mean() ** 0.5), float((other.mean("cell") ** 0.5).min())
    apart = jackknife(distance - best, less, over="cell", scatter="symmetric")
    found = jackknife(distance, without, over="cell", scatter="symmetric")
    return replace(found, null=best, difference=apart.interval)


def _points(made: xr.Dataset, theirs: xr.Dataset) -> xr.DataArray:
    """Accuracies, mean over seeds, less the printed ones, in percentage points."""
    return 100 * (made["accuracy"].mean("seed", skipna=False) - theirs["accuracy"])


def table_of_distances(off: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """A row for each panel of :func:`off_print`: rms and mean distances of accuracies (points) and of curves."""
    rows = {}
    for title, one in off.items():
        accuracy, curve = one["accuracy"], one["load_curve"]
        rows[title] = {
            "accuracy, rms": rms(accuracy), "accuracy, mean": float(accuracy.mean()),
            "about that mean, rms": rms(accuracy - accuracy.mean()),
            "load curve, rms": rms(curve), "load curve, mean distance": float(abs(curve).mean()),
        }  # fmt: skip
    table = pd.DataFrame(rows).T
    return table.round({name: 3 if "curve" in name else 2 for name in table})


def best_cells_in_print(panels: Mapping[str, NetworkDiagram]) -> pd.DataFrame:
    """A row for each panel of Fig. 1: where accuracy is highest, in these networks and in printed ones, in words."""
    rows = {}
    for title, here in panels.items():
        theirs = NetworkDiagram(printed(here.noise).expand_dims(seed=1))
        rows[title] = {
            "c₀, here": str(here.straightest), "c₀, in print": str(theirs.straightest),
            "best cell, here": str(here.best_curvature), "best cell, in print": str(theirs.best_curvature),
            "bent − straight, in print": str(theirs.bent_gains),
        }  # fmt: skip
    return pd.DataFrame(rows).T


def beside_their_accuracy(off: Mapping[str, xr.Dataset], theirs: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Printed accuracies (per cent) and ours less these (points), over ``panel`` and ``cell``."""
    points = [
        xr.Dataset({"print": 100 * theirs[title]["accuracy"], "difference": one["accuracy"]})
        .stack(cell=one["accuracy"].dims)
        .reset_index("cell", drop=True)[["print", "difference"]]
        for title, one in off.items()
    ]
    return xr.concat(points, xr.Variable("panel", list(off)))
