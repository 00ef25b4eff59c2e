"""The scoreboard shows everything; a promised figure or claim that is missing is named."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from deepmech.core.estimates import Estimate
from deepmech_book import ledger
from deepmech_book.ledger import registry, tables
from deepmech_book.ledger.display import badge
from deepmech_book.ledger.rules import FAILS, HOLDS
from deepmech_book.ledger.tables import findings

EQ8 = ledger.check("A.3.eq8", -0.05, expected=-0.05, null=0.1, seeds=20)
JERKY = ledger.check("A.S1.jerky", 1.2)
PAGES = {claim.page for claim in ledger.claims().values()}


def record(entry):
    return {"claim": entry.to_json(), "page": entry.claim.page, "profile": "quick", "seconds": 12.0}


def board(*entries):
    return tables.scoreboard_markdown([record(entry) for entry in entries], "quick", PAGES)


def rows(text):
    return [
        line for line in text.splitlines() if line.startswith("| ") and not line.startswith(("| claim", "| figure"))
    ]


def test_every_claim_and_every_figure_has_a_row():
    text = board()
    assert len(rows(text)) == len(ledger.claims()) + 53
    assert "none measured" in text and "`quick`" in text
    for claim in ledger.claims():
        assert f"| {claim} |" in text


def test_verdicts_are_counted_and_shown_failing_ones_too():
    text = board(EQ8, JERKY)
    assert f"papers: 1 {badge(HOLDS)}, 1 {badge(FAILS)}" in text
    (row,) = (r for r in rows(text) if r.startswith("| A.3.eq8 "))
    assert "−0.05 | within 2 %" in row and "| 0.1 |" in row and "| 20 |" in row
    assert row.endswith("[phase diagram](/generated/spring_block/phase_diagram.ipynb) (12 s) |")
    (row,) = (r for r in rows(text) if r.startswith("| A.S1.jerky "))
    assert "fails" in row and "| 1.2 |" in row


def test_errata_and_what_no_paper_says_are_counted_apart_and_chance_is_counted():
    judged = ledger.check("A.S1.jerky", Estimate(0.2, 0.1, 0.3))
    drawn = ledger.check("B.thm31.threshold", measured=2.0)  # the paper leaves this case open
    text = board(judged, EQ8, ledger.check("A.remark.stuck_blocks", measured=4, null=0), drawn)
    holds = badge(HOLDS)
    assert f"papers: 2 {holds}. Consequences that this book draws, which no sentence of a paper makes: 1 <" in text
    assert f"Errata and remarks, counted apart: 1 {holds}." in text
    assert (
        "1 of these verdicts rest on a 95 % interval, 1 of them hold" in text and "0.025 of 1. The other 2 are" in text
    )
    assert "95 %" not in board(EQ8)


def test_what_is_not_in_this_build_says_so():
    text = tables.scoreboard_markdown([], "quick", ["spring_block/chain"])
    (row,) = (r for r in rows(text) if r.startswith("| Fig. S13 "))
    assert "spring_block/phase_diagram, not in this build" in row
    (row,) = (r for r in rows(text) if r.startswith("| Fig. 2 | Network"))
    assert "[chain](/generated/spring_block/chain.ipynb)" in row


def test_a_gap_between_promise_and_build_is_named():
    everything = [{"figure": figure} for figure in ledger.figures()]
    claims = [{"claim": {"id": claim}} for claim in ledger.claims()]
    assert tables.missing([*everything, *claims]) == []
    without = [e for e in everything if e["figure"] != "A.3"] + [c for c in claims if c["claim"]["id"] != "A.3.eq8"]
    gaps = tables.missing(without)
    assert gaps == [
        "figure A.3: not drawn by spring_block/phase_diagram",
        "claim A.3.eq8: not checked by spring_block/phase_diagram",
    ]
    assert tables.missing(without, pages=["beyond/errata"]) == []
    assert tables.missing([], pages=[]) == []


def test_records_of_unknown_figures_or_claims_are_refused():
    with pytest.raises(ValueError, match=r"no figure 'A\.33'"):
        tables.missing([{"figure": "A.33"}])
    with pytest.raises(ValueError, match=r"no claim 'A\.3\.eq7'"):
        tables.scoreboard_markdown([{"claim": {"id": "A.3.eq7"}}], "quick", [])


def test_no_table_cell_breaks_its_row(monkeypatch):
    """Bars and line ends of a claim's own words, of its record and of a figure's title."""
    for table, name, field in (("claims", "A.3.eq8", "statement"), ("figures", "A.3", "title")):
        known = getattr(registry, table)()
        changed = {**known, name: replace(known[name], **{field: "one | two\nthree"})}
        monkeypatch.setattr(registry, table, lambda changed=changed: changed)
    untestable = ledger.check("A.S1.jerky", not_testable="a | b\nc")
    text = board(EQ8, untestable)
    bars = [row.count("|") - row.count("\\|") for row in rows(text)]
    assert Counter(bars) == {9: len(ledger.claims()), 4: 53}
    assert text.count("one \\| two three") == 2 and "a \\| b c" in text


def test_what_the_authors_could_answer_stands_beside_a_verdict_against_them_only():
    claim = ledger.claim("A.1.fitted.epochs")
    assert claim.answer
    lost, won = ledger.check(claim.id, -0.1), ledger.check(claim.id, 0.1)
    assert claim.answer in repr(lost) and claim.answer not in repr(won)
    (lost_row,), (won_row,) = ([r for r in rows(board(e)) if r.startswith(f"| {claim.id} ")] for e in (lost, won))
    assert claim.answer in lost_row and "could answer" not in won_row


#: The papers whose failing claims have all been given an answer.
ANSWERED = "ABC"


def test_a_claim_that_fails_says_what_its_authors_could_answer():
    lines = (Path(__file__).parents[2] / "book" / "verdicts.tsv").read_text(encoding="utf-8").splitlines()
    failing = [name for name, verdict, *_ in (line.split("\t") for line in lines if "\t" in line) if verdict == FAILS]
    assert [name for name in failing if name[0] in ANSWERED and name in ledger.claims()]
    missing = [
        name for name in failing if name[0] in ANSWERED and name in ledger.claims() and not ledger.claim(name).answer
    ]
    assert missing == [], "write the field `answer` of these claims"


def test_a_sentence_of_the_front_page_says_what_its_authors_could_answer():
    front = [f for f in findings() if f.front and f.paper == "B"]
    assert front and all(any(ledger.claim(name).answer for name in f.claims) for f in front)
