"""Verdicts follow by rule: checked against the rules' definitions, then through the display and its record."""

import html
import json
import re

import numpy as np
import pytest
import xarray as xr
from entries import entry_of
from hypothesis import given
from hypothesis import strategies as st

from deepmech import over
from deepmech.core.estimates import Estimate, estimate, unknown
from deepmech_book import RECORD, claims
from deepmech_book.claims import tables
from deepmech_book.claims.display import MOST, number, short
from deepmech_book.claims.functions import by_threshold
from deepmech_book.claims.rules import FAILS, HOLDS, NOT_TESTABLE, TRIVIAL, UNDECIDED, Rule, again, judge, power

NUMBER = st.floats(-10, 10)
RULES = st.one_of(
    st.builds(lambda a: {"above": a}, NUMBER),
    st.builds(lambda a: {"below": a}, NUMBER),
    st.builds(lambda a: {"at_least": a}, NUMBER),
    st.builds(lambda a: {"at_most": a}, NUMBER),
    st.builds(lambda a, b: {"between": sorted([a, b])}, NUMBER, NUMBER),
    st.builds(lambda t, r: {"within": abs(t), "relative": r}, NUMBER, st.booleans()),
)
MEANING = {
    "above": lambda x, a, e: x > a,
    "below": lambda x, a, e: x < a,
    "at_least": lambda x, a, e: x >= a,
    "at_most": lambda x, a, e: x <= a,
    "between": lambda x, a, e: a[0] <= x <= a[1],
}


def one(x):
    return np.array([float(x)])


@given(RULES, NUMBER, NUMBER)
def test_a_number_holds_exactly_where_its_rule_says(entry, x, expected):
    rule = Rule.parse(entry)
    verdict = judge(rule, one(x), expected=one(expected) if rule.kind == "within" else None).verdict
    if rule.kind == "within":
        reach = rule.value * abs(expected) if rule.relative else rule.value
        should = expected - reach <= x <= expected + reach
    else:
        should = MEANING[rule.kind](x, rule.value, expected)
    assert verdict == (HOLDS if should else FAILS)


ELEMENT = st.fixed_dictionaries(
    {"measured": NUMBER, "expected": NUMBER, "null": NUMBER, "down": st.floats(0, 3), "up": st.floats(0, 3),
     "less": NUMBER, "more": st.floats(0, 3), "same": st.booleans()}
)  # fmt: skip
CURVE = st.builds(lambda a: {"never_rises": abs(a)}, NUMBER)


