"""The explorer of walking weights: overlap, displacement and decorrelation time over temperature and waiting time."""

from functools import cache
from typing import Any

import xarray as xr

from deepmech.plots.style import temperatures
from deepmech_book.explorers.page import ExplorerSpec, Value, in_page, plain, quantise_int16
from deepmech_book.glass import phases
from deepmech_book.sweeps.glass import walks
from deepmech_book.sweeps.shipped import result

STEPS = {"overlap": 0.0001, "msd": 0.001}
"""What numbers in the page are rounded to: overlaps, and logarithms (base 10) of mean square displacements."""
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
    taus = [phases.times(run, wait=w) for w in range(run.sizes["waiting"])]
    moved = run["msd"].where(run["msd"] > 0)
    return in_page(
        run.isel(chi=walks.PAPER_WINDOW),
        {axis: {"values": run[axis].values.tolist()} for axis in ("temperature", "waiting")},
        STEPS,
        log=["msd"],
        title=PHASES[name][0],
        about=phases.origin(run),
        times=run.time.values.tolist(),
        colours=temperatures(run.temperature),
        window=plain(phases.window_size(run).mean()),
        msd_range=plain([moved.min(), moved.max()]),
        free=quantise_int16(phases.free_overlaps(run).mean("seed"), STEPS["overlap"]),
        free_tau=plain(taus[0]["free"]),
        taus=[plain(table[["tau", "low", "high"]].where(table["high"].notnull()).to_array().T) for table in taus],
    )


def walk(state: dict[str, Any]) -> xr.Dataset:
    """The walks shown, as the book has them; a ValueError where the phase has none at this temperature or wait."""
    run, place = phase_run(state["phase"]), {name: state[name] for name in ("temperature", "waiting")}
    for name, value in place.items():
        Value(None, run[name].values.tolist()).check(f"relaxation explorer: {name} = {value!r}: must", value)
    return run.sel(place)


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    """Every phase, and numbers of the types that records have."""
    walk(values)
    numbers = {"temperature": float(values["temperature"]), "waiting": int(values["waiting"])}
    # The free walk's MSD is 2Dt with D = μT/P_D.
    return numbers | {"diffusion": walks.diffusion(1.0), "stored": {name: _in_page(name) for name in PHASES}}


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
    {"walk": walk},
)
