"""How an explorer becomes a page that brings everything it needs: its state checked, its script, style and data put
together."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
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


def key(experiment: str, seed: int, run: int = 0) -> str:
    """The key of a simulator's stream, in hexadecimal: JavaScript has no 64-bit numbers."""
    return f"{Stream.of(experiment, seed, run).key:016x}"


def common_state(
    kind: str,
    parameters: dict[str, Any],
    start: dict[str, Any],
    ranges: Ranges,
    whole: Sequence[str],
    *,
    presets: dict[str, Any],
    experiment: str,
    running: bool,
) -> dict[str, Any]:
    """What the models of all explorers hold: the sliders' values and ranges, presets, the clock, the noise.

    ``parameters`` are sliders' values in place of those at the ``start``, and ``seed``.

    Raises
    ------
    ValueError
        If there is no such parameter, a value lies outside its slider's range, one of ``whole`` is not a whole number,
        or ``seed`` is outside 0 … 99.
    """
    known = {"seed": 0, **start}
    if unknown := sorted(set(parameters) - set(known)):
        raise ValueError(
            f"{kind} explorer: no parameter {unknown[0]!r}; its parameters are {', '.join(known)}, running"
        )
    values = known | parameters
    seed = values.pop("seed")
    for name, value in values.items():
        low, high, _ = ranges[name]
        if not low <= value <= high:
            raise ValueError(
                f"{kind} explorer: {name} = {value!r}: must lie between {low} and {high}, its slider's range"
            )
    for name in whole:
        if values[name] != int(values[name]):
            raise ValueError(f"{kind} explorer: {name} = {values[name]!r}: must be a whole number")
    if seed not in range(SEEDS):
        raise ValueError(f"{kind} explorer: seed = {seed!r}: must be a whole number from 0 to {SEEDS - 1}")
    return {
        **values,
        "seed": seed,
        "running": running,
        "ranges": {name: list(limits) for name, limits in ranges.items()},
        "presets": presets,
        "noise_keys": [key(experiment, s) for s in range(SEEDS)],
        "time": 0.0,
    }
