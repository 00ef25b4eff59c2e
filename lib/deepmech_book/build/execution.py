"""One notebook is executed by papermill with the profile's parameters, in a kernel of its own; then come checks, and
only then a file that counts."""

from __future__ import annotations

import datetime
import html
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, papermill_engines
from traitlets.config import Config

from deepmech.core import provenance
from deepmech.sweeps.store import write_whole
from deepmech_book.build import keys
from deepmech_book.build.kernels import MARK, SAID, Forked, Server, end
from deepmech_book.build.sources import BookError, Checkout, PageRun, format_duration, short

FIGURES = "figures"
WIDGET = "application/vnd.jupyter.widget-view+json"
#: Characters of a line, and of an output, that a page shows: to colour one line, Sphinx takes the square of its length.
LINE, TEXT = 5_000, 200_000
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_running: set[str] = set()


class NotebookFailed(Exception):
    """A notebook stopped or its results are not fit to print. ``str()`` names the cell and says why."""


class Client(PapermillNotebookClient):
    """Says in words why a notebook ended early, and lets a fork be its kernel."""

    mark = ""
    server: Server | None = None
    #: The file that says which cell runs; sweeps in it add to it how far they are.
    progress: str | None = None

    def create_kernel_manager(self) -> Any:
        manager = super().create_kernel_manager()
        # Of this Python, whatever another user or environment installed under the kernel's name.
        manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        if self.server is not None:
            how = {"kernel_id": self.mark, "kernel_spec": manager.kernel_spec}
            manager.provisioner = Forked(self.server, parent=manager, **how)
        return manager

    def execute_cell(self, cell: Any, index: int, **how: Any) -> Any:
        if self.progress and cell.cell_type == "code":
            Path(self.progress).write_text(f"{count(self.nb.cells, cell)}\n", encoding="utf-8")
        try:
            return super().execute_cell(cell, index, **how)
        except CellTimeoutError:
            took = format_duration(self.timeout)
            why = f"it was stopped after {took} (deepmech's option --cell-minutes sets another limit)"
        except DeadKernelError:
            why = "its kernel died (killed from outside, or the memory was full)"
        self.shutdown_kernel = "immediate"
        raise NotebookFailed(f"{place(self.nb.cells, cell)}{why}")


