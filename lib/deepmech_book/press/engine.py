"""Papermill's engine for the book: forked kernels, and limits on the time and the output of cells."""

from __future__ import annotations

import logging
import threading
import uuid
from pathlib import Path
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, papermill_engines
from traitlets.config import Config

from deepmech_book.press import kernels
from deepmech_book.press.execution import NotebookFailed, place
from deepmech_book.press.sources import clock

#: Bytes that the outputs of a notebook may have; the longest page of the book has 1.5 million.
OUTPUT = 2**25
NAME = "deepmech"
_starting = threading.Lock()
_running: set[Client] = set()


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


def stop() -> None:
    """End all kernels of this process."""
    for client in list(_running):
        client.kill()


papermill_engines.register(NAME, BookEngine)
logging.getLogger("papermill").setLevel(logging.ERROR)  # parameters have been checked
