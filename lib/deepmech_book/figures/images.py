"""Small grey images in a grid: feature maps over layers."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.arrays import arranged
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.grid import Grid
from deepmech_book.figures.picture import Picture

HALF = 0.47
"""Half the side of an image, where half the distance of two is 0.5."""


@drawn.takes
def images(
    maps: xr.DataArray,
    *,
    alt: str,
    x: str,
    y: str,
    panel: str | None = None,
    x_label: str = "layer $\\ell$",
    figure: str | None = None,
) -> Picture:
    """Images side by side along ``x`` and below one another along ``y``, dark for small numbers and light for large.

    Every column of a panel has a grey scale of its own, from its smallest to its largest number: images of one column
    may be compared with one another, images of different columns in their pattern only.

    Parameters
    ----------
    maps : DataArray, dims ([panel,] y, x, row, column)
        Rows and columns of an image are counted from its upper left corner.
    x, y : str
        Dimensions of the grid.
    panel : str, optional
        Dimension of which every value has its own grid, one below the other; the values are the titles.

    Raises
    ------
    ValueError
        If dimensions do not fit, a number is not finite, or ``alt`` is missing.
    """
    maps = arranged("images maps", maps, *([panel] if panel else []), y, x, "row", "column")
    if not np.isfinite(maps.values).all():
        raise ValueError("images maps: some numbers are not finite; leave such images out")
    titles, numbers = (tuple(map(str, maps[panel].values)), maps.values) if panel else (("",), maps.values[None])
    down, across = maps.sizes[y], maps.sizes[x]
    tall = maps.sizes["row"] / maps.sizes["column"]

    def draw(fig: Figure, theme: Theme) -> None:
        for ax, panel_maps in zip(Grid(titles).axes(fig, x_label), numbers, strict=True):
            low, high = panel_maps.min((0, 2, 3)), panel_maps.max((0, 2, 3))
            corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * HALF
            for i, j in np.ndindex(down, across):
                ax.imshow(
                    panel_maps[i, j], cmap="gray", vmin=low[j], vmax=high[j], interpolation="nearest", aspect=tall,
                    extent=(j - HALF, j + HALF, i + HALF, i - HALF),
                )  # fmt: skip
            frames = [corners + np.array([j, i]) for i, j in np.ndindex(down, across)]
            ax.add_collection(LineCollection(frames, colors=theme.faint, linewidths=0.9))
            ax.set(xlim=(-0.5, across - 0.5), ylim=(down - 0.5, -0.5))
            ax.set_xticks(range(across), [style.number(name) for name in maps[x].values])
            ax.set_yticks(range(down), [style.number(name) for name in maps[y].values])
            ax.tick_params(length=0)
            ax.spines[:].set_visible(False)

    side = (style.WIDTH - 0.5) / across
    height = len(titles) * (tall * side * down + (0.65 if panel else 0.35)) + 0.3
    return Picture(draw, alt=alt, height=height, figure=figure)
