"""What tests of the explorers do on a page, and what it should show by the library."""

import base64
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from playwright.sync_api import TimeoutError

from deepmech.simulators import folding_ruler, spring_block
from deepmech_book.explorers.chain import chain_of
from deepmech_book.explorers.elastic import START_SPREAD, corners, model_of
from deepmech_book.explorers.ruler import specs_of
from deepmech_book.explorers.training import library_run
from elastic_euler import euler

# The screen has this width, nothing stands out of it, and no drawing says that it still waits for its new width.
FITS = """(width) => innerWidth === width && document.documentElement.scrollWidth <= width
  && [...document.querySelectorAll(".deepmech-explorer")].every(
    (one) => Number(one.dataset.width) === one.clientWidth)"""


def step(page: Any, times: int) -> None:
    page.get_by_role("button", name="Step").evaluate("(e, times) => { while (times--) e.click(); }", times)


def preset(page: Any, name: str) -> None:
    """Press a preset, and hold what it starts before the first frame."""
    page.evaluate(
        """(name) => { for (const word of [name, "Pause"])
          [...document.querySelectorAll("button")].find((b) => b.textContent === word).click(); }""",
        name,
    )


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


def sent(page: Any) -> dict[str, Any]:
    """What the component has told Python."""
    return page.evaluate("Object.assign({}, ...host.sent)")


def unpacked(packed: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    """The array that a page carries."""
    counts = np.frombuffer(base64.b64decode(packed["data"]), "<i2").astype(float)
    return np.where(counts == -32768, np.nan, counts * packed["step"]).reshape(shape)


def handle_at(page: Any) -> tuple[float, float]:
    box = page.locator(".handle").first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def simulated(kind: str, s: dict[str, Any], times: Sequence[float] = ()) -> np.ndarray:
    """What an explorer of this state shows, by the library: at these times; a ruler at start, middle and end."""
    if kind == "training":
        return np.column_stack(library_run(s))
    if kind == "chain":
        run = spring_block.simulate(chain_of(s), t_end=times[-1], record=np.array(times), seed=s["seed"])
        return run.position.isel(run=0).transpose("time", "block").values
    if kind == "ruler":
        run = folding_ruler.simulate(*specs_of(s), dt=0.02, n_frames=3, seed=s["seed"])
        return run.position.isel(run=0).transpose("frame", "node").values
    start, n = corners(s["n_classes"]), s["n_samples"]
    points = euler(model_of(s), [*times], start, 0.01, n, start_spread=START_SPREAD, seed=s["seed"])
    return points[0].reshape(len(times), -1)
