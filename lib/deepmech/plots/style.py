"""How every picture looks: two themes, one type size, colours that colour-blind readers can tell apart.

A picture is drawn 620 CSS pixels wide (the text column of the book) and shrinks with the page: at 300 pixels, a phone's
column, the smallest text is still above 7 pixels. Lines keep a contrast of at least 3:1 with the background of their
theme (WCAG 2, success criterion 1.4.11); text keeps 4.5:1.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex, to_rgb, to_rgba_array
from matplotlib.figure import Figure

WIDTH = 6.2
"""Width of a picture in inches of 100 CSS pixels."""
TEXT = 12
SMALL = 11
"""Type sizes in points: labels, and the smallest text anywhere."""

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
"""The categorical palette of Okabe and Ito (2008), black left out, strongest first."""
MARKS = "osD^vPX"
"""Groups of points differ in shape as well as in colour."""
DASHES = (0, (4, 2))
"""Lines of theory and of comparison."""
COLD_TO_HOT = ("#3366cc", "#7a5fd0", "#b5539b", "#d9583a", "#e06c00")
"""Temperatures: the same blue to the same orange on light and dark pages, in the explorers and on the front page."""


@dataclass(frozen=True)
class Theme:
    """Colours of the page that a picture lies on; the backgrounds are those of sphinx-book-theme."""

    name: str
    background: str
    text: str
    muted: str
    faint: str
    warm: str
    cool: str
    neutral: str


LIGHT = Theme("light", "#ffffff", "#222832", "#48566b", "#d1d5da", "#b2182b", "#2166ac", "#f2f2f2")
DARK = Theme("dark", "#121212", "#ced6dd", "#9ca4af", "#3a4452", "#f0806a", "#6db1ea", "#20262e")
THEMES = (LIGHT, DARK)


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
def legible(colour: str, theme: Theme, ratio: float = 3.0) -> str:
    """``colour``, moved toward the theme's text colour just far enough to reach ``ratio`` on its background."""
    start, end = np.asarray(to_rgb(colour)), np.asarray(to_rgb(theme.text))
    for share in np.linspace(0, 1, 41):
        mixed = to_hex((1 - share) * start + share * end)
        if contrast(mixed, theme.background) >= ratio:
            return mixed
    raise ValueError(f"contrast {ratio}: not even the text colour {theme.text} of the {theme.name} theme reaches it")


def categories(n: int, theme: Theme) -> list[str]:
    """``n`` colours for things without an order; a ValueError beyond seven, which nobody can tell apart."""
    if n > len(OKABE_ITO):
        raise ValueError(f"categories: n = {n}: at most {len(OKABE_ITO)} colours can be told apart; use panels or ramp")
    return [legible(c, theme) for c in OKABE_ITO[:n]]


def lead(theme: Theme) -> str:
    """The colour of a single curve."""
    return categories(1, theme)[0]


def ramp(n: int, theme: Theme) -> list[str]:
    """``n`` line colours for an ordered quantity: the part of viridis that is legible on the theme's background."""
    usable = _usable(theme.background)
    return [usable[round(i)] for i in np.linspace(0, len(usable) - 1, n)] if n > 1 else [usable[len(usable) // 2]]


@lru_cache
def _usable(background: str) -> list[str]:
    shades = [to_hex(c) for c in colormaps["viridis"](np.linspace(0, 1, 256))]
    return [c for c in shades if contrast(c, background) >= 3.0]


def temperatures(values: Any) -> list[str]:
    """Line colours from cold (blue) to hot (orange), by the rank of each temperature; legible on both themes."""
    rank = np.argsort(np.argsort(values)) / max(1, len(values) - 1)
    return [to_hex(c) for c in LinearSegmentedColormap.from_list("temperature", COLD_TO_HOT)(rank)]


def palette(values: Any, theme: Theme, dim: str | None = None) -> list[str]:
    """Colours for the curves of a dimension: a ramp for numbers, which have an order; categories for words.

    The dimension ``"temperature"`` runs from cold to hot.
    """
    ordered = np.issubdtype(np.asarray(values).dtype, np.number)
    if ordered and dim == "temperature":
        return temperatures(values)
    return ramp(len(values), theme) if ordered else categories(len(values), theme)


def sequential() -> Colormap:
    """Shading for an unsigned quantity: cividis, perceptually uniform and the same to colour-blind readers."""
    return colormaps["cividis"]


def diverging(theme: Theme) -> Colormap:
    """Shading for a signed quantity: cool below zero, the page's own grey at zero, warm above."""
    return LinearSegmentedColormap.from_list(f"signed-{theme.name}", [theme.cool, theme.neutral, theme.warm])


def ink(fills: Any) -> np.ndarray:
    """Black or white, whichever stands out more on each of ``fills``; always at least 4.5:1."""
    light = luminance(fills) + 0.05
    return np.where(light / 0.05 > 1.05 / light, "#000000", "#ffffff")


def number(value: Any) -> str:
    """A tick label for a coordinate value: three significant digits below a thousand, a true minus sign.

    Examples
    --------
    >>> number(0.30000000000000004), number(-2.0), number(1280), number(1e-7), number("ReLU")
    ('0.3', '−2', '1280', '1e−7', 'ReLU')
    """
    if isinstance(value, str):
        return value
    digits = f"{value:.3g}" if abs(value) < 1000 else f"{value:.6g}"
    return re.sub(r"e\+?(-?)0*", r"e\1", digits).replace("-", "−")


def rc(theme: Theme) -> dict[str, Any]:
    """Matplotlib settings of a theme, on top of matplotlib's own defaults."""
    return {
        "figure.facecolor": theme.background,
        "savefig.facecolor": theme.background,
        "axes.facecolor": "none",
        "text.color": theme.text,
        "axes.labelcolor": theme.text,
        "axes.titlecolor": theme.text,
        "axes.edgecolor": theme.muted,
        "xtick.color": theme.muted,
        "ytick.color": theme.muted,
        "xtick.labelcolor": theme.text,
        "ytick.labelcolor": theme.text,
        "grid.color": theme.faint,
        "grid.linewidth": 0.8,
        "hatch.color": theme.muted,
        "font.family": "DejaVu Sans",
        "font.size": TEXT,
        "axes.labelsize": TEXT,
        "axes.titlesize": TEXT,
        "axes.titlelocation": "left",
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
        "legend.fontsize": SMALL,
        "legend.facecolor": theme.background,
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


def applied(theme: Theme) -> AbstractContextManager[None]:
    """Within it, figures are made in a theme; a reader's matplotlibrc changes nothing."""
    return matplotlib.style.context(["default", rc(theme)])


def canvas(fig: Figure | None, height: float, theme: Theme) -> Figure:
    """``fig``, made ``height`` inches high; without it, a new figure of pyplot in a theme."""
    if fig is not None:
        fig.set_figheight(height)
        return fig
    from matplotlib import pyplot  # slow to import, and the book does without

    with applied(theme):
        return pyplot.figure(figsize=(WIDTH, height), layout="constrained")
