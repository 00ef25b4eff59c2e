"""The spring–block explorer: a chain to play with, on a page that needs neither kernel nor network."""

from __future__ import annotations

import html
import json
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepmech.core.labels import over
from deepmech.core.random import Stream, purpose_word
from deepmech.explorers.bundle import ROOM, bundle
from deepmech.simulators.spring_block import Chain, equilibrium, simulate

RANGES: dict[str, tuple[float, float, float]] = {
    "friction_right": (0.0, 0.25, 0.0025),
    "friction_left": (0.0, 0.25, 0.0025),
    "noise": (0.0, 0.02, 0.0005),
    "stiffness": (0.5, 4.0, 0.1),
    "n_blocks": (1, 12, 1),
    "speed": (1, 100, 1),
}
"""Smallest value, largest value and step of every slider."""

PRESETS: dict[str, dict[str, Any]] = {
    "Lazy": {"explain": "Large friction, little noise (paper A, Fig. 4b)", "friction_right": 0.11, "friction_left": 0.03, "noise": 0.006},
    "Balanced": {"explain": "Friction and noise in balance (paper A, Fig. 4c)", "friction_right": 0.04, "friction_left": 0.04, "noise": 0.01},
    "Over-noisy": {"explain": "Little friction, large noise (paper A, Fig. 4d)", "friction_right": 0.04, "friction_left": 0.12, "noise": 0.011},
}  # fmt: skip
"""The three chains of paper A's Figure 4, and a sentence on each."""

SEEDS = 100
"""Noise seeds 0 … SEEDS − 1 can be chosen: a page carries the keys of their streams."""

GRID = 21
T_END = 100.0
N_RUNS = 2


def phase(friction_left: float, stiffness: float, n_blocks: int) -> dict[str, Any]:
    """The diagram behind the handle: curvature at t = 100 over noise and friction to the right, mean of two runs.

    Curvature is the mean height of the load curve above its chord, as a fraction of the chord's drop: > 0 concave,
    < 0 convex. Plain JSON values, rounded to 1e-4; rows of friction, columns of noise.
    """
    right, noise = (np.linspace(*RANGES[name][:2], GRID).round(6) for name in ("friction_right", "noise"))
    chain = Chain(
        n_blocks=n_blocks,
        stiffness=stiffness,
        friction_right=over("mu_right", right),
        friction_left=friction_left,
        noise=over("noise", noise),
    )
    position = simulate(chain, t_end=T_END, n_runs=N_RUNS).position
    height = (position.block / (n_blocks + 1) - position).mean(["block", "run"])
    return {
        "friction_right": right.tolist(),
        "noise": noise.tolist(),
        "curvature": height.transpose("mu_right", "noise").values.round(4).tolist(),
        "friction_left": friction_left,
        "stiffness": stiffness,
        "n_blocks": n_blocks,
        "t_end": T_END,
        "keys": [_key(0, run) for run in range(N_RUNS)],
    }


def chain_state(
    *,
    friction_right: float = 0.12,
    friction_left: float = 0.2,
    noise: float = 0.006,
    stiffness: float = 1.0,
    n_blocks: int = 7,
    seed: int = 0,
    speed: float = 20,
    running: bool = True,
) -> dict[str, Any]:
    """Everything that the component reads from its model, as plain JSON values.

    Raises
    ------
    ValueError
        If a value lies outside its slider's range, or ``seed`` outside 0 … 99.
    """
    values = {
        "friction_right": friction_right,
        "friction_left": friction_left,
        "noise": noise,
        "stiffness": stiffness,
        "n_blocks": n_blocks,
        "speed": speed,
    }
    for name, value in values.items():
        low, high, _ = RANGES[name]
        if not low <= value <= high:
            raise ValueError(f"chain explorer: {name} = {value!r}: must lie between {low} and {high}, its slider's range")
    if n_blocks != int(n_blocks):
        raise ValueError(f"chain explorer: n_blocks = {n_blocks!r}: must be a whole number")
    if seed not in range(SEEDS):
        raise ValueError(f"chain explorer: seed = {seed!r}: must be a whole number from 0 to {SEEDS - 1}")
    return {
        **values,
        "seed": seed,
        "running": running,
        "ranges": {name: list(limits) for name, limits in RANGES.items()},
        "presets": PRESETS,
        "purpose": purpose_word("noise"),
        "keys": [_key(s, 0) for s in range(SEEDS)],
        "diagram": phase(friction_left, stiffness, n_blocks),
        "time": 0.0,
        "position": [],
    }


