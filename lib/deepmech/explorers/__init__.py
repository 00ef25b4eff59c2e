"""Pictures to play with: the same component on a page without kernel and, as a widget, live in Jupyter.

- :func:`chain_page`: a spring–block chain as self-contained HTML, for the book and for files.
- :func:`elastic_page`: locally elastic points, likewise; :func:`write_elastic_page` writes them to a file.
- :class:`ChainExplorer`, :class:`ElasticExplorer`: the same in Jupyter, their parameters shared with Python (need the
  extra ``deepmech[book]``).
- :func:`cli_explore`: write the chain's explorer to a file and open it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deepmech.explorers.chain import Page, chain_page, cli_explore
from deepmech.explorers.elastic import elastic_page, write_elastic_page

if TYPE_CHECKING:
    from deepmech.explorers.widget import ChainExplorer
    from deepmech.explorers.widget_elastic import ElasticExplorer

__all__ = [
    "ChainExplorer",
    "ElasticExplorer",
    "Page",
    "chain_page",
    "cli_explore",
    "elastic_page",
    "write_elastic_page",
]

WIDGETS = {"ChainExplorer": "widget", "ElasticExplorer": "widget_elastic"}


def __getattr__(name: str) -> Any:
    # Only the widgets need Jupyter's packages; servers without them still import this room.
    if name not in WIDGETS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"deepmech.explorers.{WIDGETS[name]}"), name)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"{name} needs {missing.name}: pip install 'deepmech[book]'", name=missing.name
        ) from None
