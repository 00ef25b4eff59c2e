"""Scales, ticks and names of curves on finished panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT
from matplotlib.ticker import MaxNLocator, NullLocator

from deepmech.plots.style import LETTER, SMALL, format_number, legible


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
        axis.set_major_formatter(lambda v, _: format_number(v))
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
    letters = max(len(format_number(float(f"{end:.2g}"))) for end in ax.get_xlim())
    room = ax.get_figure().get_figwidth() / columns - 0.7  # type: ignore[union-attr]
    if "x" in log:
        if columns > 2:
            ax.xaxis.get_major_locator().set_params(numticks=4)  # type: ignore[call-arg]
    else:
        most = int(np.clip(room / (LETTER * (letters + 2) * SMALL / 72), 1, 5))
        ax.xaxis.set_major_locator(MaxNLocator(most, integer=whole, steps=[1, 2, 5, 10]))


def end_labels(ax: Axes, ends: Sequence[tuple[float, float, str, str]], height: float, edge: float = 1.0) -> None:
    """Name lines at their last points (x, y, label, colour), moved apart where they would touch.

    The names stand right of ``edge``, a share of the axes' width; ``height`` is the height of the axes in inches. Axis
    limits and scales must be final. Names inside the axes keep off the numbers below: the ordinate gives way to them.
    """
    if edge < 1:
        make_room(ax, ends, height)
    for at, (*_, label, colour) in zip(_places(ax, ends, height), ends, strict=True):
        colour = legible(colour, ratio=4.5)
        ax.annotate(
            label, (edge, at), xycoords="axes fraction", xytext=(7, 0), textcoords="offset points",
            va="center", color=colour, fontsize=SMALL, annotation_clip=False,
        )  # fmt: skip


def make_room(ax: Axes, ends: Sequence[tuple[float, float, str, str]], height: float) -> None:
    """The ordinate reaches far enough down for the names of :func:`end_labels`; where panels share it, in all first."""
    for _ in range(4):  # a longer ordinate brings lines nearer to one another
        missing = 0.625 * SMALL / 72 / height - _places(ax, ends, height).min()
        if missing > 0:
            bottom, top = ax.get_ylim()
            ax.set_ylim(bottom - missing * (top - bottom), top)


def _places(ax: Axes, ends: Sequence[tuple[float, float, str, str]], height: float) -> np.ndarray:
    """Where names stand, as shares of the height of the axes, which is given in inches."""
    at = np.array([end[:2] for end in ends])
    return spread_labels(ax.transLimits.transform(ax.transScale.transform(at))[:, 1], 1.25 * SMALL / 72 / height)


def spread_labels(where: np.ndarray, gap: float) -> np.ndarray:
    """Positions as near as possible to ``where`` (least squares), in the same order, at least ``gap`` apart.

    Examples
    --------
    >>> spread_labels(np.array([0.5, 0.5, 0.9]), 0.2)
    array([0.4, 0.6, 0.9])
    """
    from scipy.optimize import isotonic_regression  # slow to import, and many pictures name no ends

    order, steps = np.argsort(where, kind="stable"), gap * np.arange(len(where))
    out = np.empty(len(where))
    out[order] = isotonic_regression(where[order] - steps).x + steps
    return out
