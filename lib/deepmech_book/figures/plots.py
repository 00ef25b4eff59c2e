"""General pictures: y over x with theory and intervals, and scatter with its rank correlation."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.arrays import arranged, named
from deepmech.plots.phase import colorbar
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.grid import legend, logarithmic
from deepmech_book.figures.labels import end_labels
from deepmech_book.figures.picture import Picture


@drawn.takes
def lines(
    data: xr.DataArray,
    *,
    x: str,
    x_label: str | None = None,
    y_label: str | None = None,
    alt: str,
    by: str | None = None,
    label: str = "{}",
    interval: tuple[xr.DataArray, xr.DataArray] | None = None,
    theory: xr.DataArray | None = None,
    theory_label: str = "theory",
    level: float | None = None,
    level_label: str = "",
    log: str = "",
    points: bool = True,
    legend: bool = False,
    height: float = 3.9,
    figure: str | None = None,
) -> Picture:
    """Measured points over ``x``, one colour per value of ``by``, named at their right ends; theory as dashed curves.

    Parameters
    ----------
    data : DataArray, dims (x[, by])
    interval : (low, high), each with dims (x[, by]), optional
        Drawn as bars from low to high.
    theory : DataArray, dims (x[, by]), optional
        May have its own, denser, labels along x, and only some of those along ``by``. Curves without theory are joined.
    level : float, optional
        A horizontal reference line, named ``level_label``.
    log : {"", "x", "y", "xy"}
        Logarithmic axes.
    points : bool
        False draws curves only, for what is computed and not sampled.
    legend : bool
        Name the curves in a legend instead of at their ends, for curves that end together.

    Raises
    ------
    ValueError
        If dimensions or ``log`` do not fit, or ``alt`` is missing.
    """
    ready = drawn.arrange_inputs("lines", [by, x] if by else [x], data, interval, theory)
    if by is None:
        ready = {k: a.expand_dims(curve=[0]) for k, a in ready.items()}
    sampled = ready["data"]
    values = sampled[by or "curve"].values
    explained = {}
    if theory is not None:
        explained = {v: ready["theory"][k] for k, v in enumerate(ready["theory"][by or "curve"].values)}
    names = [label.format(style.number(v)) for v in values] if by else []

    def draw(fig: Figure, theme: Theme) -> None:
        ax = fig.subplots()
        colours = style.palette(values, theme) if by else style.categories(1, theme)
        for i, colour in enumerate(colours):
            at, known = sampled[x].values, explained.get(values[i])
            kind = ("o" if points else "") + ("-" if known is None else "")
            ax.plot(at, sampled[i], kind, color=colour, zorder=3, label=names[i] if legend else None)
            if interval is not None:
                ax.vlines(at, ready["low"][i], ready["high"][i], color=colour, lw=1.4, zorder=2)
            if known is not None:
                ax.plot(known[x], known, color=colour, lw=1.5, linestyle=style.DASHES)
        if level is not None:
            ax.axhline(level, color=theme.muted, lw=1.2, zorder=1)
        ax.set(xlabel=x_label or named(sampled[x]), ylabel=y_label or named(data))
        logarithmic("lines", [ax], log)
        ax.grid(axis="y")
        name_lines(ax, colours, theme)

    def name_lines(ax: Axes, colours: list[str], theme: Theme) -> None:
        at, ends = sampled[x].values, []
        for curve, name, colour in zip(sampled, [] if legend else names, colours, strict=False):
            shown = np.flatnonzero(np.isfinite(curve.values) & ((curve.values > 0) | ("y" not in log)))
            if len(shown):
                ends.append((at[shown[-1]], float(curve[shown[-1]]), name, colour))
        if level is not None and level_label:
            ends.append((at[-1], level, level_label, theme.muted))
        if theory is not None:
            ax.plot([], [], color=theme.muted, lw=1.5, linestyle=style.DASHES, label=theory_label)
        if theory is not None or legend:
            ax.legend(loc="best")
        if ends:
            ax.autoscale_view()  # limits are worked out lazily, and the names need them now
            end_labels(ax, ends, theme, height - 0.9)

    return Picture(draw, alt=alt, height=height, figure=figure)


@drawn.takes
def scatter(
    x: xr.DataArray,
    y: xr.DataArray,
    *,
    x_label: str | None = None,
    y_label: str | None = None,
    alt: str,
    colour: xr.DataArray | None = None,
    colour_label: str = "",
    rank: tuple[float, float, float] | None = None,
    figure: str | None = None,
) -> Picture:
    """Points (x, y) of equally labelled arrays, optionally coloured by a third, with their rank correlation in words.

    Parameters
    ----------
    x, y, colour : DataArray
        The same dimensions and labels. Words in ``colour`` name kinds of points: each gets a colour, a mark and
        a line in a legend titled ``colour_label``.
    rank : (value, low, high), optional
        Spearman's rank correlation of x and y and its interval, as computed by the caller.

    Raises
    ------
    ValueError
        If dimensions do not fit, there are more kinds than can be told apart, or ``alt`` is missing.
    """
    dims = [str(d) for d in x.dims] if isinstance(x, xr.DataArray) else []
    at_x, at_y = [arranged(f"scatter {n}", a, *dims).values.ravel() for n, a in (("x", x), ("y", y))]
    shade = None if colour is None else arranged("scatter colour", colour, *dims).values.ravel()
    kinds = list(dict.fromkeys(shade)) if shade is not None and shade.dtype.kind in "UO" else []
    drawn.require_few_kinds("scatter", len(kinds), "kinds of points in colour")

    def draw(fig: Figure, theme: Theme) -> None:
        import seaborn  # takes a second to import, and most pages do without

        ax = fig.subplots()
        if colour is None or shade is None:
            seaborn.scatterplot(x=at_x, y=at_y, s=34, color=style.categories(1, theme)[0], alpha=0.85, lw=0, ax=ax)
        elif kinds:
            seaborn.scatterplot(
                x=at_x, y=at_y, hue=shade, style=shade, hue_order=kinds, style_order=kinds, s=34, lw=0, alpha=0.85,
                palette=style.categories(len(kinds), theme), markers=list(style.MARKS[: len(kinds)]), ax=ax,
            )  # fmt: skip
            legend(fig, ax, 2, title=colour_label or named(colour))
            if own := ax.get_legend():
                own.remove()  # seaborn's, over the points
        else:
            norm, shades = Normalize(np.nanmin(shade), np.nanmax(shade)), style.sequential()
            seaborn.scatterplot(
                x=at_x, y=at_y, hue=shade, hue_norm=norm, palette=shades, s=40, edgecolor=theme.muted, lw=0.7,
                legend=False, ax=ax,
            )  # fmt: skip
            colorbar(ScalarMappable(norm, shades), ax, colour_label or named(colour), pad=0.02)
        if rank is not None:
            value, low, high = (f"{r:.2f}".replace("-", "−") for r in rank)
            ax.set_title(f"rank correlation {value} [{low}, {high}]", fontsize=style.SMALL)
        ax.set(xlabel=x_label or named(x), ylabel=y_label or named(y))
        ax.grid()

    return Picture(draw, alt=alt, height=3.9, figure=figure)
