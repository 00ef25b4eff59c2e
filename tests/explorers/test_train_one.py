"""One network in training: the record on a page, and live in Jupyter with progress and a way to stop."""

import threading
from typing import Any

import ipywidgets
import numpy as np
import pytest
import torch
from explorer_pages import resize

from deepmech import simulate
from deepmech.metrics.curvature import curvature
from deepmech_book import explorers
from deepmech_book.explorers.bundle import bundle
from deepmech_book.explorers.training import Settings, chain_beside, training, training_state


def test_a_run_learns_is_the_same_again_and_leaves_random_numbers_alone() -> None:
    before = torch.get_rng_state()
    first, again = (list(training(Settings(epochs=8, dropout=0.2, batch_size=100))) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert first == again and len(first) == 9 and len(first[0].curve) == 8
    assert first[-1].accuracy > first[0].accuracy + 0.3
    assert first[-1].curve[-1] < first[0].curve[-1] - 1


def test_the_chain_beside_stands_at_the_same_place_of_its_diagram() -> None:
    corner, linear = chain_beside(Settings(slope=0.0, dropout=0.0)), chain_beside(Settings(slope=1.0, dropout=0.28))
    assert (corner.friction_right, corner.noise) == (0.25, 0.0)
    assert (linear.friction_right, linear.noise) == (0.0, 0.02)
    state = training_state(epochs=4, dropout=0.14)
    assert len(state["chain"]) == len(state["curves"]) == 5
    wanted = simulate(chain_beside(Settings(dropout=0.14)), t_end=100, seed=0).load_curve.isel(run=0)
    np.testing.assert_allclose(state["chain"][-1], wanted, atol=1e-4)


@pytest.mark.parametrize(
    "settings, told", [({"slope": 2}, "slope"), ({"dropout": -1}, "dropout"), ({"batch_size": 1}, "batch_size")]
)
def test_bad_settings_are_named(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=f"train one: {told} = "):
        explorers.training_page(**settings)


def test_the_record_can_be_moved_through_and_played(visit: Any, still: Any) -> None:
    page = visit().open(still("training"))
    bend = float(curvature(np.array(training_state(epochs=60)["curves"][60])))
    told = page.inner_text(".numbers").replace("−", "-")
    assert float(told.split()[1]) == pytest.approx(bend, abs=6e-3)
    slider = page.locator("input[name=shown]")
    slider.focus()
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "epoch 0"
    assert page.locator(".lines.network .seed").count() == 0
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("Number(document.querySelector('input[name=shown]').value) > 2")
    page.get_by_role("button", name="Pause").click()
    there = slider.input_value()
    assert f"Epoch {there}." in page.inner_text("[role=status]")
    for width in (320, 660, 900):
        resize(page, width)


def test_controls_are_ipywidgets_and_training_can_be_stopped() -> None:
    one = explorers.TrainOne(epochs=500, batch_size=100)
    assert isinstance(one.slope, ipywidgets.FloatSlider) and isinstance(one.progress, ipywidgets.IntProgress)
    assert one.curves._esm == bundle("training")
    seen = threading.Event()
    one.progress.observe(lambda change: change["new"] >= 2 and seen.set(), "value")
    one.slope.value = 0.6
    one.start.click()
    assert seen.wait(60) and one.start.disabled and not one.cancel.disabled
    with pytest.raises(ValueError, match="is in training"):
        one.train()
    one.cancel.click()
    one.wait()
    epochs = one.result().sizes["epoch"] - 1
    assert 2 <= epochs < 500 and one.progress.value == epochs
    assert f"cancelled after epoch {epochs}" in one.said.value and not one.start.disabled
    assert "negative slope 0.6" in one.curves.about and len(one.curves.curves) == epochs + 1
