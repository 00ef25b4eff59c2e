"""Pictures to play with: the same component on a page without kernel and, as a widget, live in Jupyter.

- :func:`chain_page`: a spring–block chain as self-contained HTML, for the book and for files.
- :class:`ChainExplorer`: the same in Jupyter, its parameters shared with Python (needs the extra ``deepmech[book]``).
- :func:`cli_explore`: write the explorer to a file and open it.
"""

from typing import TYPE_CHECKING, Any

from deepmech.explorers.chain import Page, chain_page, cli_explore

if TYPE_CHECKING:
    from deepmech.explorers.widget import ChainExplorer

__all__ = ["ChainExplorer", "Page", "chain_page", "cli_explore"]


def __getattr__(name: str) -> Any:
    # Only the widget needs Jupyter's packages; servers without them still import this room.
    if name != "ChainExplorer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from deepmech.explorers.widget import ChainExplorer
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"ChainExplorer needs {missing.name}: pip install 'deepmech[book]'", name=missing.name
        ) from None
    return ChainExplorer
