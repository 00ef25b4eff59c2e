"""What load curves say, alone and side by side, and what samples leave open: intervals, and words (paper A, Fig. 1).

:func:`~deepmech.metrics.load_curve.load_curve` deals its samples to folds and notes the curve without each of them, in
the attribute ``jackknife`` of its result. From these follow intervals of any smooth function of the curve. They cover
the population's number in 93 to 97 of 100 draws (tests count) with labels that were drawn, and no less often where a
number of samples of each class was chosen, or where features of a sample share a lognormal scale of spread 1/2; in 87
to 95 where features have no fourth moment, and in 82 to 85 where those of a sample share a scale without one
(``deepmech_book.sweeps.extras.coverage``). An interval of :func:`estimate` is of one layer; :func:`band` is of all at
once.
Samples have to be independent: of frames of one film, or views of one object, intervals are too narrow unless
``load_curve`` was told the ``groups``. Other seeds of the network are not in them.

The words are lazy, balanced, over-noisy, or no such thing. Thresholds are stated in terms of the work of the layers. On
a smoothly bent (parabolic) curve a signed curvature of c means that the last layer contributes (1 + 6c) / (1 − 6c)
times as much as the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy  # which imports scipy.stats when it is first asked for
import xarray as xr

from deepmech.core import specs
from deepmech.core.estimates import LEVEL, Estimate, jackknife, stack, unknown
from deepmech.core.random import Stream
from deepmech.metrics.curvature import curvature, descent, steps

Verdict = Literal["lazy", "balanced", "over-noisy", "uneven", "not falling", "no shape", "too few samples", "undecided"]

BEND = 0.05
"""Signed curvature from which a curve counts as bent: on a parabola, last over first layer is 1.3 / 0.7 ≈ 1.9."""
UNEVEN = 0.2
"""A curve that is not bent but leaves its chord by more than this share of its range somewhere is no straight line."""
FALLS = 0.5
"""A curve whose drop D_0 − D_L is less than this share of its range carries no load from input to output."""
LEAST = 0.1
"""D that ranges over less than this, in nats, has no shape: the layers leave the classes as they came."""
N_SIGNS = 4000
"""Draws of signs for :func:`band`."""
_WORDS: dict[str, str] = {
    "lazy": "The deep layers do most of the separating",
    "balanced": "The layers share the separating about equally",
    "over-noisy": "The shallow layers do most of the separating",
    "uneven": "Not bent to one side, but not straight either: the work sits in a few layers",
    "no shape": "The curve is flat or not finite",
}
_STREAM = (
    " The word is of the curve's shape: this network adds blocks to a stream, and there shallow blocks may do most "
    "without any noise."
)
_MANY_FEATURES = 10
_NONE = "no folds are noted on this curve: measure it with load_curve(…, n_folds=20), any metric but D_hat"


def leave_one_out(curve: xr.DataArray) -> xr.DataArray | None:
    """The curve without each fold of samples, (fold, layer); of some of its layers, too. None where it is not known,
    and where the curve's values are not those that were measured.

    The attribute ``jackknife`` holds them behind the curve itself, one after another.

    Parameters
    ----------
    curve : as :func:`~deepmech.metrics.load_curve.load_curve` returns it, or a selection of its layers.

    Returns
    -------
    DataArray (fold, layer), or None

    Examples
    --------
    >>> curve = xr.DataArray([2.0, 1.0], {"layer": ["a", "b"], "depth": ("layer", [0, 1])}, "layer")
    >>> leave_one_out(curve.assign_attrs(jackknife=[2.0, 1.0, 2.1, 0.9, 1.9, 1.1], layers=2))[:, 0].values.tolist()
    [2.1, 1.9]
    """
    specs.check_type("curve", curve, xr.DataArray)
    flat = np.asarray(curve.attrs.get("jackknife", ()), float)
    whole = int(curve.attrs.get("layers", 0))
    if not flat.size or curve.dims != ("layer",) or "depth" not in curve.coords or flat.size % whole:
        return None
    rows = flat.reshape(-1, whole)[:, curve.depth.values.astype(int)]
    if not np.array_equal(rows[0], curve.values, equal_nan=True):
        return None
    return xr.DataArray(rows[1:], {"layer": curve.layer.values}, ("fold", "layer"))


def estimate(curve: xr.DataArray, of: Callable[[Any], Any] = lambda curve: curve) -> Estimate:
    """D of each layer, or a smooth function ``of`` the curve, with its 95 % interval over folds of samples.

    Parameters
    ----------
    curve : as :func:`~deepmech.metrics.load_curve.load_curve` returns it.
    of : function of an array whose last axis, ``layer``, holds D; it keeps the other axes.

    Returns
    -------
    Estimate
        Over what ``of`` leaves; without an interval, and with the reason, where no folds are noted.

    Examples
    --------
    >>> curve = xr.DataArray([2.0, 1.0], {"layer": ["a", "b"], "depth": ("layer", [0, 1])}, "layer")
    >>> measured = curve.assign_attrs(jackknife=[2.0, 1.0, 2.1, 0.9, 1.9, 1.1, 2.0, 1.0], layers=2)
    >>> print(estimate(measured, lambda d: d[..., 0] - d[..., 1]))
    1.00 [0.01, 1.99]
    """
    folds, value = leave_one_out(curve), of(curve.drop_attrs())
    if folds is None:
        return unknown(_NONE, value)
    found = jackknife(value, of(folds), over="fold", scatter="symmetric")
    return found if value.ndim else found.map(float)


def band(curve: xr.DataArray) -> Estimate:
    """D of each layer with its simultaneous 95 % band: in 95 of 100 samples it holds D at all layers at once.

    Deviations of D over folds change their signs at random, all layers alike; how large the largest of their
    studentised means then becomes takes the place of Student's t (max-t). :func:`estimate` is for one layer.

    Parameters
    ----------
    curve : as :func:`~deepmech.metrics.load_curve.load_curve` returns it; layers without an interval stay without.

    Returns
    -------
    Estimate, over ``layer``

    Examples
    --------
    >>> curve = xr.DataArray([2.0, 1.0], {"layer": ["a", "b"], "depth": ("layer", [0, 1])}, "layer")
    >>> measured = curve.assign_attrs(jackknife=[2.0, 1.0, 2.1, 0.9, 1.9, 1.1, 2.0, 1.0], layers=2)
    >>> bool((band(measured).high > estimate(measured).high - 1e-12).all())
    True
    """
    folds, bare = leave_one_out(curve), curve.drop_attrs()
    if folds is None:
        return unknown(_NONE, bare)
    off, n = folds.values - folds.values.mean(0), folds.sizes["fold"]
    signs = np.sign(Stream.of("simultaneous band").uniform("signs", 0, (N_SIGNS, n)) - 0.5)
    with np.errstate(invalid="ignore"):  # 0 / 0 where the layer is the same in all folds
        mean = signs @ off / n
        largest = np.abs(mean) / np.sqrt(((off**2).mean(0) - mean**2) / (n - 1))
    far = max(np.quantile(np.fmax.reduce(largest, 1, initial=0.0), LEVEL), scipy.stats.t.ppf((1 + LEVEL) / 2, n - 1))
    reach = far * _error(folds.values)
    return Estimate(bare, bare - reach, bare + reach, n)


def _error(folds: np.ndarray) -> np.ndarray:
    """The jackknife's standard error, from numbers without each fold."""
    return np.asarray(np.sqrt((len(folds) - 1) * folds.var(0)))


