"""Quantities measured on features and curves, as functions of arrays.

:mod:`~deepmech.metrics.separation` (data separation), :mod:`~deepmech.metrics.load_curve` (of any torch model, layer by
layer), :mod:`~deepmech.metrics.curvature` (the shape of load curves), :mod:`~deepmech.metrics.interpret` (what they
say, alone and side by side, and what their samples leave open), :mod:`~deepmech.metrics.elasticity` (intra- and
inter-class effects from logits), :mod:`~deepmech.metrics.separability` (can a hyperplane tell the classes apart; neural
collapse).
"""
