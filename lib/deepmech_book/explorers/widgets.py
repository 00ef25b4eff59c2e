"""The explorers as widgets in Jupyter: Python reads and sets what a reader moves and sees."""

from __future__ import annotations

from typing import Any, ClassVar

import anywidget
import numpy as np
import traitlets
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech.simulators.elastic_sde import ElasticSDE
from deepmech.simulators.folding_ruler import Pull, Ruler
from deepmech.simulators.spring_block import Chain
from deepmech_book.explorers.chain import chain_of, chain_page
from deepmech_book.explorers.diagram import SIDES, diagram, diagram_page
from deepmech_book.explorers.elastic import elastic_page, model_of
from deepmech_book.explorers.page import ExplorerSpec, Value, bundle, style
from deepmech_book.explorers.relaxation import phase_run, relaxation_page
from deepmech_book.explorers.ruler import ruler_page, specs_of
from deepmech_book.explorers.training import training_page

__all__ = [
    "ChainExplorer",
    "DiagramExplorer",
    "ElasticExplorer",
    "Explorer",
    "RelaxationExplorer",
    "RulerExplorer",
    "TrainOne",
]

_TRAITS: dict[type, Any] = {bool: traitlets.Bool, int: traitlets.Int, float: traitlets.Float}


class Explorer(anywidget.AnyWidget):
    """An explorer to play with in Jupyter: the last line of a cell shows it, the same picture as on a page.

    Every value of its state is a trait, which can be read and set while it runs, observed with
    ``explorer.observe(function, "noise")`` and linked to other widgets with :func:`ipywidgets.link`.

    Parameters
    ----------
    **parameters
        As of the function that makes its page.

    Raises
    ------
    ValueError
        If a value given to the constructor is out of range (TraitError when a trait is set later).
    """

    page: ClassVar[ExplorerSpec]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "page" in vars(cls):  # and not one of those that traits are added to
            cls._esm, cls._css = bundle(cls.page.kind), style(cls.page.kind)

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

    @property
    def settings(self) -> dict[str, Any]:
        """The values of the table, as they stand."""
        return {name: getattr(self, name) for name in self.page.values}


class ChainExplorer(Explorer):
    """A spring–block chain (paper A, Eqs. 5 and 6): :func:`~deepmech_book.explorers.chain_page` live.

    ``time`` and ``position``, x_0 … x_{L+1}, are updated when the chain pauses and every few seconds while it runs.

    Examples
    --------
    >>> explorer = ChainExplorer(noise=0.01)
    >>> explorer.friction_right = 0.05
    >>> explorer.chain().friction_right
    0.05
    """

    page = chain_page

    def chain(self) -> Chain:
        """The parameters as they stand, as the spec that :func:`~deepmech.simulators.spring_block.simulate` takes."""
        return chain_of(self.settings)


class ElasticExplorer(Explorer):
    """Locally elastic points (paper B, Eq. 2): :func:`~deepmech_book.explorers.elastic_page` live.

    ``time`` and ``points``, class by class, sample by sample, two numbers each, follow as those of the chain.

    Examples
    --------
    >>> explorer = ElasticExplorer(inter=0.5)
    >>> explorer.intra = 0.8
    >>> round(float(explorer.model_spec().gap(0.0)), 6)
    0.3
    """

    page = elastic_page

    def model_spec(self) -> ElasticSDE:
        """The parameters as they stand, as the spec that :func:`~deepmech.simulators.elastic_sde.simulate` takes."""
        return model_of(self.settings)


class RulerExplorer(Explorer):
    """A folding ruler (paper A's supplement): :func:`~deepmech_book.explorers.ruler_page` live.

    ``time`` and ``position``, the nodes from pin to hand, follow as those of the chain.

    Examples
    --------
    >>> RulerExplorer(shake_speed=0.5).specs()[1].shake_speed
    0.5
    """

    page = ruler_page

    def specs(self) -> tuple[Ruler, Pull]:
        """The parameters as they stand, as the specs that :func:`~deepmech.simulators.folding_ruler.simulate` takes."""
        return specs_of(self.settings)


class DiagramExplorer(Explorer):
    """The phase diagrams that ship with the book: :func:`~deepmech_book.explorers.diagram_page` live.

    ``left_row``, ``left_column``, ``right_row``, ``right_column`` are the cells pointed at: rows from the most linear
    networks, columns from the strongest noise.
    """

    page = diagram_page

    @traitlets.validate("left_row", "left_column", "right_row", "right_column")
    def _in_its_diagram(self, proposal: Any) -> int:
        side, axis = proposal["trait"].name.split("_")
        values = self.stored[getattr(self, side)]["axes"][axis == "column"]["values"] if self.stored else ()
        if not 0 <= proposal["value"] < (len(values) or np.inf):
            raise traitlets.TraitError(f"{side}_{axis} = {proposal['value']}: must be from 0 to {len(values) - 1}")
        return int(proposal["value"])

    def cell(self, side: str = "left") -> xr.Dataset:
        """What is pointed at: load curves, curvature and accuracy or energy of every seed, as the book has them."""
        if side not in SIDES:
            raise ValueError(f"DiagramExplorer.cell: side = {side!r}: must be one of {', '.join(SIDES)}")
        shown = diagram(getattr(self, side))
        rows, columns = shown["curvature"].dims[:2]
        return shown.isel({rows: getattr(self, f"{side}_row"), columns: getattr(self, f"{side}_column")})


class RelaxationExplorer(Explorer):
    """Walking weights (paper C, Fig. 3): :func:`~deepmech_book.explorers.relaxation_page` live."""

    page = relaxation_page

    def walk(self) -> xr.Dataset:
        """The walks that are shown, as the book has them; a ValueError where the phase has none at these settings."""
        state = self.page.state(**self.settings)
        return phase_run(self.phase).sel(temperature=state["temperature"], waiting=state["waiting"])


class TrainOne(Explorer):
    """A network to train: :func:`~deepmech_book.explorers.training_page` live; the browser trains, Python reads along.

    Setting ``running`` starts and stops it as the button does, where the widget is shown.

    Examples
    --------
    >>> one = TrainOne(dropout=0.2)
    >>> one.result().load_curve.sizes
    Frozen({'epoch': 0, 'layer': 8})
    """

    page = training_page

    def result(self) -> xr.Dataset:
        """The run so far: ``load_curve`` (epoch, layer), its ``curvature`` and the test ``accuracy`` (epoch)."""
        curves = xr.DataArray(np.reshape(self.curves, (len(self.curves), -1 if self.curves else len(self.sizes) - 1)))
        made = curves.rename(dim_0="epoch", dim_1="layer").assign_coords(epoch=range(len(self.curves)))
        settings = {name: value for name, value in self.settings.items() if name not in ("epochs", "running")}
        found = {"load_curve": made, "curvature": curvature(made), "accuracy": ("epoch", list(self.accuracy))}
        return xr.Dataset(found, attrs=settings)
