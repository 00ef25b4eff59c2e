"""Speed and memory of the trainer beside this machine's own matrix products, two ways of training in torch, and JAX.

``python benchmarks/trainer.py``: the network of Fig. 1 of the spring-block paper (100 inputs, 7 × 100 hidden units, 10
classes, BatchNorm, Adam) on random data. All contenders take turns in every round, so that another load on the machine
meets them alike; medians over the rounds are printed, and the best round. "Two" means two at a time, each on its own
core. Then the peak memory of whole calls of ``train``, for few and for many networks.
"""

from __future__ import annotations

import argparse
import copy
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from peers import MISSING, jax_peers
from timing import beside, in_turns
from torch import nn

from deepmech.core import provenance
from deepmech.core.random import Stream
from deepmech.trainers import MLP, Training
from deepmech.trainers.engines.compiled.mlp import CompiledMLP
from deepmech.trainers.specs import Member

SIZES = [100] * 8 + [10]
ENSEMBLE = 16
Contender = tuple[Callable[[], None], int]


def flops(n: int) -> int:
    """Of the matrix products that one step cannot do without: forward, weights, activations but the input's."""
    products = [2 * n * a * b for a, b in pairwise(SIZES)]
    return 3 * sum(products) - products[0]


def random_data(n: int) -> SimpleNamespace:
    stream = Stream.of("benchmark", 0)
    x = stream.uniform("x", 0, (n, 100)).astype(np.float32)
    y = (stream.uniform("y", 0, n) * 10).astype(np.int64)
    return SimpleNamespace(x_train=x, y_train=y, n_classes=10)


