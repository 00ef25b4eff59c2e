"""How an explorer becomes a page that brings everything it needs: its state checked, its script, style and data put
together."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from deepmech.core.random import Stream

ROOM = Path(__file__).parent
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.M)
_EXPORT = re.compile(r"^export (?=(?:class|const|function) (\w+))", re.M)
Ranges = Mapping[str, tuple[float, float, float]]
"""Smallest value, largest value and step of every slider."""

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
        template = (ROOM / "document.html").read_text(encoding="utf-8")
        return template.format(title=html.escape(title), body=self.html)


def page_of(kind: str, state: dict[str, Any], text: str) -> Page:
    """The explorer ``kind`` ("chain", "elastic") in this state; ``text`` says in words what is to be seen."""
    data = json.dumps(state, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return Page(
        f'<div class="deepmech-page" data-deepmech-{kind}><script type="application/json">{data}</script>'
        f"<noscript><p>{html.escape(text)} It needs JavaScript.</p></noscript></div>\n"
        f'<style>\n{style(kind)}</style>\n<script type="module">\n{bundle(kind)}\nstartPages();\n</script>',
        text,
    )


def style(kind: str) -> str:
    """The style sheet of an explorer: what all have in common, and what it has of its own."""
    return "".join((ROOM / f"{name}.css").read_text(encoding="utf-8") for name in ("explorer", kind))


def key(*words: str | int) -> str:
    """The key of the stream that these words name, in hexadecimal: JavaScript has no 64-bit numbers."""
    return f"{Stream.of(*words).key:016x}"


def common_state(
    kind: str,
    parameters: dict[str, Any],
    start: dict[str, Any],
    ranges: Ranges,
    choices: Mapping[str, list[Any]] | None = None,
    *,
    running: bool,
    presets: dict[str, Any] | None = None,
    experiment: str | None = None,
) -> dict[str, Any]:
    """What the models of all explorers with sliders hold: values, ranges and choices, presets, the clock, the noise.

    ``parameters`` are sliders' values in place of those at the ``start``, and ``seed``.

    Raises
    ------
    ValueError
        If there is no such parameter, a value lies outside its slider's range or choices, is not whole where the range
        is, or ``seed`` is outside 0 … 99.
    """
    values = {"seed": 0, **start}
    for name, value in parameters.items():
        if name not in values:
            raise ValueError(f"{kind} explorer: no parameter {name!r}; its parameters are {', '.join(values)}, running")
        values[name] = value
    for name, value in values.items():
        said = f"{kind} explorer: {name} = {value!r}: must"
        low, high, step = ranges.get(name, (0, SEEDS - 1, 1))
        if choices and name in choices:
            if value not in choices[name]:
                raise ValueError(f"{said} be one of {', '.join(f'{v:g}' for v in choices[name])}")
        elif not low <= value <= high:
            raise ValueError(f"{said} lie between {low} and {high}, its slider's range")
        elif isinstance(step, int) and isinstance(low, int) and value != int(value):
            raise ValueError(f"{said} be a whole number")
    state = {**values, "running": running, "ranges": {name: list(limits) for name, limits in ranges.items()}}
    if choices:
        state["choices"] = dict(choices)
    if experiment:
        state |= {"presets": presets, "noise_keys": [key(experiment, s, 0) for s in range(SEEDS)], "time": 0.0}
    return state


@cache
def bundle(entry: str) -> str:
    """The module ``<entry>.js`` of this room with everything that it imports, as the text of one ES module.

    Each imported module becomes a function that is called once, so that names private to one module stay private; the
    entry itself stands at the end, unchanged but for its imports.

    Examples
    --------
    >>> text = bundle("chain")
    >>> "export default { render };" in text, "import " in text
    (True, False)
    """
    parts: dict[str, str] = {}

    def visit(name: str, wrap: bool) -> None:
        text = (ROOM / f"{name}.js").read_text(encoding="utf-8")
        for other in _IMPORT.findall(text):
            if other[1] not in parts:
                visit(other[1], True)
        text = _IMPORT.sub(r"const \1 = $\2;", text)
        if wrap:
            names = ", ".join(_EXPORT.findall(text))
            text = f"const ${name} = (() => {{\n{_EXPORT.sub('', text)}return {{ {names} }};\n}})();\n"
        parts[name] = text

    visit(entry, False)
    return "\n".join(parts.values())


MISSING = -32768
"""Stands for what is not a number."""


def packed(values: Any, step: float) -> dict[str, Any]:
    """Numbers as 16-bit multiples of ``step``, flat, row by row; ``packed.js`` reads them.

    Raises
    ------
    ValueError
        If a number is too large for this step.

    Examples
    --------
    >>> packed([0.1234, 1.0], 0.001)
    {'step': 0.001, 'data': 'ewDoAw=='}
    """
    values = np.asarray(values, float).ravel()
    counts = np.where(np.isfinite(values), np.round(values / step), MISSING)
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest > 32767 * step:
        raise ValueError(f"packed: step = {step}: two bytes hold numbers up to {32767 * step:g}; one is {largest:g}")
    return {"step": step, "data": base64.b64encode(counts.astype("<i2").tobytes()).decode("ascii")}
