"""One function per kind of picture. They draw finished arrays and compute nothing; each returns a :class:`Picture`."""

from deepmech_book.figures.curves import trajectories
from deepmech_book.figures.diagrams import accuracy_by_bend, load_curves, network_diagram, phase_diagram
from deepmech_book.figures.dots import dots
from deepmech_book.figures.heat import heat
from deepmech_book.figures.images import images
from deepmech_book.figures.layers import layer_curves
from deepmech_book.figures.panels import curve_panels
from deepmech_book.figures.picture import Picture
from deepmech_book.figures.plots import lines, scatter
from deepmech_book.figures.ruler import folding_ruler
from deepmech_book.figures.sketches import analogy, friction_law
from deepmech_book.figures.slices import slices
from deepmech_book.figures.spaces import clouds

__all__ = [
    "Picture",
    "accuracy_by_bend",
    "analogy",
    "clouds",
    "curve_panels",
    "dots",
    "folding_ruler",
    "friction_law",
    "heat",
    "images",
    "layer_curves",
    "lines",
    "load_curves",
    "network_diagram",
    "phase_diagram",
    "scatter",
    "slices",
    "trajectories",
]
