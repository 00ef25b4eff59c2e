"""Loads over time."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.arrays import arranged
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.grid import Grid
from deepmech_book.figures.labels import end_labels
from deepmech_book.figures.picture import Picture

PANEL = 2.4
"""Height in inches of one panel of trajectories."""


@drawn.takes
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
    twin.set_ylim(bottom=min(0.0, float(np.nanmin(force))))
