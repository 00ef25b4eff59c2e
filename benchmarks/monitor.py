"""What watching costs: the load-curve monitor beside the training that it watches.

    python benchmarks/monitor.py [--seconds 20] [--threads 1] [--device cpu]

For each example network and a larger MLP: the time of one training step, of one record on 500 samples with the default
layers (medians), and then training at the default cadence for a while: the number of records, and what the monitor took
of the training time as a clock outside sees it, the first and the last record included. The reach is 10 % at most.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch
from torch import nn

from deepmech.core.provenance import machine, versions
from deepmech.core.random import Stream
from deepmech.data import load
from deepmech.metrics.monitor import BUDGET, LoadCurveMonitor
from deepmech_book.experiments import your_network

WIDTHS = (14, 9, 11, 16, 9, 8, 8)


def wide(n_inputs: int = 784, width: int = 1024, depth: int = 4) -> nn.Sequential:
    """An MLP for which a step is dominated by matrix products."""
    parts: list[nn.Module] = []
    for i in range(depth):
        parts += [nn.Linear(n_inputs if i == 0 else width, width), nn.BatchNorm1d(width), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(width, 10))


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor, batch: int, seconds: float, after_step) -> list[float]:
    """Plain training for about ``seconds``; the time of each step without ``after_step``."""
    optimiser = torch.optim.Adam(model.parameters())
    model.train()
    times, end, epoch = [], time.perf_counter() + seconds, 0
    order = Stream.of("benchmark monitor", 0)
    while time.perf_counter() < end:
        for index in torch.from_numpy(order.permutation("epoch", epoch, len(x))).split(batch):
            begin = time.perf_counter()
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(x[index]), y[index])
            loss.backward()
            optimiser.step()
            if x.device.type == "cuda":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
            after_step(loss)
        epoch += 1
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    print(f"{machine()}; {a.threads} threads; {a.device}; torch {versions('torch')['torch']}")
    print(f"default budget {BUDGET:.0%} of the training time; records on 500 samples, batch 100 (MLP 4 × 1024: 128)\n")
    digits = load("digits")
    s = Stream.of("benchmark monitor", 1)
    big_y = np.arange(5000) % 10
    big_x = (s.normal("x", 0, (5000, 784)) + s.normal("means", 0, (10, 784))[big_y]).astype(np.float32)
    work = [(n, your_network.example(n), digits.x_train, digits.y_train, 100) for n in your_network.EXAMPLES]
    with your_network.seeded("benchmark"):
        work.append(("MLP 4 × 1024", wide(), big_x, big_y, 128))
    print(row("network", "step ms", "record ms", "steps / record", "records", "share", "≤ 10 %"))
    for name, model, x, y, batch in work:
        model = model.to(a.device)
        tx, ty = torch.tensor(x).to(a.device), torch.tensor(y).to(a.device)
        train(model, tx, ty, batch, min(2.0, a.seconds), lambda loss: None)  # warm-up
        costs = []
        with LoadCurveMonitor(model, x[:500], y[:500]) as monitor:
            for _ in range(5):
                begin = time.perf_counter()
                monitor.record()
                costs.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        with LoadCurveMonitor(model, x[:500], y[:500]) as monitor:
            times = train(model, tx, ty, batch, a.seconds, lambda loss, m=monitor: m.step(loss=loss))
        share = (time.perf_counter() - begin) / sum(times) - 1  # the cutting of batches counts, too; it is small
        step, record = statistics.median(times), statistics.median(costs)
        numbers = (f"{step * 1e3:.2f}", f"{record * 1e3:.2f}", f"{record / step:.1f}", str(len(monitor.result().step)))
        print(row(name, *numbers, f"{share:.1%}", "yes" if share <= 0.1 else "NO"), flush=True)


def row(*words: str) -> str:
    return "".join(word.rjust(width) for word, width in zip(words, WIDTHS, strict=True))


if __name__ == "__main__":
    main()
