r"""Data separation: how far apart the classes are, measured against their own width (paper A, Eqs. 2, 3 and 9).

With classes :math:`k` of :math:`N_k` samples, means :math:`\bar x_k` and the global mean :math:`\bar x`,

.. math::

    D = \log\frac{\operatorname{Tr}\Sigma_w}{\operatorname{Tr}\Sigma_b}, \qquad
    \hat D = \log\operatorname{Tr}\bigl(\Sigma_w\Sigma_b^+\bigr).

The covariances are those that the authors' scripts compute, which add up to the total covariance:
:math:`\Sigma_w = \sum_k \frac{N_k}{N}\operatorname{Cov}_k` and
:math:`\Sigma_b = \sum_k \frac{N_k}{N}(\bar x_k-\bar x)(\bar x_k-\bar x)^T`. (Eq. 2 as printed has the weights
inside the covariance; the book says what that would change.)

Covariances divide by the number of samples, not by one less, so a class of a single sample has zero width and counts as
such. Class means that coincide exactly give +inf, classes that have shrunk to points −inf, features that are all equal
nan; means that coincide up to rounding give a large positive number.

Means of few samples scatter, so that plain D of n samples cannot exceed about log((n − K)/(K − 1)), however alike the
classes are (:func:`separation_ceiling`). ``debias=True`` takes the scatter's share of sampling noise out of D. D̂, and
with it the number NC1 = exp(D̂)/K of neural collapse, have no such form here; the quotient of traces exp(D), which is
also called NC1, has.

Wrong labels bound D from below. If a share p of the labels of K equal classes is wrong, evenly over the other classes,
the class means shrink by 1 − pK/(K − 1), and of the between-class scatter the share a = (1 − pK/(K − 1))² is left; the
rest widens the classes. So D becomes log((exp(D) + 1 − a)/a), and however well a layer separates the true classes, it
saturates at log((1 − a)/a): with ten classes at −3.1 for 2 % of wrong labels, and at −2.1 for 5 %. Since that lifts the
deep end of a load curve most, a straight curve looks convex.

:class:`ClassMoments` collects what it is computed from batch by batch: counts, means and scatter of the classes.
:func:`probe_error` takes its place where targets are real numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self, get_args

import numpy as np
import torch

from deepmech.core import specs


def data_separation(
    features: Any,
    labels: Any,
    metric: Metric = "D",
    n_classes: int | None = None,
    debias: bool = False,
) -> float:
    """D (paper A, Eq. 3) or D̂ (Eq. 9) of labelled features. Wrong labels bound D from below, see the module.

    Parameters
    ----------
    features : array_like or Tensor, (n, d)
        n samples of d features. Accumulated in float64 whatever the input's precision, on the tensor's own device.
    labels : array_like, (n,)
        Integers 0 … K − 1.
    metric : str
        ``"D"`` or ``"D_hat"``. D is invariant under rotations, shifts and a common scale of the features. D̂ is, too,
        and with fewer features than classes (Σ_b invertible) under every invertible linear map; with more features the
        pseudoinverse singles out orthogonal complements, and a shear changes D̂.
    n_classes : int, optional
        K; by default the largest label plus one.
    debias : bool
        Take from Σ_b its share of sampling noise, see :meth:`ClassMoments.separation`; D only.

    Returns
    -------
    float
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
    if y.size == 0:
        raise ValueError("labels: none given; expected integers 0 … K − 1")
    n_classes = int(y.max()) + 1 if n_classes is None else specs.check_int("n_classes", n_classes, 2)
    require_classes(y, n_classes)
    return ClassMoments(n_classes, metric).update(_in_range(x), y).separation(debias)


Metric = Literal["D", "D_hat"]
#: What a layer's features (n, units) and labels (n,) tell, as one number.
MetricFunction = Callable[[np.ndarray, np.ndarray], float]

# Directions whose between-class variance is below the square of this, relative to the largest, are taken as absent from
# the range of the between-class covariance: double precision cannot tell them from zero when the matrix is formed.
RANK_TOLERANCE = 1e-7
_LARGEST_SCATTER = 2**28  # numbers, that is 2 GiB
_MOST_CLASSES = 2**24


class NotFiniteError(ValueError):
    """Features are nan or infinite."""


