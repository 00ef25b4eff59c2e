"""Findings say what the verdicts say and nothing else; six of them, two a paper, stand on the front page."""

import pytest

from deepmech_book.ledger import claim, claims
from deepmech_book.ledger.display import badge
from deepmech_book.ledger.rules import FAILS, HOLDS
from deepmech_book.ledger.tables import Finding, findings, findings_markdown
from deepmech_book.press import verdicts
from deepmech_book.press.sources import Checkout

TABLE = verdicts.read(Checkout.find().book / verdicts.FILE)
PAGES = {c.page: c.page for c in claims().values()}


def record(name, **more):
    row = TABLE[name]
    interval = None if row.low is None else [row.low, row.high]
    numbers = {"measured": row.measured, "expected": row.expected, "null": row.null, "interval": interval}
    return {"claim": {"id": name, "verdict": row.verdict, **numbers, **more}, "page": claim(name).page}


def heads(text):
    return [line.partition("</summary>")[0] for line in text.splitlines() if "dm-finding" in line]


@pytest.mark.parametrize("finding", findings(), ids=lambda f: f.claims[0])
def test_a_sentence_is_written_for_the_verdict_that_the_book_finds(finding):
    said = finding.sentences([record(name)["claim"] for name in finding.claims])
    assert len(said) == 1, "the claims of a finding have different verdicts: split it"
    assert said[0][0] == TABLE[finding.claims[0]].verdict
    assert "{" not in said[0][1] and "Measured:" not in said[0][1], "no sentence is written for this verdict"


def test_another_verdict_never_gets_the_sentence_of_this_one():
    one = findings()[0]
    flipped = [record(name) for name in one.claims]
    flipped[1]["claim"]["verdict"] = FAILS
    lines = heads(findings_markdown(flipped, "A", PAGES))
    assert len([line for line in lines if badge(FAILS) in line]) == 1
    assert all(claim(name).statement in "".join(lines) for name in one.claims), "each claim speaks for itself"
    assert "whether it comes from" not in "".join(lines)


def test_a_finding_may_quote_the_claim_that_is_nearest_to_failing():
    one = Finding(("A.1.c.dropout_bends", "A.1.a.noise_bends"), holds="{worst.measured:.1f}")
    records = [
        {"id": name, "verdict": HOLDS, "measured": at} for name, at in zip(one.claims, (-1.0, -0.6), strict=True)
    ]
    assert one.sentences(records)[0][1] == "−0.6"


def test_the_front_page_shows_six_findings_what_stands_and_what_falls():
    front = [f for f in findings() if f.front]
    assert [f.paper for f in front] == list("AABBCC")
    assert {HOLDS, FAILS} <= {TABLE[f.claims[0]].verdict for f in front}
    for f in front:
        text = findings_markdown([record(name) for name in f.claims], f.paper, PAGES, front=True)
        (head,) = heads(text)
        assert head.count("[") == 1, "one number with its interval"
        assert all(claim(name).answered(TABLE[name].verdict) in text.replace("&quot;", '"') for name in f.claims)
        assert all(f'href="generated/{claim(name).page}.html#claim-{name}"' in text for name in f.claims)
        if TABLE[f.claims[0]].verdict != HOLDS:
            assert "The authors could answer" in text


def test_findings_of_pages_that_are_not_built_are_counted():
    (line,) = findings_markdown([], "B", {}).split()[:1]
    assert line == str(sum(f.paper == "B" for f in findings()))


def test_a_finding_rests_on_one_paper_and_names_only_numbers_that_there_are():
    with pytest.raises(ValueError, match="one paper"):
        Finding(("A.3.eq8", "B.3.below"))
    with pytest.raises(ValueError, match="does not have"):
        Finding(("A.3.convex",), holds="{0.null:.2f}").sentences([record("A.3.convex")["claim"]])
