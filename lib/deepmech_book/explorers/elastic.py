"""The elastic explorer: classes of points that pull on one another, on a page that needs neither kernel nor network."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core.random import purpose_word
from deepmech.simulators.elastic_sde import ElasticSDE
from deepmech_book.explorers.page import Page, common_state, page_of

RANGES: dict[str, tuple[float, float, float]] = {
    "intra": (0.0, 2.0, 0.05),
    "inter": (-1.0, 2.0, 0.05),
    "n_classes": (2, 4, 1),
    "n_samples": (1, 40, 1),
    "noise": (0.0, 2.0, 0.05),
    "speed": (0.1, 5.0, 0.1),
}
"""Smallest value, largest value and step of every slider."""

PRESETS: dict[str, dict[str, Any]] = {
    "Elastic": {"explain": "The larger effect is that within classes", "intra": 1.2, "inter": 0.2, "noise": 0.3,
                "n_classes": 3, "n_samples": 20},
    "Inelastic": {"explain": "The larger effect is that between classes", "intra": 0.4, "inter": 1.0, "noise": 0.3,
                  "n_classes": 3, "n_samples": 20},
    "Repelling": {"explain": "Classes push one another away", "intra": 0.8, "inter": -0.6, "noise": 0.3,
                  "n_classes": 3, "n_samples": 20},
    "By chance": {"explain": "Two samples per class: often separable though nothing parts them", "intra": 0.4,
                  "inter": 0.4, "noise": 1.0, "n_classes": 2, "n_samples": 2},
}  # fmt: skip
"""Settings to try."""

START = {"intra": 1.2, "inter": 0.2, "n_classes": 3, "n_samples": 20, "noise": 0.3, "speed": 1.0}
"""Where the sliders stand unless told otherwise."""

START_SPREAD = 0.35
RADIUS = 0.5
"""At the start, class means are corners of a regular polygon of this radius, and classes have this width."""


def corners(n_classes: int) -> np.ndarray:
    """Class means at the start, (K, 2), rounded to six digits so that page and simulator begin with the same
    numbers."""
    angles = np.pi / 2 + 2 * np.pi * np.arange(n_classes) / n_classes
    return (RADIUS * np.stack([np.cos(angles), np.sin(angles)], 1)).round(6)


def elastic_state(*, running: bool = True, **parameters: Any) -> dict[str, Any]:
    """Everything that the component reads from its model, as plain JSON values; see :func:`.page.common_state`."""
    common = common_state(
        "elastic", parameters, START, RANGES, presets=PRESETS, experiment="elastic_sde", running=running
    )
    return {
        **common,
        "purposes": [purpose_word("start"), purpose_word("noise")],
        "corners": [corners(k).tolist() for k in range(2, int(RANGES["n_classes"][1]) + 1)],
        "start_spread": START_SPREAD,
        "points": [],
    }


def model_of(state: Any) -> ElasticSDE:
    """The spec that :func:`~deepmech.simulators.elastic_sde.simulate` takes for these parameters."""
    return ElasticSDE(state["intra"], state["inter"], int(state["n_classes"]), 2, noise=state["noise"])


def elastic_page(**parameters: Any) -> Page:
    """The explorer for a page without kernel: last line of a notebook cell, or :meth:`Page.document` for a file.

    The reader's browser takes Euler steps of 0.01 (I-model in the plane; paper B, Eq. 2), and decides at every frame
    which pairs of classes a straight line separates.

    Parameters
    ----------
    intra, inter, noise : float
        α, β and σ at the start; ranges in :data:`RANGES`.
    n_classes, n_samples : int
        K, from 2 to 4, and samples per class, up to 40.
    seed : int
        Of start and noise, 0 … 99.
    speed : float
        Units of time shown per second.
    running : bool
        Whether points move from the start; they wait in any case for readers who asked for reduced motion.

    Raises
    ------
    ValueError
        If a value lies outside its range.

    Examples
    --------
    >>> elastic_page(intra=1.0, inter=0.5)
    Interactive locally elastic points: 3 classes of 20 samples, α = 1, β = 0.5, σ = 0.3; differences grow.
    """
    state = elastic_state(**parameters)
    gap = state["intra"] - state["inter"]
    text = (
        f"Interactive locally elastic points: {state['n_classes']} classes of {state['n_samples']} samples, "
        f"α = {state['intra']:g}, β = {state['inter']:g}, σ = {state['noise']:g}; "
        f"differences {'grow' if gap > 0 else 'fade' if gap < 0 else 'stay'}."
    )
    return page_of("elastic", state, text)
