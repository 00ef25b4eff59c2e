"""How a verdict follows from numbers: each rule names the region in which a measured number must lie.

========================  =====================================================================================
rule                      a number holds where
========================  =====================================================================================
``within: t``             it differs from the expected value by at most t (``relative: true``: by at most t times it)
``above: a``, ``below: b``            it is strictly above a, strictly below b
``at_least: a``, ``at_most: b``       it is at least a, at most b
``between: [a, b]``       it lies in the closed interval
``never_rises: t``        no step of the curve from one value to the next is larger than t
========================  =====================================================================================

``slack: s`` widens the region by s on each side, for rounding or sampling error. Arrays hold where every element does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.special

HOLDS = "holds"
TRIVIAL = "holds trivially"
FAILS = "fails"
UNDECIDED = "undecided"
NOT_TESTABLE = "not testable at this profile"
VERDICTS = (HOLDS, TRIVIAL, FAILS, UNDECIDED, NOT_TESTABLE)

_ONE_SIDED = {"above": ">", "below": "<", "at_least": "≥", "at_most": "≤"}
KINDS = (*_ONE_SIDED, "within", "between", "never_rises")


@dataclass(frozen=True)
class Rule:
    """One rule of the registry, e.g. ``Rule.parse({"within": 0.02, "relative": True})``."""

    kind: str
    value: Any
    relative: bool = False
    slack: float = 0.0

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> Rule:
        kinds = [k for k in entry if k in KINDS]
        extra = set(entry) - {*kinds, "relative", "slack"}
        if len(kinds) != 1 or extra:
            one = f"exactly one of {', '.join(KINDS)}"
            raise ValueError(f"rule {dict(entry)}: give {one}, and relative or slack if needed")
        return cls(kinds[0], entry[kinds[0]], bool(entry.get("relative", False)), float(entry.get("slack", 0.0)))

    def to_json(self) -> dict[str, Any]:
        """The rule as it is written in the registry, which :meth:`parse` reads."""
        relative = {"relative": True} if self.relative else {}
        return {self.kind: self.value, **relative, **({"slack": self.slack} if self.slack else {})}

    @property
    def direction(self) -> int:
        """+1 where more is better, -1 where less is, 0 where the region has two sides."""
        return {"above": 1, "at_least": 1, "below": -1, "at_most": -1}.get(self.kind, 0)

    @property
    def words(self) -> str:
        """The rule as a reader sees it."""
        slack = f" (slack {self.slack:g})" if self.slack else ""
        if self.kind in _ONE_SIDED:
            said = f"{_ONE_SIDED[self.kind]} {self.value:g}{slack}"
        elif self.kind == "within":
            size = f"{100 * self.value:g} %" if self.relative else f"{self.value:g}"
            said = f"{f'within {size} of' if self.value else 'equal to'} the expected value{slack}"
        elif self.kind == "between":
            said = f"between {self.value[0]:g} and {self.value[1]:g}{slack}"
        else:
            said = "never rises" + (f" by more than {self.value:g}" if self.value else "")
        return said.replace("-", "−")

    def region(self, expected: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of the region, as arrays of the expected value's shape or as scalars."""
        if self.kind == "within":
            if expected is None:
                raise ValueError(f"the rule '{self.words}' needs an expected value")
            reach = self.value * np.abs(expected) if self.relative else self.value
            low, high = expected - reach, expected + reach
        elif self.kind == "between":
            low, high = self.value
        else:
            low, high = (self.value, np.inf) if self.direction > 0 else (-np.inf, self.value)
        return np.asarray(low, float) - self.slack, np.asarray(high, float) + self.slack

    def inside(self, numbers: np.ndarray, expected: np.ndarray | None) -> np.ndarray:
        """Element by element, whether the numbers lie in the region."""
        low, high = self.region(expected)
        if self.kind in ("above", "below"):
            return (numbers > low) & (numbers < high)
        return (numbers >= low) & (numbers <= high)


class Judgement(NamedTuple):
    """Outcome of a rule: the verdict, why, and the flat index of the element that decided it."""

    verdict: str
    reason: str
    worst: int


