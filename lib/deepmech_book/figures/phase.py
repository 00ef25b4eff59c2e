"""Phase diagrams: a grid of small load curves over shading."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from deepmech_book.figures import style
from deepmech_book.figures.arrays import arranged, position, same_labels
from deepmech_book.figures.grid import Grid
from deepmech_book.figures.picture import Picture
from deepmech_book.figures.style import Theme

MARGIN = 0.14
"""Share of a cell's side left free around its load curve."""


def phase_diagram(
    load: xr.DataArray,
    *,
    x: str,
    y: str,
    shade: xr.DataArray,
    shade_label: str,
    x_label: str,
    y_label: str,
    alt: str,
    layer: str = "block",
    curvature: xr.DataArray | None = None,
    curvature_label: str = "signed curvature",
    boundary: tuple[Any, Any] | None = None,
    boundary_label: str = "",
    reverse_x: bool = False,
    reverse_y: bool = False,
    figure: str | None = None,
) -> Picture:
    """A phase diagram in the manner of Shi, Pan and Dokmanić (2024, Figs. 1 and 3), with its phase line.

    Every cell of the grid holds the load curve measured there (each scaled to its own range; the thin line is its
    chord, so a curve above it is concave and one below it convex) on a background that shades a second quantity.
    Cells are equally large whatever the values along the axes; the ticks say which values they stand for.

    Parameters
    ----------
    load : DataArray, dims (x, y, layer)
        Load D_ℓ per cell, averaged over runs.
    x, y, layer : str
        Names of the dimensions along the abscissa, along the ordinate and along a load curve.
    shade : DataArray, dims (x, y)
        Quantity behind the curves, such as test accuracy or elastic energy; ``shade_label`` names it with its unit.
    curvature : DataArray, dims (x, y), optional
        Signed curvature. Adds a second panel shaded by it and, on both panels, the line where it changes sign
        (linearly interpolated between cell centres).
    boundary : (x values, y values), optional
        A curve in data coordinates, such as a closed-form phase boundary, dashed on every panel.
    reverse_x, reverse_y : bool
        Put the first value of a dimension at the right, or at the top, where it is at the left and bottom otherwise.

    Raises
    ------
    ValueError
        If dimensions or labels do not fit, or ``alt`` is missing.
    """
    load = arranged("phase_diagram load", load, x, y, layer)
    panels = [(arranged("phase_diagram shade", shade, x, y), shade_label, False)]
    if curvature is not None:
        panels.append((arranged("phase_diagram curvature", curvature, x, y), curvature_label, True))
    for values, label, _ in panels:
        same_labels(f"phase_diagram ({label})", values, load, (x, y))
    if reverse_x:
        load, panels = load[::-1], [(v[::-1], s, c) for v, s, c in panels]
    if reverse_y:
        load, panels = load[:, ::-1], [(v[:, ::-1], s, c) for v, s, c in panels]
    cell = min(0.5, (style.WIDTH - 1.7) / load.sizes[x])
    side, width = max(cell * load.sizes[y], 1.7), float(np.clip(4.5 * cell, 1.1, 2.0))
    line = None
    if boundary is not None:
        line = [
            position(f"phase_diagram boundary ({d})", load[d].values, v) for d, v in zip((x, y), boundary, strict=True)
        ]

    def draw(fig: Figure, theme: Theme) -> None:
        axes = Grid(("",) * len(panels)).axes(fig, x_label, y_label, sharex=True)
        for ax, (values, label, signed) in zip(axes, panels, strict=True):
            cmap, norm = _shading(values.values, signed, theme)
            edges = [np.arange(n + 1) - 0.5 for n in values.shape]
            mesh = ax.pcolormesh(*edges, values.values.T, cmap=cmap, norm=norm, rasterized=True)
            fig.colorbar(mesh, ax=ax, label=label, pad=0.015, aspect=side / 0.2).outline.set_visible(False)
            _curves(ax, load.values, cmap(norm(values.values)), width)
            _ticks(ax, load[x].values, load[y].values, ((style.WIDTH - 1.7) / load.sizes[x], side / load.sizes[y]))
            _lines(ax, theme, panels[-1][0].values if curvature is not None else None, line)
        changes = curvature is not None and _changes_sign(panels[-1][0].values)
        _key(fig, theme, changes, boundary_label if line is not None else "")

    return Picture(draw, alt=alt, height=len(panels) * (side + 0.2) + 1.0, figure=figure)


