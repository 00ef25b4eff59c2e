"""The elastic explorer live in Jupyter: Python reads and sets what the sliders read and set."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from deepmech.explorers.bundle import bundle
from deepmech.explorers.elastic import RANGES, SEEDS, elastic_state, model_of, style
from deepmech.simulators.elastic_sde import ElasticSDE


def _float(name: str) -> Any:
    low, high, _ = RANGES[name]
    return traitlets.Float(min=low, max=high).tag(sync=True)


def _int(name: str) -> Any:
    low, high, _ = RANGES[name]
    return traitlets.Int(min=int(low), max=int(high)).tag(sync=True)


class ElasticExplorer(anywidget.AnyWidget):
    """Locally elastic points to play with in Jupyter (paper B, Eq. 2: I-model in the plane, Euler steps of 0.01).

    The last line of a cell shows it. Its traits can be read and set while it runs, observed and linked to other
    widgets.

    Parameters
    ----------
    intra, inter, n_classes, n_samples, noise, seed, speed, running
        As for :func:`~deepmech.explorers.elastic_page`; all of them are traits.

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
    _css = style()

    intra = _float("intra")
    inter = _float("inter")
    n_classes = _int("n_classes")
    n_samples = _int("n_samples")
    noise = _float("noise")
    seed = traitlets.Int(min=0, max=SEEDS - 1).tag(sync=True)
    speed = _float("speed")
    running = traitlets.Bool().tag(sync=True)
    time = traitlets.Float().tag(sync=True)
    points = traitlets.List(traitlets.Float()).tag(sync=True)
    ranges = traitlets.Dict().tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)
    purposes = traitlets.List(traitlets.Int()).tag(sync=True)
    noise_keys = traitlets.List(traitlets.Unicode()).tag(sync=True)
    corners: Any = traitlets.List().tag(sync=True)
    start_spread = traitlets.Float().tag(sync=True)

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**elastic_state(**parameters))

    def model_spec(self) -> ElasticSDE:
        """The parameters as they stand, as the spec that :func:`~deepmech.simulators.elastic_sde.simulate` takes."""
        return model_of({name: getattr(self, name) for name in ("intra", "inter", "n_classes", "noise")})
