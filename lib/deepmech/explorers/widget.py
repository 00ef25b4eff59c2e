"""The same explorer live in Jupyter: Python reads and sets what the sliders read and set."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from deepmech.explorers.bundle import ROOM, bundle
from deepmech.explorers.chain import RANGES, SEEDS, chain_state
from deepmech.simulators.spring_block import Chain


def _float(name: str) -> Any:
    low, high, _ = RANGES[name]
    return traitlets.Float(min=low, max=high).tag(sync=True)


class ChainExplorer(anywidget.AnyWidget):
    """A spring–block chain to play with in Jupyter (paper A, Eqs. 5 and 6, first order, η = 0.01, y = 1).

    The last line of a cell shows it. Its traits can be read and set while it runs, observed with
    ``explorer.observe(function, "noise")`` and linked to other widgets with :func:`ipywidgets.link`.

    Parameters
    ----------
    friction_right, friction_left, noise, stiffness, n_blocks, seed, speed, running
        As for :func:`~deepmech.explorers.chain_page`; all of them are traits.

    Attributes
    ----------
    time : float
        Where the shown chain is: updated when it pauses and every few seconds while it runs.
    position : list of float
        x_0 … x_{L+1} at that time.

    Raises
    ------
    ValueError
        If a value given to the constructor lies outside its range (TraitError when a trait is set later).

    Examples
    --------
    >>> explorer = ChainExplorer(noise=0.01)
    >>> explorer.friction_right = 0.05
    >>> explorer.chain().friction_right
    0.05
    """

    _esm = bundle("chain")
    _css = (ROOM / "chain.css").read_text(encoding="utf-8")

    friction_right = _float("friction_right")
    friction_left = _float("friction_left")
    noise = _float("noise")
    stiffness = _float("stiffness")
    n_blocks = traitlets.Int(min=int(RANGES["n_blocks"][0]), max=int(RANGES["n_blocks"][1])).tag(sync=True)
    seed = traitlets.Int(min=0, max=SEEDS - 1).tag(sync=True)
    speed = _float("speed")
    running = traitlets.Bool().tag(sync=True)
    time = traitlets.Float().tag(sync=True)
    position = traitlets.List(traitlets.Float()).tag(sync=True)
    ranges = traitlets.Dict().tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)
    purpose = traitlets.Int().tag(sync=True)
    noise_keys = traitlets.List(traitlets.Unicode()).tag(sync=True)
    diagram = traitlets.Dict().tag(sync=True)

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**chain_state(**parameters))

    def chain(self) -> Chain:
        """The parameters as they stand, as the spec that :func:`~deepmech.simulators.spring_block.simulate` takes."""
        return Chain(
            n_blocks=self.n_blocks,
            stiffness=self.stiffness,
            friction_right=self.friction_right,
            friction_left=self.friction_left,
            noise=self.noise,
        )
