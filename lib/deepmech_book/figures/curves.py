"""Curves over an axis, in one panel or in several side by side; load curves over layers, loads over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from deepmech.plots import style
from deepmech.plots.style import (
    ALONE,
    LIGHT,
    Theme,
    arranged,
    end_labels,
    few_ticks,
    logarithmic,
    named,
    panels,
    rows_of,
    same_labels,
    wrapped,
)
from deepmech.plots.style import legend as shared_legend

Curves = xr.DataArray | Mapping[str, xr.DataArray]
"""Curves of one picture: an array, or one array for each panel under the panel's title."""
_DASHED: dict[str, Any] = {"lw": 1.5, "linestyle": style.DASHES}


def lines(
    data: Curves,
    *,
    x: str,
    by: str | None = None,
    panel: str | None = None,
    label: str = "{}",
    title: str = "{}",
    interval: tuple[Curves, Curves] | None = None,
    band_of_theory: bool = False,
    theory: Curves | None = None,
    theory_label: str = "theory",
    level: float | None = None,
    level_label: str = "",
    log: str = "",
    points: bool = True,
    legend: bool = False,
    columns: int = 3,
    shared: bool = True,
    x_label: str | None = None,
    y_label: str | None = None,
    height: float | None = None,
    fig: Figure | None = None,
    theme: Theme = LIGHT,
) -> Figure:
    """Curves over ``x``, one colour per value of ``by``, with theory as dashed curves; panels in rows.

    A single panel names its curves at their right ends, several share one legend below them.

    Parameters
    ----------
    data : DataArray, dims (x[, by][, panel]), or mapping from a panel's title to such an array without panel
        Panels of a mapping may have different labels along ``x`` and ``by``. NaN leaves gaps.
    by : str, optional
        Dimension that tells curves apart. Numbers are coloured as an ordered scale (temperatures from cold to hot),
        words as categories.
    label, title : str
        Formats of a curve's and of a panel's name, given its value.
    interval : (low, high), each as ``data``, optional
        Bars at points, a band around curves; around the dashed curves with ``band_of_theory``.
    theory : as ``data``, optional
        May have its own labels along x, and only some of those along ``by``. Points with theory are not joined.
    level : float, optional
        A horizontal reference line in every panel, in a single one named ``level_label``.
    log : {"", "x", "y", "xy"}
        Logarithmic axes.
    points : bool
        False draws curves only, for what is computed and not sampled.
    legend : bool
        Name the curves of a single panel in a legend instead of at their ends, for curves that end together.
    columns : int
        Panels side by side.
    shared : bool
        Whether all panels have one vertical scale.
    height : float
        Of a row of panels, in inches.
    fig : Figure, optional
        Where to draw; a new figure without it.

    Raises
    ------
    ValueError
        If dimensions, labels or ``log`` do not fit, or ``band_of_theory`` lacks its theory or its interval.

    Examples
    --------
    >>> curve = xr.DataArray([1.0, 2.0, 4.0], {"t": [0, 1, 2]}, "t", attrs={"long_name": "length", "units": "m"})
    >>> fig = lines({"slow": curve, "fast": 2 * curve}, x="t")
    >>> [(ax.get_title(loc="left"), ax.get_ylabel()) for ax in fig.axes]
    [('slow', 'length (m)'), ('fast', '')]
    """
    if band_of_theory and (theory is None or interval is None):
        missing = "theory" if theory is None else "interval"
        raise ValueError(f"lines band_of_theory = True: needs {missing}; give it, or leave band_of_theory out")
    low, high = interval or (None, None)
    around = "theory" if band_of_theory else "data"
    ready = _panels({"data": data, "theory": theory, "low": low, "high": high}, panel, title, by, x, around)
    first = next(iter(ready.values()))["data"]
    values = _all_values([arrays["data"][by or ALONE].values for arrays in ready.values()])
    colours = dict(zip(values, style.palette(values, theme, by), strict=True))
    names = {v: label.format(style.number(v)) if by else "" for v in values}
    single = len(ready) == 1
    columns = min(columns, len(ready))
    rows = rows_of(len(ready), columns)
    fig = style.canvas(fig, (height or 3.9) if single else 0.75 + (height or 2.5) * rows, theme)
    axes = panels(
        fig, list(ready), columns, x_label or named(first[x]), y_label or named(first),
        sharex="all" if panel else "none", sharey="all" if shared else "none",
    )  # fmt: skip
    for ax, arrays in zip(axes, ready.values(), strict=True):
        _draw(ax, arrays, x, colours, points, around)
        if level is not None:
            ax.axhline(level, color=theme.muted, lw=1.2, zorder=1)
        ax.grid(axis="y")
    logarithmic("lines", axes, log)
    key = axes[0]
    if legend or not single:
        for v in values if by else []:
            key.plot([], [], "o-" if points and single else "-", color=colours[v], label=names[v])
    if theory is not None:
        key.plot([], [], color=theme.muted, **_DASHED, label=theory_label)
    if not single:
        for ax, arrays in zip(axes, ready.values(), strict=True):
            few_ticks(ax, columns, log, whole=arrays["data"][x].dtype.kind in "iu")
        shared_legend(fig, key)
        return fig
    if theory is not None or legend:
        key.legend(loc="best")
    ends = []
    for value, curve in zip(values, first.values, strict=True) if by and not legend else []:
        # A curve's name stands at its last point that the scale can show.
        shown = np.flatnonzero(np.isfinite(curve) & ((curve > 0) | ("y" not in log)))
        if len(shown):
            ends.append((float(first[x].values[shown[-1]]), float(curve[shown[-1]]), names[value], colours[value]))
    if level is not None and level_label:
        ends.append((float(first[x].values[-1]), level, level_label, theme.muted))
    if ends:
        key.autoscale_view()  # limits are worked out lazily, and the names need them now
        end_labels(key, ends, theme, fig.get_figheight() - 0.9)
    return fig


