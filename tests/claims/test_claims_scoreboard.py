"""The scoreboard shows everything; a promised figure or claim that is missing is named."""

import html
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from entries import entry_of

from deepmech.core.estimates import Estimate
from deepmech_book import claims
from deepmech_book.claims import registry, tables
from deepmech_book.claims.display import badge
from deepmech_book.claims.rules import FAILS, HOLDS, TRIVIAL, UNDECIDED

EQ8 = entry_of("A.3.eq8", -0.05, expected=-0.05, null=0.1, seeds=20)
LESS = entry_of("A.5a.small_step", 1.2)
PAGES = {c.page: c.page for c in claims.claims().values()}


def record(entry):
    return {"claim": entry.to_json(), "page": entry.claim.page, "profile": "quick", "seconds": 12.0}


def board(*entries, pages=PAGES):
    return tables.scoreboard_markdown([record(entry) for entry in entries], "quick", pages)


def line(text, claim):
    """What the line of a claim on the scoreboard shows, folded."""
    return text.partition(f'id="claim-{claim}"')[2].partition("</details>")[0]


def test_every_claim_has_a_line_and_every_figure_a_fold():
    text = board()
    assert text.count('<details class="dm-claim') == len(claims.claims())
    assert text.count('<details class="dm-group"') == 53 + 3
    assert "| Paper A |" not in text and "`quick`" in text
    assert all(f'id="claim-{claim}"' in text for claim in claims.claims())


def counted(text):
    """Rows of the table at the head of the scoreboard: by group and age of the rule, what came of claims."""
    rows = (row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith(("| Paper", "| Ours", "| Err")))
    return {tuple(row[:2]): [cell.replace("\u00a0", " ") for cell in row[2:]] for row in rows}


def test_verdicts_are_counted_and_shown_failing_ones_too():
    text = board(EQ8, LESS)
    cells = {"A.3.eq8": ["0 + 1", "·", "·", "·", "·"], "A.5a.small_step": ["·", "·", "·", "0 + 1", "·"]}
    for name, entry in (("A.3.eq8", EQ8), ("A.5a.small_step", LESS)):
        assert counted(board(entry)) == {("Paper A", claims.claim(name).status): cells[name]}
    shown = line(text, "A.3.eq8")
    assert badge(HOLDS) in shown and "<b>−0.050</b>" in shown and "within 2 %" in shown and "null</dt> <dd>0.1" in shown
    assert 'href="spring_block/phase_diagram.html#claim-A.3.eq8"' in shown
    assert badge(FAILS) in line(text, "A.5a.small_step") and "<b>1.2</b>" in line(text, "A.5a.small_step")


EXCHANGED = [one for one in claims.claims().values() if one.first_null and one.kind == "claim"]


@pytest.mark.parametrize("one", EXCHANGED, ids=lambda one: one.id)
def test_a_null_that_was_exchanged_when_the_number_was_known_stands_on_card_and_scoreboard(one):
    low, high = (float(end) for end in one.rule.region(np.array(-1.0)))
    inside, outside = (max(low, -9.0) + min(high, 9.0)) / 2, -99.0 if one.rule.direction > 0 else 99.0
    told = {"expected": -1.0 if one.rule.kind == "within" else None, "null": outside if one.against else None}
    for first, verdict in ((inside, TRIVIAL), (outside, HOLDS)):
        entry = entry_of(one.id, inside, first_null=first, **told)
        text = board(entry)
        (row,) = (row for row in tables.scoreboard_rows([record(entry)]) if row["claim"] == one.id)
        assert row["verdict"] == HOLDS and row["first_null"] == first and row["first_verdict"] == verdict
        (cells,) = counted(text).values()
        assert cells[2 if verdict == TRIVIAL else 0 if one.against else 1].replace("0", "1") == "1 + 1"
        for shown in (entry._repr_html_(), line(text, one.id)):
            assert ("first null " in shown.partition("</summary>")[0]) == (verdict == TRIVIAL), "before it is unfolded"
            assert badge(verdict) in shown, "the first null leads"
            assert html.escape(one.first_null) in shown and f"today: {verdict})" in shown
    with pytest.raises(ValueError, match="first_null must be given"):
        entry_of(one.id, inside, **told)


def test_checks_errata_and_what_no_paper_says_are_counted_apart():
    judged = entry_of("A.5a.small_step", Estimate(0.002, 0.001, 0.003, 8))
    drawn = entry_of("B.thm31.threshold", measured=2.0)  # the paper leaves this case open
    obeyed = entry_of("A.5b.noiseless", 0.1, expected=0.1)
    text = board(judged, EQ8, entry_of("A.errata.fig1a_images", measured=0.5, null=2.0), drawn, obeyed)
    groups = {group: cells for (group, _), cells in counted(text).items()}
    assert groups["Errata and remarks"] == ["0 + 1", "·", "·", "·", "·"] and "Paper B" not in groups
    assert groups["Ours, no sentence of a paper"] == ["·", "·", "·", "0 + 1", "·"]
    assert "counted apart: 1 of 1 pass" in text


def test_a_dot_for_each_number_with_an_interval_lies_by_half_widths_from_its_limit():
    one = entry_of("A.5a.small_step", Estimate(0.002, 0.001, 0.003, 8))
    two = entry_of("A.1.slope_bends", Estimate(0.5, -1.0, 2.0, 8))
    beaten = entry_of("A.SM.accuracy_falls", Estimate(-0.7, -0.75, -0.65, 20, "", -0.6, (-0.2, 0.1)))
    text = board(one, two, beaten, EQ8, entry_of("A.3.convex", Estimate(-0.1, -0.1, -0.1, 3)))
    assert f"<title>A.5a.small_step: 8 half-widths; {claims.claim('A.5a.small_step').status}</title>" in text
    assert "A.1.slope_bends: −0.3333 half-widths" in text and "A.SM.accuracy_falls: 0.3333 half-widths" in text
    assert text.count("<circle") == 3 and "3 numbers by" in text and "2 lie within one" in text


