"""Load curves over layers, and loads over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import seaborn
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from deepmech_book.figures import style
from deepmech_book.figures.arrays import arranged, same_labels
from deepmech_book.figures.grid import Grid
from deepmech_book.figures.labels import end_labels, palette
from deepmech_book.figures.picture import Picture
from deepmech_book.figures.style import Theme

PANEL = 2.4
"""Height in inches of one panel of trajectories."""


def load_curves(
    load: xr.DataArray,
    *,
    alt: str,
    layer: str = "block",
    by: str | None = None,
    run: str | None = None,
    label: str = "{}",
    theory: xr.DataArray | None = None,
    theory_label: str = "closed form",
    x_label: str = "layer $\\ell$",
    y_label: str = "load $D_\\ell$",
    figure: str | None = None,
) -> Picture:
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

    Raises
    ------
    ValueError
        If dimensions do not fit, or ``alt`` is missing.
    """
    named = [d for d in (by, layer) if d is not None]
    load = arranged("load_curves load", load, *named, *([run] if run else []))
    if theory is not None:
        theory = arranged("load_curves theory", theory, *named)
    if by is None:
        load = load.expand_dims("curve")
        theory = None if theory is None else theory.expand_dims("curve")
    elif theory is not None:
        same_labels("load_curves theory", theory, load, [by])
    names = [label.format(style.number(v)) for v in load[by].values] if by else [""]
    rows = load.drop_vars(set(load.coords) - set(load.dims)).assign_coords({load.dims[0]: names})
    rows = rows.rename({load.dims[0]: "curve"}).to_dataframe("load").reset_index()

    def draw(fig: Figure, theme: Theme) -> None:
        ax = fig.subplots()
        colours = palette(load[by].values, theme) if by else style.categories(1, theme)
        seaborn.lineplot(
            rows, x=layer, y="load", hue="curve", palette=dict(zip(names, colours, strict=True)), ax=ax,
            errorbar="sd" if run else None, err_kws={"alpha": 0.22, "lw": 0}, marker="o", mew=0, zorder=3,
            legend="full" if by else False,
        )  # fmt: skip
        if theory is not None:
            dashes: dict[str, Any] = {"linestyle": style.DASHES, "lw": 1.4, "color": theme.text, "zorder": 4}
            for i in range(len(colours)):
                ax.plot(theory[layer], theory[i], label=theory_label if i == len(colours) - 1 else None, **dashes)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel=x_label, ylabel=y_label)
        ax.grid(axis="y")
        if by or theory is not None:
            _tinted(ax, theme)

    return Picture(draw, alt=alt, height=3.9, figure=figure)


def _tinted(ax: Axes, theme: Theme) -> None:
    """A legend whose words have the colours of their lines."""
    legend = ax.legend(loc="best", handlelength=1.4, labelspacing=0.35)
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        text.set_color(style.legible(handle.get_color(), theme, 4.5))  # type: ignore[union-attr]


def trajectories(
    load: xr.DataArray,
    *,
    alt: str,
    time: str = "time",
    layer: str = "block",
    panel: str | None = None,
    force: xr.DataArray | None = None,
    force_label: str = "force $F$",
    x_label: str = "time $t$",
    y_label: str = "load $D_\\ell$",
    figure: str | None = None,
) -> Picture:
    """Loads D_ℓ(t) of every block or layer, coloured and numbered by ℓ, with the driving force dashed.

    Parameters
    ----------
    load : DataArray, dims (layer, time[, panel])
    panel : str, optional
        Dimension of which every value has its own panel, one below the other; the values are the titles.
    force : DataArray, dims (time[, panel]), optional
        Pulling force or training loss, on a second scale at the right.

    Raises
    ------
    ValueError
        If dimensions do not fit, or ``alt`` is missing.
    """
    rows = [panel] if panel else []
    load = arranged("trajectories load", load, *rows, layer, time)
    force = None if force is None else arranged("trajectories force", force, *rows, time)
    grid = Grid.of(load[panel].values if panel else [""])
    if not panel:
        load, force = load.expand_dims("panel"), None if force is None else force.expand_dims("panel")

    def draw(fig: Figure, theme: Theme) -> None:
        t, colours = load[time].values, style.ramp(load.sizes[layer], theme)
        names = [style.number(n) for n in load[layer].values]
        for i, ax in enumerate(grid.axes(fig, x_label, y_label, sharex=True)):
            for j, colour in enumerate(colours):
                ax.plot(t, load[i, j], color=colour, lw=1.6)
            ax.set_xlim(t[0], t[-1] + 0.07 * np.ptp(t))
            ends = [(t[-1], float(load[i, j, -1]), n, colours[j]) for j, n in enumerate(names)]
            end_labels(ax, ends, theme, PANEL - 0.5, edge=0.925)
            if force is not None:
                _second_scale(ax, t, force[i].values, force_label, theme)

    return Picture(draw, alt=alt, height=0.6 + PANEL * grid.rows, figure=figure)


def _second_scale(ax: Axes, t: np.ndarray, force: np.ndarray, label: str, theme: Theme) -> None:
    twin = ax.twinx()
    twin.plot(t, force, color=theme.text, lw=1.4, linestyle=style.DASHES)
    twin.set_ylabel(label + " (dashed)")
    twin.spines["right"].set_visible(True)
    (low, high), top = ax.get_ylim(), twin.get_ylim()[1]
    zero = top * low / high if low < 0 < high else 0.0  # both scales have their zero at one height
    twin.set_ylim(bottom=min(zero, float(np.nanmin(force))))
