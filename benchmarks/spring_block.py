"""Chains per second: deepmech beside the machine's limits and beside what one would write or install instead.

    python benchmarks/spring_block.py [--chains 1000] [--steps 10000] [--repeats 5]

Everything is measured in one run on this machine; medians. Slow peers do fewer steps of the same work (stated) and are
compared per chain-step. The floor is the time NumPy's Philox generator takes, on one core, to draw the same normals.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import numpy as np
import torch
from peers import MISSING, jax_peers
from timing import several

from deepmech import over
from deepmech.core.provenance import machine, versions
from deepmech.simulators.spring_block import Chain, simulate

DT, MU_LEFT = 0.01, 0.2


def python_loop(right: np.ndarray, bar: np.ndarray, blocks: int, steps: int) -> np.ndarray:
    """One chain after the other, one block after the other, as a first script would do it."""
    rng = np.random.Generator(np.random.Philox(0))
    ends = []
    for mu, eps in zip(right, bar, strict=True):
        x = [0.0] * (blocks + 1) + [1.0]
        for _ in range(steps):
            new = list(x)
            for i in range(1, blocks + 1):
                force = x[i + 1] - 2 * x[i] + x[i - 1] + eps * rng.standard_normal()
                if force > mu:
                    new[i] = x[i] + DT * (force - mu)
                elif force < -MU_LEFT:
                    new[i] = x[i] + DT * (force + MU_LEFT)
            x = new
        ends.append(x)
    return np.array(ends)


def vectorised_numpy(right: np.ndarray, bar: np.ndarray, blocks: int, steps: int) -> np.ndarray:
    """All chains and blocks at once, step by step: good NumPy."""
    rng = np.random.Generator(np.random.Philox(0))
    x = np.zeros((len(right), blocks + 2))
    x[:, -1] = 1.0
    for _ in range(steps):
        force = x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2] + bar[:, None] * rng.standard_normal((len(right), blocks))
        x[:, 1:-1] += DT * (np.maximum(force - right[:, None], 0) + np.minimum(force + MU_LEFT, 0))
    return x


def torchsde_langevin(n: int, blocks: int, steps: int, noise: float) -> object:
    """The smooth (frictionless) Langevin chain by torchsde's Euler scheme."""
    import torchsde

    class Smooth(torch.nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def f(self, t: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
            x, v = state[:, :blocks], state[:, blocks:]
            wide = torch.cat([torch.zeros(n, 1), x, torch.ones(n, 1)], 1)
            return torch.cat([v, wide[:, 2:] - 2 * wide[:, 1:-1] + wide[:, :-2] - v], 1)

        def g(self, t: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
            return torch.cat([torch.zeros(n, blocks), torch.full((n, blocks), noise)], 1)

    with torch.no_grad():
        return torchsde.sdeint(
            Smooth(), torch.zeros(n, 2 * blocks), torch.tensor([0.0, steps * DT]), dt=DT, method="euler"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chains", type=int, default=1000)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    a = parser.parse_args()
    n, L, steps = a.chains, a.blocks, a.steps
    right, noise = np.full(n, 0.1), np.linspace(0.001, 0.02, n)
    chain = Chain(n_blocks=L, friction_right=0.1, friction_left=MU_LEFT, noise=over("noise", noise))
    smooth = Chain(n_blocks=L, noise=over("noise", noise))
    rng = np.random.Generator(np.random.Philox(0))
    draws = n * L * steps
    row = np.empty(min(draws, 7_000_000))

    def numpy_draws() -> None:
        for _ in range(max(1, draws // len(row))):
            rng.standard_normal(out=row)

    big = np.empty(1 << 26)
    target = np.empty_like(big)
    square = torch.randn(2048, 2048)
    copy = statistics.median(several(lambda: np.copyto(target, big), a.repeats))
    product = statistics.median(several(lambda: square @ square, a.repeats))
    print(
        f"{machine()}{MISSING}; "
        + ", ".join(f"{k} {v}" for k, v in versions("numpy", "numba", "torch", "torchsde").items())
    )
    flops, bandwidth = 2 * 2048**3 / product / 1e9, 2 * big.nbytes / copy / 1e9
    print(f"limits: copy {bandwidth:.1f} GB/s, float32 matrix product {flops:.0f} GFLOP/s")
    print(f"work: {n} chains x {L} blocks x {steps} steps = {draws / 1e6:.0f} million normals and block moves\n")

    unit = n * steps  # chain-steps
    few = max(1, steps // 100)
    one = slice(0, max(1, n // 100))
    rows: list[tuple[str, float, float]] = []

    def measure(name: str, work: Callable[[], object], chain_steps: float, repeats: int = a.repeats) -> None:
        seconds = statistics.median(several(work, repeats))
        rows.append((name, seconds * unit / chain_steps, chain_steps / unit))

    measure("floor: NumPy Philox draws the normals, 1 core", numpy_draws, unit)
    measure("deepmech, first order", lambda: simulate(chain, steps * DT, dt=DT), unit)
    measure("deepmech, first order, shared noise", lambda: simulate(chain, steps * DT, dt=DT, shared_noise=True), unit)
    measure("deepmech, second order", lambda: simulate(chain, steps * DT, dt=DT, order="second"), unit)
    measure("deepmech, Langevin without friction", lambda: simulate(smooth, steps * DT, dt=DT, order="langevin"), unit)
    bar = noise / np.sqrt(DT)
    measure("vectorised NumPy", lambda: vectorised_numpy(right, bar, L, steps // 10), unit / 10, 3)
    measure("Python loop over blocks", lambda: python_loop(right[one], bar[one], L, few), one.stop * few, 3)
    try:
        measure("torchsde, Langevin without friction", lambda: torchsde_langevin(n, L, few, 0.01), n * few, 3)
    except ImportError:
        print("(torchsde is not installed: pip install torchsde)")
    if jax_peers:
        tenth = max(1, steps // 10)
        measure("jitted JAX, first order", jax_peers.chains(right, MU_LEFT, bar, L, tenth, DT), n * tenth, 3)
        kicks = np.linspace(0.001, 0.02, n)
        measure("diffrax, Langevin without friction", jax_peers.diffrax_langevin(n, L, tenth, DT, kicks), n * tenth, 3)
    ours = rows[1][1]
    print(f"{'':48s} {'seconds':>10s} {'ns / normal':>12s} {'x deepmech':>11s}  measured on")
    for name, seconds, part in rows:
        print(
            f"{name:48s} {seconds:10.3f} {seconds / draws * 1e9:12.2f} {seconds / ours:11.1f}  {part:.2%} of the work"
        )


if __name__ == "__main__":
    main()
