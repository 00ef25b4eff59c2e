"""One notebook is executed: papermill with the profile's parameters in a forked kernel, with limits on the time and the
output of its cells; then checks, and only then a file that counts."""

from __future__ import annotations

import datetime
import json
import logging
import os
import re
import shutil
import tempfile
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

import nbformat
import papermill
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, papermill_engines
from traitlets.config import Config

from deepmech.core import provenance
from deepmech.core.files import write_whole
from deepmech_book.press import kernels, keys
from deepmech_book.press.sources import BookError, Checkout, Source, clock, with_values

FIGURES = "figures"
WIDGET = "application/vnd.jupyter.widget-view+json"
#: Bytes that the outputs of a notebook may have; the longest page of the book has 1.5 million.
OUTPUT = 2**25
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_starting = threading.Lock()
_running: set[Client] = set()


class NotebookFailed(Exception):
    """A notebook stopped or its results are not fit to print. ``str()`` names the cell and says why."""


class Forked(LocalProvisioner):
    """Lets a fork of the warm process be the kernel; all else (sockets, signals, ending it) is jupyter_client's."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        # The kernel's own guard compares its parent with this; ours watches a pipe.
        environment = {name: value for name, value in kwargs["env"].items() if name != "JPY_PARENT_PID"}
        connection = Path(self.parent.connection_file)  # type: ignore[union-attr]
        process = kernels.Kernel(str(connection), str(kwargs["cwd"]), environment, str(connection.with_name("said")))
        with _starting:
            process.start()
        self.process = process  # type: ignore[assignment]
        self.pid = self.pgid = process.pid  # it leads a process group of its own
        return self.connection_info


class Client(PapermillNotebookClient):
    """Ends the notebook when a cell is over its time, or all cells so far over their output."""

    written = 0

    def create_kernel_manager(self) -> Any:
        manager = super().create_kernel_manager()
        if kernels.FORKS:
            how = {"kernel_id": str(uuid.uuid4()), "kernel_spec": manager.kernel_spec}
            manager.provisioner = Forked(parent=manager, **how)
        return manager

    def kill(self) -> None:
        """End the kernel, if it has started."""
        process = getattr(getattr(self.km, "provisioner", None), "process", None)
        if process is not None:
            process.kill()

    def execute_cell(self, cell: Any, index: int, **how: Any) -> Any:
        try:
            return super().execute_cell(cell, index, **how)
        except CellTimeoutError:
            why = f"it was stopped after {clock(self.timeout)} (deepmech's option --cell-minutes sets another limit)"
        except DeadKernelError:
            why = "its kernel died (killed from outside, or the memory was full)"
            if self.written > OUTPUT:
                why = f"it was stopped: the outputs of a notebook may have {OUTPUT >> 20} MB"
        self.shutdown_kernel = "immediate"
        raise NotebookFailed(f"{place(self.nb.cells, cell)}{why}")

    def process_message(self, message: Any, *rest: Any, **how: Any) -> Any:
        if self.written <= OUTPUT:
            self.written += sum(map(len, message.get("buffers", []))) + len(str(message["content"]))
            if self.written <= OUTPUT:
                return super().process_message(message, *rest, **how)
            self.kill()  # a cell that only prints would hear of nothing else
        return None


class BookEngine(Engine):
    """Papermill's own engine, with our client; ``root`` is where the kernel works, ``folder`` takes what it needs."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **kwargs: Any) -> Any:
        # Sockets in this folder, not ports: two kernels that start together may be given the same free port.
        sockets = {"transport": "ipc"} if kernels.FORKS else {}
        config = Config(KernelManager={**sockets, "connection_file": str(kwargs["folder"] / "kernel.json")})
        seconds, where = kwargs["execution_timeout"], {"env": kwargs["environment"], "cwd": str(kwargs["root"])}
        client = Client(nb_man, kernel_name=kernel_name, timeout=seconds, startup_timeout=60, config=config)
        _running.add(client)
        try:
            return client.execute(**where)
        finally:
            _running.discard(client)


