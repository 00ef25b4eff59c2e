"""The folding-ruler explorer: a ruler to pull, jerk and shake, on a page that needs neither kernel nor network."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core.random import purpose_word
from deepmech.simulators.folding_ruler import Pull, Ruler
from deepmech_book.explorers.page import Page, common_state, page_of

RANGES: dict[str, tuple[float, float, float]] = {
    "duration": (20, 400, 10),
    "jerk_speed": (0.0, 4.0, 0.1),
    "shake_speed": (0.0, 1.0, 0.05),
    "table_friction": (0.0, 0.5, 0.05),
    "speed": (1, 100, 1),
}
"""Smallest value, largest value and step of every slider."""
_QUICK: dict[str, Any] = {"duration": 40, "jerk_speed": 0.0, "shake_speed": 0.0, "speed": 10}
PRESETS: dict[str, dict[str, Any]] = {
    "Slow": {"explain": "A steady hand that takes its time", **_QUICK, "duration": 400, "speed": 60},
    "Quick": {"explain": "The same pull, ten times as fast", **_QUICK},
    "Jerked": {"explain": "A quick pull with jerks along the line", **_QUICK, "jerk_speed": 2.0},
    "Shaken": {"explain": "A quick pull of a ruler that slides to and fro sideways", **_QUICK, "shake_speed": 1.0},
}
"""Ways to pull; slow, jerked and shaken are those of the page."""
START = {"duration": 40, "jerk_speed": 0.0, "shake_speed": 0.0, "table_friction": 0.2, "speed": 10}
"""Where the sliders stand unless told otherwise."""
RULER = Ruler()
EXTENSION = 0.6
"""Mean extension at the end of a pull."""
DT = 0.02
"""Time step of the browser."""


def ruler_state(*, running: bool = True, **parameters: Any) -> dict[str, Any]:
    """Everything that the component reads from its model, as plain JSON values; see :func:`.page.common_state`."""
    common = common_state(
        "ruler", parameters, START, RANGES, presets=PRESETS, experiment="folding_ruler", running=running
    )
    setting = {
        "n_pairs": RULER.n_pairs,
        "fold": float(np.cos(np.radians(RULER.fold_angle))),
        "stop": float(RULER.stop),
        "extension": EXTENSION,
        "jerk_period": float(Pull().jerk_period),
    }
    return {**common, "purpose": purpose_word("jerk"), "setting": setting, "position": []}


def specs_of(state: Any) -> tuple[Ruler, Pull]:
    """What :func:`~deepmech.simulators.folding_ruler.simulate` takes for these parameters, with ``dt=0.02``."""
    how = {name: state[name] for name in ("duration", "jerk_speed", "shake_speed")}
    return Ruler(table_friction=state["table_friction"]), Pull(extension=EXTENSION, **how)


def ruler_page(**parameters: Any) -> Page:
    """The explorer for a page without kernel: last line of a notebook cell, or :meth:`Page.document` for a file.

    The reader's browser takes the steps of :func:`~deepmech.simulators.folding_ruler.simulate` with ``dt=0.02`` and the
    same jerks.

    Parameters
    ----------
    duration : int
        Time of the pull.
    jerk_speed, shake_speed, table_friction : float
        As in :class:`~deepmech.simulators.folding_ruler.Pull` and :class:`~deepmech.simulators.folding_ruler.Ruler`;
        ranges in :data:`RANGES`.
    seed : int
        Of the jerks, 0 … 99; the same numbers as ``simulate(..., seed=seed)``.
    speed : float
        Units of time shown per second.
    running : bool
        Whether the hand pulls from the start; it waits in any case for readers who asked for reduced motion.

    Raises
    ------
    ValueError
        If a value lies outside its range.

    Examples
    --------
    >>> ruler_page(duration=400)
    Interactive folding ruler: 8 pairs, pulled for 400, jerks 0, shaking 0, table friction 0.2.
    """
    state = ruler_state(**parameters)
    text = (
        f"Interactive folding ruler: {RULER.n_pairs} pairs, pulled for {state['duration']}, jerks "
        f"{state['jerk_speed']:g}, shaking {state['shake_speed']:g}, table friction {state['table_friction']:g}."
    )
    return page_of("ruler", state, text)
