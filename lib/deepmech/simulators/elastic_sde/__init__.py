"""Locally elastic stochastic differential equations (Zhang, Wang, Su 2021, Eqs. 1–9 and App. E).

- :class:`ElasticSDE`: the parameters; any number may be a labelled array, α(t) and β(t) may change in time
  (:class:`PowerLaw`, tables). :func:`mixed_logits` makes the structure of Eq. E.1.
- :func:`simulate`: samples of many runs at once, exact in law; :func:`train_discrete`: the dynamics
  of single-sample training, Eqs. 1 and 4, of which the SDE is the limit.
- :func:`mean_solution`: mean features in closed form (Eqs. 3, 7, 9 for any K), by matrix exponential otherwise.
- :func:`separation_probability`, :func:`separated_by_chance`, :func:`critical_strength`: what Theorems 2.1 and 3.1 say,
  in numbers.
"""

from deepmech import simulators
from deepmech.simulators.elastic_sde.model import ElasticSDE, PowerLaw, drift_matrix, mixed_logits
from deepmech.simulators.elastic_sde.simulate import simulate, train_discrete
from deepmech.simulators.elastic_sde.solution import (
    critical_strength,
    mean_over_noise,
    mean_solution,
    separated_by_chance,
    separation_probability,
)

simulators.simulate.register(ElasticSDE, simulate)

__all__ = [
    "ElasticSDE",
    "PowerLaw",
    "critical_strength",
    "drift_matrix",
    "mean_over_noise",
    "mean_solution",
    "mixed_logits",
    "separated_by_chance",
    "separation_probability",
    "simulate",
    "train_discrete",
]
