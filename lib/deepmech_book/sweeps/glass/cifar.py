"""The glass paper's second data set: what a straight line does on CIFAR-10 and on MNIST (Figs. A3, A4(d-f), A8)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.specs import over
from deepmech.sweeps import Sweep, recomputed
from deepmech_book.sweeps.glass.walks import Binary, binary, fingerprint

NAME = "cifar10-jpeg"
COLLAPSED = 0.499
"""Data loss above which a network counts as fallen to the origin, where it is ½: on CIFAR-10 a learnt loss is high."""


def single_path(data: Binary) -> float:
    r"""The largest λ at which one linear path through seven layers stays away from the origin.

    The path computes :math:`f = a\,\hat u\cdot x` along the direction of the least squares fit. Two units of each layer
    carry it, one for either sign, so it costs :math:`7\lambda a^{2/7}`; where
    :math:`-L'(a)\,a^{5/7}/2 < \lambda` for all a, no such path is at rest but the one with a = 0.

    Examples
    --------
    >>> from deepmech_book.sweeps.glass.walks import binary
    >>> round(single_path(binary("digits", whiten=True)), 2)
    0.08
    """
    direction = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    margin = data.y * (data.x @ direction) / np.linalg.norm(direction)
    gains = np.geomspace(1e-3, 30.0, 400)
    pull = [(np.maximum(0, 1 - a * margin) * margin).mean() * a ** (5 / 7) / 2 for a in gains]
    return float(max(pull))


def linear_sweep(name: str, n_data: int) -> Sweep:
    """What a straight line through as many samples as a panel of Fig. 1(c) or A3(b) has seen explains, and its λ*."""
    compute, cells = "glass.linear_networks", {"n_data": over("n_data", [n_data])}
    return Sweep(f"glass-linear-{name}", compute, cells, {"name": name}, data=fingerprint(name, n_data, whiten=True))


@recomputed()
def linear_cells(cells: xr.Dataset, name: str) -> xr.Dataset:
    """``explained`` share of the labels' variance, and ``gives_way``, the λ of :func:`single_path`, per cell."""
    rows = []
    for n_data in cells["n_data"].values:
        data = binary(name, int(n_data), whiten=True)
        left = data.y - data.x @ np.linalg.lstsq(data.x, data.y, rcond=None)[0]
        rows.append((1 - left.var() / data.y.var(), single_path(data)))
    explained, gives_way = np.transpose(rows)
    return xr.Dataset({"explained": ("cell", explained), "gives_way": ("cell", gives_way)}, {"cell": cells.cell})