def curve_panels(data: xr.DataArray, *, panel: str, columns: int = 2, **how: Any) -> Figure:
    """Curves without points in a panel for each value of ``panel``: :func:`lines`, which explains the arguments."""
    return lines(data, panel=panel, columns=columns, points=False, **how)


def _panels(
    given: dict[str, Any], panel: str | None, title: str, by: str | None, x: str, around: str
) -> dict[str, dict[str, xr.DataArray]]:
    """The arrays of every panel under its title, arranged along (by, x)."""
    given = {name: value for name, value in given.items() if value is not None}
    if panel is not None and not isinstance(given["data"], Mapping):
        given = {k: arranged(f"lines {k}", v, *filter(None, (panel, by, x))) for k, v in given.items()}
        for name, value in given.items():
            same_labels(f"lines {name}", value, given["data"], panel)
        titles = [title.format(style.number(v)) for v in given["data"][panel].values]
        split = {name: dict(zip(titles, value.drop_vars(panel), strict=True)) for name, value in given.items()}
    else:
        split = {k: dict(v) if isinstance(v, Mapping) else {"": v} for k, v in given.items()}
    if not split["data"]:
        raise ValueError("lines data = {}: give at least one title with its curves")
    ready = {}
    for name in split["data"]:
        arrays = {k: _from_the_left(arranged(f"lines {k}", v[name], by, x), x) for k, v in split.items() if name in v}
        for end in {"low", "high"} & arrays.keys():
            same_labels("lines interval", arrays[end], arrays[around], by or ALONE, x)
        known, explained = ({*arrays.get(k, arrays["data"])[by or ALONE].values.tolist()} for k in ("data", "theory"))
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


def load_curves(
    load: xr.DataArray,
    *,
    layer: str = "block",
    by: str | None = None,
    run: str | None = None,
    label: str = "{}",
    theory: xr.DataArray | None = None,
    theory_label: str = "closed form",
    x_label: str | None = None,
    y_label: str | None = None,
    ax: Axes | None = None,
    theme: Theme = LIGHT,
) -> Axes:
    """Load curves D_ℓ over ℓ, one per value of ``by``, with the spread over runs as a band.

    Parameters
    ----------
    load : DataArray, dims (layer[, by][, run])
    by : str, optional
        Dimension that tells the curves apart. Numbers are coloured as an ordered scale, words as categories.
    run : str, optional
        Dimension of repetitions: the curve is their mean, the band one standard deviation to either side.
    label : str
        Format of a curve's name, given its value along ``by``: ``"ε = {}"``.
    theory : DataArray, dims (layer[, by]), optional
        Drawn as thin dashed lines over the curves.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Raises
    ------
    ValueError
        If dimensions or labels do not fit.

    Examples
    --------
    >>> load = xr.DataArray([[3.0, 2.5, 0.0], [3.0, 0.5, 0.0]], dims=("noise", "layer"), coords={"noise": [0.0, 0.3]})
    >>> ax = load_curves(load, layer="layer", by="noise", label="ε = {}")
    >>> [word.get_text() for word in ax.get_legend().get_texts()]
    ['ε = 0', 'ε = 0.3']
    """
    load = arranged("load_curves load", load, *([run] if run else []), by, layer)
    values = load[by or ALONE].values
    if theory is not None:
        theory = arranged("load_curves theory", theory, by, layer)
        same_labels("load_curves theory", theory, load, by or ALONE)
    mean, spread = (load.mean(run), load.std(run, ddof=1)) if run else (load, None)
    ax = style.canvas(None, 3.9, theme).subplots() if ax is None else ax
    for i, (value, colour) in enumerate(zip(values, style.palette(values, theme, by), strict=True)):
        name = label.format(style.number(value)) if by else None
        ax.plot(load[layer], mean[i], "o-", color=colour, mew=0, zorder=3, label=name)
        if spread is not None:
            ends = mean[i] - spread[i], mean[i] + spread[i]
            ax.fill_between(load[layer], *ends, color=colour, alpha=0.22, lw=0, zorder=3)
        if theory is not None:
            ax.plot(theory[layer], theory[i], color=theme.text, zorder=4, **_DASHED)
    if theory is not None:
        ax.plot([], [], color=theme.text, **_DASHED, label=theory_label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel=x_label or named(load[layer], "layer $\\ell$"), ylabel=y_label or named(load, "load $D_\\ell$"))
    ax.grid(axis="y")
    if by or theory is not None:
        key = ax.legend(loc="best", handlelength=1.4, labelspacing=0.35)
        for handle, text in zip(key.legend_handles, key.get_texts(), strict=True):
            text.set_color(style.legible(handle.get_color(), theme, 4.5))  # type: ignore[union-attr]
    return ax


