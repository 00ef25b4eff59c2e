"""Quantities over a plane: phase diagrams with a load curve in every cell, shading alone, slices of landscapes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LogNorm, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from deepmech.plots import style
from deepmech.plots.style import LIGHT, axis_label, position, same_labels, sort_axes

MARGIN = 0.14
"""Share of a cell's side left free around its load curve."""
INK = "#000000"
"""Lines and words on shading, which stay as they are on dark pages."""
STRAIGHT = "curvature changes sign"
"""What the line between concave and convex cells is called unless a figure says what was found there."""


def phase_diagram(
    load: xr.DataArray,
    *,
    x: str,
    y: str,
    shade: xr.DataArray,
    shade_label: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    layer: str = "block",
    curvature: xr.DataArray | None = None,
    boundary: tuple[Any, Any] | None = None,
    boundary_label: str = "",
    line_label: str = STRAIGHT,
    names: tuple[str, str] = ("concave", "convex"),
    bright: Literal["high", "low"] = "high",
    fig: Figure | None = None,
) -> Figure:
    """A phase diagram in the manner of Shi, Pan and Dokmanić (2024, Figs. 1 and 3), with its phase line.

    Every cell of the grid holds the load curve measured there (each scaled to its own range; the thin line is its
    chord, so a curve above it is concave and one below it convex) on a background that shades a second quantity.
    Cells are equally large whatever the values along the axes; the ticks say which values they stand for. Noise grows
    to the right and ReLU is at the top, by the names of the dimensions (:data:`deepmech.plots.style.AXES`).

    Parameters
    ----------
    load : DataArray, dims (x, y, layer)
        Load D_ℓ per cell, averaged over runs.
    x, y, layer : str
        Names of the dimensions along the abscissa, along the ordinate and along a load curve.
    shade : DataArray, dims (x, y)
        Quantity behind the curves, such as test accuracy or elastic energy.
    shade_label, x_label, y_label : str, optional
        Names, with units, of that quantity and of the axes, in place of those in the data.
    curvature : DataArray, dims (x, y), optional
        Signed curvature. Adds a second panel, shaded by it, at the ends of whose scale the phases are named, and on
        both panels a line between the cells of either sign. It runs along edges of cells, so that it hides no curve.
    boundary : (x values, y values), optional
        A curve in data coordinates, such as a closed-form phase boundary, dashed on every panel.
    boundary_label : str
        Its name in the legend; none without it.
    line_label : str
        What the legend says of the line between the signs: what was found there.
    names : (str, str)
        Of the phases whose curves are concave and convex.
    bright : {"high", "low"}
        Which values of ``shade`` are yellow.
    fig : Figure, optional
        Where to draw; a new figure without it. In one that is narrow, for phones, the second panel is below the first.

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If dimensions or labels do not fit.

    Examples
    --------
    >>> load = xr.DataArray([[[2.0, 1.5, 0.0], [2.0, 1.0, 0.0]]], dims=("noise", "slope", "layer"))
    >>> bend = xr.DataArray([[0.2, 0.0]], dims=("noise", "slope"), attrs={"long_name": "signed curvature"})
    >>> fig = phase_diagram(load, x="noise", y="slope", layer="layer", shade=bend)
    >>> fig.axes[0].get_xlabel(), fig.axes[1].get_title(loc="left")
    ('noise $\\\\varepsilon$', 'signed curvature')
    """
    load = sort_axes("phase_diagram load", load, x, y, layer)
    shades = [(sort_axes("phase_diagram shade", shade, x, y), shade_label or axis_label(shade))]
    bend = None if curvature is None else sort_axes("phase_diagram curvature", curvature, x, y)
    if bend is not None:
        shades.append((bend, "signed curvature"))
    for values, label in shades:
        same_labels(f"phase_diagram ({label})", values, load, x, y)
    line = None
    if boundary is not None:
        line = [
            position(f"phase_diagram boundary ({d})", load[d].values, v) for d, v in zip((x, y), boundary, strict=True)
        ]
    stacked = fig is not None and fig.get_figwidth() <= style.NARROW
    rows, columns = (len(shades), 1) if stacked else (1, len(shades))
    inches = style.NARROW if stacked else style.WIDE if columns > 1 else style.COLUMN
    cell, width = cells_of(load, columns, inches)
    fig = style.new_figure(fig, rows * (cell[1] * load.sizes[y] + 1.15) + 0.35)
    fig.set_figwidth(inches)
    axes = list(fig.subplots(rows, columns, sharey=not stacked, squeeze=False).flat)
    for ax, (values, label) in zip(axes, shades, strict=True):
        cmap = style.SEQUENTIAL if bright == "high" else style.SEQUENTIAL.reversed()
        shading = draw_cells(ax, load, values, bend, cell, width, cmap=cmap)
        bar = colorbar(shading, ax, "", location="top", pad=0.02, aspect=25)
        bar.ax.set_title(label, loc="left" if values is not bend else "center")
        if line is not None:
            halo = [withStroke(linewidth=width + 2, foreground=LIGHT.background)]
            ax.plot(*line, color=INK, lw=width, linestyle=style.DASHES, path_effects=halo, gid="boundary")
        ax.set_xlabel(x_label or axis_label(load[x]))
        if stacked or ax is axes[0]:
            ax.set_ylabel(y_label or axis_label(load[y]))
    if bend is not None:
        name_ends(bar, names)
    entries = []
    if bend is not None and np.nanmin(bend) < 0 < np.nanmax(bend):
        words = textwrap.fill(line_label, 44) if stacked else line_label
        entries.append(Line2D([], [], color=LIGHT.text, lw=width, label=words))
    if line is not None and boundary_label:
        entries.append(Line2D([], [], color=LIGHT.text, lw=width, linestyle=style.DASHES, label=boundary_label))
    if entries:
        fig.legend(handles=entries, loc="outside lower left", ncols=1 if stacked else 2)
    return fig


