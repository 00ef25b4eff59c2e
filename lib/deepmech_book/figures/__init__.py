"""The library's pictures for pages: in light and dark, with words that stand for them and numbers to take away.

Every function is that of :mod:`deepmech.plots` with the same name and arguments. It also takes ``alt``, what the
picture shows in a sentence, and ``figure``, the registry id of what it reproduces, and returns a :class:`Picture`.
"""

from deepmech import plots
from deepmech_book.figures.picture import Picture, pictured

accuracy_by_bend = pictured(plots.accuracy_by_bend)
analogy = pictured(plots.analogy)
clouds = pictured(plots.clouds)
curve_panels = pictured(plots.curve_panels)
dots = pictured(plots.dots)
folding_ruler = pictured(plots.folding_ruler)
friction_law = pictured(plots.friction_law)
heat = pictured(plots.heat)
images = pictured(plots.images)
layer_curves = pictured(plots.layer_curves)
lines = pictured(plots.lines)
load_curves = pictured(plots.load_curves)
network_diagram = pictured(plots.network_diagram)
phase_diagram = pictured(plots.phase_diagram)
phases = pictured(plots.phases)
scatter = pictured(plots.scatter)
slices = pictured(plots.slices)
trajectories = pictured(plots.trajectories)

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
    "phases",
    "scatter",
    "slices",
    "trajectories",
]
