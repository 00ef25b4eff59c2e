"""The same explorer as a widget: one file for both hosts, and Python and the sliders share the parameters."""

from typing import Any

import numpy as np
import pytest
import traitlets

from deepmech import explorers
from deepmech.simulators.spring_block import Chain, simulate


def test_both_hosts_run_the_same_file() -> None:
    html = explorers.chain_page().html
    assert explorers.ChainExplorer._esm in html and explorers.ChainExplorer._css in html


def test_python_reads_and_sets() -> None:
    explorer = explorers.ChainExplorer(friction_right=0.1, noise=0.01, n_blocks=5)
    explorer.friction_left = 0.05
    wanted = Chain(n_blocks=5, stiffness=1.0, friction_right=0.1, friction_left=0.05, noise=0.01)
    assert explorer.chain() == wanted
    with pytest.raises(traitlets.TraitError):
        explorer.noise = 3.0
    with pytest.raises(ValueError, match="noise"):
        explorers.ChainExplorer(noise=3.0)


def test_unknown_name_of_the_room() -> None:
    with pytest.raises(AttributeError, match="GlassExplorer"):
        explorers.GlassExplorer  # noqa: B018


def test_position_that_reaches_python_is_the_simulators(jupyter: Any) -> None:
    explorer = explorers.ChainExplorer(friction_right=0.04, friction_left=0.12, noise=0.011, seed=5, running=False)
    page = jupyter(explorer)
    for _ in range(10):
        page.get_by_role("button", name="Step").click()
    sent = page.evaluate("Object.assign({}, ...host.sent)")
    assert sent["time"] == pytest.approx(10)
    wanted = simulate(explorer.chain(), t_end=10, seed=5).position.isel(run=0)
    np.testing.assert_allclose(sent["position"], wanted, rtol=0, atol=1e-9)


def test_sliders_and_python_see_each_other(jupyter: Any) -> None:
    explorer = explorers.ChainExplorer(running=False)
    page = jupyter(explorer)
    page.evaluate("model.set('noise', 0.015)")  # as Jupyter does when Python sets a trait
    assert page.locator("input[name=noise]").input_value() == "0.015"
    assert "noise 0.0150" in page.locator(".handle").get_attribute("aria-valuetext")
    page.evaluate("model.set('n_blocks', 4)")
    assert page.locator(".blocks g").count() == 4
    page.locator("input[name=friction_left]").focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("Object.assign({}, ...host.sent)")["friction_left"] == pytest.approx(0.195)
    page.evaluate("model.set('running', true)")
    page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.slice(4)) > 0")
    page.get_by_role("button", name="Pause").click()
    assert page.evaluate("Object.assign({}, ...host.sent)")["running"] is False


def test_traits_are_what_the_component_uses(jupyter: Any) -> None:
    explorer = explorers.ChainExplorer(running=False)
    page = jupyter(explorer)
    for name in ("New noise", "Step"):
        page.get_by_role("button", name=name).click()
    used = set(page.evaluate("[...host.asked(), ...host.sent.flatMap(Object.keys)]"))
    own = {n for n in explorer.traits(sync=True) if not n.startswith("_")} - {"layout", "tabbable", "tooltip", "comm"}
    assert used == own


def test_leaves_nothing_behind(jupyter: Any) -> None:
    page = jupyter(explorers.ChainExplorer())
    assert page.evaluate("host.listening()") > 0
    page.evaluate("leave()")
    assert page.evaluate("host.listening()") == 0
    assert page.locator(".deepmech-explorer").count() == 0
