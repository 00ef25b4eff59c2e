"""Load curves of networks whose layers have names."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

from deepmech.plots.arrays import arranged
from deepmech.plots.layers import in_words, layer_names, plot
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.grid import Grid, legend
from deepmech_book.figures.picture import Picture


@drawn.takes
def layer_curves(
    curves: Mapping[str, xr.DataArray],
    *,
    alt: str | None = None,
    by: str | None = None,
    by_label: str | None = None,
    y_label: str = "load $D_\\ell$",
    figure: str | None = None,
) -> Picture:
    """Load curves over named layers, one panel per network, each with its chord (dashed) to judge its bend by.

    Parameters
    ----------
    curves : mapping from title to DataArray, dims (layer[, by])
        Every panel has its own layers. Layers named by numbers only, as in ``nn.Sequential``, also show the coordinate
        ``kind`` where there is one.
    by : str, optional
        Dimension of different curves in one panel; they have no chord, and its values are named in a legend.
    by_label : str, optional
        What those values are, above the legend.
    alt : str, optional
        What the picture shows; by default in numbers, curve by curve. A page of the book has its own words.

    Raises
    ------
    ValueError
        If there is no curve, or dimensions do not fit.
    """
    if not curves:
        raise ValueError("layer_curves curves = {}: give at least one title with its curve")
    named = [by] if by else []
    ready = {t: arranged(f"layer_curves curves[{t!r}]", c, "layer", *named) for t, c in curves.items()}
    grid = Grid(tuple(ready), 2)

    def draw(fig: Figure, theme: Theme) -> None:
        plain = all(name.isdecimal() for curve in ready.values() for name in layer_names(curve))
        axes = grid.axes(fig, r"layer $\ell$" if plain else "", y_label)
        for ax, curve in zip(axes, ready.values(), strict=True):
            plot(curve, by=by, ax=ax, theme=theme)
        if by:
            legend(fig, axes[0], title=by_label)

    words = alt or " ".join(f"{title}: {in_words(curve)}" for title, curve in ready.items())
    return Picture(
        draw,
        alt=words,
        height=0.3 + 3.1 * grid.rows + (0.3 if by else 0.0) + (0.25 if by_label else 0.0),
        figure=figure,
    )
