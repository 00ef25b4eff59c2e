"""The elastic explorer: classes of points that pull on one another, on a page that needs neither kernel nor network.

>>> elastic_page(intra=1.0, inter=0.5)
Interactive locally elastic points: 3 classes of 20 samples, α = 1, β = 0.5, σ = 0.3; differences grow.
"""

from typing import Any

import numpy as np

from deepmech.core.random import stream_id
from deepmech.simulators.elastic_sde import ElasticSDE
from deepmech_book.explorers.page import ANIMATION_PARAMS, ExplorerSpec, Value, animation_state

VALUES = {
    "intra": Value(1.2, (0.0, 2.0, 0.05), "α, the effect within classes"),
    "inter": Value(0.2, (-1.0, 2.0, 0.05), "β, that between classes"),
    "n_classes": Value(3, (2, 4, 1), "K"),
    "n_samples": Value(20, (1, 40, 1), "samples per class"),
    "noise": Value(0.3, (0.0, 2.0, 0.05), "σ"),
    "speed": Value(1.0, (0.1, 5.0, 0.1), "units of time shown per second"),
}
_NAMES = ("explain", "intra", "inter", "noise", "n_classes", "n_samples")
PRESETS: dict[str, dict[str, Any]] = {
    name: dict(zip(_NAMES, values, strict=True))
    for name, values in {
        "Elastic": ("The larger effect is that within classes", 1.2, 0.2, 0.3, 3, 20),
        "Inelastic": ("The larger effect is that between classes", 0.4, 1.0, 0.3, 3, 20),
        "Repelling": ("Classes push one another away", 0.8, -0.6, 0.3, 3, 20),
        "By chance": ("Two samples per class: often separable though nothing parts them", 0.4, 0.4, 1.0, 2, 2),
    }.items()
}
START_SPREAD = 0.35
RADIUS = 0.5
"""At the start, class means are corners of a regular polygon of this radius, and classes have this width."""


def corners(n_classes: int) -> np.ndarray:
    """Class means at the start, (K, 2), rounded to six digits: page and simulator begin with the same numbers."""
    angles = np.pi / 2 + 2 * np.pi * np.arange(n_classes) / n_classes
    return (RADIUS * np.stack([np.cos(angles), np.sin(angles)], 1)).round(6)


def model_of(state: dict[str, Any]) -> ElasticSDE:
    """The spec that :func:`~deepmech.simulators.elastic_sde.simulate` takes for these values."""
    return ElasticSDE(state["intra"], state["inter"], int(state["n_classes"]), 2, noise=state["noise"])


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    return {
        **animation_state("elastic_sde", PRESETS),
        "purposes": [stream_id("start"), stream_id("noise")],
        "corners": [corners(k).tolist() for k in range(2, int(VALUES["n_classes"].allowed[1]) + 1)],
        "start_spread": START_SPREAD,
        "points": [],
    }


def in_words(state: dict[str, Any]) -> str:
    gap = state["intra"] - state["inter"]
    return (
        f"Interactive locally elastic points: {state['n_classes']} classes of {state['n_samples']} samples, "
        f"α = {state['intra']:g}, β = {state['inter']:g}, σ = {state['noise']:g}; "
        f"differences {'grow' if gap > 0 else 'fade' if gap < 0 else 'stay'}."
    )


elastic_page = ExplorerSpec(
    "elastic",
    "Locally elastic points to play with",
    "elastic-points.html",
    """Classes of points that attract or repel one another.

The reader's browser takes Euler steps of 0.01 (I-model in the plane; paper B, Eq. 2), and decides at every frame which
pairs of classes a straight line separates.""",
    VALUES | ANIMATION_PARAMS,
    derived_state,
    in_words,
    {"model_spec": model_of},
)
