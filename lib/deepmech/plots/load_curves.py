"""Load curves over layers: of a few networks or chains, of one network with named layers, of several side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from deepmech.core import specs
from deepmech.plots import style
from deepmech.plots.style import LIGHT, SINGLETON, axis_label, panels, rows_of, same_labels, transpose_to
from deepmech.plots.style import legend as shared_legend

_DASHED: dict[str, Any] = {"lw": 1.5, "linestyle": style.DASHES}


def load_curves(
    load: xr.DataArray,
    *,
    layer: str = "block",
    by: str | None = None,
    run: str | None = None,
    label: str = "{}",
    theory: xr.DataArray | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Load curves D_ℓ over ℓ, one per value of ``by``, with the spread over runs as a band.

    Parameters
    ----------
    load : DataArray, dims (layer[, by][, run])
        D_ℓ, a pure number.
    layer : str
        Dimension along a curve.
    by : str, optional
        Dimension that tells the curves apart. Numbers are coloured as an ordered scale, words as categories.
    run : str, optional
        Dimension of repetitions: the curve is their mean, the band one standard deviation to either side.
    label : str
        Format of a curve's name, given its value along ``by``: ``"ε = {}"``.
    theory : DataArray, dims (layer[, by]), optional
        The closed form, drawn as thin dashed lines over the curves.
    x_label, y_label : str, optional
        Names of the axes in place of those in the data.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes

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
    load = transpose_to("load_curves load", load, *([run] if run else []), by, layer)
    values = load[by or SINGLETON].values
    if theory is not None:
        theory = transpose_to("load_curves theory", theory, by, layer)
        same_labels("load_curves theory", theory, load, by or SINGLETON)
    mean, spread = (load.mean(run), load.std(run, ddof=1)) if run else (load, None)
    ax = style.new_figure(None, 3.9).subplots() if ax is None else ax
    for i, (value, colour) in enumerate(zip(values, style.palette(values, by), strict=True)):
        name = label.format(style.format_number(value)) if by else None
        ax.plot(load[layer], mean[i], "o-", color=colour, mew=0, zorder=3, label=name)
        if spread is not None:
            ends = mean[i] - spread[i], mean[i] + spread[i]
            ax.fill_between(load[layer], *ends, color=colour, alpha=0.22, lw=0, zorder=3)
        if theory is not None:
            ax.plot(theory[layer], theory[i], color=LIGHT.text, zorder=4, **_DASHED)
    if theory is not None:
        ax.plot([], [], color=LIGHT.text, **_DASHED, label="closed form")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(
        xlabel=x_label or axis_label(load[layer], "layer $\\ell$"), ylabel=y_label or axis_label(load, "load $D_\\ell$")
    )
    ax.grid(axis="y")
    if by or theory is not None:
        key = ax.legend(loc="upper left", bbox_to_anchor=(1, 1), handlelength=1.4)
        for handle, text in zip(key.legend_handles, key.get_texts(), strict=True):
            text.set_color(style.legible(handle.get_color(), 4.5))  # type: ignore[union-attr]
    return ax


def plot_load_curve(
    curve: xr.DataArray,
    *,
    by: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A load curve over named layers, with its chord (dashed) to judge its bend by.

    Parameters
    ----------
    curve : DataArray, dims (layer[, by])
        As :func:`~deepmech.metrics.load_curve.load_curve` returns it; a chain's curve may run over ``block``. Layers
        named by numbers only, as in ``nn.Sequential``, also show the coordinate ``kind`` where there is one.
    by : str, optional
        Dimension of several curves; they have no chord. Given where there is one, such as ``step``.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If ``curve`` is no labelled array, or dimensions do not fit.

    Examples
    --------
    >>> curve = xr.DataArray([3.0, 2.5, 0.0], dims="layer", coords={"layer": ["input", "relu1", "relu2"]})
    >>> ax = plot_load_curve(curve)
    >>> [word.get_text() for word in ax.get_xticklabels()]
    ['input', 'relu1', 'relu2']
    """
    if not isinstance(curve, xr.DataArray):
        raise ValueError(
            f"plot_load_curve: curve is a {type(curve).__name__}: give a load curve, as load_curve returns it"
        )
    along = next((d for d in ("layer", "block") if d in curve.dims), "layer")
    others = [str(d) for d in curve.dims if d != along]
    by = others[0] if by is None and len(others) == 1 else by
    curve = transpose_to("plot_load_curve curve", curve, by, along)
    fresh = ax is None
    ax = style.new_figure(None, 3.9).subplots() if ax is None else ax
    at, names, values = np.arange(curve.sizes[along]), layer_names(curve, along), curve[by or SINGLETON].values
    for i, (value, colour) in enumerate(zip(values, style.palette(values, by), strict=True)):
        ax.plot(at, curve[i], "o-", color=colour, label=style.format_number(value) or None, zorder=3)
    if not by:
        ax.plot(at[[0, -1]], curve[0, [0, -1]], color=LIGHT.muted, lw=1.2, linestyle=style.DASHES, zorder=2)
    elif fresh:
        ax.legend(title=by)
    slanted: dict[str, Any] = {"rotation": 50, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(at, names, **({} if all(name.isdecimal() for name in names) else slanted))
    ax.set_xlim(-0.3, len(at) - 0.7)
    ax.grid(axis="y")
    if fresh:
        ax.set_ylabel(axis_label(curve, "load $D_\\ell$"))
    return ax


def layer_curves(
    curves: Mapping[str, xr.DataArray],
    *,
    by: str | None = None,
    by_label: str | None = None,
    y_label: str = "load $D_\\ell$",
    columns: int = 2,
    fig: Figure | None = None,
) -> Figure:
    """Load curves over named layers, one panel per network: :func:`plot_load_curve` in each, on one scale.

    Where names of numbered layers have no room, their numbers stand alone. A single curve whose title ends in the name
    of a shape or phase has its colour.

    Parameters
    ----------
    curves : mapping of str to DataArray, dims (layer[, by])
        By the titles of the panels; every panel has its own layers.
    by : str, optional
        Dimension of different curves in one panel; its values are named in a legend, below ``by_label``.
    by_label : str, optional
        Title of that legend.
    y_label : str
        Name of the axis of D.
    columns : int
        Panels side by side.
    fig : Figure, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If there is no curve, or dimensions do not fit.

    Examples
    --------
    >>> curve = xr.DataArray([3.0, 2.5, 0.0], dims="layer", coords={"layer": ["input", "relu1", "relu2"]})
    >>> [ax.get_title(loc="left") for ax in layer_curves({"narrow": curve, "wide": curve}).axes]
    ['narrow', 'wide']
    """
    if not curves:
        raise ValueError("layer_curves curves = {}: give at least one title with its curve")
    curves = {
        t: transpose_to(f"layer_curves curves[{t!r}]", c, *filter(None, [by]), "layer") for t, c in curves.items()
    }
    words = (0.3 if by else 0.0) + (0.25 if by_label else 0.0)
    columns = specs.check_int("layer_curves: columns", columns)
    columns = min(columns, len(curves)) if fig is None else style.in_a_row(fig, columns, len(curves))
    fig = style.new_figure(fig, 0.3 + (3.1 if columns < 3 else 2.5) * rows_of(len(curves), columns) + words)
    fig.set_figwidth(style.column(fig, columns))
    room = (fig.get_figwidth() / columns - 0.6) / max(curve.sizes["layer"] for curve in curves.values())
    numbered = all(str(n).isdecimal() for curve in curves.values() for n in curve["layer"].values)
    plain = numbered and (room < 0.35 or not any("kind" in curve.coords for curve in curves.values()))
    axes = panels(fig, list(curves), columns, r"layer $\ell$" if plain else "", y_label, sharey=True)
    for ax, (title, curve) in zip(axes, curves.items(), strict=True):
        plot_load_curve(curve.drop_vars("kind", errors="ignore") if plain else curve, by=by, ax=ax)
        if not by and (shape := title.split(": ")[-1]) in style.SHAPES:
            ax.lines[0].set_color(style.SHAPES[shape])
    if by:
        shared_legend(fig, axes[0], 3 if columns < 3 else 8, title=by_label)
    return fig


def layer_names(curve: xr.DataArray, along: str = "layer") -> list[str]:
    """Words for the ticks: ``"4"`` of an ``nn.Sequential`` becomes ``"4 ReLU"``."""
    names = [str(n) for n in curve[along].values]
    kinds = [str(k) for k in curve["kind"].values] if "kind" in curve.coords else [""] * len(names)
    return [f"{n} {k}".strip() if n.split(".")[-1].isdecimal() else n for n, k in zip(names, kinds, strict=True)]
