r"""Neural collapse: do class means form a simplex? (paper B, §3.3)

K unit vectors form an *equiangular tight frame* (paper B, Eq. 10) where every two of them have cosine −1/(K − 1): the
corners of a regular simplex.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import checks
from deepmech.core.labels import with_dims


def etf_distance(means: Any, centred: bool = False) -> Any:
    r"""How far the directions of class means are from an equiangular tight frame.

    With the Gram matrix G of the unit vectors and :math:`T=\frac{K}{K-1}(1-\frac1K\mathbf 1\mathbf 1^T)`, the
    distance is :math:`|G-T|/|T|` in the Frobenius norm: 0 for the frame, independent of lengths and of rotations.

    Parameters
    ----------
    means
        Class means, dimensions (…, class, feature); a plain array of shape (…, K, p) will do.
    centred
        Measure from the mean over classes, as neural collapse does. Paper B's Proposition 3.4 measures from the origin.

    Returns
    -------
    float, ndarray or DataArray of the leading shape
        nan where a mean has no length, hence no direction.

    Examples
    --------
    >>> corners = np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
    >>> bool(etf_distance(corners) < 1e-12), round(float(etf_distance(np.eye(3))), 4)
    (True, 0.5774)
    """
    m = with_dims("etf_distance: means", means, "class", "feature")
    x = checks.array("etf_distance: means", m.values)
    if x.shape[-2] < 2:
        raise ValueError(f"etf_distance: means have shape {x.shape}: expected (…, K, p) with K ≥ 2")
    if centred:
        x = x - x.mean(-2, keepdims=True)
    k = x.shape[-2]
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    unit = np.divide(x, length, out=np.full_like(x, np.nan), where=length > 0)
    frame = k / (k - 1) * (np.eye(k) - 1 / k)
    gap = np.linalg.norm(unit @ unit.swapaxes(-1, -2) - frame, axis=(-2, -1)) / np.linalg.norm(frame)
    if isinstance(means, xr.DataArray):
        return m.isel({"class": 0, "feature": 0}, drop=True).copy(data=gap).rename("etf")
    return gap if gap.ndim else float(gap)