def _reach(times: int, n: int) -> float:
    """Student's t that one of so many numbers exceeds, at one end, in 5 of 100 samples at most (Bonferroni)."""
    return float(scipy.stats.t.ppf(1 - (1 - LEVEL) / max(times, 1), n - 1))


def _gaps(work: np.ndarray) -> np.ndarray:
    """By how much each other layer does more, (…, layer, other)."""
    return np.asarray(work[..., None, :] - work[..., :, None])


@dataclass(frozen=True)
class Interpretation:
    """What a load curve says. A notebook shows it as a sentence; ``str`` gives the same in plain text.

    Attributes
    ----------
    verdict
        ``"lazy"`` (concave), ``"balanced"`` (straight), ``"over-noisy"`` (convex), or, where these words do not apply,
        ``"uneven"``, ``"not falling"``, ``"no shape"`` or ``"too few samples"``; ``"undecided"`` where other samples
        may well give another of them.
    curvature, descent
        :func:`~deepmech.metrics.curvature.curvature` (> 0 concave) and :func:`~deepmech.metrics.curvature.descent`.
    fall
        D_0 − D_L in nats; nan of what is neither D nor D̂.
    interval, fall_interval
        Ends of the 95 % intervals of curvature and fall over samples; nan where there are none.
    wrong_labels
        The share of wrong labels that would give a straight curve this shape, in the model of
        :func:`~deepmech.metrics.separation.data_separation`; nan where none does.
    candidates
        Where it is undecided: the verdicts within that interval.
    largest
        The layer that lowers D most, and ``share``, its part of all that is lowered.
    rivals
        Other layers that may lower D most, of other samples: in 95 of 100 samples the layer that truly does is among
        them and ``largest``. None where there are no intervals.
    rising
        Layers that raise D by more than a hundredth of the curve's range, and, where there are intervals, by more than
        chance lets any layer rise in 5 of 100 samples.
    left_out
        What of the model is not in the curve, as :func:`~deepmech.metrics.load_curve.load_curve` noted it.
    caveat
        What the word does not say, of a network of blocks.
    unresolved
        Layers at which more than half of the between-class scatter is what chance shows.
    collapsed
        Layers whose D is not finite: classes that have shrunk to points, or features that are all equal. What is said
        is of the others.
    no_interval
        Layers that are too wide for intervals; with one of them there is none of the curve's shape.
    dominated
        Layers of ten features or more of which one has more than half of the variance: D is D of that feature, nearly.
    """

    verdict: Verdict
    curvature: float
    descent: float
    largest: str = ""
    share: float = 0.0
    rising: tuple[str, ...] = ()
    left_out: str = ""
    unresolved: tuple[str, ...] = ()
    interval: tuple[float, float] = (np.nan, np.nan)
    candidates: tuple[str, ...] = ()
    caveat: str = ""
    rivals: tuple[str, ...] = ()
    collapsed: tuple[str, ...] = ()
    no_interval: tuple[str, ...] = ()
    dominated: tuple[str, ...] = ()
    fall: float = np.nan
    fall_interval: tuple[float, float] = (np.nan, np.nan)
    wrong_labels: float = np.nan

    def __str__(self) -> str:
        low, high = self.fall_interval
        falls, ends = ("falls", (low, high)) if self.fall >= 0 else ("rises", (-high, -low))
        fall = f"D {falls} by {abs(self.fall):.3g} nats{_within(ends, '.3g')} in all" if np.isfinite(self.fall) else ""
        if self.verdict == "no shape":
            return f"no shape: {f'{fall}, too little to be shared out' if fall else _WORDS['no shape']}."
        if self.verdict == "too few samples":
            where = specs.join_repr(self.unresolved)
            return (
                f"too few samples: at {where} more than half of what sets the classes apart is what chance shows, too. "
                f"Take more samples, or layers that separate better.{self._alone()}"
            )
        words = _WORDS.get(self.verdict) or f"Of other samples the word may be {' or '.join(self.candidates)}"
        if self.verdict == "not falling":
            more = "more than" if self.descent <= -FALLS else "about as much as"
            how = f"rises {more} it falls" if self.share else "only rises"
            words = f"The curve {how}, so there is no load to be shared out"
        within = _within(self.interval, "+.2f")
        text = f"{self.verdict} (signed curvature {_written(self.curvature, '+.2f')}{within}): {words}."
        text += f" {fall}." if fall else ""
        text += self.caveat
        if np.isfinite(self.wrong_labels) and "over-noisy" in (self.verdict, *self.candidates):
            text += f" A straight curve looks like this if {self.wrong_labels:.1%} of the labels are wrong."
        if self.share > 0:
            text += f" Layer {self.largest!r} does the most, {self.share:.0%} of all that is separated"
            text += f"; of other samples it may be {specs.join_repr(self.rivals)}." if self.rivals else "."
        if self.rising:
            text += f" D rises at {specs.join_repr(self.rising)}."
        if self.collapsed:
            text += f" D is not finite at {specs.join_repr(self.collapsed)}; the rest of the curve was read."
        text += self._alone()
        if self.no_interval:
            text += f" How far off this may be is not known: no interval at {specs.join_repr(self.no_interval)}."
        return f"{text} Of a part of the model only: {self.left_out}." if self.left_out else text

    def _alone(self) -> str:
        if not self.dominated:
            return ""
        return (
            f" One feature has more than half of the variance at {specs.join_repr(self.dominated)}: there D is nearly "
            "that of this feature; a pool= that divides each feature by its scale counts all alike."
        )

    def _repr_markdown_(self) -> str:
        return str(self).replace(self.verdict, f"**{self.verdict}**", 1)


