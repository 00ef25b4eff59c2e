"""The reference engine: the same chains in plain torch, one line per equation, on any device.

On the CPU it defines what the kernels compute (tests compare them); on CUDA it is the engine. Noise is drawn for many
steps at once so that a step is a handful of launches.
"""

from __future__ import annotations

import numpy as np
import torch

from deepmech.core.torch_random import BatchedStream
from deepmech.simulators.spring_block import kernels

NUMBERS_AT_ONCE = 1 << 23


def finds(device: str) -> bool:
    """Whether torch can put a tensor there."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):  # no such name; no such device, or a torch built without its kind
        return False
    return True


def normals(streams: BatchedStream, first: int, n_steps: int, n_numbers: int, bound: float | None) -> torch.Tensor:
    """Numbers 0 … n_numbers−1 of steps first … first + n_steps − 1, shape (n_steps, n_numbers, n); redrawn where their
    magnitude exceeds ``bound``."""
    steps = torch.arange(first, first + n_steps, device=streams.device)

    def drawn(attempt: int) -> torch.Tensor:
        z = streams.normal("noise", steps, n_numbers, attempt * int(kernels.ATTEMPT))
        return z.permute(1, 2, 0).contiguous()

    z, attempt = drawn(0), 0
    while bound is not None and bool((z.abs() > bound).any()):
        attempt += 1
        z = torch.where(z.abs() > bound, drawn(attempt), z)
    return z


def friction(force: torch.Tensor, right: torch.Tensor, left: torch.Tensor) -> torch.Tensor:
    """σ of Eq. 6."""
    return (force - right).clamp(min=0) + (force + left).clamp(max=0)


def slide(v: torch.Tensor, force: torch.Tensor, right: torch.Tensor, left: torch.Tensor, dt: float) -> torch.Tensor:
    """Velocity after one step of Eq. 11; a block that stops inside the step goes on from rest for the remainder."""
    from_rest = friction(force, right, left)
    pull = torch.where(v > 0, force - right, torch.where(v < 0, force + left, from_rest))
    new = v + dt * pull
    return torch.where(v * new < 0, (dt + v / pull) * from_rest, new)


def run(
    *, order: int, steps: np.ndarray, start: np.ndarray, keys: np.ndarray, dt: float, shared: bool,
    bound: float | None, device: str, **parameters: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Positions, shape (n_records, n, L + 2), float64."""
    p = {name: torch.as_tensor(values, dtype=torch.float64, device=device) for name, values in parameters.items()}
    streams = BatchedStream(keys.tolist(), torch.device(device))
    n, blocks = len(keys), len(start)
    x = torch.zeros(blocks + 2, n, dtype=torch.float64, device=device)
    x[1:-1] = torch.as_tensor(start, dtype=torch.float64, device=device)[:, None]
    x[-1] = p["target"]
    v = torch.zeros(blocks, n, dtype=torch.float64, device=device)
    out = torch.empty(len(steps), blocks + 2, n, dtype=torch.float64, device=device)
    numbers = 1 if shared else blocks
    at_once = max(1, NUMBERS_AT_ONCE // (n * numbers))
    noisy = bool((p["bar"] > 0).any())
    wanted = {int(s): r for r, s in enumerate(steps)}
    for s in range(int(steps[-1]) + 1):
        if s in wanted:
            out[wanted[s]] = x
        if noisy and s % at_once == 0:
            z = normals(streams, s, min(at_once, int(steps[-1]) + 1 - s), numbers, bound)
        noise = p["bar"] * torch.exp(-p["decay"] * (s * dt)) * z[s % at_once] if noisy else 0.0
        spring = p["stiffness"] * (x[2:] - 2 * x[1:-1] + x[:-2])
        if order == kernels.FIRST:
            v = friction(spring + noise, p["right"], p["left"])
        elif order == kernels.SECOND:
            v = slide(v, spring - p["damping"] * v + noise, p["right"], p["left"], dt)
        else:
            v = slide(v, spring - p["damping"] * v, p["right"], p["left"], dt) + dt * noise
        x[1:-1] += dt * v
    return out.permute(0, 2, 1).cpu().numpy()
