"""Verbs for results that ship: ``deepmech verify | ship``."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path
from typing import Any

from deepmech.cli import positive, say, sweep_named, verb


def commands(parsers: Any) -> None:
    """Add the verbs to the subparsers of the command ``deepmech``."""
    add = verb(
        parsers, "verify", _verify, "recompute a sample of stored cells, compare, and add what passed to the record"
    )
    what = "results, stores, or how names of shipped results begin, such as figure-1c (default: all that ship)"
    add("paths", nargs="*", metavar="PATH|NAME", help=what)
    add("--cells", type=positive, default=3, help="cells per result (default: 3)")
    add("--seed", type=int, help="which sample is drawn (default: another one each time)")
    add("--whole", action="store_true", help="dear cells wholly, also where a part of each would do")
    add("--minutes", type=float, help="go round all results with other cells until the time is up")
    add("--accept", action="store_true", help="note also what differs more than was ever seen, if its function may")
    add("--sweep", metavar="MODULE:NAME", help="the sweep of results that are not the book's: only it is called")

    add = verb(parsers, "ship", _ship, "write a finished sweep as one file, with its entry in the record")
    add("store", metavar="STORE", help="the folder of deepmech sweep --store")
    add("folder", metavar="FOLDER", help="where results lie, book/results say")


def _verify(options: argparse.Namespace) -> int:
    from deepmech_book.sweeps.verification import verify_all

    paths = [path for given in options.paths or [""] for path in _results(given)]
    summary, passed = verify_all(
        paths, n=options.cells, seed=options.seed, whole=options.whole, minutes=options.minutes, accept=options.accept,
        sweep=sweep_named(options.sweep) if options.sweep else None, say=say,
    )  # fmt: skip
    sys.stdout.write(f"{summary}\n")
    return 0 if passed else 1


def _results(given: str) -> list[Path]:
    """What is at a path, or the shipped results whose names begin so; of no name the folder of them all."""
    from deepmech_book.sweeps.shipped import folder

    where = folder()
    if given and Path(given).exists():
        return [Path(given)]
    if where is None:
        raise ValueError("no shipped results here: name their folder with DEEPMECH_RESULTS, or work in a checkout")
    ships = sorted(where.glob("*.nc"))
    if named := [where] if not given else [file for file in ships if file.name.startswith(given)]:
        return named
    near = difflib.get_close_matches(given, {file.stem.rpartition("-")[0] for file in ships})
    raise ValueError(f"verify: {given}: no file, and no shipped result; near: {', '.join(near) or 'none'}")


def _ship(options: argparse.Namespace) -> int:
    from deepmech.sweeps import load, sweep_at
    from deepmech_book.sweeps.shipped import publish

    sys.stdout.write(f"shipped: {publish(load(sweep_at(options.store), options.store), options.folder)}\n")
    return 0