def trajectories(
    load: xr.DataArray,
    *,
    time: str = "time",
    layer: str = "block",
    panel: str | None = None,
    force: xr.DataArray | None = None,
    force_label: str = "force $F$",
    columns: int = 3,
    x_label: str = "time $t$",
    y_label: str = "load $D_\\ell$",
    fig: Figure | None = None,
    theme: Theme = LIGHT,
) -> Figure:
    """Loads D_ℓ(t) of every block or layer, coloured and numbered by ℓ; the driving force in a thin panel below them.

    Parameters
    ----------
    load : DataArray, dims (layer, time[, panel])
    panel : str, optional
        Dimension of which every value has its own panel, side by side; the values are the titles.
    force : DataArray, dims (time[, panel]), optional
        Pulling force or training loss. Where it is never negative its axis begins at zero.
    columns : int
        Panels side by side.

    Raises
    ------
    ValueError
        If dimensions do not fit.
    """
    load = _from_the_left(arranged("trajectories load", load, panel, layer, time), time)
    force = None if force is None else _from_the_left(arranged("trajectories force", force, panel, time), time)
    titles = [style.number(v) for v in load[panel or ALONE].values]
    columns = min(columns, len(titles))
    n_rows, tall = rows_of(len(titles), columns), 2.4 + 0.6 * (columns == 1)
    parts = [3] if force is None else [3, 1]
    fig = style.canvas(fig, 0.6 + (tall + 1.1 * (len(parts) - 1)) * n_rows, theme)
    grid = fig.subplots(len(parts) * n_rows, columns, squeeze=False, sharex=True, height_ratios=parts * n_rows)
    t, colours = load[time].values, style.ramp(load.sizes[layer], theme)
    names, room = [style.number(n) for n in load[layer].values], 0.07 * columns
    for ax in grid.flat[len(titles) * len(parts) :]:
        ax.set_visible(False)
    for k, (name, loads) in enumerate(zip(titles, load.values, strict=True)):
        ax, *below = grid[len(parts) * (k // columns) :, k % columns][: len(parts)]
        ax.set_title(wrapped(name, columns), loc="left")
        for curve, colour in zip(loads, colours, strict=True):
            ax.plot(t, curve, color=colour, lw=1.6)
        ax.set_xlim(t[0], t[-1] + room * np.ptp(t))
        few_ticks(ax, columns)
        if force is not None:
            (lower,) = below
            lower.plot(t, force[k], color=theme.text, lw=1.4)
            if float(force[k].min()) >= 0:
                lower.set_ylim(bottom=0)
            words = force_label if k % columns == 0 else ""
            lower.set_title(words, loc="left", fontsize=style.SMALL, color=theme.muted)
        ax.set_ylabel(y_label if k % columns == 0 else "")
        if k + columns >= len(titles):
            lowest = (below or [ax])[0]
            lowest.set_xlabel(x_label)
            lowest.tick_params(labelbottom=True)
        ends = [(t[-1], float(c[-1]), n, colour) for c, n, colour in zip(loads, names, colours, strict=True)]
        end_labels(ax, ends, theme, tall - 0.6, edge=1 / (1 + room) - 0.01)
    return fig


def plot(
    curve: xr.DataArray,
    *,
    by: str | None = None,
    title: str = "",
    y_label: str | None = None,
    interval: tuple[xr.DataArray, xr.DataArray] | None = None,
    ax: Axes | None = None,
    theme: Theme = LIGHT,
) -> Axes:
    """A load curve over named layers, with its chord (dashed) to judge its bend by.

    Parameters
    ----------
    curve : DataArray, dims (layer[, by])
        As :func:`~deepmech.metrics.load_curve.load_curve` returns it; a chain's curve may run over ``block``. Layers
        named by numbers only, as in ``nn.Sequential``, also show the coordinate ``kind`` where there is one.
    by : str, optional
        Dimension of several curves; they have no chord. Given where there is one, such as ``step``.
    title, y_label
        Words above, and beside the axis of D.
    interval : (low, high), optional
        Ends of the bars at each layer, of the shape of ``curve``.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Examples
    --------
    >>> curve = xr.DataArray([3.0, 2.5, 0.0], dims="layer", coords={"layer": ["input", "relu1", "relu2"]})
    >>> ax = plot(curve)
    >>> [word.get_text() for word in ax.get_xticklabels()]
    ['input', 'relu1', 'relu2']
    """
    if not isinstance(curve, xr.DataArray):
        raise ValueError(f"plot: curve is a {type(curve).__name__}: give a load curve, as load_curve returns it")
    along = next((d for d in ("layer", "block") if d in curve.dims), "layer")
    others = [str(d) for d in curve.dims if d != along]
    by = others[0] if by is None and len(others) == 1 else by
    curve = arranged("plot curve", curve, by, along)
    fresh = ax is None
    ax = style.canvas(None, 3.9, theme).subplots() if ax is None else ax
    at, names, values = np.arange(curve.sizes[along]), layer_names(curve, along), curve[by or ALONE].values
    ends = [arranged("plot interval", end, by, along) for end in interval or ()]
    for i, (value, colour) in enumerate(zip(values, style.palette(values, theme, by), strict=True)):
        if ends:
            ax.vlines(at, ends[0][i], ends[1][i], color=colour, lw=1.6, alpha=0.7, zorder=3)
        ax.plot(at, curve[i], "o-", color=colour, label=style.number(value) or None, zorder=3)
    if not by:
        ax.plot(at[[0, -1]], curve[0, [0, -1]], color=theme.muted, lw=1.2, linestyle=style.DASHES, zorder=2)
    elif fresh:
        ax.legend(title=by)
    slanted: dict[str, Any] = {"rotation": 50, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(at, names, **({} if all(name.isdecimal() for name in names) else slanted))
    ax.set_xlim(-0.3, len(at) - 0.7)
    ax.grid(axis="y")
    if fresh or y_label:
        ax.set_ylabel(y_label or named(curve, "load $D_\\ell$"))
    if title:
        ax.set_title(title, loc="left")
    return ax


def layer_curves(
    curves: Mapping[str, xr.DataArray],
    *,
    by: str | None = None,
    by_label: str | None = None,
    y_label: str = "load $D_\\ell$",
    columns: int = 2,
    fig: Figure | None = None,
    theme: Theme = LIGHT,
) -> Figure:
    """Load curves over named layers, one panel per network: :func:`plot` in each.

    Parameters
    ----------
    curves : mapping from title to DataArray, dims (layer[, by])
        Every panel has its own layers.
    by : str, optional
        Dimension of different curves in one panel; its values are named in a legend, below ``by_label``.
    columns : int
        Panels side by side.

    Raises
    ------
    ValueError
        If there is no curve, or dimensions do not fit.
    """
    if not curves:
        raise ValueError("layer_curves curves = {}: give at least one title with its curve")
    curves = {t: arranged(f"layer_curves curves[{t!r}]", c, *filter(None, [by]), "layer") for t, c in curves.items()}
    words = (0.3 if by else 0.0) + (0.25 if by_label else 0.0)
    fig = style.canvas(fig, 0.3 + 3.1 * rows_of(len(curves), columns) + words, theme)
    plain = all(name.isdecimal() for curve in curves.values() for name in layer_names(curve))
    axes = panels(fig, list(curves), columns, r"layer $\ell$" if plain else "", y_label)
    for ax, curve in zip(axes, curves.values(), strict=True):
        plot(curve, by=by, ax=ax, theme=theme)
    if by:
        shared_legend(fig, axes[0], title=by_label)
    return fig


def layer_names(curve: xr.DataArray, along: str = "layer") -> list[str]:
    """Words for the ticks: ``"4"`` of an ``nn.Sequential`` becomes ``"4 ReLU"``."""
    names = [str(n) for n in curve[along].values]
    kinds = [str(k) for k in curve["kind"].values] if "kind" in curve.coords else [""] * len(names)
    return [f"{n} {k}".strip() if n.split(".")[-1].isdecimal() else n for n, k in zip(names, kinds, strict=True)]
