"""Pictures for a researcher's own networks, chains and labelled arrays: load curves and phase diagrams.

They draw finished arrays with matplotlib and compute nothing. Axes are named by ``long_name`` and ``units`` of the data
unless names are given. Each draws on a figure (``fig=``) or on axes (``ax=``), or makes a new one.
:func:`applied` gives any picture drawn within it the same look, also xarray's and seaborn's.
"""

from deepmech.plots.load_curves import layer_curves, load_curves, plot_load_curve
from deepmech.plots.phase_diagram import phase_diagram
from deepmech.plots.style import applied

__all__ = [
    "applied",
    "layer_curves",
    "load_curves",
    "phase_diagram",
    "plot_load_curve",
]
