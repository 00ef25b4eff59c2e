"""Experiments of a chapter as a table: by name, what its cells are computed by, what varies, and what is fixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deepmech.core.labels import over
from deepmech.sweeps import Sweep

Row = tuple[Callable[..., dict[str, Any]], Mapping[str, Any], Mapping[str, Any]]
"""A function of what is fixed that returns a sweep's arguments beside its cells; values that vary, by dimension; and
what is fixed. A ``name`` that the function returns has "{}" where the row's stands."""


def experiment(table: Mapping[str, Row], name: str, varied: Any = (), /, **fixed: Any) -> Sweep:
    """A row of a table as a sweep; what a page changes replaces what the row has."""
    if name not in table:
        raise ValueError(f"no experiment {name!r}; the table has {', '.join(table)}")
    described, cells, known = table[name]
    sweep = described(**{**known, **fixed})
    labelled = {dim: over(dim, list(values)) for dim, values in {**cells, **dict(varied)}.items()}
    return Sweep(sweep.pop("name", "{}").format(name), cells=labelled, **sweep)
