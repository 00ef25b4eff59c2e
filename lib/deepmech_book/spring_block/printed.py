"""Fig. 1 as printed: 192 cells, read from the paper's vector figure (``fig1_printed.csv`` beside this module)."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech.metrics.curvature import curvature
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.spring_block.words import said
from deepmech_book.sweeps.spring_block.networks import PANELS, SLOPES


def printed(panel):
    """One panel of Fig. 1 over ``slope`` and its noise, in the order of its columns, as networks are given.

    ``accuracy`` is a fraction, from the colour of the cell (± 0.0004); ``load_curve`` is normalised to its range
    (± 0.005).
    """
    if panel not in PANELS:
        raise ValueError(f"printed: panel = {panel!r}: must be one of {', '.join(PANELS)}")
    one = PANELS[panel]
    with files("deepmech_book.spring_block").joinpath("fig1_printed.csv").open(encoding="utf-8") as text:
        rows = pd.read_csv(text)
    rows = rows[rows["panel"] == one.letter].rename(columns={"alpha": "slope", "axis_value": panel})
    # Columns are named by numbers that were typed alike in both places.
    cells = rows.astype({"slope": float, panel: float}).set_index(["slope", panel]).to_xarray()
    cells = cells.sel({"slope": list(SLOPES), panel: list(one.values)})
    layers = [cells[f"Dnorm_{layer}"].astype(float) for layer in range(8)]
    load = xr.concat(layers, xr.Variable("layer", np.arange(8))).transpose(..., "layer")
    return xr.Dataset({"load_curve": load, "accuracy": cells["test_acc"] / 100, "curvature": curvature(load)})


def points(made, theirs):
    """Accuracies, mean over seeds, less the printed ones, in percentage points."""
    return 100 * (made["accuracy"].mean("seed", skipna=False) - theirs["accuracy"])


def off_print(made, theirs):
    """Ours, mean over seeds, less the print: ``accuracy`` in percentage points, and ``load_curve``, each normalised to
    its range as printed ones are."""
    load = made["load_curve"].mean("seed", skipna=False)
    low, high = load.min("layer"), load.max("layer")
    shape = (load - low) / (high - low)
    return xr.Dataset({"accuracy": points(made, theirs), "load_curve": shape - theirs["load_curve"]})


def rms(difference):
    """Root mean square over all cells that there are."""
    return float((difference**2).mean() ** 0.5)


def beside_best_epoch(made, along, theirs):
    """Root mean square distance from the printed accuracies, in percentage points, beside that of other networks at the
    ``at_epoch`` at which it is smallest.

    Its intervals are over seeds, which both have, and the best epoch is chosen anew without each of these.
    """
    both = xr.Dataset({"own": made["accuracy"], "other": along["accuracy"]})

    def off(some):
        each = [points({"accuracy": some[name]}, theirs) ** 2 for name in both]
        return [float((one.mean(theirs["accuracy"].dims) ** 0.5).min()) for one in each]

    own = estimate(both, "seed", "symmetric", of=lambda some: off(some)[0])
    apart = estimate(both, "seed", "symmetric", of=lambda some: np.subtract(*off(some)))
    return replace(own, null=off(both)[1], difference=apart.interval)


def table_of_distances(off):
    """Of each panel rms and mean distances of accuracies (points) and of curves."""
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


def beside_their_accuracy(off, theirs):
    """Printed accuracies (per cent), ours less these (points), and the panel, a point a cell."""
    cells = [
        xr.Dataset({"print": 100 * theirs[title]["accuracy"], "difference": one["accuracy"]})
        .stack(cell=one["accuracy"].dims)
        .reset_index("cell", drop=True)[["print", "difference"]]
        for title, one in off.items()
    ]
    both = xr.concat(cells, xr.Variable("panel", list(off)))
    panel = both["panel"].broadcast_like(both["print"]).transpose(*both["print"].dims)
    return (
        said(both["print"], "test accuracy in print", "%"),
        said(both["difference"], "ours − print", "percentage points"),
        panel,
    )


@measures("A.errata.fig1a_images")
def images_of_fig_1a(fewer, along, printed):
    """Distance from the print with fewer images, networks of the same seeds; the null: with all, at the best
    ``at_epoch`` along the way."""
    return Measurement(beside_best_epoch(fewer.sel(seed=along["seed"].values), along, printed))
