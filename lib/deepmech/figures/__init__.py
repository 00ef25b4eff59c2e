"""One function per kind of picture. They draw finished arrays and compute nothing; each returns a :class:`Picture`."""

from deepmech.figures.curves import load_curves, trajectories
from deepmech.figures.dots import dots
from deepmech.figures.heat import heat
from deepmech.figures.images import images
from deepmech.figures.layers import layer_curves
from deepmech.figures.networks import accuracy_by_bend, network_diagram
from deepmech.figures.panels import curve_panels
from deepmech.figures.phase import phase_diagram
from deepmech.figures.picture import Picture
from deepmech.figures.plots import lines, scatter
from deepmech.figures.ruler import folding_ruler
from deepmech.figures.sketches import analogy, friction_law
from deepmech.figures.slices import slices
from deepmech.figures.spaces import clouds

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
