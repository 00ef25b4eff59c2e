"""Quantities measured on features and curves, as functions of arrays.

:mod:`~deepmech.metrics.separation` (data separation and load curves), :mod:`~deepmech.metrics.curvature` (the shape of
load curves), :mod:`~deepmech.metrics.statistics` (rank correlation).
"""
