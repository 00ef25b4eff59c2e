"""Points in a plane: clouds of features, one panel per moment."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.arrays import arranged, same_labels
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.grid import Grid, legend
from deepmech_book.figures.picture import Picture


@drawn.takes
def clouds(
    points: xr.DataArray,
    group: xr.DataArray,
    *,
    axes: str,
    alt: str,
    panel: str,
    point: str = "point",
    names: Sequence[str],
    x_label: str,
    y_label: str,
    title: str = "{}",
    trace: xr.DataArray | None = None,
    columns: int = 2,
    figure: str | None = None,
) -> Picture:
    """Points coloured by group in the plane of two coordinates, one panel per value of ``panel``, equal scales.

    Parameters
    ----------
    points : DataArray, dims (panel, point, axes)
        ``axes`` has two values.
    group : DataArray, dims (panel, point)
        0 … len(names) - 1; every group has a mark of its own beside its colour.
    names : of the groups, for the legend.
    trace : DataArray, dims (group, time, axes), optional
        A path for each group, the same in every panel.

    Raises
    ------
    ValueError
        If dimensions, labels or groups do not fit, or ``alt`` is missing.
    """
    points = arranged("clouds points", points, panel, point, axes)
    group = arranged("clouds group", group, panel, point)
    same_labels("clouds group", group, points, [panel, point])
    if points.sizes[axes] != 2:
        raise ValueError(f"clouds points: {points.sizes[axes]} values along {axes!r}: a plane has two")
    drawn.require_few_kinds("clouds names", len(names), "groups")
    strangers = sorted(set(group.values.ravel().tolist()) - set(range(len(names))))
    if strangers:
        raise ValueError(f"clouds group: {strangers} among the groups: must be 0 to {len(names) - 1}, as names has")
    path = None if trace is None else arranged("clouds trace", trace, "group", "time", axes)
    if path is not None:
        same_labels("clouds trace", path, points, [axes])
        if path.sizes["group"] != len(names):
            raise ValueError(f"clouds trace: {path.sizes['group']} paths: needs one for each of the {len(names)} names")
    grid = Grid.of(points[panel].values, title, columns)

    def draw(fig: Figure, theme: Theme) -> None:
        import seaborn  # takes a second to import, and most pages do without

        panels, colours = grid.axes(fig, x_label, y_label), style.categories(len(names), theme)
        for i, ax in enumerate(panels):
            own = [names[k] for k in group[i].values]
            seaborn.scatterplot(
                x=points[i].values[:, 0], y=points[i].values[:, 1], hue=own, style=own, hue_order=names,
                style_order=names, palette=colours, markers=list(style.MARKS[: len(names)]), s=22, alpha=0.9, lw=0,
                legend="full" if i == 0 else False, ax=ax,
            )  # fmt: skip
            if path is not None:
                for k, colour in enumerate(colours):
                    ax.plot(*path[k].values.T, color=colour, lw=1.2)
            ax.set_aspect("equal", adjustable="datalim")
            ax.grid()
        legend(fig, panels[0])
        if (inside := panels[0].get_legend()) is not None:  # seaborn's own
            inside.remove()

    return Picture(draw, alt=alt, height=0.7 + 2.9 * grid.rows, figure=figure)
