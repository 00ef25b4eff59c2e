"""What computing costs, by what the results that ship took: ``deepmech plan``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deepmech.sweeps import record
from deepmech.sweeps.results import sweep_in
from deepmech_book.press.sources import clock


def prices(folder: Path, words: str = "") -> Iterator[dict[str, Any]]:
    """A row for each result in ``folder`` with ``words`` in its name: its cells, what one took on the machine that made
    it, what all took, and the sizes (whole numbers above ten) at which that was.

    The price of a sweep that does not ship is that of the most similar one here; cells of larger networks, with more
    data or longer walks take longer than that.
    """
    for path in sorted(path for path in folder.glob("*.nc") if words in path.stem):
        entry = record.entry_of(path)
        sizes = whole_numbers(sweep_in(path).fixed)
        yield {
            "result": path.stem,
            "cells": entry["of"],
            "a cell took": clock(entry["seconds"]),
            "all took": clock(entry["of"] * entry["seconds"]),
            "at": ", ".join(f"{name} {size}" for name, size in sizes.items()),
        }


def whole_numbers(fixed: Mapping[str, Any]) -> dict[str, int]:
    """Parameters that are whole numbers above ten, nested ones too, by their own names.

    Examples
    --------
    >>> whole_numbers({"data": {"name": "mnist", "n_data": 60}, "steps": 500, "chi": [1, 7], "whiten": True})
    {'n_data': 60, 'steps': 500}
    """
    found: dict[str, int] = {}
    for name, value in fixed.items():
        if isinstance(value, Mapping):
            found |= whole_numbers(value)
        elif type(value) is int and value > 10:
            found[name] = value
    return found
