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
