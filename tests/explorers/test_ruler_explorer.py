"""The JavaScript ruler is the Python ruler: same jerks, same steps, same closed form; and what the words say of it."""

from typing import Any

import numpy as np
import pytest
from explorer_pages import step

from deepmech.simulators.folding_ruler import Ruler, simulate, slow_profile
from deepmech_book import explorers
from deepmech_book.explorers.ruler import DT, EXTENSION, PRESETS, ruler_page, specs_of

PULLS: dict[str, dict[str, Any]] = {
    "quick": {},
    "slow": {"duration": 400},
    "jerked": {"jerk_speed": 2.0, "seed": 3},
    "shaken": {"shake_speed": 1.0},
    "both, on a rough table": {
        "jerk_speed": 4.0,
        "shake_speed": 0.05,
        "table_friction": 0.5,
        "duration": 20,
        "seed": 99,
    },
    "on ice": {"table_friction": 0.0, "jerk_speed": 1.0},
}


@pytest.mark.parametrize("name", PULLS)
def test_steps_equal_the_simulator(ruler_engine: Any, name: str) -> None:
    state = ruler_page.state(**PULLS[name])
    script = """({ Ruler, Normals }, s) => {
      const strengths = new Float64Array(s.duration + 8);
      new Normals(s.noise_keys[s.seed], s.purpose).draw(0, strengths.length - 4, strengths);
      const ruler = new Ruler(s, s.setting, (turn) => Math.abs(strengths[turn])), out = [Array.from(ruler.x)];
      const steps = Math.ceil(s.duration / 0.02 - 1e-9);
      for (const end of [Math.round(steps / 2), steps]) {
        ruler.advance(s, end - ruler.steps);
        out.push(Array.from(ruler.x));
      }
      return out;
    }"""
    found = ruler_engine(script, state)
    wanted = simulate(*specs_of(state), dt=DT, n_frames=3, seed=state["seed"]).position.isel(run=0)
    np.testing.assert_allclose(found, wanted.transpose("frame", "node"), rtol=0, atol=1e-8)
    assert np.ptp(np.diff(found[-1])) > 1e-3  # pairs opened, and not all alike


@pytest.mark.parametrize("friction", [0.0, 0.05, 0.2, 0.5])
def test_slow_profile(ruler_engine: Any, friction: float) -> None:
    setting = ruler_page.state()["setting"]
    script = "({ slowProfile }, [f, u, s]) => slowProfile(s.n_pairs, f, u, s.fold, s.stop)"
    found = ruler_engine(script, [friction, EXTENSION, setting])
    np.testing.assert_allclose(found, slow_profile(Ruler(table_friction=friction), EXTENSION), rtol=0, atol=1e-9)


def test_slow_jerked_and_shaken_end_as_the_page_says(visit: Any, still: Any) -> None:
    page = visit().open(still("ruler"))
    for name, word in {"Slow": "Uneven", "Shaken": "Even", "Jerked": "In lumps"}.items():
        page.get_by_role("button", name=name).click()
        step(page, PRESETS[name]["duration"] // 5)
        assert page.inner_text(".state strong") == word
        assert f"Time {PRESETS[name]['duration']}. {word}" in page.inner_text("[role=status]")
        step(page, 1)  # the pull has ended
        assert page.inner_text(".numbers").startswith(f"t = {PRESETS[name]['duration']}.0")


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


def test_nodes_that_reach_python_are_the_simulators(jupyter: Any) -> None:
    explorer = explorers.RulerExplorer(jerk_speed=1.0, seed=4)
    page = jupyter(explorer)
    step(page, 8)
    sent = page.evaluate("Object.assign({}, ...host.sent)")
    assert sent["time"] == pytest.approx(40)
    wanted = simulate(*explorer.specs(), dt=DT, n_frames=2, seed=4).position.isel(run=0, frame=-1)
    np.testing.assert_allclose(sent["position"], wanted, rtol=0, atol=1e-8)
