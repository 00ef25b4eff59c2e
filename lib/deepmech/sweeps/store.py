"""A directory that a sweep can be killed over at any moment: one manifest, and one sealed file per chunk of cells.

A chunk is written under a temporary name, flushed to disk and renamed to a name that holds the cells it covers and the
checksum of its bytes. So a file with a final name is whole or visibly damaged. One process at a time adds chunks.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
import time
import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from filelock import FileLock, Timeout

from deepmech.core import specs
from deepmech.sweeps.files import JSON_BYTES, parse_json, read_bytes, require_contained

CHUNK = re.compile(r"cells-(\d+)-(\d+)-([0-9a-f]{16})\.nc")
HOUR = 3600.0
#: How the names of unfinished files begin.
TEMPORARY = ".writing-"


class DamagedChunkWarning(UserWarning):
    """A chunk file was damaged or belongs to another sweep; its cells are computed again."""


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


def checksum(path: Path) -> str:
    """Sixteen hexadecimal digits of a file's bytes; a ValueError for what is no file."""
    return hashlib.sha256(read_bytes(path)).hexdigest()[:16]


#: An array of no more bytes is stored plainly in a compressed file: filters, and the index of pieces, would weigh more.
PLAIN = 2000


def write_netcdf(dataset: xr.Dataset, path: Path, compress: bool = False) -> None:
    """NetCDF4 through h5netcdf; lossless. It is made in memory: h5netcdf does not bear a disk that is full."""
    path.write_bytes(to_netcdf(dataset, compress))


def to_netcdf(dataset: xr.Dataset, compress: bool = False) -> memoryview:
    """The bytes of a file. Where it compresses, an array is one piece: files of the book are small, and read whole."""
    squeeze = {"zlib": True, "complevel": 9, "shuffle": True}
    how: dict[Hashable, dict[str, Any]] = {
        k: (squeeze | {"chunksizes": v.shape} if compress and v.dtype.kind in "iufb" and v.nbytes > PLAIN else {})
        | ({"_FillValue": None} if v.dtype.kind == "f" else {})
        for k, v in dataset.variables.items()
    }
    return dataset.to_netcdf(None, engine="h5netcdf", encoding=how)


def read_netcdf(path: Path, values: bool = True) -> xr.Dataset:
    """The whole file in memory, or its attributes without the ``values``; nothing stays open, and no number is decoded
    into another one or a date. A ValueError if it is none, or shows what lies elsewhere (:mod:`.files`)."""
    how: dict[str, Any] = {"mask_and_scale": False, "decode_times": False, "decode_timedelta": False}
    content = read_bytes(path)
    try:
        require_contained(content)
        with xr.open_dataset(BytesIO(content), engine="h5netcdf", **how) as opened:
            found = opened.load() if values else xr.Dataset(attrs=opened.attrs)
    except Exception as error:  # whatever readers raise at a file that somebody made by hand
        raise ValueError(f"it is no netCDF file that is read here: {error}") from error
    for variable in found.variables.values():
        if np.isnan(variable.attrs.get("_FillValue", 0.0)):  # files of old: the not-a-number that stands for itself
            del variable.attrs["_FillValue"]
    return as_stored(found)


def as_stored(dataset: xr.Dataset) -> xr.Dataset:
    """``dataset`` with texts as wide as the longest, numbers in attributes as Python's own, and no wishes how a file
    should hold it; a ValueError for what is neither number nor boolean nor text."""
    dataset = dataset.drop_encoding()
    for name, variable in dataset.variables.items():
        attrs = {k: v if isinstance(v, str) else _plain(v) for k, v in variable.attrs.items()}
        if variable.dtype.kind in "OTU":
            texts = variable.values.ravel().tolist()
            if not all(isinstance(one, str) and not re.search("[\0\ud800-\udfff]", one) for one in texts):
                raise ValueError(
                    f"{name!r} holds objects: give numbers, booleans, or texts without NUL; reset_index a MultiIndex"
                )
            text = (variable.dims, np.array(texts, str).reshape(variable.shape), attrs)
            dataset = dataset.assign_coords({name: text}) if name in dataset.coords else dataset.assign({name: text})
        elif variable.dtype.kind in "biuf":
            dataset[name].attrs = attrs
        else:
            raise ValueError(f"{name!r} is of type {variable.dtype}: give real numbers, booleans or texts")
    dataset.attrs = {k: v.item() if isinstance(v, np.generic) else v for k, v in dataset.attrs.items()}
    return dataset


