"""What holds for every explorer on a page without kernel and without network."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from explorer_pages import frames, handle_at, numbers, preset, resize, step

from deepmech_book import explorers
from deepmech_book.explorers import chain, elastic, ruler
from deepmech_book.explorers.page import EXPLORERS, FOLDER, Page, bundle, page_of

# What moves in each that moves, and the values that have a slider.
KINDS = {"chain": "svg.chain", "elastic": "svg.cloud", "ruler": "svg.ruler"}
SLIDERS = {"chain": chain.VALUES, "elastic": elastic.VALUES, "ruler": ruler.VALUES}
# The parameter along a plane's horizontal axis, and its words for a screen reader.
ACROSS = {"chain": ("noise", "noise {:.4f}"), "elastic": ("inter", "between classes {:.2f}")}


@pytest.fixture(params=KINDS)
def kind(request: Any) -> str:
    return request.param


@pytest.mark.parametrize("kind", EXPLORERS)
def test_bundle_joins_what_is_imported_once(kind: str) -> None:
    text = bundle(kind)
    assert not re.search(r"^\s*import\b|^export (?!default)", text, re.M)
    modules = Counter(re.findall(r"^const \$(\w+) = \(", text, re.M))
    assert set(modules) >= set(re.findall(r"= \$(\w+);", text)) and set(modules.values()) == {1}
    assert all(line.count("`") % 2 == 0 for line in text.splitlines()), "an indent within a word would be lost"
    assert not re.search(r"^ |^/[/*]", text, re.M)


def test_no_module_is_left_over() -> None:
    modules = {name for kind in EXPLORERS for name in re.findall(r"^const \$(\w+) = \(", bundle(kind), re.M)}
    assert modules | set(EXPLORERS) == {path.stem for path in FOLDER.glob("*.js")}


def test_no_script_makes_markup_or_code_of_words_or_asks_a_network() -> None:
    """What a page, an address or a widget's message says is shown as text; SECURITY.md promises it."""
    risky = r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|\beval\b|\bFunction\("
    risky += r"|\bfetch\b|XMLHttpRequest|WebSocket|sendBeacon|importScripts|\bimport\(|srcdoc|javascript:"
    scripts = [*FOLDER.glob("*.js"), *(FOLDER.parents[2] / "book" / "assets").glob("*.js")]
    assert len(scripts) > 15
    for path in scripts:
        assert re.findall(risky, path.read_text(encoding="utf-8")) == [], path.name


def test_mime_bundle(kind: str) -> None:
    page = page_of(kind)(running=False)
    mime = page._repr_mimebundle_()
    assert set(mime) == {"text/html", "text/plain"} and mime["text/plain"].startswith("Interactive")
    assert not re.search(r"""(?:src|href)\s*=|https?://(?!www\.w3\.org/2000/svg)""", mime["text/html"])
    assert page.document("a < b").count("a &lt; b") == 2


@pytest.mark.parametrize(
    "kind, parameters, told",
    [
        ("chain", {"noise": 1.0}, "chain explorer: noise = 1.0: must lie between 0.0 and 0.02"),
        ("chain", {"n_blocks": 2.5}, "whole number"),
        ("chain", {"seed": 100}, "seed = 100"),
        ("elastic", {"noise": 3.0}, "elastic explorer: noise = 3.0: must lie between 0.0 and 2.0"),
        ("ruler", {"length": 3}, "ruler explorer: no parameter 'length'; its parameters are duration, jerk_speed"),
        ("diagram", {"left": "2z"}, "left = '2z': must be one of chain, 1a"),
        ("diagram", {"right_row": 11}, "right_row = 11: must lie between 0 and 10"),
        ("diagram", {"shade": "red"}, "shade = 'red'"),
        ("shake", {"shake": 0.105}, "shake explorer: shake = 0.105: must be one of 0, 0.01"),
        ("relaxation", {"phase": "liquid"}, "phase = 'liquid': must be one of regularised mnist"),
        ("relaxation", {"temperature": 0.2}, "temperature = 0.2: must be one of 0, 1e-08"),
        ("training", {"batch_size": 1}, "training explorer: batch_size = 1: must be one of 20, 50"),
        ("relaxation", {"waiting": 5}, "waiting = 5: must be one of 10000, 20000, 50000, 100000"),
    ],
)
def test_bad_values_are_named(kind: str, parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        page_of(kind)(**parameters)


def test_opens_the_file_it_wrote(kind: str, tmp_path: Path, monkeypatch: Any) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = explorers.cli_explore(kind, tmp_path / "page.html")
    assert opened == [path.as_uri()] and f"data-deepmech-{kind}" in path.read_text(encoding="utf-8")


def test_moves_by_itself_pauses_and_resets(visit: Any, still: Any) -> None:
    """One clock (player.js) serves all that move."""
    page = visit().open(still("elastic", speed=5, running=True))
    page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.slice(4)) > 0.5")
    page.get_by_role("button", name="Pause").click()
    there = numbers(page)["t"]
    frames(page, 10)
    assert numbers(page)["t"] == there
    page.get_by_role("button", name="Reset").click()
    assert numbers(page)["t"] == 0


def test_waits_for_readers_who_want_less_motion(visit: Any, still: Any) -> None:
    """When it opens, and after a preset, which would start it for others."""
    page = visit(reduced_motion="reduce").open(still("ruler", running=True))
    for _ in range(2):
        frames(page, 10)
        assert numbers(page)["t"] == 0
        assert page.get_by_role("button", name="Start").is_visible()
        page.get_by_role("button", name="Shaken", exact=True).click()


def unfolded(page: Any) -> Any:
    """With all its sliders."""
    page.evaluate("document.querySelectorAll('details:has(.sliders)').forEach((fold) => { fold.open = true; })")
    return page


def test_keyboard_moves_every_slider(visit: Any, still: Any, kind: str) -> None:
    page = unfolded(visit().open(still(kind)))
    for name in SLIDERS[kind]:
        slider = page.locator(f"input[name={name}]")
        before, shown = float(slider.input_value()), slider.get_attribute("aria-valuetext")
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert float(slider.input_value()) > before
        assert slider.get_attribute("aria-valuetext") != shown
        assert slider.evaluate("e => e.labels.length") == 1
        output = slider.evaluate("e => e.closest('.slider').querySelector('output').textContent")
        assert float(output) == pytest.approx(float(slider.input_value()))


@pytest.mark.parametrize("kind", ACROSS)
def test_keyboard_moves_the_handle(visit: Any, still: Any, kind: str) -> None:
    page = visit().open(still(kind))
    name, told = ACROSS[kind]
    slider, handle = page.locator(f"input[name={name}]"), page.locator(".handle")
    start, x0 = float(slider.input_value()), handle_at(page)[0]
    handle.focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowLeft")
    there = start + 4 * SLIDERS[kind][name].allowed[2]
    assert float(slider.input_value()) == pytest.approx(there)
    assert handle_at(page)[0] > x0
    assert told.format(there) in handle.get_attribute("aria-valuetext")


def test_keyboard_reaches_everything_and_shows_where_it_is(visit: Any, still: Any, kind: str) -> None:
    page, reached = unfolded(visit().open(still(kind))), [""]
    while not reached[-1].startswith("How") and len(reached) < 30:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("(e => e.name || e.textContent || e.className)(document.activeElement)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", reached[-1]
    wanted = [*SLIDERS[kind], *["handle"] * (kind in ACROSS), *page_of(kind).state()["presets"]]
    wanted += ["Start", "Step", "Reset", "New noise"]
    wanted += ["Guess one", "Concave", "Straight", "Convex", "More to set: stiffness, blocks, speed"] * (
        kind == "chain"
    )
    assert sorted(wanted) == sorted(reached[1:-1])


@pytest.mark.parametrize("kind", EXPLORERS)
def test_looks_right_on_phone_and_desk_in_light_and_dark(visit: Any, still: Any, kind: str) -> None:
    """No text is cut off and no button small at any width; remarks below sliders keep to one line."""
    assert still(kind).stat().st_size < 300_000
    page = visit(color_scheme="light").open(still(kind))
    clipped = """() => [...document.querySelectorAll(".deepmech-explorer svg text")].filter((text) => {
      const inside = text.getBoundingClientRect(), outside = text.closest("svg").getBoundingClientRect();
      return inside.left < outside.left - 1 || inside.right > outside.right + 1 || inside.bottom > outside.bottom + 1;
    }).map((text) => text.textContent)"""
    for width in (320, 360, 660, 900):
        resize(page, width)
        assert page.evaluate(clipped) == []
        assert all(button.bounding_box()["height"] >= 40 for button in page.get_by_role("button").all())
    if kind in KINDS:
        resize(page, 720)
        unfolded(page)
        for key in ("Home", "End"):
            for slider in page.locator("input[type=range]").all():
                slider.focus()
                page.keyboard.press(key)
            heights = "all => all.map((e) => e.offsetHeight)"
            assert len(set(page.locator(".slider small").evaluate_all(heights))) == 1
        page.set_viewport_size({"width": 360, "height": 740})
        page.locator(".sliders:not(details *) input").last.evaluate("e => e.scrollIntoView({block: 'start'})")
        box = page.locator(KINDS[kind]).bounding_box()
        assert page.evaluate("scrollY") > 150 and 0 <= box["y"] < 200 and box["height"] < 240, "it stays in sight"
    colour = "getComputedStyle(document.querySelector('.axes text')).fill"
    light = page.evaluate(colour)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert page.evaluate(colour) != light


def test_nothing_stands_out_of_a_page_that_is_not_laid_out_anew_yet(visit: Any, still: Any) -> None:
    """What the reader sees between a resize and the explorer's answer to it, kept for as long as one likes."""
    one = visit()
    one.page.add_init_script("window.ResizeObserver = class { observe() {} disconnect() {} };")
    page = one.open(still("diagram"))
    page.locator(".handle").first.focus()
    for _ in range(20):
        page.keyboard.press("Shift+ArrowRight")
    for width in (660, 320):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("(width) => innerWidth === width", arg=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_focus_is_never_hidden_on_a_phone(visit: Any, still: Any) -> None:
    """Backwards from the end, the page scrolls up under what stays in sight."""
    page = unfolded(visit(width=390, height=740).open(still("chain")))
    middle = """() => { const e = document.activeElement, r = e.getBoundingClientRect();
      const at = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
      return [e.contains(at), e.name || e.textContent || e.className]; }"""
    reached = []
    for _ in range(len(chain.VALUES) + 7):
        page.keyboard.press("Shift+Tab")
        seen, name = page.evaluate(middle)
        assert seen, name
        reached.append(name)
    assert {"handle", *chain.VALUES} < set(reached)


def test_state_in_words_does_not_move_what_is_below(visit: Any, still: Any) -> None:
    page = visit().open(still("elastic"))
    seen = """([presets, times]) => {
      const press = (name) => [...document.querySelectorAll("button")].find((b) => b.textContent === name).click();
      const heights = [], words = [];
      for (const name of presets) {
        press(name);
        for (let i = 0; i < 6; i++) {
          for (let k = 0; k < times; k++) press("Step");
          heights.push(document.querySelector(".head").offsetHeight);
          words.push(document.querySelector(".state strong").textContent);
        }
      }
      return [heights, words];
    }"""
    for width in (320, 390, 760):
        resize(page, width)
        heights, words = page.evaluate(seen, [[*elastic.PRESETS], 2])
        assert len(set(heights)) == 1 and len(set(words)) >= 3


def test_several_of_both_kinds_on_one_page(visit: Any, tmp_path: Path) -> None:
    one = explorers.chain_page(running=False, n_blocks=3)
    two = explorers.chain_page(running=False, noise=0.01)
    path = tmp_path / "all.html"
    body = one.html + explorers.elastic_page(running=False).html + two.html + two.html
    path.write_text(Page(body, "").document("all"), encoding="utf-8")
    page = visit().open(path)
    assert page.locator(".deepmech-explorer").count() == 4
    assert [page.locator(".blocks").nth(i).locator("g").count() for i in range(3)] == [3, 7, 7]
    assert page.evaluate("[...document.querySelectorAll('.deepmech-explorer [id]')].length") == 0
    page.get_by_role("button", name="Step").nth(2).click()
    times = [page.locator(".numbers").nth(i).inner_text() for i in range(4)]
    assert [t.startswith("t = 1") for t in times] == [False, False, True, False]


# Presets, how often to step, and what is heard then.
ENDS = {
    "chain": [
        ("Lazy", 60, "Time 60. Lazy: concave"),
        ("Balanced", 60, "Time 60. Balanced: straight"),
        ("Over-noisy", 60, "Time 60. Over-noisy: convex"),
    ],
    "elastic": [
        ("Elastic", 30, "Time 15.0. Separable: lines separate 3 of 3"),
        ("Repelling", 30, "Time 15.0. Separable: lines separate 3 of 3"),
        ("Inelastic", 30, "Time 15.0. Mixed: lines separate 0 of 3"),
        ("By chance", 1, "Time 0.5. "),
    ],
    "ruler": [
        ("Slow", 80, "Time 400. Uneven"),
        ("Quick", 1, "Time 5. "),
        ("Shaken", 8, "Time 40. Even"),
        ("Jerked", 8, "Time 40. In lumps"),
    ],
}


def test_presets_start_anew_and_end_as_the_page_says(visit: Any, still: Any, kind: str) -> None:
    page = visit().open(still(kind))
    assert sorted(name for name, *_ in ENDS[kind]) == sorted(page_of(kind).state()["presets"])
    for name, times, told in ENDS[kind]:
        step(page, 1)
        assert numbers(page)["t"] > 0
        preset(page, name)
        assert numbers(page)["t"] == 0
        step(page, times)
        assert page.inner_text("[role=status]").startswith(told)


ADDRESSES = {
    "chain": ("noise=0.01&friction_right=0.05&seed=3", {"noise": "0.01", "friction_right": "0.05"}),
    "elastic": ("intra=0.4&n_classes=4", {"intra": "0.4", "n_classes": "4"}),
    "ruler": ("duration=400&table_friction=0.5", {"duration": "400", "table_friction": "0.5"}),
    "relaxation": ("phase=overparameterised+mnist&temperature=0.1", {"phase": "overparameterised mnist"}),
    "training": ("slope=0.3&batch_size=100", {"slope": "0.3", "batch_size": "2"}),  # the third of the choices
    "diagram": ("left=1a&shade=outcome&left_row=2", {"left": "1a"}),
}


@pytest.mark.parametrize("kind", ADDRESSES)
def test_what_a_reader_sets_stands_in_the_address_and_is_read_from_it(visit: Any, still: Any, kind: str) -> None:
    sent, shown = ADDRESSES[kind]
    tab = visit()
    for nonsense in (f"#{kind}:noise=lots&seed=-1&left=nowhere&slope=9&phase=ice&unknown=1", "#anything"):
        tab.page.goto(still(kind).as_uri() + nonsense)
        tab.page.wait_for_selector(".deepmech-explorer .state, .deepmech-explorer .side")
        tab.page.goto("about:blank")
    tab.page.goto(f"{still(kind).as_uri()}#{kind}:{sent}")
    page = tab.page
    page.wait_for_selector(".deepmech-explorer")
    for name, value in shown.items():
        assert page.input_value(f"[name={name}]") == value
    page.locator("input[type=range], .handle").first.focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("(before) => location.hash !== before", arg=f"#{kind}:{sent}")
    again = visit().open(still(kind))
    again.goto("about:blank")
    again.goto(page.url)
    again.wait_for_selector(".deepmech-explorer")
    values = "[...document.querySelectorAll('input[type=range], select')].map((e) => e.name === 'speed' || e.value)"
    assert again.evaluate(values) == page.evaluate(values)
