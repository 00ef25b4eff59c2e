"""How every picture looks: one typeface, three colours that speak, panels in rows with one legend for all; and what
drawing functions ask of an array before they draw it.

Blue is what a picture is about, and a load curve that sags; vermilion is what stands against it: a rival, heat, a load
curve that bulges; grey is what they are compared with. More things than three are told apart by the other hues of
:data:`OKABE_ITO`, ordered ones by shades. The pages and the explorers of the book have the same.

Most pictures of one or two panels are 560 CSS pixels wide, so that a phone shows all of it; one with more in a row, and
a phase diagram, is 880 pixels wide, wider than the column of text, and has a drawing of its own for phones. Lines keep
a contrast of at least 3:1 with the background (WCAG 2, success criterion 1.4.11); text keeps 4.5:1.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.style
import numpy as np
import xarray as xr
from matplotlib import colormaps, font_manager
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex, to_rgb, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

WIDTH = 6.2
"""Width of a picture in inches of 100 CSS pixels."""
WIDE = 8.8
"""Width of one with three panels or more in a row, and of phase diagrams."""
COLUMN = 5.6
"""Width of most: that of a column of text, and legible where a phone shows all of it."""
NARROW = 4.6
"""Width of a drawing for phones, whose words are still 11 pixels high there."""
TEXT = 12
SMALL = 11
"""Type sizes in points: labels, and the smallest text anywhere."""

LETTER = 0.5
"""Width of a letter or digit, in sizes of type."""
for _file in (Path(__file__).parent / "fonts").glob("*.ttf"):
    font_manager.fontManager.addfont(_file)

OKABE_ITO = ("#0072B2", "#C24E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
"""The categorical palette of Okabe and Ito (2008), black left out, strongest first; vermilion dark enough for words."""
SHAPES = {
    **dict.fromkeys(("concave", "lazy"), OKABE_ITO[1]),
    **dict.fromkeys(("straight", "balanced"), "#48566b"),
    **dict.fromkeys(("convex", "over-noisy"), OKABE_ITO[0]),
}
"""Load curves by their shape, and the phases called after it, have one colour everywhere."""
MARKS = "osD^vPX"
"""Groups of points differ in shape as well as in colour."""
DASHES = (0, (4, 2))
"""Lines of theory and of comparison."""
COLD_TO_HOT = ("#0079c2", "#7a62c8", "#b5539b", "#cc5540", "#d05a10")
"""Temperatures: the same blue to the same orange on light and dark pages, in the explorers and on the front page."""
ORDERED = LinearSegmentedColormap.from_list(
    "ordered", ("#210547", "#2c1b6b", "#2c3488", "#1d4e9b", "#00699e", "#008296", "#00917b", "#389a56", "#6aa10d")
)
"""Lines in an order, dark to light on light pages, light to dark on dark ones: equal steps to the eye on both."""
SEQUENTIAL: Colormap = colormaps["cividis"]
"""Shading for an unsigned quantity: perceptually uniform and the same to colour-blind readers."""


class LIGHT:
    """Colours of the page that a picture lies on, of words, of axes and of grids; and of signed shading above, below
    and at zero. The background is that of sphinx-book-theme; dark pages of the book turn pictures round.

    Examples
    --------
    >>> contrast(LIGHT.text, LIGHT.background) > 4.5
    True
    """

    background, text, muted, faint = "#ffffff", "#222832", "#48566b", "#d1d5da"
    warm, cool, neutral = "#c24e00", "#0072b2", "#f2f2f2"


GROUND = "#fefefe"
"""The page behind a legend: dark on dark pages, where the white of curves and numbers on shading stays white."""


def luminance(colours: Any) -> np.ndarray:
    """Relative luminance of sRGB colours, 0 (black) to 1 (white), as WCAG 2 defines it."""
    c = to_rgba_array(colours)[:, :3]
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a: Any, b: Any) -> float:
    """Contrast ratio of two colours, 1 (equal) to 21 (black on white).

    Examples
    --------
    >>> round(contrast("black", "white"))
    21
    """
    low, high = np.sort(luminance([a, b]))
    return float((high + 0.05) / (low + 0.05))


@lru_cache
def legible(colour: str, ratio: float = 3.0) -> str:
    """``colour``, moved toward that of text just far enough to reach ``ratio`` on the background."""
    start, end = np.asarray(to_rgb(colour)), np.asarray(to_rgb(LIGHT.text))
    for share in np.linspace(0, 1, 41):
        mixed = to_hex((1 - share) * start + share * end)
        if contrast(mixed, LIGHT.background) >= ratio:
            return mixed
    raise ValueError(f"contrast {ratio}: not even the text colour {LIGHT.text} reaches it")


def categories(n: int) -> list[str]:
    """``n`` colours for things without an order; a ValueError beyond seven, which nobody can tell apart."""
    if n > len(OKABE_ITO):
        raise ValueError(f"categories: n = {n}: at most {len(OKABE_ITO)} colours can be told apart; draw panels")
    return [legible(c) for c in OKABE_ITO[:n]]


def sequential_colours(n: int) -> list[str]:
    """``n`` line colours for an ordered quantity; of one, the middle."""
    return [to_hex(c) for c in ORDERED(np.linspace(0, 1, n) if n > 1 else [0.5])]


def temperatures(values: Any) -> list[str]:
    """Line colours from cold (blue) to hot (orange), by the rank of each temperature; legible on dark pages, too."""
    rank = np.argsort(np.argsort(values)) / max(1, len(values) - 1)
    return [to_hex(c) for c in LinearSegmentedColormap.from_list("temperature", COLD_TO_HOT)(rank)]


def palette(values: Any, dim: str | None = None) -> list[str]:
    """Colours for the curves of a dimension: a ramp for numbers, which have an order; categories for words.

    The dimension ``"temperature"`` runs from cold to hot; shapes and phases have colours of their own (:data:`SHAPES`).
    """
    shapes = [re.sub(r"^\(\w\) ", "", str(value)) for value in values]
    if SHAPES.keys() >= set(shapes):
        return [SHAPES[shape] for shape in shapes]
    ordered = np.issubdtype(np.asarray(values).dtype, np.number)
    if ordered and dim == "temperature":
        return temperatures(values)
    return sequential_colours(len(values)) if ordered else categories(len(values))


def diverging() -> Colormap:
    """Shading for a signed quantity: cool below zero, the page's own grey at zero, warm above."""
    return LinearSegmentedColormap.from_list("signed", [LIGHT.cool, LIGHT.neutral, LIGHT.warm])


