"""The reference engine: the same chains in plain torch, one line per equation, on any device.

On the CPU it defines what the kernels compute (tests compare them); on CUDA it is the engine. Noise is drawn for many
steps at once so that a step is a handful of launches.
"""

from __future__ import annotations

import numpy as np
import torch

from deepmech.core.philox import LOW as LOW_WORD
from deepmech.core.philox import M0, M1, W0, W1
from deepmech.core.random import purpose_word
from deepmech.simulators.spring_block import kernels

LOW = int(LOW_WORD)
NUMBERS_AT_ONCE = 1 << 23


def finds(device: str) -> bool:
    """Whether torch can put a tensor there."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):  # no such name; no such device, or a torch built without its kind
        return False
    return True


def philox(c: list[torch.Tensor], key: torch.Tensor) -> list[torch.Tensor]:
    """Philox4x32-10 on int64 tensors that hold 32-bit words; products wrap to the same 64 bits as unsigned ones."""
    m0, m1, w0, w1 = (int(np.int64(np.uint64(v))) for v in (M0, M1, W0, W1))
    k0, k1 = key & LOW, (key >> 32) & LOW
    for _ in range(10):
        p0, p1 = c[0] * m0, c[2] * m1
        c = [((p1 >> 32) & LOW) ^ c[1] ^ k0, p1 & LOW, ((p0 >> 32) & LOW) ^ c[3] ^ k1, p0 & LOW]
        k0, k1 = (k0 + w0) & LOW, (k1 + w1) & LOW
    return c


def box_muller(r0: torch.Tensor, r1: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two standard normals (float64) from two 32-bit words, as :func:`deepmech.core.philox.box_muller`."""
    radius = torch.sqrt(-2 * torch.log((r0.double() + 0.5) * 2.0**-32))
    # The kernel rotates (cos, sin) of an angle in [-pi/4, pi/4] by the quadrant in the two high bits.
    angle = ((r1 & 0x3FFFFFFF).double() + 0.5) * 2.0**-30 - 0.5 + (r1 >> 30).double()
    return radius * torch.cos(angle * (np.pi / 2)), radius * torch.sin(angle * (np.pi / 2))


def normals(keys: torch.Tensor, first: int, n_steps: int, n_numbers: int, attempt: int = 0) -> torch.Tensor:
    """Numbers 0 … n_numbers−1 of steps first … first + n_steps − 1, shape (n_steps, n_numbers, n)."""
    groups = -(-n_numbers // 4)
    index = torch.arange(groups, device=keys.device) + attempt * int(kernels.ATTEMPT)
    step = torch.arange(first, first + n_steps, device=keys.device)
    shape = (n_steps, groups, len(keys))
    zero = torch.zeros(shape, dtype=torch.int64, device=keys.device)
    counter = [zero + index[None, :, None], zero + (step & LOW)[:, None, None], zero + (step >> 32)[:, None, None]]
    w = philox([*counter, zero + purpose_word("noise")], keys)
    z = torch.stack([*box_muller(w[0], w[1]), *box_muller(w[2], w[3])], dim=2)  # step, group, four, n
    return z.reshape(n_steps, 4 * groups, len(keys))[:, :n_numbers]


def bounded_normals(keys: torch.Tensor, first: int, n_steps: int, n_numbers: int, bound: float | None) -> torch.Tensor:
    """As :func:`normals`, redrawing what exceeds ``bound`` in magnitude."""
    z = normals(keys, first, n_steps, n_numbers)
    attempt = 0
    while bound is not None and bool((z.abs() > bound).any()):
        attempt += 1
        z = torch.where(z.abs() > bound, normals(keys, first, n_steps, n_numbers, attempt), z)
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
    key = torch.as_tensor(keys.view(np.int64), device=device)
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
            z = bounded_normals(key, s, min(at_once, int(steps[-1]) + 1 - s), numbers, bound)
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
