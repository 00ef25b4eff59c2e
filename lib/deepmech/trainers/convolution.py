"""The reference of :class:`~deepmech.trainers.specs.CNN`: one convolutional network in plain torch modules."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import nn

from deepmech.trainers.draws import Draws
from deepmech.trainers.specs import CNN, Member


class ConvolutionalNetwork(nn.Module):
    """Layers [Conv 3×3, BatchNorm, LeakyReLU, pool 2×2, upsample, Dropout], then Linear.

    ``shape`` is that of one image, (channels, height, width); images come flattened, as in :class:`deepmech.data.Data`.
    """

    def __init__(self, member: Member, draws: Draws, shape: tuple[int, ...], n_outputs: int, dtype: torch.dtype):
        super().__init__()
        spec = member.network
        assert isinstance(spec, CNN)
        self.shape, self.size = tuple(shape), (int(shape[1]), int(shape[2]))
        self.channels = int(spec.channels)
        channels = [shape[0], *[int(spec.channels)] * int(spec.convolutions)]
        convolutions = [nn.Conv2d(a, b, 3, padding=1) for a, b in pairwise(channels)]
        self.convolution = nn.ModuleList(convolutions)
        self.norm = nn.ModuleList([nn.BatchNorm2d(c) for c in channels[1:]])
        self.activation = nn.LeakyReLU(float(spec.slope))
        self.pool = nn.MaxPool2d(2) if spec.pooling == "max" else nn.AvgPool2d(2)
        self.upsample = nn.Upsample(size=self.size)
        self.linear = nn.Linear(channels[-1] * int(np.prod(self.size)), n_outputs)
        # Channels are the last axis in memory: half the time of torch's default order on a CPU, the same numbers.
        self.to(dtype, memory_format=torch.channels_last)  # type: ignore[call-overload]
        for i, layer in enumerate([*convolutions, self.linear], start=1):
            parameters = dict(layer.named_parameters())
            bound = 1 / np.sqrt(parameters["weight"][0].numel())
            for name, parameter in parameters.items():
                drawn = 2 * draws.stream.uniform(f"{name} {i}", 0, tuple(parameter.shape)) - 1
                parameter.data.copy_(torch.from_numpy(drawn * bound))
                # BatchNorm subtracts a convolution's bias, and autograd's rounding noise is no gradient (see MLP).
                parameter.requires_grad_(name == "weight" or layer is self.linear)

    def forward(
        self, x: torch.Tensor, masks: list[torch.Tensor] | None = None
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """The images and the maps of each layer before dropout, each (n, channels, height, width), and the output.

        ``masks`` holds what the maps of each layer are multiplied with: 0 or 1 / (1 - dropout).
        """
        x = x.unflatten(1, self.shape).contiguous(memory_format=torch.channels_last)
        features = [x]
        for i, (convolution, norm) in enumerate(zip(self.convolution, self.norm, strict=True)):
            x = self.upsample(self.pool(self.activation(norm(convolution(x)))))
            features.append(x)
            x = x * masks[i] if masks is not None else x
        return features, self.linear(x.flatten(1))

    def masks(self, draws: Draws, step: int, n: int, dropout: float) -> list[torch.Tensor]:
        """Dropout masks of one step for a batch of ``n``; drawn sample by sample, position by position."""
        scale = torch.tensor(1 - dropout, dtype=next(self.parameters()).dtype)
        shape = (n, *self.size, self.channels)
        kept = [draws.stream.keep(f"dropout {i}", step, shape, dropout) for i in range(1, len(self.convolution) + 1)]
        return [(torch.from_numpy(k) / scale).permute(0, 3, 1, 2) for k in kept]
