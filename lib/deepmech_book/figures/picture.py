"""What a cell shows: a drawing as SVG or pixels, its text alternative, and the arrays drawn as a table."""

from __future__ import annotations

import base64
import functools
import html
import inspect
import io
import os
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from deepmech.core.estimates import Estimate
from deepmech.plots import style
from deepmech_book import RECORD

HEAVY = 120_000
"""Bytes of outlines beyond which pixels may weigh less."""

LONG = 20_000
"""Rows beyond which the numbers drawn do not come as a table."""

# No date and no version inside: equal pictures are equal bytes. Beyond its first level, compression of pixels doubles
# the time and saves a tenth.
_SAVING: dict[str, dict[str, Any]] = {
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "png": {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 1}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}
# One picture for light and dark pages: where JupyterLab is dark (or the book: assets/deepmech.css), light and dark
# change places and hues stay. Shades stay as they are (.dm-shaded): a colour bar whose ends change places would say
# that the brightest cell is the lowest. Ground and words of outlines (.dm-themed) follow the page by _THEME.
_STYLE = (
    "<style>body[data-jp-theme-light=false] .deepmech-picture:not(.dm-shaded) img"
    "{filter:invert(.93) hue-rotate(180deg)}body[data-jp-theme-light=false] .dm-themed img{color-scheme:dark}</style>"
)
# A browser tells an image the scheme of the page it stands on; one that does not tells it the system's, and words and
# ground still fit one another.
_THEME = (
    f"svg{{background:{style.LIGHT.background}}}@media(prefers-color-scheme:dark){{svg{{background:#121212}}"
    + "".join(
        f"[style*='{what}:{light}']{{{what}:{dark}!important}}"
        for light, dark in (
            (style.LIGHT.text, "#ced6dd"),
            (style.LIGHT.muted, "#9ca4af"),
            (style.LIGHT.faint, "#3b434e"),
            (style.GROUND, "#121212"),
        )
        for what in ("fill", "stroke")
    )
    + f"[style*='fill:{style.LIGHT.warm}']{{fill:#f08a4b!important}}"
    + f"[style*='fill:{style.LIGHT.cool}']{{fill:#6cb8ec!important}}}}"
)
# Of two drawings, one for wide and one for narrow screens, the one that fits is shown.
_NARROW = (
    "<style>.dm-both>.dm-tall{display:none!important}@media screen and (max-width:600px){.dm-both>img"
    "{display:none!important}.dm-both>.dm-tall{display:block!important;width:100%!important;min-width:0!important}}</style>"
)
#: What an address in double quotes may hold as it is.
_PLAIN = " !$'()*+,-./:;=?@[]^_`{|}~<>"


#: Numbers that say where something stands; a drawing that nobody sees; elements that follow one another and look alike.
_PLACE = re.compile(r"(?:(?<= [xy]=\")|(?<=late\()|(?<=\d )(?=[^ ]*\) scale))-?\d+\.\d{3,}")
_UNSEEN = re.compile(r'<path [^>]* style="fill:none"/>|<!DOCTYPE[^>]*>|<defs></defs>')
_ALIKE = re.compile(r'<(\w+) [^>]*?((?: clip-path="[^"]*")? style="[^"]*")/>(?:<\1 [^>]*?\2/>)+')


def _slim(svg: bytes) -> bytes:
    """The same drawing in fewer bytes: coordinates to a hundredth of a point, paths told step by step, short names, a
    look said once for all that follow one another, and no groups, notes and blanks, which nobody sees."""
    text = re.sub(r"(?s)<metadata>.*?</metadata>|<!--.*?-->|(?<=<g) id=\"[^\"]*\"|(?<=>)\s+(?=<)", "", svg.decode())
    text = re.sub(_PLACE, lambda n: _hundredths(round(100 * float(n[0]))), text)
    text = re.sub(r"(?<= d=\")[^\"]*", lambda path: _steps(path[0]), text)
    text = re.sub(r'(?<= style=")[^"]*', lambda look: re.sub("(?<=[:;]) ", "", look[0]), text)
    names = {name: f"g{n:x}" for n, name in enumerate(dict.fromkeys(re.findall(r' id="([^"]*)"', text)))}
    text = re.sub(r'(?<= id=")[^"]*|(?<="#)[^"]*|(?<=url\(#)[^)]*', lambda name: names.get(name[0], name[0]), text)
    text = _ALIKE.sub(
        lambda run: f"<g{run[2]}>{run[0].replace(run[2], '')}</g>", _without_bare_groups(_UNSEEN.sub("", text))
    )
    return re.sub('="([^"\']*)"', r"='\1'", text).encode()  # in an address, double quotes take three bytes each


