"""What may change on the way of a pull, and what starts after it."""

from typing import Any

from explorer_pages import step


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
    assert page.inner_text(".numbers").startswith("t = 40.0")
    for name in ("Jerked", "Shaken"):
        page.get_by_role("button", name=name).click()
        page.wait_for_function("parseFloat(document.querySelector('.numbers').textContent.slice(4)) > 0.5")
        step(page, 10)
