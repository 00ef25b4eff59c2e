"""Names that are imported from their modules when they are asked for: those of a package, and those that users give."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def named(reference: str, otherwise: str) -> Any:
    """What ``"module:name"`` stands for; if there is no such thing, a ValueError: ``otherwise``, and why.

    Examples
    --------
    >>> named("math:factorial", "a function is needed")(5)
    120
    """
    where, _, name = reference.partition(":")
    try:
        found = import_module(where)
    except ValueError as error:  # no name of a module
        raise ValueError(f"{otherwise} ({error})") from None
    except ModuleNotFoundError as error:
        if error.name is None or not f"{where}.".startswith(f"{error.name}."):
            raise  # it is there, and lacks something itself
        raise ValueError(f"{otherwise} ({error})") from None
    if not hasattr(found, name):
        raise ValueError(f"{otherwise} (module {where!r} has no {name!r})")
    return getattr(found, name)


def homes(package: str, extra: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]], dict[str, str]]:
    """``__getattr__`` and ``__dir__`` of a package, and the module of each name that it imports under TYPE_CHECKING.

    Type checkers read those imports, and so does this: a name stands there and nowhere else. ``extra`` is the part of
    ``deepmech[...]`` that brings what these modules need.

    Examples
    --------
    >>> getattr_, dir_, home = homes("deepmech")
    >>> home["over"], getattr_("over")("slope", [0.0, 1.0]).dims
    ('deepmech.core.labels', ('slope',))
    """
    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8"))
    typed = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    home = {alias.name: str(node.module) for node in imports for alias in node.names}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(home[name]), name)
        except ModuleNotFoundError as missing:
            if not extra:
                raise
            needs = f"{name} needs {missing.name}: pip install '.[{extra}]' in the folder of the repository"
            raise ModuleNotFoundError(needs, name=missing.name) from None
        setattr(sys.modules[package], name, value)  # the next time it is there
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *home}), home
