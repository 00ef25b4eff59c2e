"""The three small pictures of the front page, drawn from runs of the book: ``python -m deepmech_book.press.front``.

They are pieces of SVG that stand in the page itself and take their colours from it, so that they are light on a light
page and dark on a dark one. They lie in ``book/assets/front``; a test compares them with what this module draws.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HEIGHT = 320, 190
BLUE, ORANGE, FAINT = "var(--dm-blue)", "var(--dm-orange)", "var(--pst-color-border)"


def pictures() -> dict[str, str]:
    """The pictures by the name of their file."""
    return {"springs.svg": springs(), "elastic.svg": elastic(), "glass.svg": glass()}


def springs() -> str:
    """The three chains of paper A's Fig. 4 at their end, mean of fifty runs: where each stretches."""
    from deepmech.simulators.spring_block import Chain, simulate
    from deepmech_book.experiments.spring_block.chains import REGIMES

    words = ("lazy: the last springs stretch", "balanced: all stretch alike", "over-noisy: the first stretch")
    drawn = []
    regimes: list[dict[str, Any]] = list(REGIMES.values())
    for row, (settings, said) in enumerate(zip(regimes, words, strict=True)):
        position = simulate(Chain(**settings), 100.0, n_runs=50).position.mean("run").values
        x, y = 16 + 288 * position, 46 + 56 * row
        drawn.append(_text(x[0], y - 18, said))
        drawn.append(_line([(x[0], y + 12), (x[0], y - 12)], "currentColor", 3))
        for left, right in pairwise(x):
            first, last = left + 3 * (left > x[0]), right - 3 * (right < x[-1])
            along = np.linspace(first, last, 12)
            up = np.array([0, 0, *([5, -5] * 4), 0, 0])
            drawn.append(_line(zip(along, y + up, strict=True), ORANGE, 1.3))
        drawn += [f'<rect x="{b - 3:.1f}" y="{y - 8}" width="6" height="16" rx="2" fill="{BLUE}"/>' for b in x[1:-1]]
        drawn.append(f'<circle cx="{x[-1]:.1f}" cy="{y}" r="4" fill="currentColor"/>')
    alt = (
        "Three chains of seven blocks between a wall and a target. In the lazy one the springs next to the target are "
        "the longest, in the balanced one all are alike, in the over-noisy one those next to the wall are the longest."
    )
    return _svg(alt, drawn)


def elastic() -> str:
    """Two classes in the plane, pulled by their own mean more than by the other's, and the other way round."""
    from deepmech import ElasticSDE, simulate

    drawn = []
    for panel, (said, intra, inter) in enumerate((("elastic: apart", 1.2, 0.1), ("inelastic: together", 0.1, 1.2))):
        model = ElasticSDE(n_features=2, intra=intra, inter=inter, noise=0.25)
        run = simulate(model, [0.0, 3.0], [[0.5, 0.1], [0.1, 0.5]], n_samples=14, start_spread=0.2)
        x = run.feature_value.isel(run=0).transpose("time", "class", "sample", "feature").values
        low, high = x.min((0, 1, 2)), x.max((0, 1, 2))
        scale = 134 / (high - low).max()
        for c, colour in enumerate((BLUE, ORANGE)):
            for before, after in zip(x[0, c], x[1, c], strict=True):
                moved = (scale * (p - low) for p in (before, after))
                ends = [(16 + 160 * panel + right, 178 - up) for right, up in moved]
                drawn.append(_line(ends, FAINT, 1))
                drawn.append(f'<circle cx="{ends[1][0]:.1f}" cy="{ends[1][1]:.1f}" r="3.2" fill="{colour}"/>')
        drawn.append(_text(16 + 160 * panel, 18, said))
    alt = (
        "Two clouds of points, blue and orange, with a line to where each point began. Left, each class is pulled "
        "mostly by itself: the clouds end apart. Right, each is pulled mostly by the other: they end mixed."
    )
    return _svg(alt, drawn)


def glass() -> str:
    """Overlaps of hot and cold networks and of free weights over time: paper C's Fig. 2(b), from what ships."""
    from deepmech.sweeps import result
    from deepmech_book.experiments.glass import protocol, walks

    runs = protocol.kept(result(walks.standard("regularised", "mnist")))
    two = runs.sel(temperature=[0.1, 1e-6]).isel(waiting=0, drop=True)
    network = two.overlap.isel(chi=1, drop=True).mean("seed").dropna("time")
    free = walks.free_curve(two).sel(time=network.time)
    when = np.log10(network.time.values)
    across = 34 + 274 * (when - when[0]) / (when[-1] - when[0])

    def points(curve: np.ndarray) -> list[tuple[float, float]]:
        return list(zip(across, 160 - 128 * curve, strict=True))

    drawn = [_line([(34, 28), (34, 160), (308, 160)], "currentColor", 1)]
    for i, colour in enumerate((ORANGE, BLUE)):
        at = {"temperature": network.temperature[i]}
        drawn.append(_line(points(free.sel(at).values), colour, 1.4, dashed=True))
        drawn.append(_line(points(network.sel(at).values), colour, 2.4))
    drawn += [
        _text(34, 18, "weights that have not moved"),
        _text(308, 178, "time (logarithm)", end=True),
        _text(88, 62, "hot", ORANGE),
        _text(262, 66, "cold", BLUE),
        _text(42, 150, "dashed: free walks"),
    ]
    alt = (
        "The share of weights that have not moved, over time. The hot network's falls along the dashed line of a free "
        "walk; the cold network's falls long before its own free walk does."
    )
    return _svg(alt, drawn)


def _svg(alt: str, drawn: list[str]) -> str:
    body = "\n".join(drawn)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{alt}">\n{body}\n</svg>\n'


def _line(points: object, colour: str, width: float, dashed: bool = False) -> str:
    ends = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)  # type: ignore[attr-defined]
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<polyline points="{ends}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>'


def _text(x: float, y: float, said: str, colour: str = "currentColor", end: bool = False) -> str:
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="13" fill="{colour}"{anchor}>{said}</text>'


if __name__ == "__main__":
    folder = Path(__file__).parents[3] / "book" / "assets" / "front"
    folder.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (folder / name).write_text(text, encoding="utf-8")
