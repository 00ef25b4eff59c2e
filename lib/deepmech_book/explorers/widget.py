"""The same explorers live in Jupyter: Python reads and sets what the sliders read and set."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from deepmech.simulators.elastic_sde import ElasticSDE
from deepmech.simulators.folding_ruler import Pull, Ruler
from deepmech.simulators.spring_block import Chain
from deepmech_book.explorers.bundle import bundle
from deepmech_book.explorers.chain import RANGES as CHAIN
from deepmech_book.explorers.chain import chain_state
from deepmech_book.explorers.elastic import RANGES as ELASTIC
from deepmech_book.explorers.elastic import elastic_state, model_of
from deepmech_book.explorers.page import SEEDS, style
from deepmech_book.explorers.ruler import RANGES as RULER
from deepmech_book.explorers.ruler import ruler_state, specs_of


def _float(limits: tuple[float, float, float]) -> Any:
    return traitlets.Float(min=limits[0], max=limits[1]).tag(sync=True)


def _int(limits: tuple[float, float, float]) -> Any:
    return traitlets.Int(min=int(limits[0]), max=int(limits[1])).tag(sync=True)


class _Explorer(anywidget.AnyWidget):
    """What all have: the clock, the seed, and what travels with a page."""

    seed = traitlets.Int(min=0, max=SEEDS - 1).tag(sync=True)
    running = traitlets.Bool().tag(sync=True)
    time = traitlets.Float().tag(sync=True)
    ranges = traitlets.Dict().tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)
    noise_keys = traitlets.List(traitlets.Unicode()).tag(sync=True)


class ChainExplorer(_Explorer):
    """A spring–block chain to play with in Jupyter (paper A, Eqs. 5 and 6, first order, η = 0.01, y = 1).

    The last line of a cell shows it. Its traits can be read and set while it runs, observed with
    ``explorer.observe(function, "noise")`` and linked to other widgets with :func:`ipywidgets.link`.

    Parameters
    ----------
    friction_right, friction_left, noise, stiffness, n_blocks, seed, speed, running
        As for :func:`~deepmech_book.explorers.chain_page`; all of them are traits.

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
    _css = style("chain")

    friction_right = _float(CHAIN["friction_right"])
    friction_left = _float(CHAIN["friction_left"])
    noise = _float(CHAIN["noise"])
    stiffness = _float(CHAIN["stiffness"])
    n_blocks = _int(CHAIN["n_blocks"])
    speed = _float(CHAIN["speed"])
    position = traitlets.List(traitlets.Float()).tag(sync=True)
    purpose = traitlets.Int().tag(sync=True)
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


class ElasticExplorer(_Explorer):
    """Locally elastic points to play with in Jupyter (paper B, Eq. 2: I-model in the plane, Euler steps of 0.01).

    The last line of a cell shows it. Its traits can be read and set while it runs, observed and linked to other
    widgets.

    Parameters
    ----------
    intra, inter, n_classes, n_samples, noise, seed, speed, running
        As for :func:`~deepmech_book.explorers.elastic_page`; all of them are traits.

    Attributes
    ----------
    time : float
        Where the shown points are: updated when they pause and every few seconds while they run.
    points : list of float
        Features at that time: class by class, sample by sample, two numbers each.

    Raises
    ------
    ValueError
        If a value given to the constructor lies outside its range (TraitError when a trait is set later).

    Examples
    --------
    >>> explorer = ElasticExplorer(inter=0.5)
    >>> explorer.intra = 0.8
    >>> round(float(explorer.model_spec().gap(0.0)), 6)
    0.3
    """

    _esm = bundle("elastic")
    _css = style("elastic")

    intra = _float(ELASTIC["intra"])
    inter = _float(ELASTIC["inter"])
    n_classes = _int(ELASTIC["n_classes"])
    n_samples = _int(ELASTIC["n_samples"])
    noise = _float(ELASTIC["noise"])
    speed = _float(ELASTIC["speed"])
    points = traitlets.List(traitlets.Float()).tag(sync=True)
    purposes = traitlets.List(traitlets.Int()).tag(sync=True)
    corners: Any = traitlets.List().tag(sync=True)
    start_spread = traitlets.Float().tag(sync=True)

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**elastic_state(**parameters))

    def model_spec(self) -> ElasticSDE:
        """The parameters as they stand, as the spec that :func:`~deepmech.simulators.elastic_sde.simulate` takes."""
        return model_of({name: getattr(self, name) for name in ("intra", "inter", "n_classes", "noise")})


class RulerExplorer(_Explorer):
    """A folding ruler to pull and shake in Jupyter (paper A's supplement: eight pairs, steps of 0.02).

    The last line of a cell shows it. Its traits can be read and set while it runs, observed and linked to other
    widgets.

    Parameters
    ----------
    duration, jerk_speed, shake_speed, table_friction, seed, speed, running
        As for :func:`~deepmech_book.explorers.ruler_page`; all of them are traits.

    Attributes
    ----------
    time : float
        Where the shown ruler is: updated when it pauses and every few seconds while it runs.
    position : list of float
        Nodes at that time, from pin to hand.

    Raises
    ------
    ValueError
        If a value given to the constructor lies outside its range (TraitError when a trait is set later).

    Examples
    --------
    >>> RulerExplorer(shake_speed=0.5).specs()[1].shake_speed
    0.5
    """

    _esm = bundle("ruler")
    _css = style("ruler")

    duration = _int(RULER["duration"])
    jerk_speed = _float(RULER["jerk_speed"])
    shake_speed = _float(RULER["shake_speed"])
    table_friction = _float(RULER["table_friction"])
    speed = _float(RULER["speed"])
    position = traitlets.List(traitlets.Float()).tag(sync=True)
    purpose = traitlets.Int().tag(sync=True)
    setting = traitlets.Dict().tag(sync=True)

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**ruler_state(**parameters))

    def specs(self) -> tuple[Ruler, Pull]:
        """The parameters as they stand, as the specs that :func:`~deepmech.simulators.folding_ruler.simulate` takes."""
        names = ("duration", "jerk_speed", "shake_speed", "table_friction")
        return specs_of({name: getattr(self, name) for name in names})
