"""Load curves over layers."""

from __future__ import annotations

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from deepmech.plots import style
from deepmech.plots.arrays import arranged, named, same_labels
from deepmech.plots.style import LIGHT, Theme


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
    dims = [d for d in (by, layer) if d is not None]
    load = arranged("load_curves load", load, *dims, *([run] if run else []))
    if theory is not None:
        theory = arranged("load_curves theory", theory, *dims)
        if by is not None:
            same_labels("load_curves theory", theory, load, [by])
    values = load[by].values if by else [None]
    colours = style.palette(values, theme) if by else style.categories(1, theme)
    mean, spread = (load.mean(run), load.std(run, ddof=1)) if run else (load, None)
    ax = style.figure(3.9, theme).subplots() if ax is None else ax
    for i, colour in enumerate(colours):
        own: Any = {by: i} if by else {}
        curve, name = mean.isel(own), label.format(style.number(values[i])) if by else None
        ax.plot(load[layer], curve, "o-", color=colour, mew=0, zorder=3, label=name)
        if spread is not None:
            ends = curve - spread.isel(own), curve + spread.isel(own)
            ax.fill_between(load[layer], *ends, color=colour, alpha=0.22, lw=0, zorder=3)
    if theory is not None:
        for i in range(len(colours)):
            dashed: dict[str, Any] = {"linestyle": style.DASHES, "lw": 1.4, "color": theme.text, "zorder": 4}
            name = theory_label if i == len(colours) - 1 else None
            ax.plot(theory[layer], theory.isel({by: i} if by else {}), label=name, **dashed)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel=x_label or named(load[layer], "layer $\\ell$"), ylabel=y_label or named(load, "load $D_\\ell$"))
    ax.grid(axis="y")
    if by or theory is not None:
        key = ax.legend(loc="best", handlelength=1.4, labelspacing=0.35)
        for handle, text in zip(key.legend_handles, key.get_texts(), strict=True):
            text.set_color(style.legible(handle.get_color(), theme, 4.5))  # type: ignore[union-attr]
    return ax