def interpret(load: Any) -> Interpretation:
    """Read one load curve.

    The words *lazy* and *over-noisy* are those of the phase diagram of paper A, which was drawn for fully connected
    networks of equal layers, trained for long. For other networks they describe a shape: they name no cause, and no
    remedy. A reading is as good as the layers chosen: they should be alike, in the order of computation, all on the way
    from input to output. It says nothing about how well the network does.

    Parameters
    ----------
    load : array_like or DataArray
        D_0 … D_L, L ≥ 2: a labelled array with dimension ``layer`` or ``block``, or plain numbers.

    Returns
    -------
    Interpretation
        By the thresholds :data:`BEND`, :data:`UNEVEN` and :data:`FALLS`. Its verdict is ``"too few samples"`` where D,
        of as many samples as ``load_curve`` noted, comes so close to its ceiling that at some layer more than half of
        the between-class scatter is sampling noise; ``"no shape"`` where D ranges over less than :data:`LEAST`, or
        falls by less than its own interval.

    Raises
    ------
    ValueError
        If there are more dimensions than that of the layers, or fewer than three layers.

    Examples
    --------
    >>> print(interpret([3.0, 2.9, 2.5, 1.5, 0.0]))
    lazy (signed curvature +0.20): The deep layers do most of the separating. D falls by 3 nats in all. Layer '4' \
does the most, 50% of all that is separated.
    """
    curve = load if isinstance(load, xr.DataArray) else xr.DataArray(specs.check_array("interpret: load", load))
    if curve.ndim != 1:
        has = f"dimensions {curve.dims}" if curve is load else f"shape {curve.shape}"
        raise ValueError(f"interpret: load has {has}: give one curve, a number a layer; select or average the rest")
    if curve.size < 3:
        raise ValueError(
            f"interpret: load has {curve.size} layers: a shape has three or more: name more, load_curve(…, layers=[…])"
        )
    metric = curve.attrs.get("metric", "D") if curve.dims[0] != "block" else "the way of a chain"
    curve = curve.rename({curve.dims[0]: "layer"})
    alone, noisy = _dominated_layers(curve), _noisy_layers(curve)
    collapsed: tuple[str, ...] = ()
    finite = np.isfinite(curve.values)
    if not noisy and not finite.all() and finite.sum() > 2:
        collapsed = tuple(name for name, known in zip(_names(curve), finite, strict=True) if not known)
        curve = curve.assign_coords(layer=_names(curve))[finite]
    bent, drop = float(curvature(curve)), float(descent(curve))
    left_out = str(curve.attrs.get("left_out", ""))
    if noisy or not np.isfinite(bent):
        verdict: Verdict = "too few samples" if noisy else "no shape"
        return Interpretation(verdict, bent, drop, left_out=left_out, unresolved=noisy, dominated=alone)
    d = curve.values.astype(float)
    spread = float(np.ptp(d))
    straight: Verdict = "uneven" if np.abs(d - np.linspace(d[0], d[-1], len(d))).max() > UNEVEN * spread else "balanced"

    def word(bent: float, drop: float) -> Verdict:
        return "not falling" if drop < FALLS else "lazy" if bent > BEND else "over-noisy" if bent < -BEND else straight

    bends, drops = estimate(curve, curvature), estimate(curve, descent)
    ends = bends.interval if bends.is_finite else (bent, bent)
    within = [b for b in (*ends, bent, 0.0) if ends[0] <= b <= ends[1]]
    candidates = tuple(
        dict.fromkeys(word(b, f) for b in within for f in (drop, *(drops.interval if drops.is_finite else ())))
    )
    verdict = word(bent, drop) if len(candidates) == 1 else "undecided"
    fallen = estimate(curve, lambda d: d[..., 0] - d[..., -1]) if metric in ("D", "D_hat") else unknown("not D", np.nan)
    chance = fallen.is_finite and fallen.low <= 0 <= fallen.high and verdict != "not falling"
    if chance or (np.isfinite(fallen.value) and spread < LEAST):
        verdict = "no shape"
    work = steps(curve)
    names, done = _names(work, first=1), np.clip(work.values, 0.0, None)
    best, rising = int(done.argmax()), work.values < -0.01 * spread
    rivals: tuple[str, ...] = ()
    if bends.is_finite and (folds := leave_one_out(curve)) is not None:
        each, n = steps(folds).values, folds.sizes["fold"]
        rising &= work.values < -_reach(work.size, n) * _error(each)
        beaten = _gaps(work.values) > _reach(work.size - 1, n) * _error(_gaps(each))
        rivals = tuple(name for i, name in enumerate(names) if i != best and not beaten[i].any())
    missing = [name for name in str(curve.attrs.get("no_interval", "")).split(", ") if name in _names(curve)]
    stream = verdict in ("lazy", "over-noisy") and "stream" in curve.attrs
    return Interpretation(
        verdict, bent, drop, names[best], float(done[best] / done.sum()) if done.any() else 0.0,
        tuple(name for name, rises in zip(names, rising, strict=True) if rises), left_out,
        interval=bends.interval, candidates=candidates if verdict == "undecided" else (),
        caveat=_STREAM if stream else "", rivals=rivals, collapsed=collapsed, no_interval=tuple(missing),
        dominated=alone, fall=float(fallen.value), fall_interval=fallen.interval,
        wrong_labels=_wrong_labels(d, curve.attrs.get("classes", 0) if metric == "D" else 0),
    )  # fmt: skip


