"""The code that a function can reach: results and compiled machine code answer to it, and to no other.

A module reaches what it imports from its own package or from deepmech, anywhere in its text, and what those import. A
name taken from a package counts as the module that defines it, so that a room's front door does not drag in the whole
room. Comments, docstrings and empty lines are no code: to change them changes no digest.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import tokenize
from functools import cache
from pathlib import Path

_PACKAGE = __package__.partition(".")[0]


@cache
def digest(module: str) -> str:
    """Sixteen hexadecimal digits of the code of ``module`` and of everything of ours that it imports.

    A ValueError if there is no source of that name.

    Examples
    --------
    >>> digest("deepmech.core.code") == digest("deepmech.core.code")
    True
    """
    hashed = hashlib.sha256()
    for name in reach(module):
        hashed.update(f"{name}\0{_bare(source(name))}\0".encode())
    return hashed.hexdigest()[:16]


@cache
def reach(module: str) -> tuple[str, ...]:
    """``module`` and the modules of ours that it imports, directly or not, by name in alphabetical order.

    Examples
    --------
    >>> reach("deepmech.core.random")
    ('deepmech.core.code', 'deepmech.core.compiled', 'deepmech.core.philox', 'deepmech.core.random')
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(name)
    return tuple(sorted(found))


@cache
def source(module: str) -> Path:
    """The file of a module, which is not imported; a ValueError if there is none."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a module that was made in memory
        spec = None
    path = Path(spec.origin) if spec is not None and spec.origin else Path()
    if rest:
        inside = path.parent.joinpath(*rest)
        path = inside / "__init__.py" if inside.is_dir() else inside.with_suffix(".py")
    if path.suffix != ".py" or not path.is_file():
        raise ValueError(f"module {module!r}: has no Python source here, so nobody can say what code it is")
    return path


def bare(text: str) -> str:
    """Python code without comments, docstrings and empty lines.

    Examples
    --------
    >>> bare('def f(x):\\n    "Twice."\\n\\n    return 2 * x  # why not')
    'def f(x):\\n    return 2 * x'
    """
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                lines[first.lineno - 1 : first.end_lineno] = [""] * (
                    (first.end_lineno or first.lineno) - first.lineno + 1
                )
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _imports(module: str) -> list[str]:
    """Modules of ours that the text of ``module`` imports from."""
    path, own = source(module), {_PACKAGE, module.partition(".")[0]}
    inside = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.partition(".")[0] in own]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*inside.split(".")[: len(inside.split(".")) - node.level + 1], *filter(None, [base])])
            if base.partition(".")[0] in own:
                found += [_home(base, a.name) for a in node.names]
    return found


def _home(module: str, name: str) -> str:
    """The module that ``name``, taken from ``module``, is defined in."""
    path = source(module)
    if path.name != "__init__.py":
        return module
    if (path.parent / f"{name}.py").is_file() or (path.parent / name / "__init__.py").is_file():
        return f"{module}.{name}"
    for node in ast.walk(_tree(path)):  # names that come when they are asked for stand under TYPE_CHECKING
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    ours = node.module.partition(".")[0] in (_PACKAGE, module.partition(".")[0])
                    return _home(node.module, alias.name) if ours else module
    return module


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _bare(path: Path) -> str:
    return bare(path.read_text(encoding="utf-8"))