def test_rows_of_a_family_keep_their_verdicts_and_count_by_themselves():
    peak = entry_of("B.3.peak", Estimate(0.2, 0.1, 0.3, 8), null=0.5)
    rises = entry_of("B.3.rises", Estimate(0.7, 0.6, 0.8, 8), null=1.0)
    text = board(peak, rises)
    assert counted(text)["Paper B", registry.AFTER] == ["1 + 0", "·", "·", "1 + 0", "·"]
    inside = text.partition('id="claim-B.3.peak"')[2]
    assert 'each judged alone: <span class="dm-verdict dm-fails">✗ 1 fail<' in inside.partition("</summary>")[0]
    parts = ['id="claim-B.3.rises"', "</details></details>", 'id="claim-B.3.kernel.elastic"']
    assert sorted(parts, key=inside.index) == parts
    rows = {row["claim"]: row["family"] for row in tables.scoreboard_rows([record(peak), record(rises)])}
    assert rows["B.3.rises"] == rows["B.3.peak"] == "B.3.peak"


def test_a_row_holds_all_that_its_verdict_needs_and_another_verdict_stops_the_build():
    told = entry_of("A.SM.accuracy_falls", Estimate(-0.7, -0.75, -0.65, 20, "", -0.6, (-0.2, 0.1)))
    rows = {row["claim"]: row for row in tables.scoreboard_rows([record(told), record(EQ8)])}
    row = rows["A.SM.accuracy_falls"]
    assert (row["less_null_low"], row["less_null_high"]) == (-0.2, 0.1) and row["verdict"] == UNDECIDED
    assert rows["A.3.eq8"]["expected"] == -0.05 and rows["A.3.eq8"]["criterion"]["within"] == 0.02
    assert '"{""below"": 0}"' in tables.csv_text([row])
    wrong = record(EQ8)
    wrong["claim"]["measured"] = 0.3
    with pytest.raises(ValueError, match=r"claim A\.3\.eq8: its row of the scoreboard says 'fails', its page 'holds'"):
        tables.scoreboard_rows([wrong])


def test_what_is_not_in_this_build_says_so():
    text = board(pages={"spring_block/chain": "A <chain>"})
    assert "spring_block/phase_diagram, not in this build" in text
    assert '<a href="spring_block/chain.html">A &lt;chain&gt;</a>' in text


def test_a_gap_between_promise_and_build_is_named():
    everything = [{"figure": figure} for figure in claims.figures()]
    every_claim = [{"claim": {"id": claim}} for claim in claims.claims()]
    assert tables.missing([*everything, *every_claim]) == []
    lost = [{"figure": "A.3"}, {"claim": {"id": "A.3.eq8"}}]
    without, page = [one for one in [*everything, *every_claim] if one not in lost], "spring_block/phase_diagram"
    gaps = [f"figure A.3: not drawn by {page}", f"claim A.3.eq8: not checked by {page}"]
    assert tables.missing(without) == gaps
    assert tables.missing(without, pages=["spring_block/chain"]) == []
    assert tables.missing([], pages=[]) == []


def test_records_of_unknown_figures_or_claims_are_refused():
    with pytest.raises(ValueError, match=r"no figure 'A\.33'"):
        tables.missing([{"figure": "A.33"}])
    with pytest.raises(ValueError, match=r"no claim 'A\.3\.eq7'"):
        tables.scoreboard_markdown([{"claim": {"id": "A.3.eq7"}}], "quick", {})


def test_words_of_a_claim_end_neither_their_line_nor_the_cell_of_a_table(monkeypatch):
    """Bars, line ends and markup of a claim's own words, of its record and of a figure's title."""
    for table, name, field in (("claims", "A.3.eq8", "statement"), ("figures", "A.3", "title")):
        known = getattr(registry, table)()
        changed = {**known, name: replace(known[name], **{field: "one | two\nthree <b>"})}
        monkeypatch.setattr(registry, table, lambda changed=changed: changed)
    text = board(EQ8, entry_of("A.5a.small_step", not_testable="a | b"))
    assert "<b>|" not in text and "three &lt;b&gt;" in text and "a | b" in text
    rows = [row for row in tables.papers_markdown(PAGES).splitlines() if row.startswith("| Fig. 3 |")]
    assert "one \\| two three <b>" in rows[0] and rows[0].replace("\\|", "").count("|") == 4


def test_what_the_authors_could_answer_stands_beside_a_verdict_against_them_only():
    claim = claims.claim("A.S4.linear")
    assert claim.answer
    lost, won = entry_of(claim.id, -0.1), entry_of(claim.id, 0.1)
    assert claim.answer in repr(lost) and claim.answer not in repr(won)
    lost_line, won_line = (line(board(e), claim.id) for e in (lost, won))
    assert "could answer" in lost_line and "could answer" not in won_line


def test_a_claim_that_fails_says_what_its_authors_could_answer():
    lines = (Path(__file__).parents[2] / "book" / "verdicts.tsv").read_text(encoding="utf-8").splitlines()
    failing = [name for name, verdict, *_ in (line.split("\t") for line in lines if "\t" in line) if verdict == FAILS]
    assert len(failing) > 9
    missing = [name for name in failing if name in claims.claims() and not claims.claim(name).answer]
    assert missing == [], "write the field `answer` of these claims"
