"""The chain: L blocks on a rough table, joined by springs, pulled from a wall to a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from deepmech.core import specs
from deepmech.core.labels import Number, ParameterGrid, align
from deepmech.core.specs import Spec

#: What results hold, and in what units: pure numbers, as the parameters are.
ATTRS = {
    "position": ("position $x_\\ell$", "1"),
    "load_curve": ("load $D_\\ell$", "1"),
    "force": ("force on the last spring", "1"),
    "elastic_energy": ("elastic energy", "1"),
    "n_moving": ("number of blocks that move", "1"),
    "run": ("run", "1"),
    "time": ("time", "1"),
    "block": ("block $\\ell$", "1"),
}


@dataclass(frozen=True, eq=False)
class Chain(Spec):
    """A spring–block chain with asymmetric friction (paper A, Eqs. 4–6).

    Blocks 1 … L have unit mass and positions x_ℓ; x_0 = 0 is the wall and x_{L+1} = ``target`` the load. Lengths are in
    units of the caller's choice, forces in stiffness × length.

    Parameters
    ----------
    n_blocks : int
        L ≥ 1. The one parameter that cannot be a labelled array: it is the shape of the result.
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

    n_blocks: int = 7
    stiffness: Number = 1.0
    target: Number = 1.0
    friction_right: Number = 0.0
    friction_left: Number = 0.0
    noise: Number | None = None
    noise_bar: Number | None = None
    damping: Number = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.n_blocks, xr.DataArray):
            self.check("n_blocks", False, "one whole number: simulate chains of different lengths in separate calls")
        specs.check_int("Chain.n_blocks", self.n_blocks, 1, 65536)
        if (self.noise is None) == (self.noise_bar is None):
            both = "neither" if self.noise is None else "both"
            raise ValueError(
                f"Chain.noise = {self.noise!r}, Chain.noise_bar = {self.noise_bar!r}: {both} given; give exactly one "
                "(noise=0.0 for a quiet chain). They are related by noise_bar = noise / sqrt(dt)"
            )
        strength = "noise" if self.noise is not None else "noise_bar"
        magnitude = "zero or positive (it is a magnitude)"
        self.check_positive("stiffness", "target", "damping")
        self.check_not_negative("friction_right", "friction_left", strength, allowed=magnitude)
        self.grid()  # clashing labels are found here

    def grid(self, **more: Number) -> ParameterGrid:
        """All numbers of the chain (and of ``more``) broadcast to one flat grid; noise under its own name."""
        strength = {"noise": self.noise} if self.noise is not None else {"noise_bar": self.noise_bar}
        return align(
            "Chain",
            stiffness=self.stiffness,
            target=self.target,
            friction_right=self.friction_right,
            friction_left=self.friction_left,
            damping=self.damping,
            **strength,
            **more,
        )

    def noise_bar_at(self, dt: float) -> Number:
        """ε̄ = ε/√η for steps of length ``dt``: the force noise of one step."""
        return self.noise_bar if self.noise_bar is not None else self.noise / np.sqrt(dt)
