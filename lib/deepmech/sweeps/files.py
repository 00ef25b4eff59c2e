"""Files that others may have made: nothing but the file itself is read, and no size that it declares is believed."""

from __future__ import annotations

import json
import math
import stat
import zlib
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import h5py

from deepmech.core import specs

#: A file may unpack to so many bytes, or to four times its own where that is more: none of ours is pressed so hard.
UNPACKED = 2**30
#: So many bytes, and so many lists within lists, JSON may have.
JSON_BYTES, JSON_DEPTH = 2**24, 50
#: The ways in which a netCDF file may be pressed, as HDF5 numbers its filters: none, deflated, shuffled and deflated.
PRESSED: tuple[list[int], ...] = ([], [h5py.h5z.FILTER_DEFLATE], [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE])


def read_bytes(path: Path, most: float | None = None) -> bytes:
    """The bytes of a file; a ValueError for a folder, a pipe or a device, and for more than ``most`` bytes, or by
    default half of this machine's memory."""
    found, most = path.stat(), specs.total_memory() / 2 if most is None else most
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{path} is no file but a folder, a pipe or a device")
    if found.st_size > most:
        raise ValueError(f"{path} has {found.st_size:,} bytes, and at most {int(most):,} are read")
    return path.read_bytes()


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says; a ValueError if it is none, or too long, or nested too deep for those who walk it."""
    if len(text) > JSON_BYTES:
        raise ValueError(f"JSON of {len(text):,} bytes, and at most {JSON_BYTES:,} are read")
    try:
        level = [found := json.loads(text)]
        for _ in range(JSON_DEPTH):
            level = [one for outer in level if isinstance(outer, dict | list)
                     for one in (outer.values() if isinstance(outer, dict) else outer)]  # fmt: skip
            if not level:
                return found
    except RecursionError:
        pass
    raise ValueError(f"JSON nested more than {JSON_DEPTH} deep")


def require_contained(content: bytes) -> None:
    """A ValueError unless an HDF5 file holds all that it shows, as numbers and texts of a bounded size, unpacked too.

    It is to be called before a value is read: HDF5 follows links and storage to other files of whoever reads.
    """
    limit, unpacked = max(UNPACKED, 4 * len(content)), 0
    with h5py.File(BytesIO(content)) as file:
        for name in file:
            if file.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
                raise ValueError(f"{name!r} is a link to elsewhere: only what lies in the file itself is read")
            if file.get(name, getclass=True) is not h5py.Dataset:
                raise ValueError(f"{name!r} is a group or a type: a result has variables alone")
        for owner in (file, *file.values()):
            for name in owner.attrs:
                where = f"attribute {name!r} of {owner.name!r}"
                one = owner.attrs.get_id(name)
                if name == "DIMENSION_LIST" and isinstance(owner, h5py.Dataset) and one.shape == (owner.ndim,):
                    continue  # references to variables of this file, of which names are read
                if name != "REFERENCE_LIST":  # which nobody reads
                    unpacked += _size(where, one, len(content))
                _require_less(where, unpacked, limit)
            if isinstance(owner, h5py.Dataset):
                unpacked += _require_stored(owner, content, limit - unpacked)


def _require_stored(variable: h5py.Dataset, content: bytes, limit: int) -> int:
    """How many bytes a variable unpacks to; a ValueError unless all lie in the file, and at most ``limit``."""
    what, made = repr(variable.name), variable.id.get_create_plist()
    if made.get_layout() == h5py.h5d.VIRTUAL or made.get_external_count():
        raise ValueError(f"{what} lies in another file: only what lies in the file itself is read")
    filters = [made.get_filter(i)[0] for i in range(made.get_nfilters())]
    if filters not in PRESSED:
        raise ValueError(f"{what} has the filters {filters}: of HDF5's, shuffle and deflate are read")
    chunk = math.prod(variable.chunks or ()) * variable.dtype.itemsize
    _require_less(what, max(chunk, variable.size * variable.dtype.itemsize), limit)
    size = _size(what, variable.id, len(content))
    if size > limit and variable.dtype.kind == "O":  # texts, which may all be the file's longest, or short
        size, step = 0, max(1, limit // len(content))
        for *row, first in product(*map(range, variable.shape[:-1]), range(0, variable.shape[-1], step)):
            size += sum(64 + len(text) for text in variable[(*row, slice(first, first + step))])
            _require_less(what, size, limit)
    _require_less(what, size, limit)
    pieces: list[h5py.h5d.StoreInfo] = []
    if filters:
        variable.id.chunk_iter(pieces.append)
    for piece in pieces:  # HDF5 inflates all that a piece holds, whatever its declared size
        _require_less(what, piece.size, len(content))
        mask, packed = variable.id.read_direct_chunk(piece.chunk_offset)
        if mask or len(zlib.decompressobj().decompress(packed, chunk + 1)) > chunk:
            raise ValueError(f"{what} has a piece that unpacks to more than it declares")
    return size


def _size(what: str, stored: Any, longest: int) -> int:
    """How many bytes a variable or an attribute declares; a text of any length counts as one of the ``longest``."""
    text = h5py.check_string_dtype(stored.dtype)
    if text is None and stored.dtype.kind not in "iuf":
        kind = "references" if h5py.check_ref_dtype(stored.dtype) else f"values of type {stored.dtype}"
        raise ValueError(f"{what} holds {kind}: only numbers and texts are read")
    each = longest if text is not None and text.length is None else stored.dtype.itemsize
    return math.prod(stored.shape or ()) * each if stored.shape is not None else 0


def _require_less(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise ValueError(f"{what} unpacks to {size:,} bytes, and at most {limit:,} are read")
