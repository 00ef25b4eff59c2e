"""The chain's theory in closed form: equilibria, friction law, averages over the noise, elastic energy.

Everything follows from two balances. *Without noise* a block that has moved rests where its net spring force equals the
friction it had to overcome, k(d_{ℓ+1} − d_ℓ) = μ→, and a block that never moved still sits at 0. *With noise* of step
strength ε̄ a block rests where the friction law passes no force on average, E σ(kΔd + ε̄ζ) = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import ndtr

from deepmech.core import checks
from deepmech.core.labels import Number, with_attrs
from deepmech.simulators.inputs import real_values
from deepmech.simulators.spring_block.chain import ATTRS, Chain


def friction(force: Any, friction_right: Any, friction_left: Any) -> Any:
    """What friction lets through of a force, σ(z) (paper A, Eq. 6).

    z − μ→ above μ→, z + μ← below −μ←, 0 between. Any array shapes that broadcast; force units throughout.

    Parameters
    ----------
    force : array_like or DataArray
        Spring force and noise.
    friction_right, friction_left : array_like or DataArray
        μ→ and μ←, ≥ 0.

    Returns
    -------
    ndarray
        Of the broadcast shape.

    Examples
    --------
    >>> [float(friction(z, 0.1, 0.2)) for z in (-0.3, 0.05, 0.3)]
    [-0.09999999999999998, 0.0, 0.19999999999999998]
    """
    force, friction_right, friction_left = real_values(
        "friction", force=force, friction_right=friction_right, friction_left=friction_left
    )
    return np.maximum(force - friction_right, 0.0) + np.minimum(force + friction_left, 0.0)


def equilibrium(chain: Chain) -> xr.Dataset:
    """Where a quiet chain, pulled from rest at x = 0, comes to rest, for any number of stuck blocks.

    With n moving blocks (the last n; the others never leave 0) the elongations are 0, …, 0, a, a + μ→/k, …,
    a + nμ→/k, and their sum is y, so

        a = (y − n(n+1)μ→ / 2k) / (n + 1).

    A block moves only if a > 0, hence n is the largest number with n(n+1)/2 < ky/μ→, at most L. With n = L this is
    paper A's Eq. 7, which therefore needs μ→ < 2ky / L(L+1).

    Parameters
    ----------
    chain : Chain
        Its noise is not looked at.

    Returns
    -------
    Dataset
        ``position`` and ``load_curve`` D = y − x over the chain's dimensions and ``block`` = 0 … L+1, and ``n_moving``.

    Raises
    ------
    ValueError
        If ``chain`` is no :class:`Chain`.

    Examples
    --------
    >>> int(equilibrium(Chain(friction_right=0.11, noise=0.0)).n_moving)
    3
    """
    checks.check_type("equilibrium: chain", chain, Chain)
    k, y, mu = (xr.DataArray(v) for v in (chain.stiffness, chain.target, chain.friction_right))
    block = _blocks(chain)
    count = xr.DataArray(np.arange(chain.n_blocks + 1), dims="count")
    # Strict inequality, so that a block exactly at its threshold counts as stuck: both give the same positions.
    n = ((count * (count + 1) / 2 * mu < k * y) * count).max("count")
    a = (y - n * (n + 1) / 2 * mu / k) / (n + 1)
    moved = np.maximum(block - (chain.n_blocks - n), 0)  # number of stretched springs left of each block
    position = moved * a + moved * (moved - 1) / 2 * mu / k
    position = position.assign_coords(block=block)
    result = xr.Dataset({"position": position, "load_curve": y - position, "n_moving": n})
    return with_attrs(result.transpose(..., "block"), ATTRS)


def _mean_positive_part(shift: Any, noise_bar: Any, truncation: float | None) -> Any:
    """E max(shift + ε̄ζ, 0) for ζ standard normal, or standard normal conditioned on |ζ| ≤ truncation."""
    shift, scale = np.broadcast_arrays(np.asarray(shift, float), np.asarray(noise_bar, float))
    safe = np.where(scale > 0, scale, 1.0)
    c = np.inf if truncation is None else truncation
    a = np.clip(-shift / safe, -c, c)  # the noise value from which the bracket is positive
    # Upper tails are taken as ndtr(-x): differences from 1 would lose every digit far out.
    mass = 2 * ndtr(c) - 1
    mean = (safe * (_density(a) - _density(c)) + shift * (ndtr(-a) - ndtr(-c))) / mass
    return np.where(scale > 0, mean, np.maximum(shift, 0.0))


def _density(x: Any) -> Any:
    return np.exp(-np.square(x) / 2) / np.sqrt(2 * np.pi)


def averaged_friction_force(
    force: Any, friction_right: Any, friction_left: Any, noise_bar: Any, truncation: float | None = None
) -> Any:
    """E σ(z + ε̄ζ), the mean velocity of a block under spring force z and step noise ε̄.

    It vanishes at z = (μ→ − μ←)/2 for every ε̄ > 0 when the noise is unbounded (Eq. 8 without its limit), and on an
    interval of z when |ζ| ≤ ``truncation`` and ε̄·truncation < (μ→ + μ←)/2. Arrays broadcast.

    Parameters
    ----------
    force : array_like or DataArray
        z, spring force.
    friction_right, friction_left : array_like or DataArray
        μ→ and μ←, ≥ 0.
    noise_bar : array_like or DataArray
        ε̄ ≥ 0, force.
    truncation : float, optional
        Bound on |ζ|; None for none.

    Returns
    -------
    ndarray
        Of the broadcast shape, force.

    Examples
    --------
    >>> abs(float(averaged_friction_force((0.1 - 0.3) / 2, 0.1, 0.3, 0.5))) < 1e-15
    True
    """
    force, friction_right, friction_left, noise_bar = real_values(
        "averaged_friction_force", force=force, friction_right=friction_right, friction_left=friction_left,
        noise_bar=noise_bar,
    )  # fmt: skip
    truncation = _checked_truncation("averaged_friction_force", truncation)
    right = _mean_positive_part(force - friction_right, noise_bar, truncation)
    left = _mean_positive_part(-force - friction_left, noise_bar, truncation)
    return right - left


def effective_friction(
    force: Any, friction_right: Any, friction_left: Any, noise_bar: Any, truncation: float | None = None
) -> Any:
    """μ_eff = E[z − σ(z + ε̄ζ) | σ ≠ 0]: what friction takes from a spring force z, given that the block moves.

    The paper prints the opposite sign; its own limits, μ→ at ε̄ → 0 (for z ≥ μ→) and (μ→ − μ←)/2 at ε̄ → ∞, need this
    one. NaN where the block cannot move at all (probability zero).

    Parameters
    ----------
    force, friction_right, friction_left, noise_bar, truncation
        As of :func:`averaged_friction_force`.

    Returns
    -------
    ndarray
        Of the broadcast shape, force.

    Examples
    --------
    >>> round(float(effective_friction(0.0, 0.1, 0.3, 1e6)), 6)
    -0.1
    """
    given = {"force": force, "friction_right": friction_right, "friction_left": friction_left, "noise_bar": noise_bar}
    force, right, left, scale = np.broadcast_arrays(*real_values("effective_friction", **given))
    truncation = _checked_truncation("effective_friction", truncation)
    c = np.inf if truncation is None else truncation
    safe = np.where(scale > 0, scale, 1.0)
    mass = 2 * ndtr(c) - 1

    def probability(gap: Any) -> Any:  # that the noise exceeds gap
        noisy = (ndtr(-np.clip(gap / safe, -c, c)) - ndtr(-c)) / mass
        return np.where(scale > 0, noisy, gap < 0)

    moves = probability(right - force) + probability(left + force)
    mean = averaged_friction_force(force, right, left, scale, truncation)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(moves > 0, force - mean / moves, np.nan)


def bounded_noise_equilibrium(chain: Chain, dt: float, truncation: float) -> xr.DataArray:
    """Δd = d_{ℓ+1} − d_ℓ at which a chain with bounded noise |ζ| ≤ ``truncation`` comes to rest, all blocks moving.

    Blocks are pulled down from Δd > μ→/k and stop when even the largest kick cannot move them, kΔd + ε̄c = μ→, unless
    they reach the balance of both frictions first:

        kΔd = max(μ→ − ε̄c, (μ→ − μ←)/2).

    The load curve is concave, linear or convex as ε̄c is below, at or above μ→ (for μ← > μ→): this is the phase
    boundary in closed form.

    Parameters
    ----------
    chain : Chain
        With noise.
    dt : float
        Step η, of which ε̄ depends.
    truncation : float
        c, in standard deviations.

    Returns
    -------
    DataArray
        Over the chain's dimensions, length.

    Raises
    ------
    ValueError
        If ``dt`` is not positive and finite, or ``truncation`` negative.

    Examples
    --------
    >>> chain = Chain(friction_right=0.02, friction_left=0.1, noise_bar=0.01)
    >>> round(float(bounded_noise_equilibrium(chain, dt=0.01, truncation=1.0)), 12)
    0.01
    """
    checks.check_type("bounded_noise_equilibrium: chain", chain, Chain)
    checks.check_real("bounded_noise_equilibrium: dt", dt, np.nextafter(0, 1), allowed="positive and finite")
    checks.check_real("bounded_noise_equilibrium: truncation", truncation, 0, allowed="zero or positive, and finite")
    kick = chain.noise_bar_at(dt) * truncation
    right, left = xr.DataArray(chain.friction_right), xr.DataArray(chain.friction_left)
    return xr.DataArray(np.maximum(right - kick, (right - left) / 2) / chain.stiffness)


def elastic_energy(position: xr.DataArray, stiffness: Number) -> xr.DataArray:
    """½ k Σ (x_ℓ − x_{ℓ−1})² over all L+1 springs; ``position`` has dimension ``block`` from wall to target.

    Parameters
    ----------
    position : DataArray
        With wall and target.
    stiffness : number or DataArray
        k.

    Returns
    -------
    DataArray
        ``position`` without ``block``; force × length.

    Raises
    ------
    ValueError
        If ``position`` has no dimension ``block``, or numbers are not real.

    Examples
    --------
    >>> even = xr.DataArray([0.0, 0.5, 1.0], dims="block")
    >>> float(elastic_energy(even, 1.0))
    0.25
    """
    if not isinstance(position, xr.DataArray) or "block" not in position.dims:
        checks.raise_invalid("elastic_energy: position", position, "a labelled array with a dimension 'block'")
    (position,) = real_values("elastic_energy", position=position)
    checks.check_numbers("elastic_energy", stiffness=stiffness)
    return 0.5 * stiffness * (position.diff("block") ** 2).sum("block")


def _checked_truncation(caller: str, truncation: Any) -> float | None:
    """None, or a bound in standard deviations."""
    if truncation is None:
        return None
    return checks.check_real(
        f"{caller}: truncation", truncation, np.nextafter(0, 1), allowed="positive and finite, or None"
    )


def _blocks(chain: Chain) -> xr.DataArray:
    block = np.arange(chain.n_blocks + 2)
    return xr.DataArray(block, dims="block", coords={"block": block})
