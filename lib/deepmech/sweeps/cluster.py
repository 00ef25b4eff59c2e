"""A sweep on the workers of a Dask cluster: Dask's own executor; Dask is imported only here.

Workers compute and hand results to the client, which alone writes the store: no worker needs to see its directory, and
a chunk that the scheduler had computed twice, because a worker died over it, is written once. Data are not sent: the
sweep's function loads them by name where it runs. A worker that dies costs nothing but time; only a chunk over which
several workers died counts as one that raised.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager


@contextmanager
def connect(address: str, timeout: float = 10.0) -> Iterator[Executor]:
    """An executor on a Dask cluster, for :func:`deepmech.sweeps.run`; the connection is closed at the end.

    With a client of your own it is ``client.get_executor(pure=False)``: pure tasks would be remembered by Dask,
    failures included. Each worker should compute one chunk at a time (``--nthreads 1``): trainers and simulators spread
    a chunk over all cores that their process may use.

    Parameters
    ----------
    address : str
        Where the scheduler listens, as it prints it, for example ``tcp://10.0.0.1:8786``.
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
        yield client.get_executor(pure=False)
    finally:
        # A client that lost its scheduler logs its attempts to find it again; the error says so already.
        with silence_logging_cmgr(logging.CRITICAL):
            client.close()
