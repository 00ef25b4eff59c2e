"""Names of a package that are imported from their modules when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def homes(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], dict[str, str]]:
    """``__getattr__`` and ``__dir__`` of a package whose ``names`` stand by module below it, and each name's module.

    Examples
    --------
    >>> getattr_, dir_, home = homes("deepmech.core", {"labels": ["over", "align"]})
    >>> home["align"], getattr_("over")("slope", [0.0, 1.0]).dims
    ('deepmech.core.labels', ('slope',))
    """
    home = {name: f"{package}.{module}" for module, own in names.items() for name in own}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)  # the next time it is there
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *home}), home
