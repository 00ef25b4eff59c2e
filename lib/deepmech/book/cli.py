"""The command line: ``deepmech book | sweep | verify | data | explore``.

Rooms are imported by the command that needs them, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

PROFILES = ("quick", "laptop", "paper")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Faults of the user's are told in a line, without a traceback."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        _say("stopped; finished results are kept")
        return 130
    except ValueError as error:
        _say(f"deepmech {options.command}: {error}")
        return 1


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="deepmech", description="The Mechanics of Feature Learning: make the book, run and verify its sweeps."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    book = commands.add_parser("book", help="execute the notebooks that are out of date and build the site")
    book.add_argument("--profile", choices=PROFILES, default="quick", help="which parameters to use (default: quick)")
    book.add_argument(
        "--chapters", nargs="+", metavar="NAME", help="only these chapters (spring_block) or notebooks (spring_block/x)"
    )
    book.add_argument(
        "--jobs", type=_positive, default=2, help="notebooks at a time, at most one per core (default: 2)"
    )
    book.add_argument("--anew", action="store_true", help="execute also what is up to date")
    book.add_argument("--no-site", action="store_true", help="execute and check only; do not build the site")
    book.set_defaults(run=_book)
    return top


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _book(options: argparse.Namespace) -> int:
    from deepmech.book import press, site
    from deepmech.book.sources import House

    house = House.find()
    with site.only_press(house):
        sheets = press.press(house, options.profile, options.chapters, jobs=options.jobs, anew=options.anew, say=_say)
        if not options.no_site:
            html = site.build(house, sheets, options.profile, whole=not options.chapters, say=_say)
            _say(f"open {html.relative_to(house.root) / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
