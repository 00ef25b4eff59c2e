"""The explorer of walking weights: overlap, displacement and decorrelation time over temperature and waiting time."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from deepmech.plots.style import COLD_TO_HOT
from deepmech_book.analysis.glass import phases
from deepmech_book.explorers.page import ExplorerSpec, Value, quantise_int16
from deepmech_book.sweeps.glass import walks
from deepmech_book.sweeps.shipped import result

__all__ = ["PHASES", "STEPS", "STILL", "derived_state", "phase_run", "relaxation_page"]

STEPS = {"overlap": 0.0001, "log_msd": 0.001}
"""What numbers in the page are rounded to: overlaps, and logarithms (base 10) of mean square displacements."""
STILL = -32
"""Stands for the logarithm of no displacement at all."""
_DATA = {"mnist": "MNIST", "cifar10-jpeg": "CIFAR-10"}
_PHASES = ("regularised", "underparameterised", "overparameterised")
PHASES = {
    f"{phase} {data}": (f"{phase.capitalize()}, {_DATA[data]}", phase, data) for data in _DATA for phase in _PHASES
}
"""Every phase that ships: its title, its name and its data set."""


@cache
def phase_run(name: str) -> xr.Dataset:
    """The walks of a phase that ship with the book, without those that diverged; temperatures rise."""
    _, phase, data = PHASES[name]
    return phases.survivors(result(walks.standard(phase, data))).sortby("temperature")


@cache
def _in_page(name: str) -> dict[str, Any]:
    run = phase_run(name)
    dims = ("temperature", "waiting", "seed", "time")
    log_msd = np.log10(np.maximum(run["msd"].transpose(*dims).values, 10.0**STILL))
    taus = [phases.times(run, wait=w) for w in range(run.sizes["waiting"])]
    return {
        "title": PHASES[name][0],
        "about": phases.origin(run),
        "temperatures": run.temperature.values.tolist(),
        "waiting": run.waiting.values.tolist(),
        "times": run.time.values.tolist(),
        "seeds": run.sizes["seed"],
        "window": float(f"{float(phases.window_size(run).mean()):.4g}"),
        "overlap": quantise_int16(run["overlap"].isel(chi=walks.PAPER_WINDOW).transpose(*dims), STEPS["overlap"]),
        "log_msd": quantise_int16(log_msd, STEPS["log_msd"]),
        "free": quantise_int16(phases.free_overlaps(run).mean("seed"), STEPS["overlap"]),
        "free_tau": [_plain(v) for v in taus[0]["free"].values],
        "taus": [
            [[_plain(v) for v in row] for row in zip(*(table[k].values for k in ("tau", "low", "high")), strict=True)]
            for table in taus
        ],
    }


def _plain(value: float) -> float | None:
    """Four digits; None for what JSON has no number for."""
    return float(f"{float(value):.4g}") if np.isfinite(value) else None


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    """Every phase; a ValueError where the one chosen was not walked at this temperature or after this wait."""
    phases = {name: _in_page(name) for name in PHASES}
    shown = phases[values["phase"]]
    for name, walked in (("temperature", shown["temperatures"]), ("waiting", shown["waiting"])):
        Value(None, walked).check(f"relaxation explorer: {name} = {values[name]!r}: must", values[name])
    # The free walk's MSD is 2Dt with D = μT/P_D.
    return {
        "temperature": float(values["temperature"]),
        "waiting": int(values["waiting"]),
        "still": STILL,
        "cold_to_hot": list(COLD_TO_HOT),
        "diffusion": walks.diffusion(1.0),
        "phases": phases,
    }


relaxation_page = ExplorerSpec(
    "relaxation",
    "Weights that walk",
    "walking-weights.html",
    """Weights that walk in the landscape of a loss.

Every initial condition's overlap and mean square displacement travel with the page, rounded to :data:`STEPS`.""",
    {
        "phase": Value("regularised mnist", list(PHASES)),
        "temperature": Value(0.1, words="one at which the phase was walked, in the paper's units"),
        "waiting": Value(10_000, words="a waiting time of the phase, in steps"),
    },
    derived_state,
    lambda state: (
        f"Interactive relaxation of weights: {PHASES[state['phase']][0]}, temperature {state['temperature']:g}, "
        f"waiting time {state['waiting']}."
    ),
)
