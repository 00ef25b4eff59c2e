"""deepmech: simulators, trainers and metrics for the mechanics of feature learning.

Packages, physics first: :mod:`~deepmech.simulators`, :mod:`~deepmech.trainers`, :mod:`~deepmech.metrics`,
:mod:`~deepmech.data`; then :mod:`~deepmech.sweeps`, which carries them over grids; and :mod:`~deepmech.core`, which all
of them may use. The book about them is another package, :mod:`deepmech_book`.

What most users need can be taken from here: ``from deepmech import over, train, MLP, Training``. A name is imported
from its package when it is first asked for, so that ``import deepmech`` itself costs nothing; type
checkers read the first list below, Python the second.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from deepmech.core.labels import over
    from deepmech.data import load
    from deepmech.metrics.curvature import curvature
    from deepmech.metrics.interpret import compare, interpret
    from deepmech.metrics.load_curve import LoadCurve, load_curve
    from deepmech.metrics.separation import data_separation
    from deepmech.plots.load_curves import plot_load_curve
    from deepmech.simulators import simulate
    from deepmech.simulators.brownian import Well
    from deepmech.simulators.elastic_sde import ElasticSDE
    from deepmech.simulators.folding_ruler import Pull, Ruler
    from deepmech.simulators.spring_block import Chain
    from deepmech.sweeps import Sweep
    from deepmech.trainers import (
        CNN,
        MLP,
        Dynamics,
        Preparation,
        SingleSample,
        Training,
        prepare,
        train,
        train_lenet,
        walk,
    )

__version__ = "0.1.0"

__getattr__, __dir__, _NAMES = lazy_loader.attach(
    __name__,
    submod_attrs={
        "core.labels": ["over"],
        "data": ["load"],
        "metrics.curvature": ["curvature"],
        "metrics.interpret": ["compare", "interpret"],
        "metrics.load_curve": ["LoadCurve", "load_curve"],
        "metrics.separation": ["data_separation"],
        "plots.load_curves": ["plot_load_curve"],
        "simulators": ["simulate"],
        "simulators.brownian": ["Well"],
        "simulators.elastic_sde": ["ElasticSDE"],
        "simulators.folding_ruler": ["Pull", "Ruler"],
        "simulators.spring_block": ["Chain"],
        "sweeps": ["Sweep"],
        "trainers": [
            "CNN",
            "MLP",
            "Dynamics",
            "Preparation",
            "SingleSample",
            "Training",
            "prepare",
            "train",
            "train_lenet",
            "walk",
        ],
    },
)
__all__ = ["__version__", *_NAMES]