@given(
    st.one_of(RULES, CURVE), st.lists(ELEMENT, min_size=1, max_size=5), st.booleans(), st.booleans(), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_the_published_line_gives_the_verdict(entry, elements, with_null, with_interval, with_difference, better):
    """Whatever was judged, the numbers of the element that is published have the verdict of all, through JSON."""
    rule = Rule.parse(entry)
    better &= with_null and rule.direction != 0
    of = {name: np.array([float(e[name]) for e in elements]) for name in elements[0]}
    null = np.where(of["same"], of["measured"], of["null"]) if with_null else None  # curves share points with a null
    ends = (of["measured"] - of["down"], of["measured"] + of["up"]) if with_interval else None
    apart = (of["less"], of["less"] + of["more"]) if with_difference and with_null else None
    expected = of["expected"] if rule.kind == "within" else None
    given = {"interval": ends, "null": null, "better_than_null": better, "difference": apart}
    found = judge(rule, of["measured"], expected=expected, **given)
    low, high = ends or (None, None)
    less, more = apart or (None, None)
    line = {"measured": of["measured"], "expected": expected, "null": null, "low": low, "high": high,
            "less_null_low": less, "less_null_high": more}  # fmt: skip
    line = {name: None if one is None else float(one[found.worst]) for name, one in line.items()}
    line |= {"criterion": rule.to_json(), "better_than_null": better}
    assert tables.verdict_of(json.loads(json.dumps(line))) == found.verdict


@given(RULES, NUMBER, NUMBER, st.floats(0, 5), st.floats(0, 5))
def test_an_interval_decides_only_if_it_lies_on_one_side(entry, x, expected, down, up):
    rule = Rule.parse(entry)
    wanted = one(expected) if rule.kind == "within" else None
    ends = one(x - down), one(x + up)
    verdict = judge(rule, one(x), expected=wanted, interval=ends).verdict
    inside = [judge(rule, one(v), expected=wanted).verdict == HOLDS for v in np.linspace(x - down, x + up, 9)]
    if verdict == HOLDS:
        assert all(inside)
    elif verdict == FAILS:
        assert not any(inside)
    else:
        assert verdict == UNDECIDED


@given(RULES, st.lists(NUMBER, min_size=1, max_size=6), st.lists(NUMBER, min_size=1, max_size=6))
def test_arrays_hold_where_every_element_does_and_one_element_of_the_null_is_enough_but_for_curves(entry, xs, nulls):
    rule = Rule.parse(entry)
    n = min(len(xs), len(nulls))
    xs, nulls = np.array(xs[:n]), np.array(nulls[:n])
    wanted = np.zeros(n) if rule.kind == "within" else None
    each = [judge(rule, one(x), expected=None if wanted is None else one(0)).verdict for x in xs]
    free = [judge(rule, one(x), expected=None if wanted is None else one(0)).verdict for x in nulls]
    found = judge(rule, xs, expected=wanted, null=nulls)
    if FAILS in each:
        assert found.verdict == FAILS and each[found.worst] == FAILS
    else:
        as_good = FAILS not in free if rule.kind in ("never_rises", "within") else HOLDS in free
        assert found.verdict == (TRIVIAL if as_good else HOLDS)
        if found.verdict == TRIVIAL:
            assert free[found.worst] == HOLDS, "the element that decides is shown"


def test_a_null_that_is_as_good_makes_a_comparison_trivial():
    rule = Rule.parse({"below": 0})
    arguments = {"null": one(-0.6), "better_than_null": True}
    assert judge(rule, one(-0.8), **arguments).verdict == HOLDS
    assert judge(rule, one(-0.5), **arguments).verdict == TRIVIAL
    # A difference that the interval does not exclude is none.
    assert judge(rule, one(-0.8), interval=(one(-0.95), one(-0.55)), **arguments).verdict == TRIVIAL
    assert judge(rule, one(0.1), **arguments).verdict == FAILS


def test_curves_may_not_rise():
    curve = xr.DataArray([[3.0, 2.0, 2.5], [1.0, 0.5, 0.0]], dims=("mu", "noise"), coords={"noise": [0.0, 0.1, 0.2]})
    entry = entry_of("A.3.monotone", curve.diff("noise"))
    assert entry.verdict == FAILS and entry.measured == 0.5 and entry.at == "noise = 0.2"
    assert entry_of("A.3.monotone", curve.isel(mu=1, drop=True).diff("noise")).verdict == HOLDS
    assert entry_of("A.3.monotone", [-0.1, 0.005]).verdict == HOLDS


def test_the_hardest_element_is_reported_with_its_labels():
    mu = over("friction_right", [0.0, 0.1, 0.4])
    expected = (mu - 0.2) / 2
    entry = entry_of("A.3.eq8", expected + np.array([0.0, 0.0002, 0.0015]), expected=expected, null=mu**2)
    assert entry.verdict == HOLDS
    found = entry.measured, entry.expected, entry.null, entry.count
    assert found == (pytest.approx(0.1015), 0.1, pytest.approx(0.16), 3)
    assert entry.at == "friction_right = 0.4"
    assert "the least clear of 3 (friction_right = 0.4)" in repr(entry)
    assert entry.strip.count("<circle") == 7 and "3 distances" in entry.strip


def test_what_too_few_runs_measure_is_shown_and_decides_nothing():
    """Of an array the element that is hardest to satisfy; through the record, and the row of the scoreboard."""
    few = estimate(np.array([[0.2, -0.1], [0.4, -0.1]]), scatter="skewed")
    entry = entry_of("C.A8.less", few)
    assert (entry.verdict, entry.interval, entry.seeds, entry.count) == (NOT_TESTABLE, None, 2, 2)
    assert entry.measured == pytest.approx({True: -0.1, False: 0.3}[entry.claim.rule.direction > 0])
    assert "too few runs" in entry.reason and f"measured {entry.measured:.1f}".replace("-", "−") in repr(entry)
    (row,) = [r for r in tables.scoreboard_rows([{"claim": entry.to_json()}]) if r["claim"] == "C.A8.less"]
    assert row["measured"] == entry.measured and tables.verdict_of(row) == NOT_TESTABLE
    assert entry_of("C.A8.less", unknown("one run")).measured is None


def test_one_value_is_a_line_and_many_are_drawn_but_a_thousand_not_one_by_one():
    line = entry_of("C.A8.less", [0.2])._repr_html_()
    assert line.startswith("<details") and line.count("<svg") == 1 and "rule &lt; 1" in line
    many = entry_of("C.A8.less", np.linspace(0, 0.9, 1000))
    assert many.strip.count("<circle") == MOST + 1 and "1000 values, 0 to 0.90" in many.strip
    assert "strip" not in many.to_json(), "records stay small"


def test_a_check_is_marked_and_a_null_that_is_as_good_somewhere_says_where():
    assert "check</span>" in entry_of("A.5b.noiseless", 0.1, expected=0.1)._repr_html_()
    assert "check fails</span>" in entry_of("A.5b.noiseless", 0.1, expected=0.2)._repr_html_()
    found = entry_of("A.1.c.each_layer", [0.3, 0.2], null=[0.1, 0.4])
    assert found.verdict == TRIVIAL and "trivial in 1 of 2</span>" in found._repr_html_()


def test_labelled_arrays_are_matched_by_name_not_by_position():
    square = xr.DataArray(np.arange(4.0).reshape(2, 2), dims=("a", "b"))
    entry = entry_of("A.5b.noiseless", square, expected=square.transpose("b", "a"))
    assert entry.verdict == HOLDS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "measured is missing; it should be: mean over blocks"),
        ({"measured": np.nan, "expected": 0.1, "null": 0.0}, "measured has 1 of 1 values that are not finite"),
        ({"measured": [0.1, np.inf], "expected": 1.0, "null": 0.0}, "1 of 2 values that are not finite"),
        ({"measured": 0.1, "null": 0.0}, "needs an expected value"),
        ({"measured": 0.1, "expected": 0.1}, "needs its null, measured: the noiseless step"),
        ({"measured": 0.1, "expected": [0.1, 0.2], "null": 0.0}, "expected does not fit measured"),
        ({"measured": Estimate(0.1, 1.0, 0.0, 5), "expected": 0.1, "null": 0.0}, "lower end above"),
        ({"measured": Estimate(0.1, 0.0, 1.0), "expected": 0.1, "null": 0.0}, "of how many independent runs"),
        ({"measured": [], "expected": 0.1, "null": 0.0}, "measured is empty"),
    ],
)
def test_what_cannot_be_judged_is_an_error(arguments, words):
    with pytest.raises(ValueError, match=words):
        entry_of("A.3.eq8", **arguments)


