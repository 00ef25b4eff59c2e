"""Speed of the convolutional network's training beside this machine's matrix products and two ways in torch.

``python benchmarks/cnn.py``: the network of Figs. S2 and S3 of the spring-block paper (seven convolutions on images of
10×10 pixels, Adam, all images at once) on random data, without dropout and with 30 %. One thread each. Contenders take
turns in every round, so that another load on the machine meets them alike; the median of their processor time is
printed, which other loads disturb less than the clock on the wall. The floor is the time of the multiplications and
additions of all convolutions, forward, for the weights and for the inputs, at the rate of a large matrix product.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from deepmech.core import provenance
from deepmech.core.random import Stream
from deepmech.trainers import CNN, Training
from deepmech.trainers.draws import Draws
from deepmech.trainers.engines.compiled.cnn import FusedCNN
from deepmech.trainers.engines.torch_func import Torch
from deepmech.trainers.specs import Member

SIDE, LAYERS, CLASSES = 10, 7, 10


def flops(n: int, channels: int) -> int:
    """Of one step's convolutions; the images need no gradient."""
    first, other = (2 * 9 * c * channels * SIDE**2 * n for c in (1, channels))
    return 2 * first + 3 * (LAYERS - 1) * other


def random_data(n: int) -> SimpleNamespace:
    stream = Stream.of("benchmark", 0)
    x = stream.uniform("x", 0, (n, SIDE**2)).astype(np.float32)
    y = (stream.uniform("y", 0, n) * CLASSES).astype(np.int64)
    return SimpleNamespace(x_train=x, y_train=y, n_classes=CLASSES, shape=(1, SIDE, SIDE))


def torch_loop(n: int, channels: int, dropout: float) -> Callable[[], None]:
    """What one would write first, with the channels last in memory, which is the faster order."""
    data = random_data(n)
    x, y = torch.from_numpy(data.x_train).view(n, 1, SIDE, SIDE), torch.from_numpy(data.y_train)
    layers: list[nn.Module] = []
    for i in range(LAYERS):
        layers += [nn.Conv2d(channels if i else 1, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.LeakyReLU(0.0)]
        layers += [nn.MaxPool2d(2), nn.Upsample(scale_factor=2)] + ([nn.Dropout(dropout)] if dropout else [])
    network: Any = nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * SIDE**2, CLASSES))
    network, x = network.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()

    return step


def engine(n: int, channels: int, dropout: float, compiled: bool) -> Callable[[], None]:
    member = Member(CNN(channels=channels, dropout=dropout), Training(learning_rate=1e-4), 0)
    draws, data = Draws.of(member, "benchmark"), random_data(n)
    if compiled:
        return partial(FusedCNN(member, draws, FusedCNN.prepare(data, "float32")).run_epoch, 1)  # type: ignore[return-value]
    return partial(Torch([member], [draws], Torch.prepare(data, "float32")).run_epoch, 1)  # type: ignore[return-value]


def product() -> Callable[[], None]:
    """A product of 2 · 1024³ operations."""
    a = torch.randn(1024, 1024)
    return partial(torch.mm, a, a.clone(), out=torch.empty_like(a))  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=2560)
    parser.add_argument("--channels", type=int, nargs="*", default=[16, 20, 40])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    n = arguments.samples
    print(provenance.machine())
    for channels in arguments.channels:
        contenders: dict[str, Callable[[], None]] = {"product": product()}
        for p in (0.0, 0.3):
            contenders[f"torch loop, dropout {p}"] = torch_loop(n, channels, p)
            contenders[f"torch engine, dropout {p}"] = engine(n, channels, p, False)
            contenders[f"compiled engine, dropout {p}"] = engine(n, channels, p, True)
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        for i in range(arguments.rounds + 1):
            for name, run in contenders.items():
                started = time.thread_time()
                run()
                if i:  # the first round compiles and warms up
                    taken[name].append(time.thread_time() - started)
        rate = 2 * 1024**3 / float(np.median(taken.pop("product")))
        floor = flops(n, channels) / rate
        print(f"\n{n} images, {channels} channels: floor {1e3 * floor:.0f} ms a step at {rate / 1e9:.0f} GFLOP/s")
        for name, times in taken.items():
            median = float(np.median(times))
            print(f"  {name:30s} {1e3 * median:8.0f} ms  {median / floor:6.2f} of the floor", flush=True)


if __name__ == "__main__":
    main()