def _shading(values: np.ndarray, signed: bool, theme: Theme) -> tuple[Colormap, Normalize]:
    if signed:
        reach = float(np.nanmax(np.abs(values))) or 1.0
        return style.diverging(theme), TwoSlopeNorm(0.0, -reach, reach)
    return style.sequential(), Normalize(float(np.nanmin(values)), float(np.nanmax(values)))


def _curves(ax: Axes, load: np.ndarray, fills: np.ndarray, width: float) -> None:
    """One curve and its chord per cell, black or white by what is behind them; cells with nan stay empty."""
    inside = np.linspace(MARGIN - 0.5, 0.5 - MARGIN, load.shape[-1])
    low, high = load.min(-1, keepdims=True), load.max(-1, keepdims=True)
    height = (1 - 2 * MARGIN) * (load - low) / np.where(high > low, high - low, 1.0) + MARGIN - 0.5
    for ink in ("#000000", "#ffffff"):
        curves: list[np.ndarray] = []
        for cell in np.ndindex(load.shape[:2]):
            if np.isfinite(load[cell]).all() and style.ink(fills[cell]) == ink:
                curves.append(np.column_stack([cell[0] + inside, cell[1] + height[cell]]))
        # One broken line instead of a line per cell: a fraction of the bytes.
        _broken(ax, [c[[0, -1]] for c in curves], color=ink, lw=0.5 * width, alpha=0.55)
        _broken(ax, curves, color=ink, lw=width, solid_capstyle="round", gid="curves")


def _broken(ax: Axes, pieces: list[np.ndarray], **how: Any) -> None:
    gaps = [np.vstack([p, [[np.nan, np.nan]]]) for p in pieces]
    if gaps:
        ax.plot(*np.vstack(gaps).T, **how)


def _ticks(ax: Axes, x: np.ndarray, y: np.ndarray, cell: tuple[float, float]) -> None:
    """Values of the cells at their centres, left out regularly where they would touch; ``cell`` in inches."""
    names = [[style.number(v) for v in values] for values in (x, y)]
    # DejaVu's digits are 0.64 em wide; leave one free between neighbours.
    em = style.SMALL / 72
    needed = (0.64 * em * (max(map(len, names[0])) + 1), 1.4 * em)
    for axis, labels, need, side in zip((ax.xaxis, ax.yaxis), names, needed, cell, strict=True):
        step = int(np.ceil(need / side))
        axis.set_ticks(range(0, len(labels), step), labels[::step])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _lines(ax: Axes, theme: Theme, curvature: np.ndarray | None, boundary: list[np.ndarray] | None) -> None:
    """The interpolated zero of the curvature and the boundary given in closed form, with halos on the shading."""
    halo = [withStroke(linewidth=5, foreground=theme.background)]
    if curvature is not None and _changes_sign(curvature):
        zero = ax.contour(curvature.T, levels=[0.0], colors=[theme.text], linewidths=2.4)
        zero.set(path_effects=halo, gid="sign change")
    if boundary is not None:
        ax.plot(*boundary, color=theme.text, linestyle=(0, (3.5, 1.8)), path_effects=halo, gid="boundary")


def _changes_sign(curvature: np.ndarray) -> bool:
    return min(curvature.shape) > 1 and bool(np.nanmin(curvature) < 0 < np.nanmax(curvature))


def _key(fig: Figure, theme: Theme, zero: bool, boundary: str) -> None:
    """Words for the lines on the panels, below them."""
    entries = [Line2D([], [], color=theme.text, lw=2.4, label="curvature changes sign")] if zero else []
    if boundary:
        entries.append(Line2D([], [], color=theme.text, linestyle=(0, (3.5, 1.8)), label=boundary))
    if entries:
        fig.legend(handles=entries, loc="outside lower left", ncols=2 if len(boundary) < 40 else 1)
