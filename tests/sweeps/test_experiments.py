"""The tables of experiments: what ships answers to their rows."""

from importlib import import_module
from pathlib import Path

import pytest

from deepmech_book.claims.registry import CHAPTERS

RESULTS = Path(__file__).parents[2] / "book" / "results"
ROOMS = [path.parent.name for path in Path(import_module("deepmech_book").__file__).parent.glob("*/experiments.py")]
TABLES = {c: import_module(f"deepmech_book.{c}.experiments") for c in CHAPTERS if c in ROOMS}


@pytest.mark.parametrize(("chapter", "name"), [(c, name) for c, table in TABLES.items() for name in table.EXPERIMENTS])
def test_a_row_has_the_key_of_what_ships_until_a_page_changes_it(chapter, name):
    experiment = TABLES[chapter].experiment
    sweep = experiment(name)
    assert (RESULTS / f"{sweep.name}-{sweep.key}.nc").is_file()
    assert experiment(name, {"seed": range(1, 3)}).key != sweep.key


def test_an_unknown_experiment_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match=r"no experiment 'glass-formers'; the table has glass-former, "):
        TABLES["glass"].experiment("glass-formers")
