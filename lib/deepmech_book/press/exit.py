"""Rehearsal of the day on which Jupyter Book 1 is no more: ``make exit-rehearsal``.

The pages of a finished build are printed once more by Sphinx and its extensions alone, in their newest versions.
Jupyter Book writes its configuration down as Sphinx's, its own extensions are struck from it, and what comes out must
have the same pages with the same figures, equations and sections.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path

import deepmech
from deepmech_book.press.sources import BookError, Checkout

#: What prints the book without Jupyter Book, in the newest versions that work together.
NEWEST = (
    *("sphinx", "myst-nb", "sphinx-book-theme", "sphinx-togglebutton", "sphinx-copybutton", "sphinx-design"),
    *("sphinx-external-toc", "sphinx-multitoc-numbering", "sphinxcontrib-bibtex", "sphinx-mathjax-offline"),
    "linkify-it-py",
)
#: Without the extensions that are Jupyter Book's own, or make what this book has none of: comments, LaTeX.
STRUCK = """
extensions = [e for e in extensions if e not in ("jupyter_book", "sphinx_comments", "sphinx_jupyterbook_latex")]
"""


def _run(command: Sequence[str | Path], failing: str, folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        raise BookError(f"{failing}:\n{done.stderr[-4000:]}")


def project(checkout: Checkout, folder: Path) -> Path:
    """A plain Sphinx project of the pages that a build left in ``book/generated``; returns its folder of sources."""
    if not (checkout.html / "index.html").is_file():
        raise BookError("there is no finished site to compare with; run deepmech book first")
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "book"
    shutil.copytree(checkout.book, source, ignore=shutil.ignore_patterns("_build", "results", ".stores"))
    # The reference offers the library's sources.
    shutil.copytree(checkout.root / "lib", folder / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    made = source / "generated" / ".site"
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "config", "sphinx", str(source)]
    command += ["--config", str(made / "_config.yml"), "--toc", str(made / "_toc.yml")]
    _run(command, "Jupyter Book does not write its configuration down", folder)
    conf = (made / "conf.py").read_text(encoding="utf-8")
    (source / "conf.py").write_text(conf + STRUCK, encoding="utf-8")
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
    command = [python, "-m", "sphinx", "-b", "html", "-n", "-W", "--keep-going", source, html]
    _run(command, "Sphinx does not accept the pages", source)
    return html


def differences(one: Path, other: Path) -> list[str]:
    """Pages that only one of two sites has, and pages whose figures, equations or sections are others, in words."""
    first, second = anchors(one), anchors(other)
    said = [f"{page}: only in {one if page in first else other}" for page in sorted(first.keys() ^ second.keys())]
    odd = {page: sorted(first[page] ^ second[page]) for page in sorted(first.keys() & second.keys())}
    return said + [f"{page}: {', '.join(names[:8])}" for page, names in odd.items() if names]


def anchors(html: Path) -> dict[str, set[str]]:
    """The addresses within each page that the book itself gives, and the pictures shown there."""
    found = {}
    for path in html.rglob("*.html"):
        page = path.relative_to(html).as_posix()
        if not page.startswith(("_", "search", "genindex", "py-modindex")):
            text = path.read_text(encoding="utf-8")
            # Without what themes call parts of the frame around a page.
            frame = r"id\d|cell-|pst-|main-|jb-|rtd-|search|site-"
            names = re.findall(rf'<(?:section|figure|div|span|dt)\b[^>]*? id="((?!{frame})[^"]+)"', text)
            found[page] = {*names, *re.findall(r'src="[./]*figures/([^"]+)"', text)}
    return found


def main() -> None:
    checkout = Checkout(Path.cwd())
    folder = checkout.root / "build" / "exit"
    source = project(checkout, folder / "project")
    html = build(newest(folder / "venv"), source)
    if odd := differences(checkout.html, html):
        raise BookError("the newest Sphinx prints another book:\n" + "\n".join(odd))
    print(f"{len(anchors(html))} pages by Sphinx alone, as by Jupyter Book; open {html / 'index.html'}")


if __name__ == "__main__":
    try:
        main()
    except BookError as error:
        raise SystemExit(str(error)) from None
