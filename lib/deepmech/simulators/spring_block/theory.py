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

from deepmech.core import specs
from deepmech.core.labels import Number, with_attrs
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

    Raises
    ------
    ValueError
        If one of these is not of real numbers.

    Examples
    --------
    >>> [float(friction(z, 0.1, 0.2)) for z in (-0.3, 0.05, 0.3)]
    [-0.09999999999999998, 0.0, 0.19999999999999998]
    """
    force, friction_right, friction_left = specs.check_arrays(
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
    specs.check_type("equilibrium: chain", chain, Chain)
    k, y, mu = (xr.DataArray(v) for v in (chain.stiffness, chain.target, chain.friction_right))
    block = xr.DataArray(np.arange(chain.n_blocks + 2), dims="block")
    count = xr.DataArray(np.arange(chain.n_blocks + 1), dims="count")
    # Strict inequality, so that a block exactly at its threshold counts as stuck: both give the same positions.
    n = ((count * (count + 1) / 2 * mu < k * y) * count).max("count")
    a = (y - n * (n + 1) / 2 * mu / k) / (n + 1)
    moved = np.maximum(block - (chain.n_blocks - n), 0)  # number of stretched springs left of each block
    position = moved * a + moved * (moved - 1) / 2 * mu / k
    position = position.assign_coords(block=block)
    result = xr.Dataset({"position": position, "load_curve": y - position, "n_moving": n})
    return with_attrs(result.transpose(..., "block"), ATTRS)


def _mean_positive_part(shift: Any, noise_bar: Any) -> Any:
    """E max(shift + ε̄ζ, 0) for ζ standard normal."""
    shift, scale = np.broadcast_arrays(np.asarray(shift, float), np.asarray(noise_bar, float))
    safe = np.where(scale > 0, scale, 1.0)
    a = -shift / safe  # the noise value from which the bracket is positive
    density = np.exp(-np.square(a) / 2) / np.sqrt(2 * np.pi)
    # Upper tails are taken as ndtr(-x): differences from 1 would lose every digit far out.
    return np.where(scale > 0, safe * density + shift * ndtr(-a), np.maximum(shift, 0.0))


def averaged_friction_force(force: Any, friction_right: Any, friction_left: Any, noise_bar: Any) -> Any:
    """E σ(z + ε̄ζ), the mean velocity of a block under spring force z and step noise ε̄.

    It vanishes at z = (μ→ − μ←)/2 for every ε̄ > 0 (Eq. 8 without its limit). Arrays broadcast.

    Parameters
    ----------
    force : array_like or DataArray
        z, spring force.
    friction_right, friction_left : array_like or DataArray
        μ→ and μ←, ≥ 0.
    noise_bar : array_like or DataArray
        ε̄ ≥ 0, force.

    Returns
    -------
    ndarray
        Of the broadcast shape, force.

    Raises
    ------
    ValueError
        If one of these is not of real numbers.

    Examples
    --------
    >>> abs(float(averaged_friction_force((0.1 - 0.3) / 2, 0.1, 0.3, 0.5))) < 1e-15
    True
    """
    force, friction_right, friction_left, noise_bar = specs.check_arrays(
        "averaged_friction_force", force=force, friction_right=friction_right, friction_left=friction_left,
        noise_bar=noise_bar,
    )  # fmt: skip
    return _mean_positive_part(force - friction_right, noise_bar) - _mean_positive_part(
        -force - friction_left, noise_bar
    )


def effective_friction(force: Any, friction_right: Any, friction_left: Any, noise_bar: Any) -> Any:
    """μ_eff = E[z − σ(z + ε̄ζ) | σ ≠ 0]: what friction takes from a spring force z, given that the block moves.

    The paper prints the opposite sign; its own limits, μ→ at ε̄ → 0 (for z ≥ μ→) and (μ→ − μ←)/2 at ε̄ → ∞, need this
    one. NaN where the block cannot move at all (probability zero).

    Parameters
    ----------
    force, friction_right, friction_left, noise_bar
        As of :func:`averaged_friction_force`.

    Returns
    -------
    ndarray
        Of the broadcast shape, force.

    Raises
    ------
    ValueError
        If one of these is not of real numbers.

    Examples
    --------
    >>> round(float(effective_friction(0.0, 0.1, 0.3, 1e6)), 6)
    -0.1
    """
    given = {"force": force, "friction_right": friction_right, "friction_left": friction_left, "noise_bar": noise_bar}
    force, right, left, scale = np.broadcast_arrays(*specs.check_arrays("effective_friction", **given))
    safe = np.where(scale > 0, scale, 1.0)

    def probability(gap: Any) -> Any:  # that the noise exceeds gap
        return np.where(scale > 0, ndtr(-gap / safe), gap < 0)

    moves = probability(right - force) + probability(left + force)
    mean = averaged_friction_force(force, right, left, scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(moves > 0, force - mean / moves, np.nan)


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
        specs.raise_invalid("elastic_energy: position", position, "a labelled array with a dimension 'block'")
    (position,) = specs.check_arrays("elastic_energy", position=position)
    specs.check_numbers("elastic_energy", stiffness=stiffness)
    return 0.5 * stiffness * (position.diff("block") ** 2).sum("block")