def cells_of(
    load: xr.DataArray, columns: int, inches: float, tallest: float = 2.9
) -> tuple[tuple[float, float], float]:
    """Sides of a cell (x, y) in inches, where so many diagrams of ``load`` (x, y, layer) share a row of so many
    ``inches`` and are ``tallest`` at most, and how wide curves are."""
    across, down = load.sizes[load.dims[0]], load.sizes[load.dims[1]]
    side = (inches - 0.75 - 0.2 * columns) / columns / across
    return (side, float(np.clip(side * down, 1.6, tallest)) / down), float(np.clip(4.5 * side, 1.1, 2.0))


def colorbar(shading: ScalarMappable, ax: Axes | Sequence[Axes], label: str, **how: Any) -> Any:
    """The scale of a shading beside its panels, without a frame."""
    figure: Any = (ax if isinstance(ax, Axes) else ax[0]).get_figure()
    bar: Any = figure.colorbar(shading, ax=ax, label=label, **how)
    bar.outline.set_visible(False)
    if bar.orientation == "horizontal" and not isinstance(bar.norm, LogNorm):
        bar.locator = MaxNLocator(4)  # numbers of two bars side by side would touch
    # matplotlib draws 256 rectangles into an image of its own; a row of pixels says the same and is quick.
    bar.solids.remove()
    shades = bar.cmap(np.linspace(0, 1, 256), bytes=True)[None]
    turned = shades.swapaxes(0, 1) if bar.orientation == "vertical" else shades
    frame: dict[str, Any] = {"extent": (0, 1, 0, 1), "transform": bar.ax.transAxes, "aspect": "auto"}
    bar.ax.imshow(turned, origin="lower", interpolation="none", **frame)
    return bar


def draw_cells(
    ax: Axes, load: xr.DataArray, shade: xr.DataArray, bend: xr.DataArray | None, cell: tuple[float, float],
    width: float, limits: tuple[float, float] | None = None, cmap: Colormap = style.SEQUENTIAL,
) -> ScalarMappable:  # fmt: skip
    """Equal cells (x, y) of so many inches, shaded, a load curve in each, and the line where ``bend`` changes sign.

    Curvature itself is shaded from its negative to its positive end. ``limits`` are those of the shading, in place of
    the least and the largest value, where diagrams share a scale.
    """
    values = shade.values
    low, high = limits or (float(np.nanmin(values)), float(np.nanmax(values)))
    norm: Normalize = Normalize(low, high)
    if shade is bend:
        reach = max(-low, high) or 1.0
        cmap, norm = style.diverging(), TwoSlopeNorm(0.0, -reach, reach)
    edges = [np.arange(n + 1) - 0.5 for n in values.shape]
    cells = ax.pcolormesh(*edges, values.T, cmap=cmap, norm=norm, rasterized=True)
    _curves(ax, load.values, style.text_colour(cmap(norm(values)).reshape(-1, 4)).reshape(values.shape), width)
    x, y = load.dims[:2]
    _ticks(ax, load[x].values, load[y].values, cell)
    if bend is not None:
        _sign_change(ax, bend.values, max(width, 1.6))
    return cells


