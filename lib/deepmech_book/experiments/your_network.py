"""Four kinds of network small enough to be trained in seconds, for looking at their load curves.

Everything here is plain torch, as a reader's own code would be. Layers have names that can stand under a plot.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import nn

from deepmech.core.random import Stream
from deepmech.data import Data
from deepmech.trainers.run import one_thread

CLASSES = 10


def mlp(dropout: float = 0.0, depth: int = 6, width: int = 100) -> nn.Sequential:
    """Paper A's network: BatchNorm on the input, then Linear, BatchNorm, ReLU, Dropout in each hidden layer."""
    parts: list[tuple[str, nn.Module]] = [("input_norm", nn.BatchNorm1d(64))]
    for i in range(1, depth + 1):
        parts += [
            (f"linear{i}", nn.Linear(64 if i == 1 else width, width)),
            (f"norm{i}", nn.BatchNorm1d(width)),
            (f"relu{i}", nn.ReLU()),
            (f"dropout{i}", nn.Dropout(dropout)),
        ]
    return nn.Sequential(OrderedDict([*parts, ("logits", nn.Linear(width, CLASSES))]))


def cnn(dropout: float = 0.0, depth: int = 4, channels: int = 16) -> nn.Sequential:
    """Convolutions of 3×3 pixels with BatchNorm and ReLU; pooling to 4×4 after half of them."""
    parts: list[tuple[str, nn.Module]] = [("image", nn.Unflatten(1, (1, 8, 8))), ("input_norm", nn.BatchNorm2d(1))]
    for i in range(1, depth + 1):
        parts += [
            (f"conv{i}", nn.Conv2d(1 if i == 1 else channels, channels, 3, padding=1)),
            (f"norm{i}", nn.BatchNorm2d(channels)),
            (f"relu{i}", nn.ReLU()),
            (f"dropout{i}", nn.Dropout(dropout)),
        ]
        if i == depth // 2:
            parts.append(("pooling", nn.MaxPool2d(2)))
    return nn.Sequential(OrderedDict([*parts, ("flat", nn.Flatten()), ("logits", nn.Linear(channels * 16, CLASSES))]))