def _key(seed: int, run: int) -> str:
    """The simulator's stream, in hexadecimal: JavaScript has no 64-bit numbers."""
    return f"{Stream.of('spring_block', seed, run).key:016x}"


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
        return (
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
            "<style>body { max-width: 60rem; margin: 1rem auto; padding: 0 1rem; background: #fff; color: #222832; "
            "font-family: system-ui, sans-serif } html[data-theme=dark] body { background: #14181e; color: #ced6dd }</style>\n"
            '<script>document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches '
            '? "dark" : "light";</script>\n'
            f"</head>\n<body>\n<h1>{html.escape(title)}</h1>\n{self.html}\n</body>\n</html>\n"
        )


def chain_page(**parameters: Any) -> Page:
    """The explorer for a page without kernel: last line of a notebook cell, or :meth:`Page.document` for a file.

    The chain is stepped in the reader's browser as :func:`~deepmech.simulators.spring_block.simulate` steps it, with the
    same noise (first order, η = 0.01, y = 1; paper A, Eqs. 5 and 6). The phase diagram behind the handle is computed
    here and travels with the page; for another μ←, k or L the browser computes it anew.

    Parameters
    ----------
    friction_right, friction_left, noise, stiffness : float
        μ→, μ←, ε and k at the start, in units of y = 1; ranges in :data:`RANGES`.
    n_blocks : int
        L, from 1 to 12.
    seed : int
        Of the noise, 0 … 99; the same numbers as ``simulate(..., seed=seed)``.
    speed : float
        Units of time shown per second.
    running : bool
        Whether the chain moves from the start; it waits in any case for readers who asked for reduced motion.

    Raises
    ------
    ValueError
        If a value lies outside its range.

    Examples
    --------
    >>> chain_page(friction_right=0.1, noise=0.0)
    Interactive spring–block chain: 7 blocks, μ→ = 0.1, μ← = 0.2, ε = 0, k = 1; without noise 3 of 7 blocks move.
    """
    state = chain_state(**parameters)
    data = json.dumps(state, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    style = (ROOM / "chain.css").read_text(encoding="utf-8")
    text = _in_words(state)
    return Page(
        f'<div data-deepmech-chain><script type="application/json">{data}</script>'
        f"<noscript><p>{html.escape(text)} It needs JavaScript.</p></noscript></div>\n"
        f'<style>\n{style}</style>\n<script type="module">\n{bundle("chain")}\nstartPages();\n</script>',
        text,
    )


def _in_words(state: dict[str, Any]) -> str:
    names = ("n_blocks", "stiffness", "friction_right", "friction_left", "noise")
    chain = Chain(**{name: state[name] for name in names})
    moving = int(equilibrium(chain).n_moving)
    return (
        f"Interactive spring–block chain: {chain.n_blocks} blocks, μ→ = {chain.friction_right:g}, "
        f"μ← = {chain.friction_left:g}, ε = {chain.noise:g}, k = {chain.stiffness:g}; "
        f"without noise {moving} of {chain.n_blocks} blocks move."
    )


def cli_explore(path: str | Path = "spring-block-chain.html", show: bool = True, **parameters: Any) -> Path:
    """Write the explorer as one HTML file, open it in a browser if ``show``, and return where it is.

    Parameters
    ----------
    path : str or Path
        The file to write; its folder must exist.
    show : bool
        Open the file in the default browser.
    **parameters
        As for :func:`chain_page`.
    """
    path = Path(path).resolve()
    path.write_text(chain_page(**parameters).document("A spring–block chain to play with"), encoding="utf-8")
    if show:
        webbrowser.open(path.as_uri())
    return path
