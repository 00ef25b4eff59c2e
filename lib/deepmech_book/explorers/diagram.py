"""The explorer of phase diagrams: point at a cell of any diagram that ships with the book, beside a cell of another."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import simulate
from deepmech.sweeps import Sweep, sweep_of
from deepmech.trainers import MLP, Training
from deepmech_book.explorers.page import ExplorerSpec, Value, in_page
from deepmech_book.spring_block import chains
from deepmech_book.spring_block.experiments import FITS, experiment
from deepmech_book.sweeps.shipped import result
from deepmech_book.sweeps.spring_block.networks import dataset_kwargs

STEPS = {"load": 0.001, "curvature": 0.0001, "outcome": 0.0001}
"""What numbers in the page are rounded to: load curves, their curvature, and accuracy or energy."""
N_FRICTION, N_NOISE, N_RUNS = 11, 11, 10
"""Cells of the chain's diagram, and runs in each: as many as the networks of a cell."""


# What the columns of a diagram are: in words, a symbol, and whether larger values are noisier.
NOISES = {
    "data_noise": ("data noise", "p", True),
    "learning_rate": ("learning rate", "", True),
    "dropout": ("dropout", "p", True),
    "batch_size": ("batch size", "", False),
    "noise": ("noise", "ε", True),
}


def chain_diagram() -> xr.Dataset:
    """Fig. 3 with every run: load curve, curvature and elastic energy over friction, noise and ``seed``."""
    fig_3 = chains.DIAGRAMS["A.3"]
    run = simulate(fig_3.chain(N_FRICTION, N_NOISE), fig_3.t_end, n_runs=N_RUNS).rename(block="layer", run="seed")
    run = run[["load_curve", "elastic_energy"]].drop_attrs(deep=False)
    return run.assign(curvature=curvature(run["load_curve"]))


FEW_IMAGES = dataset_kwargs("mnist-program", n_train=FITS)
SOURCES: dict[str, tuple[str, Callable[[], Sweep] | Callable[[], xr.Dataset]]] = {
    "chain": ("The chain", chain_diagram),
    "1a": ("Networks: noisy data", partial(experiment, "figure-1a")),
    "1a-1000": ("Noisy data, 1,000 images", partial(experiment, "figure-1a", data=FEW_IMAGES)),
    "1b": ("Networks: learning rate", partial(experiment, "figure-1b")),
    "1c": ("Networks: dropout", partial(experiment, "figure-1c")),
    "1d": ("Networks: batch size", partial(experiment, "figure-1d")),
    "S5a": ("Depth 6", partial(experiment, "figure-S5a")),
    "S5b": ("Depth 12", partial(experiment, "figure-S5b")),
    "S8": ("Photographs", partial(experiment, "figure-S8")),
    "S9a": ("Photographs, depth 12", partial(experiment, "figure-S9a")),
    "S9b": ("Photographs, depth 20", partial(experiment, "figure-S9b")),
    "without": ("Without normalisation", partial(experiment, "without-norm")),
}
"""Every diagram: its title, and what makes it, a sweep that ships with the book or a simulation."""
SIDES = ("left", "right")
SHADES = ("curvature", "outcome")
_DATA = {"mnist": "MNIST", "cifar10-jpeg": "CIFAR-10 (JPEG-recoded)"}


@cache
def diagram(name: str) -> xr.Dataset:
    """A diagram as the explorer shows it: from the most linear row, the quietest column, over ``seed``, ``layer``.

    The last two variables are what cells are shaded by: ``curvature``, and ``accuracy`` or ``elastic_energy``.
    """
    made = SOURCES[name][1]()
    made = result(made) if isinstance(made, Sweep) else made
    rows = "slope" if "slope" in made.dims else "friction_right"
    columns = next(name for name in NOISES if name in made.dims)
    made = made.sortby(rows, ascending=rows != "slope").sortby(columns, ascending=NOISES[columns][2])
    outcome = "accuracy" if "accuracy" in made else "elastic_energy"
    return made[["load_curve", "curvature", outcome]].transpose(rows, columns, "seed", "layer")


