"""What counts as the code of a sweep's function, and that compiled code outlives neither an edit nor a broken file."""

import compileall
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deepmech.core import compiled, provenance
from deepmech.core.random import Stream

PACKAGE = {
    "__init__.py": "",
    "fast.py": "from deepmech.core.compiled import njit\nfrom mini.inner import inner\n\n\n"
    "@njit(cache=True)\ndef outer(x):\n    return inner(x)\n",
    "inner.py": "from deepmech.core.compiled import njit\n\n\n"
    "@njit(inline='always')\ndef inner(x):\n    return 2 * x\n",
}


@pytest.fixture
def mini(tmp_path):
    folder = tmp_path / "mini"
    folder.mkdir()
    for name, text in PACKAGE.items():
        (folder / name).write_text(text)
    return folder


def outer_of_3(mini: Path) -> float:
    """What the compiled function is worth in a fresh process, whose cache lies beside the package."""
    path = os.pathsep.join([str(mini.parent), *sys.path])
    env = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(mini.parent / "cache")}
    program = [sys.executable, "-c", "from mini.fast import outer\nprint(outer(3.0))"]
    return float(subprocess.run(program, env=env, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('"""Doc."""\nx = "# no"  # a comment\n', 'x = "# no"', True),
        ('class A:\n    """Doc."""\n\n    y = 1\n', "class A:\n    y = 1", True),
        ('y = """not\n\na docstring"""', 'y = """not\na docstring"""', False),  # empty lines of a text are code
        ('def f(): "Doc."; return 2', "def f(): return 2", True),
        ('def f(): "Doc."; return 2', 'def f(): "Doc."; return 3', False),
        ("x = (1)", "x = 1", True),
    ],
)
def test_code_is_its_syntax_tree_without_docstrings(one, other, same):
    assert (provenance.without_docstrings(one) == provenance.without_docstrings(other)) == same


def test_compiled_code_follows_an_edit_of_an_inlined_function_in_another_file(mini):
    """numba alone goes on running the old function: its file has not changed."""
    assert outer_of_3(mini) == outer_of_3(mini) == 6.0
    (mini / "inner.py").write_text(PACKAGE["inner.py"].replace("2 * x", "5 * x"))
    assert outer_of_3(mini) == 15.0


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("length", [0, 1, 0.5, -1])
def test_an_index_or_machine_code_that_was_cut_short_is_compiled_again(mini, kind, length):
    """As a kill or a full disk leaves them; numba alone ends in an EOFError at each call."""
    outer_of_3(mini)
    (file,) = (mini.parent / "cache").rglob(f"*.{kind}")
    whole = file.read_bytes()
    file.write_bytes(whole[: int(length * len(whole)) if length == 0.5 else length])
    assert outer_of_3(mini) == 6.0
    assert file.stat().st_size == len(whole), "and kept again"


def test_a_module_that_is_not_found_is_named():
    for name in ("tomllib.nowhere", "nowhere.at_all", "__main__x"):
        with pytest.raises(ValueError, match=f"{name!r}: is not found"):
            provenance.code_hash(name)


def test_every_compiled_function_of_the_library_is_kept_by_the_digest_of_its_code():
    """Nobody takes numba's own ``njit``, whose cache misses edits of other files."""
    library = Path(provenance.__file__).parents[2]
    ours = [p for name in ("deepmech", "deepmech_book") for p in (library / name).rglob("*.py")]
    takers = [p.name for p in ours if "import njit" in p.read_text() and p.name != "compiled.py"]
    wrong = [p.name for p in ours if "from numba import njit" in p.read_text()]
    assert takers and not wrong
    of_core = {p.name for p in ours if p.parent.name == "core" and "import njit" in p.read_text()}
    assert of_core <= set(compiled.COMPILED), "an edit of these has to be seen wherever something is compiled"


EVERYTHING = """
import deepmech
from deepmech.core import provenance, random

assert not deepmech.__file__.endswith("__init__.py") or ".zip" in deepmech.__file__
names = [getattr(deepmech, name) for name in deepmech.__all__]
total = random.Stream.of("doctest", 0).normal("noise", 3, 5).sum()
print(len(names), total, provenance.code_hash("deepmech.sweeps.sweep"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["compiled files", "archive"])
def test_the_library_works_without_its_sources(tmp_path, form):
    """From compiled files alone, as some distributions ship, and from an archive."""
    library = Path(provenance.__file__).parents[1]
    if form == "archive":
        place = Path(shutil.make_archive(str(tmp_path / "library"), "zip", library.parent, library.name))
    else:
        place = tmp_path / "library"
        shutil.copytree(library, place / library.name, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(place, quiet=1, legacy=True)
        for source in place.rglob("*.py"):
            source.unlink()
    env = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run([sys.executable, "-c", EVERYTHING], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    many, total, code = done.stdout.split()
    assert int(many) > 20 and float(total) == Stream.of("doctest", 0).normal("noise", 3, 5).sum() and len(code) == 16
