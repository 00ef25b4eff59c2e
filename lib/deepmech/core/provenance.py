"""Where a result comes from: versions, machine, device, precision, time, and the code that a function can reach.

Results and compiled machine code answer to that code, and to no other. A module reaches what it imports from its own
package or from deepmech, anywhere in its text, and what those import; a name taken from a package reaches all that the
package hands on, so that a sweep answers to nearly the whole library. A script of yours reaches the modules beside it,
too. Code is its syntax tree without docstrings: comments and empty lines change nothing.

Sources are read when their package is imported, and never again: what runs is what was imported, whatever happens to
the files meanwhile.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import marshal
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def versions(*packages: str) -> dict[str, str]:
    """Installed versions; a package that is absent is left out."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and deepmech itself does without

    found = {"python": platform.python_version()}
    for package in packages or ("deepmech", "numpy", "scipy", "xarray", "numba", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def versions_in_words() -> str:
    """:func:`versions` as one line; two results come from the same software where these lines are equal."""
    return ", ".join(f"{k} {v}" for k, v in versions().items())


def cores() -> int:
    """How many cores this process may use: those it is bound to, or its share of them (``DEEPMECH_CORES``)."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = os.environ.get("DEEPMECH_CORES", "")
    if share and not (share.isdigit() and int(share) >= 1):
        raise ValueError(f"DEEPMECH_CORES = {share!r}: must be a whole number, at least 1")
    return min(bound, int(share)) if share else bound


#: What libraries ask for the number of their threads.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@contextmanager
def shared_by(processes: int) -> Iterator[None]:
    """Processes started within share this one's cores evenly: trainers and libraries in each use no more."""
    if processes == 1:
        yield
        return
    share = str(max(1, cores() // processes))
    before = {name: os.environ.get(name) for name in ("DEEPMECH_CORES", *THREADS)}
    os.environ.update(dict.fromkeys(before, share))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@cache
def processor() -> str:
    """The processor's maker, model and family; clouds give processors of several families one name."""
    model = platform.processor() or platform.machine()
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:  # not Linux
        return model
    known = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first.splitlines())}
    numbers = " ".join(f"{name} {known[name]}" for name in ("cpu family", "model") if name in known)
    return f"{known.get('model name', model)}{f' ({numbers})' if numbers else ''}"


def leave_with_parent() -> None:
    """End this process as soon as the one that started it has gone, however it went."""
    import multiprocessing.connection  # slow to import, and workers alone need it

    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def machine() -> str:
    """Processor, cores and threads of libraries that this process may use, in words; no host name.

    Where processor and versions are equal, so are the last bits of sums and products.
    """
    return f"{processor()}, {cores()} cores, {os.environ.get('OMP_NUM_THREADS') or cores()} threads of libraries"


def attributes(
    *, spec: str, seed: int | str, device: str = "cpu", dtype: str = "float64", wall_seconds: float
) -> dict[str, Any]:
    """Attributes that every result Dataset carries (netCDF-friendly: strings and numbers only)."""
    return {
        "spec": spec,
        "seed": seed,
        "versions": versions_in_words(),
        "machine": machine(),
        "device": device,
        "dtype": dtype,
        "wall_seconds": round(wall_seconds, 3),
    }


_PACKAGE = __package__.partition(".")[0]
#: Files as they were when their package, or the folder of a script, was first met; and modules known to be of them.
_texts: dict[Path, bytes] = {}
_imported: set[str] = set()


class Edited(RuntimeError):
    """A file changed between the start of this process and its import, so nobody can say which code runs."""


def remember(folder: Path) -> None:
    """Read all sources in ``folder``, those of a package with their rooms; later edits go unnoticed, as they should."""
    inside = folder.rglob("*.py") if (folder / "__init__.py").is_file() else folder.glob("*.py")
    for path in inside:
        if path not in _texts:
            _texts[path] = path.read_bytes()


def digest(module: str) -> str:
    """Sixteen hexadecimal digits of the code of ``module`` and of everything of ours that it imports.

    A ValueError if there is no source of that name; :class:`Edited` if a module was imported after its file had been
    edited.

    Examples
    --------
    >>> digest("deepmech.core.provenance") == digest("deepmech.core.provenance")
    True
    """
    names = reach(module)
    for name in (n for n in names if n in sys.modules and n not in _imported):
        path = source(name)
        if not path.is_file() or path.read_bytes() != _text(path):
            raise Edited(f"{path} was edited while this process ran, and {name} imported since: start it again")
        if _runs_older_code(path):
            raise Edited(
                f"{path} was edited and kept its size and time, so that Python runs the code that it compiled before: "
                f"delete {importlib.util.cache_from_source(str(path))} and start again"
            )
        _imported.add(name)
    return _digest(names)


def _runs_older_code(path: Path) -> bool:
    """Whether Python takes compiled code of a source that is not what the source says now."""
    try:
        compiled = Path(importlib.util.cache_from_source(str(path)))
        source_now, compiled_then = path.stat(), compiled.stat()
        if compiled_then.st_mtime_ns > source_now.st_ctime_ns:  # written after the last change, which has no other time
            return False
        content = compiled.read_bytes()
    except (OSError, NotImplementedError):  # none is kept
        return False
    head = [int.from_bytes(content[i : i + 4], "little") for i in (4, 8, 12)]
    taken = head == [0, int(source_now.st_mtime) & 0xFFFFFFFF, source_now.st_size & 0xFFFFFFFF]
    if not taken or content[:4] != importlib.util.MAGIC_NUMBER:
        return False
    return bool(marshal.loads(content[16:]) != compile(_text(path), str(path), "exec", dont_inherit=True))


@cache
def complete(module: str) -> str:
    """:func:`digest`, with the versions of torch and numba, which compile and compute what it says."""
    found = versions("torch", "numba")
    compilers = (f"{name} {found[name]}" if name in found else f"no {name}" for name in ("torch", "numba"))
    return hashlib.sha256(" ".join([digest(module), *compilers]).encode()).hexdigest()[:16]


@cache
def reach(module: str) -> tuple[str, ...]:
    """``module`` and the modules of ours that it imports, directly or not, by name in alphabetical order.

    Examples
    --------
    >>> reach("deepmech.core.random")
    ('deepmech.core', 'deepmech.core.compiled', 'deepmech.core.provenance', 'deepmech.core.random')
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
    if path.suffix == ".py" and path not in _texts:
        remember(path.parent)
    if rest:
        inside = path.parent.joinpath(*rest)
        path = inside / "__init__.py" if inside / "__init__.py" in _texts else inside.with_suffix(".py")
    if path not in _texts:
        raise ValueError(f"module {module!r}: has no Python source here, so nobody can say what code it is")
    return path


@cache
def syntax(text: bytes) -> str:
    """The syntax tree of a source without docstrings, as text.

    Examples
    --------
    >>> syntax(b'def f(x):\\n    "Twice."\\n\\n    return 2 * x  # why not') == syntax(b'def f(x): return 2*x')
    True
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                node.body = node.body[1:]
    return ast.dump(tree)


@cache
def _digest(modules: tuple[str, ...]) -> str:
    hashed = hashlib.sha256()
    for name in modules:
        hashed.update(f"{name}\0{syntax(_text(source(name)))}\0".encode())
    return hashed.hexdigest()[:16]


def _text(path: Path) -> bytes:
    return _texts[path]


def _imports(module: str) -> list[str]:
    """Modules of ours that the text of ``module`` imports from."""
    path = source(module)
    inside = module if path.name == "__init__.py" else module.rpartition(".")[0]
    ours = {_PACKAGE, module.partition(".")[0]}
    if not inside:  # a script: what lies beside it is its own
        ours |= {p.stem for p in _texts if p.parent == path.parent}
        ours |= {p.parent.name for p in path.parent.glob("*/__init__.py")}
    found: list[str] = []
    for node in ast.walk(ast.parse(_text(path))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = inside.split(".")[: len(inside.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return [name for name in found if name.partition(".")[0] in ours and _is_module(name)]


def _is_module(name: str) -> bool:
    try:
        return source(name).is_file()
    except ValueError:
        return False


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


remember(Path(__file__).parents[1])
