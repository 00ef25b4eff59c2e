"""Fixtures for the press: a miniature house in a temporary folder."""

from pathlib import Path

import pytest
from miniature import make_house

from deepmech_book.press.sources import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    return make_house(tmp_path / "house")
