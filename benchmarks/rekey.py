"""Give stored results the keys of names: ``python benchmarks/rekey.py FOLDER ...`` (once for each folder of results).

Keys once held the path of the function that computes cells. This puts the name that ``deepmech_book.cells`` has for the
function in its place, in the spec that each file holds, and renames file and entry in the record. A result that was
made from another one names that one's key as its data, which changes with it. Nothing else changes: every array and
every other attribute of the new file is compared, byte by byte, with the old one before this goes. A file whose
function has its name already is left alone, so that results of older checkouts can be added at any time.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from deepmech.core.files import atomically, write_whole
from deepmech.sweeps import Sweep
from deepmech.sweeps.record import FILE
from deepmech.sweeps.store import checksum

#: Where functions lay in ``deepmech_book.experiments`` when they got their names; a new line of the table needs none.
PATHS = {
    "elastic_sde.extensions_fit:fit_cells": "elastic_sde.extension_models",
    "finite_steps:step_cells": "elastic_sde.finite_steps",
    "elastic_sde.networks:train_cells": "elastic_sde.networks",
    "tangent_kernel:measure_cells": "elastic_sde.tangent_kernel",
    "coverage:try_intervals": "extras.coverage",
    "zoo:train_zoo": "extras.zoo",
    "glass.landscape:survey": "glass.landscape",
    "glass.former:relax": "glass.lennard_jones",
    "glass.cifar:linear_cells": "glass.linear_networks",
    "glass.preparation:rest_cells": "glass.preparation",
    "glass.transitions:rest": "glass.transitions",
    "glass.wells:waited": "glass.waited",
    "glass.walks:walk_cells": "glass.walks",
    "spring_block.travels:train_kind": "spring_block.architectures",
    "spring_block.convolutional:train_through_stages": "spring_block.convolutional",
    "spring_block.beside_the_print:train_in_time": "spring_block.fewer_epochs",
    "spring_block.linear_networks:train_cells": "spring_block.linear_networks",
    "spring_block.networks:train_cells": "spring_block.networks",
    "spring_block.networks_in_time:train_regimes": "spring_block.networks_in_time",
    "spring_block.asymmetric_noise:train_and_draw": "spring_block.noise_by_layer",
    "spring_block.recorded:train_recorded": "spring_block.recorded",
    "spring_block.regression:train_regressions": "spring_block.regression",
    "spring_block.travels:train_resolutions": "spring_block.resolutions",
    "spring_block.networks_in_time:train_on_both_sets": "spring_block.both_sets",
    "spring_block.metrics_compared:train_in_two_metrics": "spring_block.two_metrics",
    "spring_block.tuning:train_validated": "spring_block.validated",
    "spring_block.without_norm:train_cells": "spring_block.without_norm",
}
#: The attributes of a file that hold its key or that of its source.
CHANGED = {"spec", "sweep_key", "data"}


def rekey(folder: Path, keys: dict[str, str]) -> dict[str, str]:
    """Re-key all files of a folder; ``keys`` has the new key of each old one, and is added to. Returns new names of
    files by old ones."""
    waiting, renamed = sorted(folder.glob("*.nc")), {}
    # What was made from another result comes after it.
    for path in sorted(waiting, key=lambda path: path.stem.rpartition("-")[0].endswith("-models")):
        with h5py.File(path) as file:
            spec, old = json.loads(file.attrs["spec"]), str(file.attrs["sweep_key"])
        name = PATHS.get(spec["compute"].removeprefix("deepmech_book.experiments."))
        if name is None:
            print(f"{path.name}: left, its function is {spec['compute']}")
            continue
        before = Sweep.from_json(spec)
        if before.key != old or path.name != f"{before.name}-{old}.nc":
            raise SystemExit(f"{path}: its key is not that of its sweep")
        spec |= {"compute": name, "data": keys.get(spec["data"], spec["data"])}
        after = Sweep.from_json(spec)
        keys[old] = after.key
        new = path.with_name(f"{after.name}-{after.key}.nc")
        with atomically(new) as temporary:
            shutil.copyfile(path, temporary)
            with h5py.File(temporary, "r+") as file:
                for key, value in (("spec", json.dumps(spec)), ("sweep_key", after.key), ("data", after.data)):
                    if str(file.attrs[key]) != value:
                        file.attrs[key] = value
            require_same(path, temporary)
        path.unlink()
        renamed[path.name] = new.name
    return renamed


def require_same(one: Path, two: Path) -> None:
    """An error unless two files differ in the attributes :data:`CHANGED` of the file alone."""

    def contents(path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def note(name: str, item: Any) -> None:
            for key, value in item.attrs.items():
                # References to dimensions are places in the file.
                if key not in ("DIMENSION_LIST", "REFERENCE_LIST") and not (name == "/" and key in CHANGED):
                    found[f"{name}@{key}"] = (np.asarray(value).dtype.str, np.asarray(value).tobytes(), repr(value))
            if isinstance(item, h5py.Dataset):
                values = item[()]
                content = repr(values.tolist()) if values.dtype.kind == "O" else values.tobytes()
                how = (item.compression, item.compression_opts, item.shuffle, item.chunks, item.fillvalue)
                axes = [[scale.name for scale in axis.values()] for axis in item.dims]
                found[name] = (values.dtype.str, values.shape, content, repr(how), axes)

        with h5py.File(path) as file:
            note("/", file)
            file.visititems(note)
        return found

    first, second = contents(one), contents(two)
    # Objects have addresses of their own in every process: of text, the words count.
    first, second = (
        {k: v[::2] if "@" in k and v[0] == "|O" else v for k, v in side.items()} for side in (first, second)
    )
    different = sorted(k for k in {*first, *second} if first.get(k) != second.get(k))
    if different:
        raise SystemExit(f"{one}: differs from {two.name} in {', '.join(different)}")


def rekey_record(folder: Path, renamed: dict[str, str], before: dict[str, str]) -> None:
    """The entries under their new names, with the checksums of the new files; ``before`` has those of the old ones."""
    if not (folder / FILE).exists() or not renamed:
        return
    entries = json.loads((folder / FILE).read_text(encoding="utf-8"))
    for name, entry in entries.items():
        if name in renamed and entry["file"] != before[name]:
            raise SystemExit(f"{name}: its bytes were not those of the record")
        source, then = entry.get("source", ("", ""))
        if source in renamed and then != before[source]:
            raise SystemExit(f"{name}: its source {source} was not that of the record")
    new = {}
    for name, entry in entries.items():
        own = {"file": checksum(folder / renamed[name])} if name in renamed else {}
        source = renamed.get(entry.get("source", [""])[0])
        new[renamed.get(name, name)] = entry | own | ({"source": [source, checksum(folder / source)]} if source else {})
    lines = (f"{json.dumps(name)}: {json.dumps(new[name])}" for name in sorted(new))
    write_whole(folder / FILE, "{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    keys: dict[str, str] = {}
    for folder in map(Path, sys.argv[1:]):
        before = {path.name: checksum(path) for path in folder.glob("*.nc")}
        renamed = rekey(folder, keys)
        rekey_record(folder, renamed, before)
        print(f"{folder}: {len(renamed)} of {len(before)} files have other keys, and equal contents")


if __name__ == "__main__":
    main()
