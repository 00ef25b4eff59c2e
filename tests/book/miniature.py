"""A miniature checkout: the real configuration and assets around two small notebooks, and ways to rewrite it."""

import shutil
from pathlib import Path

from deepmech_book.build.sources import Checkout

ROOT = Path(__file__).parents[2]
MINI = Path(__file__).parent / "mini"


def make_checkout(folder: Path) -> Checkout:
    """A checkout in miniature; its library is one file that nobody imports, there to be edited."""
    shutil.copytree(MINI, folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "book" / "assets", folder / "book" / "assets")
    for name in ("_config.yml", "requirements.lock", "book/references.bib"):
        shutil.copy(ROOT / name, folder / name)
    library = folder / "lib" / "deepmech"
    library.mkdir(parents=True)
    (library / "physics.py").write_text("G = 9.81\n")
    profiles = folder / "notebooks" / "profiles"
    profiles.mkdir()
    (profiles / "quick.yml").write_text("")
    (profiles / "laptop.yml").write_text("springs/one: {points: 41}\n")
    (profiles / "paper.yml").write_text("springs/two: {stiffness: [1.0, 4.0]}\n")
    return Checkout(folder)


#: A module with a sweep of two cells.
SWEEP = """\
from deepmech import over
from deepmech.sweeps import Sweep

sweep = Sweep("powers", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 2})
"""
HEADER = """\
---
jupytext:
  cell_metadata_filter: tags,mystnb
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# {title}

```{{code-cell}} ipython3
:tags: [parameters]

{parameters}
```
"""


def notebook_text(*cells: str, parameters: str = 'profile = "quick"\nn = 3', title: str = "A page") -> str:
    """A small notebook: code cells, each either plain code or code preceded by its own MyST options."""
    text = HEADER.format(title=title, parameters=parameters)
    return text + "".join(f"\n```{{code-cell}} ipython3\n{cell}\n```\n" for cell in cells)


def write_notebooks(checkout: Checkout, **texts: str) -> Checkout:
    """Replace the notebooks of a checkout; ``a="..."`` becomes ``springs/a``. Profiles and verdicts become empty."""
    folder = checkout.root / "notebooks" / "springs"
    for path in folder.glob("*"):
        path.unlink()
    (checkout.book / "verdicts.tsv").unlink(missing_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)
    chapters = "".join(f"      - file: generated/springs/{name}\n" for name in texts)
    (checkout.root / "_toc.yml").write_text(
        f"format: jb-book\nroot: intro\nparts:\n  - caption: Springs\n    chapters:\n{chapters}"
    )
    for profile in ("quick", "laptop", "paper"):
        (checkout.root / "notebooks" / "profiles" / f"{profile}.yml").write_text("")
    return Checkout(checkout.root)