def _wrong_labels(d: np.ndarray, n_classes: int) -> float:
    """The share of wrong labels behind which d would be straight; nan where there is none, or no class is known."""
    # Right labels give log(a (exp(d) + 1) − 1), which is finite for 1 − a = part / (1 + exp(−min d)) with part below 1.
    below = -np.logaddexp(0, -d.min())

    def bend(part: float) -> float:
        return float(curvature(d + np.log1p(-part * np.exp(below + np.logaddexp(0, -d)))))

    if not n_classes or not bend(0.0) < 0 < bend(most := 1 - 1e-9):
        return float("nan")
    part = scipy.optimize.brentq(bend, 0.0, most)
    return float(-np.expm1(np.log1p(-part * np.exp(below)) / 2) * (n_classes - 1) / n_classes)


def _names(curve: xr.DataArray, first: int = 0) -> list[str]:
    return [str(v) for v in (curve.layer.values if "layer" in curve.coords else range(first, first + curve.size))]


def _dominated_layers(curve: xr.DataArray) -> tuple[str, ...]:
    """Layers of many features of which one has more than half of the variance."""
    if "largest_share" not in curve.coords:
        return ()
    found = (curve.largest_share.values > 0.5) & (curve.features.values >= _MANY_FEATURES)
    return tuple(name for name, alone in zip(_names(curve), found, strict=True) if alone)