def _plain(value: Any) -> Any:
    numbers = np.asarray(value)
    return numbers.item() if numbers.size == 1 else numbers.tolist()


def require_kept(dataset: xr.Dataset) -> None:
    """A ValueError that names a variable or an attribute, in the words of who writes files, unless a file gives
    ``dataset`` back as it is, to any reader.

    Examples
    --------
    >>> require_kept(xr.Dataset({"lost": ("cell", [0, 1], {"dtype": "bool"})}))
    Traceback (most recent call last):
    ValueError: attribute 'dtype' of 'lost': 'lost' would come back as something else
    """
    if not (why := _loss(dataset)):
        return
    for name in dataset.variables:
        alone = dataset[[name]].drop_vars([k for k in dataset.coords if k != name]).drop_attrs()
        parts = {f"attribute {k!r} of ": {k: value} for k, value in dataset[name].attrs.items()}
        for words, attrs in {"": {}, **parts}.items():
            alone[name].attrs = attrs
            if one := _loss(alone):
                raise ValueError(f"{words}{name!r}: {one}")
    raise ValueError(why)


def _loss(dataset: xr.Dataset) -> str:
    """Why a file would not give ``dataset`` back; nothing, if it does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", xr.SerializationWarning)
            # With scales and fill values applied, as whoever opens the file has it.
            file = as_stored(xr.load_dataset(BytesIO(to_netcdf(dataset)), engine="h5netcdf", decode_times=False))
        lost = [name for name in dataset.variables if not same_variable(name, dataset, file)]
    except Exception as error:
        return str(error)
    return f"{', '.join(map(repr, lost))} would come back as something else" if lost else ""


def same_variable(name: Hashable, one: xr.Dataset, two: xr.Dataset) -> bool:
    """Whether a variable is the same in both: role, type, dimensions, attributes with their types, and every bit."""
    if not (name in one.variables and name in two.variables) or (name in one.coords) != (name in two.coords):
        return False
    a, b = one.variables[name], two.variables[name]
    types = ["text" if v.dtype.kind in "OTU" else v.dtype.newbyteorder("=") for v in (a, b)]
    attrs = [{key: repr(value) for key, value in v.attrs.items()} for v in (a, b)]
    return types[0] == types[1] and attrs[0] == attrs[1] and a.dims == b.dims and equal_bits(a.values, b.values)


def equal_bits(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two arrays are equal bit by bit; all not-a-numbers count as one value."""
    # Words come back from a file as another kind of array; numbers never do.
    kinds = {one.dtype.kind, two.dtype.kind}
    if one.shape != two.shape or (len(kinds) > 1 and not kinds <= set("UOT")):
        return False
    if kinds != {"f"}:
        return bool(np.array_equal(one, two))
    # +0 and -0 compare equal but are different bits.
    return bool(np.all(np.isnan(one) & np.isnan(two) | (one == two) & (np.signbit(one) == np.signbit(two))))


