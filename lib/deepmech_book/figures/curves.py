"""Curves over an axis, in one panel or in several side by side; loads over time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.style import (
    LIGHT,
    SINGLETON,
    axis_label,
    panels,
    rows_of,
    same_labels,
    transpose_to,
    wrapped,
)
from deepmech.plots.style import legend as shared_legend
from deepmech_book.figures.axes import end_labels, few_ticks, logarithmic, make_room

__all__ = ["curve_panels", "lines", "trajectories"]

Curves = xr.DataArray | Mapping[str, xr.DataArray]
"""Curves of one picture: an array, or one array for each panel under the panel's title."""
#: What a formula is written with, and nobody sees.
_MARKUP = str.maketrans("", "", "$_^{}")
_DASHED: dict[str, Any] = {"lw": 1.5, "linestyle": style.DASHES}


def lines(
    data: Curves,
    theory: Curves | None = None,
    *,
    x: str,
    by: str | None = None,
    panel: str | None = None,
    label: str = "{}",
    title: str = "{}",
    interval: tuple[Curves, Curves] | None = None,
    points: bool = True,
    band_of_theory: bool = False,
    theory_label: str = "theory",
    level: float | None = None,
    level_label: str = "",
    legend: bool | None = None,
    named_at: float | None = None,
    log: str = "",
    x_label: str | None = None,
    y_label: str | None = None,
    columns: int = 3,
    shared: bool | Literal["row"] = True,
    height: float | None = None,
    fig: Figure,
) -> None:
    """Curves over ``x``, one colour per value of ``by``, with theory as dashed curves; panels in rows.

    A single panel names its curves at their right ends, several share one legend below them. One panel and two side by
    side are narrow, for phones.

    data : DataArray, dims (x[, by][, panel]), or mapping from a panel's title to such an array without panel
        Panels of a mapping may have different labels along ``x`` and ``by``. NaN leaves gaps.
    theory : as ``data``, optional
        May have its own labels along x, and only some of those along ``by``. Points with theory are not joined.
    by : str, optional
        Dimension that tells curves apart. Numbers are coloured as an ordered scale (temperatures from cold to hot),
        words as categories.
    label, title : str
        Formats of a curve's and of a panel's name, given its value.
    interval : (low, high), each as ``data``, optional
        Bars at points, a band around curves; around the dashed curves with ``band_of_theory``.
    points : bool
        False draws curves only, for what is computed and not sampled.
    theory_label : str
        What the dashed curves are called.
    level : float, optional
        A horizontal reference line in every panel, in a single one named ``level_label``.
    legend : bool, optional
        Name the curves in a legend instead of at their ends, for curves that end together; by default several panels
        do, and a single one does not.
    named_at : number, optional
        Names of curves that end together stand beside the ends, in the height that the curves have here.
    log : {"", "x", "y", "xy"}
        Logarithmic axes.
    x_label, y_label : str, optional
        Names of the axes; those of the data without them.
    columns : int
        Panels side by side.
    shared : bool or "row"
        Whether all panels have one vertical scale, or those of a row, below one another on one abscissa.
    height : float, optional
        Of a row of panels, in inches.
    """
    if band_of_theory and (theory is None or interval is None):
        missing = "theory" if theory is None else "interval"
        raise ValueError(f"lines band_of_theory = True: needs {missing}; give it, or leave band_of_theory out")
    low, high = interval or (None, None)
    around = "theory" if band_of_theory else "data"
    ready = _panels({"data": data, "theory": theory, "low": low, "high": high}, panel, title, by, x, around)
    first = next(iter(ready.values()))["data"]
    values = _all_values([arrays["data"][by or SINGLETON].values for arrays in ready.values()])
    colours = dict(zip(values, style.palette(values, dim=by), strict=True))
    names = {v: label.format(style.format_number(v)) for v in values} if by else {}
    single, columns = len(ready) == 1, style.in_a_row(fig, columns, len(ready))
    height = height or (3.4 if single else 2.5 if columns < 3 else 2.1)
    rows = rows_of(len(ready), columns)
    legend = not single if legend is None else legend
    fig.set_size_inches(style.column(fig, columns), height if single else 0.55 + height * rows)
    axes = panels(
        fig, list(ready), columns, x_label or axis_label(first[x]), y_label or axis_label(first),
        sharex=bool(panel) or shared == "row", sharey=shared,
    )  # fmt: skip
    for ax, arrays in zip(axes, ready.values(), strict=True):
        _draw(ax, arrays, x, colours, points, around)
        if level is not None:
            ax.axhline(level, color=LIGHT.muted, lw=1.2, zorder=1)
        ax.grid(axis="y")
    logarithmic("lines", axes, log)
    reference = (level, level_label) if level is not None and level_label else None
    name_ends = partial(_name_ends, x=x, colours=colours, log=log, named_at=named_at, level=reference)
    key = axes[0]
    if legend:
        for v, name in names.items():
            key.plot([], [], "o-" if points and single else "-", color=colours[v], label=name)
    if theory is not None:
        key.plot([], [], color=LIGHT.muted, **_DASHED, label=theory_label)
    if not single:
        for ax, arrays in zip(axes, ready.values(), strict=True):
            few_ticks(ax, columns, log, whole=arrays["data"][x].dtype.kind in "iu")
        _legend_below(fig, key)
        named = [k for k in range(len(axes)) if k % columns == columns - 1 or k == len(axes) - 1]
        for k, arrays in enumerate(ready.values()):
            if k in named and not legend:
                name_ends(axes[k], height - 0.6, arrays["data"], names)
        return
    if theory is not None or legend:  # within, it would hide curves
        _legend_below(fig, key)
    name_ends(key, height - 0.9, first, {} if legend else names)


