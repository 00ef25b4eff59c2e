"""Speed of single-sample training of LeNets beside torch, torch.func.vmap, jitted JAX, and this machine's own limits.

``python benchmarks/lenet.py``: the network of paper B (61,000 parameters) on GEOMNIST, one sample per step. All
contenders take turns in every round, so that another load on the machine meets them alike; the median over the rounds
and the best round are printed, per step of one trial. "Two" means two trials at a time, each on its own core; vmap has
torch's two threads.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from numba import njit
from peers import MISSING, jax_peers
from timing import beside, in_turns
from torch.nn import functional

from deepmech.core import provenance
from deepmech.core.random import Stream
from deepmech.data import load
from deepmech.trainers.engines.compiled.lenet import CompiledLeNet, descend, forward, padded, softmax
from deepmech.trainers.lenet import initial_weights
from deepmech.trainers.modules import LeNet

RATE = 0.005
NO_CHECKS = np.array([], np.int64)


def torch_loop(data, steps: int) -> Callable[[], None]:
    """What one would write first."""
    network = LeNet(1, 3)
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)
    x, y = torch.from_numpy(data.x_train), torch.from_numpy(data.y_train)

    def run() -> None:
        for i in range(steps):
            optimizer.zero_grad()
            functional.cross_entropy(network(x[i : i + 1]), y[i : i + 1]).backward()
            optimizer.step()

    return run


def vmapped(data, steps: int, trials: int) -> Callable[[], None]:
    """All trials at once: stacked parameters, gradients by vmap over grad."""
    models = [LeNet(1, 3) for _ in range(trials)]
    parameters, _ = torch.func.stack_module_state(models)
    parameters = {k: v.detach() for k, v in parameters.items()}
    x, y = torch.from_numpy(data.x_train).reshape(-1, 1, 1024), torch.from_numpy(data.y_train)[:, None]

    def loss(p, image, label):
        return functional.cross_entropy(torch.func.functional_call(models[0], p, (image,)), label)

    gradient = torch.func.vmap(torch.func.grad(loss))

    def run() -> None:
        for i in range(steps):
            index = (torch.arange(trials) + i) % len(x)
            with torch.no_grad():
                for name, g in gradient(parameters, x[index], y[index]).items():
                    parameters[name].sub_(g, alpha=RATE)

    return run


def compiled(data, steps: int, dtype: str) -> Callable[[], None]:
    engine = CompiledLeNet(initial_weights(Stream.of("benchmark", 0), 1, 3), RATE, dtype)
    x, y = padded(data.x_train, 1, dtype), data.y_train
    order = np.arange(steps) % len(y)
    return lambda: engine.run(x, y, order, (x[:1], y[:1]), NO_CHECKS) and None


def without_record(data, steps: int) -> Callable[[], None]:
    """The same steps, and nothing written down."""
    engine = CompiledLeNet(initial_weights(Stream.of("benchmark", 0), 1, 3), RATE, "float32")
    x, y = padded(data.x_train, 1, "float32"), data.y_train
    logits, probs = np.empty(3, np.float32), np.empty(3)
    return lambda: _steps(x, y, steps, RATE, engine.parameters, engine.space, logits, probs)


@njit(nogil=True, error_model="numpy")
def _steps(x, y, steps, rate, p, s, logits, probs):
    for m in range(steps):
        i = m % y.shape[0]
        n2, n3 = forward(x[i], p, s, logits)
        softmax(logits, y[i], probs)
        descend(x[i], y[i], rate, p, s, n2, n3, logits.shape[0], probs)


@njit(nogil=True, error_model="numpy")
def _scale(w, factor, times):
    for _ in range(times):
        for i in range(w.shape[0]):
            w[i] *= factor


def limits() -> tuple[float, float]:
    """(GFLOP/s of a matrix product, GB/s of reading and writing the parameters where they lie), on one core."""
    a = torch.randn(768, 768)
    w = np.ones(61_000, np.float32)
    taken = in_turns({"product": lambda: torch.mm(a, a), "scale": lambda: _scale(w, np.float32(1), 100)}, 20)
    return 2 * 768**3 / min(taken["product"]) / 1e9, 100 * 2 * w.nbytes / min(taken["scale"]) / 1e9


def arithmetic() -> float:
    """MFLOP of a step that computes nothing in vain: gradients only through the maxima; half of all units active."""
    convolutions = 2 * (784 * 25 * 6 + 100 * 150 * 16)
    linear = 2 * (400 * 120 + 120 * 84 + 84 * 3) / 2
    back = 2 * (196 * 25 * 6 + 2 * 25 * 150 * 16) / 2 + 2 * linear
    return (convolutions + linear + back) / 1e6


def on(threads: int, run: Callable[[], None]) -> None:
    """``run`` with so many of torch's threads."""
    torch.set_num_threads(threads)
    run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=100, help="of vmap")
    arguments = parser.parse_args()
    data, n, pool = load("geomnist", n_train=1500, n_test=3), arguments.steps, ThreadPoolExecutor(2)
    few = max(1, n // 100)
    contenders: dict[str, tuple[Callable[[], None], int, int]] = {
        "plain torch loop": (torch_loop(data, n // 4), n // 4, 1),
        f"torch.func.vmap, {arguments.trials} trials": (
            vmapped(data, few, arguments.trials),
            few * arguments.trials,
            2,
        ),
        "compiled, one": (compiled(data, n, "float32"), n, 1),
        "compiled, one, nothing recorded": (without_record(data, n), n, 1),
        "compiled, one, float64": (compiled(data, n, "float64"), n, 1),
        "compiled, two": (partial(beside, pool, [compiled(data, n, "float32") for _ in range(2)]), 2 * n, 1),
    }
    if jax_peers:
        peer = partial(jax_peers.lenet, data.x_train, data.y_train, rate=RATE)
        contenders |= {
            "jitted JAX, one": (peer(steps=n, trials=1), n, 1),
            "jitted JAX, two": (partial(beside, pool, [peer(steps=n, trials=1) for _ in range(2)]), 2 * n, 1),
            f"jitted JAX vmap, {arguments.trials} trials": (
                peer(steps=few, trials=arguments.trials),
                few * arguments.trials,
                1,
            ),
        }
    runs = {name: partial(on, threads, run) for name, (run, _, threads) in contenders.items()}
    taken = {name: np.array(found) / contenders[name][1] for name, found in in_turns(runs, arguments.rounds).items()}
    torch.set_num_threads(1)
    rate, bandwidth = limits()
    print(provenance.machine() + MISSING)
    print(f"  {'per step of one trial':32s} {'µs':>8s} {'best':>8s}  times as fast as the loop")
    loop = float(np.median(taken["plain torch loop"]))
    for name, times in taken.items():
        print(f"  {name:32s} {1e6 * np.median(times):8.1f} {1e6 * min(times):8.1f} {loop / np.median(times):8.1f}")
    flop, byte = arithmetic(), 3 * 61_000 * 4 / 1e6
    print(
        f"  floor on one core: {flop:.2f} MFLOP at {rate:.0f} GFLOP/s of a matrix product {1e3 * flop / rate:.1f} µs; "
        f"parameters read twice and written once, {byte:.2f} MB at {bandwidth:.0f} GB/s {1e3 * byte / bandwidth:.1f} µs"
    )


if __name__ == "__main__":
    main()
