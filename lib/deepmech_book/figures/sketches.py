"""Pictures that explain without data: the analogy between network and chain, and the friction law."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

from deepmech.plots import style
from deepmech.plots.style import Theme
from deepmech_book.figures.picture import Picture


def analogy(*, alt: str, figure: str | None = None) -> Picture:
    """A deep network above the spring–block chain that stands for it (Shi et al. 2024, Fig. 2, drawn anew).

    Layer ℓ stands over block ℓ, the weights between two layers over a spring.
    """
    hidden = 4

    def draw(fig: Figure, theme: Theme) -> None:
        ax = fig.subplots()
        ax.set(xlim=(-0.65, hidden + 1.75), ylim=(-2.15, 3.3), aspect="equal")
        ax.axis("off")
        blue, orange, green = style.categories(3, theme)
        _network(ax, theme, hidden, blue)
        _chain(ax, theme, hidden, blue, orange)
        for ell in range(hidden + 2):
            ax.plot([ell, ell], [0.62, 0.95], color=theme.muted, lw=1, ls=":")
        words: dict[str, Any] = {"ha": "center", "va": "center"}
        said, shaken = (style.legible(c, theme, 4.5) for c in (orange, green))
        ax.text((hidden + 1) / 2, 3.1, "layers separate the classes", **words)
        ax.text(0.5, 0.5, "$d_1$", color=said, **words)
        ax.text(hidden + 0.5, 0.5, f"$d_{{{hidden + 1}}}$", color=said, **words)
        ax.text((hidden + 1) / 2, -0.98, "nonlinearity = friction", color=theme.muted, **words)
        ax.text((hidden + 1) / 2, -1.5, "data separation of a layer = elongation of a spring", color=said, **words)
        ax.text((hidden + 1) / 2, -2.0, "noise of training = shaking of the blocks", color=shaken, **words)
        for ell in range(1, hidden + 1):
            shake: dict[str, Any] = {"arrowstyle": "<|-|>", "mutation_scale": 9, "color": green, "lw": 1.4}
            ax.add_patch(FancyArrowPatch((ell - 0.3, 0.44), (ell + 0.3, 0.44), **shake))

    return Picture(draw, alt=alt, height=4.8, figure=figure)


def _network(ax: Axes, theme: Theme, hidden: int, colour: str) -> None:
    rows = np.linspace(1.15, 2.75, 4)
    for ell in range(hidden + 1):
        for a in rows:
            for b in rows:
                ax.plot([ell, ell + 1], [a, b], color=theme.faint, lw=0.8, zorder=1)
    for ell in range(hidden + 2):
        end = ell in (0, hidden + 1)
        for a in rows:
            ax.add_patch(
                Circle((ell, a), 0.13, facecolor=theme.background if end else colour, edgecolor=colour, lw=1.5)
            )


def _chain(ax: Axes, theme: Theme, hidden: int, colour: str, spring: str) -> None:
    ground, half = -0.32, 0.2
    ax.plot([-0.15, hidden + 1.2], [ground, ground], color=theme.muted, lw=1.2)
    for at in np.arange(-0.1, hidden + 1.2, 0.16):
        ax.plot([at, at - 0.1], [ground, ground - 0.12], color=theme.muted, lw=0.8)
    ax.add_patch(Rectangle((-0.15, ground), 0.15, 0.85, facecolor=theme.muted, lw=0))
    for ell in range(hidden + 1):
        start, stop = ell + (half if ell else 0.0), ell + 1 - (half if ell < hidden else 0.0)
        turns = np.array([0, 0.18, *np.linspace(0.24, 0.76, 8), 0.82, 1.0])
        swing = 0.13 * np.array([0, 0, *np.resize([1.0, -1.0], 8), 0, 0])
        ax.plot(start + (stop - start) * turns, swing - 0.1, color=spring, lw=1.6)
    for ell in range(1, hidden + 1):
        ax.add_patch(Rectangle((ell - half, ground), 2 * half, 0.5, facecolor=colour, lw=0, zorder=3))
        ax.text(
            ell, ground + 0.24, f"$x_{{{ell}}}$", color=str(style.ink([colour])[0]), ha="center", va="center", zorder=4
        )
    ax.text(0.0, ground - 0.33, "$x_0$", ha="center", va="center")
    ax.text(hidden + 1, ground - 0.33, f"$x_{{{hidden + 1}}} = y$", ha="center", va="center")
    ax.add_patch(Circle((hidden + 1, -0.1), 0.07, facecolor=theme.text, lw=0, zorder=3))
    pull: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 18, "color": theme.text, "lw": 2.2}
    ax.add_patch(FancyArrowPatch((hidden + 1, -0.1), (hidden + 1.7, -0.1), shrinkA=0, **pull))
    ax.text(hidden + 1.45, 0.2, "$F$", ha="center", va="center")


def friction_law(friction_right: float, friction_left: float, *, alt: str, figure: str | None = None) -> Picture:
    """The response σ(z) of a block to a force z under asymmetric friction (Shi et al. 2024, Eq. 6 and Fig. 5c).

    Zero between −``friction_left`` and ``friction_right``; beyond, the force less the friction.

    Raises
    ------
    ValueError
        If a friction is negative or both are zero, or ``alt`` is missing.
    """
    for name, value in (("friction_right", friction_right), ("friction_left", friction_left)):
        if not 0 <= value < np.inf:
            raise ValueError(f"friction_law {name} = {value!r}: must be a finite number, zero or positive")
    widest = max(friction_right, friction_left)
    if widest == 0:
        raise ValueError("friction_law friction_right = friction_left = 0: one must be positive, to give a scale")

    def draw(fig: Figure, theme: Theme) -> None:
        ax = fig.subplots()
        blue, orange = style.categories(2, theme)
        reach, high = 2.6 * widest, 1.5 * widest
        ax.plot([-reach, reach], [-reach, reach], color=theme.muted, lw=1.2, ls=(0, (4, 3)))
        ax.axhline(0, color=theme.faint, lw=1)
        ax.axvline(0, color=theme.faint, lw=1)
        ax.plot([-reach, -friction_left], [friction_left - reach, 0], color=orange, lw=2.6, solid_capstyle="round")
        ax.plot([-friction_left, friction_right], [0, 0], color=theme.text, lw=2.6, gid="stuck")
        ax.plot([friction_right, reach], [0, reach - friction_right], color=blue, lw=2.6, solid_capstyle="round")
        ax.set(
            xlim=(-reach, reach), ylim=(-high, high), xlabel="force on a block $z$", ylabel="what moves it $\\sigma(z)$"
        )
        ax.set_xticks([-friction_left, 0, friction_right], ["−μ←", "0", "μ→"])
        ax.set_yticks([0])
        # Words stand where no line is, whichever friction is larger: outside the moving branches, and over or under the
        # longer part of the flat one, on the side that the line without friction does not pass.
        beside, words = 0.2 * high, [style.legible(c, theme, 4.5) for c in (orange, blue)]
        ax.text(-friction_left - 1.5 * beside, -beside, "moves left", color=words[0], ha="right")
        ax.text(friction_right + 1.5 * beside, beside, "moves right", color=words[1])
        at, side = (-friction_left / 2, 1) if friction_left >= friction_right else (friction_right / 2, -1)
        ax.text(at, 0.09 * side * high, "stuck", ha="center", va="center")
        ax.text(0.69, 0.95, "no friction", color=theme.muted, transform=ax.transAxes, ha="right", va="top")

    return Picture(draw, alt=alt, height=3.9, figure=figure)
