"""The chain's explorer on a page without kernel and without network; what holds for every explorer is in
test_explorer_page.py."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_pages import handle_at, numbers, step, tap

from deepmech.core.random import Stream, purpose_word
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain, equilibrium, simulate
from deepmech_book import explorers
from deepmech_book.explorers.chain import chain_page, phase


def test_three_settings_give_three_regimes(visit: Any, still: Any) -> None:
    page = visit().open(still("chain"))
    for name, curve in {"Lazy": "concave", "Balanced": "linear", "Over-noisy": "convex"}.items():
        page.get_by_role("button", name=name).click()
        step(page, 60)
        assert page.inner_text(".state strong") == name
        assert curve in page.inner_text(".state span")
        assert name in page.inner_text("[role=status]") and "Time 60" in page.inner_text("[role=status]")


def test_as_many_blocks_as_asked_for(visit: Any, still: Any) -> None:
    page = visit().open(still("chain"))
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
        send("touchMove", (x - 12 * i, y - 8 * i))
    send("touchEnd")
    assert float(noise.input_value()) > before[0] and float(friction.input_value()) > before[1]
    assert page.evaluate("scrollY") == before[2]  # the finger moved the point, not the page

    area = page.locator(".phase svg").bounding_box()
    quiet = "document.querySelector('input[name=noise]').value < 0.004"
    tap(page, area["x"] + area["width"] - 40, area["y"] + area["height"] - 60, quiet)
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


def test_shown_curvature_is_that_of_the_shown_chain(visit: Any, tmp_path: Path) -> None:
    """Without noise the running mean has settled on the closed form: what the reader reads is what theory says."""
    path = explorers.cli_explore(
        "chain", tmp_path / "quiet.html", show=False, noise=0.0, friction_right=0.05, running=False
    )
    page = visit().open(path)
    step(page, 100)
    rest = equilibrium(Chain(friction_right=0.05, noise=0.0))
    assert numbers(page)["curvature"] == pytest.approx(float(curvature(rest["load_curve"])), abs=2e-3)
    elongation = np.diff(rest.position)
    assert numbers(page)["energy"] == pytest.approx(0.5 * (elongation**2).sum(), abs=1e-3)


def test_guess_first_then_see(visit: Any, still: Any) -> None:
    page = visit().open(still("chain"))
    page.get_by_role("button", name="Guess one").click()
    assert not page.locator(".phase").is_visible() and page.inner_text(".numbers").startswith("t = 0.0")
    page.locator("input[name=speed]").evaluate("(e) => { e.value = 100; e.dispatchEvent(new Event('input')); }")
    page.get_by_role("button", name="Convex", exact=True).click()
    assert page.locator(".phase").is_visible()
    page.wait_for_function(
        "document.querySelector('.guess span').textContent.startsWith('You guessed')", timeout=60_000
    )
    word = {"Lazy": "concave", "Balanced": "linear", "Over-noisy": "convex"}[page.inner_text(".state strong")]
    told = page.inner_text(".guess span")
    assert told == ("You guessed right." if word == "convex" else "You guessed convex.")


PARAMETERS = {
    "lazy": {"friction_right": 0.11, "friction_left": 0.03, "noise": 0.006},
    "balanced": {"friction_right": 0.04, "friction_left": 0.04, "noise": 0.01},
    "over-noisy": {"friction_right": 0.04, "friction_left": 0.12, "noise": 0.011, "seed": 7},
    "quiet": {"friction_right": 0.12, "friction_left": 0.2, "noise": 0.0},
    "long and stiff": {"friction_right": 0.05, "friction_left": 0.25, "noise": 0.02, "n_blocks": 12, "stiffness": 4.0},
    "one block": {
        "friction_right": 0.0,
        "friction_left": 0.1,
        "noise": 0.02,
        "n_blocks": 1,
        "stiffness": 0.5,
        "seed": 99,
    },
}
STEP = "({ Chain, Normals }, [p, key, purpose, steps]) => {"
STEP += "  const chain = new Chain(p.n_blocks, new Normals(key, purpose)), out = [];"
STEP += "  for (const s of steps) { chain.advance(p, s - chain.steps); out.push(Array.from(chain.x)); }"
STEP += "  return out; }"


def physics(state: dict[str, Any]) -> dict[str, Any]:
    return {k: state[k] for k in ("friction_right", "friction_left", "noise", "stiffness", "n_blocks")}


@pytest.mark.parametrize("step", [0, 1, 12345, 2**31 + 3, 2**32 + 5])
def test_random_words_and_normals(chain_engine: Any, step: int) -> None:
    stream, n = Stream.of("explorer", 3), 11
    script = """({ Normals, philox }, [key, purpose, step, n]) => {
      const normals = new Normals(key, purpose), out = new Float64Array(n + 4), words = [], four = new Uint32Array(4);
      normals.draw(step, n, out);
      for (let i = 0; i < 3; i++) {
        philox(i, step >>> 0, Math.floor(step / 4294967296), purpose, normals.k0, normals.k1, four);
        words.push(...four);
      }
      return [words, Array.from(out.subarray(0, n))];
    }"""
    words, normals = chain_engine(script, [f"{stream.key:016x}", purpose_word("noise"), step, n])
    assert words == stream.bits("noise", step, 12).tolist()
    np.testing.assert_allclose(normals, stream.normal("noise", step, n), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", PARAMETERS)
def test_steps_equal_the_simulator(chain_engine: Any, name: str) -> None:
    state = chain_page.state(**PARAMETERS[name])
    p, steps = physics(state), [1, 1000, 5000]
    found = chain_engine(STEP, [p, state["noise_keys"][state["seed"]], state["purpose"], steps])
    wanted = simulate(Chain(**p), t_end=50, record=np.array(steps) * 0.01, seed=state["seed"]).position
    np.testing.assert_allclose(found, wanted.isel(run=0).transpose("time", "block"), rtol=0, atol=1e-9)
    assert np.ptp(found[2]) > 0.5  # the chain has moved: zeros would agree with anything


def test_simulator_draws_the_noise_that_the_page_carries(chain_engine: Any) -> None:
    """Ten lines of NumPy between the two: neither side can drift away with the other."""
    p, stream = physics(chain_page.state(**PARAMETERS["over-noisy"])), Stream.of("spring_block", 7, 0)
    x = np.zeros(9)
    x[-1] = 1.0
    for at in range(1000):
        force = x[2:] - 2 * x[1:-1] + x[:-2] + p["noise"] / 0.1 * stream.normal("noise", at, 7)
        x[1:-1] += 0.01 * (np.maximum(force - 0.04, 0) + np.minimum(force + 0.12, 0))
    found = chain_engine(STEP, [p, f"{stream.key:016x}", purpose_word("noise"), [1000]])
    np.testing.assert_allclose(found[0], x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.01, 0.03, 0.04, 0.11, 0.25])
@pytest.mark.parametrize("n_blocks", [1, 7, 12])
def test_closed_forms(chain_engine: Any, friction: float, n_blocks: int) -> None:
    chain = Chain(n_blocks=n_blocks, stiffness=0.7, friction_right=friction, friction_left=0.2, noise=0.0)
    p = {"n_blocks": n_blocks, "stiffness": 0.7, "friction_right": friction, "friction_left": 0.2, "noise": 0.0}
    script = "(m, p) => { const rest = m.equilibrium(p), loud = m.largeNoiseLimit(p);"
    script += " return [Array.from(rest.x), rest.moving, Array.from(loud), m.curvature(loud)]; }"
    rest, moving, loud, bend = chain_engine(script, p)
    wanted = equilibrium(chain)
    np.testing.assert_allclose(rest, wanted.position, rtol=0, atol=1e-12)
    assert moving == int(wanted.n_moving)
    np.testing.assert_allclose(np.diff(loud, 2), (friction - 0.2) / (2 * 0.7), rtol=0, atol=1e-12)
    assert (loud[0], loud[-1]) == (0, 1)
    assert bend == pytest.approx(curvature(1 - np.array(loud)), abs=1e-12)


@pytest.mark.parametrize("setting", [(0.1, 1.0, 7), (0.2, 2.0, 3)])
def test_diagram_computed_in_the_browser(chain_engine: Any, setting: tuple[float, float, int]) -> None:
    wanted = phase(*setting)
    p = {"friction_left": setting[0], "stiffness": setting[1], "n_blocks": setting[2]}
    script = "({ diagramOf }, [p, diagram, purpose]) => {"
    script += " const run = diagramOf(p, diagram, purpose); let told = run.next(), calls = 0;"
    script += " while (!told.done) { told = run.next(); calls++; } return [told.value, calls]; }"
    found, calls = chain_engine(script, [p, {**wanted, "curvature": None}, purpose_word("noise")])
    np.testing.assert_allclose(found, wanted["curvature"], rtol=0, atol=0.5001e-4)
    assert calls > 1  # the work was cut into slices, and the cuts left no trace
    signs = np.sign(wanted["curvature"])
    assert signs.min() == -1 and signs.max() == 1
