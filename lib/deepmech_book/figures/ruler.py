"""The folding ruler, drawn as it lies on the table."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

from deepmech.plots import style
from deepmech.plots.arrays import arranged
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.grid import Grid
from deepmech_book.figures.picture import Picture

DROP = 0.62
"""Distance from one drawn moment to the next below it, in lengths of a straight pair."""


@drawn.takes
def folding_ruler(position: xr.DataArray, *, alt: str, figure: str | None = None) -> Picture:
    """Shapes of a ruler from first (top) to last moment (bottom, in colour), pinned at the left, pulled at the right.

    Parameters
    ----------
    position : DataArray, dims (pull, frame, node)
        Positions of the joints on the line of the pull, in units of a straight pair of segments; a pair stands
        symmetrically between two neighbours.

    Raises
    ------
    ValueError
        If dimensions do not fit, or ``alt`` is missing.
    """
    position = arranged("folding_ruler position", position, "pull", "frame", "node")
    grid = Grid.of(position.pull.values)

    def draw(fig: Figure, theme: Theme) -> None:
        right = float(position.max()) + 0.5
        for ax, shapes in zip(grid.axes(fig, sharex=True), position, strict=True):
            ax.set(xlim=(-0.25, right), ylim=(-DROP * (len(shapes) - 1) - 0.2, 0.62), aspect="equal")
            ax.axis("off")
            for k, x in enumerate(shapes.values):
                _shape(ax, x, -DROP * k, theme, last=k == len(shapes) - 1)

    room = (style.WIDTH - 0.2) / (float(position.max()) + 0.75)
    height = grid.rows * (room * (DROP * (position.sizes["frame"] - 1) + 0.82) + 0.3)
    return Picture(draw, alt=alt, height=height, figure=figure)


def _shape(ax: Axes, x: np.ndarray, base: float, theme: Theme, *, last: bool) -> None:
    u = np.diff(x)
    tops = np.column_stack([(x[:-1] + x[1:]) / 2, 0.5 * np.sqrt(np.clip(1 - u**2, 0, 1))])
    colours = style.ramp(256, theme)
    for i, (top, opened) in enumerate(zip(tops, np.clip(u, 0, 1), strict=True)):
        colour = colours[int(255 * opened)] if last else theme.muted
        corners = np.array([[x[i], base], [top[0], top[1] + base], [x[i + 1], base]])
        ax.plot(*corners.T, color=colour, lw=3.2 if last else 1.1, solid_joinstyle="round", solid_capstyle="round")
    ax.add_patch(Rectangle((x[0] - 0.14, base - 0.08), 0.14, 0.16, facecolor=theme.text, lw=0, zorder=4))
    ax.add_patch(Circle((x[-1], base), 0.055, facecolor=theme.text, lw=0, zorder=4))
    if last:
        pull = FancyArrowPatch((x[-1], base), (x[-1] + 0.45, base), arrowstyle="-|>", mutation_scale=14, shrinkA=0)
        pull.set(color=theme.text, linewidth=1.8)
        ax.add_patch(pull)
