"""The explorer on a page without kernel and without network."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepmech import explorers
from deepmech.explorers.bundle import bundle

SLIDERS = ["friction_right", "friction_left", "noise", "stiffness", "n_blocks", "speed"]


@pytest.fixture(scope="module")
def still(tmp_path_factory: Any) -> Path:
    """A page whose chain waits for the reader."""
    return explorers.cli_explore(tmp_path_factory.mktemp("page") / "still.html", show=False, running=False)


def numbers(page: Any) -> dict[str, float]:
    text = page.inner_text(".numbers").replace("−", "-").replace("+", "")
    return {name: float(value) for name, value in re.findall(r"(t|curvature|energy)[ =]+(-?[\d.]+)", text)}


def step(page: Any, times: int) -> None:
    page.get_by_role("button", name="Step").evaluate("(e, times) => { while (times--) e.click(); }", times)


def handle_at(page: Any) -> tuple[float, float]:
    box = page.locator(".handle").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_bundle_joins_every_module_once() -> None:
    text = bundle("chain")
    assert not re.search(r"^\s*import\b|^export (?!default)(?!function startPages)", text, re.M)
    modules = {p.stem for p in Path(explorers.__file__).parent.glob("*.js") if not p.stem.startswith("elastic")} - {
        "chain"
    }
    assert sorted(re.findall(r"^const \$(\w+) = \(", text, re.M)) == sorted(modules)


def test_mime_bundle() -> None:
    page = explorers.chain_page(friction_right=0.02, running=False)
    mime = page._repr_mimebundle_()
    assert set(mime) == {"text/html", "text/plain"}
    assert mime["text/plain"].endswith("without noise 7 of 7 blocks move.")
    assert not re.search(r"""(?:src|href)\s*=|https?://(?!www\.w3\.org/2000/svg)""", mime["text/html"])
    assert page.document("a < b").count("a &lt; b") == 2


@pytest.mark.parametrize(
    "parameters, told",
    [
        ({"noise": 1.0}, "noise = 1.0: must lie between 0.0 and 0.02"),
        ({"n_blocks": 13}, "n_blocks = 13"),
        ({"n_blocks": 2.5}, "whole number"),
        ({"seed": 100}, "seed = 100"),
    ],
)
def test_bad_values_are_named(parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        explorers.chain_page(**parameters)


def test_opens_the_file_it_wrote(tmp_path: Path, monkeypatch: Any) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = explorers.cli_explore(tmp_path / "chain.html")
    assert opened == [path.as_uri()] and path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_moves_by_itself_and_pauses(visit: Any, tmp_path: Path) -> None:
    page = visit().open(explorers.cli_explore(tmp_path / "page.html", show=False, speed=100))
    page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.slice(4)) > 10")
    page.get_by_role("button", name="Pause").click()
    there = numbers(page)["t"]
    page.wait_for_timeout(200)
    assert numbers(page)["t"] == there
    assert "Lazy" in page.inner_text(".state")
    page.get_by_role("button", name="Reset").click()
    assert numbers(page)["t"] == 0


def test_waits_for_readers_who_want_less_motion(visit: Any, tmp_path: Path) -> None:
    page = visit(reduced_motion="reduce").open(explorers.cli_explore(tmp_path / "page.html", show=False))
    page.wait_for_timeout(300)
    assert numbers(page)["t"] == 0
    assert page.get_by_role("button", name="Start").is_visible()


def test_three_settings_give_three_regimes(visit: Any, still: Path) -> None:
    page = visit().open(still)
    for name, curve in {"Lazy": "concave", "Balanced": "linear", "Over-noisy": "convex"}.items():
        page.get_by_role("button", name=name).click()
        step(page, 60)
        assert page.inner_text(".state strong") == name
        assert curve in page.inner_text(".state span")
        assert name in page.inner_text("[role=status]") and "Time 60" in page.inner_text("[role=status]")


def test_keyboard_moves_every_slider(visit: Any, still: Path) -> None:
    page = visit().open(still)
    for name in SLIDERS:
        slider = page.locator(f"input[name={name}]")
        before, shown = float(slider.input_value()), slider.get_attribute("aria-valuetext")
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert float(slider.input_value()) > before
        assert slider.get_attribute("aria-valuetext") != shown
        assert slider.evaluate("e => e.labels.length") == 1
        output = slider.evaluate("e => e.closest('.slider').querySelector('output').textContent")
        assert float(output) == pytest.approx(float(slider.input_value()))
    assert page.locator(".blocks g").count() == 8
    page.locator("input[name=n_blocks]").focus()
    page.keyboard.press("Home")
    assert page.locator(".blocks g").count() == 1


def test_keyboard_reaches_everything_and_shows_where_it_is(visit: Any, still: Path) -> None:
    page = visit().open(still)
    reached = []
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("(e => e.name || e.textContent || e.className)(document.activeElement)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", reached[-1]
        if reached[-1].startswith("How"):
            break
    assert [*SLIDERS, "handle", "Start", "Step", "Reset", "New noise", "Lazy", "Balanced", "Over-noisy"] == [
        r for r in sorted(reached, key=lambda r: (r not in SLIDERS, r != "handle")) if not r.startswith("How")
    ]


def test_handle_follows_keyboard_sliders_and_mouse(visit: Any, still: Path) -> None:
    page = visit().open(still)
    handle, noise = page.locator(".handle"), page.locator("input[name=noise]")
    handle.focus()
    start, x0 = float(noise.input_value()), handle_at(page)[0]
    page.keyboard.press("Shift+ArrowLeft")  # noise is strongest on the left
    page.keyboard.press("ArrowRight")
    assert float(noise.input_value()) == pytest.approx(start + 4 * 0.0005)
    assert handle_at(page)[0] < x0
    noise.focus()
    page.keyboard.press("End")
    assert "noise 0.0200" in handle.get_attribute("aria-valuetext")

    area = page.locator(".phase svg").bounding_box()
    page.mouse.move(area["x"] + area["width"] - 30, area["y"] + area["height"] - 50)
    page.mouse.down()
    assert float(noise.input_value()) < 0.004
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + 40, steps=4)
    page.mouse.up()
    moved = float(noise.input_value())
    assert 0.006 < moved < 0.014
    assert float(page.locator("input[name=friction_right]").input_value()) > 0.2
    page.mouse.move(area["x"] + 70, area["y"] + 70)
    assert float(noise.input_value()) == moved  # released


