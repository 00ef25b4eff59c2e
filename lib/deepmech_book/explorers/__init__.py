"""Pictures to play with: the same component on a page without kernel and, as a widget, live in Jupyter.

Each is a table of its values (:class:`.page.ExplorerSpec`) in the module of its name: ``chain`` and ``elastic``, a
spring–block chain and locally elastic points; ``ruler``, a folding ruler; ``diagram`` and ``relaxation``, the phase
diagrams and the walks that ship with the book; ``training``, a network that trains; ``shake``, what opens the book;
``toy``, one slider through a labelled array (those of the pages are in ``toys``).

- ``chain_page(noise=0.01)`` and its like: self-contained HTML, for the book and for files.
- ``ChainExplorer(noise=0.01)`` and its like: the same in Jupyter, its state shared with Python (needs the extra
  ``deepmech[book]``).
- :func:`cli_explore`: write one to a file and open it.
"""

from typing import Any

from deepmech_book.explorers.page import EXPLORERS, cli_explore, page_of  # noqa: F401 (cli_explore is for users)

_PAGES = {f"{kind}_page": kind for kind in EXPLORERS}
_WIDGETS = {f"{kind.capitalize()}Explorer": kind for kind in EXPLORERS}


def __dir__() -> list[str]:
    return [*globals(), *_PAGES, *_WIDGETS]


def __getattr__(name: str) -> Any:
    """A page or a widget: each brings what it needs and no more, widgets Jupyter's packages, results the trainers."""
    if name in _PAGES:
        return page_of(_PAGES[name])
    if name not in _WIDGETS:
        raise AttributeError(f"module {__name__} has no {name}")
    try:
        from deepmech_book.explorers.widgets import widget_of
    except ModuleNotFoundError as missing:
        remedy = "pip install '.[book]' in the folder of the repository"
        raise ModuleNotFoundError(f"{name} needs {missing.name}: {remedy}", name=missing.name) from None
    return widget_of(_WIDGETS[name])
