"""Where slow weights sit, and what it costs to prune them or to set them back.

:func:`look_cells` asks it of the walks that :mod:`.two_populations` keeps, and of the samples they walked on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.sweeps import Sweep, each, recomputed, result
from deepmech.trainers.engines.compiled.langevin import evaluate, layer_sizes
from deepmech_book.experiments import two_populations
from deepmech_book.experiments.glass import walks
from deepmech_book.experiments.glass.walks import binary

IDLE = 1e-3
"""A unit is idle if no output changes by so much when it is taken out. Outputs are about 1 where a sample is learnt."""
SLOW = 3.0
"""A weight is slow if it has gone less than so many times what a free walk goes, as in the chapter on glass."""
N_DRAWS = 20
"""Random choices of as many weights."""


@dataclass(frozen=True, eq=False)
class Network:
    """Flat weights at t_w, half-way and at the end, and what belongs to them."""

    sizes: tuple[int, ...]
    stops: np.ndarray
    frames: np.ndarray
    layer: np.ndarray
    temperature: float

    def slow(self, first: int = 0, last: int = -1) -> np.ndarray:
        """Which weights have hardly moved between two frames."""
        time = float(self.stops[last] - self.stops[first])
        free = np.sqrt(2 * walks.diffusion(self.temperature) * time)
        return np.abs(self.frames[last] - self.frames[first]) < SLOW * free


def looked(phase: str, dataset: str = "mnist") -> Sweep:
    """:func:`look_cells` for every network of :func:`.two_populations.weights`.

    Examples
    --------
    >>> looked("regularised").grid.shape
    (16,)
    """
    source = two_populations.weights(phase, dataset)
    fixed = {"phase": phase, "dataset": dataset}
    return Sweep(f"slow-weights-{phase}-{dataset}", f"{__name__}:look_cells", source.cells, fixed, data=source.key)


@recomputed()
def look_cells(cells: xr.Dataset, phase: str, dataset: str) -> xr.Dataset:
    """Look at the slow weights of a network for each ``seed``.

    Returns
    -------
    Dataset
        Over ``cell``: ``loss`` of the data at t_w; ``place`` (of), :func:`places`; ``share`` (kind, layer), of the
        weights of each layer, from the input up, those that are slow, at idle and at silent units; ``cost`` (act,
        which, number), :func:`costs`.
    """
    source = two_populations.weights(phase, dataset)
    how, run = source.fixed, result(source)
    data = binary(**how["data"])
    sizes = layer_sizes(data.x.shape[1], int(how["width"]), 6)
    layer = np.repeat(np.arange(len(sizes) - 1), [a * b for a, b in pairwise(sizes)])
    found = []
    for cell in each(cells):
        frames = run["weights"].sel(seed=cell["seed"]).transpose("step", "weight").values
        network = Network(sizes, run["step"].values, frames, layer, float(how["temperature"]))
        at, price = places(network, data.x), costs(network, data.x, data.y, int(cell["seed"]))
        acts, names = (list(dict.fromkeys(key[i] for key in price)) for i in (0, 1))
        found.append(
            xr.Dataset(
                {
                    "loss": evaluate(frames[0], sizes, data.x, data.y)[0],
                    "place": ("of", list(at.values())),
                    "share": (("kind", "layer"), by_layer(network, data.x)),
                    "cost": (("act", "which", "number"), [[price[act, name] for name in names] for act in acts]),
                },
                {
                    "of": list(at), "kind": ["slow", "at idle units", "at silent units"],
                    "layer": np.arange(1, len(sizes)), "act": acts, "which": names, "number": ["loss", "points"],
                },
            )
        )  # fmt: skip
    return xr.concat(found, "cell").assign_attrs(device="cpu", dtype="float64")


def matrices(weights: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """The layers of flat weights, each (units above, units below)."""
    ends = np.cumsum([a * b for a, b in pairwise(sizes)])
    return [part.reshape(b, a) for part, (a, b) in zip(np.split(weights, ends[:-1]), pairwise(sizes), strict=True)]


def outputs(layers: Sequence[np.ndarray], x: np.ndarray) -> np.ndarray:
    """What a bias-free ReLU network says of samples (n, inputs)."""
    for layer in layers[:-1]:
        x = np.maximum(x @ layer.T, 0)
    return (x @ layers[-1].T)[:, 0]


def idle_units(weights: np.ndarray, sizes: Sequence[int], x: np.ndarray) -> list[np.ndarray]:
    """For each hidden layer, which units change no output by :data:`IDLE` when they are taken out."""
    layers, found, below = matrices(weights, sizes), [], np.asarray(x, float)
    whole = outputs(layers, below)
    for i, layer in enumerate(layers[:-1]):
        below = np.maximum(below @ layer.T, 0)
        idle = np.zeros(sizes[i + 1], bool)
        for unit in range(sizes[i + 1]):
            without = below.copy()
            without[:, unit] = 0
            idle[unit] = np.abs(outputs(layers[i + 1 :], without) - whole).max() < IDLE
        found.append(idle)
    return found


def silent_units(weights: np.ndarray, sizes: Sequence[int], x: np.ndarray) -> list[np.ndarray]:
    """For each hidden layer, which units fire on no sample."""
    return [~active for active in evaluate(weights, sizes, x, np.ones(len(x)))[2]]


def touching(units: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """Which weights, flat, come from or go to one of these hidden units.

    Examples
    --------
    >>> touching([np.array([True, False])], (1, 2, 1)).tolist()  # in, in, out, out
    [True, False, True, False]
    """
    ends = [np.zeros(sizes[0], bool), *units, np.zeros(sizes[-1], bool)]
    return np.concatenate([(above[:, None] | below[None, :]).ravel() for below, above in pairwise(ends)])


def by_chance(chosen: np.ndarray, which: np.ndarray, layer: np.ndarray) -> float:
    """Share of ``which`` among as many weights as ``chosen`` of each layer, drawn at random.

    Examples
    --------
    >>> by_chance(np.array([1, 0, 0, 0], bool), np.array([1, 0, 1, 1], bool), np.array([0, 0, 1, 1]))
    0.5
    """
    n = np.bincount(layer)
    return float(np.bincount(layer, chosen) @ (np.bincount(layer, which) / n) / chosen.sum())


def places(network: Network, x: np.ndarray) -> dict[str, float]:
    """Where a network's slow weights sit: shares, beside those of weights drawn at random in the same layers; nan where
    there is none to ask."""
    slow, start = network.slow(), network.frames[0]
    found = {"slow": float(slow.mean())}
    for name, units in (("idle", idle_units), ("silent", silent_units)):
        at = touching(units(start, network.sizes, x), network.sizes)
        found[f"at {name}"] = float(at.mean())
        found[f"slow at {name}"] = float(at[slow].mean()) if slow.any() else np.nan
        found[f"slow at {name} by chance"] = by_chance(slow, at, network.layer) if slow.any() else np.nan
        found[f"{name} slow"] = float(slow[at].mean()) if at.any() else np.nan
        found[f"{name} slow by chance"] = by_chance(at, slow, network.layer) if at.any() else np.nan
    early, late = network.slow(0, 1), network.slow(1, 2)
    found["stay"] = float(late[early].mean()) if early.any() else np.nan
    found["stay by chance"] = by_chance(early, late, network.layer) if early.any() else np.nan
    return found


def by_layer(network: Network, x: np.ndarray) -> list[np.ndarray]:
    """Of the weights of each layer, the share that is slow, and those that touch an idle and a silent unit."""
    start, sizes, n = network.frames[0], network.sizes, np.bincount(network.layer)
    idle, silent = (touching(units(start, sizes, x), sizes) for units in (idle_units, silent_units))
    return [np.bincount(network.layer, which) / n for which in (network.slow(), idle, silent)]


def choices(network: Network, seed: int) -> dict[str, list[np.ndarray]]:
    """As many weights chosen in several ways: the slow ones, the smallest, and at random in the same layers."""
    slow, end = network.slow(), network.frames[-1]
    smallest = np.zeros(slow.size, bool)
    smallest[np.argsort(np.abs(end), kind="stable")[: slow.sum()]] = True
    stream, drawn = Stream.of("slow weights", seed), []
    for draw in range(N_DRAWS):
        u = stream.uniform("random", draw, slow.size)
        chosen = np.zeros(slow.size, bool)
        for i in np.unique(network.layer):
            own = np.flatnonzero(network.layer == i)
            chosen[own[np.argsort(u[own])[: slow[own].sum()]]] = True
        drawn.append(chosen)
    return {"slow": [slow], "smallest": [smallest], "random": drawn}


def costs(network: Network, x: np.ndarray, y: np.ndarray, seed: int) -> dict[tuple[str, str], tuple[float, float]]:
    """By (what is done, to which weights): rise of the data loss, and points of training accuracy lost, means of draws.

    "pruned": the weights are set to zero at the end; "set back": to what they were at t_w. "others" are all that
    are not slow.
    """
    begin, end = network.frames[0], network.frames[-1]
    loss, error, _ = evaluate(end, network.sizes, x, y)
    slow, idle = network.slow(), touching(idle_units(begin, network.sizes, x), network.sizes)
    more = {"slow, at idle units": [slow & idle], "slow, elsewhere": [slow & ~idle], "others": [~slow]}
    chosen, found = choices(network, seed) | more, {}
    for act, to in (("pruned", np.zeros_like(end)), ("set back", begin)):
        for name, sets in chosen.items():
            made = [evaluate(np.where(which, to, end), network.sizes, x, y)[:2] for which in sets]
            rises, errors = np.mean(made, 0) - (loss, error)
            found[act, name] = (float(rises), 100 * float(errors))
    return found
