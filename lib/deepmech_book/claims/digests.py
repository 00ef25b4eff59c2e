"""What decides a claim but its runs, as two digests: of its rule, and of how it is measured, in words and in code.

The code is that of the claim's function and of all functions and classes of the book that it reaches, as syntax,
without docstrings, comments and annotations. Local names are numbered, and in the place of the name of a function, or
of a number at the head of a module, stands what it is: what is renamed or moved is as before. What is of the library,
or of others, counts by its name. Which runs a page hands over is not seen.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from deepmech.core.specs import digest
from deepmech_book.claims.registry import Claim

_HOUSE = __package__.rpartition(".")[0]
_OUTSIDE = tuple(f"{__package__}.{name}" for name in ("display", "functions", "registry", "rules"))
"""The judge, which counts by its names, as libraries do."""
_DATA = bool | int | float | str | range | slice | np.ndarray | np.number
_NAMED = {ast.Name: "id", ast.arg: "arg", ast.FunctionDef: "name", ast.ClassDef: "name", ast.ExceptHandler: "name"}
_UNSAID = ("annotation", "returns", "decorator_list", "type_comment", "type_params", "kind", "ctx")


def of_rule(claim: Claim) -> str:
    """A digest of what a number has to satisfy."""
    nulls = claim.against is not None, claim.better_than_null, bool(claim.first_null)
    return digest([claim.rule.to_json(), claim.expected, *nulls])[:8]


def of_measure(claim: Claim, function: Any) -> str:
    """A digest of what is measured of runs and of the null: in words, and the function that does."""
    return digest([claim.measure, claim.against, claim.first_null, _Reader().meant(function)])[:8]


class _Reader:
    """What code of the book means, as plain data; each function and class is read once, in the order it is met."""

    def __init__(self) -> None:
        self.known: dict[Any, str] = {}

    def meant(self, value: Any) -> Any:
        """What a name stands for."""
        value = value.function if hasattr(value, "ids") else value  # what measures a claim
        value = inspect.unwrap(getattr(value, "py_func", value)) if callable(value) else value
        if isinstance(value, Mapping):
            return sorted([str(key), self.meant(one)] for key, one in value.items())
        if isinstance(value, list | tuple | set | frozenset):
            each = [self.meant(one) for one in value]
            return sorted(each, key=repr) if isinstance(value, set | frozenset) else each
        if value is None or isinstance(value, _DATA):
            return repr(value.tolist() if isinstance(value, np.ndarray | np.number) else value)
        if not (inspect.isfunction(value) or inspect.isclass(value)):
            return f"a {type(value).__name__}"
        name = f"{value.__module__}."
        if not name.startswith(f"{_HOUSE}.") or name.startswith(_OUTSIDE):
            return f"{name.partition('.')[0]}:{value.__qualname__}"
        if value not in self.known:
            self.known[value] = value.__name__  # of one that calls itself
            self.known[value] = digest(self.syntax(value))
        return self.known[value]

    def syntax(self, value: Any) -> Any:
        """A function or class of the book."""
        code = getattr(value, "__code__", None)
        starts = value.__name__ if code is None else code.co_firstlineno
        nodes = [node for node, at in _nodes(inspect.getfile(value), code is None) if at == starts]
        scope = dict(vars(inspect.getmodule(value)))
        scope |= {} if code is None else inspect.getclosurevars(value).nonlocals
        inside = [n for node in nodes for n in ast.walk(node) if n is not node]
        bound = [n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        bound += [n.arg for n in inside if isinstance(n, ast.arg)]
        bound += [str(n.name) for n in inside if isinstance(n, ast.FunctionDef | ast.ExceptHandler)]
        return [self.plain(node, scope, list(dict.fromkeys(bound))) for node in nodes]

    def plain(self, node: Any, scope: Mapping[str, Any], bound: list[str]) -> Any:
        """A part of the syntax, with what its names mean in the place of these."""
        if isinstance(node, list):
            return [self.plain(one, scope, bound) for one in node]
        if not isinstance(node, ast.AST):
            return repr(node)
        if isinstance(node, ast.Attribute | ast.Name) and (named := self.named(node, scope, bound)) is not None:
            return named
        parts = {name: part for name, part in ast.iter_fields(node) if name not in _UNSAID and part not in (None, [])}
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            parts["body"] = parts["body"][1:]
        if name := _NAMED.get(type(node)):
            own = parts.pop(name, None)  # of the function itself nothing, which is met by its name
            parts |= {"bound": bound.index(own)} if own in bound else {name: own} if name == "id" else {}
        return [type(node).__name__, *([name, self.plain(part, scope, bound)] for name, part in parts.items())]

    def named(self, node: Any, scope: Mapping[str, Any], bound: list[str]) -> Any:
        """What a name at the head of a module, or of another module, means; None if it is none."""
        chain: list[str] = []
        while isinstance(node, ast.Attribute):
            node, chain = node.value, [node.attr, *chain]
        value = scope.get(node.id, getattr(builtins, node.id, None)) if isinstance(node, ast.Name) else None
        if value is None or node.id in bound or (chain and not isinstance(value, ModuleType)):
            return None
        while chain and isinstance(value, ModuleType) and value.__name__.startswith(_HOUSE):
            value, *chain = getattr(value, chain[0]), *chain[1:]
        return [value.__name__ if isinstance(value, ModuleType) else self.meant(value), *chain]


@cache
def _nodes(file: str, classes: bool) -> list[tuple[Any, Any]]:
    """All functions of a file with the line at which Python has them begin, or all classes with their names."""
    tree = list(ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))))
    if classes:
        return [(one, one.name) for one in tree if isinstance(one, ast.ClassDef)]
    made = [one for one in tree if isinstance(one, ast.FunctionDef | ast.Lambda)]
    return [(one, min([one.lineno, *(by.lineno for by in getattr(one, "decorator_list", []))])) for one in made]
