"""Pictures to play with: the same component on a page without kernel and, as a widget, live in Jupyter.

- :func:`chain_page`, :func:`elastic_page`: a spring–block chain, locally elastic points as self-contained HTML, for the
  book and for files.
- :class:`ChainExplorer`, :class:`ElasticExplorer`: the same in Jupyter, their parameters shared with Python (need the
  extra ``deepmech[book]``).
- :func:`cli_explore`: write either to a file and open it.
"""

from typing import TYPE_CHECKING

from deepmech.core import lazy
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

# Only the widgets need Jupyter's packages; servers without them still import this room.
__getattr__, __dir__, _ = lazy.homes(__name__, {"widget": ("ChainExplorer", "ElasticExplorer")}, extra="book")
