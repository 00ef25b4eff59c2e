"""The explorer that trains: a small network's load curve, epoch by epoch, beside the chain's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from deepmech.core import checks
from deepmech.data import load
from deepmech.metrics.load_curve import load_curve
from deepmech.simulators.spring_block import Chain, simulate
from deepmech_book.experiments.spring_block.chains import DIAGRAMS
from deepmech_book.experiments.spring_block.networks import PANELS
from deepmech_book.explorers.page import Page, page_of

FIG_3 = DIAGRAMS["A.3"]
MOST_DROPOUT = PANELS["dropout"].values[-1]
"""Dropout of the noisiest networks of Fig. 1(c), which stand beside the noisiest chains of Fig. 3."""
N_TRAIN, DEPTH, WIDTH = 400, 8, 100
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
BATCHES = (20, 50, 100, 200, 400)


@dataclass(frozen=True)
class Settings:
    """How the network is trained: the paper's network and optimiser on 400 of the bundled digits.

    Raises
    ------
    ValueError
        Naming the field, its value and what is allowed.
    """

    slope: float = 0.0
    dropout: float = 0.1
    learning_rate: float = 1e-3
    batch_size: int = N_TRAIN
    epochs: int = 60
    seed: int = 0

    def __post_init__(self) -> None:
        checks.real("train one: slope", self.slope, 0, 1, allowed="between 0 (ReLU) and 1 (linear)")
        checks.real("train one: dropout", self.dropout, 0, 0.9, allowed="between 0 and 0.9")
        checks.real("train one: learning_rate", self.learning_rate, 1e-6, 1, allowed="between 1e-6 and 1")
        for name, least in (("batch_size", 2), ("epochs", 1), ("seed", 0)):
            checks.whole(f"train one: {name}", getattr(self, name), least)


class Epoch(NamedTuple):
    """What is known after an epoch: the load curve D_0 … D_7 of the training samples, and the test accuracy."""

    curve: list[float]
    accuracy: float


def training(settings: Settings) -> Iterator[Epoch]:
    """Train; one :class:`Epoch` before the first and after each. Whoever stops asking stops the training."""
    digits = load("digits", n_train=N_TRAIN)
    x, y = torch.tensor(digits.x_train), torch.tensor(digits.y_train)
    x_test, y_test = torch.tensor(digits.x_test), torch.tensor(digits.y_test)
    state = torch.Generator().manual_seed(settings.seed).get_state()
    model, optimiser = None, None
    for epoch in range(settings.epochs + 1):
        # Torch's own random numbers are those of whoever trains elsewhere in this kernel: put back after every epoch.
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state)
            if model is None or optimiser is None:
                model = _network(x.shape[1], settings)
                optimiser = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
            if epoch:
                model.train()
                for some in torch.randperm(len(x)).split(settings.batch_size):
                    if len(some) < 2:
                        continue  # batch normalisation knows no batch of one
                    optimiser.zero_grad()
                    nn.functional.cross_entropy(model(x[some]), y[some]).backward()
                    optimiser.step()
            state = torch.get_rng_state()
        curve = load_curve(model, x, y, diverged_to_nan=True, debias=False)
        with torch.no_grad():
            right = (model.eval()(x_test).argmax(1) == y_test).float().mean()
        yield Epoch(curve.values.round(4).tolist(), round(float(right), 4))


def _network(n_inputs: int, settings: Settings) -> nn.Module:
    layers: list[nn.Module] = [nn.BatchNorm1d(n_inputs)]
    for inputs in [n_inputs] + [WIDTH] * (DEPTH - 2):
        layers += [nn.Linear(inputs, WIDTH), nn.BatchNorm1d(WIDTH), nn.LeakyReLU(settings.slope)]
        layers += [nn.Dropout(settings.dropout)]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 10))


def chain_beside(settings: Settings) -> Chain:
    """The chain at the same place of Fig. 3 as the network's in Fig. 1(c): nothing is fitted, places are compared."""
    return Chain(
        friction_right=FIG_3.friction_range * (1 - settings.slope),
        friction_left=FIG_3.friction_left,
        noise=FIG_3.noise_range * min(1.0, settings.dropout / MOST_DROPOUT),
    )


def chain_curves(settings: Settings) -> list[list[float]]:
    """The chain's load curve at as many times as there are epochs, the last one that of Fig. 3."""
    times = np.linspace(0, FIG_3.t_end, settings.epochs + 1)
    made = simulate(chain_beside(settings), FIG_3.t_end, record=times, seed=settings.seed)["load_curve"].isel(run=0)
    return made.transpose("time", "block").values.round(4).tolist()


def in_words(settings: Settings) -> str:
    """The settings of a run."""
    return (
        f"negative slope {settings.slope:g}, dropout {settings.dropout:g}, learning rate {settings.learning_rate:g}, "
        f"batches of {settings.batch_size}"
    )


def training_state(**settings: Any) -> dict[str, Any]:
    """Everything that the component reads from its model: a whole run, trained here and now."""
    how = Settings(**settings)
    epochs = list(training(how))
    return {
        "epochs": how.epochs,
        "about": in_words(how),
        "curves": [epoch.curve for epoch in epochs],
        "accuracy": [epoch.accuracy for epoch in epochs],
        "chain": chain_curves(how),
        "shown": how.epochs,
    }


def training_page(**settings: Any) -> Page:
    """A recorded run for a page without kernel: last line of a notebook cell, or :meth:`Page.document` for a file.

    It is trained when this is called. To train others live, see :class:`~deepmech_book.explorers.TrainOne`.

    Parameters
    ----------
    **settings
        Fields of :class:`Settings`.

    Raises
    ------
    ValueError
        If a setting is out of range.
    """
    state = training_state(**settings)
    return page_of("training", state, f"Recorded training of a small network: {state['about']}.")
