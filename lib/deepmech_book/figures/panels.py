"""Curves with bands in a grid of panels."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from deepmech.plots import style
from deepmech.plots.arrays import named, same_labels
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.grid import Grid, legend, logarithmic
from deepmech_book.figures.picture import Picture


@drawn.takes
def curve_panels(
    data: xr.DataArray,
    *,
    x: str,
    by: str,
    panel: str,
    x_label: str | None = None,
    y_label: str | None = None,
    alt: str,
    label: str = "{}",
    title: str = "{}",
    interval: tuple[xr.DataArray, xr.DataArray] | None = None,
    band_of_theory: bool = False,
    theory: xr.DataArray | None = None,
    theory_label: str = "theory",
    level: float | None = None,
    columns: int = 2,
    shared: bool = True,
    log: str = "",
    height: float = 2.5,
    figure: str | None = None,
) -> Picture:
    """Curves over ``x``, one colour per value of ``by``, one panel per value of ``panel``; theory as dashed curves.

    Parameters
    ----------
    data : DataArray, dims (x, by, panel)
        NaN leaves gaps.
    label, title : str
        Formats of a curve's and of a panel's name, given its value.
    interval : (low, high), each with the dimensions of ``data``, optional
        A band around each curve, or around each dashed one with ``band_of_theory``.
    theory : DataArray, dims (x, by, panel), optional
        May have its own labels along x.
    level : float, optional
        A horizontal reference line in every panel.
    columns : int
        Panels side by side.
    shared : bool
        Whether all panels have one vertical scale.
    log : {"", "x", "y", "xy"}
    height : float
        Of a row of panels, in inches.

    Raises
    ------
    ValueError
        If dimensions, labels or ``log`` do not fit, ``band_of_theory`` lacks its theory or its interval, or ``alt`` is
        missing.
    """
    if band_of_theory and (theory is None or interval is None):
        missing = "theory" if theory is None else "interval"
        raise ValueError(f"curve_panels band_of_theory = True: needs {missing}; give it, or leave band_of_theory out")
    around = "theory" if band_of_theory else "data"
    ready = drawn.arrange_inputs("curve_panels", (panel, by, x), data, interval, theory, around)
    data, model, base = ready["data"], ready.get("theory"), ready[around]
    if model is not None:
        same_labels("curve_panels theory", model, data, [panel, by])
    grid = Grid.of(data[panel].values, title, columns)

    def draw(fig: Figure, theme: Theme) -> None:
        axes = grid.axes(fig, x_label or named(data[x]), y_label or named(data), sharex=True, sharey=shared)
        colours = style.palette(data[by].values, theme)
        for i, ax in enumerate(axes):
            for j, colour in enumerate(colours):
                name = label.format(style.number(data[by].values[j])) if i == 0 else None
                ax.plot(data[x], data[i, j], color=colour, lw=1.7, label=name)
                if model is not None:
                    ax.plot(model[x], model[i, j], color=colour, lw=1.4, linestyle=style.DASHES)
                if interval is not None:
                    ax.fill_between(base[x], ready["low"][i, j], ready["high"][i, j], color=colour, alpha=0.22, lw=0)
            if level is not None:
                ax.axhline(level, color=theme.muted, lw=1.2, zorder=1)
            if "x" not in log:
                ax.xaxis.set_major_locator(MaxNLocator(4 if columns < 3 else 2))
            ax.grid(axis="y")
        logarithmic("curve_panels", axes, log)
        if model is not None:
            axes[0].plot([], [], color=theme.muted, lw=1.4, linestyle=style.DASHES, label=theory_label)
        legend(fig, axes[0])

    return Picture(draw, alt=alt, height=0.75 + height * grid.rows, figure=figure)