def _noisy_layers(curve: xr.DataArray) -> tuple[str, ...]:
    """Layers at which more than half of the between-class scatter is sampling noise: there plain D lies within log 2 of
    its ceiling, and debiased D above it. If there are none, layers whose D is none without some fold of samples."""
    nan = str(curve.attrs.get("unresolved", "")).split(", ")
    ceiling = float(curve.attrs.get("ceiling", np.inf))
    limit = ceiling if curve.attrs.get("estimate") == "debiased" else ceiling - np.log(2)
    pairs = zip(_names(curve), curve.values.astype(float), strict=True)
    found = tuple(name for name, value in pairs if name in nan or limit < value < np.inf)
    if found or (folds := leave_one_out(curve)) is None:
        return found
    known = np.isfinite(folds.values)
    lost = np.isfinite(curve.values) & known.any(0) & ~known.all(0)
    return tuple(name for name, gone in zip(_names(curve), lost, strict=True) if gone)


def _written(value: float, form: str) -> str:
    return f"{round(value, 2) + 0.0 if form == '+.2f' else value:{form}}".replace("-", "−")  # zero has no sign −


def _within(ends: tuple[float, float], form: str) -> str:
    return f" [{_written(ends[0], form)}, {_written(ends[1], form)}]" if np.isfinite(ends).all() else ""


