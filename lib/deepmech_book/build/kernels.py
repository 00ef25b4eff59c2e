"""Kernels forked from one warm process: pages share what importing costs, and nothing that they compute.

A page imports torch, xarray, matplotlib and the library, which takes a processor three to eight seconds. A
:class:`Server` imports them once, and each kernel is a fork of it, which takes 0.3 seconds: as fresh as a new process
that has done these imports, with an environment, a random state and a session of its own.

A book of 55 pages from nothing, on two idle cores with machine code at hand, took 120 seconds with forks and 211
without; every edit of the library, after which all pages are executed again, costs the same.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

#: Elsewhere some of these libraries do not bear being forked, and every kernel starts from nothing.
FORKS = sys.platform == "linux"
#: The variable by which processes of a page are known, whatever became of their parents.
MARK = "DEEPMECH_PAGE"
#: The file beside a kernel's connection that takes what it writes past its cells' outputs.
SAID = "said"
#: What nearly every notebook imports, torch, numba and pandas with it.
SHARED = (
    "ipykernel.kernelapp",
    "matplotlib_inline.backend_inline",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "h5netcdf",
    "scipy.stats",
    "deepmech.simulators",
    "deepmech_book.claims",
    "deepmech_book.explorers",
    "deepmech_book.figures.glass",
    "deepmech_book.sweeps.elastic_sde.networks",
    "deepmech_book.sweeps.glass.walks",
    "deepmech_book.sweeps.shipped",
    "deepmech_book.sweeps.spring_block.networks",
)

_PARENT_DEATH_SIGNAL = 1  # of Linux's prctl
#: Of each page with a forked kernel the session that this leads.
_sessions: dict[str, int] = {}


class Server:
    """The process that kernels are forked from, with variables beside those of this process (limits of threads are read
    when libraries are imported); it ends with this one, however that ends, and its kernels with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        # What a kernel sets before it imports matplotlib.
        own = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        command = [sys.executable, "-c", f"from {__name__} import serve; serve({os.getpid()})"]
        how: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        how |= {"env": {**os.environ, **own, **environment}, "start_new_session": True, "text": True}
        self._process = subprocess.Popen(command, **how)
        self._asking = threading.Lock()

    def fork(self, connection: Path, folder: Path, environment: Mapping[str, str], said: Path) -> Kernel:
        """A kernel that listens where the file ``connection`` says, works in ``folder``, and writes what is no output
        of a cell to the file ``said``."""
        asked = json.dumps([str(connection), str(folder), dict(environment), str(said)])
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            with self._asking:
                self._process.stdin.write(f"{asked}\n")
                self._process.stdin.flush()
                kernel = Kernel(int(self._process.stdout.readline()))
        except (OSError, ValueError, psutil.NoSuchProcess):
            raise RuntimeError("the process that kernels are forked from has ended") from None
        _sessions[environment[MARK]] = kernel.pid
        return kernel

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def serve(builder: int) -> None:
    """Import what pages share, then fork a kernel for each line of standard input and answer with its process id, as
    long as the process ``builder`` is there that started this one."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)  # also while this imports, and does not read
    if os.getppid() != builder:
        return
    for name in SHARED:
        with suppress(Exception):  # the page that imports it will say what is wrong
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is shared is no garbage: not to be looked through in every kernel
    signal.signal(signal.SIGCHLD, _reap)
    while line := sys.stdin.readline():
        if (pid := os.fork()) == 0:
            _become_kernel(*json.loads(line))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def _reap(number: int, frame: Any) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become_kernel(connection: str, folder: str, environment: dict[str, str], said: str) -> None:
    import numpy as np
    from ipykernel.kernelapp import launch_new_instance

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with open(os.devnull, "rb") as nothing, open(said, "wb") as file:
        for own, number in ((nothing, 0), (file, 1), (file, 2)):
            os.dup2(own.fileno(), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    random.seed()
    np.random.seed()  # noqa: NPY002 (a page may use it all the same)
    launch_new_instance(argv=["-f", connection, f"--IPKernelApp.parent_handle={os.getppid()}"])
    sys.exit()


class Kernel(psutil.Process):
    """A forked kernel with the face of a ``subprocess.Popen``, as jupyter_client wants it."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        """None as long as the kernel runs."""
        return None if self.is_running() else 0


def end(mark: str) -> None:
    """End all processes of a page: its kernel, and what cells started, in sessions of their own too."""
    session = _sessions.pop(mark, None)
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            # A fork shows the variables of the process that it was forked from.
            if process.environ().get(MARK) == mark or (session and os.getsid(process.pid) == session):
                process.kill()


class Forked(LocalProvisioner):
    """Lets a fork be the kernel; all else (sockets, signals, ending it) is jupyter_client's."""

    def __init__(self, server: Server, **how: Any) -> None:
        super().__init__(**how)
        self._server = server

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        connection = Path(self.parent.connection_file)  # type: ignore[union-attr]
        said = connection.with_name(SAID)
        kernel = self._server.fork(connection, Path(kwargs["cwd"]), kwargs["env"], said)
        self.process = kernel
        self.pid = self.pgid = kernel.pid  # it leads a session of its own
        return self.connection_info

    async def send_signal(self, signum: int) -> None:
        with suppress(psutil.NoSuchProcess):  # it has ended by itself meanwhile
            await super().send_signal(signum)
