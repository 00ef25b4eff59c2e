"""The pictures of the book: with words that stand for them and numbers to take away.

Every drawing function of :mod:`deepmech.plots` and of :mod:`.curves`, :mod:`.planes`, :mod:`.points` and
:mod:`.spring_block` is here under its name, with its arguments but for the figure to draw on. It also takes ``alt``,
what the picture shows in a sentence, and ``figure``, the registry id of what it reproduces, and returns a
:class:`Picture`. :mod:`.glass` has pictures of its chapter, which know their labels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from deepmech import plots
from deepmech_book.figures import curves, planes, points, spring_block
from deepmech_book.figures.picture import Picture, pictured

__all__ = ["NAMES", "Picture"]

_DRAWN_BY: dict[str, Any] = {
    **{name: plots for name in ("layer_curves", "load_curves", "phase_diagram")},
    **{name: module for module in (curves, planes, points, spring_block) for name in module.__all__},
}
NAMES = sorted(_DRAWN_BY)
"""The functions that draw a whole picture."""


def __getattr__(name: str) -> Callable[..., Picture]:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; pictures are {', '.join(NAMES)}")
    return _picture(name)


@cache
def _picture(name: str) -> Callable[..., Picture]:
    return pictured(getattr(_DRAWN_BY[name], name))
