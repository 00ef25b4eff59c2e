"""The elastic explorer: the same points as the simulator, and lines only where a linear program finds one.

What holds for every explorer is in test_explorer_page.py."""

from pathlib import Path
from typing import Any

from explorer_pages import numbers, simulated_points, step

from deepmech.metrics.separability import linearly_separable
from deepmech_book import explorers
from deepmech_book.explorers.elastic import elastic_page


def test_shown_state_is_that_of_the_simulated_points(visit: Any, tmp_path: Path) -> None:
    path = explorers.cli_explore(
        "elastic", tmp_path / "page.html", inter=0.9, n_samples=6, seed=3, show=False, running=False
    )
    page = visit().open(path)
    state = elastic_page.state(inter=0.9, n_samples=6, seed=3)
    for t in (0.5, 1.0, 1.5, 2.0):
        step(page, 1)
        x = simulated_points(state, [t]).reshape(3, 6, 2)
        apart = sum(linearly_separable(x[k], x[l]) for k, l in ((0, 1), (0, 2), (1, 2)))
        assert f"{apart} of 3" in page.inner_text(".state span") and page.locator(".between line").count() == apart


def test_as_many_points_as_asked_for(visit: Any, still: Any) -> None:
    page = visit().open(still("elastic"))
    for name in ("n_classes", "n_samples"):
        page.locator(f"input[name={name}]").focus()
        page.keyboard.press("ArrowRight")
    assert [g.locator("> *").count() for g in page.locator(".marks g").all()] == [21] * 4


def test_stops_far_apart_and_starts_anew(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "far.html"
    explorers.cli_explore("elastic", path, intra=2.0, inter=-1.0, n_classes=2, show=False, running=False)
    page = visit().open(path)
    step(page, 20)
    assert "stopped" not in page.inner_text(".state span")
    step(page, 20)
    assert page.inner_text(".state span").endswith("; stopped 10⁹ units apart")
    page.get_by_role("button", name="Start").click()
    assert numbers(page)["t"] < 10 and page.get_by_role("button", name="Pause").is_visible()
