"""Files that are whole or not there, whatever is killed when; and files of others, which no command touches."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: How the names of unfinished files begin.
TEMPORARY = ".writing-"
#: The list of files that :func:`hand_over` wrote into a folder.
LIST = ".deepmech-wrote.json"


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that becomes ``path`` in one step if the block succeeds, and vanishes if not."""
    temporary = path.parent / f"{TEMPORARY}{secrets.token_hex(6)}{path.suffix}"
    try:
        yield temporary
        replace_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def replace_file(temporary: Path, path: Path) -> None:
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


def write_new(path: Path, content: str | bytes) -> None:
    """As :func:`write_whole`, but a FileExistsError where something else stands at ``path`` already."""
    new = content.encode() if isinstance(content, str) else content
    if os.path.lexists(path) and not (path.is_file() and not path.is_symlink() and path.read_bytes() == new):
        raise FileExistsError(f"{path} is there already, and something else: move it away, or name another file")
    write_whole(path, new)


def demand_own(folder: Path, stem: str) -> dict[str, str]:
    """What :func:`hand_over` wrote into ``folder``: the checksum of every file, by its name.

    A FileExistsError if anything else stands at names that begin with ``stem`` and a dot, such as a file that somebody
    edited, and if there is a list that is none.
    """
    listed: dict[str, str] = {}
    if (folder / LIST).exists():
        with suppress(OSError, ValueError):
            listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
        if not isinstance(listed, dict) or not listed or not all(isinstance(sum, str) for sum in listed.values()):
            raise FileExistsError(f"{folder / LIST} is not the list that deepmech keeps there: name another folder")
    if os.path.lexists(folder) and not folder.is_dir():
        raise FileExistsError(f"{folder} is no folder: name another")
    for path in _below(folder, stem):
        ours = path.is_file() and not path.is_symlink() and listed.get(_name(path, folder)) == _checksum(path)
        if not ours:
            raise FileExistsError(
                f"{path} is in the way: deepmech did not write it, or it was changed since. Move it away, or name "
                "another folder"
            )
    return listed


def hand_over(source: Path, folder: Path, stem: str) -> None:
    """Move all files below ``source``, whose names begin with ``stem`` and a dot, to ``folder``, in place of those that
    an earlier call put there. Nothing that was not written by this function is changed (:func:`demand_own`)."""
    listed, old = demand_own(folder, stem), _below(folder, stem)
    new = {_name(path, source): path.read_bytes() for path in _below(source, stem)}
    for path in old:
        if (name := _name(path, folder)) not in new:
            path.unlink()
        del listed[name]
    for name, content in new.items():
        write_whole(folder / name, content)
    listed |= {name: hashlib.sha256(content).hexdigest() for name, content in new.items()}
    write_whole(folder / LIST, json.dumps(listed, indent=1, sort_keys=True))


def _below(folder: Path, stem: str) -> list[Path]:
    """All that is no folder at names that begin with ``stem`` and a dot, or in folders there."""
    tops = [path for path in folder.iterdir() if path.name.startswith(f"{stem}.")] if folder.is_dir() else []
    return [p for top in tops for p in (top, *top.rglob("*")) if p.is_symlink() or not p.is_dir()]


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
