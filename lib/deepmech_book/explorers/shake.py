"""What opens the book: a chain, and networks of Fig. 1(c) in training, shaken alike by one slider."""

from typing import Any

import xarray as xr

from deepmech.core.random import stream_id
from deepmech_book.explorers.page import ANIMATION_PARAMS, ExplorerSpec, Value, animation_state, quantise_int16
from deepmech_book.spring_block.chains import DIAGRAMS
from deepmech_book.spring_block.experiments import SHAKEN, experiment
from deepmech_book.sweeps.shipped import result

FIG_3 = DIAGRAMS["A.3"]
FRICTION = 0.12
"""Of the chain, to the right; to the left it is that of Fig. 3. Chosen, not fitted."""
SCALE = 12
"""Dropout over the chain's noise: the one scale, in whole numbers, at which both are straight at the same shake."""
STEP = 0.001
"""What load curves are rounded to."""
CHAIN = {"n_blocks": 7, "stiffness": 1.0, "friction_right": FRICTION, "friction_left": FIG_3.friction_left}
"""The chain that is shaken."""
VALUES = {
    "shake": Value(0.0, SHAKEN["dropout"], f"dropout of the networks; the chain's noise is a {SCALE}th of it"),
    "passed": Value(100, (0, 100, 1), "how much of the time has passed, in per cent"),
    "speed": Value(20, (1, 100, 1), "units of time shown per second"),
}


def in_training() -> xr.Dataset:
    """Five networks a dropout, as recorded."""
    return result(experiment("shaken-1c")).squeeze("slope")


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    run = in_training()
    return animation_state("spring_block", {}) | {
        "purpose": stream_id("noise"),
        "position": [],
        "chain": CHAIN,
        "scale": SCALE,
        "t_end": FIG_3.t_end,
        "epochs": run["at_epoch"].values.tolist(),
        "seeds": run.sizes["seed"],
        "load": quantise_int16(run["load_curve"].transpose("dropout", "seed", "at_epoch", "layer"), STEP),
        "accuracy": run["accuracy"].isel(at_epoch=-1).mean("seed").values.round(4).tolist(),
    }


shake_page = ExplorerSpec(
    "shake",
    "Shake a chain, and networks",
    "shake.html",
    """A chain and networks, shaken alike.

Above and on the left a chain, which the reader's browser moves; on the right the load curves of five networks of
Fig. 1(c)'s row of slope 0.2 in training, as recorded, at a dropout of twelve times the chain's noise. Each curve is
what is still to be done after a layer, as a share. It goes through all shakes by itself, both as they end, unless the
reader asked for less motion.""",
    VALUES | ANIMATION_PARAMS,
    derived_state,
    "A chain of blocks and networks, shaken alike; dropout {shake:g}.".format_map,
)