class BookEngine(Engine):
    """Papermill's own engine, with our client; ``root`` is where the kernel works, ``folder`` takes what it needs."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **kwargs: Any) -> Any:
        folder, environment = kwargs["folder"], kwargs["environment"]
        # Sockets in this folder, not ports: two kernels that start together may be given the same free port.
        sockets = {} if sys.platform == "win32" else {"transport": "ipc"}
        config = Config(KernelManager={**sockets, "connection_file": str(folder / "kernel.json")})
        waits = {"timeout": kwargs["execution_timeout"], "startup_timeout": 120, "iopub_timeout": 60}
        client = Client(nb_man, kernel_name=kernel_name, config=config, **waits)
        client.mark, client.server = environment[MARK], kwargs["server"]
        client.progress = environment.get("DEEPMECH_PROGRESS")
        with (folder / SAID).open("wb") as said:
            return client.execute(env=environment, cwd=str(kwargs["root"]), stdout=said, stderr=said)


papermill_engines.register("deepmech", BookEngine)
logging.getLogger("papermill").setLevel(logging.ERROR)  # parameters have been checked


def stop() -> None:
    """End all kernels of this process."""
    for mark in list(_running):
        end(mark)


def execute(
    checkout: Checkout,
    page_run: PageRun,
    target: Path,
    environment: Mapping[str, str],
    seconds: int | None = None,
    server: Server | None = None,
) -> str:
    """Execute one notebook in the root of its checkout, and keep it as the file ``target`` beside its figures; returns
    what it wrote to standard error, which is left out of the file.

    ``environment`` are variables of its kernel beside those of this process, and a cell may take ``seconds``. The
    kernel is a fork of ``server``'s process, or without one a process of its own. A NotebookFailed if a cell raises or
    is stopped, if the result cannot be kept, or is not fit to print (:func:`check`).
    """
    source, parameters = page_run.source, page_run.parameters
    with tempfile.TemporaryDirectory(prefix="deepmech-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        notebook = _executed(checkout.root, page_run, folder, environment, seconds, server)
        stderr = _tidy(notebook)
        check(notebook, places(checkout.root))
        drawn, figures = folder / "drawn", folder / FIGURES
        threads = environment.get("OMP_NUM_THREADS", provenance.cores())
        try:
            now = keys.parts(checkout.source(source.name), parameters, keys.surroundings(checkout))
        except BookError:  # it cannot be read any more
            now = {}
        lines = drawn.read_text(encoding="utf-8").splitlines() if drawn.exists() else []
        results = [json.loads(line) for line in lines]
        notebook["metadata"]["deepmech"] = {
            "parts": {
                **({} if now != page_run.parts else now),  # what changed meanwhile is not trusted next time
                "results": keys.results(checkout, [drawn["name"] for drawn in results]),
            },
            "parameters": {**source.parameters, **parameters},
            "seconds": round(notebook["metadata"]["papermill"]["duration"], 1),
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "figures": keys.tree_digest(figures),
            "results": results,
            "machine": f"{provenance.processor()}, {provenance.cores()} cores, {threads} threads of libraries",
            "versions": provenance.versions_in_words(),
        }
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            keys.remove(keys.figures(target))
            if figures.is_dir():
                shutil.move(figures, keys.figures(target))
            write_whole(target, keys.sealed(notebook))
        except OSError as error:  # a full disk, a limit of file sizes, a folder in the way
            raise NotebookFailed(f"its result cannot be kept: {error}") from None
    return stderr


def _executed(
    root: Path, page_run: PageRun, folder: Path, own: Mapping[str, str], seconds: int | None, server: Server | None
) -> dict[str, Any]:
    """What papermill makes of a notebook (nbformat 4 JSON); ``folder`` takes temporary files and figures."""
    # Profiles and start-up files of the user's own IPython must not change what the book says.
    alone = {"IPYTHONDIR": str(folder), "PYDEVD_DISABLE_FILE_VALIDATION": "1", MARK: uuid.uuid4().hex}
    folders = {"DEEPMECH_DRAWN": str(folder / "drawn"), "DEEPMECH_FIGURES": str(folder / FIGURES)}
    written, out, said = folder / "written.ipynb", folder / "executed.ipynb", folder / SAID
    source = page_run.source
    given = {name: value for name, value in page_run.parameters.items() if repr(value) != repr(source.parameters[name])}
    _running.add(alone[MARK])
    try:
        nbformat.write(source.notebook, written)
        done = papermill.execute_notebook(
            written, out, given, kernel_name="python3", progress_bar=False, engine_name="deepmech",
            execution_timeout=seconds, environment={**os.environ, **own, **alone, **folders}, root=root, folder=folder,
            server=server,
            request_save_on_cell_execute=False,  # it would be written twice per cell, with all pictures so far
        )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        # Papermill has by now put a cell of its own (the parameters) into the notebook it numbers.
        cells = json.loads(out.read_text(encoding="utf-8"))["cells"]
        bad = next(c for c in cells if any(o["output_type"] == "error" for o in c.get("outputs", [])))
        raise NotebookFailed(place(cells, bad) + _trace(error.traceback)) from None
    except (OSError, RuntimeError) as error:  # a full disk, a kernel that does not start
        raise NotebookFailed(f"its execution ended early: {error}\n{short(_text(said))}".rstrip()) from None
    except NotebookFailed:  # a kernel that lost an output may wait for it until its time is over
        _require_no_lost_output(said)
        raise
    finally:
        end(alone[MARK])
        _running.discard(alone[MARK])
    _require_no_lost_output(said)
    return json.loads(nbformat.writes(done))


def _require_no_lost_output(said: Path) -> None:
    if "UnicodeEncodeError" in (lost := _text(said)):
        raise NotebookFailed(f"an output was lost, as it cannot be sent as UTF-8:\n{lost.splitlines()[-1]}") from None


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""


def _trace(lines: list[str]) -> str:
    return short(_ANSI.sub("", "\n".join(lines)))


def place(cells: list[Any], cell: Any) -> str:
    """Which code cell this is, counted as in the source, and its code."""
    return f"{count(cells, cell)}:\n{indent(''.join(cell['source']), '    ', lambda line: True)}\n\n"


def count(cells: list[Any], cell: Any) -> str:
    """Which code cell this is, counted as in the source."""
    others = {"injected-parameters", "papermill-error-cell-tag"}
    code = [c for c in cells if c["cell_type"] == "code" and others.isdisjoint(c["metadata"].get("tags", []))]
    number = next((n for n, c in enumerate(code, 1) if c is cell), "?")
    return f"code cell {number} of {len(code)}"


def _tidy(notebook: dict[str, Any]) -> str:
    """No standard error, no widget views, no line without end, nothing that only this machine has."""
    notebook["metadata"].pop("widgets", None)
    for field in ("input_path", "output_path", "environment_variables"):
        notebook["metadata"]["papermill"].pop(field, None)
    stderr = ""
    for cell in notebook["cells"]:
        cell["metadata"].pop("papermill", None)
        for output in list(cell.get("outputs", [])):
            if output.get("name") == "stderr":
                stderr += "".join(output["text"])
                cell["outputs"].remove(output)
            elif "text" in output:
                output["text"] = readable(output["text"])
            if "text/plain" in output.get("data", {}):
                output["data"]["text/plain"] = readable(output["data"]["text/plain"])
            if "text/html" in output.get("data", {}):
                output["data"].pop(WIDGET, None)
                _say(output["data"], cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", ""))
    return stderr


def _say(shown: dict[str, Any], alt: str) -> None:
    """Puts what the metadata of a cell say of its picture into the picture, if it does not say anything itself."""
    drawn, words = "".join(shown["text/html"]), " ".join(alt.split())
    if words and '<div class="deepmech-picture' in drawn and ' alt="" ' in drawn:
        shown["text/html"] = drawn.replace(' alt="" ', f' alt="{html.escape(words)}" ')
        shown["text/plain"] = words


def readable(text: str | list[str]) -> str:
    """A text as a page shows it: of a line, and of all, what is too long is left out, with a word that says so."""
    return short("".join(short(line, LINE) for line in "".join(text).splitlines(keepends=True)), TEXT)


def places(root: Path) -> re.Pattern[str]:
    """Finds paths that only this machine has: the checkout, and folders of its user, of this Python and for temporary
    files."""
    home, temporary = Path.home(), Path(tempfile.gettempdir())
    folders = {root, home, temporary, Path(sys.prefix), Path(__file__).parents[2]}
    found = {path for folder in folders for path in (folder, folder.resolve()) if len(path.parts) > 2}
    exact = [f"{re.escape(str(path))}(?![\\w-])" for path in found | {root, home} if len(path.parts) > 1]
    exact += [re.escape(str(temporary).rstrip(os.sep) + os.sep)]
    return re.compile(rf"(?<![\w.~<])(?<![\w.]/)(?:{'|'.join(exact)})")


def _texts(value: Any) -> Iterator[str]:
    """All words in an output, pictures left out."""
    if isinstance(value, str):
        yield re.sub(r"base64,[\w+/=\s]+", "", value)
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        yield from _texts("".join(value))
    elif isinstance(value, list | dict):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            if not str(key).startswith("image/") or key == "image/svg+xml":
                yield from _texts(one)


def check(notebook: dict[str, Any], machine: re.Pattern[str]) -> None:
    """Every output must be fit to print: a NotebookFailed for an error (even of a cell that was allowed to raise), a
    numbered figure without picture or without text that stands for it, an output that needs a live kernel, and paths of
    this machine (:func:`places`)."""
    for cell in (c for c in notebook["cells"] if c["cell_type"] == "code"):
        bundles = [o["data"] for o in cell["outputs"] if "data" in o]
        drawn = [b for b in bundles if b.keys() & {"text/html", "image/png", "image/svg+xml"}]
        figure = "figure" in cell["metadata"].get("mystnb", {})
        errors = [_trace(output["traceback"]) for output in cell["outputs"] if output["output_type"] == "error"]
        wrong = [f"its output is an error\n{error}" for error in errors]
        if figure and not drawn:
            wrong.append("a figure was announced (mystnb: figure), but the cell shows no picture")
        wordless = [b for b in drawn if ' alt="" ' in "".join(b.get("text/html", ""))]
        if wordless or (figure and not all("".join(b.get("text/plain", "")).strip() for b in drawn)):
            wrong.append("the picture has no text that stands for it (alt text)")
        if any(WIDGET in b for b in bundles):
            wrong.append("a widget without a static form (text/html) is dead on a page")
        for text in () if wrong else _texts(cell["outputs"]):
            forms = {text, html.unescape(text), urllib.parse.unquote(text), text.replace("\\\\", "\\")}
            if found := next(filter(None, map(machine.search, forms)), None):
                wrong.append(f"its output shows a path of this machine ({found[0]})")
                break
        if wrong:
            raise NotebookFailed(f"{place(notebook['cells'], cell)}{wrong[0]}")
