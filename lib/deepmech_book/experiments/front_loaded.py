"""Dropout of one mean rate in the early layers, in all, or in the late ones (Fernandez Sarmiento, arXiv 2605.21648)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.data import load
from deepmech.metrics.separation import data_separation
from deepmech.sweeps import Sweep, each, recomputed
from deepmech.trainers import MLP, Training
from deepmech.trainers.engines.compiled.mlp import Fused
from deepmech.trainers.specs import Member
from deepmech_book.experiments.anatomy import SPLITS, cross_entropy, split
from deepmech_book.experiments.spring_block.networks import sweep
from deepmech_book.experiments.zoo import IMAGES, VALIDATION

NAME = "front-loaded"
SETTINGS: dict[str, tuple[Any, ...]] = {
    "batch_norm": (False, True),
    "depth": (5, 7),
    "learning_rate": (1e-3, 3e-3),
    "seed": tuple(range(10)),
    "dropout": (0.0, 0.025, 0.05, 0.1, 0.2),
    "place": ("early", "all", "late"),
}
"""``dropout`` is the mean rate over hidden layers, the budget; ``place`` says which of them have it."""
WIDTH, BATCH, EPOCHS, EVERY = 54, 64, 120, 4
STOPS = ("best", "epochs")
"""Where the loss of the validation split is lowest, looked at every fourth epoch; and after all epochs."""


def profile(place: str, hidden: int) -> tuple[float, ...]:
    """Rate of each hidden layer over the mean rate: twice it in the half of the layers that has dropout.

    Examples
    --------
    >>> profile("early", 4), profile("all", 2), profile("late", 4)
    ((2.0, 2.0, 0.0, 0.0), (1.0, 1.0), (0.0, 0.0, 2.0, 2.0))
    """
    first = np.arange(hidden) < hidden // 2
    return tuple({"early": 2.0 * first, "all": np.ones(hidden), "late": 2.0 * ~first}[place].tolist())


def front_loaded(dataset: str = "mnist", **fewer: Any) -> Sweep:
    """Networks of one data set over :data:`SETTINGS`, of which ``fewer`` may take other values.

    Examples
    --------
    >>> front_loaded("fashion-mnist").n_cells
    1200
    """
    return sweep(NAME, f"{__name__}:train_placed", SETTINGS | fewer, {"name": dataset, **IMAGES}, epochs=EPOCHS)


# As in the zoo: training has equal bits everywhere, what is measured of it are sums of libraries.
@recomputed(tolerance={"*": 3e-2})
def train_placed(cells: xr.Dataset, data: dict[str, Any], epochs: int) -> xr.Dataset:
    """Train one network per cell, which holds :data:`SETTINGS`, and measure it at :data:`STOPS`.

    Networks that differ in the rate, its place, or the learning rate share initial weights, batches and (nested) masks.

    Returns
    -------
    Dataset
        Over ``cell`` and ``stop``: ``loss`` and ``accuracy`` (split), ``load_curve`` (layer) of training samples,
        debiased, and ``epoch``; nan where a network diverged.
    """
    images = load(**data)
    shared = Fused.prepare(images, "float32")
    known: dict[Any, dict[str, np.ndarray]] = {}  # without dropout its place is all the same
    found = []
    for c in each(cells):
        key = tuple(v for name, v in c.items() if name != "place" or c["dropout"])
        network = MLP(
            depth=int(c["depth"]), width=WIDTH, batch_norm=bool(c["batch_norm"]), dropout=c["dropout"],
            dropout_profile=profile(c["place"], int(c["depth"]) - 1),
        )  # fmt: skip
        training = Training(learning_rate=c["learning_rate"], batch_size=BATCH, stop_loss=0.0, stop_change=0.0)
        if key not in known:
            known[key] = _trained(Fused(Member(network, training, int(c["seed"]), NAME), shared), images, epochs)
        found.append(known[key])
    dims = {"loss": ("split",), "accuracy": ("split",), "load_curve": ("layer",), "epoch": ()}
    made = {name: (("cell", "stop", *dims[name]), np.stack([one[name] for one in found])) for name in dims}
    return xr.Dataset(made, {"stop": list(STOPS), "split": list(SPLITS)}, {"device": "cpu", "dtype": "float32"})


def _trained(engine: Fused, images: Any, epochs: int) -> dict[str, np.ndarray]:
    """What is measured of one network, each (stop, …)."""
    samples, lowest = split(images, VALIDATION), np.inf
    nothing = {name: v * np.nan for name, v in _measured(engine, samples, 0).items()}
    at = dict.fromkeys(STOPS, nothing)
    for epoch in range(1, epochs + 1):
        if not np.isfinite(engine.run_epoch(epoch)):
            at = dict.fromkeys(STOPS, nothing)
            break
        if epoch % EVERY == 0 or epoch == epochs:
            x, y = samples["validation"]
            loss = float(np.mean(cross_entropy(engine.features(x)[1], y)))
            if loss < lowest or epoch == epochs:
                now = _measured(engine, samples, epoch)
                at |= {"best": now} if loss < lowest else {}
                at |= {"epochs": now}
                lowest = min(lowest, loss)
    return {name: np.stack([np.float32(at[stop][name]) for stop in STOPS]) for name in nothing}


def _measured(engine: Fused, samples: dict[str, Any], epoch: int) -> dict[str, np.ndarray]:
    y = [labels for _, labels in samples.values()]
    features, outputs = zip(*(engine.features(x) for x, _ in samples.values()), strict=True)
    load = np.full(max(SETTINGS["depth"]), np.nan)
    load[: len(features[0])] = [
        data_separation(a, y[0], debias=True) if np.isfinite(a).all() else np.nan for a in features[0]
    ]
    return {
        "loss": np.array([np.mean(cross_entropy(out, true)) for out, true in zip(outputs, y, strict=True)]),
        "accuracy": np.array([np.mean(out.argmax(1) == true) for out, true in zip(outputs, y, strict=True)]),
        "load_curve": load,
        "epoch": np.array(float(epoch)),
    }
