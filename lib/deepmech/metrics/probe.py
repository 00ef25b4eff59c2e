r"""The load of regression: how well a linear probe reads the target off a layer's features (paper A, SM S5).

With features :math:`x_i` and real targets :math:`y_i`, i = 1 … N,

.. math::

    D = \min_{w, b} \sqrt{\frac1N \sum_i (y_i - w \cdot x_i - b)^2} .

It plays the part that data separation plays in classification: small when the layer has laid out its features along the
target.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core import specs
from deepmech.metrics.separation import real_numbers

__all__ = ["probe_error"]


def probe_error(features: Any, targets: Any) -> float:
    """Root mean squared error of the best linear probe of ``targets``, on the very samples it is fitted to.

    Parameters
    ----------
    features
        Shape (n, d): n samples of d features. Computed in float64 whatever the precision; directions that are
        indistinguishable from a linear combination of others at the precision *given* are left out.
    targets
        Real numbers, shape (n,).

    Returns
    -------
    float
        In units of the targets, from 0 to their standard deviation (divided by n, not by n − 1). It does not change
        under invertible affine maps of the features. Features that tell nothing of the targets still fit them by
        chance: d independent ones leave a fraction 1 − d/(n − 1) of the variance on average, and none if d ≥ n − 1.

    Raises
    ------
    ValueError
        For shapes that do not fit, or values that are not finite.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> round(probe_error(x, 2 * x[:, 0] - 1), 12), probe_error(x, np.array([1.0, -1.0, -1.0, 1.0]))
    (0.0, 1.0)
    """
    x, y = real_numbers("probe_error: features", features), specs.check_array("probe_error: targets", targets)
    if x.ndim != 2 or y.shape != x.shape[:1] or y.size == 0:
        raise ValueError(f"features have shape {x.shape}, targets {y.shape}: expected (samples, features), (samples,)")
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        raise ValueError("probe_error: features and targets must be finite; a network that diverged has no load curve")
    resolution = np.finfo(x.dtype if x.dtype.kind == "f" else np.float64).eps * max(x.shape)
    scale = specs.unit_scale(y)
    y = y * scale
    y = y - y.mean()
    x = x.astype(np.float64)
    x = x * specs.unit_scale(x, axis=0)
    size = np.abs(x).max(axis=0, initial=0.0)
    x = x - x.mean(axis=0)
    width = np.sqrt(np.mean(x**2, axis=0))
    # A feature that is constant up to rounding is not stretched to unit width; dead units are of this kind.
    x = x[:, width > resolution * size] / width[width > resolution * size]
    if x.size:
        basis, spread, _ = np.linalg.svd(x, full_matrices=False)
        basis = basis[:, spread > resolution * spread[0]]
        y = y - basis @ (basis.T @ y)
    return float(np.sqrt(np.mean(y**2)) / scale[0])
