"""Verbs for results that ship: ``deepmech verify | ship``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from deepmech.cli import positive, say, sweep_named, verb


def commands(parsers: Any) -> None:
    """Add the verbs to the subparsers of the command ``deepmech``."""
    does = "recompute a sample of stored cells, compare, and add what passed to the record"
    add = verb(parsers, "verify", _verify, does)
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

    how = {name: getattr(options, name) for name in ("seed", "whole", "minutes", "accept")}
    sweep = sweep_named(options.sweep) if options.sweep else None
    summary, passed = verify_all(options.paths or [""], n=options.cells, sweep=sweep, say=say, **how)
    sys.stdout.write(f"{summary}\n")
    return 0 if passed else 1


def _ship(options: argparse.Namespace) -> int:
    from deepmech.sweeps import load
    from deepmech.sweeps.store import sweep_at
    from deepmech_book.sweeps.shipped import publish

    path = publish(load(sweep_at(options.store), options.store), options.folder)
    sys.stdout.write(f"shipped: {path}\n")
    return 0
