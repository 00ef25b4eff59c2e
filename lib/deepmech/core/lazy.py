"""Names that are imported from their modules when they are asked for: those of a package, and those that users give."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def named(reference: str, otherwise: str) -> Any:
    """What ``"module:name"`` stands for.

    Raises
    ------
    ValueError
        If there is no such thing: in the words ``otherwise``, and why.

    Examples
    --------
    >>> named("math:factorial", "a function is needed")(5)
    120
    """
    module, _, name = reference.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{otherwise} ({error})") from None


def homes(
    package: str, names: Mapping[str, Sequence[str]], extra: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], dict[str, str]]:
    """``__getattr__`` and ``__dir__`` of a package whose ``names`` stand by module below it, and each name's module.

    ``extra`` is the part of ``deepmech[...]`` that brings what these modules need.

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
        try:
            value = getattr(import_module(home[name]), name)
        except ModuleNotFoundError as missing:
            if not extra:
                raise
            needs = f"{name} needs {missing.name}: pip install 'deepmech[{extra}]'"
            raise ModuleNotFoundError(needs, name=missing.name) from None
        setattr(sys.modules[package], name, value)  # the next time it is there
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *home}), home
