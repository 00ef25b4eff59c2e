"""Words at the ends of lines, in place of a legend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from deepmech.plots import style
from deepmech.plots.style import Theme


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
    order = np.argsort(where, kind="stable")
    # Without gaps this is monotone regression: pool neighbours that are out of order into their mean.
    blocks: list[list[float]] = []
    for value in where[order] - gap * np.arange(len(where)):
        blocks.append([value, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (b, m), (a, n) = blocks.pop(), blocks.pop()
            blocks.append([(a * n + b * m) / (n + m), n + m])
    spread = np.concatenate([np.full(int(n), a) for a, n in blocks]) + gap * np.arange(len(where))
    out = np.empty(len(where))
    out[order] = spread
    return out
