"""The reference for single-sample training: the authors' LeNet in plain torch. It defines what the engine computes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from deepmech.trainers.checks import Known, knows
from deepmech.trainers.specs import SingleSample


class LeNet(nn.Module):
    """Two convolutions and three linear layers (paper B, App. D; sizes from the authors' scripts)."""

    def __init__(self, n_channels: int, n_classes: int) -> None:
        super().__init__()
        convolutions = [nn.Conv2d(n_channels, 6, 5), nn.Conv2d(6, 16, 5)]
        linear = [nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, n_classes)]
        self.convolutions, self.linear = nn.ModuleList(convolutions), nn.ModuleList(linear)
        self.layers: list[Any] = [*convolutions, *linear]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[:2]:
            x = functional.max_pool2d(functional.relu(layer(x)), 2)
        x = x.flatten(1)
        for layer in self.layers[2:4]:
            x = functional.relu(layer(x))
        return self.layers[4](x)


class Reference:
    """One network and its training, one torch call at a time; ``network`` may be inspected between steps."""

    KNOWN: ClassVar[Known] = {
        SingleSample: knows("learning_rate iterations label_error class_weights", dtype=("float32", "float64")),
    }

    def __init__(self, weights: list[tuple[np.ndarray, np.ndarray]], learning_rate: float, dtype: str) -> None:
        self.dtype = getattr(torch, dtype)
        self.network = LeNet(weights[0][0].shape[1], len(weights[-1][1])).to(self.dtype)
        with torch.no_grad():
            for layer, (weight, bias) in zip(self.network.layers, weights, strict=True):
                layer.weight.copy_(torch.from_numpy(weight))
                layer.bias.copy_(torch.from_numpy(bias))
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=learning_rate)

    def images(self, x: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.asarray(x)).to(self.dtype).reshape(len(x), -1, 32, 32)

    def run(
        self, x: np.ndarray, y: np.ndarray, order: np.ndarray, validation: tuple[np.ndarray, np.ndarray], at: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logits and loss of every sample drawn, before its step, and validation loss and accuracy before steps ``at``.

        Shapes (len(order), K), (len(order),) and (len(at), 2). Training ends, and the rest is nan, with a loss or a
        parameter that is not finite.
        """
        images, labels = self.images(x), torch.from_numpy(y)
        record = np.full((len(order), len(self.network.layers[4].bias)), np.nan, str(self.dtype).removeprefix("torch."))
        losses, measured = np.full(len(order), np.nan), np.full((len(at), 2), np.nan)
        for m in range(len(order) + 1):
            if not self.finite:
                break
            measured[at == m] = self.measure(*validation) if np.any(at == m) else np.nan
            if m == len(order):
                break
            out = self.network(images[order[m], None])
            loss = functional.cross_entropy(out, labels[order[m], None])
            record[m], losses[m] = out.detach().numpy()[0], loss.item()
            if not np.isfinite(losses[m]):
                break
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return record, losses, measured

    @property
    def finite(self) -> bool:
        """Whether all weights and biases are."""
        return all(bool(parameter.isfinite().all()) for parameter in self.network.parameters())

    @torch.no_grad()
    def answers(self, image: np.ndarray) -> bool:
        """Whether the logits of an image are finite."""
        return self.finite and bool(self.network(self.images(image[None])).isfinite().all())

    @torch.no_grad()
    def measure(self, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
        """Mean cross-entropy and share of correct answers."""
        out, labels = self.network(self.images(x)), torch.from_numpy(y)
        return functional.cross_entropy(out, labels).item(), (out.argmax(1) == labels).double().mean().item()

    def weights(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(weight, bias) of every layer, in torch's shapes."""
        return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in self.network.layers]
