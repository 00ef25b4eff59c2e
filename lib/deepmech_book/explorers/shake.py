"""What opens the book: a chain, and the networks of Fig. 1(c) in training, shaken alike by one slider."""

from typing import Any

import xarray as xr

from deepmech.core.random import stream_id
from deepmech_book.explorers.page import ANIMATION_PARAMS, ExplorerSpec, Value, animation_state, quantise_int16
from deepmech_book.spring_block.chains import DIAGRAMS
from deepmech_book.spring_block.experiments import RECORDED, experiment
from deepmech_book.sweeps.shipped import result

FIG_3 = DIAGRAMS["A.3"]
SLOPE = 0.4
"""Negative slope of the networks. The chain has as much less than the largest friction to the right."""
DROPOUTS = RECORDED["dropout"]
STEP = 0.001
"""What load curves are rounded to."""
VALUES = {
    "shake": Value(0.0, list(DROPOUTS), "dropout of the networks; the chain's noise is in proportion to it"),
    "passed": Value(100, (0, 100, 1), "how much of the time has passed, in per cent"),
    "speed": Value(20, (1, 100, 1), "units of time shown per second"),
}


def chain_settings() -> dict[str, Any]:
    """The chain at the place of the networks in its own diagram: places are compared, nothing is fitted."""
    friction = FIG_3.friction_range * (1 - SLOPE)
    return {"n_blocks": 7, "stiffness": 1.0, "friction_right": friction, "friction_left": FIG_3.friction_left}


def in_training() -> xr.Dataset:
    """Three networks a dropout, as recorded."""
    return result(experiment("recorded-1c", {"seed": range(3)})).sel(slope=SLOPE)


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    run = in_training()
    load = run["load_curve"].transpose("dropout", "seed", "at_epoch", "layer")
    largest = float(run["dropout"].max())
    return animation_state("spring_block", {}) | {
        "purpose": stream_id("noise"),
        "position": [],
        "chain": chain_settings(),
        "noises": [round(FIG_3.noise_range * dropout / largest, 6) for dropout in DROPOUTS],
        "t_end": FIG_3.t_end,
        "epochs": run["at_epoch"].values.tolist(),
        "seeds": run.sizes["seed"],
        "load": quantise_int16(load, STEP),
    }


shake_page = ExplorerSpec(
    "shake",
    "Shake a chain, and networks",
    "shake.html",
    """A chain and networks, shaken alike.

Above and on the left a chain, which the reader's browser moves; on the right the load curves of three networks of
Fig. 1(c) in training, as recorded, at a dropout in proportion to the chain's noise. Each curve is what is still to be
done after a layer, as a share. At first both are shown as they end.""",
    VALUES | ANIMATION_PARAMS | {"running": Value(False, words="from the start")},
    derived_state,
    "A chain of blocks and networks, shaken alike; dropout {shake:g}.".format_map,
)
