"""How long a cell of a notebook may take, and how much it may put out: a papermill engine that keeps these limits."""

from __future__ import annotations

from typing import Any

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, papermill_engines

from deepmech_book.press.execution import NotebookFailed, place
from deepmech_book.press.sources import clock

#: Bytes that the outputs of a notebook may have; the longest page of the book has 1.5 million.
OUTPUT = 2**25
NAME = "deepmech"


class Client(PapermillNotebookClient):
    """Ends the notebook when a cell is over its time, or all cells so far over their output."""

    written = 0

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
            self.km.provisioner.process.kill()  # a cell that only prints would hear of nothing else
        return None


class Limited(Engine):
    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **kwargs: Any) -> Any:
        """Papermill's own engine does this too, for a client without our limits."""
        seconds, config = kwargs["execution_timeout"], kwargs["config"]
        return Client(nb_man, kernel_name=kernel_name, timeout=seconds, startup_timeout=60, config=config).execute()


papermill_engines.register(NAME, Limited)
