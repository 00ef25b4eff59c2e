"""Kernels are forked from one warm process: pages share what importing costs, and nothing they compute.

A page imports torch, xarray, matplotlib and the library, which takes seconds of a processor; here one process does it
once (:func:`warm`), and a kernel is as fresh a fork of it as a new process that has done these imports. On twelve pages
and two cores that was 135 seconds in place of 207.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from collections.abc import Mapping
from multiprocessing import context
from pathlib import Path
from typing import Any
from unittest import mock

from deepmech.core import provenance

#: What nearly every notebook imports.
SHARED = (
    "ipykernel.kernelapp",
    "matplotlib_inline.backend_inline",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "h5netcdf",
    "scipy.stats",
    "torch",
    "deepmech.simulators",
    "deepmech.trainers.training",
    "deepmech_book.experiments.elastic_sde.networks",
    "deepmech_book.experiments.glass.walks",
    "deepmech_book.experiments.spring_block.networks",
    "deepmech_book.figures",
    "deepmech_book.ledger",
    "deepmech_book.press.kernels",
)
#: For fewer notebooks the imports cost more than they save.
WORTH = 4
#: Where processes cannot be forked (Windows), jupyter_client starts kernels from nothing.
FORKS = hasattr(os, "fork")


def warm(environment: Mapping[str, str], notebooks: int) -> None:
    """Start the process that all kernels are forked from, with ``environment``, where that many notebooks are worth it.

    Thread limits and the like are read when libraries are imported, so they must be known here already. Elsewhere
    than on Linux nothing is imported beforehand: there some of these libraries do not bear being forked.
    """
    if FORKS:
        from multiprocessing import forkserver

        worth = notebooks >= WORTH and sys.platform == "linux"
        multiprocessing.get_context("forkserver").set_forkserver_preload(list(SHARED) if worth else [])
        # What a kernel sets before it imports matplotlib.
        inline = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        with mock.patch.dict(os.environ, {**environment, **inline}):
            forkserver.ensure_running()


if FORKS:

    class Kernel(context.ForkServerProcess):
        """A kernel that is forked from the warm process; it has the face of a ``subprocess.Popen``.

        Parameters
        ----------
        connection : file that says where it listens.
        folder, environment : where and with which variables it works.
        said : file that takes what it writes past its own outputs.
        """

        stdin = stdout = stderr = None

        def __init__(self, connection: str, folder: str, environment: dict[str, str], said: str) -> None:
            super().__init__(name="deepmech-kernel")
            self._work = connection, folder, environment, said

        def run(self) -> None:
            connection, folder, environment, said = self._work
            os.setsid()  # Ctrl-C goes to the press, which then ends this process.
            provenance.leave_with_parent()
            gc.freeze()  # What was imported before the fork is no garbage: not to be looked through here.
            with Path(said).open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            from ipykernel.kernelapp import launch_new_instance

            launch_new_instance(argv=["-f", connection])

        def poll(self) -> int | None:
            return self.exitcode

        def wait(self) -> int | None:
            self.join()
            return self.exitcode

        def send_signal(self, number: int) -> Any:
            os.kill(self.pid or 0, number)
