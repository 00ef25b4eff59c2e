"""A picture: one drawing function, rendered for light and for dark pages, with the words that stand for it."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure

from deepmech_book.figures import style
from deepmech_book.figures.style import Theme

RECORD = "application/vnd.deepmech+json"
"""MIME type under which a notebook's output carries records for the press."""

_NO_METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
# The book's themes hide .only-light or .only-dark. Elsewhere nothing does, so the dark image hides itself and comes
# forth only where a page says that it is dark: the book (data-theme) or JupyterLab (data-jp-theme-light).
_STYLE = (
    "<style>html[data-theme=dark] .deepmech-picture .only-dark,"
    "body[data-jp-theme-light=false] .deepmech-picture .only-dark{display:block!important}"
    "body[data-jp-theme-light=false] .deepmech-picture .only-light{display:none!important}</style>"
)


def _slim(svg: bytes) -> bytes:
    """Path coordinates to a hundredth of a point: half the bytes, no visible change."""
    return re.sub(rb' d="[^"]*"', lambda d: re.sub(rb"-?\d+\.\d{3,}", lambda n: b"%.2f" % float(n[0]), d[0]), svg)


class Picture:
    """What a notebook cell shows: a drawing in two themes, its text alternative and its place in the registry.

    Parameters
    ----------
    draw : callable
        ``draw(figure, theme)`` puts artists on an empty :class:`matplotlib.figure.Figure`.
    alt : str
        What the picture shows, for readers who do not see it. Mandatory.
    height : float
        Height in inches of 100 CSS pixels; the width is always :data:`~deepmech_book.figures.style.WIDTH`.
    figure : str, optional
        Registry id of the figure this picture reproduces, such as ``"A.3"``.

    Raises
    ------
    ValueError
        If ``alt`` is missing or says nothing.

    Examples
    --------
    >>> p = Picture(lambda fig, theme: fig.subplots().plot([0, 1]), alt="A rising line.", height=3, figure="A.3")
    >>> sorted(p._repr_mimebundle_())
    ['application/vnd.deepmech+json', 'image/png', 'text/html', 'text/plain']
    """

    def __init__(
        self, draw: Callable[[Figure, Theme], Any], *, alt: str, height: float = 4.2, figure: str | None = None
    ) -> None:
        if not isinstance(alt, str) or len(alt.split()) < 3:
            raise ValueError(f"Picture.alt = {alt!r}: must say in a sentence what the picture shows")
        if figure is not None and not isinstance(figure, str):
            raise ValueError(f"Picture.figure = {figure!r}: must be a registry id such as 'A.3', or None")
        self.draw, self.alt, self.height, self.figure = draw, " ".join(alt.split()), height, figure
        self._encode = lru_cache(maxsize=None)(self._save)
        # IPython swallows errors while it asks for a bundle: an array that cannot be drawn must fail here, in its cell.
        self.render()

    def __repr__(self) -> str:
        return f"Picture(figure={self.figure!r}, alt={self.alt!r})"

    def render(self, theme: Theme = style.LIGHT) -> Figure:
        """The drawing as a matplotlib figure, laid out; a fresh one at every call."""
        with matplotlib.style.context(["default", style.rc(theme)]):
            figure = Figure(figsize=(style.WIDTH, self.height), dpi=100, layout="constrained")
            self.draw(figure, theme)
            figure.draw_without_rendering()
        return figure

    def png(self, theme: Theme = style.LIGHT) -> bytes:
        """The drawing as PNG at two pixels per CSS pixel; the same bytes at every call."""
        return self._encode(theme, "png")

    def svg(self, theme: Theme = style.LIGHT) -> bytes:
        """The drawing as SVG with outlined text; the same bytes at every call."""
        return self._encode(theme, "svg")

    def save(self, path: str | Path, theme: Theme = style.LIGHT) -> None:
        """Write the drawing to ``path``: ``.png`` or ``.svg``."""
        kind = Path(path).suffix.lstrip(".")
        if kind not in ("png", "svg"):
            raise ValueError(f"Picture.save path = {str(path)!r}: must end in .png or .svg")
        Path(path).write_bytes(self._encode(theme, kind))

    def _save(self, theme: Theme, kind: str) -> bytes:
        figure, file = self.render(theme), io.BytesIO()
        with matplotlib.style.context(["default", style.rc(theme)]):
            # No date and no version inside: equal pictures are equal bytes.
            figure.savefig(file, format=kind, dpi=200, metadata=_NO_METADATA[kind])
        return _slim(file.getvalue()) if kind == "svg" else file.getvalue()

    def _image(self, theme: Theme, hidden: bool) -> str:
        # Outlines for drawings, pixels where there are so many points that outlines would weigh more.
        data, mime = min((self.svg(theme), "image/svg+xml"), (self.png(theme), "image/png"), key=lambda f: len(f[0]))
        display = "none" if hidden else "block"
        return (
            f'<img class="only-{theme.name}" alt="{html.escape(self.alt)}" width="{round(100 * style.WIDTH)}" '
            f'style="display:{display};max-width:100%;height:auto;margin:0 auto;padding:0;background:none" '
            f'src="data:{mime};base64,{base64.b64encode(data).decode()}">'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        images = self._image(style.LIGHT, hidden=False) + self._image(style.DARK, hidden=True)
        bundle: dict[str, Any] = {
            "text/html": f'<div class="deepmech-picture">{_STYLE}{images}</div>',
            "image/png": base64.b64encode(self.png()).decode(),
            "text/plain": self.alt,
        }
        if self.figure is not None:
            bundle[RECORD] = {"figure": self.figure}
        return bundle
