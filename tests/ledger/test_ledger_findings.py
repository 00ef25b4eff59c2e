"""Findings say what the verdicts say and nothing else; each paper has three to five on the front page."""

import pytest

from deepmech_book.ledger import claim
from deepmech_book.ledger.rules import FAILS, HOLDS
from deepmech_book.ledger.tables import Finding, findings, findings_markdown
from deepmech_book.press import verdicts
from deepmech_book.press.sources import Checkout

TABLE = verdicts.read(Checkout.find().book / verdicts.FILE)


def record(name, **more):
    row = TABLE[name]
    interval = None if row.low is None else [row.low, row.high]
    numbers = {"measured": row.measured, "expected": row.expected, "null": row.null, "interval": interval}
    return {"claim": {"id": name, "verdict": row.verdict, **numbers, **more}, "page": claim(name).page}


@pytest.mark.parametrize("finding", findings(), ids=lambda f: f.claims[0])
def test_a_sentence_is_written_for_the_verdict_that_the_book_finds(finding):
    said = finding.sentences([r["claim"] | {"page": r["page"]} for r in map(record, finding.claims)])
    assert len(said) == 1, "the claims of a finding have different verdicts: split it"
    assert said[0][0] == TABLE[finding.claims[0]].verdict
    assert "{" not in said[0][1] and "Measured:" not in said[0][1], "no sentence is written for this verdict"


def test_another_verdict_never_gets_the_sentence_of_this_one():
    one = findings()[0]
    flipped = [record(name) for name in one.claims]
    flipped[1]["claim"]["verdict"] = FAILS
    lines = findings_markdown(flipped, "A").splitlines()
    assert len([line for line in lines if "dm-fails" in line]) == 1
    assert all(claim(name).statement in "\n".join(lines) for name in one.claims), "each claim speaks for itself"
    assert "whichever way it enters" not in "\n".join(lines)


@pytest.mark.parametrize("paper", "ABC")
def test_the_front_page_shows_what_stands_and_what_falls(paper):
    front = [f for f in findings() if f.paper == paper and f.front]
    assert 3 <= len(front) <= 5
    found = {TABLE[f.claims[0]].verdict for f in front}
    assert HOLDS in found and FAILS in found
    lines = findings_markdown([record(n) for f in front for n in f.claims], paper, front=True).splitlines()
    assert len(lines) == len(front) and all(line.endswith(")") for line in lines)


def test_findings_of_pages_that_are_not_built_are_counted():
    assert findings_markdown([], "B").splitlines() == [
        f"- {sum(f.paper == 'B' for f in findings())} findings rest on pages that are not part of this build."
    ]


def test_a_finding_rests_on_one_paper_and_names_only_numbers_that_there_are():
    with pytest.raises(ValueError, match="one paper"):
        Finding(("A.3.eq8", "B.3.below"))
    with pytest.raises(ValueError, match="does not have"):
        Finding(("A.3.convex",), holds="{0.null:.2f}").sentences([record("A.3.convex")["claim"] | {"page": "x"}])
