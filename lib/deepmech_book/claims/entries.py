"""One claim, measured: of a measurement :func:`judged` makes an :class:`Entry`, which shows itself."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import UNKNOWN, Estimate, stack
from deepmech_book import RECORD
from deepmech_book.claims import registry
from deepmech_book.claims.display import claim_line, facts, strip
from deepmech_book.claims.rules import NOT_TESTABLE, Rule, judge


@dataclass(frozen=True)
class Measurement:
    """What a claim's function found in runs.

    Attributes
    ----------
    measured : Estimate, several of them, or number, array or DataArray without interval
        What the claim's ``measure`` asks for. Of an array every element must satisfy the rule; the worst is reported
        (with its labels, if it has any). The claim is decided only if the whole interval of an estimate lies on one
        side of the rule, and not testable, with its number, if it has none. Where the claim names a null, an estimate
        brings its own and the interval of their difference, in which the claim has to be better. For rules on curves it
        is the steps of the curve, ``curve.diff(dim)``.
    expected : number or array
        What a ``within`` rule compares with; broadcasts against ``measured``. Not needed where the registry has it.
    null : Estimate, number or array
        The same measurement of the claim's null. Required if the claim names one.
    first_null : Estimate, number or array
        The same measurement of the null that was exchanged, where the registry names one.
    detail : str
        One or two sentences a reader should know.
    not_testable : str
        Why these runs cannot decide the claim; then nothing needs to be measured.
    """

    measured: Any = None
    expected: Any = None
    null: Any = None
    detail: str = ""
    not_testable: str | None = None
    first_null: Any = None


@dataclass(frozen=True)
class Entry:
    """A claim with its measurement and verdict. Of an array, the element that decided the verdict is kept.

    ``measured``, ``expected``, ``null``, ``interval`` and ``difference`` (the interval of measured less null) are
    numbers or None, as is ``first_null``, against which the verdict would be ``first_verdict``; ``at`` says which
    element they belong to and ``count`` how many there were. ``strip`` shows all of them, as SVG.
    """

    claim: registry.Claim
    verdict: str
    reason: str = ""
    measured: float | None = None
    expected: float | None = None
    null: float | None = None
    first_null: float | None = None
    first_verdict: str = ""
    interval: tuple[float, float] | None = None
    difference: tuple[float, float] | None = None
    at: str = ""
    count: int = 0
    seeds: int | None = None
    detail: str = ""
    strip: str = ""

    def to_json(self) -> dict[str, Any]:
        """The record that the scoreboard is made from: plain JSON values."""
        c = self.claim
        told = {name: getattr(c, name) for name in ("id", "figure", "statement", "where", "measure", "kind")}
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("claim", "strip")}
        return {**told, "rule": c.rule.words, "null_words": c.against, **found}

    def __repr__(self) -> str:
        told = facts(self.claim, self.to_json())
        words = "; ".join(f"{name} {words}" if name != "because" else words for name, words in told)
        return f"{self.claim.id}: {self.verdict}. {self.claim.statement} {words}. {self.detail}".rstrip()

    def _repr_html_(self) -> str:
        return claim_line(self.claim, self.to_json(), self.strip)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self), RECORD: {"claim": self.to_json()}}


def judged(claim: str, found: Measurement, seeds: int | None = None) -> Entry:
    """What was found of a claim of the registry, with the verdict that follows by the claim's rule.

    Parameters
    ----------
    claim : str
        Its id, e.g. ``"A.3.eq8"``.
    found : Measurement
        What its function found.
    seeds : int, optional
        Number of independent runs behind it; an estimate brings its own.

    Returns
    -------
    Entry
        Shows itself in a notebook and carries its record in the output.

    Raises
    ------
    ValueError
        Unknown id (near ids are named), a measurement that is missing or not finite, an expected value or a null that
        is missing, or a null where the claim has none.

    Examples
    --------
    >>> judged("A.3.eq8", Measurement(-0.0497, expected=-0.05, null=0.1)).verdict
    'holds'
    >>> judged("A.S1.jerky", Measurement(Estimate(0.9, 0.7, 1.1))).verdict
    'undecided'
    """
    measured, expected, null = found.measured, found.expected, found.null
    detail, not_testable = found.detail, found.not_testable
    c = registry.claim(claim)
    interval = difference = None
    lacking = ""
    if isinstance(measured := _one(measured), Estimate):
        one = measured
        measured, interval, seeds = one.value, one.interval, one.n if seeds is None else seeds
        if null is None and c.against is not None:
            null, difference = one.null, one.difference
        if not one.is_finite:
            lacking = one.reason or UNKNOWN
    null, first = (one.value if isinstance(one := _one(which), Estimate) else one for which in (null, found.first_null))
    if lacking and not_testable is None:
        not_testable, numbers = lacking, [x for x in (measured, null) if x is not None]
        if (null is None) == (c.against is None) and all(np.size(x) and np.isfinite(x).all() for x in numbers):
            alone = judged(claim, replace(found, measured=measured, null=null), seeds)  # a number is shown all the same
            return replace(alone, verdict=NOT_TESTABLE, reason=lacking)
    if not_testable is not None:
        return Entry(c, NOT_TESTABLE, reason=not_testable, seeds=seeds, detail=detail)
    expected = c.expected if expected is None else expected
    why = ""
    if measured is None:
        why = f"measured is missing; it should be: {c.measure}"
    elif (expected is None) == (c.rule.kind == "within"):
        want = "needs an expected value" if expected is None else "takes no expected value"
        why = f"the rule '{c.rule.words}' {want}"
    elif null is None and c.against is not None:
        why = f"the claim needs its null, measured: {c.against}"
    elif (first is None) == bool(c.first_null):
        why = f"first_null must be given if, and only if, the registry names one, measured: {c.first_null or 'none'}"
    elif null is not None and c.against is None:
        why = "the claim names no null in the registry; leave it out"
    if why:
        raise ValueError(f"claim {claim}: {why}")
    low, high = (None, None) if interval is None else interval
    less, more = (None, None) if difference is None else difference
    given = {"measured": measured, "expected": expected, "null": null, "interval": low, "upper end": high,
             "first_null": first, "difference": less, "its upper end": more}  # fmt: skip
    like = measured if isinstance(measured, xr.DataArray) else xr.DataArray(np.asarray(measured))
    arrays = {name: _finite(claim, name, value, like) for name, value in given.items() if value is not None}
    # An empty measurement would satisfy every rule.
    if like.size == 0:
        raise ValueError(f"claim {claim}: measured is empty; hand over at least one number")
    ends = (arrays["interval"], arrays["upper end"]) if interval is not None else None
    if ends and np.any(ends[0] > ends[1]):
        raise ValueError(f"claim {claim}: interval = (lower, upper) has a lower end above the upper one")
    expects, nulls = arrays.get("expected"), arrays.get("null")
    apart = None if difference is None else (arrays.pop("difference"), arrays.pop("its upper end"))
    ruled = judge(c.rule, arrays["measured"], expected=expects, interval=ends, null=nulls,
                  better_than_null=c.better_than_null, difference=apart)  # fmt: skip
    earlier = judge(c.rule, arrays["measured"], expected=expects, interval=ends, null=arrays.get("first_null"))
    shown = {name: float(array.ravel()[ruled.worst]) for name, array in arrays.items()}
    between = (shown.pop("interval"), shown.pop("upper end")) if ends else None
    beyond = (float(apart[0].ravel()[ruled.worst]), float(apart[1].ravel()[ruled.worst])) if apart else None
    many = _strip(c.rule, arrays["measured"], expects, nulls, ruled.worst) if like.size > 1 else ""
    return Entry(c, ruled.verdict, ruled.reason, **shown, interval=between, difference=beyond,
                 first_verdict=earlier.verdict if c.first_null else "", at=_labels(like, ruled.worst), count=like.size,
                 seeds=seeds, detail=detail, strip=many)  # fmt: skip


def _strip(rule: Rule, measured: np.ndarray, expected: np.ndarray | None, null: np.ndarray | None, worst: int) -> str:
    """The strip plot of an array; where elements have expected values of their own, of the distance from these."""
    low, high = np.broadcast_arrays(*rule.region(expected))
    if rule.kind != "within" or np.ptp(low) == 0:  # one region for all
        return strip(measured, null, (float(low.min()), float(high.min())), float(measured.flat[worst]))
    middle, reach = (low + high) / 2, (high - low) / 2
    if np.any(reach == 0):
        return ""
    off, nulls = (None if x is None else (x - middle) / reach for x in (measured, null))
    assert off is not None
    return strip(off, nulls, (-1.0, 1.0), float(off.flat[worst]), "distances, of what is allowed")


def _one(measured: Any) -> Any:
    """Several estimates as one."""
    several = isinstance(measured, list | tuple) and measured and all(isinstance(m, Estimate) for m in measured)
    return stack(measured) if several else measured


def _finite(claim: str, name: str, value: Any, like: xr.DataArray) -> np.ndarray:
    """``value`` as float64 of ``like``'s shape, labelled arrays matched by dimension."""
    try:
        if isinstance(value, xr.DataArray):
            value = value.broadcast_like(like).transpose(*like.dims).values
        array = np.broadcast_to(np.asarray(value, dtype=float), like.shape)
    except (TypeError, ValueError) as error:
        raise ValueError(f"claim {claim}: {name} does not fit measured, of shape {like.shape}: {error}") from None
    if bad := int(np.sum(~np.isfinite(array))):
        raise ValueError(
            f"claim {claim}: {name} has {bad} of {array.size} values that are not finite; leave out "
            "members that diverged and say so in detail, or pass not_testable='why'"
        )
    return array


def _labels(array: xr.DataArray, flat: int) -> str:
    """Where the element stands, e.g. ``noise = 0.1, slope = 0``; empty for plain arrays."""
    index = np.unravel_index(flat, array.shape) if array.ndim else ()
    words = []
    for dim, i in zip(array.dims, index, strict=True):
        if dim in array.coords:
            label = array.coords[dim].values[i]
            words.append(f"{dim} = {label:g}" if isinstance(label, np.number) else f"{dim} = {label}")
    return ", ".join(words)
