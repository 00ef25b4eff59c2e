"""The fast engine: many chains side by side, so that every inner loop runs over chains and becomes vector code.

A tile of chains is small enough for the first-level cache and carries its positions, velocities and noise from step to
step; nothing of size (steps) is ever stored. No kernel uses fast-math: a chain's numbers do not depend on its tile.

Noise: ζ_ℓ of step s is number ℓ − 1 of ``Stream.of("spring_block", seed, run).normal("noise", s, L)``, that is, word
pairs of Philox at counter (block index, step, purpose). With shared noise all blocks use number 0. Bounded noise
redraws a number that is too large at counter index + 65536 · attempt.

Machine code is made for what is asked for alone, of three orders and of bounded noise or not: that is most of a first
call.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from deepmech.core.compiled import INSIDE, KERNEL, Floats, Ints, Keys, Whole, Word, njit
from deepmech.core.random import LOW, S32, box_muller, philox

FIRST, SECOND, LANGEVIN = 0, 1, 2
ATTEMPT = np.uint64(65536)
#: No normal number is larger: Box-Muller on 32 bits never exceeds 6.76.
LARGEST = 6.8


@njit(**INSIDE)
def draw(z: Floats, words: Keys, keys: Keys, step: Word, purpose: Word, n_numbers: int, bound: float | None) -> None:
    """z[ℓ, m] = standard normal number ℓ of chain m at this step, |z| ≤ bound unless that is None."""
    n = keys.shape[0]
    s0, s1 = step & LOW, step >> S32
    for j in range((n_numbers + 3) // 4):
        index = np.uint64(j)
        for m in range(n):
            a, b, c, d = philox(index, s0, s1, purpose, keys[m] & LOW, keys[m] >> S32)
            words[0, m] = a
            words[1, m] = b
            words[2, m] = c
            words[3, m] = d
        for h in range(2):
            low, high = 4 * j + 2 * h, 4 * j + 2 * h + 1
            if low < n_numbers:
                for m in range(n):
                    first, second = box_muller(words[2 * h, m], words[2 * h + 1, m])
                    z[low, m] = first
                    z[high, m] = second
    if bound is not None:
        for i in range(n_numbers):
            for m in range(n):
                attempt = np.uint64(0)
                while abs(z[i, m]) > bound:
                    attempt += np.uint64(1)
                    index = np.uint64(i // 4) + attempt * ATTEMPT
                    a, b, c, d = philox(index, s0, s1, purpose, keys[m] & LOW, keys[m] >> S32)
                    first, second = box_muller(a if i % 4 < 2 else c, b if i % 4 < 2 else d)
                    z[i, m] = first if i % 2 == 0 else second


@njit(nogil=True, error_model="numpy", inline="always")
def friction_force(force: float, right: float, left: float) -> float:
    """σ of Eq. 6, from a block at rest."""
    return max(force - right, 0.0) + min(force + left, 0.0)


@njit(nogil=True, error_model="numpy", inline="always")
def step_velocity(v: float, force: float, right: float, left: float, dt: float) -> float:
    """Velocity after one step of v' = σ(force; v), Eq. 11: friction may stop a block but not turn it round.

    A block that comes to rest inside the step continues from rest for the remaining time.
    """
    pull = force - right if v > 0.0 else (force + left if v < 0.0 else friction_force(force, right, left))
    new = v + dt * pull
    turned = v * new < 0.0
    rest = dt + v / pull if turned else 0.0
    return rest * friction_force(force, right, left) if turned else new


@njit(**INSIDE)
def first_order(
    x: Floats, f: Floats, z: Floats, k: Floats, right: Floats, left: Floats, bar: Floats, dt: float, shared: bool
) -> None:
    """x += η σ(kLx + ε̄ζ), all blocks at once (Eq. 5)."""
    blocks, n = f.shape
    for i in range(blocks):
        noise = z[0] if shared else z[i]
        for m in range(n):
            force = k[m] * (x[i + 2, m] - 2.0 * x[i + 1, m] + x[i, m]) + bar[m] * noise[m]
            f[i, m] = friction_force(force, right[m], left[m])
    for i in range(blocks):
        for m in range(n):
            x[i + 1, m] += dt * f[i, m]


@njit(**INSIDE)
def with_mass(
    x: Floats, v: Floats, z: Floats, k: Floats, right: Floats, left: Floats, damping: Floats, bar: Floats, dt: float,
    shared: bool, inside: bool,
) -> None:  # fmt: skip
    """x' = v, velocities first. With the noise ``inside`` friction v' = σ(kLx − γv + ε̄ζ; v) (Eqs. 4, 10, 11), else
    dv = (kLx − f(v) − γv) dt + ε dW (Eqs. 12, 13): friction does not see the noise."""
    blocks, n = v.shape
    for i in range(blocks):
        noise = z[0] if shared else z[i]
        for m in range(n):
            force = k[m] * (x[i + 2, m] - 2.0 * x[i + 1, m] + x[i, m]) - damping[m] * v[i, m]
            if inside:
                v[i, m] = step_velocity(v[i, m], force + bar[m] * noise[m], right[m], left[m], dt)
            else:
                v[i, m] = step_velocity(v[i, m], force, right[m], left[m], dt) + dt * bar[m] * noise[m]
    for i in range(blocks):
        for m in range(n):
            x[i + 1, m] += dt * v[i, m]


@njit(**INSIDE)
def record_positions(out: Floats, steps: Ints, record: Whole, done: Whole, x: Floats) -> Whole:
    """Write x to all records of step ``done``, from number ``record`` on; returns the next number."""
    while record < steps.shape[0] and steps[record] == done:
        for i in range(x.shape[0]):
            for m in range(x.shape[1]):
                out[record, i, m] = x[i, m]
        record += 1
    return record


@cache
def compile_kernel(order: int) -> Callable[..., None]:
    """The kernel of one order."""

    @njit(**KERNEL, cache=True)
    def run_tile(
        out: Floats, steps: Ints, x: Floats, keys: Keys, purpose: Word, k: Floats, right: Floats, left: Floats,
        damping: Floats, bar: Floats, decay: Floats, bound: float | None, dt: float, shared: bool, stop: Ints,
        v: Floats, z: Floats, words: Keys, now: Floats,
    ) -> None:  # fmt: skip
        """Advance one tile of chains from x and write positions after ``steps[r]`` steps to out[r].

        x : (L + 2, m), wall and target included, overwritten. out : (n_records, L + 2, m). bound : of the noise, or
        None. stop : (1,), whether to stop early (read), so that a long run can be interrupted. v : (L, m) velocities,
        z : (L + 4, m) noise, words : (4, m), now : (m,); zero at first.
        """
        blocks, n = x.shape[0] - 2, x.shape[1]
        noisy = fades = False
        for m in range(n):
            now[m] = bar[m]
            noisy |= bar[m] > 0.0
            fades |= decay[m] > 0.0
        numbers = 1 if shared else blocks
        record = record_positions(out, steps, np.int64(0), np.int64(0), x)
        for s in range(steps[-1]):
            if noisy:
                draw(z, words, keys, np.uint64(s), purpose, numbers, bound)
                if fades:
                    for m in range(n):
                        now[m] = bar[m] * np.exp(-decay[m] * (s * dt))
            if order == FIRST:
                first_order(x, v, z, k, right, left, now, dt, shared)
            else:
                with_mass(x, v, z, k, right, left, damping, now, dt, shared, order == SECOND)
            record = record_positions(out, steps, record, s + 1, x)
            if s % 1024 == 1023 and stop[0] != 0:
                return

    return run_tile
