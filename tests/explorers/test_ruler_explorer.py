"""The JavaScript ruler is the Python ruler: same jerks, same steps, same closed form; and what the words say of it."""

from typing import Any

from explorer_pages import preset, step

from deepmech_book.explorers.ruler import PRESETS


def test_slow_jerked_and_shaken_end_as_the_page_says(visit: Any, still: Any) -> None:
    page = visit().open(still("ruler"))
    for name, word in {"Slow": "Uneven", "Shaken": "Even", "Jerked": "In lumps"}.items():
        preset(page, name)
        step(page, PRESETS[name]["duration"] // 5)
        assert page.inner_text(".state strong") == word
        assert f"Time {PRESETS[name]['duration']}. {word}" in page.inner_text("[role=status]")
        step(page, 1)  # the pull has ended
        assert page.inner_text(".numbers").startswith(f"t = {PRESETS[name]['duration']}.0")


def test_shaking_may_change_on_the_way_and_the_pull_may_not(visit: Any, still: Any) -> None:
    page = visit().open(still("ruler"))
    step(page, 2)
    page.locator("input[name=shake_speed]").focus()
    page.keyboard.press("End")
    assert page.inner_text(".numbers").startswith("t = 10.0")
    page.locator("input[name=duration]").focus()
    page.keyboard.press("End")
    assert page.inner_text(".numbers").startswith("t = 0.0")
    assert page.inner_text(".state strong") == "Folded"


def test_a_preset_starts_also_after_a_pull_has_ended(visit: Any, still: Any) -> None:
    page = visit().open(still("ruler"))
    step(page, 10)
    for name in ("Jerked", "Shaken"):
        page.get_by_role("button", name=name).click()
        page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.slice(4)) > 0.5")
        step(page, 10)
