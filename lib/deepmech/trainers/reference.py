"""The reference: one network, plain torch modules, autograd and torch.optim. It defines what every engine computes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from deepmech.trainers.checks import Known, knows, require_known
from deepmech.trainers.convolution import ConvolutionalNetwork
from deepmech.trainers.draws import Draws
from deepmech.trainers.specs import CNN, MLP, Member, Training


class Network(nn.Module):
    """[BatchNorm], then hidden layers [Linear, [BatchNorm], LeakyReLU, Dropout], then Linear."""

    def __init__(self, member: Member, draws: Draws, n_inputs: int, n_outputs: int, dtype: torch.dtype):
        super().__init__()
        spec = member.network
        self.sizes = sizes = member.sizes(n_inputs, n_outputs)
        linear = [nn.Linear(a, b, bias=bool(spec.bias)) for a, b in pairwise(sizes)]
        norm = [nn.BatchNorm1d(size) for size in sizes[:-1]] if spec.batch_norm else []
        self.linear, self.norm = nn.ModuleList(linear), nn.ModuleList(norm)
        self.activation = nn.LeakyReLU(float(spec.slope))
        self.scale = member.scale
        self.to(dtype)
        with torch.no_grad():
            for layer, (weight, bias) in zip(linear, draws.weights(sizes), strict=True):
                layer.weight.copy_(torch.from_numpy(weight))
                if spec.bias:
                    layer.bias.copy_(torch.from_numpy(bias))
        if spec.batch_norm:
            # The next BatchNorm subtracts these shifts: their gradient is zero, and autograd's rounding noise is not.
            norm[0].bias.requires_grad_(False)
            for layer in linear[:-1] if spec.bias else []:
                layer.bias.requires_grad_(False)

    def forward(
        self, x: torch.Tensor, masks: list[torch.Tensor] | None = None
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Features of the input and of each hidden layer (before dropout), and the output.

        ``masks`` holds what the activations of each hidden layer are multiplied with: 0 or 1 / (1 - dropout).
        """
        x = self.norm[0](x) if self.norm else x
        features = [x]
        for i, linear in enumerate(self.linear[:-1]):
            x = linear(x)
            x = self.norm[i + 1](x) if self.norm else x
            x = self.scale * self.activation(x) if self.scale != 1 else self.activation(x)
            features.append(x)
            x = x * masks[i] if masks is not None else x
        return features, self.linear[-1](x)

    def masks(self, draws: Draws, step: int, n: int, dropout: float) -> list[torch.Tensor]:
        """Dropout masks of one step for a batch of ``n``, as :meth:`forward` takes them."""
        kept = [draws.keep(i, step, width, n, dropout).T for i, width in enumerate(self.sizes[1:-1], start=1)]
        scale = torch.tensor(1 - dropout, dtype=next(self.parameters()).dtype)
        return [torch.from_numpy(k.copy()) / scale for k in kept]


class Reference:
    """Trains one member; ``network`` and ``optimizer`` may be inspected at any time."""

    KNOWN: ClassVar[Known] = {
        MLP: knows("depth width slope dropout batch_norm scale bias", init=("torch", "orthogonal")),
        CNN: knows("convolutions channels slope dropout", pooling=("max", "average")),
        Training: knows(
            "learning_rate momentum batch_size epochs data_noise label_noise schedule stop_loss stop_change",
            optimizer=("adam", "sgd"),
            loss=("cross_entropy", "mse"),
            dtype=("float32", "float64"),
        ),
    }

    @staticmethod
    def prepare(data: Any, dtype: str, device: str = "cpu") -> dict[str, Any]:
        """What all members share: the training set as tensors, the scale of its noise, the device."""
        return {
            "x": torch.from_numpy(np.asarray(data.x_train, dtype=dtype)),
            "y": np.asarray(data.y_train),
            "n_classes": data.n_classes,
            "shape": getattr(data, "shape", (data.x_train.shape[1],)),
            "std": float(np.std(data.x_train, dtype=np.float64)),
            "device": torch.device(device),
        }

    def __init__(self, member: Member, draws: Draws, shared: dict[str, Any]):
        require_known("reference", self.KNOWN, member.network, member.training)
        self.member, self.draws, self.shared = member, draws, shared
        spec = member.training
        self.dtype = getattr(torch, str(spec.dtype))
        n_outputs = shared["n_classes"] or 1
        self.network: Network | ConvolutionalNetwork
        if isinstance(member.network, CNN):
            self.network = ConvolutionalNetwork(member, draws, shared["shape"], n_outputs, self.dtype)
        else:
            self.network = Network(member, draws, shared["x"].shape[1], n_outputs, self.dtype)
        self.network.to(shared["device"])
        trained = [p for p in self.network.parameters() if p.requires_grad]
        self.optimizer: torch.optim.Optimizer
        if spec.optimizer == "adam":
            self.optimizer = torch.optim.Adam(trained, lr=float(spec.learning_rate))
        else:
            self.optimizer = torch.optim.SGD(trained, lr=float(spec.learning_rate), momentum=float(spec.momentum))

    def run_epoch(self, epoch: int) -> float:
        """One pass over the training set; returns the mean loss over its steps, each taken before its update."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.member.settings(epoch).learning_rate
        n = len(self.shared["y"])
        total = 0.0
        for step, index in self.draws.batches(epoch, n):
            self.optimizer.zero_grad()
            loss = self.loss(epoch, step, index)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(index)
        # A variance that overflows makes a unit constant: finite, and no longer what it should be.
        usable = all(bool(norm.running_var.isfinite().all()) for norm in self.network.norm)  # type: ignore[operator]
        return total / n if usable else float("nan")

    def loss(self, epoch: int, step: int, index: np.ndarray) -> torch.Tensor:
        """The loss of one batch, with its noise, in training mode."""
        now, draws, n_classes = self.member.settings(epoch), self.draws, self.shared["n_classes"]
        x, y = self.shared["x"][index], self.shared["y"][index]
        if now.data_noise > 0:
            noise = draws.input_noise(step, len(index), x.shape[1]).T
            x = x + (now.data_noise * self.shared["std"]) * torch.from_numpy(noise.copy()).to(x)
        if n_classes:
            y = draws.noisy_labels(y, step, now, n_classes)
        masks = None
        if now.dropout > 0:
            masks = [m.to(x.device) for m in self.network.masks(draws, step, len(index), now.dropout)]
        self.network.train()
        _, output = self.network(x, masks)
        target = torch.from_numpy(y).to(x.device)
        if self.member.training.loss == "cross_entropy":
            return nn.functional.cross_entropy(output, target)
        if n_classes:
            target = nn.functional.one_hot(target, n_classes)
        return nn.functional.mse_loss(output, target.to(self.dtype).reshape(output.shape))

    def features(self, x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Evaluation mode: features of the input and every hidden layer, each (n, units), and the output."""
        self.network.eval()
        inputs = torch.from_numpy(np.asarray(x, dtype=str(self.member.training.dtype))).to(self.shared["device"])
        with torch.no_grad():
            features, output = self.network(inputs)
        return [f.flatten(1).cpu().numpy() for f in features], output.cpu().numpy()

    def parameters(self) -> dict[str, np.ndarray]:
        """Every parameter and running statistic by name, copied."""
        return {k: v.cpu().numpy().copy() for k, v in self.network.state_dict().items() if "num_batches" not in k}

    def gradients(self) -> dict[str, np.ndarray]:
        """The gradient of every trained parameter after the last backward pass, copied."""
        named = self.network.named_parameters()
        return {k: p.grad.cpu().numpy().copy() for k, p in named if p.grad is not None}
