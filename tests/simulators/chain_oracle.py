"""The chains in plain torch, one line an equation: what the kernels must agree with."""

import math

import torch

from deepmech.core.random import BatchedStream, Stream
from deepmech.simulators.spring_block.kernels import ATTEMPT


def friction(force, right, left):
    """σ of Eq. 6."""
    return (force - right).clamp(min=0) + (force + left).clamp(max=0)


def slide(v, force, right, left, dt):
    """One step of Eq. 11; a block that stops inside the step goes on from rest for the remainder."""
    from_rest = friction(force, right, left)
    pull = torch.where(v > 0, force - right, torch.where(v < 0, force + left, from_rest))
    new = v + dt * pull
    return torch.where(v * new < 0, (dt + v / pull) * from_rest, new)


def positions(chain, t_end, dt, order, n_runs, shared_noise, truncation, noise_decay, seed):
    """Positions (step, member, run, block) of every step from 0 on."""
    p = {k: torch.tensor(v, dtype=torch.float64)[:, None] for k, v in chain.grid().flat.items()}
    n, blocks, steps = chain.grid().n, chain.n_blocks, round(t_end / dt)
    numbers = 1 if shared_noise else blocks
    streams = BatchedStream([Stream.of("spring_block", seed, r).key for r in range(n_runs)], torch.device("cpu"))

    def draw(attempt):
        z = streams.normal("noise", torch.arange(steps), numbers, attempt * int(ATTEMPT))  # (run, step, block)
        return z.permute(1, 2, 0)[:, :, None]

    z, attempt = draw(0), 0
    while truncation is not None and bool((z.abs() > truncation).any()):
        attempt += 1
        z = torch.where(z.abs() > truncation, draw(attempt), z)
    x = torch.zeros(blocks + 2, n, n_runs, dtype=torch.float64)
    x[-1] = p["target"]
    v, found = torch.zeros_like(x[1:-1]), [x.clone()]
    k, right, left, damping = (p[name] for name in ("stiffness", "friction_right", "friction_left", "damping"))
    for s in range(steps):
        noise = p["noise"] / dt**0.5 * math.exp(-noise_decay * s * dt) * z[s]
        spring = k * (x[2:] - 2 * x[1:-1] + x[:-2])
        if order == "first":
            v = friction(spring + noise, right, left)
        elif order == "second":
            v = slide(v, spring - damping * v + noise, right, left, dt)
        else:
            v = slide(v, spring - damping * v, right, left, dt) + dt * noise
        x[1:-1] += dt * v
        found.append(x.clone())
    return torch.stack(found).permute(0, 2, 3, 1).numpy()
