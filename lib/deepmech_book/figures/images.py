"""Small grey images in a grid: feature maps over layers."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from deepmech_book.figures import style
from deepmech_book.figures.arrays import arranged
from deepmech_book.figures.picture import Picture
from deepmech_book.figures.style import Theme


def images(
    maps: xr.DataArray,
    *,
    alt: str,
    x: str,
    y: str,
    panel: str | None = None,
    row: str = "row",
    column: str = "column",
    x_label: str = "layer $\\ell$",
    figure: str | None = None,
) -> Picture:
    """Images side by side along ``x`` and below one another along ``y``, dark for small numbers and light for large.

    Every column of a panel has a grey scale of its own, from its smallest to its largest number: images of one column
    may be compared with one another, images of different columns in their pattern only.

    Parameters
    ----------
    maps : DataArray, dims ([panel,] y, x, row, column)
    x, y : str
        Dimensions of the grid.
    panel : str, optional
        Dimension of which every value has its own grid, one below the other; the values are the titles.
    row, column : str
        Dimensions of one image, from its upper left corner.

    Raises
    ------
    ValueError
        If dimensions do not fit, a number is not finite, or ``alt`` is missing.
    """
    maps = arranged("images maps", maps, *([panel] if panel else []), y, x, row, column)
    if not np.isfinite(maps.values).all():
        raise ValueError("images maps: some numbers are not finite; leave such images out")
    titles, numbers = ([str(v) for v in maps[panel].values], maps.values) if panel else ([""], maps.values[None])
    down, across = maps.sizes[y], maps.sizes[x]

    def draw(fig: Figure, theme: Theme) -> None:
        groups = fig.subfigures(len(titles), 1, squeeze=False, hspace=0.02)[:, 0]
        for group, title, panel_maps in zip(groups, titles, numbers, strict=True):
            axes = group.subplots(down, across, squeeze=False)
            if title:
                group.suptitle(title, x=0.02, ha="left")
            for j in range(across):
                low, high = panel_maps[:, j].min(), panel_maps[:, j].max()
                for i in range(down):
                    ax = axes[i, j]
                    ax.imshow(panel_maps[i, j], cmap="gray", vmin=low, vmax=high, interpolation="nearest")
                    ax.set(xticks=[], yticks=[])
                    ax.spines[:].set(visible=True, color=theme.faint)
            for i, name in enumerate(maps[y].values):
                axes[i, 0].set_ylabel(style.number(name), rotation=0, ha="right", va="center")
            for j, name in enumerate(maps[x].values):
                axes[-1, j].set_xlabel(style.number(name))
        fig.supxlabel(x_label, fontsize=style.TEXT)

    side = (style.WIDTH - 0.5) / across
    height = len(titles) * (0.95 * side * down + (0.55 if panel else 0.3)) + 0.3
    return Picture(draw, alt=alt, height=height, figure=figure)