def test_a_claim_may_be_beyond_a_profile():
    entry = entry_of("A.3.eq8", not_testable="needs noise beyond the quick grid", detail="See the laptop profile.")
    assert entry.verdict == NOT_TESTABLE
    assert "needs noise beyond" in repr(entry) and entry.to_json()["measured"] is None


def test_the_display_carries_the_record_and_needs_no_style():
    found = Estimate(-0.0499, -0.0502, -0.0496, n=20)
    entry = entry_of("A.3.eq8", found, expected=-0.05, null=0.1, detail="a < b & c")
    bundle = entry._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain", RECORD}
    record = json.loads(json.dumps(bundle[RECORD], allow_nan=False))["claim"]
    assert record["id"] == "A.3.eq8" and record["verdict"] == HOLDS and record["seeds"] == 20
    html = bundle["text/html"]
    assert "style=" not in html and "dm-holds" in html
    assert "a &lt; b &amp; c" in html
    assert re.sub("<[^>]*>", " ", html).count("holds") == 1
    for shown in ("−0.0499", "[−0.0502, −0.0496]", "−0.05", "within 2 %"):
        assert shown in html and shown in bundle["text/plain"]


@pytest.mark.parametrize(
    ("difference", "verdict"), [((-0.3, -0.1), HOLDS), ((-0.1, 0.2), UNDECIDED), ((0.1, 0.2), TRIVIAL)]
)
def test_a_null_counts_as_better_only_beyond_the_interval_of_the_difference(difference, verdict):
    measured = Estimate(-0.7, -0.75, -0.65, 5, null=-0.8, difference=difference)
    found = entry_of("A.SM.accuracy_falls", measured)
    assert found.verdict == verdict
    assert "less its null</dt> <dd>[" in found._repr_html_() and found.detail == ""


