"""Functions that the sweep tests compute; importable by worker processes."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.sweeps import to_records


def walk(cells, steps, pause=0.0, log=None):
    """A random walk per cell: floats of two widths, integers, words and booleans; one cell overflows."""
    if log is not None:
        with Path(log).open("a") as file:
            file.writelines(f"{c['drift']},{c['seed']}\n" for c in to_records(cells))
    time.sleep(pause)
    paths = [c["drift"] + Stream.of("walk", c["seed"]).normal("step", 0, steps).cumsum() for c in to_records(cells)]
    path = np.array(paths)
    blown = np.array([c["drift"] == 2.0 and c["seed"] == 1 for c in to_records(cells)])
    path[blown, -1] = np.inf
    return xr.Dataset(
        {
            "path": (("cell", "step"), path),
            "last": ("cell", path[:, -1].astype(np.float32)),
            "turns": ("cell", (np.diff(np.sign(path)) != 0).sum(1)),
            "state": ("cell", ["diverged at the end" if b else "finished" for b in blown]),
            "positive": ("cell", path[:, 0] > 0),
        },
        {"step": np.arange(steps)},
    )


def fragile(cells, steps, repaired):
    """Raises for one cell until the file ``repaired`` exists."""
    if any(c["drift"] == 1.0 and c["seed"] == 2 for c in to_records(cells)) and not Path(repaired).exists():
        raise FloatingPointError("no such walk")
    return walk(cells, steps)


def depends_on_neighbours(cells, steps):
    """What a sweep's function must not do."""
    return walk(cells, steps)[["path"]] + cells.sizes["cell"]


def kills_its_worker(cells, steps):
    """Dies as a worker out of memory does."""
    os._exit(9)


def interrupted(cells, steps):
    """Ctrl-C in the middle of the grid."""
    if to_records(cells)[0]["seed"] == 2:
        raise KeyboardInterrupt
    return walk(cells, steps)


def wrong_shape(cells, steps):
    return xr.Dataset({"path": ("step", np.zeros(steps))})


def kills_a_worker_once(cells, steps, mark):
    """Its process is killed in the middle of the grid, the first time it comes there."""
    if any(c["drift"] == 1.0 and c["seed"] == 0 for c in to_records(cells)):
        try:
            Path(mark).touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
    return walk(cells, steps)


def leaves(cells, steps):
    raise SystemExit(3)


def never_ends(cells, steps):
    Path(os.environ["BEGAN"]).touch()
    time.sleep(600)


HELD = {}


def held(cells):
    """Of a dataset over ``cell`` that a test put into ``HELD``, the given cells."""
    HELD["called"] = HELD.get("called", 0) + 1
    made = HELD["dataset"]
    made = made(cells["cell"].values) if callable(made) else made.isel(cell=cells["cell"].values)
    return made.drop_vars("cell", errors="ignore")
