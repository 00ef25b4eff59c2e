"""The command line: ``deepmech book | sweep | verify | data | explore``.

Rooms are imported by the command that needs them, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

PROFILES = ("quick", "laptop", "paper")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Bad input, a lost cluster, a full disk and
    cells that failed are told in words, without a traceback of the program itself."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        _say("stopped; finished results are kept")
        return 130
    except (ValueError, RuntimeError, OSError) as error:
        _say(f"deepmech {options.command}: {str(error).removeprefix(options.command + ': ')}")
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
    book.add_argument(
        "--accept", action="store_true", help="write verdicts and numbers that differ into book/verdicts.tsv"
    )
    book.set_defaults(run=_book)

    sweep = commands.add_parser("sweep", help="run a sweep chunk by chunk, or complete an interrupted one")
    sweep.add_argument("sweep", nargs="?", metavar="MODULE:NAME", help="a Sweep; leave out to complete the store's own")
    sweep.add_argument("--store", required=True, metavar="FOLDER", help="where finished chunks are kept")
    sweep.add_argument("--chunk", type=_positive, metavar="CELLS", help="cells per chunk")
    sweep.add_argument("--workers", type=_positive, default=1, help="processes (default: 1)")
    sweep.add_argument(
        "--scheduler", metavar="ADDRESS", help="compute on the Dask cluster whose scheduler listens here"
    )
    sweep.add_argument("--ship", metavar="FOLDER", help="write the finished result there, as the book's stored results")
    sweep.set_defaults(run=_sweep)

    verify = commands.add_parser("verify", help="recompute a sample of stored cells and compare")
    verify.add_argument("paths", nargs="*", metavar="PATH", help="results or stores (default: the book's results)")
    verify.add_argument("--cells", type=_positive, default=3, help="cells per result (default: 3)")
    verify.add_argument("--fraction", type=float, help="share of the cells, in place of --cells")
    verify.add_argument("--seed", type=int, default=0, help="which sample is drawn (default: 0)")
    verify.add_argument(
        "--tolerance",
        type=float,
        help="largest accepted difference, as a share of the range (default: equal bits where the result was made)",
    )
    verify.add_argument("--whole", action="store_true", help="dear cells wholly, also where a part of each would do")
    verify.add_argument(
        "--note", action="store_true", help="note beside the results that pass that this code makes their numbers"
    )
    verify.set_defaults(run=_verify)

    data = commands.add_parser("data", help="say which data sets are here, and fetch others")
    data.set_defaults(run=_data, names=None)
    actions = data.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("status", help="one line for each data set (the default)")
    fetch = actions.add_parser("fetch", help="download data sets and check them")
    fetch.add_argument("names", nargs="+", metavar="NAME")

    explore = commands.add_parser("explore", help="write an interactive picture as one HTML file, and open it")
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
    return top


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _book(options: argparse.Namespace) -> int:
    from deepmech.book import press, site, verdicts
    from deepmech.book.sources import House

    house = House.find()
    if options.accept and options.profile != verdicts.PROFILE:
        raise ValueError(f"--accept: the verdicts kept are those of profile {verdicts.PROFILE}; leave out --profile")
    with site.only_press(house):
        sheets = press.press(house, options.profile, options.chapters, jobs=options.jobs, anew=options.anew, say=_say)
        how = {"whole": not options.chapters, "accept": options.accept, "say": _say}
        if options.no_site:
            site.demand_verdicts(house, sheets, options.profile, **how)
        else:
            html = site.build(house, sheets, options.profile, **how)
            _say(f"open {html.relative_to(house.root) / 'index.html'}")
    return 0


def _sweep(options: argparse.Namespace) -> int:
    from deepmech.sweeps import cli_run

    summary = cli_run(
        options.sweep,
        store=options.store,
        chunk=options.chunk,
        workers=options.workers,
        scheduler=options.scheduler,
        results=options.ship,
    )
    sys.stdout.write(f"{summary}\n")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from deepmech.sweeps import cli_verify, results

    paths = options.paths or [results.required_folder()]
    summary, passed = cli_verify(
        paths,
        n=options.cells,
        fraction=options.fraction,
        seed=options.seed,
        tolerance=options.tolerance,
        whole=options.whole,
        noted=options.note,
        say=_say,
    )
    sys.stdout.write(f"{summary}\n")
    return 0 if passed else 1


def _data(options: argparse.Namespace) -> int:
    from deepmech.data import cli_fetch, cli_status

    sys.stdout.write(f"{cli_fetch(options.names) if options.names else cli_status()}\n")
    return 0


def _explore(options: argparse.Namespace) -> int:
    from deepmech.explorers import cli_explore

    path = cli_explore(options.explorer, options.output, show=not options.no_browser)
    sys.stdout.write(f"{path.name} is written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
