"""What chain, elastic points and folding ruler show on a page without kernel; what holds for every explorer is in
test_explorer_page.py."""

from typing import Any

import numpy as np
import pytest
from explorer_pages import handle_at, numbers, resize, simulated, step, tap

from deepmech.metrics.curvature import curvature
from deepmech.metrics.separability import linearly_separable
from deepmech.simulators.spring_block import Chain, equilibrium
from deepmech_book.explorers.elastic import elastic_page


def test_as_many_blocks_as_asked_for(visit: Any, still: Any) -> None:
    page = visit().open(still("chain"))
    page.get_by_text("More to set").click()
    page.locator("input[name=n_blocks]").focus()
    for key, blocks in {"ArrowRight": 8, "Home": 1}.items():
        page.keyboard.press(key)
        assert page.locator(".blocks g").count() == blocks
    page.get_by_role("button", name="Lazy").click()  # the whole of Fig. 4's chain, not only its friction
    assert page.locator(".blocks g").count() == 7


def test_handle_follows_sliders_and_mouse(visit: Any, still: Any) -> None:
    page = visit().open(still("chain"))
    handle, noise = page.locator(".handle"), page.locator("input[name=noise]")
    noise.focus()
    page.keyboard.press("End")
    assert "noise 0.0200" in handle.get_attribute("aria-valuetext")

    area = page.locator(".phase svg").bounding_box()
    page.mouse.move(area["x"] + 50, area["y"] + area["height"] - 50)
    page.mouse.down()
    assert float(noise.input_value()) < 0.004
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + 40, steps=4)
    page.mouse.up()
    moved = float(noise.input_value())
    assert 0.006 < moved < 0.014
    assert float(page.locator("input[name=friction_right]").input_value()) > 0.2
    page.mouse.move(area["x"] + area["width"] - 50, area["y"] + 70)
    assert float(noise.input_value()) == moved  # released


def test_touch_drags_the_handle_and_taps_the_diagram(visit: Any, still: Any) -> None:
    page = visit(width=360, has_touch=True, is_mobile=True).open(still("chain"))
    page.locator(".phase").evaluate("e => e.scrollIntoView({ block: 'center' })")
    noise, friction = page.locator("input[name=noise]"), page.locator("input[name=friction_right]")
    x, y = handle_at(page)
    before = float(noise.input_value()), float(friction.input_value()), page.evaluate("scrollY")
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *points: tuple[float, float]) -> None:
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]})

    send("touchStart", (x, y))
    for i in range(1, 6):
        send("touchMove", (x + 12 * i, y - 8 * i))
    send("touchEnd")
    assert float(noise.input_value()) > before[0] and float(friction.input_value()) > before[1]
    assert page.evaluate("scrollY") == before[2]  # the finger moved the point, not the page

    area = page.locator(".phase svg").bounding_box()
    quiet = "document.querySelector('input[name=noise]').value < 0.004"
    tap(page, area["x"] + 52, area["y"] + area["height"] - 60, quiet)
    assert float(friction.input_value()) < 0.05


def test_diagram_is_computed_anew_for_other_chains(visit: Any, still: Any) -> None:
    page = visit().open(still("chain"))
    came = page.locator(".contour").get_attribute("d")
    assert "at t = 100" in page.inner_text(".when")
    page.locator("input[name=friction_left]").focus()
    page.keyboard.press("Home")
    page.wait_for_selector(".phase.stale")
    page.wait_for_function("document.querySelector('.when').textContent.includes('at t')", timeout=60_000)
    assert page.locator(".contour").get_attribute("d") != came
    assert page.locator(".cells .convex").count() < 50  # without friction to the left nothing bends the other way


def test_shown_curvature_is_that_of_the_shown_chain(visit: Any, still: Any) -> None:
    """Without noise the running mean has settled on the closed form: what the reader reads is what theory says."""
    page = visit().open(still("chain", noise=0.0, friction_right=0.05))
    step(page, 100)
    rest = equilibrium(Chain(friction_right=0.05, noise=0.0))
    assert numbers(page)["curvature"] == pytest.approx(float(curvature(rest["load_curve"])), abs=2e-3)
    elongation = np.diff(rest.position)
    assert numbers(page)["energy"] == pytest.approx(0.5 * (elongation**2).sum(), abs=1e-3)