def _without_bare_groups(text: str) -> str:
    """Groups that say nothing of what is in them are left out."""
    said: list[bool] = []

    def tag(found: re.Match[str]) -> str:
        if found[0] != "</g>":
            said.append(found[0] != "<g>")
        return found[0] * (said.pop() if found[0] == "</g>" else said[-1])

    return re.sub("<g(?: [^>]*(?<!/))?>|</g>", tag, text)


def _steps(path: str) -> str:
    """A path of an SVG with each point told from the one before; rounding does not add up along it.

    Examples
    --------
    >>> _steps("M 10 5.004 L 12.5 5 L 12.5 4.25 z")
    'm10 5 2.5 0 0-.75z'
    """
    made, here, start, last = "", [0, 0], [0, 0], ""
    for command, numbers in re.findall("([MLQCz])([^MLQCz]*)", path):
        points = [round(100 * float(number)) for number in numbers.split()]
        moves = [_hundredths(number - here[i % 2]) for i, number in enumerate(points)]
        letter = "" if command == last != "M" or (command, last) == ("L", "M") else command.lower()
        words = "".join(move if (not i and letter) or move[0] == "-" else f" {move}" for i, move in enumerate(moves))
        made, last, here = f"{made}{letter}{words}", command, points[-2:] or start
        start = here if command == "M" else start
    return made


@functools.cache
def _hundredths(number: int) -> str:
    return f"{number / 100:.2f}".rstrip("0").rstrip(".").replace("0.", ".", abs(number) < 100)


def _address(data: bytes, mime: str) -> str:
    """An image as an address within an attribute: pixels in base64, outlines as text, which is a quarter shorter."""
    if mime != "image/svg+xml":
        return f"data:{mime};base64,{base64.b64encode(data).decode()}"
    return f"data:{mime},{urllib.parse.quote(data, safe=_PLAIN)}"