class ClassMoments:
    """Counts, means and scatter of each class, collected batch by batch in double precision.

    Every batch is centred on its own class means before anything is squared, and batches are combined by the pairwise
    update of Chan, Golub and LeVeque: neither a large offset of the features nor collapsed classes cost digits. The
    result does not depend on how the samples were cut into batches or ordered, up to rounding.

    Parameters
    ----------
    n_classes
        Number of classes K; labels run from 0 to K − 1.
    metric
        ``"D"`` keeps only traces; ``"D_hat"`` keeps the within-class scatter, a d × d matrix.

    Examples
    --------
    >>> x, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> whole, parts = ClassMoments(2), ClassMoments(2)
    >>> _ = whole.update(x, y)
    >>> _ = parts.update(x[:3], y[:3]).update(x[3:], y[3:])
    >>> bool(np.isclose(whole.separation(), parts.separation()))
    True
    """

    def __init__(self, n_classes: int, metric: Metric = "D") -> None:
        if metric not in get_args(Metric):
            raise ValueError(f"metric = {metric!r}: must be one of {get_args(Metric)}")
        allowed = f"a whole number of at least two classes, at most {_MOST_CLASSES:,}"
        n_classes = specs.check_int("n_classes", n_classes, 2, _MOST_CLASSES, allowed)
        self.n_classes, self.metric = n_classes, metric
        self.count = torch.zeros(n_classes, dtype=torch.float64)
        self.mean: torch.Tensor | None = None  # (K, d)
        self.spread = torch.zeros(n_classes, dtype=torch.float64)  # sum over a class of |x - mean|^2
        self.scatter: torch.Tensor | None = None  # (d, d): sum of (x - mean)(x - mean)^T

    def update(self, features: Any, labels: Any) -> Self:
        """Add a batch: ``features`` of shape (n, d), ``labels`` of shape (n,), arrays or tensors on any device."""
        x, y = _checked(features, labels, self.n_classes)
        if len(x) == 0:
            return self
        specs.check_memory("n_classes", self.n_classes, 2.0 * self.n_classes * (len(x) + x.shape[1]))
        member = torch.nn.functional.one_hot(y, self.n_classes).to(x.dtype)  # (n, K)
        count = member.sum(0)
        # Centre on one sample of each class first: a class that is a single point then has a width of exactly zero.
        anchor = x[member.argmax(0)]
        shifted = anchor[y].neg_().add_(x)  # in place where possible: fresh memory is what large features cost most
        offset = member.T @ shifted / count.clamp(min=1)[:, None]
        centred, scatter = shifted.sub_(offset[y]), None
        if self.metric == "D_hat":
            if x.shape[1] ** 2 > _LARGEST_SCATTER:
                raise ValueError(
                    f"metric = 'D_hat' with {x.shape[1]} features needs a matrix of that size squared, more than "
                    "2 GiB: use metric = 'D', or average the features over space first"
                )
            scatter = centred.T @ centred
        spread = member.T @ centred.square_().sum(1)
        self._combine(count, anchor + offset, spread, scatter)
        return self

    def grow(self, n_classes: int) -> None:
        """Room for more classes, which have no samples yet."""
        more = n_classes - self.n_classes
        if more > 0:
            self.n_classes = n_classes
            self.count, self.spread = (torch.nn.functional.pad(t, (0, more)) for t in (self.count, self.spread))
            self.mean = None if self.mean is None else torch.nn.functional.pad(self.mean, (0, 0, 0, more))

    def _combine(
        self, count: torch.Tensor, mean: torch.Tensor, spread: torch.Tensor, scatter: torch.Tensor | None
    ) -> None:
        if self.mean is None:
            self.count, self.mean, self.spread, self.scatter = count, mean, spread, scatter
            return
        if mean.shape != self.mean.shape:
            raise ValueError(f"features have {mean.shape[1]} columns, earlier batches had {self.mean.shape[1]}")
        total = self.count + count
        gap = mean - self.mean
        pair = self.count * count / total.clamp(min=1)
        self.spread = self.spread + spread + pair * gap.square().sum(1)
        if self.scatter is not None and scatter is not None:
            self.scatter = self.scatter + scatter + gap.T * pair @ gap
        self.mean = self.mean + gap * (count / total.clamp(min=1))[:, None]
        self.count = total

    def separation(self, debias: bool = False) -> float:
        r"""D or D̂ of all samples so far.

        Parameters
        ----------
        debias
            Take from the between-class scatter its share of sampling noise, D only (paper A has the plain form, Eq. 3).
            Means of :math:`n_k` samples scatter even where classes are alike. With the traces of the classes' unbiased
            covariances, :math:`v_k` (of a class of one sample the pooled one), and :math:`p_k = n_k/n`, this is

            .. math:: D = \log\frac{\sum_k p_k v_k}{\operatorname{Tr}\Sigma_b - \sum_k p_k(1-p_k)\,v_k/n_k},

            both of whose terms are right on average for any law of the features with finite variance, any number of
            them and any sizes of classes.

        Returns
        -------
        float
            With ``debias`` nan where the corrected scatter is not positive: what is there, chance shows as well. D then
            scatters more than in the plain form, most where noise is a large part, and on average lies above the truth
            by half the variance of the relative error of its quotient, as logarithms do.

        Raises
        ------
        ValueError
            If a class has no sample; the message names it. With ``debias`` for D̂: it divides by single directions of
            the scatter of means, which sampling noise tilts and stretches, and subtracting its mean from the matrix
            leaves one that need not be positive.

        Examples
        --------
        >>> x, y = np.arange(8.0)[:, None] ** 2, np.arange(8) // 4
        >>> [round(ClassMoments(2).update(x, y).separation(debias), 3) for debias in (False, True)]
        [-0.868, -0.508]
        """
        require_classes(self.count.nonzero()[:, 0].cpu().numpy(), self.n_classes)
        assert self.mean is not None
        if debias and self.metric != "D":
            raise ValueError("debias = True: there is no such form of D̂; use metric = 'D', or debias = False")
        factor, share = _between_factor(self.count, self.mean), _shares(self.count)
        if self.metric == "D":
            between = float(factor.square().sum())
            if not debias:
                return _log_ratio(float((share * self.spread / self.count).sum()), between)
            scale = specs.unit_scale(between, power=6).item()
            return float(debiased(self.count, self.spread.new_tensor(between * scale), self.spread * scale))
        assert self.scatter is not None
        within = self.scatter / self.count.sum()
        whiten = _inverse_root(factor)
        if whiten.shape[1] == 0:
            return _log_ratio(float(within.trace()), 0.0)
        return _log_ratio(max(0.0, float((whiten * (within @ whiten)).sum())), 1.0)  # rounding may fall below zero


