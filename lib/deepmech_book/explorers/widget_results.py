"""Explorers of results as widgets in Jupyter: what is pointed at there, Python reads and sets."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets
import xarray as xr

from deepmech_book.explorers.bundle import bundle
from deepmech_book.explorers.diagram import SHADES, SIDES, SOURCES, diagram, diagram_state
from deepmech_book.explorers.page import style


class DiagramExplorer(anywidget.AnyWidget):
    """The phase diagrams that ship with the book, two side by side; the same picture as on a page, in Jupyter.

    The last line of a cell shows it. Its traits can be read and set, observed and linked to other widgets.

    Parameters
    ----------
    left, right, left_cell, right_cell, shade, linked
        As for :func:`~deepmech_book.explorers.diagram_page`.

    Attributes
    ----------
    left_row, left_column, right_row, right_column : int
        The cells pointed at: rows from the most linear networks, columns from the strongest noise.

    Raises
    ------
    ValueError
        If there is no such diagram, cell or shade (TraitError when a trait is set later).
    """

    _esm = bundle("diagram")
    _css = style("diagram")

    left = traitlets.Enum(list(SOURCES)).tag(sync=True)
    right = traitlets.Enum(list(SOURCES)).tag(sync=True)
    left_row = traitlets.Int(min=0).tag(sync=True)
    left_column = traitlets.Int(min=0).tag(sync=True)
    right_row = traitlets.Int(min=0).tag(sync=True)
    right_column = traitlets.Int(min=0).tag(sync=True)
    shade = traitlets.Enum(list(SHADES)).tag(sync=True)
    linked = traitlets.Bool().tag(sync=True)
    diagrams = traitlets.Dict().tag(sync=True)

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**diagram_state(**parameters))

    @traitlets.validate("left_row", "left_column", "right_row", "right_column")
    def _in_its_diagram(self, proposal: Any) -> int:
        side, axis = proposal["trait"].name.split("_")
        size = len(self.diagrams[getattr(self, side)][f"{axis}s"]["values"]) if self.diagrams else proposal["value"] + 1
        if proposal["value"] >= size:
            raise traitlets.TraitError(f"{side}_{axis} = {proposal['value']}: must be from 0 to {size - 1}")
        return int(proposal["value"])

    def cell(self, side: str = "left") -> xr.Dataset:
        """What is pointed at: load curves, curvature and accuracy or energy of every seed, as the book has them."""
        if side not in SIDES:
            raise ValueError(f"DiagramExplorer.cell: side = {side!r}: must be one of {', '.join(SIDES)}")
        shown = diagram(getattr(self, side))
        rows, columns = shown["curvature"].dims[:2]
        return shown.isel({rows: getattr(self, f"{side}_row"), columns: getattr(self, f"{side}_column")})
