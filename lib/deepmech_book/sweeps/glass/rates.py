"""What a smaller learning rate changes for networks at rest (pages glass/kinks and glass/displacement).

Steps turn back across a kink at any rate, across a smooth valley only where rate times curvature is about 2 or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.data import Data
from deepmech.sweeps import to_records
from deepmech.trainers.engines.compiled.langevin import CompiledWalk
from deepmech.trainers.langevin import Dynamics, Preparation, WalkMember, run_preparation
from deepmech_book.sweeps.glass.data import binary
from deepmech_book.sweeps.glass.kinks import hessian
from deepmech_book.sweeps.glass.walks import RATE, in_single_precision, temperature_at
from deepmech_book.sweeps.policy import verification_policy

REST = 300
"""Time at the smaller rate before the look, in steps of :data:`.walks.RATE`, as all times here."""
EARLY = 4
"""Time over which the first displacements are averaged, step by step."""


def _full(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The look at the whole rate alone."""
    return fixed | {"slower": fixed["slower"][:1]}, ["gradient_norm", "drift_norm", "early", "loss"]


@verification_policy(part=_full, tolerance={"*": 1e-4})
def rate_cells(
    cells: xr.Dataset, data: dict[str, Any], width: int, regularisation: float, softplus: float, temperature: float,
    waiting: int, slower: list[int], look: int, preparation: dict[str, Any],
) -> xr.Dataset:  # fmt: skip
    """Prepare each network and let it wait; from there, at rates ``slower`` times smaller, let it rest, and look.

    Over ``cell`` and ``slower``: ``gradient_norm`` at the look's start, ``drift_norm``, the length of the mean way per
    time and rate over ``look``; ``early``, the mean squared displacement averaged over all steps up to
    :data:`EARLY`; over ``time`` ``msd``, nan where a time is no whole number of steps. After the wait data ``loss``
    and ``steepness``, the whole rate times the largest curvature, of ReLU without kinks; ``diverged``. Steps from the
    wait on are in double precision: the small ones are as short as what single precision sees of a weight.
    """
    loaded, rows = binary(**data), []
    scaled = temperature_at(temperature, len(loaded.x_train))
    dynamics = Dynamics(width=width, regularisation=regularisation, softplus=softplus, temperature=scaled)
    for cell in to_records(cells):
        member = WalkMember(dynamics, Preparation(**preparation), int(cell["seed"]), "glass walks")
        start = run_preparation([member], loaded)[0].weights
        rows.append(_row(start, member, loaded, waiting, slower, look))
    return in_single_precision(xr.concat(rows, cells.cell))


def _row(
    start: np.ndarray, member: WalkMember, data: Data, waiting: int, slower: Sequence[int], look: int
) -> xr.Dataset:
    sizes, softplus = member.sizes(data), float(member.dynamics.softplus)
    decay, noise = float(member.dynamics.regularisation), float(member.dynamics.noise(len(data.x_train)))
    waited = CompiledWalk(sizes, data.x_train, data.y_train, "mixed", softplus)
    waited.set(start)
    waited.walk(waiting, 0, RATE, decay, noise, [member.stream])
    loss, _, _ = waited.evaluate()
    steepness = RATE * np.linalg.eigvalsh(hessian(waited.w[0], sizes, data, decay, softplus))[-1]
    network = CompiledWalk(sizes, data.x_train, data.y_train, "float64", softplus)
    # Every step of the slowest look up to EARLY, then about twelve times a decade.
    ends = np.unique(np.geomspace(EARLY, look, round(12 * np.log10(look / EARLY)) + 1).round()).astype(int)
    fine = max(slower)
    stops = [*range(1, EARLY * fine), *(ends * fine).tolist()]
    found = {name: np.full(len(slower), np.nan) for name in ("gradient_norm", "drift_norm", "early")}
    msd = np.full((len(slower), len(stops)), np.nan)
    for i, times in enumerate(slower):
        how = RATE / times, decay, noise / times**0.5, [member.stream]
        network.set(waited.w)
        network.walk(REST * times, waiting, *how)
        first, done = network.w[0], 0
        found["gradient_norm"][i] = np.linalg.norm(network.gradient()[0] + decay * first)
        for k, stop in enumerate(stops):
            if stop * times % fine == 0:
                steps = stop * times // fine
                network.walk(steps - done, waiting + REST * times + done, *how)
                msd[i, k], done = ((network.w[0] - first) ** 2).mean(), steps
        found["drift_norm"][i] = np.linalg.norm(network.w[0] - first) / (RATE * look)
        found["early"][i] = np.nanmean(msd[i, : EARLY * fine])
    return xr.Dataset(
        {name: ("slower", values) for name, values in found.items()}
        | {
            "msd": (("slower", "time"), msd, {"long_name": "mean squared displacement", "units": "weight²"}),
            "loss": float(loss[0]), "steepness": steepness, "diverged": not bool(np.isfinite(start).all()),
        },
        {"slower": list(slower), "time": ("time", np.array(stops) / fine, {"units": "steps of the whole rate"})},
    )  # fmt: skip
