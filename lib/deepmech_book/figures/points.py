"""Points: one quantity over another, rows of named things, clouds in a plane."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from deepmech.core.estimates import Estimate
from deepmech.plots import style
from deepmech.plots.phase_diagram import colorbar
from deepmech.plots.style import LIGHT, SINGLETON, axis_label, legend, panels, rows_of, same_labels, transpose_to
from deepmech_book.figures.axes import logarithmic

__all__ = ["clouds", "dots", "scatter"]


def _require_few_kinds(owner: str, kinds: int, words: str) -> None:
    if kinds > len(style.MARKS):
        raise ValueError(f"{owner}: {kinds} {words}: at most {len(style.MARKS)} can be told apart")


def _kinds(
    ax: Axes, x: Any, y: Any, kind: Sequence[str], kinds: Sequence[str], colours: Sequence[str], **how: Any
) -> None:
    """Points with a colour and a mark for each of ``kinds``, which a legend outside the panel can name."""
    import seaborn  # takes a second to import, and most pictures do without

    marks = list(style.MARKS[: len(kinds)])
    seaborn.scatterplot(
        x=x, y=y, hue=kind, style=kind, hue_order=kinds, style_order=kinds, palette=list(colours), markers=marks, lw=0,
        ax=ax, **how,
    )  # fmt: skip
    if (inside := ax.get_legend()) is not None:  # seaborn's own, over the points
        inside.remove()


def scatter(
    x: xr.DataArray,
    y: xr.DataArray,
    *,
    colour: xr.DataArray | None = None,
    colour_label: str = "",
    rank: Estimate | None = None,
    rank_label: str = "",
    fig: Figure,
) -> None:
    """Points (x, y) of equally labelled arrays, optionally coloured by a third, with their rank correlation in words.

    x, y, colour : DataArray
        The same dimensions and labels. Words in ``colour`` name kinds of points: each gets a colour, a mark and
        a line in a legend titled ``colour_label``.
    rank : Estimate, optional
        Spearman's rank correlation of x and y, as computed by the caller, or of what ``rank_label`` says, which
        stands before it.
    """
    dims = [str(d) for d in x.dims] if isinstance(x, xr.DataArray) else []
    at_x, at_y = [transpose_to(f"scatter {n}", a, *dims).values.ravel() for n, a in (("x", x), ("y", y))]
    shade = None if colour is None else transpose_to("scatter colour", colour, *dims).values.ravel()
    kinds = list(dict.fromkeys(shade)) if shade is not None and shade.dtype.kind in "UO" else []
    _require_few_kinds("scatter", len(kinds), "kinds of points in colour")
    fig.set_size_inches(style.column(fig), 3.4)
    ax = fig.subplots()
    if colour is None or shade is None:
        ax.scatter(at_x, at_y, s=34, color=style.categories(1)[0], alpha=0.85, lw=0)
    elif kinds:
        _kinds(ax, at_x, at_y, list(shade), kinds, style.categories(len(kinds)), s=34, alpha=0.85)
        fig.set_figheight(3.7 + 0.22 * style.rows_of(len(kinds), 3))
        legend(fig, ax, 3, title=colour_label or axis_label(colour))
    else:
        norm, shades = Normalize(np.nanmin(shade), np.nanmax(shade)), style.SEQUENTIAL
        ax.scatter(at_x, at_y, c=shade, norm=norm, cmap=shades, s=40, edgecolor=LIGHT.muted, lw=0.7)
        colorbar(ScalarMappable(norm, shades), ax, colour_label or axis_label(colour), pad=0.02)
    if rank is not None:
        ax.set_title(f"{rank_label}rank correlation {rank}", fontsize=style.SMALL)
    ax.set(xlabel=axis_label(x), ylabel=axis_label(y))
    ax.grid()


def dots(
    data: xr.DataArray,
    *,
    row: str,
    x_label: str | None = None,
    by: str | None = None,
    interval: tuple[xr.DataArray, xr.DataArray] | None = None,
    level: float | Sequence[float] = (),
    limits: tuple[float, float] | None = None,
    log: str = "",
    fig: Figure,
) -> None:
    """One row per label along ``row``, from top to bottom, one dot in it per label along ``by``.

    The picture is narrow, and long labels take two lines, so that a phone shows the dots beside them.

    data : DataArray, dims (row[, by])
        What is not finite is left out.
    interval : (low, high), each with the dims of ``data``, optional
        Drawn as bars from low to high.
    level : float or several, optional
        Vertical reference lines.
    limits : (low, high), optional
        Ends of the axis; a bar that goes beyond ends in an arrow and the number where it ends.
    """
    measured, *ends = (
        transpose_to(f"dots {n}", a, row, by)
        for n, a in [("data", data), *(("interval", end) for end in interval or ())]
    )
    for end in ends:
        same_labels("dots interval", end, measured, row, by or SINGLETON)
    series, names = measured[by or SINGLETON].values, [str(v) for v in measured[row].values]
    _require_few_kinds("dots", len(series), f"series along {by!r}")
    # Dots of one row stand a little apart, in the order of the legend; a dot that is alone, in its middle.
    apart = min(0.18, 0.7 / len(series)) if (np.isfinite(measured.values).sum(1) > 1).any() else 0.0
    shift = (np.arange(len(series)) - (len(series) - 1) / 2) * apart
    keys = [style.format_number(value) for value in series]
    columns = max(1, min(4, len(keys), 60 // (max(map(len, keys)) + 7)))  # 60 letters in a line
    told = [textwrap.fill(name, 30, break_on_hyphens=False) for name in names]
    each = 0.4 if len(names) < 5 or any("\n" in name for name in told) else 0.3
    fig.set_size_inches(
        style.column(fig), 0.9 + each * len(names) + 0.25 * bool(by) * style.rows_of(len(keys), columns)
    )
    ax, at = fig.subplots(), np.arange(len(names), dtype=float)
    for i, colour in enumerate(style.palette(series, dim=by)):
        y = at + shift[i]
        ax.plot(measured[:, i], y, style.MARKS[i], color=colour, label=keys[i] or None)
        if ends:
            ax.hlines(y, ends[0][:, i], ends[1][:, i], color=colour, lw=1.4)
            for edge, end, mark, side in zip(limits or (), ends, "<>", ("left", "right"), strict=False):
                inwards = 1 if mark == "<" else -1
                how: dict[str, Any] = {"ha": side, "color": colour, "textcoords": "offset points"}
                for k in np.flatnonzero((edge - end[:, i]) * inwards > 0):
                    ax.plot(edge, y[k], mark, color=colour, clip_on=False)
                    said = f"{float(end[k, i]):.1f}".replace("-", "−")
                    ax.annotate(said, (edge, y[k]), (3 * inwards, 5), fontsize=style.SMALL, **how)
    for line in np.atleast_1d(level):
        ax.axvline(line, color=LIGHT.muted, lw=1.2, zorder=1)
    ax.set(xlabel=textwrap.fill(x_label or axis_label(measured), 44), ylim=(len(names) - 0.5, -0.5), xlim=limits)
    ax.set_yticks(at, told)
    ax.tick_params(axis="y", length=0, pad=10 if limits else 4)
    ax.xaxis.set_major_locator(MaxNLocator(6))
    logarithmic("dots", [ax], log)
    ax.grid(axis="x")
    if by:
        legend(fig, ax, columns, "outside upper center")


def clouds(
    points: xr.DataArray,
    group: xr.DataArray,
    *,
    axes: str,
    panel: str,
    names: Sequence[str],
    x_label: str | None = None,
    y_label: str | None = None,
    point: str = "point",
    title: str = "{}",
    columns: int = 2,
    limits: tuple[float, float] | None = None,
    outline: np.ndarray | None = None,
    fig: Figure,
) -> None:
    """Points coloured by group in the plane of two coordinates, one panel per value of ``panel``, equal scales.

    points : DataArray, dims (panel, point, axes)
        ``axes`` has two values.
    group : DataArray, dims (panel, point)
        0 … len(names) - 1; every group has a mark of its own beside its colour.
    names : of the groups, for the legend.
    x_label, y_label : str, optional
        Names of the axes; without them the labels along ``axes``.
    limits : (low, high), optional
        Ends of both axes in every panel.
    outline : (n, 2), optional
        A line behind the points of every panel.
    """
    points = transpose_to("clouds points", points, panel, point, axes)
    group = transpose_to("clouds group", group, panel, point)
    same_labels("clouds group", group, points, panel, point)
    if points.sizes[axes] != 2:
        raise ValueError(f"clouds points: {points.sizes[axes]} values along {axes!r}: a plane has two")
    _require_few_kinds("clouds names", len(names), "groups")
    strangers = sorted(set(group.values.ravel().tolist()) - set(range(len(names))))
    if strangers:
        raise ValueError(f"clouds group: {strangers} among the groups: must be 0 to {len(names) - 1}, as names has")
    titles, colours = [title.format(style.format_number(v)) for v in points[panel].values], style.categories(len(names))
    columns = style.in_a_row(fig, columns, len(titles))
    width = style.column(fig, columns)
    fig.set_size_inches(width, 0.7 + 0.94 * width / columns * rows_of(len(titles), columns))
    across, up = map(str, points[axes].values)
    drawn = panels(fig, titles, columns, x_label or across, y_label or up)
    for ax, at, kind in zip(drawn, points.values, group.values, strict=True):
        _kinds(ax, at[:, 0], at[:, 1], [names[k] for k in kind], names, colours, s=22, alpha=0.9)
        if outline is not None:
            ax.plot(*outline.T, color=LIGHT.muted, lw=1.0, alpha=0.5, zorder=1)
        ax.set(xlim=limits, ylim=limits)
        ax.set_aspect("equal", adjustable="box" if limits else "datalim")
        ax.grid()
    legend(fig, drawn[0])
