"""Settings that every test shares."""

import gc
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# One test worker per core: numerical libraries must not start more threads of their own.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# A shared machine stalls at times: examples are bounded by their number, not by a clock.
settings.register_profile("deepmech", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("deepmech")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What looks at pages in a browser is slow; files with many slow tests come first, then long ones: small ones are
    left to fill the end of the shorter queue."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    size = {path: path.stat().st_size for path in {item.path for item in items}}
    items.sort(key=lambda item: (-slow[item.path], -size[item.path], str(item.path)))


def pytest_collection_finish() -> None:
    """What was imported until now is no garbage, through which collections would look again and again."""
    gc.collect()
    gc.freeze()


# A browser that asks nobody for anything on its own, and finds nobody but this machine.
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]  # fmt: skip


def browser() -> str | None:
    """The program of a Chromium on this machine."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


NO_BROWSER = "no Chromium on this machine (Debian: apt-get install chromium)"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium (Playwright's browser object), one per test worker."""
    path = browser()
    if path is None:
        # Where all has to be tested (``make test-all``, a public host) it has to be there.
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(NO_BROWSER)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        driven = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield driven
        driven.close()


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line says how many tests did not run, why, and how to get them."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or hasattr(config, "workerinput"):
        return
    why = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminal.stats.get("skipped", []))
    if why:
        told = ", ".join(f"{many}: {reason}" for reason, many in why.most_common())
        terminal.write_line(f"{why.total()} tests did not run ({told}); see CONTRIBUTING.md")
