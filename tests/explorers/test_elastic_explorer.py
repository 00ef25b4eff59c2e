"""The elastic explorer: the same points as the simulator, lines only where a linear program finds one, and a page
that works."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepmech import explorers
from deepmech.core.random import Stream
from deepmech.explorers.bundle import bundle
from deepmech.explorers.elastic import RANGES, START_SPREAD, corners, elastic_state, model_of
from deepmech.metrics.separability import linearly_separable
from deepmech.simulators.elastic_sde import simulate

SLIDERS = ["intra", "inter", "noise", "n_classes", "n_samples", "speed"]
PRESETS = ["Elastic", "Inelastic", "Repelling", "By chance"]


@pytest.fixture(scope="module")
def elastic(chromium: Any) -> Iterator[Any]:
    """``elastic(script, argument)`` evaluates a JavaScript function of the explorer's module and an argument."""
    source = bundle("elastic") + "\nexport { Cloud, separation };\n"
    page = chromium.new_page()
    page.set_content("<p>engine</p>")
    page.evaluate(
        "async (source) => { window.engine = await import(URL.createObjectURL(new Blob([source], "
        "{ type: 'text/javascript' }))); }",
        source,
    )
    yield lambda script, argument: page.evaluate(f"(argument) => ({script})(window.engine, argument)", argument)
    page.close()


@pytest.fixture(scope="module")
def still(tmp_path_factory: Any) -> Path:
    """A page whose points wait for the reader."""
    return explorers.write_elastic_page(tmp_path_factory.mktemp("elastic") / "still.html", running=False)


def simulated(state: dict[str, Any], times: list[float]) -> np.ndarray:
    k = state["n_classes"]
    run = simulate(
        model_of(state), times, corners(k), state["n_samples"], start_spread=START_SPREAD, method="euler", dt=0.01,
        seed=state["seed"],
    )  # fmt: skip
    return run.feature_value.isel(run=0).values.reshape(len(times), -1)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_classes": 2, "n_samples": 1, "seed": 7},
        {"n_classes": 4, "n_samples": 7, "inter": -0.5, "noise": 1.0},
        {"noise": 0.0},
    ],
)
def test_points_are_the_simulators(elastic: Any, parameters: dict[str, Any]) -> None:
    state = elastic_state(**parameters)
    script = """({ Cloud }, s) => {
      const stream = { key: s.noise_keys[s.seed], start: s.purposes[0], noise: s.purposes[1] };
      const cloud = new Cloud(s.n_samples, s.corners[s.n_classes - 2], s.start_spread, stream), out = [];
      for (const steps of [0, 1, 300]) { cloud.advance(s, steps - cloud.steps); out.push(Array.from(cloud.x)); }
      return out;
    }"""
    np.testing.assert_allclose(elastic(script, state), simulated(state, [0.0, 0.01, 3.0]), rtol=1e-9, atol=1e-9)


def test_lines_stand_where_a_linear_program_finds_one(elastic: Any) -> None:
    """Random clouds of 1 to 6 points, near each other, and points on one line: the same answer, and a line that
    separates."""
    s = Stream.of("test elastic explorer", 0)
    pairs = []
    for i in range(150):
        n, m = (1 + int(6 * u) for u in s.uniform("sizes", i, 2))
        x, y = s.normal("x", i, (n, 2)), s.normal("y", i, (m, 2)) + 1.5 * s.normal("shift", i, 2)
        if i % 5 == 0:
            x, y = x[:, :1] * [1.0, 2.0], y[:, :1] * [1.0, 2.0]  # all on one line
        pairs.append((x, y))
    found = elastic(
        "({ separation }, pairs) => pairs.map(([a, b]) => separation(a, b))",
        [[x.tolist(), y.tolist()] for x, y in pairs],
    )
    answers = [linearly_separable(x, y) for x, y in pairs]
    assert [f["gap"] > 0 for f in found] == answers and 20 < sum(answers) < 130
    for (x, y), f, apart in zip(pairs, found, answers, strict=True):
        if apart:
            sides = [np.sign(z @ f["normal"] - f["middle"]) for z in (x, y)]
            assert (
                len({*sides[0], *sides[1]}) == 2 and (sides[0] == sides[0][0]).all() and (sides[1] == sides[1][0]).all()
            )


def test_bundle_and_mime() -> None:
    text = bundle("elastic")
    assert not re.search(r"^\s*import\b", text, re.M)
    mime = explorers.elastic_page(intra=0.5, inter=1.0, running=False)._repr_mimebundle_()
    assert mime["text/plain"].endswith("differences fade.")
    assert not re.search(r"""(?:src|href)\s*=|https?://(?!www\.w3\.org/2000/svg)""", mime["text/html"])
    assert explorers.ElasticExplorer._esm in mime["text/html"] and explorers.ElasticExplorer._css in mime["text/html"]