def text_colour(fills: Any) -> np.ndarray:
    """Black or white, whichever stands out more on each of ``fills``; always at least 4.5:1."""
    light = luminance(fills) + 0.05
    return np.where(light / 0.05 > 1.05 / light, "#000000", "#ffffff")


def format_number(value: Any) -> str:
    """A tick label for a coordinate value: three significant digits below a thousand, a true minus sign.

    Examples
    --------
    >>> [format_number(value) for value in (0.30000000000000004, -2.0, 1280, 1e-7, "ReLU")]
    ['0.3', '−2', '1280', '1e−7', 'ReLU']
    """
    if isinstance(value, str):
        return value
    digits = f"{value:.3g}" if abs(value) < 1000 else f"{value:.6g}"
    return re.sub(r"e\+?(-?)0*", r"e\1", digits).replace("-", "−")


def rc() -> dict[str, Any]:
    """Matplotlib settings, on top of matplotlib's own defaults."""
    return {
        "figure.facecolor": LIGHT.background,
        "savefig.facecolor": LIGHT.background,
        "axes.facecolor": "none",
        "text.color": LIGHT.text,
        "axes.labelcolor": LIGHT.text,
        "axes.titlecolor": LIGHT.text,
        "axes.edgecolor": LIGHT.muted,
        "xtick.color": LIGHT.muted,
        "ytick.color": LIGHT.muted,
        "xtick.labelcolor": LIGHT.text,
        "ytick.labelcolor": LIGHT.text,
        "grid.color": LIGHT.faint,
        "grid.linewidth": 0.8,
        "hatch.color": LIGHT.muted,
        "font.family": ["Source Sans 3", "DejaVu Sans"],
        "mathtext.fontset": "custom",
        **{f"mathtext.{kind}": "Source Sans 3" for kind in ("rm", "sf", "tt", "bf")},
        **{f"mathtext.{kind}": "Source Sans 3:italic" for kind in ("it", "cal", "bfit")},
        "mathtext.fallback": "stixsans",
        "font.size": TEXT,
        "axes.labelsize": TEXT,
        "axes.titlesize": TEXT,
        "axes.titlelocation": "left",
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
        "legend.fontsize": SMALL,
        "legend.facecolor": GROUND,
        "legend.edgecolor": "none",
        "lines.linewidth": 2.0,
        "lines.markersize": 5.5,
        "axes.linewidth": 0.9,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": True,
        "svg.fonttype": "path",
        "svg.hashsalt": "deepmech",
    }


