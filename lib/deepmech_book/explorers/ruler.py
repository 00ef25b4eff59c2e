"""The folding-ruler explorer: a ruler to pull, jerk and shake, on a page that needs neither kernel nor network.

>>> ruler_page(duration=400)
Interactive folding ruler: 8 pairs, pulled for 400, jerks 0, shaking 0, table friction 0.2.
"""

from typing import Any

import numpy as np

from deepmech.core.random import stream_id
from deepmech.simulators.folding_ruler import Pull, Ruler
from deepmech_book.explorers.page import ANIMATION_PARAMS, ExplorerSpec, Value, animation_state

VALUES = {
    "duration": Value(40, (20, 400, 10), "of the pull"),
    "jerk_speed": Value(0.0, (0.0, 4.0, 0.1), "as in :class:`~deepmech.simulators.folding_ruler.Pull`"),
    "shake_speed": Value(0.0, (0.0, 1.0, 0.05), "likewise"),
    "table_friction": Value(0.2, (0.0, 0.5, 0.05), "as in :class:`~deepmech.simulators.folding_ruler.Ruler`"),
    "speed": Value(10, (1, 100, 1), "units of time shown per second"),
}
_QUICK: dict[str, Any] = {"duration": 40, "jerk_speed": 0.0, "shake_speed": 0.0, "speed": 10}
PRESETS: dict[str, dict[str, Any]] = {
    "Slow": {"explain": "A steady hand that takes its time", **_QUICK, "duration": 400, "speed": 60},
    "Quick": {"explain": "The same pull, ten times as fast", **_QUICK},
    "Jerked": {"explain": "A quick pull with jerks along the line", **_QUICK, "jerk_speed": 2.0},
    "Shaken": {"explain": "A quick pull of a ruler that slides to and fro sideways", **_QUICK, "shake_speed": 1.0},
}
"""Ways to pull; slow, jerked and shaken are those of the page."""
RULER = Ruler()
EXTENSION = 0.6
"""Mean extension at the end of a pull."""


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    setting = {
        "n_pairs": RULER.n_pairs,
        "fold": float(np.cos(np.radians(RULER.fold_angle))),
        "stop": float(RULER.stop),
        "extension": EXTENSION,
        "jerk_period": float(Pull().jerk_period),
    }
    more = {"purpose": stream_id("jerk"), "setting": setting, "position": []}
    return animation_state("folding_ruler", PRESETS) | more


def specs_of(state: dict[str, Any]) -> tuple[Ruler, Pull]:
    """What :func:`~deepmech.simulators.folding_ruler.simulate` takes for these values, with ``dt=0.02``."""
    how = {name: state[name] for name in ("duration", "jerk_speed", "shake_speed")}
    return Ruler(table_friction=state["table_friction"]), Pull(extension=EXTENSION, **how)


ruler_page = ExplorerSpec(
    "ruler",
    "A folding ruler to pull and shake",
    "folding-ruler.html",
    """A carpenter's ruler, pinned at one end and pulled at the other.

The reader's browser takes the steps of :func:`~deepmech.simulators.folding_ruler.simulate` with ``dt=0.02`` and the
same jerks.""",
    VALUES | ANIMATION_PARAMS,
    derived_state,
    (
        "Interactive folding ruler: {setting[n_pairs]} pairs, pulled for {duration}, jerks {jerk_speed:g}, "
        "shaking {shake_speed:g}, table friction {table_friction:g}."
    ).format_map,
    {"specs": specs_of},
)
