"""The explorers as widgets in Jupyter: Python reads and sets what a reader moves and sees."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ClassVar

import anywidget
import numpy as np
import traitlets

from deepmech_book.explorers.page import ExplorerSpec, Value, bundle, page_of, style

_TRAITS: dict[type, Any] = {bool: traitlets.Bool, int: traitlets.Int, float: traitlets.Float}


class Explorer(anywidget.AnyWidget):
    """An explorer to play with in Jupyter: the last line of a cell shows it, the same picture as on a page.

    Every value of its state is a trait, which can be read and set while it runs, observed with
    ``explorer.observe(function, "noise")`` and linked to other widgets with :func:`ipywidgets.link`. Where things are
    (``position``, ``points``) and ``time`` are updated when they pause and every few seconds while they move.
    """

    page: ClassVar[ExplorerSpec]

    def __init__(self, **parameters: Any) -> None:
        state = self.page.state(**parameters)

        def trait(name: str, value: Any) -> Any:
            allowed = self.page.values.get(name, Value(None)).allowed
            if isinstance(allowed, list):
                return traitlets.Enum(allowed, value)
            if allowed:
                whole = all(isinstance(v, int) for v in allowed)
                return (traitlets.Int if whole else traitlets.Float)(value, min=allowed[0], max=allowed[1])
            return _TRAITS.get(type(value), traitlets.Any)(value)

        self.add_traits(**{name: trait(name, value).tag(sync=True) for name, value in state.items()})
        super().__init__(**state)
        self._names = tuple(state)

    @property
    def state(self) -> dict[str, Any]:
        """Everything that the component reads, as it stands."""
        return {name: getattr(self, name) for name in self._names}

    @traitlets.validate("left_row", "left_column", "right_row", "right_column")
    def _in_its_diagram(self, proposal: Any) -> int:
        side, axis = proposal["trait"].name.split("_")
        values = self.stored[getattr(self, side)]["axes"][axis == "column"]["values"] if self.stored else ()
        if not 0 <= proposal["value"] < (len(values) or np.inf):
            raise traitlets.TraitError(f"{side}_{axis} = {proposal['value']}: must be from 0 to {len(values) - 1}")
        return int(proposal["value"])


@cache
def widget_of(kind: str) -> type[Explorer]:
    """The class of an explorer's widgets, one for each as JupyterLab keeps one style sheet for a class."""
    page = page_of(kind)

    def method(of: Callable[..., Any]) -> Callable[..., Any]:
        return wraps(of)(lambda self, *which: of(self.state, *which))

    own = {"page": page, "_esm": bundle(kind), "_css": style(kind), "__doc__": page.__doc__}
    return type(f"{kind.capitalize()}Explorer", (Explorer,), own | {n: method(f) for n, f in page.methods.items()})
