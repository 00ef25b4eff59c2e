"""Quantities over a plane: phase diagrams with a load curve in every cell, shading alone, slices of landscapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LogNorm, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from deepmech.plots import style
from deepmech.plots.style import AXES, LIGHT, Theme, arranged, named, oriented, panels, position, rows_of, same_labels

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
    curvature_label: str = "signed curvature",
    boundary: tuple[Any, Any] | None = None,
    boundary_label: str = "",
    fig: Figure | None = None,
    theme: Theme = LIGHT,
) -> Figure:
    """A phase diagram in the manner of Shi, Pan and Dokmanić (2024, Figs. 1 and 3), with its phase line.

    Every cell of the grid holds the load curve measured there (each scaled to its own range; the thin line is its
    chord, so a curve above it is concave and one below it convex) on a background that shades a second quantity.
    Cells are equally large whatever the values along the axes; the ticks say which values they stand for. Noise is
    strongest at the left and ReLU at the top, by the names of the dimensions (:data:`deepmech.plots.style.AXES`).

    Parameters
    ----------
    load : DataArray, dims (x, y, layer)
        Load D_ℓ per cell, averaged over runs.
    x, y, layer : str
        Names of the dimensions along the abscissa, along the ordinate and along a load curve.
    shade : DataArray, dims (x, y)
        Quantity behind the curves, such as test accuracy or elastic energy; ``shade_label`` names it with its unit.
    curvature : DataArray, dims (x, y), optional
        Signed curvature. Adds a second panel shaded by it and, on both panels, a line between the cells of either
        sign. It runs along edges of cells, so that it hides no curve.
    boundary : (x values, y values), optional
        A curve in data coordinates, such as a closed-form phase boundary, dashed on every panel.
    fig : Figure, optional
        Where to draw; a new figure without it.

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
    ('noise $\\\\varepsilon$', 'signed curvature')
    """
    load = oriented("phase_diagram load", load, x, y, layer)
    shades = [(oriented("phase_diagram shade", shade, x, y), shade_label or named(shade))]
    bend = None if curvature is None else oriented("phase_diagram curvature", curvature, x, y)
    if bend is not None:
        shades.append((bend, curvature_label))
    for values, label in shades:
        same_labels(f"phase_diagram ({label})", values, load, x, y)
    line = None
    if boundary is not None:
        line = [
            position(f"phase_diagram boundary ({d})", load[d].values, v) for d, v in zip((x, y), boundary, strict=True)
        ]
    across, down = load.sizes[x], load.sizes[y]
    edge = min(0.5, (style.WIDTH - 1.7) / across)
    side = max(edge * down, 1.7)
    width = float(np.clip(4.5 * edge, 1.1, 2.0))
    fig = style.canvas(fig, len(shades) * (side + 0.2) + 1.0, theme)
    axes = fig.subplots(len(shades), sharex=True, squeeze=False)[:, 0]
    for ax, (values, label) in zip(axes, shades, strict=True):
        cell = ((style.WIDTH - 1.7) / across, side / down)
        colorbar(_plane(ax, load, values, bend, cell, width, theme), ax, label, pad=0.015, aspect=side / 0.2)
        if line is not None:
            halo = [withStroke(linewidth=width + 2, foreground=theme.background)]
            ax.plot(*line, color=theme.text, lw=width, linestyle=style.DASHES, path_effects=halo, gid="boundary")
        ax.set_ylabel(y_label or named(load[y]))
    ax.set_xlabel(x_label or named(load[x]))
    ax.tick_params(labelbottom=True)  # shared axes have their numbers in the last row only
    entries = []
    if bend is not None and np.nanmin(bend) < 0 < np.nanmax(bend):
        entries.append(Line2D([], [], color=theme.text, lw=width, label="curvature changes sign"))
    if line is not None and boundary_label:
        entries.append(Line2D([], [], color=theme.text, lw=width, linestyle=style.DASHES, label=boundary_label))
    if entries:
        fig.legend(handles=entries, loc="outside lower left", ncols=2 if len(boundary_label) < 40 else 1)
    return fig


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


def _plane(
    ax: Axes, load: xr.DataArray, shade: xr.DataArray, bend: xr.DataArray | None, cell: tuple[float, float],
    width: float, theme: Theme,
) -> ScalarMappable:  # fmt: skip
    """Equal cells (x, y) of so many inches, shaded, a load curve in each, and the line where ``bend`` changes sign.

    Curvature itself is shaded from its negative to its positive end.
    """
    values = shade.values
    cmap: Colormap = style.SEQUENTIAL
    norm: Normalize = Normalize(float(np.nanmin(values)), float(np.nanmax(values)))
    if shade is bend:
        reach = float(np.nanmax(np.abs(values))) or 1.0
        cmap, norm = style.diverging(theme), TwoSlopeNorm(0.0, -reach, reach)
    edges = [np.arange(n + 1) - 0.5 for n in values.shape]
    cells = ax.pcolormesh(*edges, values.T, cmap=cmap, norm=norm, rasterized=True)
    _curves(ax, load.values, style.ink(cmap(norm(values)).reshape(-1, 4)).reshape(values.shape), width)
    x, y = load.dims[:2]
    _ticks(ax, load[x].values, load[y].values, cell)
    if bend is not None:
        _sign_change(ax, bend.values, theme, max(width, 1.6))
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


def _sign_change(ax: Axes, curvature: np.ndarray, theme: Theme, width: float) -> None:
    """A line along the edges between cells of either sign, with a halo on the shading."""
    sign = np.where(np.isfinite(curvature), curvature > 0, np.nan)
    pieces = []
    for along in (0, 1):
        for cell in np.argwhere(np.abs(np.diff(sign, axis=along)) == 1):
            edge = np.array([cell, cell]) - 0.5
            edge[:, along] += 1
            edge[1, 1 - along] += 1
            pieces.append(edge)
    halo = [withStroke(linewidth=width + 2, foreground=theme.background)]
    _broken(ax, pieces, color=theme.text, lw=width, solid_capstyle="projecting", path_effects=halo, gid="sign change")


def network_diagram(means: xr.Dataset, *, fig: Figure | None = None, theme: Theme = LIGHT) -> Figure:
    """Load curves of networks over negative slope and one kind of noise: strongest noise at the left, ReLU at the top.

    Parameters
    ----------
    means : Dataset, dims (slope, noise, layer)
        With ``load_curve``, ``accuracy`` (a fraction, shades the upper panel) and ``curvature`` (the lower one); the
        dimension of the noise is one of :data:`~deepmech.plots.style.AXES`.

    Raises
    ------
    ValueError
        If no dimension is a kind of noise.
    """
    return phase_diagram(
        means["load_curve"], layer="layer", x=noise_of(means), y="slope", shade=100 * means["accuracy"],
        shade_label="test accuracy (%)", curvature=means["curvature"], x_label=AXES[noise_of(means)][0],
        y_label=AXES["slope"][0], fig=fig, theme=theme,
    )  # fmt: skip


def phases(
    diagrams: Mapping[str, xr.Dataset],
    names: Mapping[str, tuple[float, float]],
    *,
    fig: Figure | None = None,
    theme: Theme = LIGHT,
) -> Figure:
    """Phase diagrams side by side, each shaded by signed curvature on its own scale, with the phases named on them.

    Parameters
    ----------
    diagrams : Dataset by title
        With ``load_curve`` (x, y, layer) and ``curvature`` (x, y), drawn as :func:`phase_diagram` does.
    names : place by name of a phase
        Fractions of the width and height of every panel.

    Examples
    --------
    >>> curve = xr.DataArray([[[2.0, 1.5, 0.0], [2.0, 0.5, 0.0]]], dims=("noise", "slope", "layer"))
    >>> one = xr.Dataset({"load_curve": curve, "curvature": (("noise", "slope"), [[0.2, -0.2]])})
    >>> fig = phases({"networks": one}, {"lazy": (0.8, 0.8)})
    >>> [text.get_text() for text in fig.axes[0].texts]
    ['lazy']
    """
    fig = style.canvas(fig, 3.3, theme)
    for ax, (title, made) in zip(panels(fig, list(diagrams), columns=len(diagrams)), diagrams.items(), strict=True):
        x, y = map(str, made["curvature"].dims)
        layer = next(str(d) for d in made["load_curve"].dims if d not in (x, y))
        load = oriented(f"phases {title}", made["load_curve"], x, y, layer)
        bend = oriented(f"phases {title}", made["curvature"], x, y)
        side = (0.42 * style.WIDTH / bend.shape[0], 2.4 / bend.shape[1])
        _plane(ax, load, bend, bend, side, 1.1, theme)
        ax.set(xlabel=named(load[x]), ylabel=named(load[y]))
        halo = [withStroke(linewidth=4, foreground=theme.background)]
        for name, place in names.items():
            how: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold", "path_effects": halo}
            ax.text(*place, name, transform=ax.transAxes, color=theme.text, **how)
    return fig


def noise_of(means: xr.Dataset) -> str:
    """The dimension of a diagram of networks that is a kind of noise."""
    kinds = [name for name in AXES if name != "slope"]
    found = [name for name in kinds if name in means.dims]
    if len(found) != 1:
        raise ValueError(f"network diagram: dims {tuple(means.dims)}: exactly one must be of {', '.join(kinds)}")
    return found[0]


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
    boundary: tuple[Any, Any] | None = None,
    boundary_label: str = "",
    fig: Figure | None = None,
    theme: Theme = LIGHT,
) -> Figure:
    """Shaded values over two parameters, oriented as phase diagrams are; few cells also have their number.

    Parameters
    ----------
    values : DataArray, dims (x, y)
        Labels of both dimensions must rise; what is not finite is left blank.
    label : str
        Names the shading, with its unit.
    limits : (low, high), optional
        Ends of the shading; those of the values without it.
    boundary : (x values, y values), optional
        A curve in data coordinates, such as a closed-form phase boundary, dashed and named ``boundary_label``.

    Raises
    ------
    ValueError
        If dimensions do not fit, labels do not rise, or nothing is finite.
    """
    values = arranged("heat values", values, x, y)
    for dim in (x, y):
        if values.sizes[dim] < 2 or np.any(np.diff(np.asarray(values[dim], float)) <= 0):
            raise ValueError(f"heat: labels along {dim!r} must be two or more and rise; sort the array first")
    finite = values.values[np.isfinite(values.values)]
    if limits is None and not len(finite):
        raise ValueError("heat values: none is finite; give limits to draw an empty plane")
    fig = style.canvas(fig, 4.2, theme)
    ax = fig.subplots()
    few = max(values.shape) <= FEW and boundary is None
    along = [np.arange(len(values[d])) if few else np.asarray(values[d], float) for d in (x, y)]
    if few:  # a cell each, as in a phase diagram
        values = oriented("heat values", values, x, y)
    norm = Normalize(*(limits or (float(finite.min()), float(finite.max()))))
    mesh = ax.pcolormesh(*along, values.values.T, cmap=style.SEQUENTIAL, norm=norm, shading="nearest", rasterized=True)
    colorbar(mesh, ax, label or named(values), pad=0.015)
    ax.set(
        xlim=ax.get_xlim(), ylim=ax.get_ylim(), xlabel=x_label or named(values[x]), ylabel=y_label or named(values[y])
    )
    if few:
        for i, j in np.argwhere(np.isfinite(values.values)):
            value = float(values[i, j])
            ink = str(style.ink([style.SEQUENTIAL(norm(value))])[0])
            ax.text(i, j, f"{value:.2g}".replace("-", "−"), color=ink, ha="center", va="center", fontsize=style.SMALL)
    if boundary is not None:
        ax.plot(*boundary, color="#ffffff", lw=3.2)
        ax.plot(*boundary, color="#000000", lw=1.8, linestyle=style.DASHES)
        if boundary_label:  # the name stands on the page, not on the shading
            key = Line2D([], [], color=theme.text, lw=1.8, linestyle=style.DASHES, label=boundary_label)
            fig.legend(handles=[key], loc="outside upper left")
    # They may be unevenly spaced: ticks say where something was measured.
    for axis, at, dim in zip((ax.xaxis, ax.yaxis), along, (x, y), strict=True):
        if len(at) <= FEW:
            axis.set_ticks(at, [style.number(v) for v in values[dim].values])
    return fig


def slices(
    values: xr.DataArray,
    *,
    x: str,
    y: str,
    panel: str,
    limits: tuple[float, float],
    label: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    scale: xr.DataArray | float = 1.0,
    marks: xr.DataArray | None = None,
    columns: int = 3,
    fig: Figure | None = None,
    theme: Theme = LIGHT,
) -> Figure:
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
    columns : int
        Panels side by side.

    Raises
    ------
    ValueError
        If dimensions or limits do not fit.
    """
    values = arranged("slices values", values, panel, x, y)
    if not 0 < limits[0] < limits[1]:
        raise ValueError(f"slices limits = {limits}: must rise and be above 0: the shading is logarithmic")
    places = None if marks is None else arranged("slices marks", marks, panel, "point", "axis")
    if places is not None:
        same_labels("slices marks", places, values, panel)
    n, columns = values.sizes[panel], min(columns, values.sizes[panel])
    sizes = np.broadcast_to(scale.sel({panel: values[panel]}) if isinstance(scale, xr.DataArray) else scale, n)
    fig = style.canvas(fig, 1.1 + 5.5 / columns * rows_of(n, columns), theme)
    titles = [style.number(v) for v in values[panel].values]
    axes = panels(fig, titles, columns, x_label or named(values[x]), y_label or named(values[y]))
    shade, steps = LogNorm(*limits), 10.0 ** np.arange(np.ceil(np.log10(limits[0])) + 1, np.log10(limits[1]))
    for i, ax in enumerate(axes):
        along = [np.asarray(values[d], float) * sizes[i] for d in (x, y)]
        shown = np.clip(values[i].values.T, *limits)
        mesh = ax.pcolormesh(*along, shown, cmap=style.SEQUENTIAL, norm=shade, shading="nearest", rasterized=True)
        if inside := [s for s in steps if shown.min() < s < shown.max()]:
            ax.contour(*along, shown, levels=inside, colors="#ffffff", linewidths=1.0)
        if places is not None:
            at = places[i].values * sizes[i]
            ax.plot(*at.T, color="#ffffff", lw=1.2, zorder=3)
            for k, (a, b) in enumerate(at, start=1):
                box = {"boxstyle": "circle,pad=0.2", "fc": "#ffffff", "ec": "#000000", "lw": 0.8}
                ax.text(a, b, str(k), color="#000000", fontsize=style.SMALL, ha="center", va="center", bbox=box)
        ax.set_aspect("equal")
        ax.locator_params(nbins=4 if columns < 3 else 3)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda v, _: style.number(v))
    bar = colorbar(mesh, axes, label or named(values), location="bottom", pad=0.02, aspect=40, extend="both")
    bar.ax.xaxis.set_major_formatter(lambda v, _: style.number(v))
    return fig
