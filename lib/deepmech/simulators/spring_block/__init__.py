"""Spring–block chains with asymmetric friction (Shi, Pan, Dokmanić 2024, Eqs. 4–8 and 10–13).

:class:`Chain` holds the parameters, :func:`simulate` runs many chains at once, :func:`averaged` the noise-averaged one;
the other functions are the theory in closed form.
"""

from deepmech import simulators
from deepmech.simulators.spring_block.chain import (
    Chain,
    averaged_friction_force,
    effective_friction,
    elastic_energy,
    equilibrium,
    friction,
)
from deepmech.simulators.spring_block.simulate import averaged, simulate

simulators.simulate.register(Chain, simulate)

__all__ = [
    "Chain",
    "averaged",
    "averaged_friction_force",
    "effective_friction",
    "elastic_energy",
    "equilibrium",
    "friction",
    "simulate",
]
