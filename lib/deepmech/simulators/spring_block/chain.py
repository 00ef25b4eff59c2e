"""The chain, L blocks on a rough table, joined by springs, pulled from a wall to a target; and its theory in closed
form: equilibria, friction law, averages over the noise, elastic energy.

Everything follows from two balances. *Without noise* a block that has moved rests where its net spring force equals the
friction it had to overcome, k(d_{ℓ+1} − d_ℓ) = μ→, and a block that never moved still sits at 0. *With noise* of step
strength ε̄ a block rests where the friction law passes no force on average, E σ(kΔd + ε̄ζ) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from scipy.special import ndtr

from deepmech.core import specs
from deepmech.core.labels import Number, ParameterGrid, align, with_attrs
from deepmech.core.specs import Spec

#: What results hold, and in what units: pure numbers, as the parameters are.
ATTRS = {
    "position": ("position $x_\\ell$", "1", "run", "time", "block"),
    "load_curve": ("load $D_\\ell$", "1", "run", "time", "block"),
    "force": ("force on the last spring", "1", "run", "time"),
    "elastic_energy": ("elastic energy", "1", "run", "time"),
    "n_moving": ("number of blocks that move", "1"),
    "run": ("run", "1"),
    "time": ("time", "1"),
    "block": ("block $\\ell$", "1"),
}


MAGNITUDE = specs.not_negative("zero or positive (it is a magnitude)")


@dataclass(frozen=True, eq=False)
class Chain(Spec):
    """A spring–block chain with asymmetric friction (paper A, Eqs. 4–6).

    Blocks 1 … L have unit mass and positions x_ℓ; x_0 = 0 is the wall and x_{L+1} = ``target`` the load. Lengths are in
    units of the caller's choice, forces in stiffness × length.

    Parameters
    ----------
    n_blocks : int or DataArray
        L ≥ 1. In a result with chains of several lengths the shorter ones end in nan.
    stiffness : number or DataArray
        k > 0 of every spring.
    target : number or DataArray
        y > 0, the position the last spring is pulled to.
    friction_right, friction_left : number or DataArray
        μ→ ≥ 0 and μ← ≥ 0: sliding and largest static friction for motion towards the target
        and away from it.
    noise : number or DataArray
        ε ≥ 0, the strength of white noise in the force: force × √time. In one step of length η the force carries
        ε̄ ζ with ε̄ = ε/√η and ζ standard normal, *inside* the friction law; η is therefore part of the model.
    noise_bar : number or DataArray
        ε̄ ≥ 0 itself, a force. Results at fixed ε̄ do not depend on η. Give exactly one of ``noise`` and
        ``noise_bar``.
    damping : number or DataArray
        γ > 0 of the second-order and Langevin dynamics. The first-order dynamics is their limit of large γ, with
        time in units of γ, and does not contain it.

    Examples
    --------
    >>> from deepmech import over
    >>> chain = Chain(friction_right=over("mu_right", [0.0, 0.1]), friction_left=0.2, noise=0.01)
    >>> chain.grid().n
    2
    """

    CHECKS: ClassVar = {
        "n_blocks": specs.whole(1, 65536),
        "stiffness": specs.positive(), "target": specs.positive(), "damping": specs.positive(),
        "friction_right": MAGNITUDE, "friction_left": MAGNITUDE, "noise": MAGNITUDE, "noise_bar": MAGNITUDE,
    }  # fmt: skip

    n_blocks: int | xr.DataArray = 7
    stiffness: Number = 1.0
    target: Number = 1.0
    friction_right: Number = 0.0
    friction_left: Number = 0.0
    noise: Number | None = None
    noise_bar: Number | None = None
    damping: Number = 1.0

    def __post_init__(self) -> None:
        if (self.noise is None) == (self.noise_bar is None):
            both = "neither" if self.noise is None else "both"
            raise ValueError(
                f"Chain.noise = {self.noise!r}, Chain.noise_bar = {self.noise_bar!r}: {both} given; give exactly one "
                "(noise=0.0 for a quiet chain). They are related by noise_bar = noise / sqrt(dt)"
            )
        super().__post_init__()
        if self.labelled_fields():
            self.grid()  # clashing labels are found here

    def grid(self, **more: Number) -> ParameterGrid:
        """All numbers of the chain (and of ``more``) broadcast to one flat grid; noise under its own name."""
        fields = {name: getattr(self, name) for name in self.CHECKS}
        return align("Chain", ATTRS, **{name: value for name, value in fields.items() if value is not None}, **more)

    def noise_bar_at(self, dt: float) -> Number:
        """ε̄ = ε/√η for steps of length ``dt``: the force noise of one step."""
        return self.noise_bar if self.noise_bar is not None else self.noise / np.sqrt(dt)


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
    fields = chain.stiffness, chain.target, chain.friction_right, chain.n_blocks
    k, y, mu, length = (xr.DataArray(v) for v in fields)
    block = xr.DataArray(np.arange(int(length.max()) + 2), dims="block")
    count = block[:-1].rename(block="n_moving")  # a name that no label of the chain has
    # Strict inequality, so that a block exactly at its threshold counts as stuck: both give the same positions.
    n = ((count * (count + 1) / 2 * mu < k * y) * count).where(count <= length, 0).max("n_moving")
    a = (y - n * (n + 1) / 2 * mu / k) / (n + 1)
    moved = np.maximum(block - (length - n), 0)  # number of stretched springs left of each block
    position = (moved * a + moved * (moved - 1) / 2 * mu / k).where(block <= length + 1)
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
    specs.check_each("elastic_energy.stiffness", stiffness, specs.between())
    return 0.5 * stiffness * (position.diff("block") ** 2).sum("block")
