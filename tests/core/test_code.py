"""What code a function can reach, and that neither results nor compiled code outlive it."""

import compileall
import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from deepmech.core import compiled, provenance
from deepmech.core.random import Stream

PACKAGE = {
    "__init__.py": "from mini.deep import number\n",
    "deep.py": "def number():\n    return 1.0\n",
    "user.py": "from mini import number\n\n\ndef compute():\n    return number()\n",
    "stranger.py": "VALUE = 2\n",
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


def ask(mini: Path, expression: str) -> str:
    """What an expression is worth in a fresh process that sees the package."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(mini.parent), *sys.path])}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # as most users have it
    program = f"from deepmech.core import provenance\nprint({expression})"
    return subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True).stdout


def test_a_name_from_a_package_reaches_what_the_package_hands_on(mini):
    assert ask(mini, "sorted(provenance.own_modules('mini.user'))") == "['mini', 'mini.deep', 'mini.user']\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("deep.py", "1.0", "1.5", True),
        ("deep.py", "1.0", "1.0  # one", False),
        ("deep.py", "def number():", 'def number():\n    """One."""\n', False),
        ("user.py", "return number()", "return number() + 1", True),
        ("stranger.py", "2", "3", False),
    ],
)
def test_only_code_that_is_reached_and_is_code_changes_the_digest(mini, file, old, new, changes):
    before = ask(mini, "provenance.code_hash('mini.user')")
    path = mini / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert (ask(mini, "provenance.code_hash('mini.user')") != before) == changes


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
    assert (provenance.syntax(one.encode()) == provenance.syntax(other.encode())) == same


def test_what_a_sweep_does_not_import_is_none_of_its_code():
    found = provenance.own_modules("deepmech_book.sweeps.spring_block.networks")
    assert {"deepmech_book.sweeps", "deepmech_book.sweeps.spring_block.networks"} <= set(found)
    assert not {m for m in found if m.startswith(("deepmech.", "deepmech_book.claims", "deepmech_book.figures"))}


def test_compiled_code_follows_an_edit_of_an_inlined_function_in_another_file(mini):
    """numba alone goes on running the old function: its file has not changed."""
    value = "__import__('mini.fast', fromlist=['outer']).outer(3.0)"
    assert ask(mini, value) == ask(mini, value) == "6.0\n"
    stamp = (mini / "fast.py").stat()
    (mini / "inner.py").write_text(PACKAGE["inner.py"].replace("2 * x", "5 * x"))
    os.utime(mini / "fast.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert ask(mini, value) == "15.0\n"


def test_a_module_without_source_is_named():
    with pytest.raises(ValueError, match=r"'tomllib\.nowhere'"):
        provenance.code_hash("tomllib.nowhere")


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


def test_states_of_old_code_are_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for name in ("deepmech-0123456789abcdef", "deepmech-results"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    mine = compiled.folder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {mine.name, "deepmech-results"}


def test_no_garbage_is_looked_for_while_code_is_compiled():
    seen = []

    @compiled.intrinsic
    def look(typing):
        seen.append(gc.isenabled())
        return numba.types.void(), lambda context, builder, signature, arguments: context.get_dummy_value()

    @compiled.njit()
    def inner():
        look()

    @compiled.njit()
    def outer(x):
        inner()
        return x.absent

    for collecting in (True, False):
        (gc.enable if collecting else gc.disable)()
        try:
            with pytest.raises(numba.TypingError):
                outer(1.0)
            assert gc.isenabled() == collecting, "as it was before, after an error too"
        finally:
            gc.enable()
    assert seen and not any(seen)