def products(n: int, batch: int) -> Callable[[], None]:
    """An epoch's matrix products alone, in the compiled engine's layout; results go where nothing reads them."""
    x, y, g = torch.randn(100, batch + 16)[:, :batch], torch.empty(100, batch + 16)[:, :batch], torch.empty(100, 100)
    weight = torch.randn(100, 100)

    def epoch() -> None:
        for _ in range(-(-n // batch)):
            for i in range(7):
                torch.mm(weight, x, out=y)
                torch.mm(x, x.t(), out=g)
                if i:
                    torch.mm(weight.t(), x, out=y)
            torch.mm(weight[:10], x, out=y[:10])
            torch.mm(x[:10], x.t(), out=g[:10])
            torch.mm(weight[:10].t(), x[:10], out=y)

    return epoch


def network(dropout: float, averages: bool = True) -> nn.Sequential:
    layers: list[nn.Module] = [nn.BatchNorm1d(100, track_running_stats=averages)]
    for _ in range(7):
        layers += [nn.Linear(100, 100), nn.BatchNorm1d(100, track_running_stats=averages), nn.LeakyReLU(0.0)]
        layers += [nn.Dropout(dropout)] if dropout else []
    return nn.Sequential(*layers, nn.Linear(100, 10))


def torch_loop(n: int, batch: int, dropout: float) -> Callable[[], None]:
    """What one would write first: nn.Sequential, nn.Dropout, torch.optim.Adam; one epoch per call."""
    data = random_data(n)
    x, y = torch.from_numpy(data.x_train), torch.from_numpy(data.y_train)
    model = network(dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def epoch() -> None:
        for index in torch.split(torch.arange(n), batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[index]), y[index]).backward()
            optimizer.step()

    return epoch


def torch_ensemble(n: int, batch: int, dropout: float) -> Callable[[], None]:
    """Networks stacked with torch.func: gradients by vmap, one Adam for all; without running averages in BatchNorm."""
    data = random_data(n)
    x, y = torch.from_numpy(data.x_train), torch.from_numpy(data.y_train)
    models = [network(dropout, averages=False) for _ in range(ENSEMBLE)]
    skeleton = copy.deepcopy(models[0]).to("meta")
    parameters, buffers = torch.func.stack_module_state(models)
    optimizer = torch.optim.Adam(list(parameters.values()), lr=1e-3)

    def loss(p: dict, b: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(torch.func.functional_call(skeleton, (p, b), (x,)), y)

    gradient = torch.func.vmap(torch.func.grad(loss), in_dims=(0, 0, None, None), randomness="different")

    def epoch() -> None:
        for index in torch.split(torch.arange(n), batch):
            found = gradient({k: v.detach() for k, v in parameters.items()}, buffers, x[index], y[index])
            for k, v in parameters.items():
                v.grad = found[k]
            optimizer.step()

    return epoch


def compiled(n: int, batch: int, dropout: float) -> Callable[[], None]:
    member = Member(MLP(dropout=dropout), Training(batch_size=batch), 0, "benchmark")
    trained = CompiledMLP(member, CompiledMLP.prepare(random_data(n), "float32"))

    def epoch() -> None:
        trained.step(1)

    return epoch


def jitted(n: int, batch: int, dropout: float, networks: int) -> Callable[[], None]:
    data = random_data(n)
    return jax_peers.mlp(data.x_train, data.y_train, SIZES, batch, dropout, networks)


def field(n: int, batch: int, pool: ThreadPoolExecutor) -> dict[str, Contender]:
    """Every contender by name: what runs one epoch, and of how many networks."""
    makers: dict[str, tuple[Callable[[], Callable[[], None]], int]] = {
        "matrix products alone": (lambda: products(n, batch), 1)
    }
    for p in (0.0, 0.1):
        makers[f"torch loop, dropout {p}"] = partial(torch_loop, n, batch, p), 1
        makers[f"torch.func, dropout {p}"] = partial(torch_ensemble, n, batch, p), ENSEMBLE
        makers[f"compiled, dropout {p}"] = partial(compiled, n, batch, p), 1
        if jax_peers and n % batch == 0:
            makers[f"jitted JAX, dropout {p}"] = partial(jitted, n, batch, p, 1), 1
            makers[f"jitted JAX vmap, dropout {p}"] = partial(jitted, n, batch, p, ENSEMBLE), ENSEMBLE
    contenders: dict[str, Contender] = {}
    for name, (make, networks) in makers.items():
        pair = [make(), make()]
        contenders[f"{name}, one"] = (pair[0], networks)
        contenders[f"{name}, two"] = (partial(beside, pool, pair), 2 * networks)
    return contenders


MEMORY = """
import sys
from pathlib import Path
from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import MLP, Training, train
sys.path.insert(0, sys.argv[1])
from trainer import random_data
data = random_data(2560)
data.x_test, data.y_test, data.fingerprint = data.x_train, data.y_train, "random"
train(MLP(dropout=0.1), Training(epochs=2), data, seed=over("seed", range(int(sys.argv[2]))), threads=2)
# Not getrusage: its peak is handed down from the process that started this one.
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])
"""


def peak_memory(networks: int) -> float:
    """MiB of a process that trains so many networks, two at a time, interpreter and libraries included."""
    command = [sys.executable, "-c", MEMORY, str(Path(__file__).parent), str(networks)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--samples", type=int, default=2560)
    parser.add_argument("--batch", type=int, nargs="*", default=[2560, 160, 20])
    parser.add_argument("--memory", type=int, nargs="*", default=[8, 256], help="networks in a call")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pool, n = ThreadPoolExecutor(2), arguments.samples
    print(provenance.machine() + MISSING)
    for batch in arguments.batch:
        contenders = field(n, batch, pool)
        found = in_turns({name: run for name, (run, _) in contenders.items()}, arguments.rounds, unmeasured=2)
        taken = {name: np.array(seconds) / contenders[name][1] for name, seconds in found.items()}
        print(f"\n{n} samples, batch {batch}, per network")
        print(f"  {'':32s} {'ms/epoch':>9s} {'best':>9s} {'GFLOP/s':>8s}  of the products' own rate")
        for name, times in taken.items():
            median = float(np.median(times))
            own = float(np.median(taken[f"matrix products alone, {name.rsplit(', ', 1)[1]}"]))
            rate = flops(batch) * (n / batch) / median / 1e9
            print(
                f"  {name:32s} {1e3 * median:9.2f} {1e3 * min(times):9.2f} {rate:8.1f} {own / median:7.0%}", flush=True
            )
    for networks in arguments.memory:
        print(f"\npeak memory, {networks} networks in one call: {peak_memory(networks):.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
