"""What tests of the explorers do on a page, and the simulated points that it should show."""

import re
from typing import Any

import numpy as np

from deepmech.simulators.elastic_sde import simulate
from deepmech_book.explorers.elastic import START_SPREAD, corners, model_of


def step(page: Any, times: int) -> None:
    page.get_by_role("button", name="Step").evaluate("(e, times) => { while (times--) e.click(); }", times)


def resize(page: Any, width: int) -> None:
    """Another width, and two frames in which the explorer can answer to it."""
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def numbers(page: Any) -> dict[str, float]:
    """The numbers shown beside the state, by their names."""
    text = page.inner_text(".numbers").replace("−", "-").replace("+", "")
    return {name: float(value) for name, value in re.findall(r"([a-z]+)[ =]+(-?[\d.]+)", text)}


def handle_at(page: Any) -> tuple[float, float]:
    box = page.locator(".handle").first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def simulated_points(state: dict[str, Any], times: list[float]) -> np.ndarray:
    """The simulator's features for this state of the elastic explorer, in the order of its trait ``points``."""
    k = state["n_classes"]
    run = simulate(
        model_of(state), times, corners(k), state["n_samples"], start_spread=START_SPREAD, method="euler", dt=0.01,
        seed=state["seed"],
    )  # fmt: skip
    return run.feature_value.isel(run=0).values.reshape(len(times), -1)