def debiased(count: torch.Tensor, between: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
    """D without the sampling noise of class means, see :meth:`ClassMoments.separation`.

    Parameters
    ----------
    count, spread : (…, K), samples of each class, and the sum over them of squared distances from their mean. Leading
        axes are separate measurements; a class without samples does not count.
    between : (…), the trace of Σ_b.

    Returns
    -------
    tensor (…), nan where nothing is left of the trace.

    Examples
    --------
    >>> count, spread, between = (torch.tensor(v, dtype=torch.float64) for v in ([10, 10], [9, 9], 2.1))
    >>> round(debiased(count, between, spread).item(), 4)  # log(1 / (2.1 - 0.05))
    -0.7178
    """
    free = (count - 1).clamp(min=0)
    pooled = (spread.sum(-1) / free.sum(-1))[..., None]  # nan if every class is a single sample
    variance = torch.where(free > 0, spread / free.clamp(min=1), pooled.expand_as(free))
    within = (_shares(count) * variance).sum(-1)
    corrected = between - (_noise_shares(count) * variance).sum(-1)
    return torch.where(corrected > 0, torch.log(within) - torch.log(corrected.clamp(min=0)), torch.nan)


def separation_ceiling(count: Any) -> float:
    r"""About what plain D shows where classes are alike: no plain D is larger, but by chance.

    With labels dealt out at random the between-class scatter is (K − 1)/(n − 1) of the total, on average over all ways
    to deal, whatever the features. So D is about :math:`\log\frac{n-K}{K-1}`.

    Parameters
    ----------
    count
        Samples of each class, (K,).

    Returns
    -------
    float
        nan for classes of single samples.

    Examples
    --------
    >>> round(separation_ceiling([10] * 100), 2)  # a thousand samples of a hundred classes
    2.21
    """
    count = torch.as_tensor(count, dtype=torch.float64)
    within = (_shares(count) * (count - 1) / count).sum()
    return _log_ratio(float(within), float(_noise_shares(count).sum()))


def probe_error(features: Any, targets: Any) -> float:
    r"""The load of regression (paper A, SM S5): how well a linear probe reads the target off a layer's features.

    It is the root mean squared error of the best linear probe, on the very samples it is fitted to: with features
    :math:`x_i` and real targets :math:`y_i`, i = 1 … N,

    .. math::

        D = \min_{w, b} \sqrt{\frac1N \sum_i (y_i - w \cdot x_i - b)^2} .

    It plays the part that data separation plays in classification: small when the layer has laid out its features along
    the target.

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


def real_numbers(what: str, values: Any) -> np.ndarray:
    """An array of real numbers or booleans, as it is; anything else is refused by name."""
    try:
        found = np.asarray(values)
    except (TypeError, ValueError):
        specs.raise_invalid(what, values, "an array of real numbers, every row as long as the others")
    specs.check_unmasked(what, values)
    if found.dtype.kind not in "biuf":
        raise ValueError(f"{what} are of type {found.dtype}: must be an array or tensor of real numbers")
    return found


def as_tensor(values: Any) -> torch.Tensor:
    """Numbers as a tensor: also of arrays that torch does not read, with negative strides or another order of bytes."""
    if isinstance(values, torch.Tensor):
        return values
    found = np.asarray(values)
    kind = found.dtype.newbyteorder("=")
    if kind.kind == "f" and kind.itemsize > 8:
        kind = np.dtype(float)
    if kind.kind == "u" and kind.itemsize > 1:
        kind = np.dtype(np.int64)
    return torch.from_numpy(np.array(found, dtype=kind, order="C"))


def class_labels(labels: Any) -> np.ndarray:
    """Labels as an array, after checking that they are integers."""
    specs.check_unmasked("labels", labels)
    found = np.asarray(labels.cpu() if isinstance(labels, torch.Tensor) else labels)
    if found.dtype.kind not in "iu":
        raise ValueError(
            f"labels have type {found.dtype}: expected integers 0 … K − 1, one class number per sample "
            "(np.unique(labels, return_inverse=True)[1] numbers the classes of any labels)"
        )
    return found


def require_classes(labels: np.ndarray, classes: int, where: str = "") -> None:
    """Raise a ValueError that names the classes without samples, if there are any; nothing is laid out for them.

    Parameters
    ----------
    labels : whole numbers from 0 on, any shape.
    classes : K.
    where : what the message begins with.
    """
    present = np.unique(labels)
    missing = classes - len(present)
    if missing > 0:
        # The first few that are missing are among this many.
        first = np.setdiff1d(np.arange(min(classes, len(present) + specs.FEW)), present)
        raise ValueError(
            f"{where}class {specs.join_repr(first[: specs.FEW], missing)} of {classes} has no sample: take more "
            "samples, of every class, or number the classes that occur from 0"
        )


def _checked(features: Any, labels: Any, n_classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = features.detach() if isinstance(features, torch.Tensor) else as_tensor(real_numbers("features", features))
    if x.is_complex():
        raise ValueError(f"features have type {x.dtype}: must be real numbers; take the real part, or the modulus")
    # Apple's GPUs have no double precision.
    x = (x.cpu() if x.device.type == "mps" else x).to(torch.float64)
    y = as_tensor(class_labels(labels)).to(x.device, torch.int64)
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ValueError(
            f"features {tuple(x.shape)} and labels {tuple(y.shape)}: expected (samples, features) and (samples,)"
        )
    if x.shape[1] == 0:
        raise ValueError(f"features have shape {tuple(x.shape)}: samples without a single feature have no separation")
    if len(y) and (int(y.min()) < 0 or int(y.max()) >= n_classes):
        raise ValueError(f"labels run from {int(y.min())} to {int(y.max())}: expected 0 … {n_classes - 1}")
    require_finite(x)
    return x, y


def _in_range(features: Any) -> Any:
    """Features, on a common scale where their squares are numbers of double precision: no measure depends on it."""
    x = as_tensor(features)
    largest = float(x.detach().abs().max()) if x.numel() and x.is_floating_point() else 0.0
    scale = specs.unit_scale(largest).item()
    return features if scale == 1 else x.double() * scale


def require_finite(features: torch.Tensor) -> None:
    """Raise :class:`NotFiniteError` if a feature is nan or infinite."""
    # The sum is the cheaper question; it may also overflow.
    if not bool(features.sum().isfinite()) and not bool((finite := torch.isfinite(features)).all()):
        raise NotFiniteError(f"features: {int((~finite).sum())} of {features.numel()} values are nan or infinite")


def _shares(count: torch.Tensor) -> torch.Tensor:
    return count / count.sum(-1, keepdim=True)


def _noise_shares(count: torch.Tensor) -> torch.Tensor:
    """What the variance of each class adds to the expected trace of Σ_b by the scatter of its mean."""
    p = _shares(count)
    return p * (1 - p) / count.clamp(min=1)


def _between_factor(count: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
    """B of shape (K, d) with B^T B = Σ_b."""
    share = count / count.sum()
    mean = mean - mean[0]  # equal means then differ by exactly zero
    return share.sqrt()[:, None] * (mean - share @ mean)


def _inverse_root(between: torch.Tensor) -> torch.Tensor:
    """A of shape (d, r) with A A^T = Σ_b^+, from the K − 1 directions that class means can span."""
    _, s, v = torch.linalg.svd(between, full_matrices=False)
    s, v = s[: len(between) - 1], v[: len(between) - 1]
    kept = s > RANK_TOLERANCE * s[0] if len(s) else s > 0
    root: torch.Tensor = v[kept] / s[kept, None]
    return root.T


def _log_ratio(within: float, between: float) -> float:
    if between == 0:
        return float("nan") if within == 0 else float("inf")
    return float("-inf") if within == 0 else float(np.log(within) - np.log(between))
