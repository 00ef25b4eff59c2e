"""What ``deepmech zoo`` and ``deepmech bench`` do, as plain functions."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.sweeps import result
from deepmech_book.bench.judge import leaderboard
from deepmech_book.bench.networks import own_measures, record
from deepmech_book.experiments.zoo import SIZE, STARS, STOPS, VERSION, made, settings_of, zoo

TOLD = (("loss", "train"), ("accuracy", "train"), ("accuracy", "test"))


def cli_zoo(number: int, *, again: bool = False, seed: int = 0) -> str:
    """Which network a number stands for, and what was measured of it; ``again`` trains it here and compares.

    Another ``seed`` than 0 is trained in any case, as none of them ships.
    """
    settings = settings_of(number)
    lines = [f"network {number} of {VERSION}:", *(f"  {name} = {value}" for name, value in settings.items())]
    ships = seed == 0 and number < SIZE * STARS
    shipped = result(zoo(settings["data"])).sel(number=number, drop=True) if ships else None
    here = made(number, seed) if again or shipped is None else None
    lines += _told(shipped if here is None else here)  # type: ignore[arg-type]
    if here is not None and shipped is not None:
        apart = {name: abs(here[name].astype(float) - shipped[name]) for name in here.data_vars}
        most = {name: float(off.max()) for name, off in apart.items() if (off > 0).any()}
        differ = ", ".join(f"{name} differs by up to {off:.1g}" for name, off in most.items())
        lines.append(f"trained again here: {differ or 'equal to the bit'}")
    return "\n".join(lines)


def _told(found: xr.Dataset) -> list[str]:
    """Accuracy, loss and load curve at each stop that the network came to, a line each."""
    lines = []
    for stop in STOPS:
        now = found.sel(stop=stop)
        if np.isfinite(now["epoch"]):
            drawn = " ".join(f"{d:.2f}" for d in now["load_curve"].sel(split="train").dropna("layer").values)
            seen = [(name, split) for name, split in TOLD if np.isfinite(now[name].sel(split=split))]
            words = ", ".join(f"{name} ({split}) {float(now[name].sel(split=split)):.3g}" for name, split in seen)
            lines.append(f"at {stop!r}, epoch {int(now['epoch'])}: {words}, D = {drawn}")
    return lines


def cli_bench(path: str, *, stop: str = "loss", equal: bool = False) -> str:
    """The leaderboard with the functions of a file of somebody's own among the measures of the book."""
    own = own_measures(path)
    networks = record(stop)
    table = leaderboard(networks, own, equal).round(3)
    table.insert(0, "", ["<-- yours" if name in own else "" for name in table.index])
    heading = f"{networks.sizes['number']:,} networks of {VERSION} at stop {stop!r}; sign errors, 0.5 is a coin:"
    return f"{heading}\n{table.to_string()}"
