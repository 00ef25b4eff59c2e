"""The explorers in a real JupyterLab on this machine: pages opened as notebooks, sliders that Python reads back."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from explorer_pages import frames
from playwright.sync_api import TimeoutError

from deepmech_book.build.sources import Checkout

pytestmark = [pytest.mark.slow]

NEEDED = ("jupyterlab", "jupytext", "jupyterlab_myst", "anywidget")
#: What the page says that one can do in Jupyter, done.
DONE = (
    "one = explorers.TrainingExplorer(epochs=5)\none",
    'print("slope:", one.slope, "epochs:", one.result().sizes["epoch"] - 1)',
    "explorer = explorers.ChainExplorer(noise=0.01, running=False)\nexplorer",
    'print("noise in Python:", explorer.noise, "blocks:", len(explorer.position))',
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: Any) -> Iterator[tuple[str, Path]]:
    """Address and folder of a JupyterLab that nobody but this machine reaches and that knows no settings of ours."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (pip install 'deepmech[lab]'): nothing was run in JupyterLab")
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    folder.mkdir()
    quiet = home / "settings" / "@jupyterlab" / "apputils-extension"
    quiet.mkdir(parents=True)
    (quiet / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    own = {name: str(home / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.root_dir={folder}"]
    command += ["--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", "--IdentityProvider.token="]
    with open(home / "log", "w") as log:
        server = subprocess.Popen(command, cwd=home, env=os.environ | own, stdout=log, stderr=log)
    try:
        yield _address(server, home), folder
    finally:
        server.terminate()
        server.wait(20)


def _address(server: Any, home: Path) -> str:
    for _ in range(300):
        told = list((home / "JUPYTER_RUNTIME_DIR").glob("jpserver-*.json"))
        if told:
            return json.loads(told[0].read_text())["url"]
        assert server.poll() is None, (home / "log").read_text()[-2000:]
        time.sleep(0.1)
    raise TimeoutError((home / "log").read_text()[-2000:])


@pytest.fixture(scope="module")
def page(lab: Any, chromium: Any) -> Iterator[Any]:
    """The copy of a page, as ``deepmech lab`` writes it, with what it says that one can do done, and run."""
    address, folder = lab
    context = chromium.new_context(viewport={"width": 1100, "height": 1000})
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda e: complaints.append(str(e)))
    page.on("console", lambda m: m.type == "error" and "attribute" in m.text and complaints.append(m.text))
    copy = Checkout(Path(__file__).parents[2]).source("spring_block/chain").notebook
    copy.cells += map(nbformat.v4.new_code_cell, DONE)
    nbformat.write(copy, folder / "chain.ipynb")
    page.goto(f"{address}lab/tree/chain.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=60_000)  # the kernel is there
    run_all(page)
    page.wait_for_function("document.querySelectorAll('.deepmech-explorer').length === 3", timeout=150_000)
    page.locator(".jp-OutputArea-output", has_text="noise in Python:").wait_for(state="attached", timeout=150_000)
    yield page
    context.close()
    assert complaints == []


def run_all(page: Any) -> None:
    """Run ▸ Run All Cells, as a reader would."""
    page.locator(".lm-MenuBar-itemLabel", has_text="Run").click()
    page.locator(".lm-Menu-itemLabel").get_by_text("Run All Cells", exact=True).click()


def run_again(page: Any, words: str) -> str:
    """Run the cell with these words once more, and what it prints."""
    cell = page.locator(".jp-CodeCell", has_text=words).last
    cell.scroll_into_view_if_needed()
    before = cell.locator(".jp-InputPrompt").inner_text()
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "([cell, before]) => { const p = cell.querySelector('.jp-InputPrompt').innerText;"
        " return p !== before && !p.includes('*'); }",
        arg=[cell.element_handle(), before],
        timeout=150_000,
    )
    return cell.locator(".jp-OutputArea-output").last.inner_text()


def at_rest(item: Any) -> Any:
    """Where it is on the screen, once outputs above it no longer push it about."""
    before, box = None, item.bounding_box()
    while box != before:
        item.scroll_into_view_if_needed()
        frames(item.page, 20)
        before, box = box, item.bounding_box()
    return box


def test_the_sliders_of_a_page_reach_python(page: Any) -> None:
    explorer = page.locator(".deepmech-explorer").nth(2)
    noise = explorer.locator("input[name=noise]")
    assert noise.input_value() == "0.01"

    box = at_rest(noise)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    dragged = float(noise.input_value())
    assert dragged > 0.014
    assert run_again(page, "noise in Python").startswith(f"noise in Python: {dragged} blocks: 9")

    # In command mode JupyterLab takes the arrow keys for its own, unless it is told not to.
    noise.focus()
    for key in ("ArrowRight", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    pressed = float(noise.input_value())
    assert pressed == pytest.approx(dragged + 0.0005)
    handle = explorer.locator(".handle")
    handle.focus()
    page.keyboard.press("ArrowRight")
    assert float(noise.input_value()) == pytest.approx(pressed + 0.0005)
    assert run_again(page, "noise in Python").startswith(f"noise in Python: {pressed + 0.0005:.4g}")


def test_train_one_trains_in_the_notebook(page: Any) -> None:
    explorer = page.locator(".deepmech-explorer").nth(1)
    explorer.locator("input[name=slope]").focus()
    page.keyboard.press("ArrowRight")
    explorer.get_by_role("button", name="Train", exact=True).click()
    explorer.locator(".slider output", has_text="5 of 5").wait_for(timeout=150_000)
    assert run_again(page, "slope:").startswith("slope: 0.1 epochs: 5")
