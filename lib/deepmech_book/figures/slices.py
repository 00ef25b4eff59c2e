"""Slices through landscapes: one shaded plane per panel, with the places it was laid through."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.arrays import arranged, named, same_labels
from deepmech.plots.phase import colorbar
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.grid import Grid
from deepmech_book.figures.picture import Picture


@drawn.takes
def slices(
    values: xr.DataArray,
    *,
    x: str,
    y: str,
    panel: str,
    label: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    alt: str,
    limits: tuple[float, float],
    scale: xr.DataArray | float = 1.0,
    marks: xr.DataArray | None = None,
    figure: str | None = None,
) -> Picture:
    """Planes of values on one logarithmic shading, a contour every factor of ten, one panel per value of ``panel``.

    Parameters
    ----------
    values : DataArray, dims (panel, x, y)
        What lies outside ``limits`` is shaded as the nearer end.
    limits : (low, high), both > 0
    scale : DataArray, dims (panel), or number
        Multiplies the labels along x and y: planes may be of different sizes.
    marks : DataArray, dims (panel, point, axis), optional
        Places in units of the labels, numbered in their order; ``axis`` has two values.

    Raises
    ------
    ValueError
        If dimensions or limits do not fit, or ``alt`` is missing.

    Examples
    --------
    >>> ends = [0.0, 1.0]
    >>> bowl = xr.DataArray([[[2.0, 1.0], [1.0, 0.1]]], {"of": ["bowl"], "u": ends, "v": ends}, ("of", "u", "v"))
    >>> words = {"label": "energy", "x_label": "u", "y_label": "v", "alt": "A bowl, lowest on the right."}
    >>> slices(bowl, x="u", y="v", panel="of", limits=(0.1, 10), **words).figure
    """
    values = arranged("slices values", values, panel, x, y)
    if not 0 < limits[0] < limits[1]:
        raise ValueError(f"slices limits = {limits}: must rise and be above 0: the shading is logarithmic")
    places = None if marks is None else arranged("slices marks", marks, panel, "point", "axis")
    if places is not None:
        same_labels("slices marks", places, values, [panel])
    n, grid = values.sizes[panel], Grid.of(values[panel].values, columns=2)
    sizes = np.broadcast_to(scale.sel({panel: values[panel]}) if isinstance(scale, xr.DataArray) else scale, n)

    def draw(fig: Figure, theme: Theme) -> None:
        axes, shade = grid.axes(fig, x_label or named(values[x]), y_label or named(values[y])), LogNorm(*limits)
        for i, ax in enumerate(axes):
            along = [np.asarray(values[d], float) * sizes[i] for d in (x, y)]
            shown = np.clip(values[i].values.T, *limits)
            mesh = ax.pcolormesh(*along, shown, cmap=style.sequential(), norm=shade, shading="nearest", rasterized=True)
            steps = 10.0 ** np.arange(np.ceil(np.log10(limits[0])) + 1, np.log10(limits[1]))
            inside = [s for s in steps if shown.min() < s < shown.max()]
            if inside:
                ax.contour(*along, shown, levels=inside, colors="#ffffff", linewidths=1.0)
            if places is not None:
                at = places[i].values * sizes[i]
                ax.plot(*at.T, color="#ffffff", lw=1.2, zorder=3)
                for k, (a, b) in enumerate(at, start=1):
                    box = {"boxstyle": "circle,pad=0.2", "fc": "#ffffff", "ec": "#000000", "lw": 0.8}
                    ax.text(a, b, str(k), color="#000000", fontsize=style.SMALL, ha="center", va="center", bbox=box)
            ax.set_aspect("equal")
            ax.locator_params(nbins=4)
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(lambda v, _: style.number(v))
        bar = colorbar(mesh, axes, label or named(values), location="bottom", pad=0.02, aspect=40, extend="both")
        bar.ax.xaxis.set_major_formatter(lambda v, _: style.number(v))

    return Picture(draw, alt=alt, height=1.1 + 2.75 * grid.rows, figure=figure)
