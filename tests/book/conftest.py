"""Fixtures for the press: a miniature checkout in a temporary folder."""

from pathlib import Path

import pytest
from miniature import make_house

from deepmech.core import provenance
from deepmech_book.press import kernels, press
from deepmech_book.press.sources import Checkout


@pytest.fixture(scope="session", autouse=True)
def warm() -> None:
    """Notebooks are forked from a process that has done their imports, as in a build of the whole book."""
    kernels.warm(press.thread_limits(provenance.cores()), kernels.WORTH)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make_house(tmp_path / "checkout")
