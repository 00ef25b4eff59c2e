"""Phase diagrams: a grid of small load curves over shading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from deepmech.plots import style
from deepmech.plots.arrays import arranged, named, position, same_labels
from deepmech.plots.style import LIGHT, Theme

MARGIN = 0.14
"""Share of a cell's side left free around its load curve."""


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
    curvature_label: str | None = None,
    boundary: tuple[Any, Any] | None = None,
    boundary_label: str = "",
    reverse_x: bool = False,
    reverse_y: bool = False,
    fig: Figure | None = None,
    theme: Theme = LIGHT,
) -> Figure:
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
    fig : Figure, optional
        Where to draw, of the :func:`height` that suits it; a new one without it.

    Raises
    ------
    ValueError
        If dimensions or labels do not fit.

    Examples
    --------
    >>> load = xr.DataArray([[[2.0, 1.5, 0.0], [2.0, 1.0, 0.0]]], dims=("noise", "slope", "layer"))
    >>> bend = xr.DataArray([[0.2, 0.0]], dims=("noise", "slope"), attrs={"long_name": "signed curvature"})
    >>> fig = phase_diagram(load, x="noise", y="slope", layer="layer", shade=bend)
    >>> fig.axes[0].get_xlabel(), fig.axes[1].get_ylabel()
    ('noise', 'signed curvature')
    """
    load = arranged("phase_diagram load", load, x, y, layer)
    shade = arranged("phase_diagram shade", shade, x, y)
    panels = [(shade, shade_label or named(shade))]
    if curvature is not None:
        curvature = arranged("phase_diagram curvature", curvature, x, y)
        panels.append((curvature, curvature_label or named(curvature, "signed curvature")))
    for values, label in panels:
        same_labels(f"phase_diagram ({label})", values, load, (x, y))
    turned = {d: slice(None, None, -1) for d, turn in ((x, reverse_x), (y, reverse_y)) if turn}
    load, panels = load.isel(turned), [(values.isel(turned), label) for values, label in panels]
    line = None
    if boundary is not None:
        line = [
            position(f"phase_diagram boundary ({d})", load[d].values, v) for d, v in zip((x, y), boundary, strict=True)
        ]
    cell, side = _sides(load.sizes[x], load.sizes[y])
    width = float(np.clip(4.5 * cell, 1.1, 2.0))
    fig = style.figure(height(load, x, y, len(panels)), theme) if fig is None else fig
    axes = fig.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for ax, (values, label) in zip(axes, panels, strict=True):
        cmap, norm = _shading(values.values, ax is not axes[0], theme)
        edges = [np.arange(n + 1) - 0.5 for n in values.shape]
        cells = ax.pcolormesh(*edges, values.values.T, cmap=cmap, norm=norm, rasterized=True)
        colorbar(cells, ax, label, pad=0.015, aspect=side / 0.2)
        inks = style.ink(cmap(norm(values.values)).reshape(-1, 4)).reshape(values.shape)
        _curves(ax, load.values, inks, width)
        _ticks(ax, load[x].values, load[y].values, ((style.WIDTH - 1.7) / load.sizes[x], side / load.sizes[y]))
        _lines(ax, theme, panels[1][0].values if curvature is not None else None, line)
        ax.set_ylabel(y_label or named(load[y]))
    ax.set_xlabel(x_label or named(load[x]))
    ax.tick_params(labelbottom=True)  # shared axes have their numbers in the last row only
    changes = curvature is not None and _changes_sign(panels[1][0].values)
    _key(fig, theme, changes, boundary_label if line is not None else "")
    return fig


def height(load: xr.DataArray, x: str, y: str, panels: int) -> float:
    """Inches that suit a phase diagram of so many panels."""
    return panels * (_sides(load.sizes[x], load.sizes[y])[1] + 0.2) + 1.0


def _sides(across: int, down: int) -> tuple[float, float]:
    """Sides of a cell and of a panel, in inches."""
    cell = min(0.5, (style.WIDTH - 1.7) / across)
    return cell, max(cell * down, 1.7)


def colorbar(shading: ScalarMappable, ax: Axes | Sequence[Axes], label: str, **how: Any) -> Any:
    """The scale of a shading beside its panels, without a frame."""
    figure: Any = (ax if isinstance(ax, Axes) else ax[0]).get_figure()
    bar: Any = figure.colorbar(shading, ax=ax, label=label, **how)
    bar.outline.set_visible(False)
    # matplotlib draws 256 rectangles into an image of its own; a row of pixels says the same and is quick.
    bar.solids.remove()
    shades = bar.cmap(np.linspace(0, 1, 256), bytes=True)[None]
    turned = shades.swapaxes(0, 1) if bar.orientation == "vertical" else shades
    frame: dict[str, Any] = {"extent": (0, 1, 0, 1), "transform": bar.ax.transAxes, "aspect": "auto"}
    bar.ax.imshow(turned, origin="lower", interpolation="none", **frame)
    return bar


def _shading(values: np.ndarray, signed: bool, theme: Theme) -> tuple[Colormap, Normalize]:
    if signed:
        reach = float(np.nanmax(np.abs(values))) or 1.0
        return style.diverging(theme), TwoSlopeNorm(0.0, -reach, reach)
    return style.sequential(), Normalize(float(np.nanmin(values)), float(np.nanmax(values)))


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
