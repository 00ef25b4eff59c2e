"""Quantities measured on features and curves, as functions of arrays.

:mod:`~deepmech.metrics.separation` (data separation), :mod:`~deepmech.metrics.load_curve` (of any torch model, layer by
layer), :mod:`~deepmech.metrics.intervals` and :mod:`~deepmech.metrics.comparison` (what its samples leave open),
:mod:`~deepmech.metrics.curvature` and :mod:`~deepmech.metrics.reading` (the shape of load curves),
:mod:`~deepmech.metrics.elasticity` (intra- and inter-class effects from logits), :mod:`~deepmech.metrics.collapse`
(neural collapse), :mod:`~deepmech.metrics.separability` (can a hyperplane tell the classes apart).
"""
