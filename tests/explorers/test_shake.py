"""What opens the book: one slider shakes a chain, which moves as the simulator's, beside networks as recorded."""

from typing import Any

import numpy as np
from explorer_pages import resize, unpacked

from deepmech import simulate
from deepmech.metrics.curvature import curvature, steps
from deepmech_book.explorers.chain import chain_of
from deepmech_book.explorers.shake import DROPOUTS, SLOPE, STEP, chain_settings, in_training, shake_page
from deepmech_book.spring_block.experiments import experiment
from deepmech_book.sweeps.shipped import result
from deepmech_book.sweeps.spring_block.networks import DATA

# How the two end, read off the page: the words of both.
ENDS = """() => [...document.querySelectorAll(".state")].map((state) => state.querySelector("strong").textContent)"""


def word(bend: float) -> str:
    return "Lazy" if bend > 0.02 else "Over-noisy" if bend < -0.02 else "Balanced"


def test_networks_turn_sooner_than_the_chain_and_look_over_noisy_while_young_as_the_front_page_says() -> None:
    """And without dropout they are as bent as their row of Fig. 1(c), a good third as much as its ReLU networks."""
    state, run = shake_page.state(), in_training()
    chains = [simulate(chain_of(chain_settings() | {"noise": v}), state["t_end"], seed=0) for v in state["noises"]]
    bend = curvature(run.load_curve).mean("seed").transpose("dropout", "at_epoch")
    assert [word(float(curvature(one["load_curve"])[0])) for one in chains] == ["Lazy"] * 3 + ["Over-noisy"] * 2
    assert [word(float(one)) for one in bend[:, -1]] == ["Lazy", "Balanced"] + ["Over-noisy"] * 3
    row = curvature(result(experiment("figure-1c", data=DATA["mnist"])).load_curve).mean("seed").sel(dropout=0)
    assert abs(bend[0, -1] - row.sel(slope=SLOPE)) < 0.01 and 0.33 < bend[0, -1] / row.sel(slope=0) < 0.45
    assert word(bend.sel(dropout=0, at_epoch=20)) == "Over-noisy"
    later, young = (steps(run.load_curve.sel(dropout=0, at_epoch=epoch).mean("seed")) for epoch in (100, 20))
    assert ((later / young)[-3:].min() > (later / young)[:4].max()).item()


def test_both_go_from_lazy_to_over_noisy_as_the_library_says(visit: Any, still: Any) -> None:
    run = in_training().isel(at_epoch=-1)
    state = shake_page.state()
    shape = tuple(in_training().load_curve.shape)
    np.testing.assert_allclose(unpacked(state["load"], shape)[:, :, -1], run.load_curve, rtol=0, atol=0.5001 * STEP)
    page = visit(reduced_motion="reduce").open(still("shake"))
    slider = page.locator("input[name=shake]")
    for i, (dropout, noise) in enumerate(zip(DROPOUTS, state["noises"], strict=True)):
        if i:
            slider.focus()
            page.keyboard.press("ArrowRight")
        chain = simulate(chain_of(chain_settings() | {"noise": noise}), t_end=state["t_end"], seed=0)
        bend = float(curvature(chain["load_curve"].isel(run=0), dim="block"))
        shares = (load := run.load_curve.sel(dropout=dropout)) - load.isel(layer=-1)
        shares = (shares / shares.isel(layer=0)).mean("seed")
        assert page.evaluate(ENDS) == [word(bend), word(float(curvature(shares, dim="layer")))]
    assert page.evaluate(ENDS) == ["Over-noisy", "Over-noisy"]
    page.keyboard.press("Home")
    assert page.evaluate(ENDS) == ["Lazy", "Lazy"]


def test_first_screen_shows_both_at_their_end_and_time_goes_back(visit: Any, still: Any) -> None:
    page = visit().open(still("shake"))
    assert "networks at epoch 100" in page.inner_text(".numbers")
    assert page.evaluate(ENDS) == ["Lazy", "Lazy"]
    page.locator("input[name=shake]").focus()
    page.keyboard.press("End")
    assert page.evaluate(ENDS) == ["Over-noisy", "Over-noisy"]
    ended = page.inner_html(".plots")
    page.locator("input[name=passed]").focus()
    page.keyboard.press("Home")
    assert "chain at t = 0" in page.inner_text(".numbers") and "networks at epoch 10" in page.inner_text(".numbers")
    assert page.evaluate(ENDS) == ["Lazy", "Over-noisy"]
    page.keyboard.press("End")
    assert page.inner_html(".plots") == ended
    page.get_by_role("button", name="Start").click()
    page.wait_for_function("document.querySelector('input[name=passed]').value < 99")
    page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.split('epoch ')[1]) > 15")
    page.get_by_role("button", name="Pause").click()
    for width in (320, 660):
        resize(page, width)
