"""The library's pictures for pages: in light and dark, with words that stand for them and numbers to take away.

Every drawing function of :mod:`deepmech.plots` is here under its name, with its arguments. It also takes ``alt``, what
the picture shows in a sentence, and ``figure``, the registry id of what it reproduces, and returns a :class:`Picture`.
"""

from collections.abc import Callable
from functools import cache

from deepmech import plots
from deepmech_book.figures.picture import Picture, pictured

NAMES = sorted({*plots.__all__} - {"DARK", "LIGHT", "Theme", "applied", "in_words", "plot"})
"""The functions of :mod:`deepmech.plots` that draw a whole picture."""


@cache
def __getattr__(name: str) -> Callable[..., Picture]:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; pictures are {', '.join(NAMES)}")
    return pictured(getattr(plots, name))
