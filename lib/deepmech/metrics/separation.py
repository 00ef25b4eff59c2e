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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core import checks
from deepmech.metrics.moments import (
    ClassMoments,
    Metric,
    Weights,
    class_labels,
    count_classes,
    real_numbers,
    require_classes,
)
from deepmech.metrics.probing import LayerProbe
from deepmech.metrics.untouched import undisturbed, unwrapped

__all__ = ["ClassMoments", "data_separation", "load_curve", "over_positions"]


def data_separation(
    features: Any, labels: Any, metric: Metric = "D", n_classes: int | None = None, weights: Weights = "samples"
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
    out = np.empty(lead)
    for index in np.ndindex(*lead):  # one at a time, so that a member's bits do not depend on its neighbours
        moments = ClassMoments(classes, metric, weights)
        out[index] = moments.update(x[index], y if y.ndim == 1 else y[index]).separation()
    return out if lead else float(out)


def load_curve(
    model: nn.Module,
    x: Any,
    y: Any,
    layers: Iterable[str] | None = None,
    metric: Metric = "D",
    batch_size: int = 1024,
    n_classes: int | None = None,
    weights: Weights = "samples",
    pool: Callable[[Any], torch.Tensor] | None = None,
    diverged_to_nan: bool = False,
) -> xr.DataArray:
    """Data separation at each layer of a model: D (paper A, Eq. 3) or D̂ (Eq. 9).

    The samples go through the model once, in evaluation mode and without gradients. Nothing of the model is changed,
    nor any random state (:func:`deepmech.metrics.untouched.undisturbed`), and all hooks are removed, also after an
    error.

    Parameters
    ----------
    model
        Any module that is called with one tensor. Inside ``torch.compile`` or ``DistributedDataParallel`` the module
        within is measured, on this process alone.
    x
        Inputs, array or tensor of shape (n, ...). Taken to the device of the model's parameters, and if floating to
        their precision. Never modified.
    y
        Classes 0 … K − 1, shape (n,).
    layers
        Names out of ``model.named_modules()``, in the order wanted; ``"input"`` stands for ``x`` itself and
        ``"output"`` for what the model returns. By default as paper A measures: first the input, or the output of a
        normalisation layer if the model applies one directly to it; then every activation module (``nn.ReLU``,
        ``nn.GELU``, …) in the order of their calls, hence before dropout. The output (logits) is left out. A module
        that is called several times in a pass is several layers: ``"act:1"``, ``"act:2"``, … in the order of calls.
    metric
        ``"D"`` or ``"D_hat"``.
    batch_size
        Samples per forward pass; changes memory and rounding only.
    n_classes
        K; by default the largest label plus one.
    weights
        Which reading of Eq. 2, see :mod:`deepmech.metrics.separation`.
    pool
        Applied to what each layer returns, the input included, before it is measured: for example
        :func:`over_positions`, or ``lambda h: h[:, 0]`` for the class token of a sequence.
    diverged_to_nan
        A layer with values that are not finite becomes nan instead of an error.

    Returns
    -------
    DataArray
        Dimension ``layer`` with the layers' names; further coordinates along it: ``depth`` counts 0, 1, …, and ``kind``
        names the modules' classes. Outputs with more than two axes are flattened to (samples, features): each position
        of a feature map or sequence counts as features of its own.

    Raises
    ------
    ValueError
        For unknown layer names; a layer that is never called; a plain name of a layer that is called more than once per
        pass; an output that is not a tensor or has no sample axis; values that are not finite (the layer is named); a
        class without samples.

    Examples
    --------
    >>> from torch import nn
    >>> model = nn.Sequential(nn.BatchNorm1d(64), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10))
    >>> from deepmech.data import load
    >>> digits = load("digits")
    >>> load_curve(model, digits.x_train, digits.y_train).layer.values.tolist()
    ['0', '2']
    """
    checks.instance("load_curve: model", model, nn.Module)
    model = unwrapped(model)
    inputs, labels = _tensors(model, x, y)
    checks.whole("load_curve: batch_size", batch_size, allowed="a whole number, at least 1")
    most = count_classes(labels.numpy())
    classes = most if n_classes is None else checks.whole("load_curve: n_classes", n_classes, most)
    require_classes(np.bincount(labels.numpy(), minlength=classes))
    if isinstance(layers, str) or not (layers is None or isinstance(layers, Iterable)):
        raise ValueError(f"load_curve: layers = {layers!r}: give a list of names")
    names = None if layers is None else list(layers)
    if not isinstance(diverged_to_nan, bool):
        checks.refuse("load_curve: diverged_to_nan", diverged_to_nan, "True or False")
    if pool is not None and not callable(pool):
        checks.refuse("load_curve: pool", pool, "a function of what a layer returns, such as over_positions")
    probe = LayerProbe(model, names, classes, metric, weights, pool, diverged_to_nan)
    with undisturbed(model), probe.attached():
        for start in range(0, len(inputs), batch_size):
            probe.run(inputs[start : start + batch_size], labels[start : start + batch_size])
    curve = probe.curve()
    return xr.DataArray(
        list(curve.values()),
        dims="layer",
        coords={
            "layer": list(curve),
            "depth": ("layer", np.arange(len(curve))),
            "kind": ("layer", [probe.kind(name) for name in curve]),
        },
        name=metric,
        attrs={"metric": metric, "weights": weights, "samples": len(inputs), "classes": classes},
    )


def over_positions(features: torch.Tensor) -> torch.Tensor:
    """Mean over positions, as ``pool`` of :func:`load_curve`: what is left when it does not matter *where* things are.

    Feature maps (n, channels, height, width, …) are averaged over all axes from the third on, sequences
    (n, tokens, features) over the second; (n, features) stays as it is. The channels-first sequences of ``nn.Conv1d``
    look like tokens: give ``lambda h: h.mean(2)`` for those.

    Examples
    --------
    >>> over_positions(torch.zeros(5, 16, 8, 8)).shape, over_positions(torch.zeros(5, 10, 32)).shape
    (torch.Size([5, 16]), torch.Size([5, 32]))
    """
    if features.ndim > 3:
        return features.flatten(2).mean(2)
    return features.mean(1) if features.ndim == 3 else features


def _tensors(model: nn.Module, x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor]:
    inputs = x.detach() if isinstance(x, torch.Tensor) else torch.tensor(real_numbers("load_curve: x", x))
    labels = torch.tensor(class_labels(y))
    if inputs.ndim == 0 or labels.shape != inputs.shape[:1]:
        raise ValueError(f"load_curve: x {tuple(inputs.shape)} and y {tuple(labels.shape)}: expected (n, ...) and (n,)")
    dtype = next((p.dtype for p in model.parameters() if p.is_floating_point()), None)
    return (inputs.to(dtype) if dtype and inputs.is_floating_point() else inputs), labels
