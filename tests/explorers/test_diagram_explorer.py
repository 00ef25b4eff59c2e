"""The explorer of phase diagrams shows the numbers that ship, cell by cell, to hands, keys and ears."""

import json
import re
from typing import Any

import numpy as np
import pytest
import traitlets
from explorer_pages import handle_at, sent, tap, unpacked

from deepmech_book import explorers
from deepmech_book.explorers.diagram import SOURCES, STEPS, diagram, diagram_page
from deepmech_book.spring_block import chains
from deepmech_book.spring_block.experiments import experiment
from deepmech_book.sweeps.shipped import result

FACTS = "side => [...document.querySelectorAll('.side')][side].querySelector('.facts').innerText.replaceAll('\\n', ' ')"


def test_what_a_page_carries_is_what_ships() -> None:
    state = diagram_page.state()
    assert set(state["stored"]) == set(SOURCES)
    draws = {key: "of the authors' program" in one["about"] for key, one in state["stored"].items()}
    assert [key for key, theirs in draws.items() if theirs] == ["1a", "1a-1000", "1b", "1c", "1d"]
    assert len(json.dumps(state)) < 250_000  # with the script and style below 300 kB, see below
    for key in ("1c", "S9b", "chain"):
        shown, whole = state["stored"][key], diagram(key)
        for name, variable in zip(STEPS, whole, strict=True):
            found = unpacked(shown["variables"][name], whole[variable].shape)
            np.testing.assert_allclose(found, whole[variable], rtol=0, atol=0.5001 * STEPS[name])


def test_rows_and_columns_lie_as_in_the_figures() -> None:
    """Noisiest on the right, most linear at the bottom, whichever way the numbers grow."""
    fig_1d, ships = diagram("1d"), result(experiment("figure-1d"))
    assert fig_1d.batch_size.values.tolist() == sorted(ships.batch_size.values)[::-1] and fig_1d.slope.values[0] == 1.0
    chain = diagram("chain")
    assert chain.noise.values[-1] == chains.DIAGRAMS["A.3"].noise_range and chain.friction_right.values[0] == 0


def test_keys_point_at_cells_and_their_numbers_are_the_results(visit: Any, still: Any) -> None:
    page = visit().open(still("diagram"))
    handle = page.locator(".handle").first
    handle.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    ships = result(experiment("figure-1c"))
    assert page.inner_text(".goal").startswith("On the left, find the cell of the most accurate")
    here = ships.sel(slope=0.2, dropout=0.08)
    bend, right = float(here.curvature.mean()), 100 * float(here.accuracy.mean())
    told = handle.get_attribute("aria-valuetext")
    assert told.startswith("dropout 0.08, negative slope 0.2: curvature")
    assert f"test accuracy {right:.1f} %" in told
    facts = page.evaluate(FACTS, 0).replace("−", "-")
    assert float(re.search(r"curvature ([-+][\d.]+)", facts)[1]) == pytest.approx(bend, abs=6e-4)
    low, high = 100 * float(here.accuracy.min()), 100 * float(here.accuracy.max())
    assert f"({low:.1f} % to {high:.1f} %)" in facts
    assert page.locator(".side").first.locator(".lines.load .seed").count() == 10
    # The ring of the other diagram went to the same place of it: row 9 of 11, column 4 of 11.
    assert "noise 0.006" in page.evaluate(FACTS, 1) and "friction right 0.2 " in page.evaluate(FACTS, 1)
    best = ships.accuracy.mean("seed").stack(cell=("slope", "dropout")).idxmax().item()
    assert best == (0.4, 0.04)
    for key in ("ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    assert page.inner_text(".goal").startswith(f"Found: {100 * float(ships.accuracy.mean('seed').max()):.1f} %")


def test_mouse_and_finger_point_at_cells(visit: Any, still: Any) -> None:
    page = visit(has_touch=True).open(still("diagram"))
    page.locator("input[name=linked]").uncheck()
    before = page.evaluate(FACTS, 1)
    area = page.locator(".phase svg").first.bounding_box()
    noisy = area["x"] + area["width"] - 40
    page.mouse.click(noisy, area["y"] + area["height"] - 60)  # lower right: linear and noisy
    assert page.evaluate(FACTS, 0).startswith("negative slope 1 dropout 0.28")
    assert page.evaluate(FACTS, 1) == before
    tap(page, noisy, area["y"] + 45, f"({FACTS})(0).startsWith('negative slope 0 dropout 0.28')")
    x, y = handle_at(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 90, y + 5, steps=4)
    page.mouse.up()
    assert "dropout 0.2 " in page.evaluate(FACTS, 0)


def test_another_diagram_and_another_shade(visit: Any, still: Any) -> None:
    page = visit().open(still("diagram"))
    page.select_option("select[name=right]", "S9b")
    assert "depth 20" in page.locator(".side").nth(1).locator(".about").inner_text()
    assert "depth 20" in page.inner_text(".spoken") and "dropout" in page.inner_text(".spoken")
    assert "learning rate 0.0001" in page.evaluate(FACTS, 1)  # the same corner
    assert page.locator(".cells [fill]").count() == 0
    page.get_by_role("button", name="Accuracy or energy").click()
    assert page.locator(".cells [fill]").count() == 2 * 48
    assert page.get_by_role("button", name="Accuracy or energy").get_attribute("aria-pressed") == "true"
    page.select_option("select[name=right]", "chain")
    assert "elastic energy" in page.evaluate(FACTS, 1)


def test_on_paper_it_is_a_still_picture(visit: Any, still: Any) -> None:
    page = visit(color_scheme="dark").open(still("diagram"))
    page.emulate_media(media="print")
    assert not page.get_by_role("button").first.is_visible()
    assert page.locator(".phase svg").first.is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.axes text')).fill") == "rgb(72, 86, 107)"


def test_python_reads_the_cell(jupyter: Any) -> None:
    explorer = explorers.DiagramExplorer(left="S8", shade="outcome")
    page = jupyter(explorer)
    page.locator(".handle").first.focus()
    page.keyboard.press("ArrowRight")
    told = sent(page)
    assert told["left_column"] == 1 and told["right_column"] == 1
    explorer.left_column = told["left_column"]
    assert float(explorer.cell().dropout) == 0.04 and explorer.cell("right").sizes["seed"] == 10
    with pytest.raises(traitlets.TraitError, match="must be from 0 to 7"):
        explorer.left_column = 8
