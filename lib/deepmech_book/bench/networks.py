"""The record of the zoo as one table over networks, and laws of somebody's own from a file."""

from __future__ import annotations

import importlib.util
import inspect
from functools import cache
from pathlib import Path

import numpy as np
import xarray as xr

from deepmech.sweeps import result
from deepmech_book.bench.measures import Measure
from deepmech_book.experiments.zoo import DATASETS, LEVELS, STARS, STOPS, settings_of, zoo


def _all(stars: int) -> xr.Dataset:
    parts = [result(zoo(name, stars)) for name in dict.fromkeys(DATASETS)]
    whole = xr.concat(parts, "number", combine_attrs="drop", coords="minimal", compat="override").sortby("number")
    named = _settings(tuple(whole.number.values.tolist()))
    return whole.assign_coords({name: ("number", values) for name, values in named.items()})


@cache
def _settings(numbers: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Data set, seed and settings of networks, by name."""
    settings = [settings_of(n) for n in numbers]
    return {name: np.array([s[name] for s in settings]) for name in ("data", "seed", *LEVELS)}


def record(stop: str = "loss", stars: int = STARS) -> xr.Dataset:
    """What ships of the zoo, over ``number``, at one stop, with the settings as coordinates along ``number``.

    Networks that diverged or never came to the stop are left out.

    Raises
    ------
    ValueError
        For an unknown stop.
    """
    if stop not in STOPS:
        raise ValueError(f"record: stop = {stop!r}: must be one of {', '.join(map(repr, STOPS))}")
    whole = _all(stars).sel(stop=stop, drop=True)
    return whole.isel(number=np.flatnonzero(np.isfinite(whole.epoch.values)))


def own_measures(path: str | Path) -> dict[str, Measure]:
    """The public functions of a Python file, by name: each takes a record and returns a number for each network.

    Raises
    ------
    ValueError
        If there is no such file, or no function in it.
    """
    file = Path(path)
    spec = importlib.util.spec_from_file_location(file.stem, file) if file.suffix == ".py" else None
    if spec is None or spec.loader is None or not file.is_file():
        raise ValueError(f"{file}: must be a Python file of yours, with a function of a record in it")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    found: dict[str, Measure] = {n: f for n, f in public.items() if inspect.isfunction(f) and f.__module__ == file.stem}
    if not found:
        raise ValueError(f"{file}: has no function; write def my_law(record): return record.loss.sel(split='train')")
    return found
