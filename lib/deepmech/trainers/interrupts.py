"""Work that is stopped where nobody waits for it any more: after Ctrl-C, or when a neighbour has failed.

A thread cannot be ended from outside. Whoever works in one asks :func:`go_on` between chunks of seconds at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_here = threading.local()


class Stopped(Exception):
    """Nobody waits for this work any more."""


def stoppable(work: Callable[..., Any], stop: threading.Event) -> Callable[..., Any]:
    """``work``, in which :func:`go_on` looks at ``stop``."""

    def watched(*arguments: Any) -> Any:
        _here.stop = stop
        try:
            go_on()
            return work(*arguments)
        finally:
            del _here.stop

    return watched


def go_on() -> None:
    """Raise :class:`Stopped` if whoever asked for this thread's work no longer waits for it.

    Examples
    --------
    >>> stop = threading.Event()
    >>> stoppable(go_on, stop)()
    >>> stop.set()
    >>> stoppable(go_on, stop)()
    Traceback (most recent call last):
    deepmech.trainers.interrupts.Stopped
    """
    stop = getattr(_here, "stop", None)
    if stop is not None and stop.is_set():
        raise Stopped
