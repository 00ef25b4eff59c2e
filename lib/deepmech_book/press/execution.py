"""One notebook is executed: papermill with the profile's parameters, checks, and only then a file that counts.

Runs as a process of its own (:func:`work`). When the press goes, so does this process, and with it the kernel.
"""

from __future__ import annotations

import datetime
import gc
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from deepmech.core import provenance
from deepmech.core.files import write_whole
from deepmech_book.press import kernels, keys
from deepmech_book.press.sources import House, Source, with_values

RECORD = "application/vnd.deepmech+json"
FIGURES = "figures"
WIDGET = "application/vnd.jupyter.widget-view+json"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class NotebookFailed(Exception):
    """A notebook stopped or its results are not fit to print. ``str()`` names the cell and says why."""


def execute(
    source: Source, parameters: dict[str, Any], key: str, folder: Path, seconds: int | None = None
) -> tuple[dict[str, Any], str]:
    """Execute one notebook in the working directory; ``folder`` takes temporary files and the figures to take away.

    No cell may take more than ``seconds``.

    Returns
    -------
    notebook : dict
        The executed and checked notebook (nbformat 4 JSON).
    chatter : str
        What the notebook wrote to standard error. It is left out of the notebook.

    Raises
    ------
    NotebookFailed
        When a cell raises or is stopped, when any output is an error, and from :func:`check`.
    """
    import nbformat
    import papermill
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    from deepmech_book.press import limits

    written, drawn, figures = folder / "written.ipynb", folder / "drawn", folder / FIGURES
    os.environ.update(DEEPMECH_DRAWN=str(drawn), DEEPMECH_FIGURES=str(figures))
    nbformat.write(source.notebook, written)
    # Sockets in this folder, not ports: two kernels that start together may be given the same free port.
    sockets = {"transport": "ipc"} if kernels.FORKS else {}
    sockets = Config(KernelManager={**sockets, "connection_file": str(folder / "kernel.json")})
    try:
        done = papermill.execute_notebook(
            written, folder / "executed.ipynb", parameters, kernel_name="python3", progress_bar=False, config=sockets,
            engine_name=limits.NAME, execution_timeout=seconds,
            request_save_on_cell_execute=False,  # it would be written twice per cell, with all pictures so far
        )  # fmt: skip
    except PapermillExecutionError as error:
        # Papermill has by now put a cell of its own (the parameters) into the notebook it numbers.
        raise NotebookFailed(_failure(folder / "executed.ipynb", error)) from None
    notebook = json.loads(nbformat.writes(done))
    chatter = _tidy(source, notebook, parameters)
    check(notebook)
    seconds = notebook["metadata"]["papermill"]["duration"]
    notebook["metadata"]["deepmech"] = {
        "key": key,
        "parameters": {**source.parameters, **parameters},
        "seconds": round(seconds, 1),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "figures": keys.tree_digest(figures),
        "results": [json.loads(line) for line in drawn.read_text().splitlines()] if drawn.exists() else [],
        **_hardware(),
    }
    return notebook, chatter


