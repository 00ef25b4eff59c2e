"""What an explorer is, as one table, and how it becomes a page that brings everything it needs."""

import base64
import html
import inspect
import json
import os
import re
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.sweeps.store import write_whole

FOLDER = Path(__file__).parent
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.M)
_ASIDE = re.compile(r"^ *(?://|/?\*).*\n|^ +", re.M)
_EXPORT = re.compile(r"^export (?=(?:class|const|function\*?) (\w+))", re.M)
EXPLORERS = ("chain", "elastic", "ruler", "relaxation", "training", "diagram", "shake", "toy")

SEEDS = 100
"""Seeds 0 … SEEDS − 1 can be chosen: a page carries the keys of their streams."""


@dataclass(frozen=True)
class Page:
    """A piece of HTML that brings everything it needs: script, style and data."""

    html: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def document(self, title: str) -> str:
        """A whole HTML document around it, light or dark as the reader's system is."""
        template = (FOLDER / "document.html").read_text(encoding="utf-8")
        return template.format(title=html.escape(title), body=self.html)


class Value(NamedTuple):
    """A value that a reader or Python sets: where it begins, what it may be, and what it is, in words."""

    start: Any
    allowed: Any = None
    """Smallest value, largest value and step, as a tuple; the choices, as a list; or None: anything of this type."""
    words: str = ""

    def check(self, said: str, value: Any) -> None:
        """Raise a ValueError that begins with ``said`` where this value is not allowed."""
        if isinstance(self.allowed, list):
            if value not in self.allowed:
                choices = (choice if isinstance(choice, str) else f"{choice:g}" for choice in self.allowed)
                raise ValueError(f"{said} be one of {', '.join(choices)}")
        elif self.allowed:
            low, high, step = self.allowed
            if not low <= value <= high:
                raise ValueError(f"{said} lie between {low} and {high}")
            if isinstance(low, int) and isinstance(step, int) and value != int(value):
                raise ValueError(f"{said} be a whole number")


SEED = Value(0, (0, SEEDS - 1, 1), "of all random numbers; those of the library's functions with ``seed=seed``")
ANIMATION_PARAMS = {
    "seed": SEED,
    "running": Value(True, words="from the start; it waits in any case for readers who asked for reduced motion"),
}
"""What every explorer of something that moves has besides its own values."""


