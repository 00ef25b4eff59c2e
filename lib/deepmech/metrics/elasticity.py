r"""Local elasticity estimated from logits: intra- and inter-class effects α(t), β(t) (paper B, §4.1 and App. D.1).

In a locally elastic model the mean feature of class k, :math:`\bar X^k(t)`, grows by exponentials of
:math:`A(t)=\int_0^t\alpha` and :math:`B(t)=\int_0^t\beta`. Read backwards this gives A and B from any log of
logits, and their derivatives give α and β. Three estimators are offered as ``model``:

``"I"`` (paper B, Eq. 11, first line)
    Isotropic model. With :math:`\check X` the mean over classes, :math:`u=\log|\check X/\check X(0)|` and
    :math:`v=\log|(\bar X^k-\check X)/(\bar X^k-\check X)(0)|`, averaged over coordinates and classes,
    A = u + (K − 1)v and B = u − v. Any K. Entry by entry, so one coordinate
    that passes through zero is seen in the mean.
``"L-paper"`` (Eq. 11, second line)
    Logits-as-features model, three classes only: A = A' + 2B', B = 2(B' − A') with A', B' from two fixed vectors,
    :data:`V1` and :data:`V2` (Eq. D.8). It subtracts 1 from :math:`v_1\cdot\bar X`, a number that stands for an
    unknown constant, and :math:`v_1` also sees what all logits of a class have in common; both disturb it while
    logits are small.
``"L-program"``
    What the authors' program does, with which the paper's figures were drawn; three classes only: as ``"L-paper"``
    without the 1. For means that obey the model it gives A and B exactly. Of networks' means it looks along two fixed
    vectors, so what all logits of a class have in common, and which class is ahead, are in it.
``"L"``
    Ours: the same model from margins, for any K. Only the own-class margins :math:`s_k=d_k\cdot\bar X^k`,
    :math:`d_k=e_k-\mathbf 1/K`, drive the L-model, and they obey a closed equation: their mean grows as
    :math:`e^{(A-B)/K}` and their deviations from it as :math:`e^{(A+B/(K-1))/K}`.

How fast an effect dies out, :func:`tail_index` (paper B, §4.1, App. D.1.3) and :func:`log_slope` say.

All four take t = 0 as the unit: A(0) = B(0) = 0 where the first ``reference`` recorded times are averaged into one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from scipy.signal import savgol_filter

from deepmech.core import specs
from deepmech.core.labels import as_labelled
from deepmech.metrics.separation import class_labels, real_numbers, require_classes

Model = Literal["I", "L-paper", "L-program", "L"]

V1 = np.array([[1, -1, -1], [-1, 1, -1], [-2, -2, 0]]) / 4
"""v₁ of paper B, Eq. D.8, class by class: half the sum of the three margins where logits sum to zero in each class."""
V2 = np.array([[2, -1, -1], [-1, 2, -1], [0, 0, 0]]) / 3
"""v₂ of Eq. D.8: the sum of the first two margins."""


def class_means(logits: Any, classes: Any, n_classes: int | None = None, pool: int = 1) -> xr.DataArray:
    """Mean logits of every class at every iteration, over the trials that drew the class there (paper B, §4.1).

    Parameters
    ----------
    logits
        Shape (trial, iteration, logit): what the network said about the sample it was about to train on.
    classes
        Integers 0 … K − 1, shape (trial, iteration): the class (or the label) of that sample.
    n_classes
        K; by default the largest class plus one.
    pool
        Iterations taken together around each one (odd; fewer at the ends). With few trials some class is drawn by no
        trial at some iteration, and 1 is not enough.

    Returns
    -------
    DataArray
        Dimensions ``time`` (0, 1, 2, …), ``class``, ``logit``; units of the logits. Accumulated in float64.

    Raises
    ------
    ValueError
        For shapes that do not fit, classes out of range, or a class that nobody drew (the iteration is named).

    Examples
    --------
    >>> logits = np.zeros((4, 2, 3)) + np.arange(4)[:, None, None]
    >>> class_means(logits, [[0, 1], [1, 0], [0, 0], [1, 1]]).values[:, :, 0].tolist()
    [[1.0, 2.0], [1.5, 1.5]]
    """
    x, y = real_numbers("logits", logits), class_labels(classes)
    if x.ndim != 3 or y.shape != x.shape[:2] or y.size == 0:
        raise ValueError(
            f"logits {x.shape} and classes {y.shape}: expected (trial, iteration, logit) and (trial, iteration), "
            "at least one of each"
        )
    k = int(y.max()) + 1 if n_classes is None else specs.check_int("n_classes", n_classes)
    if not 0 <= y.min() <= y.max() < k:
        raise ValueError(f"classes reach from {y.min()} to {y.max()}: must lie in 0 … {k - 1}")
    require_classes(y, k)
    allowed = "an odd number of iterations, at least 1"
    pool = specs.check_int("class_means: pool", pool, allowed=allowed)
    specs.check("class_means: pool", pool, pool % 2, allowed)
    every = np.ones((1, len(x)))
    hits = [y == c for c in range(k)]
    counts = np.stack([every @ hit.astype(float) for hit in hits], -1)[0]
    each = [every @ np.where(hit[..., None], x, 0).astype(float).reshape(len(x), -1) for hit in hits]
    sums = np.stack([one.reshape(x.shape[1:]) for one in each], 1)
    if pool > 1:
        sums, counts = _pooled(sums, pool), _pooled(counts, pool)
    missing = np.argwhere(counts == 0)
    if len(missing):
        at, c = missing[0].tolist()
        raise ValueError(
            f"class_means: no trial drew class {c} within {pool} iteration(s) around {at}; pool more iterations than "
            f"{pool}, or record more than {len(x)} trials"
        )
    coords = {"time": np.arange(x.shape[1]), "class": np.arange(k), "logit": np.arange(x.shape[-1])}
    return xr.DataArray(sums / counts[..., None], coords, ("time", "class", "logit"), "mean")


def _pooled(a: np.ndarray, pool: int) -> np.ndarray:
    """Sums over ``pool`` neighbours along the first axis, cut off at the ends."""
    total = np.concatenate([np.zeros_like(a[:1]), np.cumsum(a, axis=0)])
    i = np.arange(len(a))
    return np.asarray(total[np.minimum(i + pool // 2 + 1, len(a))] - total[np.maximum(i - pool // 2, 0)])


def margins(means: Any) -> xr.DataArray:
    """Own-class margins s_k = X̄ᵏ_k − mean over logits of X̄ᵏ, the state of the L-model (dimensions …, time, class).

    Parameters
    ----------
    means : class means, dimensions (…, time, class, logit), as many logits as classes.

    Returns
    -------
    DataArray
        Dimensions (…, time, class), in units of the logits.

    Examples
    --------
    >>> margins(np.array([[[2.0, 1.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]]])).values.tolist()
    [[1.0, 2.0, 0.0]]
    """
    m = _as_means(means, square=True)
    own = np.einsum("...kk->...k", m.values) - m.values.mean(-1)
    return m.isel(logit=0, drop=True).copy(data=own).rename("margin")


def integrated_effects(means: Any, model: Model = "L", reference: int = 1) -> xr.Dataset:
    """Â(t) and B̂(t), the integrated intra- and inter-class effects (paper B, Eq. 11; see the module's text).

    Parameters
    ----------
    means
        Mean features of every class, dimensions (…, time, class, logit); a plain array of shape (…, T, K, p) will do.
        The I-model takes any number of features p; the others need p = K.
    model
        ``"I"``, ``"L-paper"``, ``"L-program"`` or ``"L"``.
    reference
        How many of the first times stand for t = 0 (their mean). More than one steadies a noisy start, at the price of
        what happens within them.

    Returns
    -------
    Dataset
        ``A`` and ``B`` over the leading dimensions and ``time``; pure numbers. Logarithms of ratios: exact for data
        that obey the model without noise, and pulled towards the noise's logarithm where a mean is smaller than that.

    Raises
    ------
    ValueError
        For an unknown model, ``"L-paper"`` or ``"L-program"`` with K ≠ 3, or features at t = 0 that make a ratio
        meaningless.

    Examples
    --------
    >>> start = np.array([[1.0, 0.2], [-0.3, 0.8]])
    >>> centre = start.mean(0)  # after a time in which A = 2 and B = 0.5, isotropic, K = 2:
    >>> later = (start - centre) * np.exp(1 - 0.25) + centre * np.exp(1 + 0.25)
    >>> found = integrated_effects(np.stack([start, later]), "I").isel(time=-1)
    >>> round(float(found.A), 6), round(float(found.B), 6)
    (2.0, 0.5)
    """
    if model not in get_args(Model):
        raise ValueError(f"integrated_effects: model = {model!r}: must be one of {', '.join(get_args(Model))}")
    m = _as_means(means, square=model != "I")
    k = m.sizes["class"]
    if model in ("L-paper", "L-program") and k != 3:
        raise ValueError(f"integrated_effects: model {model!r} is a formula for 3 classes, not {k}; use model='L'")
    most = m.sizes["time"]
    reference = specs.check_int("integrated_effects: reference", reference, 1, most, f"from 1 to {most} times")
    x = m.values * specs.unit_scale(m.values)
    start = x[..., :reference, :, :].mean(-3, keepdims=True)
    if model == "I":
        centre, centre0 = x.mean(-2, keepdims=True), start.mean(-2, keepdims=True)
        u = _log_ratio(centre, centre0, "the mean over classes").mean((-2, -1))
        v = _log_ratio(x - centre, start - centre0, "the difference of a class from the mean").mean((-2, -1))
        a, b = u + (k - 1) * v, u - v
    else:
        if model != "L":
            constant = 1 if model == "L-paper" else 0
            up, up0 = (np.einsum("...kl,kl->...", z, V1) - constant for z in (x, start))
            w = V2 - 4 / 3 * V1
            side, side0 = (np.einsum("...kl,kl->...", z, w) for z in (x, start))
        else:
            s, s0 = (np.einsum("...kk->...k", z) - z.mean(-1) for z in (x, start))
            up, up0 = s.mean(-1), s0.mean(-1)
            side, side0 = (np.linalg.norm(z - z.mean(-1, keepdims=True), axis=-1) for z in (s, s0))
        fast = _log_ratio(up, up0, "the mean margin")
        slow = _log_ratio(side, side0, "the deviation of the margins from their mean")
        b = (k - 1) * (slow - fast)
        a = k * fast + b
    like = m.isel({"class": 0, "logit": 0}, drop=True)
    return xr.Dataset({"A": like.copy(data=a), "B": like.copy(data=b)}, attrs={"model": model, "classes": k})


def effects(integrated: xr.Dataset, window: int) -> xr.Dataset:
    """α̂(t) and β̂(t): derivatives of Â and B̂ by a Savitzky–Golay filter (paper B, App. D.1.2).

    Parameters
    ----------
    integrated
        From :func:`integrated_effects`; ``time`` must be evenly spaced.
    window
        Recorded times in the filter's window, odd. The paper uses 191 (GEOMNIST) and 551 (CIFAR-10) to look at effects,
        and 21 to drive a simulation. The fitted polynomials are quadratic; the paper does not say of which degree its
        own are.

    Returns
    -------
    Dataset
        ``intra`` α̂, ``inter`` β̂ and ``gap`` α̂ − β̂, per unit of ``time``. Smoothing removes what changes within a
        window: an even bump loses height.

    Examples
    --------
    >>> t = np.arange(50.0)
    >>> line = xr.Dataset({"A": ("time", 0.3 * t), "B": ("time", -0.1 * t)}, {"time": t})
    >>> effects(line, window=11).gap.values.round(6)[[0, -1]].tolist()
    [0.4, 0.4]
    """
    if not isinstance(integrated, xr.Dataset) or not {"A", "B"} <= set(integrated.data_vars):
        raise ValueError("effects: integrated must be the Dataset of integrated_effects, with A and B over time")
    t = np.asarray(integrated["time"], float)
    window = specs.check_int("effects: window", window, allowed="an odd number of recorded times")
    if window % 2 == 0 or not 2 < window <= len(t):
        raise ValueError(f"effects: window = {window!r}: must be odd, above 2 and at most the {len(t)} times")
    steps = np.diff(t)
    if not np.allclose(steps, steps[0]) or steps[0] <= 0:
        raise ValueError("effects: time must rise in even steps; interpolate the means to an even grid first")
    out = {}
    for name, source in (("intra", "A"), ("inter", "B")):
        values = integrated[source].transpose(..., "time")
        if not np.isfinite(values.values[..., np.r_[:window, -window:0]]).all():
            raise ValueError(
                f"effects: {source} is not finite within a window of its ends, where a polynomial is fitted; leave out "
                "those times, and trials that diverged"
            )
        slope = savgol_filter(values.values, window, 2, deriv=1, delta=float(steps[0]), axis=-1)
        out[name] = values.copy(data=slope).rename(name)
    return xr.Dataset({**out, "gap": out["intra"] - out["inter"]}, attrs={**integrated.attrs, "window": window})


def relative_difference(genuine: Any, simulated: Any, norm: Literal["I", "L"] = "I") -> xr.DataArray:
    """RD_k(t), how far simulated means are from genuine ones (paper B, Eq. D.21).

    Parameters
    ----------
    genuine, simulated
        Means of every class, dimensions (…, time, class, logit), same shape.
    norm
        Of the difference: ``"I"`` Euclidean; ``"L"`` along d_k alone, a seminorm that is blind to all else and so never
        larger. The denominator is Euclidean in both. The paper uses each for its own model; compare models in one.

    Returns
    -------
    DataArray
        Dimensions (…, time, class); from 0 (equal) to 2.

    Examples
    --------
    >>> a, b = np.zeros((1, 2, 2)), np.ones((1, 2, 2))
    >>> relative_difference(a, b, "I").values.tolist(), relative_difference(a, b, "L").values.tolist()
    ([[2.0, 2.0]], [[0.0, 0.0]])
    """
    x, y = _as_means(genuine, square=norm == "L"), _as_means(simulated, square=norm == "L")
    if x.shape != y.shape:
        raise ValueError(f"relative_difference: genuine {x.shape} and simulated {y.shape}: give two equal shapes")
    if norm not in ("I", "L"):
        raise ValueError(f"relative_difference: norm = {norm!r}: must be 'I' or 'L'")
    scale = specs.unit_scale([x.values, y.values], axis=(0, -1))[0]
    x, y = x * scale, y * scale
    gap = x.values - y.values
    if norm == "I":
        top = np.linalg.norm(gap, axis=-1)
    else:  # d_k · gap / |d_k| with |d_k|² = 1 − 1/K
        top = np.abs(np.einsum("...kk->...k", gap) - gap.mean(-1)) / np.sqrt(1 - 1 / gap.shape[-1])
    bottom = (np.linalg.norm(x.values, axis=-1) + np.linalg.norm(y.values, axis=-1)) / 2
    out: xr.DataArray = x.isel(logit=0, drop=True).rename("relative_difference")
    return out.copy(data=np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0))


def _as_means(means: Any, square: bool) -> xr.DataArray:
    m = as_labelled("class means", means, "time", "class", "logit")
    if "time" not in m.coords:
        m = m.assign_coords(time=np.arange(m.sizes["time"]))
    if m.sizes["class"] < 2 or (square and m.sizes["class"] != m.sizes["logit"]):
        raise ValueError(f"class means have {m.sizes['class']} classes and {m.sizes['logit']} logits: expected "
                         + ("as many logits as classes, at least 2" if square else "at least 2 classes"))  # fmt: skip
    return m


def _log_ratio(now: np.ndarray, start: np.ndarray, what: str) -> np.ndarray:
    if np.any(start == 0):
        raise ValueError(
            f"integrated_effects: {what} is exactly zero at t = 0, where growth cannot start; average more times into "
            "the reference, or use another model"
        )
    # A mean that is exactly zero later has logarithm −inf, and shows as that; one that is infinite has none.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.abs(now / start)))


def tail_index(values: xr.DataArray, last: int = 1000) -> xr.DataArray:
    """r̂ = 1 − mean of log|values| / log(1 + t) over the last recorded times (paper B, §4.1 and Eq. D.19).

    The paper prints one formula and puts two things into it. With the integrated effect A (App. D.1.3) r̂ tends to r for
    α ~ (1 + t)^−r and 0 < r < 1, slowly: it is off by log(α₀/(1 − r)) / log(1 + t). With α itself (§4.1) it tends
    to 1 + r. It is 1 wherever |A| = 1, and for r > 1, where A saturates, it again lies near 1 whatever r is; look at
    :func:`log_slope` beside it.

    Parameters
    ----------
    values
        Over ``time`` and any other dimensions: Â or B̂, or α̂ or β̂. Their modulus is taken, as estimates change sign;
        the paper does not say what it did.
    last
        How many of the last recorded times are averaged.

    Returns
    -------
    DataArray
        One number per remaining dimension.

    Examples
    --------
    >>> t = np.arange(10_000.0)
    >>> A = xr.DataArray(2 * (1 + t) ** 0.5, dims="time", coords={"time": t})  # α = (1 + t)^(−1/2)
    >>> round(float(tail_index(A)), 2)
    0.42
    """
    t = _times("tail_index", values)
    last = specs.check_int("tail_index: last", last, allowed=f"from 1 to the {len(t)} recorded times")
    if not 1 <= last <= len(t) or t[-last] <= 0:
        raise ValueError(f"tail_index: last = {last!r}: must be from 1 to the {len(t)} recorded times, all after 0")
    tail = values.isel(time=slice(-last, None))
    with np.errstate(divide="ignore"):
        ratio: xr.DataArray = xr.apply_ufunc(np.log, abs(tail)) / np.log1p(tail["time"].astype(float))
    return (1 - ratio.mean("time")).assign_attrs(last=last)


def _times(owner: str, values: Any) -> np.ndarray:
    if not isinstance(values, xr.DataArray) or "time" not in values.coords:
        raise ValueError(f"{owner}: values of type {type(values).__name__}: must be a labelled array over 'time'")
    return np.asarray(values["time"], float)


def log_slope(values: xr.DataArray, edges: Any) -> xr.DataArray:
    """Local tail index: minus the slope of log|values| over log(1 + t), by least squares in each interval of time.

    Parameters
    ----------
    values
        α̂, β̂ or α̂ − β̂ over ``time`` and any other dimensions.
    edges
        Times t₀ < t₁ < …; interval i holds t_i ≤ t < t_{i+1}, at least two recorded times in each.

    Returns
    -------
    DataArray
        Over ``interval`` (its geometric middle in 1 + t) in place of ``time``: r where values ~ (1 + t)^−r there. Where
        values cross zero the logarithm dips, and the slope says little.

    Examples
    --------
    >>> t = np.arange(1000.0)
    >>> alpha = xr.DataArray(3 / (1 + t) ** 1.5, dims="time", coords={"time": t})
    >>> log_slope(alpha, [10, 100, 1000]).values.round(6).tolist()
    [1.5, 1.5]
    """
    t, edges = _times("log_slope", values), specs.check_array("log_slope: edges", edges)
    if edges.ndim != 1 or len(edges) < 2 or np.any(np.diff(edges) <= 0) or edges[0] < 0:
        raise ValueError(f"log_slope: edges = {edges.tolist()}: must be at least two rising times from 0 on")
    a = values.transpose(..., "time")
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(a.values))
    slopes = []
    for low, high in pairwise(edges):
        inside = (t >= low) & (t < high)
        if inside.sum() < 2:
            raise ValueError(f"log_slope: {inside.sum()} recorded times from {low:g} to {high:g}; widen the interval")
        x = np.log1p(t[inside])
        x = x - x.mean()
        slopes.append(-(logs[..., inside] @ x) / (x @ x))
    middle = np.sqrt((1 + edges[:-1]) * (1 + edges[1:])) - 1
    rest = a.isel(time=0, drop=True)
    return xr.DataArray(
        np.stack(slopes, -1), dims=(*rest.dims, "interval"), coords={**rest.coords, "interval": middle}, name="slope"
    )
