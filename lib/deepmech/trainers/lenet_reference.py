"""The reference for single-sample training: the authors' LeNet in plain torch. It defines what the engine computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional


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

        Shapes (len(order), K), (len(order),) and (len(at), 2).
        """
        images, labels = self.images(x), torch.from_numpy(y)
        logits, losses, measured = [], [], []
        for m in range(len(order) + 1):
            measured += [self.measure(*validation) for _ in range(int((at == m).sum()))]
            if m == len(order):
                break
            out = self.network(images[order[m], None])
            loss = functional.cross_entropy(out, labels[order[m], None])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            logits.append(out.detach().numpy()[0])
            losses.append(loss.item())
        k = len(self.network.layers[4].bias)
        return np.array(logits).reshape(-1, k), np.array(losses), np.array(measured).reshape(-1, 2)

    @torch.no_grad()
    def measure(self, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
        """Mean cross-entropy and share of correct answers."""
        out, labels = self.network(self.images(x)), torch.from_numpy(y)
        return functional.cross_entropy(out, labels).item(), (out.argmax(1) == labels).double().mean().item()

    def weights(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(weight, bias) of every layer, in torch's shapes."""
        return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in self.network.layers]
