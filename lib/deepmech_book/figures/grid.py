"""Panels in rows: how many, which of them name an axis, and one legend for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT
from matplotlib.ticker import NullLocator

from deepmech.plots import style

if TYPE_CHECKING:
    from matplotlib.typing import LegendLocType


@dataclass(frozen=True)
class Grid:
    """One panel per title, filled row by row, at most ``columns`` side by side.

    Raises
    ------
    ValueError
        If there is no title, or no column.

    Examples
    --------
    >>> Grid.of([0.0, 0.5, 1.0], "p = {}", columns=2)
    Grid(titles=('p = 0', 'p = 0.5', 'p = 1'), columns=2)
    >>> _.rows
    2
    """

    titles: tuple[str, ...]
    columns: int = 1

    def __post_init__(self) -> None:
        if not self.titles or self.columns < 1:
            raise ValueError(f"{len(self.titles)} panels in {self.columns} columns: there must be at least one of both")

    @classmethod
    def of(cls, values: Iterable[Any], title: str = "{}", columns: int = 1) -> Grid:
        """Panels named by the values of a dimension, in the format ``title``."""
        return cls(tuple(title.format(style.number(v)) for v in values), columns)

    @property
    def rows(self) -> int:
        return -(-len(self.titles) // self.columns)

    def axes(
        self, fig: Figure, x_label: str = "", y_label: str = "", *, sharex: bool = False, sharey: bool = False
    ) -> list[Axes]:
        """The panels' axes: titled, the ordinate named at the left, the abscissa where no panel is below."""
        n, columns = len(self.titles), min(self.columns, len(self.titles))
        axes = list(fig.subplots(self.rows, columns, squeeze=False, sharex=sharex, sharey=sharey).flat)
        for k, (ax, title) in enumerate(zip(axes, self.titles, strict=False)):
            ax.set_title(title)
            if k % columns == 0:
                ax.set_ylabel(y_label)
            if k + columns >= n:
                ax.set_xlabel(x_label)
                ax.tick_params(labelbottom=True)  # shared axes have their numbers in the last row only
        for ax in axes[n:]:
            ax.set_visible(False)
        return axes[:n]


def legend(
    fig: Figure, ax: Axes, columns: int = 3, loc: LegendLocType = "outside lower left", title: str | None = None
) -> None:
    """What the artists of one panel are called, outside all panels, row by row."""
    named = list(zip(*ax.get_legend_handles_labels(), strict=True))
    # matplotlib fills column after column; ordered curves are to be read along the rows.
    named = [n for first in range(columns) for n in named[first::columns]]
    fig.legend([h for h, _ in named], [n for _, n in named], loc=loc, ncols=columns, title=title, alignment="left")


def logarithmic(owner: str, axes: Sequence[Axes], log: str) -> None:
    """Finished panels get logarithmic scales with plain numbers along ``log``: "", "x", "y" or "xy"."""
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f"{owner} log = {log!r}: must be '', 'x', 'y' or 'xy'")
    settings: Any = rcParams
    for ax in axes:
        ax.set(**{f"{which}scale": "log" for which in log})
    for which in log:
        for ax in axes:
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
