"""Pictures of load curves for anybody's arrays: curves over layers, and phase diagrams of them.

They draw finished, labelled arrays with matplotlib and compute nothing. Axes are named by ``long_name`` and ``units``
of the data unless names are given. :func:`applied` gives any picture drawn within it the same look, also seaborn's.
"""

from deepmech.plots.curves import load_curves
from deepmech.plots.layers import in_words, plot
from deepmech.plots.phase import phase_diagram
from deepmech.plots.style import DARK, LIGHT, Theme, applied

__all__ = ["DARK", "LIGHT", "Theme", "applied", "in_words", "load_curves", "phase_diagram", "plot"]
