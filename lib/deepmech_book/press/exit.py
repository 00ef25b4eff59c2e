"""Rehearsal of the day on which Jupyter Book 1 is no more: ``make exit-rehearsal``.

The pages of a finished build are printed once more by Sphinx and its extensions alone, in their newest versions.
Jupyter Book writes its configuration down as Sphinx's, its own extensions are struck from it, and what comes out must
have the same pages with the same figures, equations and sections.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import deepmech
from deepmech_book.press.sources import BookError, Checkout

#: What prints the book without Jupyter Book, in the newest versions that work together.
NEWEST = (
    *("sphinx", "myst-nb", "sphinx-book-theme", "sphinx-togglebutton", "sphinx-copybutton", "sphinx-design"),
    *("sphinx-external-toc", "sphinx-multitoc-numbering", "sphinxcontrib-bibtex", "sphinx-mathjax-offline"),
    "linkify-it-py",
)
#: Extensions that are Jupyter Book's own, or make what this book has none of: comments, LaTeX.
_ITS_OWN = ("jupyter_book", "sphinx_comments", "sphinx_jupyterbook_latex")


def project(checkout: Checkout, folder: Path) -> Path:
    """A plain Sphinx project of the pages that a build left in ``book/generated``; returns its folder of sources."""
    if not (checkout.html / "index.html").is_file():
        raise BookError("there is no finished site to compare with; run deepmech book first")
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "book"
    shutil.copytree(checkout.book, source, ignore=shutil.ignore_patterns("_build", "results", ".stores"))
    if (checkout.root / "lib").is_dir():  # the reference offers the library's sources
        shutil.copytree(checkout.root / "lib", folder / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    made = source / "generated" / ".site"
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "config", "sphinx", str(source)]
    command += ["--config", str(made / "_config.yml"), "--toc", str(made / "_toc.yml")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"Jupyter Book does not write its configuration down:\n{done.stderr[-2000:]}")
    shutil.move(made / "conf.py", source / "conf.py")
    kept = [e for e in runpy.run_path(str(source / "conf.py"))["extensions"] if e not in _ITS_OWN]
    with (source / "conf.py").open("a", encoding="utf-8") as conf:
        conf.write(f"extensions = {kept!r}\n")
    return source


def newest(folder: Path) -> Path:
    """The Python of an environment with the newest Sphinx; what it does not have it takes from this one."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", *NEWEST], check=True)
    (there,) = [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")]
    here = [sysconfig.get_paths()["purelib"], str(Path(deepmech.__file__).parents[1])]
    (there / "beside.pth").write_text("\n".join(here) + "\n", encoding="utf-8")
    return python


def build(python: Path | str, source: Path) -> Path:
    """Print the project, strictly; returns the folder of HTML."""
    html = source.parent / "html"
    done = subprocess.run(
        [python, "-m", "sphinx", "-b", "html", "-n", "-W", "--keep-going", str(source), str(html)],
        capture_output=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    if done.returncode:
        raise BookError(f"Sphinx does not accept the pages:\n{done.stderr[-4000:]}")
    return html


def differences(one: Path, other: Path) -> list[str]:
    """Pages that only one of two sites has, and pages whose figures, equations or sections are others, in words."""
    first, second = _anchors(one), _anchors(other)
    said = [f"{page}: only in {one if page in first else other}" for page in sorted(first.keys() ^ second.keys())]
    for page in sorted(first.keys() & second.keys()):
        if odd := sorted(first[page] ^ second[page]):
            said.append(f"{page}: {', '.join(odd[:8])}")
    return said


def _anchors(html: Path) -> dict[str, set[str]]:
    """The addresses within each page that the book itself gives, and the pictures shown there."""
    found = {}
    for path in html.rglob("*.html"):
        page = path.relative_to(html).as_posix()
        if not page.startswith(("_", "search", "genindex", "py-modindex")):
            text = path.read_text(encoding="utf-8")
            names = re.findall(r'<(?:section|figure|div|span|dt)\b[^>]*? id="((?!id\d|cell-)[^"]+)"', text)
            pictures = re.findall(r'src="[./]*figures/([^"]+)"', text)
            found[page] = {*_of_the_book(names), *pictures}
    return found


def _of_the_book(names: list[str]) -> list[str]:
    """Without what themes call parts of the frame around a page."""
    return [name for name in names if not name.startswith(("pst-", "main-", "jb-", "rtd-", "search", "site-"))]


def main() -> None:
    checkout = Checkout(Path.cwd())
    folder = checkout.root / "build" / "exit"
    source = project(checkout, folder / "project")
    html = build(newest(folder / "venv"), source)
    if odd := differences(checkout.html, html):
        raise SystemExit("the newest Sphinx prints another book:\n" + "\n".join(odd))
    print(f"{len(_anchors(html))} pages by Sphinx alone, as by Jupyter Book; open {html / 'index.html'}")


if __name__ == "__main__":
    try:
        main()
    except BookError as error:
        raise SystemExit(str(error)) from None
