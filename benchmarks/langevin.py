"""Langevin steps of bias-free networks (width 30, six hidden layers) beside eager torch, jitted JAX, and the floor.

Everything runs on the cores this process may use. Eager torch takes one step of one network at a time, on all cores,
as a plain training loop does; for many small networks there is a second peer, torch's own batched product over all
networks at once. The library gives each core a network. The floor is the arithmetic of a step at the rate at which the
same cores multiply two large matrices in float32.

With ``--device cuda`` the library's torch engine walks 64 networks there, beside eager torch on the same GPU;
products are those of float32 on both sides and in the floor.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from peers import MISSING, jax_peers
from timing import beside, in_turns

from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled.langevin import CompiledWalk, initial, layer_sizes, n_weights
from deepmech.trainers.engines.torch_walk import TorchWalk
from deepmech.trainers.modules import BiasFree
from deepmech.trainers.run import device_in_words, select_device, settled

WIDTH, RATE, NOISE = 30, 1e-6, 1e-9


def shortest(runs: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    return {name: min(taken) for name, taken in in_turns(runs, repeats).items()}


def on(threads: int, run: Callable[[], None]) -> Callable[[], None]:
    """``run`` with so many of torch's threads."""

    def with_threads() -> None:
        torch.set_num_threads(threads)
        run()

    return with_threads


def eager(weights: np.ndarray, sizes: tuple[int, ...], x: torch.Tensor, y: torch.Tensor) -> Callable[[], None]:
    """One step as everybody writes it: forward, autograd, noise."""
    network = BiasFree(sizes).to(x)
    torch.nn.utils.vector_to_parameters(torch.from_numpy(weights).to(x), network.parameters())

    def step() -> None:
        network.zero_grad()
        (0.5 * torch.relu(1 - y * network(x)[:, 0]) ** 2).mean().backward()
        with torch.no_grad():
            for w in network.parameters():
                w.add_(w.grad, alpha=-RATE)
                w.add_(torch.randn_like(w), alpha=NOISE)

    return step


def batched(
    weights: np.ndarray, sizes: tuple[int, ...], x: torch.Tensor, y: torch.Tensor, n: int
) -> Callable[[], None]:
    """One step of n networks at once with batched products."""
    layers, start = [], 0
    for i in range(1, len(sizes)):
        size = sizes[i] * sizes[i - 1]
        one = torch.tensor(weights[start : start + size], dtype=torch.float32).view(sizes[i], sizes[i - 1])
        layers.append(one.expand(n, -1, -1).clone().requires_grad_())
        start += size

    def step() -> None:
        a = x.T.expand(n, -1, -1)
        for i, layer in enumerate(layers):
            a = torch.bmm(layer, a)
            a = torch.relu(a) if i < len(layers) - 1 else a
        loss = (0.5 * torch.relu(1 - y * a[:, 0]) ** 2).mean(1).sum()
        grads = torch.autograd.grad(loss, layers)
        with torch.no_grad():
            for layer, grad in zip(layers, grads, strict=True):
                layer.add_(grad, alpha=-RATE)
                layer.add_(torch.randn(layer.shape), alpha=NOISE)

    return step


def waited(run: Callable[[], object], device: str) -> Callable[[], None]:
    """``run``, and until the device has done it."""

    def until_done() -> None:
        run()
        torch.cuda.synchronize(device)

    return until_done


def on_gpu(device: str, repeats: int, members: int = 64, steps: int = 10) -> None:
    """The torch engine on a GPU, one network in eager torch, and large products, all in float32."""
    stream, sizes, size = Stream.of("benchmark", 0), layer_sizes(10, WIDTH, 6), 8192
    a, b = (torch.randn(size, size, device=device) for _ in range(2))
    with settled():
        for n in (60_000, 1000):
            x, y = stream.normal("x", n, (n, 10)), np.sign(stream.normal("y", n, n))
            weights = 2 * initial(sizes, stream)
            many = TorchWalk(sizes, x, y, "mixed", members, device)
            many.set(np.tile(weights, (members, 1)))
            tx, ty = (torch.tensor(v, dtype=torch.float32, device=device) for v in (x, y))
            one = eager(weights, sizes, tx, ty)
            rate, decay, noise = (np.full(members, v) for v in (RATE, 0.0, NOISE))
            streams = [Stream.of("benchmark", k) for k in range(members)]

            def walk(many: TorchWalk = many, arguments: tuple = (rate, decay, noise, streams)) -> None:
                many.walk(steps, 0, *arguments)

            runs = {"torch engine": walk, "eager torch": one, "products": lambda: a @ b}
            found = shortest({name: waited(run, device) for name, run in runs.items()}, repeats)
            peak = 2 * size**3 / found["products"]
            work = 6 * n * n_weights(sizes)
            rows = {
                "eager torch, one network": found["eager torch"],
                "torch engine": found["torch engine"] / (steps * members),
                "floor": work / peak,
            }
            print(f"P_D = {n}, {members} networks, {device_in_words(device)}; products: {peak / 1e12:.0f} TFLOP/s")
            print("milliseconds per step of one network, and its share of the products' rate:")
            for name, seconds in rows.items():
                print(f"  {name:28s} {1e3 * seconds:9.4f}   {100 * work / seconds / peak:5.1f} %")


