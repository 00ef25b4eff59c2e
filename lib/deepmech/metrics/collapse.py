r"""Neural collapse: do class means form a simplex, and do classes shrink to their means? (paper B, §3.3)

K unit vectors form an *equiangular tight frame* (paper B, Eq. 10) where every two of them have cosine −1/(K − 1): the
corners of a regular simplex. The measures NC1 to NC3 are those of Papyan, Han and Donoho (2020).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import checks
from deepmech.metrics.separation import data_separation

__all__ = ["collapse", "etf_distance"]


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
    if isinstance(means, xr.DataArray):
        if not {"class", "feature"} <= set(means.dims):
            raise ValueError(f"etf_distance: means have dimensions {means.dims}: expected (…, class, feature)")
        m = means.transpose(..., "class", "feature")
        return m.isel({"class": 0, "feature": 0}, drop=True).copy(data=etf_distance(m.values, centred)).rename("etf")
    x = checks.array("etf_distance: means", means)
    if x.ndim < 2 or x.shape[-2] < 2:
        raise ValueError(f"etf_distance: means have shape {x.shape}: expected (…, K, p) with K ≥ 2")
    if centred:
        x = x - x.mean(-2, keepdims=True)
    k = x.shape[-2]
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    unit = np.divide(x, length, out=np.full_like(x, np.nan), where=length > 0)
    frame = k / (k - 1) * (np.eye(k) - 1 / k)
    gap = np.linalg.norm(unit @ unit.swapaxes(-1, -2) - frame, axis=(-2, -1)) / np.linalg.norm(frame)
    return gap if gap.ndim else float(gap)


def collapse(features: Any, labels: Any, weights: Any = None) -> dict[str, float]:
    r"""NC1 to NC3 of labelled features, and of the classifier on them.

    Parameters
    ----------
    features
        Array or tensor (n, p).
    labels
        Integers 0 … K − 1, shape (n,).
    weights
        Of the linear classifier that reads the features, (K, p); without it NC3 is left out.

    Returns
    -------
    dict
        All are 0 at collapse, and dimensionless:

        ``nc1``
            Variability within classes: Tr(Σ_w Σ_b⁺)/K.
        ``nc2_norms``, ``nc2_angles``
            Class means measured from the global mean: standard deviation over mean of their lengths, and largest
            distance of a cosine from −1/(K − 1).
        ``etf``
            :func:`etf_distance` of the centred means.
        ``nc3``
            Self-duality: distance of classifier and centred means, each divided by its Frobenius norm.

    Raises
    ------
    ValueError
        As :func:`~deepmech.metrics.separation.data_separation`; and for weights of another shape than the means'.

    Examples
    --------
    >>> corners = np.eye(3) - 1 / 3
    >>> found = collapse(np.repeat(corners, 4, axis=0), np.repeat(np.arange(3), 4), 7 * corners)
    >>> {name: round(value, 6) for name, value in found.items()}
    {'nc1': 0.0, 'nc2_norms': 0.0, 'nc2_angles': 0.0, 'etf': 0.0, 'nc3': 0.0}
    """
    nc1 = np.exp(data_separation(features, labels, metric="D_hat"))
    x = np.asarray(features.detach().cpu() if hasattr(features, "detach") else features, float)
    y = np.asarray(labels.cpu() if hasattr(labels, "cpu") else labels)
    k = int(y.max()) + 1
    means = np.stack([x[y == c].mean(0) for c in range(k)])
    centred = means - x.mean(0)
    length = np.linalg.norm(centred, axis=1)
    unit = centred / length[:, None]
    cosines = (unit @ unit.T)[np.triu_indices(k, 1)]
    found = {
        "nc1": float(nc1) / k,
        "nc2_norms": float(length.std() / length.mean()),
        "nc2_angles": float(np.abs(cosines + 1 / (k - 1)).max()),
        "etf": float(etf_distance(centred)),
    }
    if weights is not None:
        w = checks.array("collapse: weights", weights.detach().cpu() if hasattr(weights, "detach") else weights)
        if w.shape != centred.shape:
            raise ValueError(f"collapse: weights have shape {w.shape}: expected {centred.shape}, one row per class")
        found["nc3"] = float(np.linalg.norm(w / np.linalg.norm(w) - centred / np.linalg.norm(centred)))
    return found
