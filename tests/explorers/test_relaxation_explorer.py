"""The explorer of walking weights shows the walks that ship, and the free walk beside them."""

import re
from typing import Any

import numpy as np
import pytest
from explorer_pages import sent, unpacked

from deepmech.simulators.brownian import free_time
from deepmech_book import explorers
from deepmech_book.explorers.relaxation import PHASES, STEPS, phase_run, relaxation_page
from deepmech_book.glass import phases
from deepmech_book.sweeps.glass import walks


def test_what_a_page_carries_is_what_ships(still: Any) -> None:
    assert still("relaxation").stat().st_size < 300_000
    state = relaxation_page.state()
    assert list(state["stored"]) == list(PHASES)
    run, shown = phase_run("regularised mnist"), state["stored"]["regularised mnist"]
    wanted = run.overlap.isel(chi=walks.PAPER_WINDOW).transpose("temperature", "waiting", "seed", "time")
    found = unpacked(shown["variables"]["overlap"], wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=0.5001 * STEPS["overlap"])
    msd = run.msd.transpose(*wanted.dims)
    np.testing.assert_allclose(10 ** unpacked(shown["variables"]["msd"], msd.shape), msd, rtol=0.0012)
    table = phases.times(run, wait=2)
    tau = [row[0] for row in shown["taus"][2]]
    np.testing.assert_allclose(np.array(tau, float), table.tau, rtol=1e-3)
    one = free_time(phases.window_size(run).sel(temperature=0.1).values, walks.RATE * 0.1 / walks.P_D, 0.9)
    assert shown["free_tau"][shown["axes"][0]["values"].index(0.1)] == pytest.approx(float(one), rel=1e-3)


def test_hot_walks_are_free_and_cold_ones_are_driven(visit: Any, still: Any) -> None:
    page = visit().open(still("relaxation"))
    table = phases.times(phase_run("regularised mnist"))
    assert page.inner_text(".state strong") == "Free"
    assert "The clock is at 0" in page.inner_text(".buttons") and page.locator(".weights .out").count() == 0
    shown = float(re.search(r"τ₉₀ ([\d.,]+)", page.inner_text(".numbers"))[1].replace(",", ""))
    assert shown == pytest.approx(float(table.tau.sel(temperature=0.1)), rel=0.005)
    page.locator("input[name=temperature]").focus()
    page.keyboard.press("Home")  # T = 0: most records end before the crossing
    assert page.inner_text(".state strong") == "Out of sight" and "free walk ∞" in page.inner_text(".numbers")
    assert page.locator("input[name=temperature]").get_attribute("aria-valuetext") == "temperature 0"
    page.keyboard.press("ArrowRight")
    assert "10⁻⁸" in page.locator(".slider output").first.inner_text()
    assert "Out of sight" in page.inner_text("[role=status]")
    page.select_option("select", "underparameterised mnist")
    assert "Driven" in page.inner_text("[role=status]")
    waiting = page.locator("input[name=waiting]")
    waiting.focus()
    page.keyboard.press("End")
    assert waiting.get_attribute("aria-valuetext") == "waiting time 40000 steps"


def test_another_phase_goes_to_the_nearest_record(visit: Any, still: Any) -> None:
    page = visit().open(still("relaxation"))
    for phase, (title, *_) in PHASES.items():
        page.select_option("select", phase)
        assert title in page.inner_text("[role=status]")
        assert page.locator(".lines.overlap .seed").count() == phase_run(phase).sizes["seed"]
        for end in ("Home", "End"):
            page.locator("input[name=temperature]").focus()
            page.keyboard.press(end)


def test_python_reads_the_walk(jupyter: Any) -> None:
    explorer = explorers.RelaxationExplorer(temperature=0.001)
    page = jupyter(explorer)
    page.locator("input[name=temperature]").focus()
    page.keyboard.press("ArrowRight")
    assert sent(page)["temperature"] == 0.01
    explorer.temperature = 0.01
    assert explorer.walk().overlap.sizes["seed"] == 16  # of 24, eight lie at the origin