@dataclass(frozen=True)
class Store:
    """The chunks of one sweep in a folder that :func:`start_store` made or checked.

    Parameters
    ----------
    path : Path
        The folder.
    key : str
        That of the sweep.
    n_cells : int
        How many cells the sweep has.
    """

    path: Path
    key: str
    n_cells: int

    def require_code(self, code: str) -> None:
        """A ValueError unless what is stored was made by this code; where nothing is stored yet, it may be added to."""
        found = read_manifest(self.path)
        made_by = found.get("code", "code that was not noted")
        if made_by == code:
            return
        if any(CHUNK.fullmatch(file.name) for file in self.path.iterdir()):
            raise ValueError(
                f"{self.path} holds cells made by other code ({made_by}; this is {code}): use another directory"
            )
        write_whole(self.path / "manifest.json", json.dumps({**found, "code": code}, indent=1))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """No other process works on this store meanwhile; if one does, wait for it and say so."""
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            sys.stderr.write(f"deepmech: another process computes in {self.path}; waiting for it\n")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def write(self, dataset: xr.Dataset) -> Path:
        """Keep cells that follow one another, named by ``cell``; an OSError if the disk does not take them."""
        first, last = int(dataset["cell"][0]), int(dataset["cell"][-1])
        temporary = self.path / f"{TEMPORARY}{secrets.token_hex(6)}.nc"
        try:
            write_netcdf(dataset.assign_attrs(sweep_key=self.key), temporary)
            path = self.path / f"cells-{first:07d}-{last:07d}-{checksum(temporary)}.nc"
            replace_file(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return path

    def read(self) -> list[xr.Dataset]:
        """All sound chunks in order of their cells; a damaged or foreign one is named in a warning and set aside.

        Raises
        ------
        ValueError
            If chunks were made by different code, or two of them hold one cell, as no run leaves them.
        """
        code = read_manifest(self.path).get("code")
        chunks, holder = [], dict[int, Path]()
        for path in sorted(self.path.iterdir()):
            match = CHUNK.fullmatch(path.name)
            if match is None:
                continue
            try:
                chunk = self._read(path, int(match[1]), int(match[2]), match[3])
            except FileNotFoundError:
                continue  # another process set it aside
            except (ValueError, OSError, KeyError) as error:
                warnings.warn(f"{path}: {error}; its cells are computed again", DamagedChunkWarning, stacklevel=2)
                with suppress(FileNotFoundError):
                    path.rename(path.with_suffix(f".{secrets.token_hex(3)}.damaged"))
                continue
            if (made_by := chunk.attrs.get("code")) != code:
                raise ValueError(
                    f"{path} was made by other code ({made_by}) than the rest ({code}): delete it, and run again"
                )
            for cell in chunk["cell"].values.tolist():
                if (other := holder.setdefault(cell, path)) != path:
                    raise ValueError(
                        f"{path} and {other.name} both hold cell {cell}: delete one of them, and run again"
                    )
            chunks.append(chunk)
        return chunks

    def _read(self, path: Path, first: int, last: int, seal: str) -> xr.Dataset:
        if checksum(path) != seal:
            raise ValueError(f"damaged (checksum {checksum(path)}, {path.stat().st_size} bytes)")
        dataset = read_netcdf(path)
        key = dataset.attrs.get("sweep_key")
        if key != self.key:
            raise ValueError(f"belongs to another sweep ({key})")
        if last >= self.n_cells or dataset["cell"].values.tolist() != list(range(first, last + 1)):
            raise ValueError("holds other cells than its name says")
        specs.check_real("attribute 'wall_seconds'", dataset.attrs.get("wall_seconds", 0.0), 0.0)
        return dataset


def start_store(path: Path, manifest: Mapping[str, Any]) -> None:
    """Make a store of an empty folder, or of a new one; a ValueError if it has other files, or is a file itself."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ValueError(f"{path} is no directory, as a store is: name another") from None
    if any(not file.name.startswith(TEMPORARY) for file in path.iterdir()):
        raise ValueError(f"{path}: no store (files, but no manifest.json): name a new directory")
    write_whole(path / "manifest.json", json.dumps(manifest, indent=1))


def remove_stale(path: Path) -> None:
    """Remove what killed processes left half-written in a store."""
    for file in path.glob(TEMPORARY + "*"):
        with suppress(FileNotFoundError):
            if time.time() - file.stat().st_mtime > HOUR:  # which spares everybody who is writing now
                file.unlink()


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest of a store, with at least ``key`` and ``sweep``; a ValueError if there is none."""
    specs.check("store", path, isinstance(path, str | Path), "a path")
    manifest = Path(path) / "manifest.json"
    try:
        found = parse_json(read_bytes(manifest, JSON_BYTES))
    except FileNotFoundError:
        raise ValueError(f"{path} is no sweep's store: it has no manifest.json") from None
    except NotADirectoryError:
        raise ValueError(
            f"{path} is a file, and a sweep's store is a folder: name the one that run was given; a result that was "
            "written to a file is read with xarray.load_dataset"
        ) from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{manifest} is damaged ({error}); use another directory") from None
    if not (isinstance(found, dict) and isinstance(found.get("key"), str) and isinstance(found.get("sweep"), dict)):
        raise ValueError(f"{manifest} is damaged (no key, or no sweep); use another directory")
    return found
