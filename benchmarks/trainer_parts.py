"""Where a full-batch step of the trainer goes: every kernel alone, beside copies and matrix products.

``python benchmarks/trainer_parts.py``: the kernels of the compiled engine on 2,560 samples of 100 units (float32, 10 %
dropout), on one core, best of many calls. "Calls" is how often a step of the network of Fig. 1 of the spring-block
paper makes each; bytes are those of the whole-batch arrays that a call reads and writes (scratch blocks stay in the
nearest caches and are not counted). What has 0 calls is beside them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numba import njit
from timing import several

from deepmech.core import provenance
from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled import blocks, mlp
from deepmech.trainers.engines.compiled.blocks import AS_IS, BLOCK, TRANSPOSED

N, UNITS = 2560, 100


@njit
def forward(h, a, weight):
    for i in range(0, len(h), BLOCK):
        blocks.multiply(h[i : i + BLOCK], a, weight, AS_IS)


@njit
def weights(n, gradient, a, dh):
    for _ in range(0, n, BLOCK):
        blocks.multiply(gradient, a, dh, TRANSPOSED)


@njit
def activate(h, a, c, mask, dropped, positive, negative):
    for i in range(0, len(h), BLOCK):
        blocks.activate(a, h[i : i + BLOCK], c, mask[i // 32 :], dropped, positive, negative)


@njit
def moments(n, block, s, sums):
    for i in range(0, n, BLOCK):
        mlp.add_moments(block, i == 0, s, sums)


@njit
def derivative(d, h, c, mask, dropped, positive, negative, s):
    for i in range(0, len(h), BLOCK):
        here = slice(i, i + BLOCK)
        blocks.derivative(d[here], h[here], c, mask[i // 32 :], dropped, positive, negative, s)


@njit
def through_norm(d, h, dh, c):
    for i in range(0, len(h), BLOCK):
        blocks.norm_derivative(dh, d[i : i + BLOCK], h[i : i + BLOCK], c)


def main() -> None:
    torch.set_num_threads(1)
    stream = Stream.of("benchmark", 0)
    T = np.float32

    def filled(rows: int) -> np.ndarray:
        out = blocks.matrix(rows, UNITS, T)
        out[:, :UNITS] = stream.normal("numbers", rows, (rows, UNITS))
        return out

    h, d, a, dh, weight = filled(N), filled(N), filled(BLOCK), filled(BLOCK), filled(UNITS)
    c, s, sums = filled(5), filled(3), np.zeros((2, h.shape[1]))
    gradient, keep = np.zeros_like(weight), np.zeros((N // 32, h.shape[1]), np.uint32)
    words, key = np.zeros(2048 + N, np.uint32), (np.uint64(stream.key), 0, np.ones(1, np.uint64))
    drawn, units, drop = keep[None, None], np.array([UNITS]), 6554
    cross_entropy, adam_step = (njit(f.py_func) for f in (mlp.cross_entropy, mlp.adam))
    logits, bias, labels = np.zeros((N, 16), T), np.zeros(16, T), np.arange(N) % 10
    p, g, *adam = np.full((4, 7 * weight.size), T(1e-3))
    big, other = np.zeros(2 << 22, T), np.ones(2 << 22, T)
    whole = h.nbytes
    left, right, out = torch.from_numpy(weight[:, :UNITS]), torch.randn(UNITS, N + 16)[:, :N], torch.empty(UNITS, N)
    rows: list[tuple[str, Callable[[], object], int, int]] = [
        ("torch.mm, forward", lambda: torch.mm(left, right, out=out), 0, 0),
        ("torch.mm, weights", lambda: torch.mm(out, right.t()), 0, 0),
        ("product, forward or back", lambda: forward(h, a, weight), 13, whole),
        ("product, weights", lambda: weights(N, gradient, a, dh), 7, 0),
        ("activate", lambda: activate(h, a, c, keep, True, T(1), T(0)), 13, whole),
        ("activate, no dropout", lambda: activate(h, a, c, keep, False, T(1), T(0)), 0, whole),
        ("derivative, no dropout", lambda: derivative(d, h, c, keep, False, T(1), T(0.5), s), 0, 3 * whole),
        ("moments", lambda: moments(N, a, s, sums), 7, 0),
        ("derivative", lambda: derivative(d, h, c, keep, True, T(1), T(0.5), s), 7, 3 * whole),
        ("through norm", lambda: through_norm(d, h, dh, c), 7, 2 * whole),
        ("dropout bits", lambda: mlp.masks(drawn, units, N, N, drop, *key, words), 7, keep.nbytes),
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
