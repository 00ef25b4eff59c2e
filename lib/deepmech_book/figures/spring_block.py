"""Pictures of the spring–block chapter: network and chain, the friction law, a folding ruler, diagrams side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

from deepmech.plots import style
from deepmech.plots.phase_diagram import (
    STRAIGHT,
    cells_of,
    colorbar,
    draw_cells,
    frame_best,
    name_ends,
    phase_diagram,
)
from deepmech.plots.style import AXES, LIGHT, axis_label, panels, sort_axes, transpose_to

__all__ = ["analogy", "folding_ruler", "friction_law", "network_diagram", "phases"]


def analogy(*, fig: Figure) -> None:
    """A deep network above the spring–block chain that stands for it (Shi et al. 2024, Fig. 2, drawn anew).

    Layer ℓ stands over block ℓ, the weights between two layers over a spring.
    """
    hidden = 4
    fig.set_size_inches(style.column(fig), 4.5)
    ax = fig.subplots()
    ax.set(xlim=(-0.3, hidden + 1.8), ylim=(-1.65, 3.3), aspect="equal")
    ax.axis("off")
    blue, orange, green = style.categories(3)
    _network(ax, hidden, blue)
    _chain(ax, hidden, blue, orange)
    for ell in range(hidden + 2):
        ax.plot([ell, ell], [0.62, 0.95], color=LIGHT.muted, lw=1, ls=":")
    words: dict[str, Any] = {"ha": "center", "va": "center"}
    said, shaken = (style.legible(c, ratio=4.5) for c in (orange, green))
    ax.text((hidden + 1) / 2, 3.1, "layers separate the classes", **words)
    ax.text(0.5, 0.24, "$d_1$", color=said, **words)
    ax.text(hidden + 0.5, 0.24, f"$d_{{{hidden + 1}}}$", color=said, **words)
    ax.text((hidden + 1) / 2, -0.66, "nonlinearity = friction", color=LIGHT.muted, **words)
    ax.text((hidden + 1) / 2, -1.05, "what a layer separates = elongation of a spring", color=said, **words)
    ax.text((hidden + 1) / 2, -1.44, "↔ noise of training = shaking of the blocks", color=shaken, **words)
    for ell in range(1, hidden + 1):
        shake: dict[str, Any] = {"arrowstyle": "<|-|>", "mutation_scale": 9, "color": green, "lw": 1.4}
        ax.add_patch(FancyArrowPatch((ell - 0.3, 0.44), (ell + 0.3, 0.44), **shake))


def _network(ax: Axes, hidden: int, colour: str) -> None:
    rows = np.linspace(1.15, 2.75, 4)
    for ell, a, b in product(range(hidden + 1), rows, rows):
        ax.plot([ell, ell + 1], [a, b], color=LIGHT.faint, lw=0.8, zorder=1)
    for ell, a in product(range(hidden + 2), rows):
        face = LIGHT.background if ell in (0, hidden + 1) else colour
        ax.add_patch(Circle((ell, a), 0.13, facecolor=face, edgecolor=colour, lw=1.5))


def _chain(ax: Axes, hidden: int, colour: str, spring: str) -> None:
    ground, half = -0.32, 0.2
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    ax.plot([-0.15, hidden + 1.2], [ground, ground], color=LIGHT.muted, lw=1.2)
    for at in np.arange(-0.1, hidden + 1.2, 0.16):
        ax.plot([at, at - 0.1], [ground, ground - 0.12], color=LIGHT.muted, lw=0.8)
    ax.add_patch(Rectangle((-0.15, ground), 0.15, 0.85, facecolor=LIGHT.muted, lw=0))
    for ell in range(hidden + 1):
        start, stop = ell + (half if ell else 0.0), ell + 1 - (half if ell < hidden else 0.0)
        turns = np.array([0, 0.18, *np.linspace(0.24, 0.76, 8), 0.82, 1.0])
        swing = 0.13 * np.array([0, 0, *np.resize([1.0, -1.0], 8), 0, 0])
        ax.plot(start + (stop - start) * turns, swing - 0.1, color=spring, lw=1.6)
    for ell in range(1, hidden + 1):
        ax.add_patch(Rectangle((ell - half, ground), 2 * half, 0.5, facecolor=colour, lw=0, zorder=3))
        ink = str(style.text_colour([colour])[0])
        ax.text(ell, ground + 0.24, f"$x_{{{ell}}}$", color=ink, zorder=4, **centred)
    ax.text(0.0, ground - 0.33, "$x_0$", **centred)
    ax.text(hidden + 1, ground - 0.33, f"$x_{{{hidden + 1}}} = y$", **centred)
    ax.add_patch(Circle((hidden + 1, -0.1), 0.07, facecolor=LIGHT.text, lw=0, zorder=3))
    pull: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 18, "color": LIGHT.text, "lw": 2.2}
    ax.add_patch(FancyArrowPatch((hidden + 1, -0.1), (hidden + 1.7, -0.1), shrinkA=0, **pull))
    ax.text(hidden + 1.45, 0.2, "$F$", **centred)


def friction_law(friction_right: float, friction_left: float, *, fig: Figure) -> None:
    """The response σ(z) of a block to a force z under asymmetric friction (Shi et al. 2024, Eq. 6 and Fig. 5c).

    Zero between −``friction_left`` and ``friction_right``; beyond, the force less the friction.
    """
    for name, value in (("friction_right", friction_right), ("friction_left", friction_left)):
        if not 0 <= value < np.inf:
            raise ValueError(f"friction_law {name} = {value!r}: must be a finite number, zero or positive")
    widest = max(friction_right, friction_left)
    if widest == 0:
        raise ValueError("friction_law friction_right = friction_left = 0: one must be positive, to give a scale")

    fig.set_size_inches(style.column(fig), 3.2)
    ax = fig.subplots()
    blue, orange = style.categories(2)
    reach, high = 2.6 * widest, 1.5 * widest
    ax.plot([-reach, reach], [-reach, reach], color=LIGHT.muted, lw=1.2, ls=(0, (4, 3)))
    ax.axhline(0, color=LIGHT.faint, lw=1)
    ax.plot([0, 0], [-high, 0.7 * high], color=LIGHT.faint, lw=1)  # words stand above
    ax.plot([-reach, -friction_left], [friction_left - reach, 0], color=orange, lw=2.6, solid_capstyle="round")
    ax.plot([-friction_left, friction_right], [0, 0], color=LIGHT.text, lw=2.6, gid="stuck")
    ax.plot([friction_right, reach], [0, reach - friction_right], color=blue, lw=2.6, solid_capstyle="round")
    ax.set(xlim=(-reach, reach), ylim=(-high, high), xlabel="force on a block $z$", ylabel="net force $\\sigma(z)$")
    ax.set_xticks([-friction_left, 0, friction_right], [r"$-\mu_\leftarrow$", "0", r"$\mu_\rightarrow$"])
    ax.set_yticks([0])
    # Words stand where no line is, whichever friction is larger: outside the moving branches, and over or under the
    # longer part of the flat one, on the side that the line without friction does not pass.
    beside, words = 0.2 * high, [style.legible(c, ratio=4.5) for c in (orange, blue)]
    ax.text(-friction_left - 2 * beside, -beside, "moves left", color=words[0], ha="right")
    ax.text(friction_right + 2 * beside, beside, "moves right", color=words[1])
    at, side = (-friction_left / 2, 1) if friction_left >= friction_right else (friction_right / 2, -1)
    ax.text(at, 0.09 * side * high, "stuck", ha="center", va="center")
    ax.text(0.69, 0.95, "no friction", color=LIGHT.muted, transform=ax.transAxes, ha="right", va="top")


BELOW = 5
"""Percentage points below the best cell from which on all cells are as dark."""
DROP = 0.62
"""Distance from one drawn moment to the next below it, in lengths of a straight pair."""


def folding_ruler(position: xr.DataArray, *, fig: Figure) -> None:
    """Shapes of a ruler from first (top) to last moment (bottom, in colour), pinned at the left, pulled at the right.

    ``position`` of the joints on the line of the pull, over pull, frame and node, is in units of a straight pair of
    segments, which stands symmetrically between two joints; pulls have columns of their own.
    """
    position = transpose_to("folding_ruler position", position, "pull", "frame", "node")
    titles, right = [style.format_number(v) for v in position.pull.values], float(position.max()) + 0.5
    columns = style.in_a_row(fig, 3, len(titles))
    width, rows = style.column(fig, columns), style.rows_of(len(titles), columns)
    room = (width / columns - 0.1) / (right + 0.25)
    fig.set_size_inches(width, rows * (room * (DROP * (position.sizes["frame"] - 1) + 0.82) + 0.4) + 0.2)
    for ax, shapes in zip(panels(fig, titles, columns, sharex=True), position, strict=True):
        ax.set(xlim=(-0.25, right), ylim=(-DROP * (len(shapes) - 1) - 0.2, 0.62), aspect="equal")
        ax.axis("off")
        for k, x in enumerate(shapes.values):
            _shape(ax, x, -DROP * k, last=k == len(shapes) - 1)


def _shape(ax: Axes, x: np.ndarray, base: float, *, last: bool) -> None:
    u = np.diff(x)
    tops = np.column_stack([(x[:-1] + x[1:]) / 2, 0.5 * np.sqrt(np.clip(1 - u**2, 0, 1))])
    colours = style.sequential_colours(256)
    for i, (top, opened) in enumerate(zip(tops, np.clip(u, 0, 1), strict=True)):
        colour = colours[int(255 * opened)] if last else LIGHT.muted
        corners = np.array([[x[i], base], [top[0], top[1] + base], [x[i + 1], base]])
        ax.plot(*corners.T, color=colour, lw=2.0 if last else 0.9, solid_joinstyle="round", solid_capstyle="round")
    ax.add_patch(Rectangle((x[0] - 0.14, base - 0.08), 0.14, 0.16, facecolor=LIGHT.text, lw=0, zorder=4))
    ax.add_patch(Circle((x[-1], base), 0.055, facecolor=LIGHT.text, lw=0, zorder=4))
    if last:
        pull = FancyArrowPatch((x[-1], base), (x[-1] + 0.45, base), arrowstyle="-|>", mutation_scale=14, shrinkA=0)
        pull.set(color=LIGHT.text, linewidth=1.8)
        ax.add_patch(pull)


def phases(
    diagrams: Mapping[str, xr.Dataset],
    names: tuple[str, str] = ("concave", "convex"),
    *,
    shade: str = "curvature",
    columns: int = 3,
    line_label: str = "",
    fig: Figure,
) -> None:
    """Phase diagrams side by side, by title, as :func:`phase_diagram` draws them, on one scale of what shades them.

    Each has ``load_curve`` (x, y, layer), ``curvature`` (x, y) and ``shade``: the curvature, with ``names`` of phases
    at the ends of its scale, or the ``accuracy`` in percent, below that of the panel's best cell, which is framed.
    ``line_label`` is what a legend says of the line where curvature changes sign. For phones: one a row.
    """
    ready, titles = [], []
    for title, made in diagrams.items():
        x, y = map(str, made["curvature"].dims)
        layer = next(str(d) for d in made["load_curve"].dims if d not in (x, y))
        what = f"phases {title}"
        bend, shaded = (sort_axes(what, made[name], x, y) for name in ("curvature", shade))
        best = float(shaded.max())
        bent = shade == "curvature"
        ready.append((sort_axes(what, made["load_curve"], x, y, layer), bend, bend if bent else shaded - best))
        titles.append(title if bent else f"{title}: best {best:.1f} %")
    shades = [shaded.values for *_, shaded in ready]
    limits = (min(map(np.nanmin, shades)), max(map(np.nanmax, shades))) if bent else (-BELOW, 0.0)
    first = ready[0][0]
    stacked = fig.get_figwidth() <= style.NARROW
    columns = 1 if stacked else min(columns, len(ready))
    inches = style.NARROW if stacked else style.WIDE if columns > 1 else style.COLUMN
    height = 2.1 if len(ready) > columns else 2.6
    cell, width = cells_of(first, columns, inches, height)
    rows = [load[load.dims[1]] for load, *_ in ready]
    alike = all(one.identical(rows[0]) for one in rows)
    height = style.rows_of(len(ready), columns) * (cell[1] * len(rows[0]) + 0.8) + 0.9 + 0.3 * bool(line_label)
    fig.set_size_inches(inches, height)
    axes = panels(fig, titles, columns, sharey=alike)
    for i, (ax, row, (load, bend, shaded)) in enumerate(zip(axes, rows, ready, strict=True)):
        cell, _ = cells_of(load, columns, inches)
        shading = draw_cells(ax, load, shaded, bend, cell, width, limits)
        ax.set(xlabel=axis_label(load[load.dims[0]]), ylabel="" if alike and i % columns else axis_label(row))
        if not bent:
            frame_best(ax, shaded.values)
    bar = colorbar(shading, axes, "", location="bottom", pad=0.02, aspect=40)
    if bent:
        bar.ax.set_title("signed curvature", loc="center")
        name_ends(bar, names)
    else:
        words = "test accuracy below that of the panel’s best cell, framed (percentage points)"
        bar.ax.set_title(textwrap.fill(words, 44) if stacked else words, loc="left")
        bar.set_ticks(np.arange(-BELOW, 1), labels=[f"{BELOW} or more", *map(str, range(BELOW - 1, -1, -1))])
    if line_label:
        words = textwrap.fill(line_label, 44) if stacked else line_label
        key = Line2D([], [], color=LIGHT.text, lw=width, label=words)
        fig.legend(handles=[key], loc="outside upper left")


def network_diagram(means: xr.Dataset, *, line_label: str = STRAIGHT, fig: Figure) -> None:
    """Load curves of networks over negative slope and one kind of noise, shaded by accuracy and by curvature."""
    x, accuracy = noise_of(means), 100 * means["accuracy"]
    phase_diagram(
        means["load_curve"], layer="layer", x=x, y="slope", shade=accuracy,
        shade_label=f"test accuracy (%), framed: best, {float(accuracy.max()):.1f}",
        curvature=means["curvature"], line_label=line_label, fig=fig,
    )  # fmt: skip
    frame_best(fig.axes[0], sort_axes("network diagram", accuracy, x, "slope").values)


def noise_of(means: xr.Dataset) -> str:
    """The dimension of a diagram of networks that is a kind of noise."""
    kinds = [name for name in AXES if name != "slope"]
    found = [name for name in kinds if name in means.dims]
    if len(found) != 1:
        raise ValueError(f"network diagram: dims {tuple(means.dims)}: exactly one must be of {', '.join(kinds)}")
    return found[0]
