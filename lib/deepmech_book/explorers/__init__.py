"""Pictures to play with: the same component on a page without kernel and, as a widget, live in Jupyter.

- :func:`chain_page`, :func:`elastic_page`, :func:`ruler_page`: a spring–block chain, locally elastic points, a folding
  ruler; :func:`diagram_page`, :func:`relaxation_page`: the phase diagrams and the walks that ship with the book;
  :func:`training_page`: a network that trains; :func:`shake_page`: what opens the book. Each is self-contained HTML,
  for the book and for files.
- :class:`ChainExplorer`, :class:`ElasticExplorer`, :class:`RulerExplorer`, :class:`DiagramExplorer`,
  :class:`RelaxationExplorer`, :class:`TrainOne`: the same in Jupyter, their state shared with Python (need the extra
  ``deepmech[book]``).
- :func:`cli_explore`: write one to a file and open it.
"""

# ruff: noqa: F401 (what a name is, for readers and type checkers; it is imported when asked for)
from typing import TYPE_CHECKING, Any

import lazy_loader

from deepmech_book.explorers.page import Page, cli_explore

if TYPE_CHECKING:
    from deepmech_book.explorers.chain import chain_page
    from deepmech_book.explorers.diagram import diagram_page
    from deepmech_book.explorers.elastic import elastic_page
    from deepmech_book.explorers.relaxation import relaxation_page
    from deepmech_book.explorers.ruler import ruler_page
    from deepmech_book.explorers.shake import shake_page
    from deepmech_book.explorers.training import training_page
    from deepmech_book.explorers.widgets import (
        ChainExplorer,
        DiagramExplorer,
        ElasticExplorer,
        RelaxationExplorer,
        RulerExplorer,
        TrainOne,
    )

# Each brings what it needs and no more: widgets Jupyter's packages, which servers lack, results the trainers.
_get, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "chain": ["chain_page"],
        "diagram": ["diagram_page"],
        "elastic": ["elastic_page"],
        "relaxation": ["relaxation_page"],
        "ruler": ["ruler_page"],
        "shake": ["shake_page"],
        "training": ["training_page"],
        "widgets": [
            "ChainExplorer",
            "DiagramExplorer",
            "ElasticExplorer",
            "RelaxationExplorer",
            "RulerExplorer",
            "TrainOne",
        ],
    },
)


def __getattr__(name: str) -> Any:
    """A name from its module; a ModuleNotFoundError says how to get what that needs."""
    try:
        return _get(name)
    except ModuleNotFoundError as missing:
        remedy = "pip install '.[book]' in the folder of the repository"
        raise ModuleNotFoundError(f"{name} needs {missing.name}: {remedy}", name=missing.name) from None
