"""Measured values of named things, one row each: for comparing a few settings, methods or exponents."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.arrays import named
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.grid import legend
from deepmech_book.figures.picture import Picture


@drawn.takes
def dots(
    data: xr.DataArray,
    *,
    row: str,
    x_label: str | None = None,
    alt: str,
    by: str | None = None,
    interval: tuple[xr.DataArray, xr.DataArray] | None = None,
    level: float | None = None,
) -> Picture:
    """One row per label along ``row``, from top to bottom, one dot in it per label along ``by``.

    Parameters
    ----------
    data : DataArray, dims (row[, by])
        What is not finite is left out.
    interval : (low, high), each with the dims of ``data``, optional
        Drawn as bars from low to high.
    level : float, optional
        A vertical reference line.

    Raises
    ------
    ValueError
        If dimensions or labels do not fit, there are more series than can be told apart, or ``alt`` is missing.

    Examples
    --------
    >>> found = xr.DataArray([0.5, 1.0], dims="rule", coords={"rule": ["straightest", "blindly"]})
    >>> dots(found, row="rule", x_label="regret (%)", alt="Two rows of dots.").figure is None
    True
    """
    ready = drawn.arrange_inputs("dots", [row, by] if by else [row], data, interval)
    if by is None:
        ready = {k: a.expand_dims(series=[""], axis=1) for k, a in ready.items()}
    measured = ready["data"]
    series = measured[by or "series"].values
    drawn.require_few_kinds("dots", len(series), f"series along {by!r}")
    names = [str(v) for v in measured[row].values]
    # Dots of one row stand a little apart, in the order of the legend.
    shift = (np.arange(len(series)) - (len(series) - 1) / 2) * min(0.18, 0.7 / len(series))

    def draw(fig: Figure, theme: Theme) -> None:
        ax = fig.subplots()
        at = np.arange(len(names), dtype=float)
        for i, colour in enumerate(style.palette(series, theme)):
            y = at + shift[i]
            ax.plot(measured[:, i], y, style.MARKS[i], color=colour, label=style.number(series[i]) if by else None)
            if interval is not None:
                ax.hlines(y, ready["low"][:, i], ready["high"][:, i], color=colour, lw=1.4)
        if level is not None:
            ax.axvline(level, color=theme.muted, lw=1.2, zorder=1)
        ax.set(xlabel=x_label or named(measured), ylim=(len(names) - 0.5, -0.5))
        ax.set_yticks(at, names)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")
        if by:
            legend(fig, ax, min(4, len(series)), "outside upper center")

    return Picture(draw, alt=alt, height=1.2 + 0.42 * len(names) + 0.3 * bool(by))