def _jitted(
    weights: np.ndarray, sizes: tuple[int, ...], x: np.ndarray, y: np.ndarray, steps: int, members: int, cores: int,
    pool: ThreadPoolExecutor,
) -> dict[str, tuple[Callable[[], None], int]]:  # fmt: skip
    """One network on one core, one on each, and where there are more, a stack of networks on each."""

    def peer(networks: int) -> Callable[[], None]:
        return jax_peers.walk(weights, sizes, x, y, RATE, NOISE, steps, networks)

    def on_each(networks: int) -> Callable[[], None]:
        pair = [peer(networks) for _ in range(cores)]
        return lambda: beside(pool, pair)

    runs = {
        "jitted JAX, one network, one core": (peer(1), steps),
        "jitted JAX, a network per core": (on_each(1), steps * cores),
    }
    if members > cores:
        runs["jitted JAX vmap, stacks on all cores"] = on_each(members // cores), steps * (members // cores) * cores
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    repeats = arguments.repeats
    if select_device(arguments.device, "langevin.py")[1]:
        on_gpu(arguments.device, repeats)
        return
    cores = len(os.sched_getaffinity(0))
    stream, sizes = Stream.of("benchmark", 0), layer_sizes(10, WIDTH, 6)
    size = 1536
    a, b = (torch.randn(size, size) for _ in range(2))
    for n, members in ((60_000, cores), (1000, 64)):
        x, y = stream.normal("x", n, (n, 10)), np.sign(stream.normal("y", n, n))
        weights = 2 * initial(sizes, stream)
        tx, ty = (torch.tensor(v, dtype=torch.float32) for v in (x, y))
        networks = [CompiledWalk(sizes, x, y) for _ in range(members)]
        for network in networks:
            network.set(weights)
        steps = max(1, 4000 // n)
        pool = ThreadPoolExecutor(cores)

        def walk(network: CompiledWalk, steps: int = steps) -> None:
            network.walk(steps, 0, RATE, 0.0, NOISE, [stream])

        one = eager(weights, sizes, tx, ty)
        # What is timed, and how many steps of one network it makes.
        runs: dict[str, tuple[Callable[[], None], int]] = {
            f"eager torch, {cores} threads": (on(cores, one), 1),
            "eager torch, one thread": (on(1, one), 1),
            "this library, one network, one core": (lambda networks=networks: walk(networks[0]), steps),
            "this library, a network per core": (
                lambda networks=networks, pool=pool: list(pool.map(walk, networks)),
                steps * members,
            ),
            **(_jitted(weights, sizes, x, y, steps, members, cores, pool) if jax_peers else {}),
            "large products": (on(cores, lambda: torch.mm(a, b)), 1),
        }
        if members > cores:
            runs["torch, batched products"] = (on(cores, batched(weights, sizes, tx, ty, members)), members)
            many = TorchWalk(sizes, x, y, "mixed", members)
            many.set(np.tile(weights, (members, 1)))
            rate, decay, noise = (np.full(members, v) for v in (RATE, 0.0, NOISE))

            def together(many: TorchWalk = many, arguments: tuple = (rate, decay, noise, [stream] * members)) -> None:
                many.walk(1, 0, *arguments)

            runs["this library's torch engine"] = (on(cores, together), members)
        found = shortest({name: run for name, (run, _) in runs.items()}, repeats)
        peak = 2 * size**3 / found.pop("large products")
        rows = {name: seconds / runs[name][1] for name, seconds in found.items()}
        rows["floor"] = 6 * n * n_weights(sizes) / peak
        plain = rows[f"eager torch, {cores} threads"]
        print(f"P_D = {n}, {members} networks, {cores} cores; large float32 products: {peak / 1e9:.0f} GFLOP/s")
        print(f"milliseconds per step of one network:{MISSING}")
        for name, seconds in sorted(rows.items(), key=lambda item: -item[1]):
            print(f"  {name:38s} {1e3 * seconds:9.3f}   {plain / seconds:6.1f} x eager")
        pool.shutdown()


if __name__ == "__main__":
    main()
