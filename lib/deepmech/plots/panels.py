"""Panels in rows with one legend for all, logarithmic scales, and words at the ends of lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT
from matplotlib.ticker import MaxNLocator, NullLocator

from deepmech.plots import style
from deepmech.plots.style import Theme

if TYPE_CHECKING:
    from matplotlib.typing import LegendLocType


def rows_of(n: int, columns: int) -> int:
    """Rows that ``n`` panels take, at most ``columns`` side by side."""
    if n < 1 or columns < 1:
        raise ValueError(f"{n} panels in {columns} columns: there must be at least one of both")
    return -(-n // columns)


def wrapped(title: str, columns: int) -> str:
    """A title in as many lines as it needs above one of ``columns`` panels side by side; formulas are not broken."""
    letters = int((style.WIDTH / columns - 0.4) / (0.62 * style.TEXT / 72))
    return title if "$" in title else textwrap.fill(title, letters, break_long_words=False)


def panels(
    fig: Figure, titles: Sequence[str], columns: int = 1, x_label: str = "", y_label: str = "", **how: Any
) -> list[Axes]:
    """One panel a title, row by row: the ordinate named at the left, the abscissa where no panel is below.

    ``how`` goes to :meth:`matplotlib.figure.Figure.subplots`.
    """
    n, columns = len(titles), min(columns, len(titles))
    axes = list(fig.subplots(rows_of(n, columns), columns, squeeze=False, **how).flat)
    for k, (ax, title) in enumerate(zip(axes, titles, strict=False)):
        ax.set_title(wrapped(title, columns), loc="left")
        ax.set_ylabel(y_label if k % columns == 0 else "")
        if k + columns >= n:
            ax.set_xlabel(x_label)
            ax.tick_params(labelbottom=True)  # shared axes have their numbers in the last row only
    for ax in axes[n:]:
        ax.set_visible(False)
    return axes[:n]


def legend(
    fig: Figure, ax: Axes, columns: int = 3, loc: LegendLocType = "outside lower left", title: str | None = None
) -> None:
    """What the artists of one panel are called, outside all panels, row by row; nothing where none has a name."""
    named = list(zip(*ax.get_legend_handles_labels(), strict=True))
    # matplotlib fills column after column; ordered curves are to be read along the rows.
    named = [n for first in range(columns) for n in named[first::columns]]
    if named:
        fig.legend([h for h, _ in named], [n for _, n in named], loc=loc, ncols=columns, title=title, alignment="left")


def logarithmic(owner: str, axes: Sequence[Axes], log: str) -> None:
    """Finished panels get logarithmic scales with plain numbers along ``log``: "", "x", "y" or "xy"."""
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f"{owner} log = {log!r}: must be '', 'x', 'y' or 'xy'")
    settings: Any = rcParams
    for ax in axes:
        ax.set(**{f"{which}scale": "log" for which in log})
    for which, ax in ((which, ax) for which in log for ax in axes):
        axis = getattr(ax, f"{which}axis")
        # The exponents of powers of ten would be too small to read on a phone.
        axis.set_major_formatter(lambda v, _: style.number(v))
        ax.autoscale_view()
        # A tick of matplotlib's is five artists, and a decade has eight unnamed ones: here all are one artist.
        at = axis.get_minorticklocs()
        axis.set_minor_locator(NullLocator())
        low, high = sorted(axis.get_view_interval())
        at = at[(at >= low) & (at <= high)]
        if which == "x":
            ticks, marker = Line2D(at, 0 * at, transform=ax.get_xaxis_transform()), TICKDOWN
        else:
            ticks, marker = Line2D(0 * at, at, transform=ax.get_yaxis_transform()), TICKLEFT
        size, width, colour = (settings[f"{which}tick.{p}"] for p in ("minor.size", "minor.width", "color"))
        ticks.set(ls="", marker=marker, ms=size, mew=width, color=colour, clip_on=False, in_layout=False)
        ax.add_artist(ticks)


def few_ticks(ax: Axes, columns: int, log: str = "", whole: bool = False) -> None:
    """As many numbers along the abscissa as a panel of a row of ``columns`` has room for; ``whole`` ones of layers."""
    if "x" in log:
        if columns > 2:
            ax.xaxis.get_major_locator().set_params(numticks=4)  # type: ignore[call-arg]
    else:
        ax.xaxis.set_major_locator(MaxNLocator(4 if columns < 3 else 2, integer=whole))


def end_labels(
    ax: Axes, ends: Sequence[tuple[float, float, str, str]], theme: Theme, height: float, edge: float = 1.0
) -> None:
    """Name lines at their last points (x, y, label, colour), moved apart where they would touch.

    The names stand right of ``edge``, a share of the axes' width; ``height`` is the height of the axes in inches. Axis
    limits and scales must be final. Names inside the axes keep off the numbers below: the ordinate gives way to them.
    """
    x, y, labels, colours = zip(*ends, strict=True)
    gap = 1.25 * style.SMALL / 72 / height

    def places() -> np.ndarray:
        return apart(ax.transLimits.transform(ax.transScale.transform(np.column_stack([x, y])))[:, 1], gap)

    for _ in range(4):  # a longer ordinate brings lines nearer to one another
        missing = gap / 2 - places().min()
        if edge < 1 and missing > 0:
            bottom, top = ax.get_ylim()
            ax.set_ylim(bottom - missing * (top - bottom), top)
    for i, at in enumerate(places()):
        colour = style.legible(colours[i], theme, 4.5)
        ax.annotate(
            labels[i], (edge, at), xycoords="axes fraction", xytext=(7, 0), textcoords="offset points",
            va="center", color=colour, fontsize=style.SMALL, annotation_clip=False,
        )  # fmt: skip


def apart(where: np.ndarray, gap: float) -> np.ndarray:
    """Positions as near as possible to ``where`` (least squares), in the same order, at least ``gap`` apart.

    Examples
    --------
    >>> apart(np.array([0.5, 0.5, 0.9]), 0.2)
    array([0.4, 0.6, 0.9])
    """
    from scipy.optimize import isotonic_regression  # slow to import, and many pictures name no ends

    order, steps = np.argsort(where, kind="stable"), gap * np.arange(len(where))
    out = np.empty(len(where))
    out[order] = isotonic_regression(where[order] - steps).x + steps
    return out
