"""How an explorer becomes a page that brings everything it needs: its state checked, its script, style and data put
together."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deepmech.core.random import Stream
from deepmech_book.explorers.bundle import ROOM, bundle

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
