"""Load curves over named layers, each with its chord."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.style import LIGHT, Theme, arranged, legend, named, panels, rows_of


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
    curve = arranged("plot curve", curve, along, *([by] if by else []))
    fresh = ax is None
    ax = style.canvas(None, 3.9, theme).subplots() if ax is None else ax
    at, names = np.arange(curve.sizes[along]), layer_names(curve, along)
    values = curve[by].values if by else np.array([None])
    ends = [arranged("plot interval", end, along, *([by] if by else [])) for end in interval or ()]
    for i, (value, colour) in enumerate(zip(values, style.palette(values, theme, by), strict=True)):
        d = curve.values[:, i] if by else curve.values
        if ends:
            low, high = (end.values[:, i] if by else end.values for end in ends)
            ax.vlines(at, low, high, color=colour, lw=1.6, alpha=0.7, zorder=3)
        ax.plot(at, d, "o-", color=colour, label=None if value is None else style.number(value), zorder=3)
    if not by:
        ax.plot(at[[0, -1]], curve.values[[0, -1]], color=theme.muted, lw=1.2, linestyle=style.DASHES, zorder=2)
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
    ready = {t: arranged(f"layer_curves curves[{t!r}]", c, "layer", *([by] if by else [])) for t, c in curves.items()}
    words = (0.3 if by else 0.0) + (0.25 if by_label else 0.0)
    fig = style.canvas(fig, 0.3 + 3.1 * rows_of(len(ready), columns) + words, theme)
    plain = all(name.isdecimal() for curve in ready.values() for name in layer_names(curve))
    axes = panels(fig, list(ready), columns, r"layer $\ell$" if plain else "", y_label)
    for ax, curve in zip(axes, ready.values(), strict=True):
        plot(curve, by=by, ax=ax, theme=theme)
    if by:
        legend(fig, axes[0], title=by_label)
    return fig


def layer_names(curve: xr.DataArray, along: str = "layer") -> list[str]:
    """Words for the ticks: ``"4"`` of an ``nn.Sequential`` becomes ``"4 ReLU"``."""
    names = [str(n) for n in curve[along].values]
    kinds = [str(k) for k in curve["kind"].values] if "kind" in curve.coords else [""] * len(names)
    return [f"{n} {k}".strip() if n.split(".")[-1].isdecimal() else n for n, k in zip(names, kinds, strict=True)]


def in_words(curve: xr.DataArray) -> str:
    """What a picture of a load curve shows, for readers who do not see it.

    Examples
    --------
    >>> in_words(xr.DataArray([3.0, 2.5, 0.0], dims="layer", coords={"layer": ["input", "relu1", "relu2"]}))
    'Load over 3 layers, from 3.00 at input to 0.00 at relu2; below its chord at no layer, above it at 1.'
    """
    along = next((d for d in ("layer", "block") if d in curve.dims), "layer")
    mean = curve.mean([d for d in curve.dims if d != along])
    d, names = mean.values, layer_names(arranged("curve", mean, along), along)
    off = d - np.linspace(d[0], d[-1], len(d))
    far = 0.01 * np.ptp(d)
    below, above = int((off < -far).sum()), int((off > far).sum())
    what = named(curve, "load").partition(" $")[0]
    ends = f"from {d[0]:.2f} at {names[0]} to {d[-1]:.2f} at {names[-1]}"
    return (
        f"{what[:1].upper()}{what[1:]} over {len(d)} layers, {ends}; "
        f"below its chord at {below or 'no layer'}, above it at {above or 'none'}."
    )
