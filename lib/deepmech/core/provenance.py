"""Where a result comes from: code, versions, machine, device, precision, time; and how many cores are ours.

Code is sixteen digits of its sources as they were imported (:func:`code_hash`), to which stored results answer: the
whole library, byte by byte, and the modules that the module of a function imports from its own package, or, of a
script, from the folder beside it. Of these the syntax trees count, without docstrings: comments and empty lines of
yours change nothing. Sources are read when their package is imported, and never again: what runs is what was imported,
whatever happens to the files meanwhile.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import modulefinder
import os
import platform
import sys
import threading
from functools import cache
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


def start_worker(share: int) -> None:
    """What a process of a pool does first: trainers and libraries in it use ``share`` cores, and it ends as soon as the
    process that started it has gone, however it went."""
    import multiprocessing.connection  # slow to import, and workers alone need it

    os.environ.update(dict.fromkeys(("DEEPMECH_CORES", *THREADS), str(share)))
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


#: Files of code as they were when their package, or the folder of a script, was first met.
_texts: dict[Path, bytes] = {}
_checked: set[str] = set()
_LIBRARY = Path(__file__).parents[1]


class EditedError(RuntimeError):
    """A file changed between the start of this process and its import, so that the code which runs is not known."""


def read_sources(folder: Path) -> None:
    """Read all code in ``folder``, that of a package with its subfolders; later edits go unnoticed, as they should.

    Of a library without sources this is compiled code, of one in an archive the archive.
    """
    while not folder.exists():
        folder = folder.parent
    if folder.is_file():
        found = iter([folder])
    else:
        package = (folder / "__init__.py").is_file() or (folder / "__init__.pyc").is_file()
        found = (path for end in ("*.py", "*.pyc") for path in (folder.rglob(end) if package else folder.glob(end)))
    for path in found:
        if path not in _texts and path.parent.name != "__pycache__":
            _texts[path] = path.read_bytes()


@cache
def code_hash(module: str) -> str:
    """Sixteen hexadecimal digits of the library, of ``module`` and what it imports of its own package, or beside it,
    and of the versions of torch and numba, which compile and compute what they say.

    Raises
    ------
    ValueError
        If there is no code of that name.
    EditedError
        If a module was imported after its file had been edited.

    Examples
    --------
    >>> len(code_hash("deepmech.core.random"))
    16
    """
    own = own_modules(module)
    for name, loaded in [*sys.modules.items()]:
        path = Path(getattr(loaded, "__file__", None) or "")
        if name not in _checked and (name in own or _LIBRARY in path.parents) and path in _texts:
            if not path.is_file() or path.read_bytes() != _texts[path]:
                raise EditedError(f"{path} was edited while this process ran, and {name} imported: start it again")
            _checked.add(name)
    found = versions("torch", "numba")
    parts = [found.get(name, "none") for name in ("torch", "numba")]
    library = _LIBRARY if _LIBRARY.is_dir() else next(path for path in _LIBRARY.parents if path.is_file())
    parts += [hashlib.sha256(_texts[p]).hexdigest() for p in sorted(_texts) if library in (p, *p.parents)]
    parts += [f"{name} {syntax(_texts[own[name]])}" for name in sorted(own)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def own_modules(module: str) -> dict[str, Path]:
    """Files of ``module`` and of the modules of its own package, or beside it, that it imports, directly or not; none
    of the library's.

    Examples
    --------
    >>> own_modules("deepmech.core.random")
    {}
    """
    top = module.partition(".")[0]
    if top == _LIBRARY.name:
        return {}
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a module that was made in memory
        spec = None
    origin = Path(spec.origin) if spec is not None and spec.origin else Path()
    if origin.suffix not in (".py", ".pyc"):
        raise ValueError(f"module {module!r}: has no Python source here, by which its code could be told from another")
    if origin not in _texts:
        read_sources(origin.parent)
    package = spec is not None and spec.submodule_search_locations is not None
    folder = origin.parent.parent if package else origin.parent
    siblings = {top} if package or "site-packages" in folder.parts else {p.stem for p in folder.iterdir()}

    class Finder(modulefinder.ModuleFinder):
        def find_module(self, name: str, path: Any, parent: Any = None) -> Any:
            if path is None and name not in siblings:
                raise ImportError(name)
            return super().find_module(name, path, parent)

    finder = Finder([str(folder)], excludes=[_LIBRARY.name])
    try:
        finder.import_hook(module)
    except (ImportError, SyntaxError):
        raise ValueError(
            f"module {module!r}: has no Python source here, by which its code could be told from another"
        ) from None
    files = {name: Path(file) for name, found in finder.modules.items() if (file := getattr(found, "__file__", None))}
    for path in files.values():
        if path not in _texts:
            read_sources(path.parent)
    return files


@cache
def syntax(text: bytes) -> str:
    """The syntax tree of a source without docstrings, as text.

    Examples
    --------
    >>> syntax(b'def f(x):\\n    "Twice."\\n\\n    return 2 * x  # why not') == syntax(b'def f(x): return 2*x')
    True
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # compiled
        return hashlib.sha256(text).hexdigest()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                node.body = node.body[1:]
    return ast.dump(tree)


read_sources(_LIBRARY)
