"""The same explorers as widgets: one file for both hosts, and Python and the sliders share the parameters."""

from typing import Any

import numpy as np
import pytest
import traitlets
from explorer_pages import simulated_points, step

from deepmech.simulators.spring_block import Chain, simulate
from deepmech_book import explorers
from deepmech_book.explorers.elastic import elastic_page

PAGES = {
    "ChainExplorer": explorers.chain_page,
    "ElasticExplorer": explorers.elastic_page,
    "RulerExplorer": explorers.ruler_page,
}


@pytest.fixture(params=PAGES)
def name(request: Any) -> str:
    return request.param


def test_both_hosts_run_the_same_file(name: str) -> None:
    html, widget = PAGES[name]().html, getattr(explorers, name)
    assert widget._esm in html and widget._css in html


def test_python_reads_and_sets() -> None:
    explorer = explorers.ChainExplorer(friction_right=0.1, noise=0.01, n_blocks=5)
    explorer.friction_left = 0.05
    wanted = Chain(n_blocks=5, stiffness=1.0, friction_right=0.1, friction_left=0.05, noise=0.01)
    assert explorer.chain() == wanted


def test_bad_values_are_refused(name: str) -> None:
    explorer, trait = getattr(explorers, name)(), "jerk_speed" if name == "RulerExplorer" else "noise"
    with pytest.raises(traitlets.TraitError):
        setattr(explorer, trait, 5.0)
    with pytest.raises(ValueError, match=trait):
        getattr(explorers, name)(**{trait: 5.0})


def test_unknown_name_of_the_room() -> None:
    with pytest.raises(AttributeError, match="GlassExplorer"):
        explorers.GlassExplorer  # noqa: B018


def test_position_that_reaches_python_is_the_simulators(jupyter: Any) -> None:
    explorer = explorers.ChainExplorer(friction_right=0.04, friction_left=0.12, noise=0.011, seed=5, running=False)
    page = jupyter(explorer)
    step(page, 10)
    sent = page.evaluate("Object.assign({}, ...host.sent)")
    assert sent["time"] == pytest.approx(10)
    wanted = simulate(explorer.chain(), t_end=10, seed=5).position.isel(run=0)
    np.testing.assert_allclose(sent["position"], wanted, rtol=0, atol=1e-9)


def test_points_that_reach_python_are_the_simulators(jupyter: Any) -> None:
    page = jupyter(explorers.ElasticExplorer(running=False, n_samples=5, seed=2))
    page.evaluate("model.set('noise', 0.5)")
    step(page, 4)
    sent = page.evaluate("Object.assign({}, ...host.sent)")
    assert sent["time"] == pytest.approx(2)
    wanted = simulated_points(elastic_page.state(noise=0.5, n_samples=5, seed=2), [2.0])[0]
    np.testing.assert_allclose(sent["points"], wanted, rtol=1e-9, atol=1e-9)


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


def test_traits_are_what_the_component_uses(jupyter: Any, name: str) -> None:
    explorer = getattr(explorers, name)(running=False)
    page = jupyter(explorer)
    for button in ("New noise", "Step"):
        page.get_by_role("button", name=button).click()
    used = set(page.evaluate("[...host.asked(), ...host.sent.flatMap(Object.keys)]"))
    own = {n for n in explorer.traits(sync=True) if not n.startswith("_")} - {"layout", "tabbable", "tooltip", "comm"}
    assert used == own


def test_leaves_nothing_behind(jupyter: Any, name: str) -> None:
    page = jupyter(getattr(explorers, name)())
    assert page.evaluate("host.listening()") > 0
    page.evaluate("leave()")
    assert page.evaluate("host.listening()") == 0
    assert page.locator(".deepmech-explorer").count() == 0


def test_built_out_of_sight_it_is_drawn_when_it_gets_room(jupyter: Any, name: str) -> None:
    """As in JupyterLab, which builds a widget before it shows it: no drawing of negative width."""
    page = jupyter(getattr(explorers, name)(running=False), hidden=True)
    assert page.locator(".axes text").count() == 0
    page.evaluate("document.querySelectorAll('style')[1].remove()")
    page.wait_for_selector(".axes text")
    assert page.inner_text(".state strong") in page.inner_text("[role=status]")
