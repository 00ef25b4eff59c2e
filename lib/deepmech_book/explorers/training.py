"""The explorer that trains in the browser: a small network's load curve, epoch by epoch, beside the chain's."""

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.random import stream_id
from deepmech.data import load
from deepmech.metrics.curvature import curvature
from deepmech.trainers import MLP, Training, train
from deepmech_book.explorers.page import SEED, SEEDS, ExplorerSpec, Value, key, quantise_int16
from deepmech_book.spring_block.chains import DIAGRAMS

FIG_3 = DIAGRAMS["A.3"]
MOST_DROPOUT = 0.28
"""Dropout of the noisiest networks of Fig. 1(c), which stand beside the noisiest chains of Fig. 3."""
N_TRAIN, N_TEST = 400, 400
SIZES = [64, *[100] * 7, 10]
"""Units of every layer: the paper's network, on 8×8 pixels."""
VALUES = {
    "slope": Value(0.0, (0.0, 1.0, 0.1), "as of :class:`deepmech.MLP`"),
    "dropout": Value(0.1, (0.0, 0.5, 0.02), "likewise"),
    "learning_rate": Value(1e-3, [1e-4, 3e-4, 1e-3, 3e-3, 1e-2], "as of :class:`deepmech.Training`"),
    "batch_size": Value(N_TRAIN, [20, 50, 100, 200, 400], "likewise"),
    "seed": SEED,
    "epochs": Value(60, (1, 1000, 1), "passes over the 400 digits"),
    "running": Value(False, words="whether it trains from the start"),
    "trained": Value(False, words="whether it opens on a finished run, which the library trains for it"),
}


def library_run(values: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Load curves (epoch, layer) and test accuracies (epoch) of these values, by the library and in float64."""
    fields = {name: values[name] for name in ("learning_rate", "batch_size", "epochs")}
    how = Training(**fields, dtype="float64", stop_loss=0, stop_change=0)
    data = load("digits", n_train=N_TRAIN, n_test=N_TEST)
    run = train(MLP(slope=values["slope"], dropout=values["dropout"]), how, data, seed=values["seed"], record=1)
    return run["load_curve"].sel(split="train").values, run["accuracy"].sel(split="test").values


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    digits = load("digits", n_train=N_TRAIN, n_test=N_TEST)
    curves, accuracy = library_run(values) if values["trained"] else (np.empty((0, 0)), np.empty(0))
    purposes = [f"{what} {i}" for what in ("weight", "bias", "dropout") for i in range(1, len(SIZES))]
    return {
        "images": quantise_int16(np.concatenate([digits.x_train, digits.x_test]), 1 / 16),
        "labels": np.concatenate([digits.y_train, digits.y_test]).tolist(),
        "n_test": N_TEST,
        "sizes": SIZES,
        "words": {purpose: stream_id(purpose) for purpose in [*purposes, "order"]},
        "train_keys": [key("train", seed) for seed in range(SEEDS)],
        # The chain at the same place of Fig. 3 as the network's in Fig. 1(c): nothing is fitted, places are compared.
        "chain": {
            "friction": FIG_3.friction_range,
            "friction_left": FIG_3.friction_left,
            "noise": FIG_3.noise_range,
            "most_dropout": MOST_DROPOUT,
            "t_end": FIG_3.t_end,
            "keys": [key("spring_block", seed, 0) for seed in range(SEEDS)],
            "purpose": stream_id("noise"),
        },
        "curves": curves.round(5).tolist(),
        "accuracy": accuracy.tolist(),
        "shown": max(0, len(curves) - 1),
    }


def result(state: dict[str, Any]) -> xr.Dataset:
    """The run so far: ``load_curve`` (epoch, layer), its ``curvature`` and the test ``accuracy`` (epoch)."""
    epochs = range(len(state["curves"]))
    curves = xr.DataArray(np.reshape(state["curves"], (len(epochs), -1 if epochs else len(SIZES) - 1)))
    made = curves.rename(dim_0="epoch", dim_1="layer").assign_coords(epoch=epochs)
    found = {"load_curve": made, "curvature": curvature(made), "accuracy": ("epoch", list(state["accuracy"]))}
    return xr.Dataset(found, attrs={name: state[name] for name in VALUES if name not in ("epochs", "running")})


training_page = ExplorerSpec(
    "training",
    "A network in training, beside the chain",
    "training.html",
    """A network to train.

The reader's browser takes the steps of ``train(MLP(...), Training(..., dtype="float64"), digits)`` with 400 digits,
from the same start, with the same batches and dropout.""",
    VALUES,
    derived_state,
    (
        "A small network to train: slope {slope:g}, dropout {dropout:g}, learning rate {learning_rate:g}, "
        "batches of {batch_size}."
    ).format_map,
    {"result": result},
)