@pytest.mark.parametrize(
    "parameters,told",
    [({"noise": 3.0}, "noise = 3.0: must lie between 0.0 and 2.0"), ({"n_classes": 5}, "n_classes = 5"),
     ({"n_samples": 2.5}, "whole number"), ({"seed": 100}, "seed = 100")],
)  # fmt: skip
def test_bad_values_are_named(parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        explorers.elastic_page(**parameters)


def step(page: Any, times: int) -> None:
    page.get_by_role("button", name="Step").evaluate("(e, times) => { while (times--) e.click(); }", times)


def test_elastic_points_part_and_inelastic_ones_do_not(visit: Any, still: Path) -> None:
    page = visit().open(still)
    for name, word, lines in (("Elastic", "Separable", 3), ("Repelling", "Separable", 3), ("Inelastic", "Mixed", 0)):
        page.get_by_role("button", name=name, exact=True).click()
        step(page, 30)
        assert page.inner_text(".state strong") == word
        assert page.locator(".between line").count() == lines
        assert f"{word}: lines separate {lines} of 3" in page.inner_text("[role=status]")


def test_shown_state_is_that_of_the_simulated_points(visit: Any, tmp_path: Path) -> None:
    path = explorers.write_elastic_page(tmp_path / "page.html", inter=0.9, n_samples=6, seed=3, running=False)
    page = visit().open(path)
    state = elastic_state(inter=0.9, n_samples=6, seed=3)
    for t in (0.5, 1.0, 1.5, 2.0):
        step(page, 1)
        x = simulated(state, [t]).reshape(3, 6, 2)
        apart = sum(linearly_separable(x[k], x[l]) for k, l in ((0, 1), (0, 2), (1, 2)))
        assert f"{apart} of 3" in page.inner_text(".state span")


def test_moves_pauses_resets_and_respects_reduced_motion(visit: Any, tmp_path: Path) -> None:
    path = explorers.write_elastic_page(tmp_path / "moving.html", speed=5.0)
    page = visit().open(path)
    page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.slice(4)) > 0.5")
    page.get_by_role("button", name="Pause").click()
    there = page.inner_text(".numbers span:first-child")
    page.wait_for_timeout(150)
    assert page.inner_text(".numbers span:first-child") == there
    page.get_by_role("button", name="Reset").click()
    assert page.inner_text(".numbers span:first-child") == "t = 0.0"
    calm = visit(reduced_motion="reduce").open(path)
    calm.wait_for_timeout(200)
    assert calm.inner_text(".numbers span:first-child") == "t = 0.0"
    assert calm.get_by_role("button", name="Start").is_visible()


def test_keyboard_moves_every_slider_and_the_handle(visit: Any, still: Path) -> None:
    page = visit().open(still)
    for name in SLIDERS:
        slider = page.locator(f"input[name={name}]")
        before, shown = float(slider.input_value()), slider.get_attribute("aria-valuetext")
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert float(slider.input_value()) > before and slider.get_attribute("aria-valuetext") != shown
        assert slider.evaluate("e => e.labels.length") == 1
    assert page.locator(".marks g").count() == 4 and page.locator(".marks g >> nth=0").locator("circle").count() == 21
    handle, inter = page.locator(".handle"), page.locator("input[name=inter]")
    start = float(inter.input_value())
    handle.focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert float(inter.input_value()) == pytest.approx(start + 4 * 0.05)
    assert f"between classes {start + 0.2:.2f}" in handle.get_attribute("aria-valuetext")


def test_keyboard_reaches_everything_and_shows_where_it_is(visit: Any, still: Path) -> None:
    page, reached = visit().open(still), [""]
    while not reached[-1].startswith("How") and len(reached) < 30:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("(e => e.name || e.textContent || e.className)(document.activeElement)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", reached[-1]
    assert {*SLIDERS, "handle", "Start", "Step", "Reset", "New noise", *PRESETS} == set(reached[1:-1])


def test_mouse_drags_the_handle(visit: Any, still: Path) -> None:
    page = visit().open(still)
    area = page.locator(".phase svg").bounding_box()
    page.mouse.move(area["x"] + area["width"] - 40, area["y"] + area["height"] - 70)
    page.mouse.down()
    page.mouse.move(area["x"] + 80, area["y"] + 60, steps=3)
    page.mouse.up()
    assert float(page.locator("input[name=intra]").input_value()) > 1.6
    assert float(page.locator("input[name=inter]").input_value()) < -0.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 660, 900])
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


def test_points_stay_in_sight_on_a_phone(visit: Any, still: Path) -> None:
    page = visit(width=360, height=740).open(still)
    page.locator("input[name=speed]").scroll_into_view_if_needed()
    box = page.locator("svg.cloud").bounding_box()
    assert page.evaluate("scrollY") > 300 and 0 <= box["y"] < 100 and box["height"] < 240


def test_two_kinds_of_explorers_share_a_page(visit: Any, tmp_path: Path) -> None:
    both = explorers.elastic_page(running=False).html + explorers.chain_page(running=False).html
    path = tmp_path / "both.html"
    path.write_text(explorers.Page(both, "").document("both"), encoding="utf-8")
    page = visit().open(path)
    assert page.locator(".deepmech-explorer").count() == 2


def test_python_and_sliders_see_each_other(jupyter: Any) -> None:
    explorer = explorers.ElasticExplorer(running=False, n_samples=5, seed=2)
    page = jupyter(explorer)
    page.evaluate("model.set('noise', 0.5)")
    assert page.locator("input[name=noise]").input_value() == "0.5"
    for _ in range(4):
        page.get_by_role("button", name="Step").click()
    sent = page.evaluate("Object.assign({}, ...host.sent)")
    assert sent["time"] == pytest.approx(2)
    wanted = simulated(elastic_state(noise=0.5, n_samples=5, seed=2), [2.0])[0]
    np.testing.assert_allclose(sent["points"], wanted, rtol=1e-9, atol=1e-9)
    used = set(page.evaluate("[...host.asked(), ...host.sent.flatMap(Object.keys)]"))
    page.get_by_role("button", name="New noise").click()
    own = {n for n in explorer.traits(sync=True) if not n.startswith("_")} - {"layout", "tabbable", "tooltip", "comm"}
    assert used | {"seed"} == own
    page.evaluate("leave()")
    assert page.evaluate("host.listening()") == 0 and page.locator(".deepmech-explorer").count() == 0


def test_presets_lie_within_the_sliders() -> None:
    for values in elastic_state()["presets"].values():
        for name in set(values) - {"explain"}:
            assert RANGES[name][0] <= values[name] <= RANGES[name][1]
