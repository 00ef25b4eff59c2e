"""One function per kind of picture, for anybody's labelled arrays and for the book.

They draw finished arrays with matplotlib and compute nothing. Axes are named by ``long_name`` and ``units`` of the data
unless names are given. Each draws on a figure (``fig=``) or on axes (``ax=``) in a theme, or makes a new one.
:func:`applied` gives any picture drawn within it the same look, also xarray's.
"""

from deepmech.plots.lines import curve_panels, layer_curves, lines, load_curves, plot, trajectories
from deepmech.plots.phase import heat, network_diagram, phase_diagram, phases, slices
from deepmech.plots.points import accuracy_by_bend, clouds, dots, scatter
from deepmech.plots.sketches import analogy, folding_ruler, friction_law, images
from deepmech.plots.style import DARK, LIGHT, Theme, applied

__all__ = [
    "DARK",
    "LIGHT",
    "Theme",
    "accuracy_by_bend",
    "analogy",
    "applied",
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
    "phases",
    "plot",
    "scatter",
    "slices",
    "trajectories",
]
