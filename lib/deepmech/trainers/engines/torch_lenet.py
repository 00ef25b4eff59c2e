"""LeNets that are trained by one sample at a time, many at once on the states of :mod:`.torch_func`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional as F

from deepmech.core.random import Stream
from deepmech.trainers.engines.torch_func import ModuleEnsemble
from deepmech.trainers.modules import LeNet, initialise, instantiate
from deepmech.trainers.run import check_cancelled


class TorchLeNet:
    """A network with the initial weights of each stream, and a learning rate each."""

    def __init__(
        self, streams: Sequence[Stream], n_channels: int, n_classes: int, rates: Sequence[float], dtype: str,
        device: str = "cpu",
    ) -> None:  # fmt: skip
        modules = [instantiate(LeNet, s, n_channels=n_channels, n_outputs=n_classes) for s in streams]
        for module, stream in zip(modules, streams, strict=True):
            initialise(module.to(getattr(torch, dtype)), stream)
        self.ensemble = ModuleEnsemble(modules, getattr(torch, dtype), device)
        self.rate = self._tensor(np.array(rates)).to(self.ensemble.rows.dtype)[:, None]

    def run(
        self, x: np.ndarray, labels: np.ndarray, orders: np.ndarray, validation: tuple[np.ndarray, np.ndarray],
        at: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """As :meth:`.compiled.lenet.CompiledLeNet.run`, with ``labels`` (networks, samples) and ``orders`` (networks,
        steps) of each network; results have an axis of networks in front, and last comes which of them are finite in
        the end."""
        images, order, steps = self._images(x), self._tensor(orders), orders.shape[1]
        targets = self._tensor(labels).gather(1, order)
        outputs, losses = [], []
        measured, going = np.full((len(order), len(at), 2), np.nan), torch.ones_like(self.rate, dtype=torch.bool)
        for m in range(steps + 1):
            if m in at:
                measured[:, at == m] = self._measured(*validation)[:, None]
            if m == steps:
                break
            check_cancelled()
            one = images[order[:, m], None]
            loss, gradient, output = self.ensemble.gradient(F.cross_entropy, one, targets[:, m, None], (0, 0))
            going &= loss.isfinite()[:, None]  # after the first loss that is not, no step is taken
            self.ensemble.rows -= torch.where(going, self.rate * gradient, 0)
            outputs.append(output[:, 0])
            losses.append(loss)
        with torch.no_grad():
            last = self.ensemble.outputs(self.ensemble.rows, images[order[:, -1], None], 0)
        finite = self.ensemble.rows.isfinite().all(1) & last.isfinite().flatten(1).all(1)
        found = torch.stack(outputs, 1), torch.stack(losses, 1).double(), finite
        logits, costs, ends = (value.cpu().numpy() for value in found)
        return logits, costs, measured, ends

    @torch.no_grad()
    def _measured(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Mean loss and accuracy of every network, (networks, 2)."""
        output, truth = self.ensemble.outputs(self.ensemble.rows, self._images(x), None).double(), self._tensor(y)
        loss = [F.cross_entropy(one, truth) for one in output]
        return torch.stack([torch.stack(loss), (output.argmax(2) == truth).double().mean(1)], 1).cpu().numpy()

    def _images(self, x: np.ndarray) -> torch.Tensor:
        return self._tensor(x.reshape(len(x), -1)).to(self.ensemble.rows.dtype)

    def _tensor(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(values).to(self.ensemble.rows.device)
