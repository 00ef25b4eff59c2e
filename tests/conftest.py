"""Settings that every test shares."""

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with many slow tests first, then long ones: small ones are left to fill the end of the shorter queue."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    size = {path: path.stat().st_size for path in {item.path for item in items}}
    items.sort(key=lambda item: (-slow[item.path], -size[item.path], str(item.path)))


# A browser that asks nobody for anything on its own, and finds nobody but this machine.
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium (Playwright's browser object), one per test worker."""
    path = shutil.which("chromium")
    if path is None:
        message = "no chromium on this machine (Debian: apt-get install chromium): pages were not looked at"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
