"""Where a full-batch step of the trainer goes: every kernel alone, beside copies and matrix products.

``python benchmarks/trainer_parts.py``: the kernels of the compiled engine on 2,560 samples of 100 units (float32, 10 %
dropout), on one core, best of many calls. "Calls" is how often a step of the network of Fig. 1 of the spring-block
paper makes each; bytes are those of the whole-batch arrays that a call reads and writes (scratch blocks stay in the
nearest caches and are not counted).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numba import njit
from timing import several

from deepmech.core import provenance
from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled import mlp
from deepmech.trainers.engines.compiled import mlp as kernels

N, UNITS, BLOCK = 2560, 100, kernels.BLOCK


@njit
def forward(h, lower, weight):
    for i in range(0, len(h), BLOCK):
        mlp.multiply(h[i : i + BLOCK], lower, lower.shape[1], 1, weight, UNITS, 0, lower[:0])


@njit
def weights(n, gradient, lower, upper):
    for _ in range(0, n, BLOCK):
        mlp.multiply(gradient, lower, 1, lower.shape[1], upper, BLOCK, 1, lower[:0])


@njit
def activate(h, lower, c, one, zero, keep):
    for i in range(0, len(h), BLOCK):
        kernels.activate(h[i : i + BLOCK], lower, c, one, zero, keep, i, True)


@njit
def moments(n, block, s, sums):
    for i in range(0, n, BLOCK):
        kernels.add_moments(block, i == 0, s, sums)


@njit
def derivative(d, h, c, one, zero, keep, s):
    for i in range(0, len(h), BLOCK):
        kernels.derivative(d[i : i + BLOCK], h[i : i + BLOCK], c, one, zero, keep, i, True, s)


@njit
def through_norm(d, h, upper, c):
    for i in range(0, len(h), BLOCK):
        kernels.norm_derivative(d[i : i + BLOCK], h[i : i + BLOCK], upper, c)


def main() -> None:
    torch.set_num_threads(1)
    stream = Stream.of("benchmark", 0)
    T = np.float32

    def filled(rows: int) -> np.ndarray:
        out = mlp.matrix(rows, UNITS, T)
        out[:, :UNITS] = stream.normal("numbers", rows, (rows, UNITS))
        return out

    h, d, lower, upper, weight = filled(N), filled(N), filled(BLOCK), filled(BLOCK), filled(UNITS)
    c, s, sums = filled(5), filled(3), np.zeros((2, h.shape[1]))
    gradient, keep = np.zeros_like(weight), np.zeros((N // 32, h.shape[1]), np.uint32)
    words, key = np.zeros(2048 + N, np.uint32), (np.uint64(stream.key), 0, np.ones(1, np.uint64))
    drawn, units, drop = keep[None, None], np.array([UNITS]), 6554
    cross_entropy, adam_step = (njit(f.py_func) for f in (kernels.cross_entropy, kernels.adam))
    logits, bias, labels = np.zeros((N, 16), T), np.zeros(16, T), np.arange(N) % 10
    p, g, *adam = np.full((4, 7 * weight.size), T(1e-3))
    big, other = np.zeros(2 << 22, T), np.ones(2 << 22, T)
    whole = h.nbytes
    a, b, out = torch.from_numpy(weight[:, :UNITS]), torch.randn(UNITS, N + 16)[:, :N], torch.empty(UNITS, N)
    rows: list[tuple[str, Callable[[], object], int, int]] = [
        ("torch.mm, forward", lambda: torch.mm(a, b, out=out), 0, 0),
        ("torch.mm, weights", lambda: torch.mm(out, b.t()), 0, 0),
        ("product, forward or back", lambda: forward(h, lower, weight), 13, whole),
        ("product, weights", lambda: weights(N, gradient, lower, upper), 7, 0),
        ("activate", lambda: activate(h, lower, c, T(1), T(0), keep), 13, whole),
        ("moments", lambda: moments(N, lower, s, sums), 7, 0),
        ("derivative", lambda: derivative(d, h, c, T(1), T(0.5), keep, s), 7, 3 * whole),
        ("through norm", lambda: through_norm(d, h, upper, c), 7, 2 * whole),
        ("dropout bits", lambda: kernels.masks(drawn, units, N, N, drop, *key, words), 7, keep.nbytes),
        ("cross-entropy", lambda: cross_entropy(logits, 10, bias, labels, N), 1, 2 * logits.nbytes),
        ("Adam", lambda: adam_step(p, g, *adam, 1e-3, 5), 1, 7 * p.nbytes),
        ("copy of 32 MiB", lambda: np.copyto(big, other), 0, 2 * big.nbytes),
    ]
    print(provenance.machine())
    print(f"  {'':26s} {'µs/call':>8s} {'calls':>6s} {'ms/step':>8s} {'GB/s':>7s} {'GFLOP/s':>8s}")
    total = 0.0
    for name, run, calls, size in rows:
        taken = min(several(run, 60))
        total += calls * taken
        rate = f"{2 * N * UNITS**2 / taken / 1e9:8.0f}" if "product" in name or "mm" in name else ""
        bandwidth = f"{size / taken / 1e9:7.1f}" if size else f"{'':7s}"
        print(f"  {name:26s} {1e6 * taken:8.1f} {calls:6d} {1e3 * calls * taken:8.2f} {bandwidth} {rate}")
        d[:] = 1
    print(f"  {'sum':42s} {1e3 * total:8.2f}")


if __name__ == "__main__":
    main()
