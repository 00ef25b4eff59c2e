"""deepmech: simulators, trainers and metrics for the mechanics of feature learning.

Rooms, physics first: :mod:`~deepmech.simulators`, :mod:`~deepmech.trainers`, :mod:`~deepmech.metrics`,
:mod:`~deepmech.data`, :mod:`~deepmech.experiments`; then the plumbing that carries them:
:mod:`~deepmech.sweeps`, :mod:`~deepmech.ledger`, :mod:`~deepmech.figures`, :mod:`~deepmech.explorers`,
:mod:`~deepmech.book`; and :mod:`~deepmech.core`, which all of them may use.
"""

from deepmech.core.labels import over

__version__ = "0.1.0"
__all__ = ["__version__", "over"]