def _words(made: xr.Dataset, columns: str) -> str:
    """What all cells of a diagram have in common."""
    if "spec" not in made.attrs:
        fig_3 = chains.DIAGRAMS["A.3"]
        return f"7 blocks, friction to the left {fig_3.friction_left:g}, stiffness 1, at t = {fig_3.t_end:g}"
    fixed = sweep_of(made).fixed
    net, how, data = MLP(**fixed["network"]), Training(**fixed["training"]), fixed["data"]
    size, n = data["size"], data["n_train"]
    draw = "of the authors' program" if data.get("split") == "torch" else "of our own draw"
    parts = [
        f"{_DATA[data['name']]}, {n:,} images {draw} at {size}×{size} pixels",
        f"depth {net.depth}, width {net.width}",
        *([] if net.batch_norm else ["without batch normalisation"]),
        *([] if columns == "learning_rate" else [f"learning rate {how.learning_rate:g}"]),
        f"{how.epochs} epochs",
    ]
    return "; ".join(parts)


@cache
def _in_page(name: str) -> dict[str, Any]:
    made = diagram(name)
    rows, columns = (str(dim) for dim in made["curvature"].dims[:2])
    outcome = str(list(made)[-1])
    noise, symbol, _ = NOISES[columns]
    row = {"words": "negative slope", "symbol": "α"}
    if rows != "slope":
        row = {"words": "friction right", "symbol": "μ", "sub": "→"}
    return in_page(
        made.rename({"load_curve": "load", outcome: "outcome"}),
        {
            rows: row | {"values": [f"{v:.3g}" for v in made[rows].values]},
            columns: {"words": noise, "symbol": symbol, "values": [f"{v:g}" for v in made[columns].values]},
        },
        STEPS,
        title=SOURCES[name][0],
        about=_words(made, columns),
        layers=made["layer"].values.tolist(),
        outcome="test accuracy" if outcome == "accuracy" else "elastic energy",
    )


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    """Every diagram, and the cells pointed at: where none is named, that of a quiet, nonlinear network."""
    more: dict[str, Any] = {"stored": {name: _in_page(name) for name in SOURCES}}
    for side in SIDES:
        for name, axis in zip((f"{side}_row", f"{side}_column"), more["stored"][values[side]]["axes"], strict=True):
            last = len(axis["values"]) - 1
            quiet = last if name.endswith("row") else 0
            more[name] = quiet if values[name] is None else values[name]
            Value(None, (0, last, 1)).check(f"diagram explorer: {name} = {values[name]!r}: must", more[name])
    return more


def in_words(state: dict[str, Any]) -> str:
    """What is pointed at."""
    said = []
    for side in SIDES:
        shown, place = state["stored"][state[side]], (state[f"{side}_row"], state[f"{side}_column"])
        here = [f"{axis['words']} {axis['values'][i]}" for axis, i in zip(shown["axes"], place, strict=True)]
        said.append(", ".join([shown["title"], *here]))
    return f"Interactive phase diagrams, two of {len(state['stored'])} side by side: {'; '.join(said)}."


def cell(state: dict[str, Any], side: str = "left") -> xr.Dataset:
    """What is pointed at: load curves, curvature and accuracy or energy of every seed, as the book has them."""
    shown = diagram(state[side])
    rows, columns = shown["curvature"].dims[:2]
    return shown.isel({rows: state[f"{side}_row"], columns: state[f"{side}_column"]})


_CELL = {
    f"{side}_{axis}": Value(None, words=f"counted from the {first}; by default the {start}")
    for side in SIDES
    for axis, first, start in (("row", "most linear networks", "last"), ("column", "weakest noise", "first"))
}
diagram_page = ExplorerSpec(
    "diagram",
    "Phase diagrams, cell by cell",
    "phase-diagrams.html",
    """Two phase diagrams that ship with the book, side by side.

Every seed's load curve of every cell travels with the page, rounded to :data:`STEPS`.""",
    {
        "left": Value("1c", list(SOURCES)),
        "right": Value("chain", list(SOURCES)),
        **_CELL,
        "shade": Value("curvature", list(SHADES), "of cells; the outcome is a network's accuracy, a chain's energy"),
        "linked": Value(True, words="whether to move in one diagram moves to the same place of the other"),
    },
    derived_state,
    in_words,
    {"cell": cell},
)