class Picture:
    """What a notebook cell shows: a drawing, its text alternative and its place in the registry.

    draw : callable
        ``draw(figure)`` puts artists on an empty :class:`matplotlib.figure.Figure` in the light theme, which dark pages
        turn round.
    alt : str
        What the picture shows, for readers who do not see it; None where the cell that shows it says so in its metadata
        (``mystnb: image: alt``), from where the build puts it into the picture.
    height, width : float
        In inches of 100 CSS pixels, unless ``draw`` sets them.
    figure : str, optional
        Registry id of the figure this picture reproduces, such as ``"A.3"``; of several, with blanks between.
    data : Dataset or None
        An attribute: the arrays drawn, where a function of :mod:`deepmech_book.figures` made the picture from some.
    """

    def __init__(
        self,
        draw: Callable[[Figure], Any],
        *,
        alt: str | None,
        height: float = 4.2,
        width: float = style.WIDTH,
        figure: str | None = None,
    ) -> None:
        if alt is not None and (not isinstance(alt, str) or len(alt.split()) < 3):
            raise ValueError(f"Picture.alt = {alt!r}: must say in a sentence what the picture shows")
        if figure is not None and not isinstance(figure, str):
            raise ValueError(f"Picture.figure = {figure!r}: must be a registry id such as 'A.3', or None")
        self.draw, self.alt, self.figure = draw, " ".join((alt or "").split()), figure
        self.height, self.width = height, width
        self.data: xr.Dataset | None = None
        self.kind = "deepmech-picture"
        self._encoded = functools.lru_cache(maxsize=None)(self._encode)
        # IPython swallows errors while it asks for a bundle: an array that cannot be drawn must fail here, in its cell.
        self._figure = self.render()
        width = self._figure.get_figwidth()
        self.wide = bool(width > style.WIDTH)
        self.kind += " dm-narrow" * bool(width < style.WIDTH) + " dm-wide full-width" * self.wide
        self.shaded = any(ax.images for ax in self._figure.axes)  # scales of shades are images
        pixels = self._pixels()
        if self.shaded:
            self.kind += " dm-shaded" if pixels else " dm-shaded dm-themed"
        at = [ax.get_position() for ax in self._figure.axes if ax.get_visible()]
        self.stacked = not self.shaded and len(at) > 2 and len({round(box.x0, 2) for box in at}) == 1
        self.narrow: Picture | None = None

    def __repr__(self) -> str:
        return f"Picture(figure={self.figure!r}, alt={self.alt!r})"

    def render(self) -> Figure:
        """The drawing as a matplotlib figure, laid out; a fresh one at every call."""
        with style.applied():
            figure = Figure(figsize=(self.width, self.height), dpi=200, layout="constrained")
            self.draw(figure)
            self.height = figure.get_figheight()
            layout: Any = figure.get_layout_engine()
            layout.execute(figure)
            figure.set_layout_engine(None)
        return figure

    def png(self) -> bytes:
        """The drawing as PNG at two pixels per CSS pixel; the same bytes at every call."""
        return self._encoded("png")

    def svg(self) -> bytes:
        """The drawing as SVG with outlined text; the same bytes at every call."""
        return self._encoded("svg")

    def save(self, path: str | Path) -> None:
        """Write the drawing to ``path``: ``.svg``, ``.png`` or ``.pdf``."""
        kind = Path(path).suffix.lstrip(".")
        if kind not in _SAVING:
            raise ValueError(f"Picture.save path = {str(path)!r}: must end in .svg, .png or .pdf")
        Path(path).write_bytes(self._encoded(kind))

    def _encode(self, kind: str) -> bytes:
        file, themed = io.BytesIO(), kind == "svg" and self.shaded
        saving = _SAVING[kind] | ({"facecolor": "none"} if themed else {})
        with style.applied():
            self._figure.savefig(file, format=kind, **saving)
        if kind != "svg":
            return file.getvalue()
        theme = f"{_THEME if themed else ''}</style>".encode()
        return _slim(file.getvalue().replace(b"</style>", theme, 1))

    def _pixels(self) -> bool:
        """Outlines for drawings, pixels where there are so many points that outlines would weigh more."""
        return len(self.svg()) > HEAVY and len(self.png()) < len(self.svg())

    def _image(self, more: str = "") -> str:
        data, mime = (self.png(), "image/png") if self._pixels() else (self.svg(), "image/svg+xml")
        return (
            f'<img class="dark-light{more}" alt="{html.escape(self.alt)}" '
            f'width="{round(100 * self._figure.get_figwidth())}" height="{round(100 * self.height)}" '
            f'style="display:block;max-width:100%;height:auto;margin:0 auto;padding:0" '
            f'src="{_address(data, mime)}">'
        )

    def _take_away(self, folder: Path) -> str:
        """Write SVG and numbers into ``folder``; the stem of their names is a number in the order of showing."""
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.glob("*[!w].svg"))) + 1
        stem = f"{number:02d}" + (f"-{self.figure.split()[0]}" if self.figure else "")
        self.save(folder / f"{stem}.svg")
        if self.narrow:
            self.narrow.save(folder / f"{stem}-narrow.svg")
        # Sketches show no numbers.
        if self.data and sum(array.size for array in self.data.values()) <= LONG:
            # Nine digits tell numbers of single precision apart.
            table(self.data).to_csv(folder / f"{stem}.csv", index=False, float_format="%.9g")
        return stem

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        folder = os.environ.get("DEEPMECH_FIGURES")
        stem = f' data-files="{self._take_away(Path(folder))}"' if folder else ""
        tall = f"{_NARROW}{self.narrow._image(' dm-tall')}" if self.narrow else ""
        bundle: dict[str, Any] = {
            "text/html": f'<div class="{self.kind}"{stem}>{_STYLE}{self._image()}{tall}</div>',
            "text/plain": self.alt,
        }
        if self.figure is not None:
            bundle[RECORD] = [{"figure": name} for name in self.figure.split()]
        return bundle