def _failure(path: Path, error: Any) -> str:
    """The failing cell, its code and the traceback without colours."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    bad = [c for c in cells if any(o["output_type"] == "error" for o in c.get("outputs", []))]
    return place(cells, bad[0]) + short(_ANSI.sub("", "\n".join(error.traceback)))


def short(text: str, most: int = 12_000) -> str:
    """A text that fits a report: of a longer one its beginning and its end.

    Examples
    --------
    >>> short("abcdefgh", 4)
    'a … 8 characters … fgh'
    """
    return text if len(text) <= most else f"{text[: most // 4]} … {len(text)} characters … {text[most // 4 - most :]}"


def place(cells: list[Any], cell: Any) -> str:
    """Which code cell this is, counted as in the source, and its code."""
    own = [c for c in cells if not {"injected-parameters", "papermill-error-cell-tag"} & set(_tags(c))]
    code = [c for c in own if c["cell_type"] == "code"]
    number = next((n for n, c in enumerate(code, 1) if c is cell), "?")
    return f"code cell {number} of {len(code)}:\n{_indent(''.join(cell['source']))}\n\n"


def _tags(cell: dict[str, Any]) -> list[str]:
    return cell["metadata"].get("tags", [])


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _tidy(source: Source, notebook: dict[str, Any], parameters: dict[str, Any]) -> str:
    """One parameters cell with the values in force; no standard error, no widget views, no paths of this machine."""
    notebook["cells"] = [c for c in notebook["cells"] if "injected-parameters" not in _tags(c)]
    notebook["metadata"].pop("widgets", None)
    for field in ("input_path", "output_path", "environment_variables"):
        notebook["metadata"]["papermill"].pop(field, None)
    chatter = []
    for cell in notebook["cells"]:
        cell["metadata"].pop("papermill", None)
        if cell["cell_type"] != "code":
            continue
        if "parameters" in _tags(cell):
            cell["source"] = with_values(source.name, "".join(cell["source"]), parameters)
        kept = []
        for output in cell["outputs"]:
            if output["output_type"] == "stream" and output["name"] == "stderr":
                chatter.append("".join(output["text"]))
                continue
            if "text/html" in output.get("data", {}):
                output["data"].pop(WIDGET, None)
            kept.append(output)
        cell["outputs"] = kept
    return "".join(chatter)


def check(notebook: dict[str, Any]) -> None:
    """Every output must be fit to print.

    Raises
    ------
    NotebookFailed
        For an error output (even of a cell that was allowed to raise), a cell that papermill did not finish, a
        numbered figure without picture or without text that stands for it, an output that needs a live kernel, and
        a path of this machine.
    """
    here = str(Path.cwd())
    code = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    for cell in code:
        where = place(notebook["cells"], cell)
        outputs = cell["outputs"]
        bundles = [o["data"] for o in outputs if "data" in o]
        for output in outputs:
            if output["output_type"] == "error":
                trace = short(_ANSI.sub("", "\n".join(output["traceback"])))
                raise NotebookFailed(f"{where}its output is an error\n{trace}")
        if "mystnb" in cell["metadata"] and "figure" in cell["metadata"]["mystnb"]:
            drawn = [b for b in bundles if "text/html" in b or "image/png" in b or "image/svg+xml" in b]
            if not drawn:
                raise NotebookFailed(f"{where}a figure was announced (mystnb: figure), but the cell shows no picture")
            if not all("".join(b.get("text/plain", "")).strip() for b in drawn):
                raise NotebookFailed(f"{where}the picture has no text that stands for it (alt text)")
        if any(WIDGET in b for b in bundles):
            raise NotebookFailed(f"{where}a widget without a static form (text/html) is dead on a page")
        if len(here) > 1 and f"{here}/" in json.dumps(outputs):
            raise NotebookFailed(f"{where}its output shows a path of this machine ({here})")


def _hardware() -> dict[str, str]:
    return {
        "machine": provenance.machine(),
        "versions": provenance.versions_in_words(),
    }


def records(name: str, notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """What an executed notebook showed: one dictionary per figure or claim, with its page, profile and seconds.

    Records travel in outputs under the MIME type ``application/vnd.deepmech+json``, one or a list per output.
    """
    made = notebook["metadata"]["deepmech"]
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            content = output.get("data", {}).get(RECORD)
            for record in content if isinstance(content, list) else [content] if content else []:
                page = {"page": name, "profile": made["parameters"]["profile"], "seconds": made["seconds"]}
                found.append({**page, **record})
    return found


def work(job: dict[str, Any], environment: dict[str, str], answer: Any) -> None:
    """Execute ``job`` in this process; what happened goes through the pipe ``answer``."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C goes to the press, which then ends this process.
    gc.freeze()  # What was imported before the fork is no garbage: not to be looked through, here and in the kernel.
    folder = Path(job["folder"])
    # Profiles and start-up files of the user's own IPython must not change what the book says.
    own = {"IPYTHONDIR": str(folder), "JUPYTER_PREFER_ENV_PATH": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    os.environ.update(environment, **own)
    os.chdir(job["root"])
    with open(folder / "said", "wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    kernel = None
    if kernels.FORKS:
        os.environ["JUPYTER_DEFAULT_PROVISIONER_NAME"] = kernels.NAME
        kernel = kernels.Waiting()
    provenance.leave_with_parent()
    house = House(Path(job["root"]))
    try:
        source = house.source(job["name"])
        notebook, chatter = execute(source, job["parameters"], job["key"], folder, job["seconds"])
        if keys.key(source, job["parameters"], keys.surroundings(house)) != job["key"]:
            notebook["metadata"]["deepmech"]["key"] = "changed while it ran"
        _keep(notebook, folder / FIGURES, Path(job["target"]))
        answer.send({"chatter": chatter})
    except NotebookFailed as failure:
        answer.send({"failed": str(failure)})
    except OSError as error:  # a full disk, a limit of file sizes, a folder in the way
        answer.send({"failed": f"its result cannot be kept: {error}"})
    finally:
        if kernel is not None:
            kernel.kill()  # one that still waits would be waited for


def _keep(notebook: dict[str, Any], drawn: Path, target: Path) -> None:
    """Seal the executed notebook, and put it and its figures where they count."""
    notebook["metadata"]["deepmech"]["seal"] = keys.seal(notebook)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(keys.figures(target), ignore_errors=True)
    if os.path.lexists(keys.figures(target)):
        raise OSError(f"{keys.figures(target).name} is in its way, and cannot be removed")
    if drawn.is_dir():
        shutil.move(drawn, keys.figures(target))
    write_whole(target, json.dumps(notebook, indent=1, ensure_ascii=False))
