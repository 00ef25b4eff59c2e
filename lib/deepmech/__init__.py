"""deepmech: simulators, trainers and metrics for the mechanics of feature learning.

Packages, physics first: :mod:`~deepmech.simulators`, :mod:`~deepmech.trainers`, :mod:`~deepmech.metrics`,
:mod:`~deepmech.data`; then :mod:`~deepmech.sweeps`, which carries them over grids; and :mod:`~deepmech.core`, which all
of them may use. The book about them is another package, :mod:`deepmech_book`.

What most users need can be taken from here: ``from deepmech import over, train, MLP, Training``. A name is imported
from its package when it is first asked for, so that ``import deepmech`` itself costs nothing. The list of
them, for Python and for type checkers, is ``__init__.pyi``.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, _NAMES = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *_NAMES]
