"""The zoo's record as one table, laws of somebody's own from a file, and what ``deepmech zoo`` and ``bench`` do."""

from __future__ import annotations

import functools
import inspect
import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import xarray as xr

from deepmech_book.bench.judge import in_words, leaderboard
from deepmech_book.bench.measures import MEASURES, Measure
from deepmech_book.sweeps.extras.zoo import (
    DATASETS,
    LEVELS,
    SIZE,
    STARS,
    STOPS,
    VERSION,
    later,
    settings_of,
    train_number,
    zoo,
)
from deepmech_book.sweeps.shipped import result

__all__ = ["cli_bench", "cli_zoo", "own_measures", "record"]


@cache
def _settings(numbers: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Data set, seed and settings of networks, by name."""
    settings = [settings_of(n) for n in numbers]
    return {name: np.array([s[name] for s in settings]) for name in ("data", "seed", *LEVELS)}


def record(stop: str = "loss", stars: int = STARS, prediction: str | None = None) -> xr.Dataset:
    """What ships of the zoo, over ``number``, at one stop, with the settings as coordinates along ``number``.

    With ``prediction``, those networks on which it was judged instead (a key of :data:`.zoo.LATER`). Networks that
    diverged or never came to the stop are left out; a ValueError for an unknown stop.
    """
    if stop not in STOPS:
        raise ValueError(f"record: stop = {stop!r}: must be one of {', '.join(map(repr, STOPS))}")
    names = dict.fromkeys(DATASETS)
    parts = [result(zoo(name, stars) if prediction is None else later(prediction, name)) for name in names]
    whole = xr.concat(parts, "number", combine_attrs="drop", coords="minimal", compat="override").sortby("number")
    named = _settings(tuple(whole.number.values.tolist()))
    whole = whole.assign_coords({name: ("number", values) for name, values in named.items()}).sel(stop=stop, drop=True)
    return whole.isel(number=np.flatnonzero(np.isfinite(whole.epoch.values)))


@contextmanager
def _own_code(file: Path) -> Iterator[None]:
    """Run code of this file, which may import what lies beside it; what it raises becomes a ValueError of one line."""
    sys.path.insert(0, beside := str(file.resolve().parent))
    try:
        yield
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        raise ValueError(f"{file}{f', line {line}' if line else ''}: {in_words(error)}") from error
    finally:
        sys.path.remove(beside)


def own_measures(path: str | Path) -> dict[str, Measure]:
    """The public functions of a Python file, by name: each takes a record and returns a number for each network; a
    ValueError if there is no such file, no function in it, or if it does not run."""
    file = Path(path)
    if file.suffix != ".py" or not file.is_file():
        raise ValueError(f"{file}: must be a Python file of yours, with a function of a record in it")
    with _own_code(file):
        there = runpy.run_path(str(file), run_name=file.stem)

    def named(law: Measure) -> Measure:
        @functools.wraps(law)
        def run(record: xr.Dataset) -> xr.DataArray:
            with _own_code(file):
                return law(record)

        return run

    found: dict[str, Measure] = {
        f"{name} (yours)" if name in MEASURES else name: named(value)
        for name, value in there.items()
        if not name.startswith("_") and inspect.isfunction(value) and value.__module__ == file.stem
    }
    if not found:
        raise ValueError(f"{file}: has no function; write def my_law(record): return record.loss.sel(split='train')")
    return found


def cli_zoo(number: int, *, again: bool = False, seed: int = 0) -> str:
    """Which network a number stands for, and what was measured of it; ``again`` trains it here and compares.

    Another ``seed`` than 0 is trained in any case, as none of them ships.
    """
    settings = settings_of(number)
    ships = seed == 0 and number < SIZE * STARS
    shipped = result(zoo(settings["data"])).sel(number=number, drop=True) if ships else None
    here = train_number(number, seed) if again or shipped is None else None
    lines = [f"network {number} of {VERSION}:", *(f"  {name} = {value}" for name, value in settings.items())]
    for stop in STOPS:
        now = (shipped if here is None else here).sel(stop=stop)  # type: ignore[union-attr]
        if np.isfinite(now["epoch"]):  # it came to this stop
            drawn = " ".join(f"{d:.2f}" for d in now["load_curve"].sel(split="train").dropna("layer").values)
            told = (("loss", "train"), ("accuracy", "train"), ("accuracy", "test"))
            seen = [(name, split, float(now[name].sel(split=split))) for name, split in told]
            words = ", ".join(f"{name} ({split}) {value:.3g}" for name, split, value in seen if np.isfinite(value))
            lines.append(f"at {stop!r}, epoch {int(now['epoch'])}: {words}, D = {drawn}")
    if here is not None and shipped is not None:
        apart = {name: abs(here[name].astype(float) - shipped[name]) for name in here.data_vars}
        most = {name: float(off.max()) for name, off in apart.items() if (off > 0).any()}
        differ = ", ".join(f"{name} differs by up to {off:.1g}" for name, off in most.items())
        lines.append(f"trained again here: {differ or 'equal to the bit'}")
    return "\n".join(lines)


def cli_bench(path: str, *, stop: str = "loss", equal: bool = False) -> tuple[str, list[str]]:
    """The leaderboard with the functions of a file of somebody's own among the measures of the book, and a line for
    each of them that cannot be judged."""
    own, networks = own_measures(path), record(stop)
    table = leaderboard(networks, own, equal)
    faults = table.attrs["faults"]
    table = table.drop(index=list(faults)).round(3)
    table.insert(0, "", ["<-- yours" if name in own else "" for name in table.index])
    heading = f"{networks.sizes['number']:,} networks of {VERSION} at stop {stop!r}; sign errors, 0.5 is a coin:"
    return f"{heading}\n{table.to_string()}", [f"{name} is not judged: {why}" for name, why in faults.items()]