@dataclass(frozen=True)
class ExplorerSpec:
    """An explorer as a table; called with values in place of those at the start, its page."""

    kind: str
    """Its name, that of its script and style sheet too."""
    title: str
    file: str
    """What it is written to unless told otherwise."""
    about: str
    values: dict[str, Value]
    derived_state: Callable[[dict[str, Any]], dict[str, Any]]
    """From the values, all checked, everything else that the component reads from its model."""
    words: Callable[[dict[str, Any]], str]
    """What is to be seen, from the whole state."""
    methods: dict[str, Callable[..., Any]] = field(default_factory=dict)
    """What its widget can be asked for besides: functions of the whole state."""

    def __post_init__(self) -> None:
        """What Jupyter shows of it is what stands in the table."""
        told, keywords = [], []
        for name, (start, allowed, words) in self.values.items():
            told.append(f"{name} : {type(start).__name__}, default {start!r}\n    {words or name}")
            if isinstance(allowed, tuple):
                told[-1] += "; from {:g} to {:g} in steps of {:g}".format(*allowed)
            elif allowed:
                told[-1] += f"; one of {', '.join(map(str, allowed))}"
            keywords.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=start))
        doc = "\n".join([self.about, "", "Parameters", "----------", *told])
        vars(self).update(__doc__=doc, __signature__=inspect.Signature(keywords))

    def state(self, **parameters: Any) -> dict[str, Any]:
        """Everything that the component reads from its model, as plain JSON values; or a ValueError."""
        values = {name: value.start for name, value in self.values.items()}
        for name in parameters.keys() - values.keys():
            known = ", ".join(values)
            raise ValueError(f"{self.kind} explorer: no parameter {name!r}; its parameters are {known}")
        values |= parameters
        for name, value in values.items():
            self.values[name].check(f"{self.kind} explorer: {name} = {value!r}: must", value)
        allowed = {name: value.allowed for name, value in self.values.items()}
        ranges = {name: list(limits) for name, limits in allowed.items() if isinstance(limits, tuple)}
        choices = {name: choices for name, choices in allowed.items() if isinstance(choices, list)}
        return values | {"ranges": ranges, "choices": choices} | self.derived_state(values)

    def __call__(self, **parameters: Any) -> Page:
        state = self.state(**parameters)
        text = self.words(state)
        data = json.dumps(state, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        return Page(
            f'<div class="deepmech-page{" full-width" * (self.kind != "toy")}" data-deepmech-{self.kind}>'
            f'<script type="application/json">{data}</script>'
            f"<noscript><p>{html.escape(text)} It needs JavaScript.</p></noscript></div>\n"
            f"<style>\n{style(self.kind)}</style>\n"
            f'<script type="module">\n{bundle(self.kind)}</script>',
            text,
        )


def page_of(kind: str) -> ExplorerSpec:
    """The table of an explorer."""
    if kind not in EXPLORERS:
        raise ValueError(f"explorer = {kind!r}: must be one of {', '.join(EXPLORERS)}")
    return getattr(import_module(f"{__package__}.{kind}"), f"{kind}_page")


def cli_explore(kind: str = "chain", path: str | Path | None = None, show: bool = True, **parameters: Any) -> Path:
    """Write an explorer as one HTML file, open it in a browser if ``show``, and return where it is."""
    page = page_of(kind)
    path, content = Path(path or page.file).resolve(), page(**parameters).document(page.title).encode()
    if os.path.lexists(path) and not (path.is_file() and not path.is_symlink() and path.read_bytes() == content):
        raise FileExistsError(f"{path} is there already, and something else: move it away, or name another file")
    write_whole(path, content)
    if show:
        webbrowser.open(path.as_uri())
    return path


def style(kind: str) -> str:
    """The style sheet of an explorer: what all have in common, and what it has of its own."""
    return "".join((FOLDER / f"{name}.css").read_text(encoding="utf-8") for name in ("explorer", kind))


def key(*words: str | int) -> str:
    """The key of the stream that these words name, in hexadecimal: JavaScript has no 64-bit numbers."""
    return f"{Stream.of(*words).key:016x}"


def animation_state(experiment: str, presets: dict[str, Any]) -> dict[str, Any]:
    """What the state of every explorer of something that moves holds: presets, noise and time."""
    return {"presets": presets, "noise_keys": [key(experiment, s, 0) for s in range(SEEDS)], "time": 0.0}


@cache
def bundle(entry: str) -> str:
    """The module ``<entry>.js`` of this folder with everything that it imports, as the text of one ES module.

    Each imported module becomes a function that is called once, so that names private to one module stay private; the
    entry itself stands at the end. Comments and indents, a quarter of a script, do not go with a page.
    """
    parts: dict[str, str] = {}

    def visit(name: str, wrap: bool) -> None:
        text = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
        for other in _IMPORT.findall(text):
            if other[1] not in parts:
                visit(other[1], True)
        text = _IMPORT.sub(r"const \1 = $\2;", text)
        if wrap:
            names = ", ".join(_EXPORT.findall(text))
            text = f"const ${name} = (() => {{\n{_EXPORT.sub('', text)}return {{ {names} }};\n}})();\n"
        parts[name] = text

    visit(entry, False)
    return _ASIDE.sub("", "\n".join(parts.values()))


def plain(values: Any) -> Any:
    """Four digits of each number; None for what JSON has none for."""
    values = np.asarray(values, float)
    if values.ndim:
        return [plain(value) for value in values]
    return float(f"{values:.4g}") if np.isfinite(values) else None


MISSING = -32768
"""Stands for what is not a number."""


def quantise_int16(values: Any, step: float, log: bool = False) -> dict[str, Any]:
    """Numbers as 16-bit multiples of ``step``, flat, row by row; ``unpacked`` of view.js reads them.

    With ``log`` their logarithms (base 10) are; what is too small for two bytes, zero too, becomes the smallest.
    """
    values, most = np.asarray(values, float).ravel(), 32767 * step
    if log:
        values = np.log10(np.maximum(values, 10.0**-most))
    counts = np.where(np.isfinite(values), np.round(values / step), MISSING)
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest > most:
        raise ValueError(f"quantise_int16: step = {step}: two bytes hold numbers up to {most:g}; one is {largest:g}")
    data = base64.b64encode(counts.astype("<i2").tobytes()).decode("ascii")
    return {"step": step, "data": data} | ({"log": True} if log else {})


def in_page(
    data: xr.Dataset, axes: dict[str, dict[str, Any]], steps: dict[str, float], log: Sequence[str] = (), **facts: Any
) -> dict[str, Any]:
    """A Dataset as a page carries it, which stored.js looks into.

    ``axes`` are the dimensions that a place is given on, with the ``values`` and whatever else a page says of each;
    ``steps`` what the variables that are taken, or where ``log`` names them their logarithms, are rounded to. Beside
    the axes these have runs (``seed``), and may have what their curves run along. ``facts`` are kept as they are.
    """
    data = data.transpose(*axes, "seed", ...)
    taken = {name: quantise_int16(data[name], step, name in log) for name, step in steps.items()}
    return {**facts, "axes": list(axes.values()), "seeds": data.sizes["seed"], "variables": taken}