def pictured(draw: Callable[..., Any]) -> Callable[..., Picture]:
    """A drawing function, which takes ``fig`` or ``ax``, as one that makes pictures; they hold the arrays drawn.

    It may be given an :class:`~deepmech.core.estimates.Estimate` as its first array: its value, with its ``interval``.
    """
    signature = inspect.signature(draw)
    on_axes = "ax" in signature.parameters

    @functools.wraps(draw)
    def picture(*args: Any, alt: str | None = None, figure: str | None = None, **how: Any) -> Picture:
        if args and isinstance(args[0], Estimate):
            args, how = (args[0].value, *args[1:]), {**how, "interval": args[0].interval}

        def on(fig: Figure) -> None:
            if on_axes:
                fig.set_size_inches(style.column(fig), 3.4)
            draw(*args, **how, **({"ax": fig.subplots()} if on_axes else {"fig": fig}))

        drawing = Picture(on, alt=alt, height=3.9, figure=figure)
        if drawing.wide or drawing.stacked:
            drawing.narrow = Picture(on, alt=alt, width=style.NARROW)
            drawing.kind += " dm-both"
        given = signature.bind_partial(*args, **how).arguments
        drawing.data = dataset(dict(arrays_in({**given, **given.pop("how", {})})), drawing.alt)
        return drawing

    return picture


def arrays_in(given: Mapping[str, Any]) -> Iterator[tuple[str, xr.DataArray]]:
    """The arrays among arguments of a drawing function, also those in mappings, datasets and intervals, with names.

    What two mappings have under one title, curves and their theory, is told apart by the name of the argument.
    """
    ends = dict(zip(("low", "high"), given.get("interval") or (), strict=False))
    flat = {k: v for name, value in given.items() for k, v in (ends if name == "interval" else {name: value}).items()}
    seen: set[str] = set()
    for name, value in flat.items():
        if isinstance(value, xr.DataArray):
            yield name, value
        elif isinstance(value, Mapping):
            for key, one in value.items():
                parts = {f"{key} {part}": one[part] for part in one} if isinstance(one, xr.Dataset) else {str(key): one}
                for title, array in arrays_in(parts):
                    yield f"{name} {title}" if title in seen else title, array
                    seen.add(title)


def dataset(arrays: Mapping[str, xr.DataArray], alt: str) -> xr.Dataset:
    """Arrays side by side, fit for a file; a dimension whose labels differ from an earlier array's gets its own name.

    Examples
    --------
    >>> curve = xr.DataArray([1.0, 2.0], {"x": [0, 1]}, "x")
    >>> list(dataset({"data": curve, "theory": curve.isel(x=[0])}, "A curve.").sizes)
    ['x', 'x_theory']
    """
    whole, dims = xr.Dataset(attrs={"description": alt}), {d for array in arrays.values() for d in array.dims}
    for name, array in arrays.items():
        name = re.sub(r"\W+", "_", name).strip("_")
        array = array.reset_coords(drop=True)
        array = array.rename({d: f"{d}_{name}" for d in array.dims if d in whole.sizes and not _alike(whole, array, d)})
        # A variable of a dimension's name would be taken for its labels.
        whole[f"{name}_values" if name in dims | {*whole.dims} else name] = _plain(array).variable
        whole = whole.assign_coords({d: _plain(array[d]) for d in array.dims if d in array.coords})
    return whole


def _alike(whole: xr.Dataset, array: xr.DataArray, dim: Any) -> bool:
    if dim in whole.coords and dim in array.coords:
        return bool(np.array_equal(whole[dim].values, array[dim].values))
    return dim not in whole.coords and dim not in array.coords and whole.sizes[dim] == array.sizes[dim]


def _plain(array: xr.DataArray) -> xr.DataArray:
    """With names and units, and without what a file cannot hold."""
    kept = {k: v for k, v in array.attrs.items() if k in ("long_name", "units") and isinstance(v, str)}
    return (array.astype(str) if array.dtype == object else array).drop_attrs().assign_attrs(kept)


def table(data: xr.Dataset) -> pd.DataFrame:
    """One row a number: which array it is of, its labels, and its value."""
    parts = []
    for name, array in data.data_vars.items():
        rows = array.to_dataframe(name="value").reset_index() if array.ndim else pd.DataFrame({"value": [array.item()]})
        parts.append(rows[[*map(str, array.dims), "value"]].assign(array=str(name)))
    rows = pd.concat(parts)
    return rows[["array", *(c for c in rows if c not in ("array", "value")), "value"]]
