"""A directory that a sweep can be killed over at any moment: a manifest, and one file for each chunk of cells.

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
import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from filelock import FileLock, Timeout

from deepmech.core import specs
from deepmech.sweeps.files import JSON_BYTES, parse_json, read_bytes, require_contained
from deepmech.sweeps.sweep import Sweep

CHUNK = re.compile(r"cells-(\d+)-(\d+)-([0-9a-f]{16})\.nc")
#: How the names of unfinished files begin.
TEMPORARY = ".writing-"


class DamagedChunkWarning(UserWarning):
    """A chunk file is damaged or belongs to another sweep; its cells are computed again."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Write ``content`` so that ``path`` never holds half of it, also after a power cut; text as UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f"{TEMPORARY}{secrets.token_hex(6)}{path.suffix}"
    try:
        with temporary.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        if os.name == "posix":  # Windows opens no folders, and writes their entries itself
            handle = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    finally:
        temporary.unlink(missing_ok=True)


def checksum(path: Path) -> str:
    """Sixteen hexadecimal digits of a file's bytes; a ValueError for what is no file."""
    return digits_of(read_bytes(path))


def digits_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


#: An array of no more bytes is stored plainly in a compressed file: filters, and the index of pieces, would weigh more.
PLAIN = 2000


def to_netcdf(dataset: xr.Dataset, compress: bool = False) -> bytes:
    """The bytes of a netCDF4 file, made in memory, since h5netcdf does not bear a disk that is full. Where it
    compresses, an array is one piece: files of the book are small, and read whole."""
    squeeze = {"zlib": True, "complevel": 9, "shuffle": True}
    how: dict[Hashable, dict[str, Any]] = {
        k: (squeeze | {"chunksizes": v.shape} if compress and v.dtype.kind in "iufb" and v.nbytes > PLAIN else {})
        | ({"_FillValue": None} if v.dtype.kind == "f" else {})
        for k, v in dataset.variables.items()
    }
    dask = sys.modules.get("dask")  # on a cluster xarray would lock the file, by a name that one in memory has not
    with dask.config.set(scheduler="threads") if dask else nullcontext():
        return bytes(dataset.drop_encoding().to_netcdf(None, engine="h5netcdf", encoding=how))


def read_netcdf(path: Path, values: bool = True) -> xr.Dataset:
    """The whole file in memory, or its attributes without the ``values``; nothing stays open. A ValueError if it is
    none, or shows what lies elsewhere (:mod:`.files`)."""
    content = read_bytes(path)
    try:
        return from_netcdf(content, values)
    except Exception as error:  # whatever readers raise at a file that somebody made by hand
        raise ValueError(f"it is no netCDF file that is read here: {error}") from error


