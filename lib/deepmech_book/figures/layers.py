"""Load curves of networks whose layers have names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.arrays import arranged
from deepmech.plots.style import Theme
from deepmech_book.figures.grid import Grid, legend
from deepmech_book.figures.picture import Picture


def layer_curves(
    curves: Mapping[str, xr.DataArray],
    *,
    alt: str,
    by: str | None = None,
    by_label: str | None = None,
    columns: int = 2,
    y_label: str = "load $D_\\ell$",
    figure: str | None = None,
) -> Picture:
    """Load curves over named layers, one panel per network, each with its chord (dashed) to judge its bend by.

    Parameters
    ----------
    curves : mapping from title to DataArray, dims (layer[, by])
        Every panel has its own layers. Layers named by numbers only, as in ``nn.Sequential``, also show the coordinate
        ``kind`` where there is one.
    by : str, optional
        Dimension of different curves in one panel; they have no chord, and its values are named in a legend.
    by_label : str, optional
        What those values are, above the legend.
    columns : int
        Panels side by side; one suits more than about eight layers.

    Raises
    ------
    ValueError
        If there is no curve, dimensions do not fit, or ``alt`` is missing.
    """
    if not curves:
        raise ValueError("layer_curves curves = {}: give at least one title with its curve")
    named = [by] if by else []
    ready = {t: arranged(f"layer_curves curves[{t!r}]", c, "layer", *named) for t, c in curves.items()}
    grid = Grid(tuple(ready), columns)

    def draw(fig: Figure, theme: Theme) -> None:
        axes = grid.axes(fig, r"layer $\ell$" if all(map(_numbered, ready.values())) else "", y_label)
        for ax, curve in zip(axes, ready.values(), strict=True):
            _panel(ax, curve, by, theme)
        if by:
            legend(fig, axes[0], title=by_label)

    return Picture(
        draw, alt=alt, height=0.3 + 3.1 * grid.rows + (0.3 if by else 0.0) + (0.25 if by_label else 0.0), figure=figure
    )


def _panel(ax: Axes, curve: xr.DataArray, by: str | None, theme: Theme) -> None:
    at, names = np.arange(curve.sizes["layer"]), _names(curve)
    values = curve[by].values if by else np.array([None])
    for i, (value, colour) in enumerate(zip(values, style.palette(values, theme), strict=True)):
        d = curve.values[:, i] if by else curve.values
        ax.plot(at, d, "o-", color=colour, label=None if value is None else style.number(value), zorder=3)
    if not by:
        ends = curve.values[[0, -1]]
        ax.plot(at[[0, -1]], ends, color=theme.muted, lw=1.2, linestyle=style.DASHES, zorder=2)
    slanted: dict[str, Any] = {} if _numbered(curve) else {"rotation": 50, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(at, names, **slanted)
    ax.set_xlim(-0.3, len(at) - 0.7)
    ax.grid(axis="y")


def _numbered(curve: xr.DataArray) -> bool:
    return all(name.isdecimal() for name in _names(curve))


def _names(curve: xr.DataArray) -> list[str]:
    """Words for the ticks: ``"4"`` of an ``nn.Sequential`` becomes ``"4 ReLU"``."""
    names = [str(n) for n in curve["layer"].values]
    kinds = [str(k) for k in curve["kind"].values] if "kind" in curve.coords else [""] * len(names)
    return [f"{n} {k}".strip() if n.split(".")[-1].isdecimal() else n for n, k in zip(names, kinds, strict=True)]
