r"""Data separation: how far apart the classes are, measured against their own width (paper A, Eqs. 2, 3 and 9).

With classes :math:`k` of :math:`N_k` samples, means :math:`\bar x_k` and the global mean :math:`\bar x`,

.. math::

    D = \log\frac{\operatorname{Tr}\Sigma_w}{\operatorname{Tr}\Sigma_b}, \qquad
    \hat D = \log\operatorname{Tr}\bigl(\Sigma_w\Sigma_b^+\bigr).

Two readings of the covariances are offered as ``weights``:

``"samples"`` (default; what the authors' scripts compute)
    :math:`\Sigma_w = \sum_k \frac{N_k}{N}\operatorname{Cov}_k` and
    :math:`\Sigma_b = \sum_k \frac{N_k}{N}(\bar x_k-\bar x)(\bar x_k-\bar x)^T`. They add up to the total covariance.
``"printed"`` (Eq. 2 to the letter)
    :math:`\Sigma_w = \frac1K\sum_k \operatorname{Cov}_k` and
    :math:`\Sigma_b = \operatorname{Cov}(\frac{N_k}{N}\bar x_k)`, the plain covariance of the K vectors. With classes of
    equal size this only adds :math:`2\log K` to every D. With unequal sizes the plain average in :math:`\Sigma_w`
    matters as far as small classes are wider or narrower than large ones, and the factor inside the covariance makes D
    depend on where the origin of feature space lies.

Covariances divide by the number of samples, not by one less, so a class of a single sample has zero width and counts as
such. Class means that coincide exactly give +inf, classes that have shrunk to points −inf, features that are all equal
nan; means that coincide up to rounding give a large positive number.

Means of few samples scatter, so that plain D of n samples cannot exceed about log((n − K)/(K − 1)), however alike the
classes are (:func:`separation_ceiling`). ``debias=True`` takes the scatter's share of sampling noise out of D. D̂, and
with it the number NC1 = exp(D̂)/K of neural collapse, have no such form here; the quotient of traces exp(D), which is
also called NC1, has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from deepmech.metrics.moments import (
    ClassMoments,
    Metric,
    Weights,
    class_labels,
    count_classes,
    real_numbers,
    require_classes,
    separation_ceiling,
)

__all__ = ["ClassMoments", "data_separation", "separation_ceiling"]


def data_separation(
    features: Any,
    labels: Any,
    metric: Metric = "D",
    n_classes: int | None = None,
    weights: Weights = "samples",
    debias: bool = False,
) -> Any:
    """D (paper A, Eq. 3) or D̂ (Eq. 9) of labelled features.

    Parameters
    ----------
    features
        Array or tensor, shape (..., n, d): n samples of d features; leading axes are separate measurements, for example
        networks or layers. Accumulated in float64 whatever the input's precision, on the tensor's own device.
    labels
        Integers 0 … K − 1, shape (n,), or (..., n) with the leading axes of ``features``.
    metric
        ``"D"`` or ``"D_hat"``. D is invariant under rotations, shifts and a common scale of the features. D̂ is, too,
        and with fewer features than classes (Σ_b invertible) under every invertible linear map; with more features the
        pseudoinverse singles out orthogonal complements, and a shear changes D̂.
    n_classes
        K; by default the largest label plus one.
    weights
        ``"samples"`` or ``"printed"``, see the module's text.
    debias
        Take from Σ_b its share of sampling noise, see :meth:`ClassMoments.separation`; D only.

    Returns
    -------
    float, or ndarray of the leading shape
        Dimensionless (natural logarithm of a ratio of variances).

    Raises
    ------
    ValueError
        For labels out of range or not integer, a class without samples, features that are not finite, unequal lengths.

    Examples
    --------
    >>> x = np.array([[-1.0, 0.1], [-1.0, -0.1], [1.0, 0.1], [1.0, -0.1]])
    >>> round(data_separation(x, np.array([0, 0, 1, 1])), 6)  # log(0.01 / 1)
    -4.60517
    """
    x = features if isinstance(features, torch.Tensor) else real_numbers("features", features)
    y = class_labels(labels)
    if x.ndim < 2:
        raise ValueError(f"features have shape {tuple(x.shape)}: expected (..., samples, features)")
    lead = tuple(x.shape[:-2])
    if y.shape != (x.shape[-2],) and y.shape != (*lead, x.shape[-2]):
        raise ValueError(f"labels have shape {y.shape}: expected {(x.shape[-2],)} or {(*lead, x.shape[-2])}")
    classes = count_classes(y) if n_classes is None else n_classes
    if n_classes is None:
        require_classes(y, classes)
    out = np.empty(lead)
    for index in np.ndindex(*lead):  # one at a time, so that a member's bits do not depend on its neighbours
        moments = ClassMoments(classes, metric, weights)
        out[index] = moments.update(x[index], y if y.ndim == 1 else y[index]).separation(debias)
    return out if lead else float(out)
