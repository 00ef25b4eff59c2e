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
from deepmech.experiments.spring_block.chains import DIAGRAMS, REGIMES
from deepmech.explorers.bundle import ROOM, bundle
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain, equilibrium, simulate

FIG_3 = DIAGRAMS["A.3"]

RANGES: dict[str, tuple[float, float, float]] = {
    "friction_right": (0.0, FIG_3.friction_range, 0.005),
    "friction_left": (0.0, 0.25, 0.005),
    "noise": (0.0, FIG_3.noise_range, 0.0005),
    "stiffness": (0.5, 4.0, 0.1),
    "n_blocks": (1, 12, 1),
    "speed": (1, 100, 1),
}
"""Smallest value, largest value and step of every slider."""

PRESETS = {
    name: {"explain": f"Paper A, Fig. 4{panel}", **settings}
    for name, (panel, settings) in zip(("Lazy", "Balanced", "Over-noisy"), REGIMES.items(), strict=True)
}
"""The three chains of paper A's Figure 4, under the words for their load curves."""

SEEDS = 100
"""Noise seeds 0 … SEEDS − 1 can be chosen: a page carries the keys of their streams."""

GRID = 21
N_RUNS = 2


def phase(friction_left: float, stiffness: float, n_blocks: int) -> dict[str, Any]:
    """The diagram behind the handle: curvature at Fig. 3's time over noise and friction to the right, mean of two runs.

    Plain JSON values, curvature rounded to 1e-4; rows of friction, columns of noise.
    """
    right, noise = (np.linspace(*RANGES[name][:2], GRID).round(6) for name in ("friction_right", "noise"))
    chain = Chain(
        n_blocks=n_blocks,
        stiffness=stiffness,
        friction_right=over("mu_right", right),
        friction_left=friction_left,
        noise=over("noise", noise),
    )
    bend = curvature(simulate(chain, t_end=FIG_3.t_end, n_runs=N_RUNS)["load_curve"], dim="block").mean("run")
    return {
        "friction_right": right.tolist(),
        "noise": noise.tolist(),
        "curvature": bend.transpose("mu_right", "noise").values.round(4).tolist(),
        "friction_left": friction_left,
        "stiffness": stiffness,
        "n_blocks": n_blocks,
        "t_end": FIG_3.t_end,
        "keys": [_key(0, run) for run in range(N_RUNS)],
    }


def chain_state(
    *,
    friction_right: float = 0.12,
    friction_left: float = FIG_3.friction_left,
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
            raise ValueError(
                f"chain explorer: {name} = {value!r}: must lie between {low} and {high}, its slider's range"
            )
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
        "noise_keys": [_key(s, 0) for s in range(SEEDS)],
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
        template = (ROOM / "document.html").read_text(encoding="utf-8")
        return template.format(title=html.escape(title), body=self.html)


def chain_page(**parameters: Any) -> Page:
    """The explorer for a page without kernel: last line of a notebook cell, or :meth:`Page.document` for a file.

    The reader's browser steps the chain as :func:`~deepmech.simulators.spring_block.simulate` does, with the same
    noise (first order, η = 0.01, y = 1; paper A, Eqs. 5 and 6). The phase diagram behind the handle is computed
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
        f'<div class="deepmech-page" data-deepmech-chain><script type="application/json">{data}</script>'
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