def _curves(ax: Axes, load: np.ndarray, inks: np.ndarray, width: float) -> None:
    """One curve and its chord per cell, black or white by what is behind them; cells with nan stay empty."""
    inside = np.linspace(MARGIN - 0.5, 0.5 - MARGIN, load.shape[-1])
    low, high = load.min(-1, keepdims=True), load.max(-1, keepdims=True)
    height = (1 - 2 * MARGIN) * (load - low) / np.where(high > low, high - low, 1.0) + MARGIN - 0.5
    for ink in ("#000000", "#ffffff"):
        cells = np.argwhere((inks == ink) & np.isfinite(load).all(-1))
        curves = [np.column_stack([i + inside, j + height[i, j]]) for i, j in cells]
        # One broken line instead of a line per cell: a fraction of the bytes.
        _broken(ax, [c[[0, -1]] for c in curves], color=ink, lw=0.5 * width, alpha=0.55)
        _broken(ax, curves, color=ink, lw=width, solid_capstyle="round", gid="curves")


def _broken(ax: Axes, pieces: list[np.ndarray], **how: Any) -> None:
    gaps = [np.vstack([p, [[np.nan, np.nan]]]) for p in pieces]
    if gaps:
        ax.plot(*np.vstack(gaps).T, **how)


def _ticks(ax: Axes, x: np.ndarray, y: np.ndarray, cell: tuple[float, float]) -> None:
    """Values of the cells at their centres, left out regularly where they would touch; ``cell`` in inches. Where they
    are numbers of many digits, in equal steps, round ones stand between them."""
    em = style.SMALL / 72
    for axis, values, side in zip((ax.xaxis, ax.yaxis), (x, y), cell, strict=True):
        short = [v if abs(v) >= 1 else float(f"{v:.2g}") for v in values.tolist()]
        names = [style.format_number(v) for v in short]
        need = style.LETTER * em * (max(map(len, names)) + 1) if axis is ax.xaxis else 1.7 * em  # one letter free
        steps, step = np.diff(values), int(np.ceil(need / side))
        if len(steps) and np.allclose(steps, steps[0]) and not np.allclose(values, short):
            most = MaxNLocator(int(np.clip(len(values) * side / need, 1, 6)), steps=[1, 2, 5, 10])
            low, high = sorted(values[[0, -1]].tolist())
            inside = [v for v in most.tick_values(low, high) if low <= v <= high]
            round_ones = sorted(inside, reverse=bool(values[0] == high))
            axis.set_ticks(position("ticks", values, round_ones), map(style.format_number, round_ones))
        else:
            axis.set_ticks(range(0, len(names), step), names[::step])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _sign_change(ax: Axes, curvature: np.ndarray, width: float) -> None:
    """A line along the edges between cells of either sign, with a halo on the shading."""
    sign = np.where(np.isfinite(curvature), curvature > 0, np.nan)
    pieces = []
    for along in (0, 1):
        for cell in np.argwhere(np.abs(np.diff(sign, axis=along)) == 1):
            edge = np.array([cell, cell]) - 0.5
            edge[:, along] += 1
            edge[1, 1 - along] += 1
            pieces.append(edge)
    halo = [withStroke(linewidth=width + 2, foreground=LIGHT.background)]
    _broken(ax, pieces, color=INK, lw=width, solid_capstyle="projecting", path_effects=halo, gid="sign change")


def name_ends(bar: Any, names: tuple[str, str]) -> None:
    """What concave and convex curves are called, at the ends of the scale of curvature and in their colours."""
    for name, side, colour in zip(names, ("right", "left"), (LIGHT.warm, LIGHT.cool), strict=True):
        bar.ax.set_title(name, loc=side, color=colour)


def frame_best(ax: Axes, values: np.ndarray) -> None:
    """A frame around the cell of the largest value."""
    i, j = np.unravel_index(np.nanargmax(values), values.shape)
    ax.add_patch(Rectangle((i - 0.5, j - 0.5), 1, 1, fill=False, ec=INK, lw=2.6, gid="best", zorder=5))
