"""A miniature house: the real configuration and assets around two small notebooks, in a temporary folder."""

import shutil
from pathlib import Path

import pytest

from deepmech.book.sources import House

ROOT = Path(__file__).parents[2]
MINI = Path(__file__).parent / "mini"


def make_house(folder: Path) -> House:
    """A checkout in miniature; its library is one file that nobody imports, there to be edited."""
    shutil.copytree(MINI, folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "book" / "assets", folder / "book" / "assets")
    for name in ("_config.yml", "requirements.lock", "book/references.bib"):
        shutil.copy(ROOT / name, folder / name)
    library = folder / "lib" / "deepmech"
    library.mkdir(parents=True)
    (library / "physics.py").write_text("G = 9.81\n")
    profiles = folder / "notebooks" / "profiles"
    profiles.mkdir()
    (profiles / "quick.yml").write_text("")
    (profiles / "laptop.yml").write_text("springs/one: {points: 41}\n")
    (profiles / "paper.yml").write_text("springs/two: {stiffness: [1.0, 4.0]}\n")
    return House(folder)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return make_house(tmp_path / "house")
