"""What opens the book: one slider shakes a chain, which moves as the simulator's, beside networks as recorded."""

from functools import cache
from typing import Any

import numpy as np
from explorer_pages import frames, resize, unpacked

from deepmech import over, simulate
from deepmech.metrics.curvature import curvature, steps
from deepmech_book.explorers.chain import chain_of
from deepmech_book.explorers.shake import CHAIN, SCALE, STEP, VALUES, in_training, shake_page
from deepmech_book.spring_block.experiments import experiment
from deepmech_book.sweeps.shipped import result

STOPS = VALUES["shake"].allowed
# How the two end, read off the page: the words of both.
ENDS = """() => [...document.querySelectorAll(".state")].map((state) => state.querySelector("strong").textContent)"""


def word(bend: float) -> str:
    return "Lazy" if bend > 0.05 else "Over-noisy" if bend < -0.05 else "Balanced"


@cache
def bends() -> tuple[np.ndarray, np.ndarray]:
    """Curvature at every stop of the chain on the page and of the networks' mean curve."""
    chain = chain_of(CHAIN | {"noise": over("noise", np.array(STOPS) / SCALE)})
    load = in_training().load_curve.isel(at_epoch=-1)
    shares = ((load - load.isel(layer=-1)) / (load.isel(layer=0) - load.isel(layer=-1))).mean("seed")
    ran = simulate(chain, shake_page.state()["t_end"], seed=0).load_curve.isel(run=0)
    return curvature(ran, dim="block").values, curvature(shares).values


def test_one_scale_makes_both_straight_at_one_shake_and_the_chain_turns_more_sharply() -> None:
    chain, networks = bends()
    zeros = [float(np.interp(0, -bend, STOPS)) for bend in (chain, networks)]
    assert round(SCALE * zeros[1] / zeros[0]) == SCALE
    near = [i for i, stop in enumerate(STOPS) if abs(stop - zeros[1]) < 0.02]
    assert np.polyfit(near, chain[near], 1)[0] < 3 * np.polyfit(near, networks[near], 1)[0] < 0
    words = [(word(a), word(b)) for a, b in zip(chain, networks, strict=True)]
    balanced = [i for i, both in enumerate(words) if both == ("Balanced", "Balanced")]
    assert len(STOPS) >= 15 and 0 < len(balanced) < 3 and balanced[-1] - balanced[0] < 2
    assert {(a, b) for a, b in words if a != b} <= {("Lazy", "Balanced"), ("Over-noisy", "Balanced")}
    assert words[0] == ("Lazy", "Lazy") and words[-1] == ("Over-noisy", "Over-noisy")


def test_every_fourth_stop_holds_the_networks_of_fig_1c_and_young_ones_are_not_lazy_yet() -> None:
    run = in_training()
    printed = result(experiment("figure-1c")).sel(slope=0.2, seed=run.seed)
    same = run.isel(at_epoch=-1).sel(dropout=printed.dropout)
    assert STOPS[::4] == printed.dropout.values.tolist()
    for name in ("load_curve", "accuracy"):
        np.testing.assert_array_equal(same[name].transpose(*printed[name].dims), printed[name])
    still = run.load_curve.sel(dropout=0).mean("seed")
    assert [word(float(curvature(still.sel(at_epoch=epoch)))) for epoch in (20, 100)] == ["Balanced", "Lazy"]
    later, young = (steps(still.sel(at_epoch=epoch)) for epoch in (100, 20))
    assert ((later / young)[-3:].min() > (later / young)[:4].max()).item()


def test_a_hand_finds_the_balance_and_reads_what_the_library_says(visit: Any, still: Any) -> None:
    run = in_training()
    np.testing.assert_allclose(
        unpacked(shake_page.state()["load"], run.load_curve.shape),
        run.load_curve.transpose("dropout", "seed", "at_epoch", "layer"), rtol=0, atol=0.5001 * STEP,
    )  # fmt: skip
    page = visit(reduced_motion="reduce").open(still("shake"))
    right = 100 * run.accuracy.isel(at_epoch=-1).mean("seed").values
    page.locator("input[name=shake]").focus()
    for i, (a, b) in enumerate(zip(*bends(), strict=True)):
        assert page.evaluate(ENDS) == [word(a), word(b)]
        goal = page.inner_text(".goal")
        if word(a) == word(b) == "Balanced":
            assert goal.startswith("Found") and all(f"{right[at]:.1f} %" in goal for at in (0, i, -1))
        else:
            assert goal.startswith("Find") and ("balanced from 0.05 to 0.14" in goal) == (word(b) == "Balanced")
        page.keyboard.press("ArrowRight")
    colours = "[...document.querySelectorAll('.state strong')].map((e) => getComputedStyle(e).backgroundColor)"
    assert len(set(page.evaluate(colours))) == 1
    page.keyboard.press("Home")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    assert len(set(page.evaluate(colours))) == 1, "balanced is grey beside what is balanced, too"


def test_it_goes_through_all_shakes_by_itself_unless_asked_not_to(visit: Any, still: Any) -> None:
    page = visit(reduced_motion="reduce").open(still("shake"))
    frames(page, 20)
    assert page.input_value("input[name=shake]") == "0" and page.get_by_role("button", name="Start").is_visible()
    page = visit().open(still("shake", speed=100))
    page.wait_for_function("Number(document.querySelector('input[name=shake]').value) > 1")
    assert "networks at epoch 100" in page.inner_text(".numbers")
    page.get_by_role("button", name="Pause").click()
    held = page.inner_html(".plots")
    frames(page, 20)
    assert page.inner_html(".plots") == held
    page.get_by_role("button", name="Start").click()
    page.wait_for_function(f"document.querySelector('input[name=shake]').value === '{len(STOPS) - 1}'", timeout=60_000)
    assert page.evaluate(ENDS) == ["Over-noisy", "Over-noisy"]
    page.get_by_role("button", name="Start").wait_for()  # back without shaking, where a reader begins
    assert page.input_value("input[name=shake]") == "0" and page.evaluate(ENDS) == ["Lazy", "Lazy"]
    page.get_by_role("button", name="Start").click()
    page.locator("input[name=shake]").press("End")
    assert page.get_by_role("button", name="Start").is_visible() and page.evaluate(ENDS) == ["Over-noisy", "Over-noisy"]
    page.locator("input[name=shake]").press("Home")
    assert page.get_by_role("button", name="Start").is_visible() and page.evaluate(ENDS) == ["Lazy", "Lazy"]
    for width in (320, 660):
        resize(page, width)


def test_training_is_replayed_and_time_goes_back(visit: Any, still: Any) -> None:
    page = visit(reduced_motion="reduce").open(still("shake"))
    ended = page.inner_html(".plots")
    page.locator("input[name=passed]").focus()
    page.keyboard.press("Home")
    assert "chain at t = 0" in page.inner_text(".numbers") and "networks at epoch 10" in page.inner_text(".numbers")
    assert page.evaluate(ENDS)[0] == "At the wall" and "their last layers learn last" in page.inner_text(".goal")
    page.keyboard.press("End")
    assert page.inner_html(".plots") == ended
    page.get_by_role("button", name="Replay training").click()
    page.wait_for_function("document.querySelector('input[name=passed]').value < 99")
    page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.split('epoch ')[1]) > 15")
    page.get_by_role("button", name="Pause").click()
    assert page.input_value("input[name=shake]") == "0"