def _legend_below(fig: Figure, key: Axes) -> None:
    """What the artists of a panel are called, outside all panels, for which the figure grows."""
    words = [re.sub(r"\\\w+", "x", word).translate(_MARKUP) for word in key.get_legend_handles_labels()[1]]
    across = int(np.clip(13 * fig.get_figwidth() / (max(map(len, words), default=1) + 9.5), 1, 6))
    fig.set_figheight(fig.get_figheight() + 0.22 * -(-len(words) // across))
    # The name of the abscissa of all panels stands where the legend would.
    shared_legend(fig, key, across, "outside upper left" if fig.get_supxlabel() else "outside lower left")


def _name_ends(
    ax: Axes, height: float, curves: xr.DataArray, names: Mapping[Any, str], *, x: str, colours: Mapping[Any, str],
    log: str, named_at: float | None, level: tuple[float, str] | None,
) -> None:  # fmt: skip
    """A curve's name stands at its last point that the scale can show, that of the level at its right end."""
    ends = []
    for value, curve in zip(curves[curves.dims[0]].values.tolist() if names else [], curves.values, strict=False):
        shown = np.flatnonzero(np.isfinite(curve) & ((curve > 0) | ("y" not in log)))
        if len(shown):
            last = shown[-1] if named_at is None else int(np.flatnonzero(curves[x].values == named_at)[0])
            ends.append((float(curves[x].values[last]), float(curve[last]), names[value], colours[value]))
    if level is not None:
        ends.append((float(curves[x].values[-1]), *level, LIGHT.muted))
    if ends:
        ax.autoscale_view()  # limits are worked out lazily, and the names need them now
        end_labels(ax, ends, height)


def curve_panels(
    data: xr.DataArray, theory: xr.DataArray | None = None, *, panel: str, columns: int = 2, **how: Any
) -> None:
    """Curves without points in a panel for each value of ``panel``: :func:`lines`, which explains the arguments."""
    lines(data, theory, panel=panel, columns=columns, points=False, **how)


def _panels(
    given: dict[str, Any], panel: str | None, title: str, by: str | None, x: str, around: str
) -> dict[str, dict[str, xr.DataArray]]:
    """The arrays of every panel under its title, arranged along (by, x)."""
    given = {name: value for name, value in given.items() if value is not None}
    if panel is not None and not isinstance(given["data"], Mapping):
        given = {k: transpose_to(f"lines {k}", v, *filter(None, (panel, by, x))) for k, v in given.items()}
        for name, value in given.items():
            same_labels(f"lines {name}", value, given["data"], panel)
        titles = [title.format(style.format_number(v)) for v in given["data"][panel].values]
        split = {name: dict(zip(titles, value.drop_vars(panel), strict=True)) for name, value in given.items()}
    else:
        split = {k: dict(v) if isinstance(v, Mapping) else {"": v} for k, v in given.items()}
    if not split["data"]:
        raise ValueError("lines data = {}: give at least one title with its curves")
    ready = {}
    for name in split["data"]:
        arrays = {
            k: _from_the_left(transpose_to(f"lines {k}", v[name], by, x), x) for k, v in split.items() if name in v
        }
        for end in {"low", "high"} & arrays.keys():
            same_labels("lines interval", arrays[end], arrays[around], by or SINGLETON, x)
        known, explained = (
            {*arrays.get(k, arrays["data"])[by or SINGLETON].values.tolist()} for k in ("data", "theory")
        )
        if strange := explained - known:
            raise ValueError(f"lines theory: {sorted(strange)} along {by!r}, where no curve is; select the same")
        ready[name] = arrays
    return ready


def _from_the_left(array: xr.DataArray, x: str) -> xr.DataArray:
    """With numbers along ``x`` in rising order: curves are named where they end on the right."""
    return array.sortby(x) if array[x].dtype.kind in "iuf" else array


def _all_values(values: Sequence[np.ndarray]) -> list[Any]:
    """The values of all panels: numbers in rising order where panels differ, otherwise in the order of the first."""
    union = list(dict.fromkeys(v for some in values for v in some.tolist()))
    alike = all(np.array_equal(some, values[0]) for some in values)
    return union if alike or isinstance(union[0], str) else sorted(union)


def _draw(
    ax: Axes, arrays: dict[str, xr.DataArray], x: str, colours: dict[Any, str], points: bool, around: str
) -> None:
    data, theory = arrays["data"], arrays.get("theory")
    by = data.dims[0]
    explained = {} if theory is None else dict(zip(theory[by].values.tolist(), theory, strict=True))
    for i, value in enumerate(data[by].values.tolist()):
        colour, known = colours[value], explained.get(value)
        kind = "o" if points and known is not None else "o-" if points else "-"
        ax.plot(data[x], data[i], kind, color=colour, zorder=3, lw=2.0 if points else 1.7)
        if known is not None:
            ax.plot(known[x], known, color=colour, **_DASHED)
        if "low" in arrays:
            ends = arrays[around][x].values, arrays["low"][i], arrays["high"][i]
            if points:
                ax.vlines(*ends, color=colour, lw=1.4, zorder=2)
            else:
                ax.fill_between(*ends, color=colour, alpha=0.22, lw=0)


def trajectories(
    load: xr.DataArray,
    *,
    time: str = "time",
    layer: str = "block",
    panel: str | None = None,
    force: xr.DataArray | None = None,
    force_label: str = "force $F$",
    columns: int = 3,
    x_label: str | None = "time $t$",
    y_label: str | None = "load $D_\\ell$",
    named: Sequence[str] = (),
    fig: Figure,
) -> None:
    """Loads D_ℓ(t) of every block or layer, coloured and numbered by ℓ; the driving force in a thin panel below them.

    Panels of a row have one scale.

    load : DataArray, dims (layer, time[, panel])
    panel : str, optional
        Dimension of which every value has its own panel, side by side; the values are the titles.
    force : DataArray, dims (time[, panel]), optional
        Pulling force or training loss. Where it is never negative its axis begins at zero.
    x_label, y_label : str or None
        Names of the axes; those of the array with None.
    named : of str
        Which blocks or layers have their number beside them; all without any.
    """
    x_label, y_label = x_label or axis_label(load[time]), y_label or axis_label(load)
    load = _from_the_left(transpose_to("trajectories load", load, panel, layer, time), time)
    force = None if force is None else _from_the_left(transpose_to("trajectories force", force, panel, time), time)
    titles = [style.format_number(v) for v in load[panel or SINGLETON].values]
    columns = style.in_a_row(fig, columns, len(titles))
    columns = columns if len(titles) % columns == 0 else 1
    n_rows = rows_of(len(titles), columns)
    tall = 3.0 if len(titles) == 1 else 2.4 if columns > 1 else 1.9
    parts = [3] if force is None else [3, 1]
    height = 0.6 + (tall + 1.1 * (len(parts) - 1)) * n_rows
    fig.set_size_inches(style.column(fig, columns), height)
    shape: dict[str, Any] = {"squeeze": False, "sharex": True, "sharey": "row", "height_ratios": parts * n_rows}
    grid = fig.subplots(len(parts) * n_rows, columns, **shape)
    t, colours = load[time].values, style.sequential_colours(load.sizes[layer])
    names, margin = [style.format_number(n) for n in load[layer].values], 0.07 * columns
    last = []
    for k, (name, loads) in enumerate(zip(titles, load.values, strict=True)):
        ax, *below = grid[len(parts) * (k // columns) :, k % columns][: len(parts)]
        ax.set_title(wrapped(name, columns, fig.get_figwidth()), loc="left")
        for curve, colour in zip(loads, colours, strict=True):
            ax.plot(t, curve, color=colour, lw=1.6)
        ax.set_xlim(t[0], t[-1] + margin * np.ptp(t))
        few_ticks(ax, columns)
        if force is not None:
            (lower,) = below
            lower.plot(t, force[k], color=LIGHT.text, lw=1.4)
            if float(force[k].min()) >= 0:
                lower.set_ylim(bottom=0)
            words = force_label if k % columns == 0 else ""
            lower.set_title(words, loc="left", fontsize=style.SMALL, color=LIGHT.muted)
        ax.set_ylabel(y_label if k % columns == 0 else "")
        if k + columns >= len(titles):
            lowest = (below or [ax])[0]
            lowest.set_xlabel(x_label)
            lowest.tick_params(labelbottom=True)
        ends = [(t[-1], float(c[-1]), n, colour) for c, n, colour in zip(loads, names, colours, strict=True)]
        ends = [end for end in ends if not named or end[2] in named]
        make_room(ax, ends, tall - 0.6)
        last.append((ax, ends))
    for ax, ends in last:
        end_labels(ax, ends, tall - 0.6, edge=1 / (1 + margin) - 0.01)