def test_touch_drags_the_handle_and_taps_the_diagram(visit: Any, still: Path) -> None:
    page = visit(width=360, has_touch=True, is_mobile=True).open(still)
    page.locator(".phase").evaluate("e => e.scrollIntoView({ block: 'center' })")
    noise, friction = page.locator("input[name=noise]"), page.locator("input[name=friction_right]")
    x, y = handle_at(page)
    before = float(noise.input_value()), float(friction.input_value()), page.evaluate("scrollY")
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *points: tuple[float, float]) -> None:
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]})

    send("touchStart", (x, y))
    for i in range(1, 6):
        send("touchMove", (x - 12 * i, y - 8 * i))
    send("touchEnd")
    assert float(noise.input_value()) > before[0] and float(friction.input_value()) > before[1]
    assert page.evaluate("scrollY") == before[2]  # the finger moved the point, not the page

    page.wait_for_timeout(400)  # Chromium does not always take a touch so soon after a drag for a tap
    area = page.locator(".phase svg").bounding_box()
    page.touchscreen.tap(area["x"] + area["width"] - 40, area["y"] + area["height"] - 60)
    page.wait_for_function("document.querySelector('input[name=noise]').value < 0.004")  # a tap takes a moment
    assert float(friction.input_value()) < 0.05


def test_diagram_is_computed_anew_for_other_chains(visit: Any, still: Path) -> None:
    page = visit().open(still)
    came = page.locator(".contour").get_attribute("d")
    assert "at t = 100" in page.inner_text(".when")
    page.locator("input[name=friction_left]").focus()
    page.keyboard.press("Home")
    page.wait_for_selector(".phase.stale")
    page.wait_for_function("document.querySelector('.when').textContent.includes('at t')", timeout=60_000)
    assert page.locator(".contour").get_attribute("d") != came
    assert page.locator(".cells .convex").count() < 50  # without friction to the left nothing bends the other way


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 360, 660, 900])
def test_fits_the_page(visit: Any, still: Path, width: int, theme: str) -> None:
    page = visit(width=width, color_scheme=theme).open(still)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    clipped = """() => [...document.querySelectorAll(".deepmech-explorer svg text")].filter((text) => {
      const inside = text.getBoundingClientRect(), outside = text.closest("svg").getBoundingClientRect();
      return inside.left < outside.left - 1 || inside.right > outside.right + 1 || inside.bottom > outside.bottom + 1;
    }).map((text) => text.textContent)"""
    assert page.evaluate(clipped) == []
    for button in page.get_by_role("button").all():
        assert button.bounding_box()["height"] >= 40


def test_chain_stays_in_sight_on_a_phone(visit: Any, still: Path) -> None:
    page = visit(width=360, height=740).open(still)
    page.locator("input[name=speed]").scroll_into_view_if_needed()
    box = page.locator("svg.chain").bounding_box()
    assert page.evaluate("scrollY") > 400 and 0 <= box["y"] < 200


def test_follows_the_theme_switch_of_the_book(visit: Any, still: Path) -> None:
    page = visit(color_scheme="light").open(still)
    colour = "getComputedStyle(document.querySelector('.axes text')).fill"
    light = page.evaluate(colour)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert page.evaluate(colour) != light


def test_several_on_one_page(visit: Any, tmp_path: Path) -> None:
    one = explorers.chain_page(running=False, n_blocks=3)
    two = explorers.chain_page(running=False, noise=0.01)
    path = tmp_path / "two.html"
    path.write_text(explorers.Page(one.html + two.html + two.html, "").document("two"), encoding="utf-8")
    page = visit().open(path)
    assert page.locator(".deepmech-explorer").count() == 3
    assert [page.locator(".blocks").nth(i).locator("g").count() for i in range(3)] == [3, 7, 7]
    assert page.evaluate("[...document.querySelectorAll('.deepmech-explorer [id]')].length") == 0
    page.get_by_role("button", name="Step").nth(1).click()
    times = [page.locator(".numbers").nth(i).inner_text() for i in range(3)]
    assert [t.startswith("t = 1") for t in times] == [False, True, False]


def test_shown_curvature_is_that_of_the_shown_chain(visit: Any, tmp_path: Path) -> None:
    """Without noise the running mean has settled on the closed form: what the reader reads is what theory says."""
    from deepmech.metrics.curvature import curvature
    from deepmech.simulators.spring_block import Chain, equilibrium

    path = explorers.cli_explore(tmp_path / "quiet.html", show=False, noise=0.0, friction_right=0.05, running=False)
    page = visit().open(path)
    step(page, 100)
    rest = equilibrium(Chain(friction_right=0.05, noise=0.0))
    assert numbers(page)["curvature"] == pytest.approx(float(curvature(rest["load_curve"])), abs=2e-3)
    elongation = np.diff(rest.position)
    assert numbers(page)["energy"] == pytest.approx(0.5 * (elongation**2).sum(), abs=1e-3)
