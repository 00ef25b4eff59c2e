"""The book's verbs on the command line: ``deepmech book | explore`` (:mod:`deepmech.cli` has the others)."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from deepmech.cli import positive, say

PROFILES = ("quick", "laptop", "paper")


def commands(add: Any) -> None:
    """Add the verbs to the subparsers of the command ``deepmech``."""
    book = add.add_parser("book", help="execute the notebooks that are out of date and build the site")
    book.add_argument("--profile", choices=PROFILES, default="quick", help="which parameters to use (default: quick)")
    book.add_argument(
        "--chapters", nargs="+", metavar="NAME", help="only these chapters (spring_block) or notebooks (spring_block/x)"
    )
    book.add_argument("--jobs", type=positive, default=2, help="notebooks at a time, at most one per core (default: 2)")
    book.add_argument("--anew", action="store_true", help="execute also what is up to date")
    book.add_argument("--no-site", action="store_true", help="execute and check only; do not build the site")
    book.add_argument(
        "--accept", action="store_true", help="write verdicts and numbers that differ into book/verdicts.tsv"
    )
    book.set_defaults(run=_book)

    explore = add.add_parser("explore", help="write an interactive picture as one HTML file, and open it")
    explore.add_argument(
        "explorer",
        nargs="?",
        default="chain",
        metavar="chain|elastic",
        help="a spring–block chain (the default) or locally elastic points",
    )
    explore.add_argument("--output", metavar="FILE", help="default: spring-block-chain.html or elastic-points.html")
    explore.add_argument("--no-browser", action="store_true", help="only write the file")
    explore.set_defaults(run=_explore)


def _book(options: argparse.Namespace) -> int:
    from deepmech_book.press import press, site, verdicts
    from deepmech_book.press.sources import House

    house = House.find()
    if options.accept and options.profile != verdicts.PROFILE:
        raise ValueError(f"--accept: the verdicts kept are those of profile {verdicts.PROFILE}; leave out --profile")
    with site.only_press(house):
        sheets = press.press(house, options.profile, options.chapters, jobs=options.jobs, anew=options.anew, say=say)
        how = {"whole": not options.chapters, "accept": options.accept, "say": say}
        if options.no_site:
            site.demand_verdicts(house, sheets, options.profile, **how)
        else:
            html = site.build(house, sheets, options.profile, **how)
            say(f"open {html.relative_to(house.root) / 'index.html'}")
    return 0


def _explore(options: argparse.Namespace) -> int:
    from deepmech_book.explorers import cli_explore

    path = cli_explore(options.explorer, options.output, show=not options.no_browser)
    sys.stdout.write(f"{path.name} is written\n")
    return 0
