"""The command line: ``deepmech sweep | verify | data``, and what other packages add to it.

A package adds verbs by an entry point of the group ``deepmech.commands``: a function that gets the subparsers. Rooms
are imported by the command that needs them, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import codecs
import difflib
import io
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from deepmech import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Bad input, a lost cluster, a full disk and
    cells that failed are told in words, without a traceback of the program itself. Modules of the current folder can be
    named, as ``python -m deepmech`` has it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="deepmech")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)  # last: nothing in it is taken for a module of somebody else
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
    add("sweep", nargs="?", metavar="MODULE:NAME", help="a Sweep; leave out to complete the store's own")
    add("--store", required=True, metavar="FOLDER", help="where finished chunks are kept")
    add("--chunk", type=positive, metavar="CELLS", help="cells per chunk")
    add("--workers", type=positive, default=1, help="processes (default: 1)")
    add("--scheduler", metavar="ADDRESS", help="compute on the Dask cluster whose scheduler listens here")
    add(
        "--ship", dest="results", metavar="FOLDER", help="write the finished result there, as the book's stored results"
    )

    trust = {"nargs": "+", "default": [], "metavar": "MODULE:FUNCTION"}
    add("--trust", **trust, help="may be called although only the store names it; see SECURITY.md")

    add = verb(
        commands, "verify", _verify, "recompute a sample of stored cells, compare, and add what passed to the record"
    )
    what = "results, stores, or how names of shipped results begin, such as figure-1c (default: all that ship)"
    add("paths", nargs="*", metavar="PATH|NAME", help=what)
    add("--cells", dest="n", type=positive, default=3, help="cells per result (default: 3)")
    add("--seed", type=int, help="which sample is drawn (default: another one each time)")
    add("--whole", action="store_true", help="dear cells wholly, also where a part of each would do")
    add("--minutes", type=float, help="go round all results with other cells until the time is up")
    add("--accept", action="store_true", help="note also what differs more than was ever seen, if its function may")
    add("--trust", **trust, help="may be called although only a result names it; see SECURITY.md")

    add = verb(commands, "data", _data, "say which data sets are here, or fetch some: deepmech data fetch mnist")
    add("action", nargs="?", choices=("status", "fetch"), default="status", help="(default: status)")
    add("names", nargs="*", metavar="NAME", help="the data sets to download and check")

    for more in entry_points(group="deepmech.commands"):
        more.load()(commands)
    return top


def verb(commands: Any, name: str, run: Callable[[argparse.Namespace], int], help: str) -> Callable[..., Any]:
    """Add a verb that ``run`` does; returns what adds its arguments."""
    made = commands.add_parser(name, help=help)
    made.set_defaults(run=run)
    return made.add_argument


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of a command, which are called as those of its function."""
    return {name: value for name, value in vars(options).items() if name not in ("command", "run", "debug")}


def _see_this_folder() -> None:
    """What a user names on the command line may lie in the current folder, as for a script of theirs; the folder comes
    last, so that nothing in it is taken for a module of somebody else."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


def _sweep(options: argparse.Namespace) -> int:
    from deepmech.sweeps import cli_run

    if options.sweep or options.trust:
        _see_this_folder()
    sys.stdout.write(f"{cli_run(**_given(options))}\n")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from deepmech.sweeps import cli_verify

    if options.trust:
        _see_this_folder()
    options.paths = [path for given in options.paths or [""] for path in _results(given)]
    summary, passed = cli_verify(**_given(options), say=say)
    sys.stdout.write(f"{summary}\n")
    return 0 if passed else 1


def _results(given: str) -> list[Path]:
    """What is at a path, or the shipped results whose names begin so; of no name the folder of them all."""
    from deepmech.sweeps.results import folder

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


def _data(options: argparse.Namespace) -> int:
    from deepmech.data import cli_fetch, cli_status

    if bool(options.names) != (options.action == "fetch"):
        raise ValueError("data: give names after fetch, and none after status: deepmech data fetch mnist")
    sys.stdout.write(f"{cli_fetch(options.names) if options.names else cli_status()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
