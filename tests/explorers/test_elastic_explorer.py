"""The elastic explorer: the same points as the simulator, and lines only where a linear program finds one.

What holds for every explorer is in test_explorer_page.py."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_pages import numbers, simulated_points, step

from deepmech.core.random import Stream
from deepmech.metrics.separability import linearly_separable
from deepmech_book import explorers
from deepmech_book.explorers.elastic import elastic_page


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_classes": 2, "n_samples": 1, "seed": 7},
        {"n_classes": 4, "n_samples": 7, "inter": -0.5, "noise": 1.0},
        {"noise": 0.0},
    ],
)
def test_points_are_the_simulators(elastic_engine: Any, parameters: dict[str, Any]) -> None:
    state = elastic_page.state(**parameters)
    script = """({ Cloud, Normals }, s) => {
      const [start, noise] = s.purposes.map((purpose) => new Normals(s.noise_keys[s.seed], purpose)), out = [];
      const cloud = new Cloud(s.n_samples, s.corners[s.n_classes - 2], s.start_spread, start, noise);
      for (const steps of [0, 1, 300]) { cloud.advance(s, steps - cloud.steps); out.push(Array.from(cloud.x)); }
      return out;
    }"""
    wanted = simulated_points(state, [0.0, 0.01, 3.0])
    np.testing.assert_allclose(elastic_engine(script, state), wanted, rtol=1e-9, atol=1e-9)


def test_lines_stand_where_a_linear_program_finds_one(elastic_engine: Any) -> None:
    """Random clouds of 1 to 6 points, near each other, and points on one line: the same answer, and a line that
    separates."""
    s = Stream.of("test elastic explorer", 0)
    pairs = []
    for i in range(150):
        n, m = (1 + int(6 * u) for u in s.uniform("sizes", i, 2))
        x, y = s.normal("x", i, (n, 2)), s.normal("y", i, (m, 2)) + 1.5 * s.normal("shift", i, 2)
        if i % 5 == 0:
            x, y = x[:, :1] * [1.0, 2.0], y[:, :1] * [1.0, 2.0]  # all on one line
        pairs.append((x, y))
    found = elastic_engine(
        "({ separation }, pairs) => pairs.map(([a, b]) => separation(a, b))",
        [[x.tolist(), y.tolist()] for x, y in pairs],
    )
    answers = [linearly_separable(x, y) for x, y in pairs]
    assert [f["gap"] > 0 for f in found] == answers and 20 < sum(answers) < 130
    for (x, y), f, apart in zip(pairs, found, answers, strict=True):
        if apart:
            sides = [np.sign(z @ f["normal"] - f["middle"]) for z in (x, y)]
            assert (
                len({*sides[0], *sides[1]}) == 2 and (sides[0] == sides[0][0]).all() and (sides[1] == sides[1][0]).all()
            )


def test_elastic_points_part_and_inelastic_ones_do_not(visit: Any, still: Any) -> None:
    page = visit().open(still("elastic"))
    for name, word, lines in (("Elastic", "Separable", 3), ("Repelling", "Separable", 3), ("Inelastic", "Mixed", 0)):
        page.get_by_role("button", name=name, exact=True).click()
        step(page, 30)
        assert page.inner_text(".state strong") == word
        assert page.locator(".between line").count() == lines
        assert f"{word}: lines separate {lines} of 3" in page.inner_text("[role=status]")


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
        assert f"{apart} of 3" in page.inner_text(".state span")


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


def test_mouse_drags_the_handle(visit: Any, still: Any) -> None:
    page = visit().open(still("elastic"))
    area = page.locator(".phase svg").bounding_box()
    page.mouse.move(area["x"] + area["width"] - 40, area["y"] + area["height"] - 70)
    page.mouse.down()
    page.mouse.move(area["x"] + 80, area["y"] + 60, steps=3)
    page.mouse.up()
    assert float(page.locator("input[name=intra]").input_value()) > 1.6
    assert float(page.locator("input[name=inter]").input_value()) < -0.5
