"""The spring–block explorer: a chain to play with, on a page that needs neither kernel nor network.

>>> chain_page(friction_right=0.1, noise=0.0)
Interactive spring–block chain: 7 blocks, μ→ = 0.1, μ← = 0.2, ε = 0, k = 1; without noise 3 of 7 blocks move.
"""

from typing import Any

import numpy as np

from deepmech.core.labels import over
from deepmech.core.random import stream_id
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain, equilibrium, simulate
from deepmech_book.explorers.page import ANIMATION_PARAMS, ExplorerSpec, Value, animation_state, key
from deepmech_book.spring_block.chains import DIAGRAMS, REGIMES

FIG_3 = DIAGRAMS["A.3"]
VALUES = {
    "friction_right": Value(0.12, (0.0, FIG_3.friction_range, 0.005), "μ→"),
    "friction_left": Value(FIG_3.friction_left, (0.0, 0.25, 0.005), "μ←"),
    "noise": Value(0.006, (0.0, FIG_3.noise_range, 0.0005), "ε"),
    "stiffness": Value(1.0, (0.5, 4.0, 0.1), "k"),
    "n_blocks": Value(7, (1, 12, 1), "L"),
    "speed": Value(20, (1, 100, 1), "units of time shown per second"),
}
PRESETS = {
    name: {"explain": f"Paper A, Fig. 4{panel}", "stiffness": 1.0, "n_blocks": 7, **settings}
    for name, (panel, settings) in zip(("Lazy", "Balanced", "Over-noisy"), REGIMES.items(), strict=True)
}
"""The three chains of paper A's Figure 4, whole, under the words for their load curves."""
GRID = 21
N_RUNS = 2


def phase(friction_left: float, stiffness: float, n_blocks: int) -> dict[str, Any]:
    """The diagram behind the handle: curvature at Fig. 3's time over noise and friction to the right, mean of two runs.

    Plain JSON values, curvature rounded to 1e-4; rows of friction, columns of noise.
    """
    ranges = (VALUES[name].allowed for name in ("friction_right", "noise"))
    right, noise = (np.linspace(low, high, GRID).round(6) for low, high, _ in ranges)
    own: dict[str, Any] = {"friction_left": friction_left, "stiffness": stiffness, "n_blocks": n_blocks}
    chain = Chain(friction_right=over("mu_right", right), noise=over("noise", noise), **own)
    bend = curvature(simulate(chain, t_end=FIG_3.t_end, n_runs=N_RUNS)["load_curve"], dim="block").mean("run")
    return {
        "friction_right": right.tolist(),
        "noise": noise.tolist(),
        "curvature": bend.transpose("mu_right", "noise").values.round(4).tolist(),
        **own,
        "t_end": FIG_3.t_end,
        "keys": [key("spring_block", 0, run) for run in range(N_RUNS)],
    }


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    diagram = phase(*(values[name] for name in ("friction_left", "stiffness", "n_blocks")))
    more = {"purpose": stream_id("noise"), "diagram": diagram, "position": []}
    return animation_state("spring_block", PRESETS) | more


def chain_of(state: dict[str, Any]) -> Chain:
    """The spec that :func:`~deepmech.simulators.spring_block.simulate` takes for these values."""
    names = ("n_blocks", "stiffness", "friction_right", "friction_left", "noise")
    return Chain(**{name: state[name] for name in names})


def in_words(state: dict[str, Any]) -> str:
    chain = chain_of(state)
    return (
        f"Interactive spring–block chain: {chain.n_blocks} blocks, μ→ = {chain.friction_right:g}, "
        f"μ← = {chain.friction_left:g}, ε = {chain.noise:g}, k = {chain.stiffness:g}; "
        f"without noise {int(equilibrium(chain).n_moving)} of {chain.n_blocks} blocks move."
    )


chain_page = ExplorerSpec(
    "chain",
    "A spring–block chain to play with",
    "spring-block-chain.html",
    """A spring–block chain to drag, shake and hold.

The reader's browser steps the chain as :func:`~deepmech.simulators.spring_block.simulate` does, with the same noise
(first order, η = 0.01, y = 1; paper A, Eqs. 5 and 6). The phase diagram behind the handle is computed here and travels
with the page; for another μ←, k or L the browser computes it anew.""",
    VALUES | ANIMATION_PARAMS,
    derived_state,
    in_words,
    {"chain": chain_of},
)
