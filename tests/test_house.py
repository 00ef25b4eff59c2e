"""The house itself: style, types, layers, declared dependencies, sources fit to be shared."""

import ast
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

import deepmech
from deepmech_book.build.sources import PROFILES, Checkout
from deepmech_book.claims.registry import CHAPTERS

ROOT = Path(__file__).parents[1]
HOUSE = Checkout(ROOT)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Benchmarks alone want what is in "peers": neither the lock nor the environment has it.
LOCKED = set(EXTRAS) - {"peers"}
DECLARED = [*PROJECT["dependencies"], *(line for name in LOCKED for line in EXTRAS[name])]
BOOK_ONLY = ["jupyter_book", "jupytext", "papermill", "ipykernel", "ipywidgets", "anywidget", "sphinx", "docutils",
             "IPython", "nbformat", "yaml"]  # fmt: skip


def tracked() -> list[Path]:
    """Files that belong to the repository; everything but what .gitignore names, where there is no git."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [ROOT / line for line in done.stdout.splitlines() if (ROOT / line).is_file()]


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "lib", "tests", "benchmarks"], ["mypy"], ["lint-imports"]],
    ids=["ruff", "format", "mypy", "layers"],
)
def test_style_types_and_layers(command):
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_folder_of_ours_hides_from_the_checks_behind_a_name_that_tools_leave_out_by_default():
    """Git, ruff and pytest know folders that they skip, such as build."""
    program = Path(sys.executable).with_name("ruff")
    done = subprocess.run([program, "check", "--show-files", "."], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {p for p in tracked() if p.suffix == ".py"} <= {Path(line) for line in done.stdout.splitlines()}
    skipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["norecursedirs"]
    folders = {part for p in (ROOT / "lib").rglob("*.py") for part in p.relative_to(ROOT).parts}
    assert not [f for f in folders if any(fnmatch(f, pattern) for pattern in skipped)]
    ours = [str(p) for p in (ROOT / "lib").rglob("*.py")]
    done = subprocess.run(["git", "check-ignore", *ours], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == ""


@pytest.mark.parametrize(("surroundings", "status"), [({}, 0), ({"CI": "true"}, 1)])
def test_without_a_browser_the_last_line_says_so_and_where_it_has_to_be_there_that_fails(
    tmp_path, surroundings, status
):
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_page.py").write_text("def test_page(chromium): pass\ndef test_other(): pass\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST") and k != "CI"}
    here = {**clean, "PATH": str(tmp_path), **surroundings}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    last = (
        "1 tests did not run (1: no Chromium on this machine (Debian: apt-get install chromium)); see CONTRIBUTING.md"
    )
    assert (done.stdout.splitlines()[-1] == last) == (status == 0) and "no Chromium" in done.stdout


def lacking(thing: object) -> list[str]:
    """What the docstring of a function or class lacks of numpydoc: sections, arguments, types of arguments."""
    text, source = inspect.getdoc(thing) or "", inspect.getsource(thing)
    sections = dict(re.findall(r"^(\w+)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL))
    wanted, arguments = {"Examples"}, set()
    if inspect.isclass(thing):
        wanted |= set() if "Attributes" in sections else {"Parameters"}
    else:
        signature = inspect.signature(thing)
        arguments = set(signature.parameters)
        wanted |= {"Parameters"} if arguments else set()
        wanted |= {"Returns"} if signature.return_annotation not in (None, "None") else set()
        wanted |= {"Raises"} if re.search(r"\braise |\bcheck\w*[.(]", source) else set()
    heads = [line for line in sections.get("Parameters", "").splitlines() if line and not line.startswith(" ")]
    named = set(re.findall(r"\w+", " ".join(head.split(" : ")[0] for head in heads)))
    # Several that another docstring explains stand in one line, without types.
    untyped = [
        head for head in heads if " : " not in head and not re.search(rf"{re.escape(head)}\n    As (for|of)", text)
    ]
    return sorted(wanted - sections.keys()) + sorted(arguments - named) + untyped


def test_what_packages_hand_on_says_what_it_takes_returns_and_raises_with_an_example():
    packages = ["deepmech", *(m.name for m in pkgutil.walk_packages(deepmech.__path__, "deepmech.") if m.ispkg)]
    things = {}
    for package in map(importlib.import_module, packages):
        for thing in (getattr(package, name) for name in getattr(package, "__all__", ())):
            error = inspect.isclass(thing) and issubclass(thing, Exception)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and not error:
                things[f"{thing.__module__}.{thing.__qualname__}"] = thing
    assert len(things) > 50
    assert {name: lacks for name, thing in things.items() if (lacks := lacking(thing))} == {}


def requirement(line: str) -> tuple[str, str]:
    name = re.match(r"[\w.-]+", line)
    assert name, line
    return name[0].lower().replace("_", "-"), line[name.end() :]


def test_the_conda_environment_installs_the_project_with_every_extra_of_the_lock():
    *conda, pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (line,) = pip["pip"]
    assert sorted(re.fullmatch(r"-e \.\[([\w,]+)\]", line)[1].split(",")) == sorted(LOCKED)
    assert f"python{PROJECT['requires-python']}" in conda and "pip" in conda


def test_the_lock_pins_every_dependency_within_its_bounds():
    from packaging.requirements import Requirement

    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines), (
        "name==version only: no hosts, no local builds"
    )
    pinned = {requirement(line)[0]: line.split("==")[1] for line in lines}
    for line in DECLARED:
        wanted = Requirement(line)
        name = wanted.name.lower().replace("_", "-")
        assert name in pinned, f"{name} is declared but not locked"
        assert wanted.specifier.contains(pinned[name]), f"{line}: the lock has {pinned[name]}"


# Modules whose package has another name, and modules that belong to what another package offers.
PACKAGE = {
    "yaml": "pyyaml",
    "sklearn": "scikit-learn",
    "bs4": "beautifulsoup4",
    "py_mini_racer": "mini-racer",
    "pybtex": "jupyter-book",
    "PIL": "matplotlib",
    "llvmlite": "numba",
    "traitlets": "anywidget",
    "nbformat": "papermill",
    "jupyter_client": "ipykernel",
    "IPython": "ipykernel",
    "docutils": "jupyter-book",
    "markdown_it": "jupyter-book",
    "sphinx": "jupyter-book",
    "sphinx_external_toc": "jupyter-book",
    "packaging": "pytest",
}
# Why a declared package is imported nowhere.
NOT_IMPORTED = {
    "h5netcdf": "xarray reads and writes results with it",
    "sphinx-mathjax-offline": "an extension that _config.yml names",
    "ipywidgets": "links explorers on the page of the chain's explorer",
    "dask": "the programs dask scheduler and dask worker",
    "pytest-xdist": "options in the Makefile",
    "pytest-timeout": "options in pyproject.toml",
    "jupyterlab": "a program",
    "jupyterlab-myst": "an extension of JupyterLab",
    "ruff": "a program",
    "mypy": "a program",
    "import-linter": "a program",
    "types-pyyaml": "read by mypy",
    "types-tqdm": "read by mypy",
}


def imported(*folders: str) -> set[str]:
    """Packages from elsewhere that the Python files below some folders import."""
    names: set[str] = set()
    for path in (p for folder in folders for p in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module or "")
    ours = {"deepmech", "deepmech_book"}
    ours |= {p.stem for folder in ("tests", "benchmarks") for p in (ROOT / folder).rglob("*.py")}
    tops = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - ours
    return {PACKAGE.get(name, name.lower().replace("_", "-")) for name in tops}


def test_every_package_has_a_layer():
    contracts = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    packages = {f"{one.parent.parent.name}.{one.parent.name}" for one in (ROOT / "lib").glob("*/*/__init__.py")}
    assert not {name for name in packages if not re.search(rf"\b{name}\b(?!\.)", contracts)}


def test_what_is_imported_is_declared_and_what_is_declared_is_used():
    extras = {name: {requirement(line)[0] for line in lines} for name, lines in EXTRAS.items()}
    base = {requirement(line)[0] for line in PROJECT["dependencies"]}
    library, sweeps = imported("lib/deepmech"), imported("lib/deepmech_book/sweeps")
    assert library - base - extras["cluster"] == set()
    assert sweeps - base == set()
    assert imported("lib") - base - extras["cluster"] - extras["book"] == set()
    declared = base.union(*extras.values())
    used = imported("lib", "tests", "benchmarks")
    assert used - declared == set()
    assert declared - used == set(NOT_IMPORTED) & declared, "declared and not imported: delete it, or say its use"
    assert base - library - sweeps - set(NOT_IMPORTED) == set(), "belongs to the extra of the book"


def test_no_path_of_a_machine_in_the_repository():
    """A path that only one machine has is dead on every other."""
    machine = re.compile(r"(?<![\w.~*)}>/-])/(?:work|farm|tmp|root|opt|home|Users|mnt)/[\w.-]+")
    found = []
    for path in tracked():
        if path.suffix in {".nc", ".png", ".webp", ".gz", ".svg", ".ico", ".ttf", ".woff2"}:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if machine.search(line) and "re.compile" not in line:
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


def test_notebooks_import_nothing_that_the_key_overlooks():
    """The key of a result does not cover the build, so no notebook may depend on it. Every profile fits, too."""
    assert [p for p in tracked() if p.suffix == ".ipynb"] == [], "sources hold no outputs"
    for profile in PROFILES:
        chosen = HOUSE.profile(profile)
        assert list(chosen) == list(HOUSE.names)
        for name, values in chosen.items():
            defaults = HOUSE.source(name).parameters
            repeated = [k for k, v in values.items() if k != "profile" and v == defaults[k]]
            assert not repeated, f"{profile}: {name}: a profile says what differs"
    for name in HOUSE.names:
        code = "\n".join(c.source for c in HOUSE.source(name).notebook.cells if c.cell_type == "code")
        assert not re.search(r"deepmech_book\.build|from deepmech_book import .*\bbuild\b", code), name


def test_pages_of_the_registry_are_notebooks():
    from deepmech_book import claims

    promised = {x.page for x in [*claims.figures().values(), *claims.claims().values()]}
    assert promised <= set(HOUSE.names), f"no notebook: {', '.join(sorted(promised - set(HOUSE.names)))}"


def test_the_library_works_without_the_packages_of_the_book():
    """On a GPU server only the library is installed."""
    code = f"""
