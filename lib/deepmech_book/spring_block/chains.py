"""Settings of the paper's phase diagrams of chains (Figs. 3, S13, S14) and regimes (Fig. 4), and what shows chains.

Settings are the paper's (captions and SM S3); where the paper leaves a range open, it is said here what stands for it.
Chains are seven blocks with k = y = 1 where nothing else is said.
"""

from dataclasses import dataclass, replace

import numpy as np

from deepmech.core.labels import over
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain
from deepmech_book.spring_block.words import said


@dataclass(frozen=True)
class Diagram:
    """Settings of one phase diagram; the paper's figures show the ranges of friction and noise without numbers."""

    order: str
    stiffness: float
    friction_left: float
    t_end: float
    friction_range: float
    noise_range: float
    noise_decay: float = 0.0
    spacing: int = 1

    def frictions(self, n):
        """Friction to the right along the ordinate, in even steps."""
        return np.linspace(0, self.friction_range, n).round(6)

    def noises(self, n):
        """Noise along the abscissa: even steps (``spacing`` 1), or steps that widen to reach strong noise (2)."""
        values = self.noise_range * np.linspace(0, 1, n) ** self.spacing
        return np.array([float(f"{v:.3g}") for v in values])

    def chain(self, n_friction, n_noise):
        """Seven blocks, unit target, γ = 1, over ``friction_right`` and ``noise``."""
        return Chain(
            friction_right=over("friction_right", self.frictions(n_friction)),
            friction_left=self.friction_left,
            noise=over("noise", self.noises(n_noise)),
            stiffness=self.stiffness,
        )

    def corner(self, n_friction, n_noise):
        """The chains at the strongest noise, in the rows where friction to the left is the larger one."""
        frictions = self.frictions(n_friction)
        rows = over("friction_right", frictions[frictions < self.friction_left])
        strongest = over("noise", self.noises(n_noise)[-1:])
        return replace(self.chain(n_friction, n_noise), friction_right=rows, noise=strongest)


DIAGRAMS = {
    "A.3": Diagram("first", 1.0, 0.2, 100.0, friction_range=0.25, noise_range=0.02),
    "A.S13": Diagram("second", 1.0, 0.12, 100.0, friction_range=0.15, noise_range=0.16, spacing=2),
    "A.S14": Diagram(
        "langevin", 0.1, 0.016, 300.0, friction_range=0.02, noise_range=0.12, noise_decay=0.002, spacing=2
    ),
}

REGIMES = {
    "b: strong friction, little noise": {"friction_right": 0.11, "friction_left": 0.03, "noise": 0.006},
    "c: balanced": {"friction_right": 0.04, "friction_left": 0.04, "noise": 0.01},
    "d: weak friction, strong noise": {"friction_right": 0.04, "friction_left": 0.12, "noise": 0.011},
}


def mean_step(position):
    """Mean of Δd_ℓ = d_{ℓ+1} − d_ℓ over all blocks, from positions over ``block``, wall and target included."""
    return position.diff("block").diff("block").mean("block")


def means(run):
    """What a phase diagram of chains shows, by the arguments of the picture: means over runs of every cell."""
    mean = run.mean("run")
    return {
        "load": said(mean["load_curve"], "load"),
        "shade": said(mean["elastic_energy"], "elastic energy", "force × length"),
        "curvature": curvature(run["load_curve"], dim="block").mean("run"),
        "y": "friction_right",
        "names": ("lazy", "over-noisy"),
    }
