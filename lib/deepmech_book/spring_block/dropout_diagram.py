"""Fig. 1(c) layer by layer; what its panel shares with the others of Fig. 1 is judged on the page noise_diagrams."""

import numpy as np

from deepmech.core.estimates import two_decimals
from deepmech.metrics.curvature import curvature
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside_others
from deepmech_book.spring_block import summaries
from deepmech_book.spring_block.words import SEPARATION, said

# --- pictures


def side_by_side(chain, networks):
    """Diagrams of chains over noise and friction, and of networks over dropout and slope; means over runs and seeds."""
    run = chain["load_curve"].transpose("noise", "friction_right", ...)
    run["friction_right"].attrs["long_name"] = r"friction $\mu_\rightarrow$"
    blocks = run.mean("run").to_dataset(name="load_curve")
    blocks = blocks.assign(curvature=curvature(run, dim="block").mean("run"))
    layers = networks[["load_curve", "curvature"]].mean("seed", skipna=False).transpose("dropout", "slope", ...)
    return {"a chain": blocks, "networks": layers}


def of_relu(networks):
    """Load curves of ReLU networks over dropout."""
    return said(networks["load_curve"].mean("seed", skipna=False).isel(slope=0, drop=True), SEPARATION)


def cells(networks):
    """Curvature, test accuracy in per cent and negative slope of every cell, means over seeds."""
    means = networks.mean("seed", skipna=False)
    bend = said(means["curvature"], "signed curvature")
    percent = said(100 * means["accuracy"].transpose(*bend.dims), "test accuracy", "%")
    return bend, percent, means["slope"].broadcast_like(bend).transpose(*bend.dims)


ROWS = {
    "within rows: with |curvature|": "within rows: size of the bend",
    "within rows: with that distance": "within rows: distance from the best dropout",
    "rank correlation of accuracy with |curvature|": "all cells: size of the bend",
    "the same, with the distance from the noise best in other rows": "all cells: distance from the best dropout",
    "highest accuracy": "highest accuracy",
    "its cell": "its cell",
    "its curvature": "its curvature",
}


def table(made):
    """Bend and rival, the interval of their difference, and the best cell, of diagrams by title."""
    told = summaries.table(made).loc[list(ROWS)].rename(ROWS)
    for kind in ("all cells", "within rows"):
        found = [summaries.NetworkDiagram(one).falls(in_rows=kind == "within rows") for one in made.values()]
        ends = [map(two_decimals, one.difference or (np.nan, np.nan)) for one in found]
        told.loc[f"{kind}: first less second"] = [f"[{low}, {high}]" for low, high in ends]
    return told.iloc[[0, 1, 8, 2, 3, 7, 4, 5, 6]]


# --- claims


@measures("A.1.c.each_layer")
def each_layer(load, untrained):
    """Fall of D from layer to layer of networks over ``seed``, and of ``untrained`` networks of one cell."""
    falls, random = (-one.diff("layer") for one in (load, untrained))
    return Measurement(beside_others(falls, random, "seed", "skewed"))