def applied() -> AbstractContextManager[None]:
    """Within it, figures have this look, also xarray's and seaborn's; a reader's matplotlibrc changes nothing.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with applied():
    ...     matplotlib.rcParams["text.color"]
    '#222832'
    """
    return matplotlib.style.context(["default", rc()])


def column(fig: Figure, panels: int = 1) -> float:
    """Width of a picture with so many panels in a row: no more than ``fig`` has, unless it is wide."""
    return min(fig.get_figwidth(), COLUMN) if panels < 3 else WIDE


def in_a_row(fig: Figure, most: int, n: int) -> int:
    """Panels side by side, of ``n`` in all: at most two in a drawing for phones."""
    return min(most, n, 2 if fig.get_figwidth() <= NARROW else n)


def halo(width: float = 2.5) -> list[Any]:
    """A thin line in the page's colour around words or lines that cross others."""
    return [withStroke(linewidth=width, foreground=GROUND)]


def new_figure(fig: Figure | None, height: float) -> Figure:
    """``fig``, made ``height`` inches high; without it, a new figure of pyplot."""
    if fig is not None:
        fig.set_figheight(height)
        return fig
    from matplotlib import pyplot  # slow to import, and the book does without

    with applied():
        return pyplot.figure(figsize=(WIDTH, height), layout="constrained")


#: Axes of the phase diagrams: their words where the data have none, and whether values fall to the right and upwards.
#: Noise grows to the right, as a slider does (the paper draws it mirrored), and ReLU stands at the top, on every plane
#: and in the explorers.
AXES: dict[str, tuple[str, bool]] = {
    "slope": (r"negative slope $\alpha$", True),
    "noise": (r"noise $\varepsilon$", False),
    "noise_bar": (r"step noise $\bar\varepsilon$", False),
    "data_noise": ("data noise $p$", False),
    "learning_rate": ("learning rate", False),
    "dropout": ("dropout probability", False),
    "batch_size": ("batch size", True),
}


SINGLETON = "alone"
"""The dimension that :func:`transpose_to` gives where a picture has no curves, panels or series to tell apart."""


def transpose_to(what: str, array: Any, *dims: str | None) -> xr.DataArray:
    """``array`` with its dimensions in the order ``dims``; a dimension without labels is numbered from 0.

    In the place of a ``None`` stands the dimension :data:`SINGLETON`, with one label, ``""``. A ValueError if ``array``
    is no DataArray, or has other dimensions than those named.
    """
    needed = tuple(d for d in dims if d is not None)
    if not isinstance(array, xr.DataArray):
        raise ValueError(f"{what} is a {type(array).__name__}: give an xarray.DataArray with dimensions {needed}")
    if set(array.dims) != set(needed):
        raise ValueError(
            f"{what}: dimensions are {tuple(array.dims)}, needed {needed}; "
            "select or average what is left over, or name other dimensions"
        )
    missing = {d: np.arange(array.sizes[d]) for d in needed if d not in array.coords}
    array = array.transpose(*needed).assign_coords(missing)
    return array.expand_dims({SINGLETON: [""]}, dims.index(None)) if None in dims else array


def sort_axes(what: str, array: xr.DataArray, x: str, y: str, *more: str) -> xr.DataArray:
    """:func:`transpose_to` along (x, y, …), with values along both axes rising or falling as :data:`AXES` says.

    Examples
    --------
    >>> plane = xr.DataArray([[1, 2]], {"dropout": [0.1], "slope": [0.0, 1.0]}, ("dropout", "slope"))
    >>> sort_axes("plane", plane, "dropout", "slope").slope.values
    array([1., 0.])
    """
    array = transpose_to(what, array, x, y, *more)
    for dim in {x, y} & AXES.keys():
        array = array.sortby(dim, ascending=not AXES[dim][1])
    return array


def axis_label(array: xr.DataArray, otherwise: str = "") -> str:
    """What an axis or a scale says of an array: its ``long_name`` with its ``units``, or, without one, ``otherwise``.

    Pure numbers, of units ``"1"``, show none.

    Examples
    --------
    >>> axis_label(xr.DataArray(0.0, attrs={"long_name": "waiting time", "units": "steps"}))
    'waiting time (steps)'
    >>> axis_label(xr.DataArray(0.0, name="waiting_time"))
    'waiting time'
    """
    known = AXES.get(str(array.name), ("",))[0]
    name = str(array.attrs.get("long_name") or otherwise or known or str(array.name or "").replace("_", " "))
    units = array.attrs.get("units")
    return f"{name} ({units})" if units not in (None, "", "1") and array.attrs.get("long_name") else name


