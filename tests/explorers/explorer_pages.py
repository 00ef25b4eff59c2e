"""What tests of the explorers do on a page, and the simulated points that it should show."""

import re
from typing import Any

import numpy as np
from playwright.sync_api import TimeoutError

from deepmech_book.explorers.elastic import START_SPREAD, corners, model_of
from elastic_euler import euler

# The screen has this width, nothing stands out of it, and no drawing says that it still waits for its new width.
FITS = """(width) => innerWidth === width && document.documentElement.scrollWidth <= width
  && [...document.querySelectorAll(".deepmech-explorer")].every(
    (one) => Number(one.dataset.width) === one.clientWidth)"""


def step(page: Any, times: int) -> None:
    page.get_by_role("button", name="Step").evaluate("(e, times) => { while (times--) e.click(); }", times)


def resize(page: Any, width: int) -> None:
    """Another width, and every drawing laid out for it, with nothing wider than the screen."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function(FITS, arg=width)


def frames(page: Any, n: int) -> None:
    """So many frames in which the page could have done something."""
    page.evaluate(
        "(n) => new Promise((done) => { (function next() { n-- ? requestAnimationFrame(next) : done(); })(); })", n
    )


def tap(page: Any, x: float, y: float, until: str) -> None:
    """Tap until it is taken: Chromium does not always take a touch so soon after another for a tap."""
    for _ in range(20):
        page.touchscreen.tap(x, y)
        try:
            page.wait_for_function(until, timeout=500)
            return
        except TimeoutError:
            continue
    page.wait_for_function(until)


def numbers(page: Any) -> dict[str, float]:
    """The numbers shown beside the state, by their names."""
    text = page.inner_text(".numbers").replace("−", "-").replace("+", "")
    return {name: float(value) for name, value in re.findall(r"([a-z]+)[ =]+(-?[\d.]+)", text)}


def handle_at(page: Any) -> tuple[float, float]:
    box = page.locator(".handle").first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def simulated_points(state: dict[str, Any], times: list[float]) -> np.ndarray:
    """Features after Euler steps for this state of the elastic explorer, in the order of its trait ``points``."""
    k = state["n_classes"]
    run = euler(
        model_of(state), times, corners(k), 0.01, state["n_samples"], start_spread=START_SPREAD, seed=state["seed"]
    )
    return run[0].reshape(len(times), -1)
