"""The spring–block explorer: a chain to play with, on a page that needs neither kernel nor network."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core.random import purpose_word
from deepmech.core.specs import over
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain, equilibrium, simulate
from deepmech_book.experiments.spring_block.chains import DIAGRAMS, REGIMES
from deepmech_book.explorers.page import Page, common_state, key, page_of

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
    name: {"explain": f"Paper A, Fig. 4{panel}", "stiffness": 1.0, "n_blocks": 7, **settings}
    for name, (panel, settings) in zip(("Lazy", "Balanced", "Over-noisy"), REGIMES.items(), strict=True)
}
"""The three chains of paper A's Figure 4, whole, under the words for their load curves."""

START = {"friction_right": 0.12, "friction_left": FIG_3.friction_left, "noise": 0.006, "stiffness": 1.0, "n_blocks": 7,
         "speed": 20}  # fmt: skip
"""Where the sliders stand unless told otherwise."""

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
        "keys": [key("spring_block", 0, run) for run in range(N_RUNS)],
    }


def chain_state(*, running: bool = True, **parameters: Any) -> dict[str, Any]:
    """Everything that the component reads from its model, as plain JSON values; see :func:`.page.common_state`."""
    common = common_state(
        "chain", parameters, START, RANGES, presets=PRESETS, experiment="spring_block", running=running
    )
    diagram = phase(*(common[name] for name in ("friction_left", "stiffness", "n_blocks")))
    return {**common, "purpose": purpose_word("noise"), "diagram": diagram, "position": []}


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
    chain = chain_of(state)
    text = (
        f"Interactive spring–block chain: {chain.n_blocks} blocks, μ→ = {chain.friction_right:g}, "
        f"μ← = {chain.friction_left:g}, ε = {chain.noise:g}, k = {chain.stiffness:g}; "
        f"without noise {int(equilibrium(chain).n_moving)} of {chain.n_blocks} blocks move."
    )
    return page_of("chain", state, text)


def chain_of(state: dict[str, Any]) -> Chain:
    """The spec that :func:`~deepmech.simulators.spring_block.simulate` takes for these parameters."""
    return Chain(
        **{name: state[name] for name in ("n_blocks", "stiffness", "friction_right", "friction_left", "noise")}
    )