def same_labels(what: str, array: xr.DataArray, other: xr.DataArray, *dims: Any) -> None:
    """Raise a ValueError unless both arrays carry the same labels along ``dims``."""
    for d in dims:
        if not np.array_equal(array[d].values, other[d].values):
            raise ValueError(f"{what}: labels along {d!r} differ from those of the array it goes with; select the same")


def position(what: str, axis: np.ndarray, values: Any) -> np.ndarray:
    """Where data values lie on an axis of equally wide cells: cell i is centred at i, in between interpolated.

    Values up to half a cell beyond the first and last centre are extrapolated; those farther out become nan.

    Examples
    --------
    >>> position("boundary", np.array([0.0, 1.0, 10.0]), [0.5, 5.5, 40.0])
    array([0.5, 1.5, nan])
    """
    axis, values = np.asarray(axis, float), np.asarray(values, float)
    if len(axis) < 2 or np.any(np.diff(axis) == 0) or len(set(np.sign(np.diff(axis)))) != 1:
        raise ValueError(f"{what}: the axis {axis} must rise or fall strictly and have two values or more")
    if axis[0] > axis[-1]:
        return len(axis) - 1 - position(what, axis[::-1], values)
    i = np.clip(np.searchsorted(axis, values) - 1, 0, len(axis) - 2)
    p = i + (values - axis[i]) / (axis[i + 1] - axis[i])
    return np.where((p < -0.5) | (p > len(axis) - 0.5), np.nan, p)


if TYPE_CHECKING:
    from matplotlib.typing import LegendLocType


def rows_of(n: int, columns: int) -> int:
    """Rows that ``n`` panels take, at most ``columns`` side by side."""
    if n < 1 or columns < 1:
        raise ValueError(f"{n} panels in {columns} columns: there must be at least one of both")
    return -(-n // columns)


def wrapped(title: str, columns: int, width: float = WIDTH) -> str:
    """A title in as many lines as it needs above one of ``columns`` panels side by side, ``width`` inches in all;
    formulas are not broken."""
    return title if "$" in title else textwrap.fill(title, _letters(columns, width), break_long_words=False)


def _letters(columns: int, width: float) -> int:
    return int((width / columns - 0.4) / (LETTER * TEXT / 72))


def panels(
    fig: Figure, titles: Sequence[str], columns: int = 1, x_label: str = "", y_label: str = "", **how: Any
) -> list[Axes]:
    """One panel a title, row by row: the ordinate named at the left, the abscissa where no panel is below.

    A name that is longer than a panel is wide stands once, below all; that of an ordinate of several rows of small
    panels once, at their left.

    ``how`` goes to :meth:`matplotlib.figure.Figure.subplots`.
    """
    n, columns = len(titles), min(columns, len(titles))
    rows = rows_of(n, columns)
    axes = list(fig.subplots(rows, columns, squeeze=False, **how).flat)
    if len(re.sub(r"\$.*?\$", "xx", x_label)) > _letters(columns, fig.get_figwidth()):
        fig.supxlabel(x_label, fontsize=TEXT)
        x_label = ""
    if columns > 2 and rows > 1:
        fig.supylabel(y_label, fontsize=TEXT)
        y_label = ""
    for k, (ax, title) in enumerate(zip(axes, titles, strict=False)):
        lines = wrapped(title, columns, fig.get_figwidth())
        tight = "$" not in title and max(map(len, lines.split("\n"))) > _letters(columns, fig.get_figwidth())
        ax.set_title(lines, loc="left", fontsize=SMALL if tight else TEXT)
        ax.set_ylabel(y_label if k % columns == 0 else "")
        if k + columns >= n:
            ax.set_xlabel(x_label)
            ax.tick_params(labelbottom=True)  # shared axes have their numbers in the last row only
    for ax in axes[n:]:
        ax.set_visible(False)
    return axes[:n]


def legend(
    fig: Any, ax: Axes, columns: int = 3, loc: LegendLocType = "outside lower left", title: str | None = None
) -> None:
    """What the artists of one panel are called, outside all panels, row by row; nothing where none has a name."""
    named = list(zip(*ax.get_legend_handles_labels(), strict=True))
    # matplotlib fills column after column; ordered curves are to be read along the rows.
    named = [n for first in range(columns) for n in named[first::columns]]
    if named:
        fig.legend([h for h, _ in named], [n for _, n in named], loc=loc, ncols=columns, title=title, alignment="left")
