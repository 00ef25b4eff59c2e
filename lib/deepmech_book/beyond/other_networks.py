"""Whether the phases of Fig. 1 exist in networks of other kinds, and what finer images do to the load curve.

Networks are over ``slope``, ``dropout`` and ``seed`` by kind, and ``sizes`` over ``images`` and ``seed``.
"""

import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech.metrics.curvature import curvature
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside
from deepmech_book.spring_block.summaries import over_diagrams

CORNERS = xr.Variable("corner", ["no dropout", "much dropout"])
SIGNS = xr.DataArray([1.0, -1.0], {"corner": CORNERS}, "corner")


def ends(networks):
    """Curvature with the least and with the most dropout."""
    bend = networks["curvature"]
    return (bend.sel(dropout=at, drop=True) for at in (bend["dropout"].min(), bend["dropout"].max()))


def corners(networks):
    """Curvature with the smallest slope and the least dropout, and minus that with the most, mean over slopes.

    Both are positive where a diagram has a concave and a convex phase.
    """
    least, most = ends(networks)
    return xr.concat([least.sel(slope=least["slope"].min(), drop=True), -most.mean("slope")], CORNERS)


def table_of_corners(trained, untrained):
    """Curvature in both corners with its interval over seeds, and that of the same networks untrained, by kind."""
    rows = {}
    for kind, one in trained.items():
        bend = estimate(SIGNS * corners(one), "seed", "symmetric")
        before = (SIGNS * corners(untrained[kind])).mean("seed")
        columns = {"curvature": bend.value, "from": bend.low, "to": bend.high, "untrained": before}
        rows[kind] = xr.Dataset(columns).to_dataframe()
    return pd.concat(rows, names=["network", "corner"])


def share_of_first_layer(load):
    """Part of a load curve's fall that its first step takes."""
    first, last = (load.isel(layer=0) - load.isel(layer=at) for at in (1, -1))
    return first / last


def table_of_images(sizes):
    """What load curves do, in the whole and from layer 1 on; means over seeds."""
    load = sizes["load_curve"]
    columns = {
        "curvature": sizes["curvature"],
        "curvature from layer 1": curvature(load.isel(layer=slice(1, None)), "layer"),
        "share of the first layer": share_of_first_layer(load),
        "test accuracy": sizes["accuracy"],
    }
    return pd.DataFrame({name: one.mean("seed").to_series() for name, one in columns.items()})


# --- claims


@measures("A.1.travels.plain", "A.1.travels.residual", "A.1.travels.transformer")
def phases(trained, untrained):
    """Curvature without dropout, and minus that with much; null: of the same networks untrained."""
    found, before = map(corners, (trained, untrained))
    best = 100 * float(trained["accuracy"].mean("seed").max())
    words = f"Test accuracy of the best cell: {best:.1f} %. Of {trained['curvature'].size} networks."
    return Measurement(beside(found, before, "seed"), detail=words)


@measures("A.1.travels.accuracy")
def accuracy(diagrams):
    """Rank correlation of accuracy with the size of the curvature, by kind; null: with the distance from the dropout
    rate that is best in other rows."""
    return Measurement(over_diagrams(diagrams, lambda one: one.falls()))


@measures("A.1.travels.resolution")
def resolution(sizes):
    """Curvature on 10×10 pixels less that on 28×28; null: less that on repeated pixels."""
    bend = sizes["curvature"]
    coarse, fine, repeated = (bend.sel(images=name, drop=True) for name in ("10", "28", "10 as 28"))
    right = (100 * sizes["accuracy"].mean("seed")).to_series()
    words = ", ".join(f"{share:.1f} % ({name})" for name, share in right.items())
    words = f"Test accuracy {words}. Of {bend.size} networks."
    return Measurement(beside(coarse - fine, coarse - repeated, "seed"), detail=words)