papermill_engines.register("deepmech", BookEngine)
logging.getLogger("papermill").setLevel(logging.ERROR)  # parameters have been checked


def stop() -> None:
    """End all kernels of this process."""
    for client in list(_running):
        client.kill()


def execute(
    checkout: Checkout,
    source: Source,
    parameters: dict[str, Any],
    key: str,
    target: Path,
    environment: Mapping[str, str],
    seconds: int | None = None,
) -> str:
    """Execute one notebook in the root of its checkout, and keep it as the file ``target`` beside its figures; returns
    what it wrote to standard error, which is left out of the file.

    ``key`` is what the notebook is made of, and the file says if that changed meanwhile; ``environment`` are variables
    of its kernel beside those of this process, and a cell may take ``seconds``. A NotebookFailed if a cell raises or is
    stopped, if the result cannot be kept, or is not fit to print (:func:`check`).
    """
    with tempfile.TemporaryDirectory(prefix="deepmech-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        notebook = _executed(checkout.root, source, parameters, folder, environment, seconds)
        chatter = _tidy(source, notebook, parameters)
        check(notebook, checkout.root)
        drawn, figures = folder / "drawn", folder / FIGURES
        for picture in figures.glob("*.png"):
            with_palette(picture)
        threads = environment.get("OMP_NUM_THREADS", provenance.cores())
        try:
            now = keys.key(checkout.source(source.name), parameters, keys.surroundings(checkout))
        except BookError:  # it cannot be read any more
            now = None
        made = notebook["metadata"]["deepmech"] = {
            "key": key if now == key else "changed while it ran",
            "parameters": {**source.parameters, **parameters},
            "seconds": round(notebook["metadata"]["papermill"]["duration"], 1),
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "figures": keys.tree_digest(figures),
            "results": [json.loads(line) for line in drawn.read_text().splitlines()] if drawn.exists() else [],
            "machine": f"{provenance.processor()}, {provenance.cores()} cores, {threads} threads of libraries",
            "versions": provenance.versions_in_words(),
        }
        made["seal"] = keys.seal(notebook)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            keys.remove(keys.figures(target))
            if figures.is_dir():
                shutil.move(figures, keys.figures(target))
            write_whole(target, json.dumps(notebook, indent=1, ensure_ascii=False))
        except OSError as error:  # a full disk, a limit of file sizes, a folder in the way
            raise NotebookFailed(f"its result cannot be kept: {error}") from None
    return chatter


def _executed(
    root: Path, source: Source, parameters: dict[str, Any], folder: Path, own: Mapping[str, str], seconds: int | None
) -> dict[str, Any]:
    """What papermill makes of a notebook (nbformat 4 JSON); ``folder`` takes temporary files and figures."""
    # Profiles and start-up files of the user's own IPython must not change what the book says.
    alone = {"IPYTHONDIR": str(folder), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    places = {"DEEPMECH_DRAWN": str(folder / "drawn"), "DEEPMECH_FIGURES": str(folder / FIGURES)}
    written, out, said = folder / "written.ipynb", folder / "executed.ipynb", folder / "said"
    try:
        nbformat.write(source.notebook, written)
        done = papermill.execute_notebook(
            written, out, parameters, kernel_name="python3", progress_bar=False, engine_name="deepmech",
            execution_timeout=seconds, environment={**os.environ, **own, **alone, **places}, root=root, folder=folder,
            request_save_on_cell_execute=False,  # it would be written twice per cell, with all pictures so far
        )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        # Papermill has by now put a cell of its own (the parameters) into the notebook it numbers.
        cells = json.loads(out.read_text(encoding="utf-8"))["cells"]
        bad = next(c for c in cells if any(o["output_type"] == "error" for o in c.get("outputs", [])))
        raise NotebookFailed(place(cells, bad) + _trace(error.traceback)) from None
    except (OSError, RuntimeError) as error:  # a full disk, a kernel that does not start
        last = said.read_text(errors="replace").strip() if said.is_file() else ""
        raise NotebookFailed(f"its execution ended early: {error}\n{short(last)}".rstrip()) from None
    return json.loads(nbformat.writes(done))


def _trace(lines: list[str]) -> str:
    return short(_ANSI.sub("", "\n".join(lines)))


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
    return f"code cell {number} of {len(code)}:\n{indent(''.join(cell['source']), '    ', lambda line: True)}\n\n"


def _tags(cell: dict[str, Any]) -> list[str]:
    return cell["metadata"].get("tags", [])


def _tidy(source: Source, notebook: dict[str, Any], parameters: dict[str, Any]) -> str:
    """One parameters cell with the values in force; no standard error, no widget views, no paths of this machine."""
    notebook["cells"] = [c for c in notebook["cells"] if "injected-parameters" not in _tags(c)]
    notebook["metadata"].pop("widgets", None)
    for field in ("input_path", "output_path", "environment_variables"):
        notebook["metadata"]["papermill"].pop(field, None)
    chatter = ""
    for cell in notebook["cells"]:
        cell["metadata"].pop("papermill", None)
        if "parameters" in _tags(cell):
            cell["source"] = with_values(source.name, "".join(cell["source"]), parameters)
        for output in list(cell.get("outputs", [])):
            if output.get("name") == "stderr":
                chatter += "".join(output["text"])
                cell["outputs"].remove(output)
            if "text/html" in output.get("data", {}):
                output["data"].pop(WIDGET, None)
    return chatter


def check(notebook: dict[str, Any], root: Path) -> None:
    """Every output must be fit to print: a NotebookFailed for an error (even of a cell that was allowed to raise), a
    numbered figure without picture or without text that stands for it, an output that needs a live kernel, and the path
    ``root``, where it worked."""
    for cell in (c for c in notebook["cells"] if c["cell_type"] == "code"):
        bundles = [o["data"] for o in cell["outputs"] if "data" in o]
        drawn = [b for b in bundles if b.keys() & {"text/html", "image/png", "image/svg+xml"}]
        figure = "figure" in cell["metadata"].get("mystnb", {})
        errors = [_trace(output["traceback"]) for output in cell["outputs"] if output["output_type"] == "error"]
        wrong = [f"its output is an error\n{error}" for error in errors]
        if figure and not drawn:
            wrong.append("a figure was announced (mystnb: figure), but the cell shows no picture")
        if figure and not all("".join(b.get("text/plain", "")).strip() for b in drawn):
            wrong.append("the picture has no text that stands for it (alt text)")
        if any(WIDGET in b for b in bundles):
            wrong.append("a widget without a static form (text/html) is dead on a page")
        if len(str(root)) > 1 and f"{root}/" in json.dumps(cell["outputs"]):
            wrong.append(f"its output shows a path of this machine ({root})")
        if wrong:
            raise NotebookFailed(f"{place(notebook['cells'], cell)}{wrong[0]}")


def with_palette(picture: Path, most: int = 24) -> None:
    """Give a PNG a palette of 256 colours, a quarter of its bytes, where it looks the same: where not one pixel in a
    thousand is off by more than ``most`` of 255."""
    import numpy as np
    from PIL import Image

    with Image.open(picture) as image:
        full = np.asarray(image.convert("RGB"))
        how = {name: image.info[name] for name in ("dpi",) if name in image.info}
    few = Image.fromarray(full).quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    which = np.asarray(few).ravel()
    count = np.maximum(np.bincount(which, minlength=256), 1)
    means = [np.bincount(which, full[..., k].ravel(), 256) / count for k in range(3)]
    palette = np.round(np.stack(means, -1)).astype(np.uint8)
    off = np.abs(palette[which].astype(int) - full.reshape(-1, 3)).max(-1)
    if (off > most).mean() < 1e-3:
        few.putpalette(palette.tobytes())
        few.save(picture, "PNG", **how)
