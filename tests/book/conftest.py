"""Fixtures for the press: a miniature checkout in a temporary folder."""

from pathlib import Path

import pytest
from miniature import make_house

from deepmech_book.press.sources import Checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make_house(tmp_path / "checkout")
