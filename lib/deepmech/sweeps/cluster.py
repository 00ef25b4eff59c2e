"""Chunks on the workers of a Dask cluster, through the same door as any executor; Dask is imported only here.

Workers compute and hand results to the client, which alone writes the store: no worker needs to see its directory, and
a chunk that the scheduler had computed twice, because a worker died over it, is written once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from typing import Any


class ClusterExecutor(Executor):
    """Computes chunks on the workers of a Dask cluster; for :func:`deepmech.sweeps.run`.

    A task is a sweep's specification and the numbers of its cells; data are not sent: the sweep's function loads them
    by name where it runs. A worker that dies costs nothing but time: the scheduler has its chunks computed elsewhere,
    and only a chunk over which several workers died counts as one that raised. A lost scheduler is a
    ``BrokenExecutor``. (With Dask's own ``client.get_executor()`` a sweep may wait for ever for a result that was under
    way when its scheduler went.)

    Parameters
    ----------
    client : distributed.Client
        Connected to a cluster of which each worker computes one chunk at a time (``--nthreads 1``): trainers and
        simulators spread a chunk over all cores that their process may use. It stays open.

    Examples
    --------
    >>> from distributed import Client, LocalCluster
    >>> from deepmech import over
    >>> from deepmech.sweeps import ClusterExecutor, Sweep, run
    >>> sweep = Sweep("doc", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 3})
    >>> one = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    >>> with LocalCluster(**one) as cluster, Client(cluster) as client:
    ...     result = run(sweep, chunk=1, executor=ClusterExecutor(client))
    >>> result["power"].sel(base=2.0).values.tolist()
    [1.0, 2.0, 4.0, 8.0]
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:  # type: ignore[override]
        """``fn(*args)`` on a worker."""
        # Impure: Dask would otherwise hand out what it remembers of a chunk, failures included.
        task = self.client.submit(fn, *args, pure=False)
        answer: Future[Any] = Future()
        # Chunks that nobody waits for any more are not begun.
        answer.add_done_callback(lambda done: task.release() if done.cancelled() else None)
        task.add_done_callback(lambda done: _pass_on(done, answer))
        return answer


def _pass_on(task: Any, answer: Future[Any]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(task.result())
    except (CancelledError, OSError) as error:
        broken = BrokenExecutor("the connection to the Dask scheduler was lost")
        broken.__cause__ = error
        answer.set_exception(broken)
    except BaseException as error:
        answer.set_exception(error)


@contextmanager
def connect(address: str, timeout: float = 10.0) -> Iterator[ClusterExecutor]:
    """An executor on the cluster whose scheduler listens at ``address``; the connection is closed at the end.

    Parameters
    ----------
    address : str
        As the scheduler prints it, for example ``tcp://10.0.0.1:8786``.
    timeout : float
        Seconds to wait for the scheduler.

    Raises
    ------
    ValueError
        Without the extra ``cluster``, or if no scheduler answers.

    Examples
    --------
    >>> with connect("tcp://127.0.0.1:1", timeout=0.1) as executor:
    ...     pass
    Traceback (most recent call last):
    ValueError: scheduler = 'tcp://127.0.0.1:1': no Dask scheduler answers there...
    """
    try:
        from distributed import Client
        from distributed.utils import silence_logging_cmgr
    except ImportError as error:
        raise ValueError(f"scheduler = {address!r}: needs Dask ({error}): pip install 'distributed'") from error
    try:
        client = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"scheduler = {address!r}: no Dask scheduler answers there ({error}). Start one with: dask scheduler"
        ) from error
    try:
        yield ClusterExecutor(client)
    finally:
        # A client that lost its scheduler logs its attempts to find it again; the error says so already.
        with silence_logging_cmgr(logging.CRITICAL):
            client.close()