import importlib, pathlib, pkgutil, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {BOOK_ONLY!r}:
            raise ImportError(f"{{name}} is not installed")
sys.meta_path.insert(0, Absent())
import deepmech, deepmech_book
for house in (deepmech, deepmech_book):
    for module in pkgutil.walk_packages(house.__path__, house.__name__ + "."):
        # The build, the claims, what reads it and the live host of the explorers need the book's packages.
        needs = ("deepmech_book.build.", "deepmech_book.claims", "deepmech_book.explorers.widget")
        needs += ("deepmech_book.explorers.toys",)  # of arrays of the chapters
        # So do chapters, which judge; their tables of experiments do not.
        book = pathlib.Path(deepmech_book.__path__[0])
        of = [path for chapter in {CHAPTERS!r} for path in (book / chapter).glob("[a-z]*.py")]
        needs += tuple(f"deepmech_book.{{p.parent.name}}.{{p.stem}}" for p in of if p.stem != "experiments")
        if not module.name.startswith(needs):
            importlib.import_module(module.name)
from deepmech import cli
try:
    cli.main(["--help"])
except SystemExit as done:
    sys.exit(done.code)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_answers_without_loading_the_heavy_packages():
    code = """
import sys
from deepmech import cli
try:
    cli.main(["book", "--help"])
except SystemExit:
    pass
heavy = {"torch", "numba", "sklearn", "matplotlib", "papermill", "jupytext", "dask"} & set(sys.modules)
sys.exit(", ".join(heavy) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, f"loaded: {done.stderr}"


def test_what_a_public_host_reads_names_what_there_is():
    """Versions, and the Pythons that tests run on there; hooks are programs that the lock pins."""
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["test"]["strategy"]["matrix"]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == PROJECT["version"]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    lock = (ROOT / "requirements.lock").read_text()
    for hook in local["hooks"]:
        assert f"\n{hook['entry'].split()[0].removeprefix('.venv/bin/')}==" in lock, hook["entry"]
