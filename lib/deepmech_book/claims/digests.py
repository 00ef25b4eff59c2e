"""What decides a claim but its runs, as two digests: of its rule, and of how it is measured, in words and in code.

The code is the syntax, without docstrings and comments, of the claim's function and of the functions, classes and
constants of the book that it names, and so on. The library counts by its names, and so does the judge. Which runs a
page hands over is not seen.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from importlib import import_module
from typing import Any

from deepmech.core.specs import digest
from deepmech_book.claims.registry import Claim

_HOUSE = __package__.partition(".")[0] + "."
_JUDGE = tuple(f"{__package__}.{name}" for name in ("display", "functions", "registry", "rules"))


def of_rule(claim: Claim) -> str:
    """A digest of what a number has to satisfy."""
    nulls = claim.against is not None, claim.better_than_null, bool(claim.first_null)
    return digest([claim.rule.to_json(), claim.expected, *nulls])[:8]


def of_measure(claim: Claim, by: Any) -> str:
    """A digest of what is measured of runs and of the null: in words, and in the code of the claim's function."""
    code: dict[Any, str] = {}
    _follow(by.function.__module__, by.function.__name__, code)
    return digest([claim.measure, claim.against, claim.first_null, *code.values()])[:8]


def _follow(module: str, name: str, code: dict[Any, str]) -> None:
    """Add the syntax of a name of the book and of all that it names, each once, in the order in which they are met."""
    if not module.startswith(_HOUSE) or module in _JUDGE or (module, name) in code:
        return
    heads = _heads(module)
    if isinstance(node := heads.get(name), tuple):
        _follow(node[0], node[1], code)
    elif node is not None:
        code[module, name] = ast.dump(node)
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                _follow(module, part.id, code)
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                of = heads.get(part.value.id)
                if isinstance(of, tuple) and of[0].startswith(_HOUSE) and of[1] not in _heads(of[0]):  # a module
                    _follow(".".join(of), part.attr, code)


@cache
def _heads(module: str) -> dict[str, Any]:
    """By name the statement of a module that makes it, or the module and the name that it is imported from."""
    found: dict[str, Any] = {}
    tree = ast.parse(inspect.getsource(import_module(module)))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {one.asname or one.name: (str(node.module), one.name) for one in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {part.id: node for one in targets for part in ast.walk(one) if isinstance(part, ast.Name)}
    return found
