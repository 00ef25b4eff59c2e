"""Shaded planes: values over two parameters, slices of landscapes, small images."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from deepmech.plots import style
from deepmech.plots.phase_diagram import colorbar
from deepmech.plots.style import LIGHT, SINGLETON, axis_label, panels, rows_of, same_labels, sort_axes, transpose_to

__all__ = ["heat", "images", "slices"]

#: Up to so many columns or rows of a shaded plane have a tick each, and cells a number.
FEW = 8


def heat(
    values: xr.DataArray,
    *,
    x: str,
    y: str,
    label: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    limits: tuple[float, float] | None = None,
    fig: Figure,
) -> None:
    """Shaded values over two parameters, oriented as phase diagrams are; few cells also have their number.

    All numbers have the same decimals, which give the largest two digits.

    values : DataArray, dims (x, y)
        Labels of both dimensions must rise; what is not finite is left blank.
    label : str
        Names the shading, with its unit.
    limits : (low, high), optional
        Ends of the shading; those of the values without it.
    """
    values = transpose_to("heat values", values, x, y)
    for dim in (x, y):
        if values.sizes[dim] < 2 or np.any(np.diff(np.asarray(values[dim], float)) <= 0):
            raise ValueError(f"heat: labels along {dim!r} must be two or more and rise; sort the array first")
    finite = values.values[np.isfinite(values.values)]
    if limits is None and not len(finite):
        raise ValueError("heat values: none is finite; give limits to draw an empty plane")
    fig.set_size_inches(style.column(fig), 3.4)
    ax = fig.subplots()
    few = max(values.shape) <= FEW
    along = [np.arange(len(values[d])) if few else np.asarray(values[d], float) for d in (x, y)]
    if few:  # a cell each, as in a phase diagram
        values = sort_axes("heat values", values, x, y)
    norm = Normalize(*(limits or (float(finite.min()), float(finite.max()))))
    mesh = ax.pcolormesh(*along, values.values.T, cmap=style.SEQUENTIAL, norm=norm, shading="nearest", rasterized=True)
    colorbar(mesh, ax, label or axis_label(values), pad=0.015)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    ax.set(xlabel=x_label or axis_label(values[x]), ylabel=y_label or axis_label(values[y]))
    if few:
        decimals = max(0, 1 - int(np.floor(np.log10(abs(finite).max() or 1.0))))
        for i, j in np.argwhere(np.isfinite(values.values)):
            value = float(values[i, j])
            ink = str(style.text_colour([style.SEQUENTIAL(norm(value))])[0])
            words = f"{value:.{decimals}f}".replace("-", "−")
            ax.text(i, j, words, color=ink, ha="center", va="center", fontsize=style.SMALL)
    # They may be unevenly spaced: ticks say where something was measured.
    for axis, at, dim in zip((ax.xaxis, ax.yaxis), along, (x, y), strict=True):
        if len(at) <= FEW:
            axis.set_ticks(at, [style.format_number(v) for v in values[dim].values])


def slices(
    values: xr.DataArray,
    *,
    x: str,
    y: str,
    panel: str,
    limits: tuple[float, float],
    label: str | None = None,
    scale: xr.DataArray | float = 1.0,
    marks: xr.DataArray | None = None,
    columns: int = 3,
    fig: Figure,
) -> None:
    """Planes of values on one logarithmic shading, a contour every factor of ten, one panel per value of ``panel``.

    values : DataArray, dims (panel, x, y)
        What lies outside ``limits`` is shaded as the nearer end.
    limits : (low, high), both > 0
    scale : DataArray, dims (panel), or number
        Multiplies the labels along x and y: planes may be of different sizes.
    marks : DataArray, dims (panel, point, axis), optional
        Places in units of the labels, numbered in their order; ``axis`` has two values.
    """
    values = transpose_to("slices values", values, panel, x, y)
    if not 0 < limits[0] < limits[1]:
        raise ValueError(f"slices limits = {limits}: must rise and be above 0: the shading is logarithmic")
    places = None if marks is None else transpose_to("slices marks", marks, panel, "point", "axis")
    if places is not None:
        same_labels("slices marks", places, values, panel)
    n = values.sizes[panel]
    columns = style.in_a_row(fig, columns, n)
    sizes = np.broadcast_to(scale.sel({panel: values[panel]}) if isinstance(scale, xr.DataArray) else scale, n)
    alike, width = not isinstance(scale, xr.DataArray), style.column(fig, columns)
    side = (width - 0.7 - (0.1 if alike else 0.5) * (columns - 1)) / columns
    fig.set_size_inches(width, (side + 1.2) * rows_of(n, columns) + 0.8)
    titles = [style.format_number(v) for v in values[panel].values]
    axes = panels(fig, titles, columns, axis_label(values[x]), axis_label(values[y]), sharey=alike)
    shade, steps = LogNorm(*limits), 10.0 ** np.arange(np.ceil(np.log10(limits[0])) + 1, np.log10(limits[1]))
    for i, ax in enumerate(axes):
        along = [np.asarray(values[d], float) * sizes[i] for d in (x, y)]
        shown = np.clip(values[i].values.T, *limits)
        mesh = ax.pcolormesh(*along, shown, cmap=style.SEQUENTIAL, norm=shade, shading="nearest", rasterized=True)
        if inside := [s for s in steps if shown.min() < s < shown.max()]:
            ax.contour(*along, shown, levels=inside, colors="#ffffff", linewidths=1.0)
        if places is not None:
            at = places[i].values * sizes[i]
            ax.plot(*at.T, "o-", color="#ffffff", mec="#000000", mew=0.8, lw=1.2, zorder=3)
            for k, (a, b) in enumerate(at, start=1):
                away = 9 * np.sign(np.array([a, b]) - at.mean(0))
                how: dict[str, Any] = {"ha": "center", "va": "center", "color": "#ffffff"}
                how |= {"path_effects": [withStroke(linewidth=2.5, foreground="#000000")]}
                ax.annotate(str(k), (a, b), away, textcoords="offset points", **how)
        ax.set_aspect("equal")
        ax.locator_params(nbins=4 if columns < 3 else 3)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda v, _: style.format_number(v))
    bar = colorbar(mesh, axes, label or axis_label(values), location="bottom", pad=0.02, aspect=40, extend="both")
    bar.ax.xaxis.set_major_formatter(lambda v, _: style.format_number(v))


HALF = 0.47
"""Half the side of an image, where half the distance of two is 0.5."""


def images(
    maps: xr.DataArray,
    *,
    x: str,
    y: str,
    panel: str | None = None,
    x_label: str | None = "layer $\\ell$",
    fig: Figure,
) -> None:
    """Images side by side along ``x`` and below one another along ``y``, dark for small numbers and light for large.

    Every column of a panel has a grey scale of its own, from its smallest to its largest number: images of one column
    may be compared with one another, images of different columns in their pattern only.

    maps : DataArray, dims ([panel,] y, x, row, column)
        Rows and columns of an image are counted from its upper left corner.
    panel : str, optional
        Dimension of which every value has its own grid, one below the other; the values are the titles.
    x_label : str or None
        Name of the abscissa; that of the array with None.
    """
    maps = transpose_to("images maps", maps, panel, y, x, "row", "column")
    if not np.isfinite(maps.values).all():
        raise ValueError("images maps: some numbers are not finite; leave such images out")
    titles = [str(v) for v in maps[panel or SINGLETON].values]
    down, across, tall = maps.sizes[y], maps.sizes[x], maps.sizes["row"] / maps.sizes["column"]
    side = (style.WIDTH - 0.5) / across
    fig.set_figheight(len(titles) * (tall * side * down + (0.65 if panel else 0.35)) + 0.3)
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * HALF
    for ax, grid in zip(panels(fig, titles, 1, x_label or axis_label(maps[x])), maps.values, strict=True):
        low, high = grid.min((0, 2, 3)), grid.max((0, 2, 3))
        for i, j in np.ndindex(down, across):
            extent = (j - HALF, j + HALF, i + HALF, i - HALF)
            ax.imshow(grid[i, j], cmap="gray", vmin=low[j], vmax=high[j], aspect=tall, extent=extent)
        frames = [corners + np.array([j, i]) for i, j in np.ndindex(down, across)]
        ax.add_collection(LineCollection(frames, colors=LIGHT.faint, linewidths=0.9))
        ax.set(xlim=(-0.5, across - 0.5), ylim=(down - 0.5, -0.5))
        ax.set_xticks(range(across), [style.format_number(name) for name in maps[x].values])
        ax.set_yticks(range(down), [style.format_number(name) for name in maps[y].values])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
