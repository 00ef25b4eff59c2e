"""The explorer that trains in the browser: a small network's load curve, epoch by epoch, beside the chain's."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core.random import purpose_word
from deepmech.data import load
from deepmech_book.experiments.spring_block.chains import DIAGRAMS
from deepmech_book.explorers.page import SEEDS, Page, common_state, key, packed, page_of

FIG_3 = DIAGRAMS["A.3"]
MOST_DROPOUT = 0.28
"""Dropout of the noisiest networks of Fig. 1(c), which stand beside the noisiest chains of Fig. 3."""
N_TRAIN, N_TEST = 400, 400
SIZES = [64, *[100] * 7, 10]
"""Units of every layer: the paper's network, on 8×8 pixels."""
RANGES: dict[str, tuple[float, float, float]] = {"slope": (0.0, 1.0, 0.1), "dropout": (0.0, 0.5, 0.02)}
CHOICES: dict[str, list[Any]] = {"learning_rate": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2], "batch_size": [20, 50, 100, 200, 400]}
START = {"slope": 0.0, "dropout": 0.1, "learning_rate": 1e-3, "batch_size": N_TRAIN}


def training_state(*, epochs: int = 60, running: bool = False, **parameters: Any) -> dict[str, Any]:
    """Everything that the component reads from its model, as plain JSON values; see :func:`.page.common_state`."""
    state = common_state("training", parameters, START, RANGES, CHOICES, running=running)
    if epochs not in range(1, 1001):
        raise ValueError(f"training explorer: epochs = {epochs!r}: must be a whole number from 1 to 1000")
    digits = load("digits", n_train=N_TRAIN, n_test=N_TEST)
    purposes = [f"{what} {i}" for what in ("weight", "bias", "dropout") for i in range(1, len(SIZES))]
    return {
        **state,
        "epochs": epochs,
        "images": packed(np.concatenate([digits.x_train, digits.x_test]), 1 / 16),
        "labels": np.concatenate([digits.y_train, digits.y_test]).tolist(),
        "n_test": N_TEST,
        "sizes": SIZES,
        "words": {purpose: purpose_word(purpose) for purpose in [*purposes, "order"]},
        "train_keys": [key("train", seed) for seed in range(SEEDS)],
        # The chain at the same place of Fig. 3 as the network's in Fig. 1(c): nothing is fitted, places are compared.
        "chain": {
            "friction": FIG_3.friction_range,
            "friction_left": FIG_3.friction_left,
            "noise": FIG_3.noise_range,
            "most_dropout": MOST_DROPOUT,
            "t_end": FIG_3.t_end,
            "keys": [key("spring_block", seed, 0) for seed in range(SEEDS)],
            "purpose": purpose_word("noise"),
        },
        "curves": [],
        "accuracy": [],
        "shown": 0,
    }


def training_page(**parameters: Any) -> Page:
    """A network to train on a page without kernel: last line of a cell, or :meth:`Page.document` for a file.

    The reader's browser takes the steps of ``train(MLP(...), Training(..., dtype="float64"), digits)`` with 400 digits,
    from the same start, with the same batches and dropout.

    Parameters
    ----------
    slope, dropout : float
        As of :class:`deepmech.MLP`; ranges in :data:`RANGES`.
    learning_rate, batch_size : float, int
        One of :data:`CHOICES` each.
    epochs : int
        Passes over the 400 digits.
    seed : int
        0 … 99; the same numbers as ``train(..., seed=seed)``.
    running : bool
        Whether it trains from the start.

    Raises
    ------
    ValueError
        If a value is out of range.
    """
    state = training_state(**parameters)
    words = f"slope {state['slope']:g}, dropout {state['dropout']:g}, learning rate {state['learning_rate']:g}"
    return page_of("training", state, f"A small network to train: {words}, batches of {state['batch_size']}.")
