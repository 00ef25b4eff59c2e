"""Claims of the page beyond/other_networks: the phases of Fig. 1 in other networks, and on finer images.

``trained`` and ``untrained`` are diagrams of one kind of network, ``diagrams`` such by kind, and ``sizes`` networks
over ``images``, of :mod:`deepmech_book.sweeps.spring_block.architectures`.
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech.core.estimates import estimate
from deepmech_book.analysis.beyond import other_networks
from deepmech_book.analysis.nulls import beside
from deepmech_book.analysis.spring_block.summaries import over_diagrams
from deepmech_book.claims.functions import Measurement, measures

Diagrams = Mapping[str, xr.Dataset]


@measures("A.1.travels.plain", "A.1.travels.residual", "A.1.travels.transformer")
def phases(trained: xr.Dataset, untrained: xr.Dataset) -> Measurement:
    """Curvature without dropout, and minus that with much; null: of the same networks untrained."""
    found, before = map(other_networks.corners, (trained, untrained))
    best = 100 * float(trained["accuracy"].mean("seed").max())
    words = f"Test accuracy of the best cell: {best:.1f} %. Of {trained['curvature'].size} networks."
    return Measurement(beside(found, before, "seed"), detail=words)


@measures("A.1.travels.bends")
def bends(diagrams: Diagrams) -> Measurement:
    """Curvature with the most dropout less that with none, by kind."""
    return Measurement(estimate(other_networks.falls(diagrams), "seed", "symmetric"))


@measures("A.1.travels.accuracy")
def accuracy(diagrams: Diagrams) -> Measurement:
    """Rank correlation of accuracy with the size of the curvature, by kind; null: with the distance from the dropout
    rate that is best in other rows."""
    return Measurement(over_diagrams(diagrams, lambda one: one.falls))


@measures("A.1.travels.resolution")
def resolution(sizes: xr.Dataset) -> Measurement:
    """Curvature on 10×10 pixels less that on 28×28; null: less that on repeated pixels."""
    bend = sizes["curvature"]
    coarse, fine, repeated = (bend.sel(images=name, drop=True) for name in ("10", "28", "10 as 28"))
    right = 100 * sizes["accuracy"].mean("seed")
    words = ", ".join(
        f"{float(share):.1f} % ({name})" for name, share in zip(sizes["images"].values, right, strict=True)
    )
    words = f"Test accuracy {words}. Of {bend.size} networks."
    return Measurement(beside(coarse - fine, coarse - repeated, "seed"), detail=words)