def compare(curves: Mapping[str, xr.DataArray]) -> xr.Dataset:
    """Load curves beside the first of them: D layer by layer, and curvature.

    On the same samples, in the same order, curves scatter together, and the interval of their difference, from leaving
    out the same folds of samples in both, is narrower than those of the curves. Of different samples variances add.

    Parameters
    ----------
    curves : mapping of str to DataArray
        By name, as :func:`~deepmech.metrics.load_curve.load_curve` returns them, of a loader that does not shuffle.

    Returns
    -------
    Dataset
        ``load_curve`` and ``difference`` from the first, with its 95 % interval ``low`` to ``high``, over (``curve``,
        ``layer``); ``curvature``, ``curvature_difference``, ``curvature_low``, ``curvature_high`` over ``curve``, of
        three layers or more. The attribute ``paired`` is 1 where all were measured on the same samples, and ``against``
        names the first. :func:`deepmech.plots.plot_load_curve` draws the differences,
        ``plot_load_curve(found.difference, by="curve")``.

    Raises
    ------
    ValueError
        For fewer than two, for other layers or another estimate than those of the first, and for curves without folds.

    Examples
    --------
    >>> from torch import nn
    >>> from deepmech.data import load
    >>> from deepmech.metrics.load_curve import load_curve
    >>> digits = load("digits")
    >>> model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))
    >>> other = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))
    >>> curves = {"one": model, "two": other}
    >>> found = compare({name: load_curve(one, digits.x_train, digits.y_train) for name, one in curves.items()})
    >>> found.difference.sizes, found.attrs["paired"], bool(found.low[1, 0] == found.high[1, 0] == 0)
    (Frozen({'curve': 2, 'layer': 3}), 1, True)
    """
    specs.check_type("compare: curves", curves, Mapping)
    for name, curve in curves.items():
        specs.check_type(f"compare: {name!r}", curve, xr.DataArray)
        if leave_one_out(curve) is None:
            raise ValueError(f"compare: {name!r}: {_NONE}")
    if len(curves) < 2:
        raise ValueError(f"compare: {len(curves)} given: give two or more curves by name")
    (begin, first), *_ = curves.items()
    for name, curve in curves.items():
        same = [curve.attrs.get(k) == first.attrs.get(k) for k in ("metric", "estimate")]
        if curve.layer.values.tolist() != first.layer.values.tolist() or not all(same):
            raise ValueError(
                f"compare: {name!r} runs over layers {curve.layer.values.tolist()}, {begin!r} over "
                f"{first.layer.values.tolist()}: measure both over the same, layers=[…], and in the same way"
            )
    paired = len({(c.attrs["order"], c.attrs["samples"], c.attrs["folds"]) for c in curves.values()}) == 1
    bare = {name: curve.drop_attrs().reset_coords(drop=True) for name, curve in curves.items()}
    found = {"load_curve": xr.concat(bare.values(), xr.Variable("curve", list(curves)))}
    shapes: dict[str, Any] = {"": lambda curve: curve}
    if first.size > 2:
        found["curvature"] = curvature(found["load_curve"])
        shapes["curvature_"] = curvature
    left = {name: leave_one_out(curve) for name, curve in curves.items()}

    def gap(name: str, of: Any) -> Estimate:
        value, here, there = of(bare[name]) - of(bare[begin]), of(left[name]), of(left[begin])
        each = [here - there] if paired or name == begin else [here - of(bare[begin]), of(bare[name]) - there]
        return jackknife(value, *each, over="fold", scatter="symmetric")

    for prefix, shape in shapes.items():
        gaps = stack({name: gap(name, shape) for name in curves}, "curve")
        ends = {"difference": gaps.value, "low": gaps.low, "high": gaps.high}
        found |= {prefix + end: values for end, values in ends.items()}
    return xr.Dataset(found).assign_attrs(paired=int(paired), against=begin)