def test_guess_first_then_see(visit: Any, still: Any) -> None:
    page = visit().open(still("chain"))
    page.get_by_role("button", name="Guess one").click()
    assert page.inner_text(".numbers").startswith("t = 0.0") and page.inner_text(".state strong") == "At the wall"
    settings = {name: page.locator(f"input[name={name}]").input_value() for name in ("friction_right", "friction_left")}
    asked = page.inner_text(".guess span")
    assert asked in page.inner_text("[role=status]") and all(f"{float(v):.3f}" in asked for v in settings.values())
    telling = page.locator(".phase, .phase text, .line.quiet, .line.loud, .sliders output, .sliders input, .legend")
    assert telling.count() > 10 and not any(one.is_visible() for one in telling.all())
    resize(page, 390)
    assert page.locator(".guess span").is_visible(), "three buttons need their question on a phone, too"
    page.locator("input[name=speed]").evaluate("(e) => { e.value = 100; e.dispatchEvent(new Event('input')); }")
    page.get_by_role("button", name="Convex", exact=True).click()
    assert page.locator(".phase").is_visible()
    page.wait_for_function("/^(Right|No)\\b/.test(document.querySelector('.guess span').textContent)", timeout=60_000)
    word = {"Lazy": "concave", "Balanced": "straight", "Over-noisy": "convex"}[page.inner_text(".state strong")]
    told = page.inner_text(".guess span")
    assert told.startswith(f"{'Right' if word == 'convex' else f'No, {word}'} at t = 100, ")


def test_shown_state_is_that_of_the_simulated_points(visit: Any, still: Any) -> None:
    values = {"inter": 0.9, "n_samples": 6, "seed": 3}
    page, state = visit().open(still("elastic", **values)), elastic_page.state(**values)
    for t in (0.5, 1.0, 1.5, 2.0):
        step(page, 1)
        x = simulated("elastic", state, [t]).reshape(3, 6, 2)
        apart = sum(linearly_separable(x[k], x[l]) for k, l in ((0, 1), (0, 2), (1, 2)))
        assert f"{apart} of 3" in page.inner_text(".state span") and page.locator(".between line").count() == apart


def test_as_many_points_as_asked_for(visit: Any, still: Any) -> None:
    page = visit().open(still("elastic"))
    for name in ("n_classes", "n_samples"):
        page.locator(f"input[name={name}]").focus()
        page.keyboard.press("ArrowRight")
    assert [g.locator("> *").count() for g in page.locator(".marks g").all()] == [21] * 4


def test_stops_far_apart_and_starts_anew(visit: Any, still: Any) -> None:
    page = visit().open(still("elastic", intra=2.0, inter=-1.0, n_classes=2))
    step(page, 20)
    assert "stopped" not in page.inner_text(".state span")
    step(page, 20)
    assert page.inner_text(".state span").endswith("; stopped 10⁹ units apart")
    page.get_by_role("button", name="Start").click()
    assert numbers(page)["t"] < 10 and page.get_by_role("button", name="Pause").is_visible()


def test_shaking_may_change_on_the_way_and_the_pull_may_not(visit: Any, still: Any) -> None:
    page = visit().open(still("ruler"))
    step(page, 2)
    page.locator("input[name=shake_speed]").focus()
    page.keyboard.press("End")
    assert page.inner_text(".numbers").startswith("t = 10.0")
    page.locator("input[name=duration]").focus()
    page.keyboard.press("End")
    assert page.inner_text(".numbers").startswith("t = 0.0")
    assert page.inner_text(".state strong") == "Folded"


def test_a_preset_starts_also_after_a_pull_has_ended(visit: Any, still: Any) -> None:
    page = visit().open(still("ruler"))
    step(page, 10)
    assert page.inner_text(".numbers").startswith("t = 40.0")
    for name in ("Jerked", "Shaken"):
        page.get_by_role("button", name=name).click()
        page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.slice(4)) > 0.5")
        step(page, 10)
