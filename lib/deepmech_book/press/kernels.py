"""Processes and kernels are forked from one warm process: pages share what importing costs, and nothing they compute.

A page needs papermill, torch, xarray, matplotlib and the library: seven seconds of a processor, forty-four times. Here
one process imports them (:func:`warm`); that which executes a notebook is a fork of it, and its kernel is a fork of
that, made before anything else happens: as fresh as a new process that has done these imports.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from typing import Any

from deepmech.core import provenance

#: What nearly every notebook imports, and what executing one does.
SHARED = (
    "jupytext",
    "papermill",
    "ipykernel.kernelapp",
    "matplotlib_inline.backend_inline",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "h5netcdf",
    "scipy.stats",
    "seaborn",
    "torch",
    "deepmech.simulators",
    "deepmech.trainers.training",
    "deepmech_book.experiments.elastic_sde.networks",
    "deepmech_book.experiments.glass.walks",
    "deepmech_book.experiments.spring_block.networks",
    "deepmech_book.figures",
    "deepmech_book.ledger",
    "deepmech_book.press.execution",
)
#: For fewer notebooks the imports cost more than they save.
WORTH = 4
#: The provisioner's name among the entry points of jupyter_client.
NAME = "deepmech-forked"

#: Where processes cannot be forked (Windows), each starts from nothing, and jupyter_client starts the kernels.
FORKS = hasattr(os, "fork")
jobs: Any = multiprocessing.get_context("forkserver" if FORKS else "spawn")
_waiting: list[Waiting] = []


def warm(environment: dict[str, str], notebooks: int) -> None:
    """Start the process that all others are forked from, with ``environment``, where that many notebooks are worth it.

    Thread limits and the like are read when libraries are imported, so they must be known here already. Elsewhere
    than on Linux nothing is imported beforehand: there some of these libraries do not bear being forked.
    """
    if not FORKS:
        return
    from multiprocessing import forkserver

    worth = notebooks >= WORTH and sys.platform == "linux"
    jobs.set_forkserver_preload(list(SHARED) if worth else [])
    before = dict(os.environ)
    # What a kernel sets before it imports matplotlib.
    os.environ.update(environment, MPLBACKEND="module://matplotlib_inline.backend_inline")
    try:
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)


class Waiting:
    """A process that waits to become a kernel; it has the face of a ``subprocess.Popen``.

    It is forked when this is made, which must be before the process has threads or sockets.
    """

    stdin = stdout = stderr = None

    def __init__(self) -> None:
        forks = multiprocessing.get_context("fork")
        receiver, self._sender = forks.Pipe(duplex=False)
        self._process = forks.Process(target=_kernel, args=(receiver,))
        self._process.start()
        self.pid = self._process.pid or 0
        _waiting.append(self)

    def become(self, connection: str, environment: dict[str, str]) -> None:
        self._sender.send((connection, environment))

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()


def _kernel(receiver: Any) -> None:
    os.setsid()
    provenance.leave_with_parent()
    connection, environment = receiver.recv()
    os.environ.clear()
    os.environ.update(environment)
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(argv=["-f", connection])


def waiting() -> Waiting:
    """The one process that waits to become a kernel, for once."""
    return _waiting.pop()
