"""What measures a claim, one function of runs, and what came of it: a :class:`Measurement` that is judged, and shown.

A claim has exactly one such function, marked with its id, in the module of its page (``<chapter>/<page>.py``); a test
compares both lists. A page hands over runs: ``claims.show("B.3.peak", …)``. Each is judged on runs of which it is true
by construction, and on runs of its null (``tests/<chapter>/test_<page>.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import UNKNOWN, Estimate, stack
from deepmech_book import RECORD
from deepmech_book.claims import registry
from deepmech_book.claims.digests import of_measure, of_rule
from deepmech_book.claims.display import claim_line, facts, strip
from deepmech_book.claims.rules import NOT_TESTABLE, Rule, judge


@dataclass(frozen=True)
class Measurement:
    """What a claim's function found in runs.

    ``measured`` is what the claim's ``measure`` asks for: an estimate, several of them, or a number or array without
    interval; for rules on curves the steps of the curve, ``curve.diff(dim)``. Of an array every element must satisfy
    the rule; the worst is reported, with its labels, if it has any. The claim is decided only if the whole interval of
    an estimate lies on one side of the rule, and not testable, with its number, if it has none.

    ``null`` is the same measurement of the claim's null, required if the claim names one; an estimate may bring its
    own, and the interval of their difference, in which the claim has to be better. ``first_null`` is that of the null
    that was exchanged, where the registry names one. ``expected`` is what a ``within`` rule compares with, if the
    registry does not have it; ``detail`` one or two sentences a reader should know; ``not_testable`` why these runs
    cannot decide the claim: then nothing needs to be measured.
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
    element they belong to, ``count`` how many there were and ``median`` their middle, where all should be alike.
    ``strip`` shows all of them, as SVG.
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
    median: float | None = None
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
        claim, own = self.claim, functions_of(self.claim.page)[self.claim.id]
        by = {"history": len(claim.history), "rule_is": of_rule(claim), "measure_is": of_measure(claim, own)}
        return {"text/html": self._repr_html_(), "text/plain": repr(self), RECORD: {"claim": self.to_json() | by}}


def judged(claim: str, found: Measurement, seeds: int | None = None) -> Entry:
    """What was found of a claim of the registry, with the verdict that follows by the claim's rule.

    ``seeds`` is the number of runs behind a number without an interval; an estimate brings that of its own.
    A ValueError names a measurement that is missing or not finite, an interval that does not say of how many runs, and
    an expected value or a null that is missing, or that the claim does not have.
    """
    measured, expected, null = found.measured, found.expected, found.null
    detail, not_testable = found.detail, found.not_testable
    c = registry.claim(claim)
    interval = difference = None
    lacking = ""
    if isinstance(measured := _one(measured), Estimate):
        one = measured
        measured, interval, seeds = one.value, one.interval, seeds if one.n is None else one.n
        if null is None and c.against is not None:
            null, difference = one.null, one.difference
        if not one.is_finite:
            lacking = one.reason or UNKNOWN
        elif one.n is None:
            raise ValueError(f"claim {claim}: its interval does not say of how many independent runs: give Estimate.n")
    null, first = (one.value if isinstance(one := _one(which), Estimate) else one for which in (null, found.first_null))
    if lacking and not_testable is None:
        not_testable, numbers = lacking, [x for x in (measured, null) if x is not None]
        if (null is None) == (c.against is None) and all(np.size(x) and np.isfinite(x).all() for x in numbers):
            alone = judged(claim, replace(found, measured=measured, null=null), seeds)  # a number is shown all the same
            return replace(alone, verdict=NOT_TESTABLE, reason=lacking)
    if not_testable is not None:
        return Entry(c, NOT_TESTABLE, reason=not_testable, seeds=seeds, detail=detail)
    expected = c.expected if expected is None else expected
    want = "needs an expected value" if expected is None else "takes no expected value"
    faults = {
        f"measured is missing; it should be: {c.measure}": measured is None,
        f"the rule '{c.rule.words}' {want}": (expected is None) == (c.rule.kind == "within"),
        f"the claim needs its null, measured: {c.against}": null is None and c.against is not None,
        f"first_null must be given if, and only if, the registry names one, measured: {c.first_null or 'none'}":
            (first is None) == bool(c.first_null),
        "the claim names no null in the registry; leave it out": null is not None and c.against is None,
    }  # fmt: skip
    if why := [words for words, wrong in faults.items() if wrong]:
        raise ValueError(f"claim {claim}: {why[0]}")
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
    alike = like.size != 2 and (expects is None or np.ptp(expects) == 0)
    middle = float(np.median(arrays["measured"])) if alike else None
    return Entry(c, ruled.verdict, ruled.reason, **shown, interval=between, difference=beyond,
                 first_verdict=earlier.verdict if c.first_null else "", at=_labels(like, ruled.worst), count=like.size,
                 median=middle, seeds=seeds, detail=detail,
                 strip=_strip(c.rule, arrays["measured"], expects, nulls, ruled.worst, between))  # fmt: skip