def judge(
    rule: Rule,
    measured: np.ndarray,
    *,
    expected: np.ndarray | None = None,
    interval: tuple[np.ndarray, np.ndarray] | None = None,
    null: np.ndarray | None = None,
    better_than_null: bool = False,
    difference: tuple[np.ndarray, np.ndarray] | None = None,
) -> Judgement:
    """Apply a rule to finite arrays that broadcast against ``measured`` (for a curve rule: its steps).

    An element with an interval holds when the whole interval lies in the region, fails when none of it does, and is
    undecided otherwise. One failing element fails the claim; else one undecided element leaves it undecided; else one
    element in which the null does as well makes it trivial. Curves are the exception, whether compared with expected
    values or step by step: a null may share points with them, such as the first, and is as good only if all are.

    The element that decided has, alone, the verdict of all.

    With ``difference``, the interval of measured less null, one element in which it lies wholly on the null's side
    makes the claim trivial; else one in which it straddles 0 leaves it undecided: it cannot be told from its null.
    """
    low, high = (np.broadcast_to(end, measured.shape) for end in rule.region(expected))
    holds = rule.inside(measured, expected)
    fails = ~holds
    if interval is not None:
        holds = rule.inside(interval[0], expected) & rule.inside(interval[1], expected)
        fails = (interval[1] < low) | (interval[0] > high)
        holds, fails = np.broadcast_to(holds, measured.shape), np.broadcast_to(fails, measured.shape)
    rank = np.where(fails, 0, np.where(holds, 2, 1))
    margin = np.minimum(measured - low, high - measured)
    order = np.lexsort((margin.ravel(), rank.ravel()))
    worst = int(order[0])
    if rank.ravel()[worst] == 0:
        return Judgement(FAILS, "", worst)
    if rank.ravel()[worst] == 1:
        return Judgement(UNDECIDED, "the interval lies on both sides of the rule", worst)
    if null is None:
        return Judgement(HOLDS, "", worst)
    if better_than_null and difference is not None:
        ends = [np.broadcast_to(rule.direction * end, measured.shape).ravel()[order] for end in difference]
        alike, worse = np.minimum(*ends) * np.maximum(*ends) <= 0, np.maximum(*ends) < 0
        if worse.any():
            return Judgement(TRIVIAL, f"the null does better{_share(worse)}", int(order[np.argmax(worse)]))
        if alike.any():
            return Judgement(UNDECIDED, f"it cannot be told from its null{_share(alike)}", int(order[np.argmax(alike)]))
        return Judgement(HOLDS, "", worst)
    if better_than_null:
        # The end of the interval nearer to the null counts: a difference within the interval is none.
        least = measured if interval is None else interval[0] if rule.direction > 0 else interval[1]
        trivial = (null - least) * rule.direction >= 0
    else:
        trivial = rule.inside(null, expected)
    trivial = np.broadcast_to(trivial, measured.shape).ravel()[order]
    if trivial.all() if rule.kind in ("never_rises", "within") else trivial.any():
        return Judgement(TRIVIAL, f"the null does as well{_share(trivial)}", int(order[np.argmax(trivial)]))
    return Judgement(HOLDS, "", int(order[np.argmin(trivial)]))  # of a curve, a point that its null does not share


def _share(some: np.ndarray) -> str:
    """In how many of the elements, where it is not in all."""
    return "" if some.all() else f" in {int(some.sum())} of {some.size}"


def again(
    region: tuple[float, float],
    interval: tuple[float, float],
    verdict: str,
    n: int | None = None,
    better: tuple[float, float] | None = None,
) -> float:
    """The share of repetitions, with as many runs, that give the same verdict.

    Its interval is taken for that of a mean of ``n`` normal numbers, by Student's t, of which nothing else is known:
    the number of a repetition is normal about this one with the variance 2σ², for both scatter about the truth; σ² is
    s² divided by χ²/(n - 1), of n - 1 degrees of freedom, and the s² of the repetition is σ² times another such one
    (without ``n``, σ is s). It holds if all of its interval lies in the ``region``, and if all of ``better``, the
    interval of what the number is better than its null by, is above 0 in its own repetition.
    """
    middle, sigma, half = _repetitions(interval, n)
    holds = _inside(region, middle, sigma, half)
    fails = 2 - _inside((region[0], np.inf), middle, sigma, -half) - _inside((-np.inf, region[1]), middle, sigma, -half)
    worse = holds * (verdict == TRIVIAL)
    if better:
        own = _repetitions(better, n)
        worse, holds = min(holds, _inside((-np.inf, 0.0), *own)), min(holds, _inside((0.0, np.inf), *own))
    same = {HOLDS: holds, TRIVIAL: worse, FAILS: fails}.get(verdict, 1 - holds - fails - worse)
    return float(np.clip(same, 0.0, 1.0))


def power(region: tuple[float, float], interval: tuple[float, float], n: int | None = None) -> float:
    """The share of repetitions that would hold if the truth lay in the middle of the region, and single runs scattered
    as much as they do; 1 where the region has no end."""
    chi, sigma, half = _scatter(interval, n)
    reach = (region[1] - region[0]) / 2
    return _inside((-reach, reach), 0.0, sigma, half * np.sqrt(chi))


def _repetitions(interval: tuple[float, float], n: int | None) -> tuple[float, Any, Any]:
    """Middle of the interval; over what σ may be, how far a repetition is off, and half the width of its interval."""
    chi, s, half = _scatter(interval, n)
    sigma = s / np.sqrt(chi[:, None])
    return sum(interval) / 2, np.sqrt(2) * sigma, half * np.sqrt(chi / chi[:, None])


def _scatter(interval: tuple[float, float], n: int | None) -> tuple[np.ndarray, float, float]:
    """χ² over its n - 1 degrees of freedom, at 40 of its quantiles (1 without ``n``); s, and half the interval."""
    half, share = (interval[1] - interval[0]) / 2, (np.arange(40) + 0.5) / 40
    if n is None:
        return np.ones(1), half / scipy.special.ndtri(0.975), half
    chi = 2 * scipy.special.gammaincinv((n - 1) / 2, share) / (n - 1)
    return chi, half / scipy.special.stdtrit(n - 1, 0.975), half


def _inside(region: tuple[float, float], middle: float, sigma: Any, half: Any) -> float:
    """How often all of an interval lies in a region."""
    below = scipy.special.ndtr((region[1] - half - middle) / sigma)
    return float(np.mean(np.clip(below - scipy.special.ndtr((region[0] + half - middle) / sigma), 0.0, None)))
