"""Verbs of the book: ``deepmech book | pdf | run | plan | explore`` (those of the library: :mod:`deepmech.cli`)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepmech.cli import positive, say
from deepmech.core.files import write_whole

PROFILES = ("quick", "laptop", "paper")


def commands(add: Any) -> None:
    """Add the verbs to the subparsers of the command ``deepmech``."""
    profile = {"default": "quick", "metavar": "NAME|FILE", "help": "quick, laptop, paper or a file like theirs"}
    book = add.add_parser("book", help="execute the notebooks that are out of date and build the site")
    book.add_argument("--profile", choices=PROFILES, default="quick", help="which parameters to use (default: quick)")
    book.add_argument(
        "--chapters", nargs="+", metavar="NAME", help="only these chapters (spring_block) or notebooks (spring_block/x)"
    )
    book.add_argument("--jobs", type=positive, default=2, help="notebooks at a time, at most one per core (default: 2)")
    book.add_argument("--anew", action="store_true", help="execute also what is up to date")
    minutes = {"type": positive, "metavar": "MINUTES", "help": "stop a cell that takes longer (default: 30 in quick)"}
    book.add_argument("--cell-minutes", **minutes)
    book.add_argument("--no-site", action="store_true", help="execute and check only; do not build the site")
    book.add_argument(
        "--accept", action="store_true", help="write verdicts and numbers that differ into book/verdicts.tsv"
    )
    book.set_defaults(run=_book)

    pdf = add.add_parser("pdf", help="print the site that was built as one PDF (needs Chromium)")
    pdf.add_argument("--output", metavar="FILE", default="deepmech.pdf", help="default: deepmech.pdf")
    pdf.set_defaults(run=_pdf)

    run = add.add_parser("run", help="execute one notebook with parameters of your own, or a grid of them")
    run.add_argument("notebook", metavar="NOTEBOOK", help="notebooks/glass/relaxation.md, or glass/relaxation")
    run.add_argument("-p", nargs=2, action="append", default=[], dest="given", metavar=("NAME", "VALUE"),
                     help="a parameter; a list as \"[0.1, 0.2]\"")  # fmt: skip
    run.add_argument("-f", dest="file", metavar="FILE", help="parameters of this notebook, as YAML")
    run.add_argument("--profile", **profile)
    run.add_argument("--grid", action="append", default=[], metavar="NAME=V,V,…", help="every combination of values")
    run.add_argument("-o", dest="out", default="out", metavar="FOLDER", help="where it all goes (default: out)")
    run.add_argument("--jobs", type=positive, default=2, help="executions at a time (default: 2)")
    run.add_argument("--cell-minutes", **minutes)
    run.add_argument("--scheduler", metavar="ADDRESS", help="execute on the Dask cluster whose scheduler listens here")
    run.add_argument("--help-notebook", action="store_true", help="say which parameters the notebook has, and stop")
    run.set_defaults(run=_run)

    plan = add.add_parser("plan", help="say what a profile would compute, page by page, and what that costs")
    plan.add_argument("--profile", **profile)
    plan.add_argument("--chapters", nargs="+", metavar="NAME", help="only these chapters or notebooks")
    plan.add_argument("--csv", metavar="FILE", help="also write what is left, page by page, as a table")
    plan.set_defaults(run=_plan)

    explore = add.add_parser("explore", help="write an interactive picture as one HTML file, and open it")
    explore.add_argument(
        "explorer",
        nargs="?",
        default="chain",
        metavar="NAME",
        help="chain (the default), elastic, ruler, relaxation, training or diagram",
    )
    explore.add_argument("--output", metavar="FILE", help="default: a name of its own, such as spring-block-chain.html")
    explore.add_argument("--no-browser", action="store_true", help="only write the file")
    explore.set_defaults(run=_explore)


def needs_book(verb: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """``verb`` that says in words which package is missing where the library is installed without the book."""

    def run(options: argparse.Namespace) -> int:
        for number in range(3):  # where one is closed (>&-), the next file that is opened would take its place
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)
        try:
            return verb(options)
        except ModuleNotFoundError as missing:
            raise RuntimeError(f"needs {missing.name}: pip install 'deepmech[book]'") from None

    return run


@needs_book
def _book(options: argparse.Namespace) -> int:
    from deepmech_book.press import press, site, verdicts
    from deepmech_book.press.sources import House

    house = House.find()
    if options.accept and options.profile != verdicts.PROFILE:
        raise ValueError(f"--accept: the verdicts kept are those of profile {verdicts.PROFILE}; leave out --profile")
    house.select(options.chapters)  # what is misspelt is said first
    with site.only_press(house):
        how = {"jobs": options.jobs, "anew": options.anew, "cell_minutes": options.cell_minutes}
        sheets = press.press(house, options.profile, options.chapters, **how, say=say)
        here = {s.name for s in sheets if s.notebook is not None} if options.chapters else None
        table = house.book / verdicts.FILE
        verdicts.demand(table, site.harvest(sheets), options.profile, here, accept=options.accept, say=say)
        if not options.no_site:
            html = site.build(house, sheets, options.profile, whole=not options.chapters, say=say)
            say(f"open {html.relative_to(house.root) / 'index.html'}")
    return 0


@needs_book
def _pdf(options: argparse.Namespace) -> int:
    from deepmech_book.press import pdf
    from deepmech_book.press.sources import House

    house = House.find()
    pages = pdf.contents(house.html)
    say(f"{len(pages)} pages are being printed")
    say(f"{pdf.write(house.html, Path(options.output), pages)} is written")
    return 0


@needs_book
def _plan(options: argparse.Namespace) -> int:
    from deepmech_book.ledger import tables
    from deepmech_book.press import plan
    from deepmech_book.press.sources import House

    made = plan.plan(House.find(), options.profile, options.chapters, say=say)
    sys.stdout.write(f"{made.table()}\n")
    if options.csv:
        write_whole(Path(options.csv), tables.csv_text(made.by_page()))
    return 0


@needs_book
def _run(options: argparse.Namespace) -> int:
    from deepmech_book.press import run
    from deepmech_book.press.sources import House

    house = House.find()
    source = run.notebook_of(house, options.notebook)
    if options.help_notebook:
        sys.stdout.write(f"{run.describe(source)}\n")
        return 0
    given = {name: run.value(text) for name, text in options.given}
    base = run.parameters_of(house, source, options.profile, options.file, given)
    grid = dict(run.values(text) for text in options.grid)
    several = run.points(source, base, grid, Path(options.out))
    how = {"jobs": options.jobs, "cell_minutes": options.cell_minutes, "scheduler": options.scheduler}
    run.run(house, source, several, **how, say=say)
    if grid:
        table = Path(options.out) / "claims.csv"
        say(f"{run.gather(several, table)} verdicts in {table}")
    say(f"{options.out} holds the notebook, its figures, data and claims")
    return 0


def _explore(options: argparse.Namespace) -> int:
    from deepmech_book.explorers import cli_explore

    path = cli_explore(options.explorer, options.output, show=not options.no_browser)
    sys.stdout.write(f"{path.name} is written\n")
    return 0