class ResidualBlock(nn.Module):
    """x + f(x), then ReLU, with f of two convolutions. One ReLU module serves both, as in many published models."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.dropout, self.relu = nn.Dropout(dropout), nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branch = self.dropout(self.relu(self.norm1(self.conv1(x))))
        return self.relu(x + self.norm2(self.conv2(branch)))


def resnet(dropout: float = 0.0, depth: int = 5, channels: int = 16) -> nn.Sequential:
    """A stem and ``depth`` residual blocks at 8×8 pixels, then the mean over pixels."""
    parts: list[tuple[str, nn.Module]] = [
        ("image", nn.Unflatten(1, (1, 8, 8))),
        ("stem", nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU())),
    ]
    parts += [(f"block{i}", ResidualBlock(channels, dropout)) for i in range(1, depth + 1)]
    parts += [("mean", nn.AdaptiveAvgPool2d(1)), ("flat", nn.Flatten()), ("logits", nn.Linear(channels, CLASSES))]
    return nn.Sequential(OrderedDict(parts))


class Rows(nn.Module):
    """The eight rows of an image as tokens, each with a learnt position added."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(8, width)
        # Without a spread all rows would begin as the same place.
        self.position = nn.Parameter(0.5 * torch.randn(8, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x.reshape(-1, 8, 8)) + self.position


class TransformerBlock(nn.Module):
    """Attention and a two-layer network, each added to the tokens that go through (normalised first)."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm1(x)
        x = x + self.dropout(self.attention(h, h, h, need_weights=False)[0])
        return x + self.dropout(self.mlp(self.norm2(x)))


class TokenMean(nn.Module):
    """Mean over tokens."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(1)


def transformer(dropout: float = 0.0, depth: int = 4, width: int = 32) -> nn.Sequential:
    """A small vision transformer on the rows of an image, with the mean over tokens at its end."""
    parts: list[tuple[str, nn.Module]] = [("rows", Rows(width))]
    parts += [(f"block{i}", TransformerBlock(width, 4, dropout)) for i in range(1, depth + 1)]
    parts += [("norm", nn.LayerNorm(width)), ("mean", TokenMean()), ("logits", nn.Linear(width, CLASSES))]
    return nn.Sequential(OrderedDict(parts))


@dataclass(frozen=True)
class Example:
    """How to build a network, the layers of its load curve (None: the default), and for how long it trains."""

    build: Callable[..., nn.Sequential]
    layers: tuple[str, ...] | None
    epochs: int
    learning_rate: float = 1e-3


#: Where all layers are alike, the curve runs over activations; where blocks add to a stream, over the stream.
EXAMPLES = {
    "MLP": Example(mlp, None, epochs=15),
    "CNN": Example(cnn, None, epochs=15),
    "ResNet": Example(resnet, ("input", "stem", *(f"block{i}" for i in range(1, 6))), epochs=8),
    "transformer": Example(
        transformer, ("input", "rows", *(f"block{i}" for i in range(1, 5))), epochs=15, learning_rate=2e-3
    ),
}


@contextmanager
def seeded(*words: str | int) -> Iterator[None]:
    """Torch's own random numbers (initial weights, dropout) from a named seed; outside, their state is unchanged."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(Stream.of("your network", *words).key >> 1)
        yield


def example(name: str, dropout: float = 0.0, seed: int = 0) -> nn.Sequential:
    """One of :data:`EXAMPLES` with its initial weights.

    Raises
    ------
    ValueError
        For an unknown name.
    """
    if name not in EXAMPLES:
        raise ValueError(f"example: name = {name!r}: must be one of {', '.join(EXAMPLES)}")
    with seeded("weights", name, seed):
        return EXAMPLES[name].build(dropout=dropout)


def trained(name: str, data: Data, dropout: float = 0.0, seed: int = 0) -> nn.Module:
    """One of :data:`EXAMPLES`, trained as it says there."""
    chosen = example(name, dropout, seed)
    return fit(chosen, data, EXAMPLES[name].epochs, learning_rate=EXAMPLES[name].learning_rate, seed=seed)


def fit(
    model: nn.Module,
    data: Data,
    epochs: int = 15,
    batch_size: int = 100,
    learning_rate: float = 1e-3,
    seed: int = 0,
    after_step: Callable[[torch.Tensor], None] | None = None,
    steps: int | None = None,
    loss: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
) -> nn.Module:
    """Train with Adam and cross-entropy (or the ``loss`` of output, inputs and classes), to the end or for so many
    ``steps``; ``after_step`` is called with the loss of each. Returns the model.

    Examples
    --------
    >>> from deepmech.data import load
    >>> digits = load("digits", n_train=200)
    >>> accuracy(fit(example("MLP"), digits, epochs=10), digits) > 0.5
    True
    """
    x, y = torch.tensor(data.x_train), torch.tensor(data.y_train)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    order = Stream.of("your network", "order", seed)
    orders = (torch.from_numpy(order.permutation("epoch", epoch, len(x))) for epoch in range(epochs))
    batches = (batch for each in orders for batch in each.split(batch_size))
    model.train()
    # Networks this small lose more by waiting for a second thread than they gain, most of all on a busy machine.
    with seeded("training", seed), one_thread():
        for batch in islice(batches, steps):
            optimiser.zero_grad()
            said = model(x[batch])
            error = nn.functional.cross_entropy(said, y[batch]) if loss is None else loss(said, x[batch], y[batch])
            error.backward()
            optimiser.step()
            if after_step is not None:
                after_step(error)
    return model.eval()


def accuracy(model: nn.Module, data: Data) -> float:
    """Share of test samples that the model, in evaluation mode, classifies rightly."""
    training = model.training
    model.eval()
    with torch.no_grad():
        right = model(torch.tensor(data.x_test)).argmax(1).numpy() == data.y_test
    model.train(training)
    return float(right.mean())


def unseen(data: Data, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Test samples in a fixed random order, in which the classes are mixed."""
    order = Stream.of("your network", "unseen").permutation("order", 0, len(data.x_test))[:n]
    return data.x_test[order], data.y_test[order]


def converted(model: nn.Module, kind: str) -> nn.Module:
    """The model ``"quantised"`` (its linear maps in eight bits) or ``"scripted"``; as it is for other words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch is about to put both elsewhere
        if kind == "quantised":
            return torch.ao.quantization.quantize_dynamic(model, {nn.Linear})
        return torch.jit.script(model) if kind == "scripted" else model
