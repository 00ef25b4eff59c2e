"""Fixtures for the build: a miniature checkout in a temporary folder."""

from pathlib import Path

import pytest
from miniature import make_checkout

from deepmech_book.build.sources import Checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make_checkout(tmp_path / "checkout")
