"""The wheel: what is in it, and that the library works from it without the packages of the book."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from test_house import BOOK_ONLY, PROJECT, ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, so that the checkout stays as it is."""
    folder = tmp_path_factory.mktemp("wheel")
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "lib", folder / "source" / "lib", symlinks=True, ignore=leave)
    shutil.copytree(ROOT / "book" / "results", folder / "source" / "book" / "results")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder / "source")
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, folder / "source"]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A new environment with this wheel alone, which sees the packages installed here; its folder of programs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    programs = folder / "bin"
    install = ["install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run([sys.executable, "-m", "pip", "--python", programs / "python", *install], check=True)
    own = subprocess.run(
        [programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    shared = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(own) / "shared.pth").write_text("\n".join(sorted(shared)))
    return programs


def run(*command, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Outside the checkout, as a stranger does."""
    surroundings = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" and not k.startswith("DEEPMECH_")}
    return subprocess.run(list(map(str, command)), cwd=cwd, env=surroundings, capture_output=True, text=True)


def test_the_wheel_holds_both_packages_and_what_they_read(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    read = {
        path.relative_to(ROOT / "lib").as_posix()
        for path in [*(ROOT / "lib").rglob("*"), *(ROOT / "lib" / "deepmech_book" / "results").iterdir()]
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }
    assert {n for n in names if ".dist-info/" not in n} == read
    assert {n.split("/")[0] for n in names} == {"deepmech", "deepmech_book", f"deepmech-{PROJECT['version']}.dist-info"}
    assert wheel.stat().st_size < 18e6  # nearly all of it results that pages draw


def test_the_command_says_its_version(installed, tmp_path):
    for command in ([installed / "deepmech"], [installed / "python", "-m", "deepmech"]):
        done = run(*command, "--version", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, f"deepmech {PROJECT['version']}\n"), done.stderr


# dask comes with another extra, and xarray imports it where it is.
USE = f"""
import sys
sys.modules.update(dict.fromkeys({[*BOOK_ONLY, "dask", "distributed"]!r}))
"""
MEASURE = f"""{USE}
import deepmech, torch
from deepmech_book.spring_block.experiments import experiment
from deepmech_book.sweeps import shipped
from pathlib import Path
home = Path(sys.prefix).resolve()
assert home in Path(deepmech.__file__).resolve().parents, deepmech.__file__
assert home in shipped.folder().resolve().parents, shipped.folder()
drawn = shipped.result(experiment("figure-1c"))
assert drawn.sizes["seed"] == 10 and drawn.sizes["dropout"] == 8
print(experiment("figure-1c").code)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8), torch.nn.ReLU())
x = torch.randn(60, 4)
curve = deepmech.load_curve(model, x.numpy(), (x[:, 0] > 0).long().numpy())
assert bool((curve > 0).all()) and curve.sizes["layer"] >= 2, curve
"""


def test_a_shipped_result_and_a_load_curve_without_the_packages_of_the_book(installed, tmp_path):
    from deepmech_book.spring_block.experiments import experiment

    done = run(installed / "python", "-c", MEASURE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{experiment('figure-1c').code}\n", "the digest of its code is that of the checkout"


def test_an_explorer_is_written_from_the_wheel(installed, tmp_path):
    done = run(installed / "deepmech", "explore", "chain", "--no-browser", "--output", "chain.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "<script" in (tmp_path / "chain.html").read_text(encoding="utf-8")


def test_the_book_says_which_packages_it_lacks(installed, tmp_path):
    tried = f"{USE}\nfrom deepmech import cli\nsys.exit(cli.main(['book']))"
    done = run(installed / "python", "-c", tried, cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr and "pip install '.[book]'" in done.stderr, done.stderr
