"""A load curve in plain words: lazy, balanced, over-noisy, or no such thing (paper A, Fig. 1).

Thresholds are stated in terms of the work of the layers. On a smoothly bent (parabolic) curve a signed curvature of c
means that the last layer contributes (1 + 6c) / (1 − 6c) times as much as the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from deepmech.core import checks
from deepmech.metrics.curvature import curvature, descent, steps

Verdict = Literal["lazy", "balanced", "over-noisy", "uneven", "not falling", "no shape"]

BEND = 0.05
"""Signed curvature from which a curve counts as bent: on a parabola, last over first layer is 1.3 / 0.7 ≈ 1.9."""
UNEVEN = 0.2
"""A curve that is not bent but leaves its chord by more than this share of its range somewhere is no straight line."""
FALLS = 0.5
"""A curve whose drop D_0 − D_L is less than this share of its range carries no load from input to output."""

_WORDS: dict[str, str] = {
    "lazy": "The deep layers do most of the separating. In the phase diagram: more nonlinearity than noise",
    "balanced": "The layers share the separating about equally. In the phase diagram: noise and nonlinearity balance",
    "over-noisy": "The shallow layers do most of the separating. In the phase diagram: more noise than nonlinearity",
    "uneven": "Not bent to one side, but not straight either: the work sits in a few layers",
    "not falling": "The curve rises about as much as it falls, so there is no load to be shared out",
    "no shape": "The curve is flat or not finite",
}


@dataclass(frozen=True)
class Reading:
    """What a load curve says. A notebook shows it as a sentence; ``str`` gives the same in plain text.

    Attributes
    ----------
    verdict
        ``"lazy"`` (concave), ``"balanced"`` (straight), ``"over-noisy"`` (convex), or, where these words do not apply,
        ``"uneven"``, ``"not falling"`` or ``"no shape"``.
    curvature, descent
        :func:`~deepmech.metrics.curvature.curvature` (> 0 concave) and :func:`~deepmech.metrics.curvature.descent`.
    largest
        The layer that lowers D most, and ``share``, its part of all that is lowered.
    rising
        Layers that raise D by more than a hundredth of the curve's range.
    left_out
        What of the model is not in the curve, as :func:`~deepmech.metrics.load_curve.load_curve` noted it.
    """

    verdict: Verdict
    curvature: float
    descent: float
    largest: str
    share: float
    rising: tuple[str, ...]
    left_out: str = ""

    def __str__(self) -> str:
        if self.verdict == "no shape":
            return f"no shape: {_WORDS['no shape']}."
        text = f"{self.verdict} (signed curvature {_signed(self.curvature)}): {_WORDS[self.verdict]}."
        if self.share > 0:
            text += f" Layer {self.largest!r} does the most, {self.share:.0%} of all that is separated."
        if self.rising:
            text += f" D rises at {', '.join(map(repr, self.rising))}."
        return f"{text} Of a part of the model only: {self.left_out}." if self.left_out else text

    def _repr_markdown_(self) -> str:
        return str(self).replace(self.verdict, f"**{self.verdict}**", 1)


def read(load: Any, bend: float = BEND, uneven: float = UNEVEN, falls: float = FALLS) -> Reading:
    """Read one load curve.

    The words *lazy* and *over-noisy* are those of the phase diagram of paper A, which was drawn for fully connected
    networks of equal layers, trained for long. For other networks they describe a shape: they name no cause, and no
    remedy. A reading is as good as the layers chosen: they should be alike, in the order of computation, all on the way
    from input to output. It says nothing about how well the network does.

    Parameters
    ----------
    load
        D_0 … D_L, L ≥ 2: a labelled array with dimension ``layer`` or ``block``, or plain numbers.
    bend, uneven, falls
        Thresholds; see :data:`BEND`, :data:`UNEVEN` and :data:`FALLS`.

    Raises
    ------
    ValueError
        If there are more dimensions than that of the layers, or fewer than three layers.

    Examples
    --------
    >>> print(read([3.0, 2.9, 2.5, 1.5, 0.0]))
    lazy (signed curvature +0.20): The deep layers do most of the separating. In the phase diagram: more nonlinearity \
than noise. Layer '4' does the most, 50% of all that is separated.
    """
    for name, value in (("bend", bend), ("uneven", uneven), ("falls", falls)):
        checks.real(f"read: {name}", value)
    plain = None if isinstance(load, xr.DataArray) else checks.array("read: load", load)
    if plain is not None and plain.ndim != 1:
        raise ValueError(f"read: load has shape {plain.shape}: give one curve, a number for each layer")
    values = load if plain is None else xr.DataArray(plain, dims="layer")
    if values.ndim != 1:
        raise ValueError(f"read: load has dimensions {values.dims}: give one curve, select or average the rest")
    dim = values.dims[0]
    bent, drop = float(curvature(values, dim=str(dim))), float(descent(values, dim=str(dim)))
    left_out = str(values.attrs.get("left_out", ""))
    if not np.isfinite(bent):
        return Reading("no shape", bent, drop, "", 0.0, (), left_out)
    d = values.values.astype(float)
    chord = np.linspace(d[0], d[-1], len(d))
    spread = float(np.ptp(d))
    verdict: Verdict
    if drop < falls:
        verdict = "not falling"
    elif abs(bent) > bend:
        verdict = "lazy" if bent > 0 else "over-noisy"
    else:
        verdict = "uneven" if np.abs(d - chord).max() > uneven * spread else "balanced"
    work = steps(values, dim=str(dim))
    names = [str(v) for v in (work[dim].values if dim in work.coords else range(1, len(d)))]
    done = np.clip(work.values, 0.0, None)
    best = int(done.argmax())
    rising = tuple(n for n, w in zip(names, work.values, strict=True) if w < -0.01 * spread)
    return Reading(
        verdict, bent, drop, names[best], float(done[best] / done.sum()) if done.any() else 0.0, rising, left_out
    )


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")  # adding zero turns -0.0 into 0.0