def _strip(
    rule: Rule,
    measured: np.ndarray,
    expected: np.ndarray | None,
    null: np.ndarray | None,
    worst: int,
    ends: tuple[float, float] | None,
) -> str:
    """The strip plot of what was measured; where elements have expected values of their own, of the distances."""
    low, high = np.broadcast_arrays(*rule.region(expected))
    if rule.kind != "within" or np.ptp(low) == 0:  # one region for all
        return strip(measured, null, (float(low.min()), float(high.min())), float(measured.flat[worst]), ends=ends)
    middle, reach = (low + high) / 2, (high - low) / 2
    if np.any(reach == 0):
        return ""
    off, nulls = (None if x is None else (x - middle) / reach for x in (measured, null))
    assert off is not None
    between = None if ends is None else [(end - middle.flat[worst]) / reach.flat[worst] for end in ends]
    return strip(off, nulls, (-1.0, 1.0), float(off.flat[worst]), "distances, of what is allowed", between)


def _one(measured: Any) -> Any:
    """Several estimates as one."""
    several = isinstance(measured, list | tuple) and measured and all(isinstance(m, Estimate) for m in measured)
    return stack(measured) if several else measured


def _finite(claim: str, name: str, value: Any, like: xr.DataArray) -> np.ndarray:
    """``value`` as float64 of ``like``'s shape, labelled arrays matched by dimension."""
    try:
        if isinstance(value, xr.DataArray):
            if value.dims != like.dims or any(not value.get_index(d).equals(like.get_index(d)) for d in like.dims):
                value = value.broadcast_like(like).transpose(*like.dims)
            value = value.values
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


@dataclass(frozen=True)
class ClaimFunction:
    """A function from runs to a :class:`Measurement`, and the ids of the claims that it measures."""

    ids: tuple[str, ...]
    function: Callable[..., Measurement]

    def __call__(self, *runs: Any, **named: Any) -> Measurement:
        return self.function(*runs, **named)


def measures(*ids: str) -> Callable[[Callable[..., Measurement]], ClaimFunction]:
    """Marks the function that measures a claim, or several with the same arithmetic on different runs."""
    return lambda function: ClaimFunction(ids, function)


def functions_of(page: str) -> Mapping[str, ClaimFunction]:
    """The functions of a page's claims by id; a ValueError if two have one id, or the page has no module."""
    name = f"{__package__.rpartition('.')[0]}.{page.replace('/', '.')}"
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if not (error.name and name.startswith(error.name)):
            raise
        raise ValueError(
            f"claims of the page {page!r} have no functions; add the module {name} with one for each of its claims"
        ) from None
    found: dict[str, ClaimFunction] = {}
    for function in vars(module).values():
        for one in function.ids if isinstance(function, ClaimFunction) else ():
            if one in found:
                raise ValueError(f"{name}: two functions measure {one}; leave one of them")
            found[one] = function
    return found


def measure(name: str, *runs: Any, seeds: int | None = None, **named: Any) -> Entry:
    """Measure a claim by its function; the verdict follows from its rule.

    ``seeds`` is the number of runs, where the function makes no interval and cannot know it.
    """
    page = registry.claim(name).page
    functions = functions_of(page)
    if name not in functions:
        raise ValueError(f"claim {name} has no function; mark one with @measures({name!r}) in {page}.py")
    return judged(name, functions[name](*runs, **named), seeds)


def show(name: str, *runs: Any, seeds: int | None = None, **named: Any) -> None:
    """:func:`measure` a claim and show it on the page."""
    from IPython.display import display  # a third of a second, which only pages need

    display(measure(name, *runs, seeds=seeds, **named))


def by_threshold(name: str, found: Estimate, *bars: float) -> str:
    """What would be said of a claim if its rule had other thresholds, whatever its null, as a sentence.

    Each of ``bars`` is in place of the number of its rule; of a rule between two, of the lower one, with its inverse
    for the upper one. Empty where there is no interval.
    """
    if not found.is_finite:
        return ""
    rule, value = registry.claim(name).rule, np.asarray(found.value)
    ends = np.asarray(found.low), np.asarray(found.high)
    rules = (replace(rule, value=[bar, 1 / bar] if rule.kind == "between" else bar) for bar in bars)
    verdicts = (judge(one, value, interval=ends).verdict for one in rules)
    return f"With other thresholds: {'; '.join(f'{b:g}, {v}' for b, v in zip(bars, verdicts, strict=True))}."
