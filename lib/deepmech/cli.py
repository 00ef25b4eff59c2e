"""The command line: ``deepmech sweep | data``, and what other packages add to it.

A package adds verbs by an entry point of the group ``deepmech.commands``: a function that gets the subparsers. Rooms
are imported by the command that needs them, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import codecs
import inspect
import io
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepmech import __version__

if TYPE_CHECKING:
    from deepmech.sweeps import Sweep


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Bad input, a lost cluster, a full disk and
    cells that failed are told in words, without a traceback of the program itself. Modules of the current folder can be
    named, as ``python -m deepmech`` has it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="deepmech")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        # What is named may lie in this folder, which comes last: nothing in it is taken for somebody else's module.
        sys.path.append(str(Path.cwd()))
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        say("stopped; finished results are kept")
        return 130
    except (ValueError, RuntimeError, OSError, ImportError, SyntaxError) as error:
        if options.debug:
            raise
        say(f"deepmech {options.command}: {str(error).removeprefix(options.command + ': ')}")
        return 1


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of signs that the output's code page lacks."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


PLAIN = dict(zip("−–…×→’“”„±·≤≥", ["-", "-", "...", "x", "->", "'", '"', '"', '"', "+-", "*", "<=", ">="], strict=True))
codecs.register_error("deepmech", _plainer)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="deepmech", description="The Mechanics of Feature Learning: run sweeps, verify results, make the book."
    )
    top.add_argument("--version", action="version", version=f"deepmech {__version__}")
    top.add_argument("--debug", action="store_true", help="show where an error came from")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    add = verb(commands, "sweep", _sweep, "run a sweep chunk by chunk, or complete an interrupted one")
    add("sweep", metavar="MODULE:NAME", help="a Sweep, or a function that makes one")
    add("--store", required=True, metavar="FOLDER", help="where finished chunks are kept")
    add("--chunk", type=positive, metavar="CELLS", help="cells per chunk")
    add("--workers", type=positive, default=1, help="processes (default: 1)")

    add = verb(commands, "data", _data, "say which data sets are here, or fetch some: deepmech data fetch mnist")
    add("action", nargs="?", choices=("status", "fetch"), default="status", help="(default: status)")
    add("names", nargs="*", metavar="NAME", help="the data sets to download and check")

    for more in entry_points(group="deepmech.commands"):
        more.load()(commands)
    return top


def verb(commands: Any, name: str, run: Callable[[argparse.Namespace], int], help: str) -> Callable[..., Any]:
    """Add a verb that ``run`` does; returns what adds its arguments."""
    subparser = commands.add_parser(name, help=help)
    subparser.set_defaults(run=run)
    return subparser.add_argument


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


class Passing(str):
    """A line of progress: in a terminal the next one takes its place."""


def say(line: str) -> None:
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # a line that may stand there
    passing = clear and isinstance(line, Passing)
    text = line[: shutil.get_terminal_size().columns - 1] if passing else f"{line}\n"
    sys.stderr.write(f"{clear}{text}")
    sys.stderr.flush()


def _sweep(options: argparse.Namespace) -> int:
    """Run a sweep, or complete it; with ``--workers`` in that many processes."""
    from concurrent.futures import Executor, ProcessPoolExecutor
    from multiprocessing import get_context

    from deepmech.core import provenance
    from deepmech.sweeps import run

    sweep = sweep_named(options.sweep)
    pool: AbstractContextManager[Executor | None] = nullcontext()
    if options.workers > 1:
        share = max(1, provenance.cores() // options.workers)
        # Fresh processes: threads of numerical libraries do not survive a fork.
        pool = ProcessPoolExecutor(options.workers, get_context("spawn"), provenance.start_worker, (share,))
    with pool as executor:
        dataset = run(sweep, options.store, chunk=options.chunk, executor=executor)
    grid = " × ".join(f"{n} {d}" for d, n in zip(sweep.grid.dims, sweep.grid.shape, strict=True))
    sys.stdout.write(
        f"sweep {sweep.name} ({sweep.key}): {grid} = {sweep.n_cells} cells in {options.store}, "
        f"{int(dataset['diverged'].sum())} diverged, {dataset.attrs['wall_seconds']:.1f} s of computing on "
        f"{dataset.attrs['machine']}\n"
    )
    return 0


def sweep_named(reference: str) -> Sweep:
    """The Sweep that ``"module:name"`` is, or that a function of that name makes; a ValueError if it is none."""
    from deepmech.core.specs import import_object
    from deepmech.sweeps import Sweep

    found = import_object(
        reference, f"sweep {reference!r}: give 'module:name' of a Sweep or of a function that makes one"
    )
    if callable(found):
        try:
            inspect.signature(found).bind()
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"sweep {reference!r}: a function that makes a sweep takes no arguments ({error})"
            ) from None
        found = found()
    if not isinstance(found, Sweep):
        raise ValueError(f"sweep {reference!r} is a {type(found).__name__}, not a Sweep")
    return found


def _data(options: argparse.Namespace) -> int:
    from deepmech.data import cli_fetch, cli_status

    if bool(options.names) != (options.action == "fetch"):
        raise ValueError("data: give names after fetch, and none after status: deepmech data fetch mnist")
    sys.stdout.write(f"{cli_fetch(options.names) if options.names else cli_status()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
