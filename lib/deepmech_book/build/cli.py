"""Verbs of the book: ``deepmech book | run | lab | explore`` (those of the library: :mod:`deepmech.cli`)."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepmech.cli import positive, say, verb
from deepmech_book.sweeps import cli as sweeps

PROFILES = ("quick", "laptop", "paper")


def commands(parsers: Any) -> None:
    """Add the verbs to the subparsers of the command ``deepmech``."""
    sweeps.commands(parsers)
    minutes = {"type": positive, "metavar": "MINUTES", "help": "stop a cell that takes longer (default: 30 in quick)"}
    profile = {"default": "quick", "metavar": "NAME|FILE", "help": "quick, laptop, paper or a file like theirs"}

    def told(run: Callable[[argparse.Namespace], int], help: str) -> Callable[..., Any]:
        return verb(parsers, run.__name__[1:], needs_book(run), help)

    add = told(_book, "execute the notebooks that are out of date and build the site")
    add("--profile", choices=PROFILES, default="quick", help="which parameters to use (default: quick)")
    some = "only these chapters (spring_block) or notebooks (spring_block/x)"
    add("--chapters", nargs="+", metavar="NAME", help=some)
    add("--jobs", type=positive, help="notebooks at a time (default: one per core, as far as memory goes)")
    add("--anew", action="store_true", help="execute also what is up to date")
    add("--cell-minutes", **minutes)
    add("--no-site", action="store_true", help="execute and check only; do not build the site")
    add("--accept", action="store_true", help="write verdicts and numbers that differ into book/verdicts.tsv")

    add = told(_run, "execute one notebook with parameters of your own")
    add("notebook", metavar="NOTEBOOK", help="notebooks/glass/relaxation.md, or glass/relaxation")
    given = {"nargs": 2, "action": "append", "default": [], "dest": "given", "metavar": ("NAME", "VALUE")}
    add("-p", **given, help='a parameter; a list as "[0.1, 0.2]"')
    add("--profile", **profile)
    add("-o", "--output", dest="out", default="out", metavar="FOLDER", help="where its folder goes (default: out)")
    add("--cell-minutes", **minutes)
    add("--help-notebook", action="store_true", help="say which parameters the notebook has, and stop")

    add = told(_lab, "copy the notebooks, and open JupyterLab on the copies")
    add("-o", "--output", dest="out", metavar="FOLDER", default="lab", help="where the copies are kept (default: lab)")
    add("--no-browser", action="store_true", help="only write the copies")

    add = told(_explore, "write an interactive picture as one HTML file, and open it")
    names = "chain (the default), elastic, ruler, relaxation, training or diagram"
    add("explorer", nargs="?", default="chain", metavar="NAME", help=names)
    add("-o", "--output", metavar="FILE", help="default: a name of its own, such as spring-block-chain.html")
    add("--no-browser", action="store_true", help="only write the file")


def needs_book(command: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """``command`` that says in words which package is missing where the library is installed without the book."""

    def run(options: argparse.Namespace) -> int:
        try:
            return command(options)
        except ModuleNotFoundError as missing:
            raise RuntimeError(f"needs {missing.name}: pip install '.[book]' in the folder of the repository") from None

    return run


def _book(options: argparse.Namespace) -> int:
    from deepmech_book.build import notebooks, site, verdicts
    from deepmech_book.build.sources import Checkout

    checkout = Checkout.find()
    if options.accept and options.profile != verdicts.PROFILE:
        raise ValueError(f"--accept: the verdicts kept are those of profile {verdicts.PROFILE}; leave out --profile")
    checkout.select(options.chapters)  # what is misspelt is said first
    with site.build_lock(checkout):
        how = {"jobs": options.jobs, "anew": options.anew, "cell_minutes": options.cell_minutes}
        page_runs = notebooks.execute_notebooks(checkout, options.profile, options.chapters, **how, say=say)
        here = {s.name for s in page_runs if s.notebook is not None} if options.chapters else None
        table = checkout.book / verdicts.FILE
        verdicts.demand(table, site.collect_records(page_runs), options.profile, here, accept=options.accept, say=say)
        if not options.no_site:
            html = site.build(checkout, page_runs, options.profile, whole=not options.chapters, say=say)
            say(f"open {html.relative_to(checkout.root) / 'index.html'}")
    return 0


def _run(options: argparse.Namespace) -> int:
    from deepmech_book.build import run

    checkout, source = run.notebook_of(options.notebook)
    if options.help_notebook:
        sys.stdout.write(f"{run.describe(source)}\n")
        return 0
    given = {name: run.value(text) for name, text in options.given}
    parameters, folder = run.parameters_of(checkout, source, options.profile, given), Path(options.out)
    made = run.run(checkout, source, parameters, folder, cell_minutes=options.cell_minutes, say=say)
    say(f"{made} holds the notebook, its figures and its claims")
    return 0


def _lab(options: argparse.Namespace) -> int:
    import jupytext

    from deepmech.sweeps.store import write_whole
    from deepmech_book.build.sources import Checkout

    checkout, folder = Checkout.find(), Path(options.out)
    new = [name for name in checkout.names if not (folder / f"{name}.ipynb").exists()]
    for name in new:
        write_whole(folder / f"{name}.ipynb", jupytext.writes(checkout.source(name).notebook, "ipynb"))
    say(f"{len(new)} notebooks are copied into {folder}; copies that are there stay as they are")
    if options.no_browser:
        return 0
    if importlib.util.find_spec("jupyterlab") is None:
        raise RuntimeError("needs JupyterLab: pip install '.[lab]' in the folder of the repository")
    return subprocess.run([sys.executable, "-m", "jupyterlab", str(folder)], check=False).returncode


def _explore(options: argparse.Namespace) -> int:
    from deepmech_book.explorers.page import cli_explore

    path = cli_explore(options.explorer, options.output, show=not options.no_browser)
    sys.stdout.write(f"{options.output or path.name} is written\n")
    return 0
