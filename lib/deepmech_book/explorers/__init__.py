"""Pictures to play with: the same component on a page without kernel and, as a widget, live in Jupyter.

- :func:`chain_page`, :func:`elastic_page`: a spring–block chain, locally elastic points as self-contained HTML, for the
  book and for files.
- :class:`ChainExplorer`, :class:`ElasticExplorer`: the same in Jupyter, their parameters shared with Python (need the
  extra ``deepmech[book]``).
- :func:`cli_explore`: write either to a file and open it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deepmech_book.explorers.chain import chain_page
from deepmech_book.explorers.elastic import elastic_page
from deepmech_book.explorers.file import cli_explore
from deepmech_book.explorers.page import Page

if TYPE_CHECKING:
    from deepmech_book.explorers.widget import ChainExplorer, ElasticExplorer

__all__ = [
    "ChainExplorer",
    "ElasticExplorer",
    "Page",
    "chain_page",
    "cli_explore",
    "elastic_page",
]

WIDGETS = ("ChainExplorer", "ElasticExplorer")


def __getattr__(name: str) -> Any:
    # Only the widgets need Jupyter's packages; servers without them still import this room.
    if name not in WIDGETS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module("deepmech_book.explorers.widget"), name)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"{name} needs {missing.name}: pip install 'deepmech[book]'", name=missing.name
        ) from None
