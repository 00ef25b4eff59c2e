"""Files that are whole or not there, whatever is killed when."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: How the names of unfinished files begin.
TEMPORARY = ".writing-"


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that becomes ``path`` in one step if the block succeeds, and vanishes if not."""
    temporary = path.parent / f"{TEMPORARY}{secrets.token_hex(6)}{path.suffix}"
    try:
        yield temporary
        publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def publish(temporary: Path, path: Path) -> None:
    """Flush a finished file to disk, give it its final name, and flush the directory's entry too."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    if os.name == "posix":  # Windows opens no folders, and writes their entries itself
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write ``content`` so that ``path`` never holds half of it; text as UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomically(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