def from_netcdf(content: bytes, values: bool = True) -> xr.Dataset:
    """What the bytes of a file hold: no number decoded into another one or a date, texts as wide as the longest,
    numbers in attributes as Python's own, and no wishes how a file should hold it."""
    require_contained(content)
    how: dict[str, Any] = {"mask_and_scale": False, "decode_times": False, "decode_timedelta": False}
    with xr.open_dataset(BytesIO(content), engine="h5netcdf", **how) as opened:
        dataset = opened.load().drop_encoding() if values else xr.Dataset(attrs=opened.attrs)
    for name, variable in dataset.variables.items():
        attrs = {k: v if isinstance(v, str) else np.asarray(v).tolist() for k, v in variable.attrs.items()}
        if attrs.get("_FillValue") != attrs.get("_FillValue"):  # files of old: the not-a-number that stands for itself
            del attrs["_FillValue"]
        if variable.dtype.kind in "OTU":
            text = (variable.dims, np.array(variable.values.tolist(), str).reshape(variable.shape))
            dataset = dataset.assign_coords({name: text}) if name in dataset.coords else dataset.assign({name: text})
        dataset[name].attrs = attrs
    dataset.attrs = {k: v.item() if isinstance(v, np.generic) else v for k, v in dataset.attrs.items()}
    return dataset


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
    """The chunks of a sweep in a folder."""

    path: Path
    sweep: Sweep

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The store for this process alone, started if there is none; if another process works on it, wait for it and
        say so. A ValueError if there is something else, or the store of another sweep."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ValueError(f"{self.path} is no directory, as a store is: name another") from None
        manifest = self.path / "manifest.json"
        if manifest.exists():
            self.require_sweep()  # before anything is written into a folder of others
        elif any(not file.name.startswith(".") for file in self.path.iterdir()):
            raise ValueError(f"{self.path}: no store (files, but no manifest.json): name a new directory")
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            sys.stderr.write(f"deepmech: another process computes in {self.path}; waiting for it\n")
            lock.acquire()
        try:
            for half_written in self.path.glob(TEMPORARY + "*"):  # by a process that was killed
                half_written.unlink()
            if not manifest.exists():
                write_whole(manifest, json.dumps({"key": self.sweep.key, "sweep": self.sweep.to_json()}, indent=1))
            self.require_sweep()
            yield
        finally:
            lock.release()

    def require_sweep(self) -> None:
        """A ValueError unless the store is that of the sweep; it names what differs."""
        sweep, other = self.sweep, sweep_at(self.path)
        if other.key != sweep.key:
            raise ValueError(
                f"{self.path} holds another sweep than {sweep.name!r} ({sweep.key}), {other.name!r} ({other.key}), "
                f"which differs in {', '.join(sweep.differences(other))}. Use another directory"
            )
        if other.grid.dims != sweep.grid.dims:  # cells are numbered by it
            raise ValueError(
                f"{self.path} holds {sweep.name!r} over {', '.join(map(str, other.grid.dims))}, in this order: give "
                "cells so, or use another directory"
            )

    def write(self, dataset: xr.Dataset) -> Path:
        """Keep cells that follow one another, named by ``cell``; an OSError if the disk does not take them."""
        first, last = int(dataset["cell"][0]), int(dataset["cell"][-1])
        content = to_netcdf(dataset.assign_attrs(sweep_key=self.sweep.key))
        path = self.path / f"cells-{first:07d}-{last:07d}-{digits_of(content)}.nc"
        write_whole(path, content)
        return path

    def read(self) -> list[xr.Dataset]:
        """All sound chunks in order of their cells; a damaged or foreign one is named in a warning and left out."""
        chunks = []
        for path in sorted(self.path.iterdir()):
            if match := CHUNK.fullmatch(path.name):
                try:
                    chunks.append(self._read(path, int(match[1]), int(match[2]), match[3]))
                except (ValueError, OSError, KeyError) as error:
                    warnings.warn(f"{path}: {error}; it does not count: delete it", DamagedChunkWarning, stacklevel=2)
        return chunks

    def _read(self, path: Path, first: int, last: int, written: str) -> xr.Dataset:
        if (found := checksum(path)) != written:
            raise ValueError(f"damaged (checksum {found}, {path.stat().st_size} bytes)")
        dataset = read_netcdf(path)
        if (key := dataset.attrs.get("sweep_key")) != self.sweep.key:
            raise ValueError(f"belongs to another sweep ({key})")
        if last >= self.sweep.n_cells or dataset["cell"].values.tolist() != list(range(first, last + 1)):
            raise ValueError("holds other cells than its name says")
        specs.check_real("attribute 'wall_seconds'", dataset.attrs.get("wall_seconds", 0.0), 0.0)
        return dataset


def sweep_at(path: str | Path) -> Sweep:
    """The sweep of a store, which can be read and not computed; a ValueError if there is no store."""
    specs.check("store", path, isinstance(path, str | Path), "a path")
    manifest = Path(path) / "manifest.json"
    try:
        return Sweep.from_json(parse_json(read_bytes(manifest, JSON_BYTES))["sweep"])
    except FileNotFoundError:
        raise ValueError(f"{path} is no sweep's store: it has no manifest.json") from None
    except NotADirectoryError:
        raise ValueError(
            f"{path} is a file, and a sweep's store is a folder: name the one that run was given; a result that was "
            "written to a file is read with xarray.load_dataset"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{manifest} is damaged ({error}); use another directory") from None