def test_a_null_that_does_better_somewhere_decides_before_one_that_cannot_be_told_apart():
    rule, both = Rule.parse({"above": 0}), (np.array([0.4, 0.5, 0.6]), np.array([0.6, 0.7, 0.8]))
    less = (np.array([-0.1, -0.3, 0.1]), np.array([0.1, -0.1, 0.3]))
    given = {"interval": both, "null": np.array([0.5, 0.8, 0.5]), "better_than_null": True}
    found = judge(rule, np.array([0.5, 0.6, 0.7]), difference=less, **given)
    assert found == (TRIVIAL, "the null does better in 1 of 3", 1)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (short(-0.9265, (-0.9429, -0.9101), -0.7120), ("−0.93 [−0.94, −0.91]", ["−0.71"])),
        (short(0.0499, (0.0496, 0.0502), 0.05), ("0.0499 [0.0496, 0.0502]", ["0.0500"])),
        (short(-0.0608, (-0.124, -0.00327), bars=[0.0])[0], "−0.061 [−0.124, −0.003]"),
        (short(0.0, (0.0, 0.0), 0.5009, bars=[0.05]), ("0 [0, 0]", ["0.50"])),
        (short(3206, None, 0.625, 2.5e-6), ("3,200", ["0.62", "2.5·10⁻⁶"])),
        (short(1.034e-5, (0.992e-5, 1.109e-5), bars=[0.01])[0], "1.0 [1.0, 1.1]·10⁻⁵"),
        ([number(x) for x in (-0.12345, 84000, 2560.3, 1e-7)], ["−0.1235", "84,000", "2,560", "1e−07"]),
        (by_threshold("C.A8.less", Estimate(0.9, 0.7, 1.1), 0.5, 1.0, 1.5),
         "With other thresholds: 0.5, fails; 1, undecided; 1.5, holds."),
    ],
)  # fmt: skip
def test_numbers_have_two_digits_and_more_where_they_would_look_like_a_rival_or_a_bar(shown, words):
    assert shown == words


@pytest.mark.parametrize(("n", "region"), [(4, (0.0, np.inf)), (10, (-0.5, 0.9))])
def test_a_verdict_comes_again_as_often_as_its_card_says(n, region):
    """Truths anywhere about the rule; two experiments of each, with Student's intervals."""
    rng = np.random.default_rng(0)
    draws = rng.uniform(-6, 6, 1000)[:, None, None] + rng.standard_normal((1000, 2, n))
    low, high = (estimate(np.moveaxis(draws, 2, 0), scatter="symmetric").interval[i] for i in (0, 1))
    holds, fails = (low > region[0]) & (high < region[1]), (high < region[0]) | (low > region[1])
    verdicts = np.where(holds, HOLDS, np.where(fails, FAILS, UNDECIDED))
    first = zip(low[:, 0], high[:, 0], verdicts[:, 0], strict=True)
    said = np.array([again(region, (a, b), v, n) for a, b, v in first])
    came = verdicts[:, 0] == verdicts[:, 1]
    for least, most in ((0, 0.65), (0.65, 0.9), (0.9, 1)):
        some = (said > least) & (said <= most)
        assert some.sum() > 50 and abs(came[some].mean() - said[some].mean()) < 0.07, (least, most)


def test_power_is_how_often_a_true_number_in_the_middle_holds():
    """Of six normal numbers; half the width of an interval whose s is right is 2.571/√6."""
    runs = np.random.default_rng(0).standard_normal((6, 4000))
    low, high = estimate(runs, scatter="symmetric").interval
    for reach in (0.7, 1.2, 2.0):
        held = np.mean((low > -reach) & (high < reach))
        assert power((-reach, reach), (-1.0496, 1.0496), 6) == pytest.approx(held, abs=0.03)
    assert power((0.0, np.inf), (-1.0, 1.0), 6) == 1


def test_a_card_says_its_runs_and_how_sure_its_verdict_is():
    thin = entry_of("A.1.convex_side", Estimate(-0.06, -0.12, -0.003, 10), seeds=400)
    assert "as many runs once more would say the same in 5" in thin._repr_html_()
    assert "10 independent runs, over which the interval is" in repr(thin) and "power" not in repr(thin)
    wide = entry_of("C.A4.cold_flat", Estimate(0.98, 0.91, 1.06, 3), expected=1.0, null=9.0)
    assert "even if the truth lay in the middle of the rule" in repr(wide)
    assert "they do not scatter" in repr(entry_of("A.3.convex", Estimate(-0.1, -0.1, -0.1, 3)))


def test_what_was_changed_stands_on_the_card():
    for one in claims.claims().values():
        card = entry_of(one.id, not_testable="why")._repr_html_()
        assert all(html.escape(words) in card for words in one.history)
