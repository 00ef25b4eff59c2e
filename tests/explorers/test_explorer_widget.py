"""The same explorers as widgets: one file for both hosts, and Python and the sliders share the parameters."""

from typing import Any

import numpy as np
import pytest
import traitlets
from explorer_pages import sent, simulated, step

from deepmech.simulators.spring_block import Chain
from deepmech_book import explorers
from deepmech_book.explorers.page import bundle, page_of, style
from deepmech_book.explorers.widgets import widget_of

BAD = {
    "chain": ("noise", 5.0),
    "elastic": ("noise", 5.0),
    "ruler": ("jerk_speed", 5.0),
    "diagram": ("shade", "red"),
    "relaxation": ("phase", "liquid"),
    "training": ("batch_size", 1),
}
"""A value that each widget refuses."""
ANIMATED = ("chain", "elastic", "ruler")


@pytest.fixture(params=BAD)
def kind(request: Any) -> str:
    return request.param


def test_both_hosts_run_the_same_file(kind: str) -> None:
    widget, html = widget_of(kind), page_of(kind)().html
    assert widget._esm == bundle(kind) and widget._css == style(kind)
    assert widget._esm in html and widget._css in html


def test_bad_values_are_refused(kind: str) -> None:
    trait, value = BAD[kind]
    with pytest.raises(traitlets.TraitError):
        setattr(widget_of(kind)(), trait, value)


def test_traits_are_what_the_component_uses_and_it_leaves_nothing_behind(jupyter: Any, kind: str) -> None:
    explorer = widget_of(kind)()
    page = jupyter(explorer)
    for control in ("input[type=range]", ".handle", "input[type=checkbox]"):
        for one in page.locator(control).all():
            one.press("ArrowRight")
    if kind in ANIMATED:
        page.get_by_role("button", name="New noise").click()
        page.get_by_role("button", name="Step").click()
    if kind == "training":
        page.get_by_role("button", name="Train", exact=True).click()
        page.wait_for_function("host.state.curves.length > 0")
    used = set(page.evaluate("[...host.asked(), ...host.sent.flatMap(Object.keys)]"))
    assert used == set(explorer.state)
    assert page.evaluate("host.listening()") > 0
    page.evaluate("leave()")
    assert page.evaluate("host.listening()") == 0
    assert page.locator(".deepmech-explorer").count() == 0


def test_built_out_of_sight_it_is_drawn_when_it_gets_room(jupyter: Any, kind: str) -> None:
    """As in JupyterLab, which builds a widget before it shows it: no drawing of negative width."""
    waiting = {"running": False} if kind in ANIMATED else {}
    page = jupyter(widget_of(kind)(**waiting), hidden=True)
    assert page.locator(".axes text").count() == 0
    page.evaluate("document.querySelectorAll('style')[1].remove()")
    page.wait_for_selector(".axes text")
    if kind in ANIMATED:
        assert page.inner_text(".state strong") in page.inner_text("[role=status]")


def test_python_reads_and_sets() -> None:
    explorer = explorers.ChainExplorer(friction_right=0.1, noise=0.01, n_blocks=5)
    explorer.friction_left = 0.05
    wanted = Chain(n_blocks=5, stiffness=1.0, friction_right=0.1, friction_left=0.05, noise=0.01)
    assert explorer.chain() == wanted
    assert not hasattr(explorers, "GlassExplorer")


# A widget, how often to step, what time it is then, and the trait that says where things are.
REACHED = {
    "chain": ({"friction_right": 0.04, "friction_left": 0.12, "noise": 0.011, "seed": 5}, 10, 10.0, "position"),
    "elastic": ({"noise": 0.5, "n_samples": 5, "seed": 2}, 4, 2.0, "points"),
    "ruler": ({"jerk_speed": 1.0, "seed": 4}, 8, 40.0, "position"),
}


@pytest.mark.parametrize("name", REACHED)
def test_what_reaches_python_is_the_simulators(jupyter: Any, name: str) -> None:
    settings, times, time, shown = REACHED[name]
    explorer = widget_of(name)(**settings, running=False)
    page = jupyter(explorer)
    step(page, times)
    told, wanted = sent(page), simulated(name, explorer.state, [time])[-1]
    assert told["time"] == pytest.approx(time)
    np.testing.assert_allclose(told[shown], wanted, rtol=1e-9, atol=1e-8 if name == "ruler" else 1e-9)


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
    assert sent(page)["friction_left"] == pytest.approx(0.195)
    page.evaluate("model.set('running', true)")
    page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.slice(4)) > 0")
    page.get_by_role("button", name="Pause").click()
    assert sent(page)["running"] is False
