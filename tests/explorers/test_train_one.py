"""One network in training: the browser's steps are the library's, on a page, in a worker, and beside Python."""

from typing import Any

import numpy as np
import pytest
from explorer_pages import resize, simulated

from deepmech import simulate
from deepmech.metrics.curvature import curvature
from deepmech_book import explorers
from deepmech_book.explorers.chain import chain_of
from deepmech_book.explorers.training import FIG_3, MOST_DROPOUT, training_page
from deepmech_book.sweeps.spring_block.networks import PANELS


def test_a_page_from_disk_trains_after_a_guess_beside_the_chain(visit: Any, still: Any) -> None:
    page = visit().open(still("training", epochs=2, dropout=0.14, batch_size=50, learning_rate=0.01))
    assert page.inner_text(".state strong") == "Untrained" and page.locator(".lines.network .mean").count() == 0
    page.get_by_role("button", name="Straight", exact=True).click()
    page.wait_for_function("document.querySelector('input[name=shown]').value === '2'", timeout=60_000)
    page.get_by_role("button", name="Train", exact=True).wait_for()
    curve = simulated(
        "training", explorers.training_page.state(epochs=2, dropout=0.14, batch_size=50, learning_rate=0.01)
    )[-1, :-1]
    told = page.inner_text(".numbers").replace("−", "-").split()
    assert float(told[1]) == pytest.approx(float(curvature(curve)), abs=6e-3)
    says = {"concave": "the deep layers do more", "linear": "every layer does", "convex": "the shallow layers do more"}
    shape = "concave" if float(told[1]) > 0.05 else "convex" if float(told[1]) < -0.05 else "linear"
    said = page.inner_text(".guess span")
    assert said.startswith(f"{'Right' if shape == 'linear' else f'No, {shape}'}: {says[shape]}")
    assert said in page.inner_text("[role=status]") and "dropout 0.14" in page.inner_text(".about")
    state = training_page.state(dropout=0.14)
    p = {"friction_right": FIG_3.friction_range, "friction_left": FIG_3.friction_left, "noise": FIG_3.noise_range / 2}
    chain = chain_of({"n_blocks": 7, "stiffness": 1.0, **p})
    wanted = curvature(simulate(chain, t_end=FIG_3.t_end, seed=0).load_curve.isel(run=0), dim="block")
    assert float(told[4]) == pytest.approx(float(wanted), abs=6e-3) and state["chain"]["noise"] == FIG_3.noise_range
    slope = page.locator("input[name=slope]")
    slope.focus()
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".state strong") == "Untrained" and "How will" in page.inner_text(".guess span")
    for width in (320, 660, 900):
        resize(page, width)


def test_it_opens_on_a_finished_run_and_keeps_three_and_says_when_the_chain_disagrees(visit: Any, still: Any) -> None:
    page = visit().open(still("training", epochs=2, dropout=0.14, batch_size=50, learning_rate=0.01, trained=True))
    assert page.input_value("input[name=shown]") == "2" and not page.locator(".guess").is_visible()
    assert not page.locator(".key.pin").is_visible()
    bends = page.inner_text(".numbers").replace("−", "-").split()
    both = (float(bends[i]) for i in (1, 4))
    ours, chain = ("concave" if b > 0.05 else "convex" if b < -0.05 else "linear" for b in both)
    told = page.inner_text(".state span")
    assert (f"the chain disagrees: it is {chain}" in told) if chain != ours else ("so does the chain" in told)
    slope = page.locator("input[name=slope]")
    for run in range(1, 5):
        slope.focus()
        page.keyboard.press("ArrowRight")
        assert page.inner_text(".state strong") == "Untrained" and page.locator(".guess").is_visible()
        assert page.locator(".pins li").count() == page.locator(".line.pin").count() == min(run, 3)
        page.get_by_role("button", name="Train", exact=True).click()
        page.wait_for_function("document.querySelector('input[name=shown]').value === '2'", timeout=60_000)
    assert page.locator(".pins li").first.inner_text().startswith("slope 0.1, dropout 0.14")


def test_a_network_that_separates_nothing_has_no_shape_yet(visit: Any, still: Any) -> None:
    """Its load curve rises, and is bent: no layer does more than another."""
    page = visit().open(still("training", epochs=2, dropout=0.5, trained=True))
    bend = float(page.inner_text(".numbers").replace("−", "-").split()[1])
    assert bend > 0.02 and page.inner_text(".state strong") == "Not falling yet"
    assert "do not separate" in page.inner_text(".state span")


def test_the_noisiest_networks_stand_beside_the_noisiest_chains() -> None:
    assert PANELS["dropout"].values[-1] == MOST_DROPOUT


@pytest.mark.parametrize("worker", [True, False])
def test_python_reads_what_the_browser_trains_and_starts_and_stops_it(jupyter: Any, worker: bool) -> None:
    """In a worker, and on the page of a browser that allows none: the library's curves."""
    one = explorers.TrainingExplorer(epochs=500, batch_size=100)
    page = jupyter(one)
    if not worker:
        page.evaluate("globalThis.Worker = class { constructor() { throw new Error('not from disk'); } }; 0")
    page.evaluate("model.set('running', true)")
    page.wait_for_function("host.state.curves.length > 2", timeout=60_000)
    page.evaluate("model.set('running', false)")
    state = page.evaluate("host.state")
    one.curves, one.accuracy = state["curves"], state["accuracy"]
    found, wanted = one.result(), simulated("training", one.state | {"epochs": 2})
    np.testing.assert_allclose(found["load_curve"][:3], wanted[:, :-1], rtol=0, atol=1e-9)
    assert 2 < found.sizes["epoch"] < 500 and found.sizes["layer"] == 8 and found.attrs["batch_size"] == 100
    assert page.evaluate("host.sent.some((message) => 'curves' in message)")
