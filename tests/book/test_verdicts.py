"""Verdicts and numbers under version control: what moves stops the build and is named, and only --accept writes."""

import dataclasses

import pytest
from entries import entry_of
from hypothesis import given
from hypothesis import strategies as st
from miniature import ROOT, notebook_text, write_notebooks

from deepmech import cli
from deepmech.core.estimates import Estimate
from deepmech.sweeps.store import write_whole
from deepmech_book import claims
from deepmech_book.build import site, verdicts
from deepmech_book.build.sources import BookError
from deepmech_book.build.verdicts import Row
from deepmech_book.claims import digests, functions, registry, tables
from deepmech_book.claims.rules import Rule

PAGE = "spring_block/phase_diagram"


def record(claim="A.3.eq8", measured=-0.0497, page=PAGE, interval=None, **numbers):
    if claim == "A.3.eq8":
        numbers = {"expected": -0.05, "null": 0.1, **numbers}
    measured = measured if interval is None else Estimate(measured, *interval, n=5)
    return {"page": page, "profile": "quick", "claim": entry_of(claim, measured, **numbers).to_json()}


BARE = "\t-\t-\t-"
"""Of records without digests, as those of :func:`record` are."""
SOUND = [record(), record("A.3.convex", -0.164), {"page": PAGE, "figure": "A.3"}]


@pytest.fixture
def table(tmp_path):
    """A table of what :data:`SOUND` found."""
    path = tmp_path / "verdicts.tsv"
    verdicts.demand(path, SOUND, "quick", [PAGE], accept=True)
    return path


def told(path, records, profile="quick", pages=(PAGE,)):
    with pytest.raises(BookError) as error:
        verdicts.demand(path, records, profile, pages)
    return str(error.value)


def test_one_line_a_claim_sorted_and_the_same_found_again(table):
    lines = [line for line in table.read_text().splitlines() if not line.startswith("#")]
    assert lines == [
        "claim\tverdict\tmeasured\texpected\tlow\thigh\tnull\thistory\trule\tmeasure",
        "A.3.convex\tholds\t-0.164\t-\t-\t-\t-" + BARE,
        "A.3.eq8\tholds\t-0.0497\t-0.05\t-\t-\t0.1" + BARE,
    ]
    said: list[str] = []
    verdicts.demand(table, SOUND, "quick", [PAGE], say=said.append)
    assert said == ["verdicts: 2 claims as in book/verdicts.tsv"]


def test_a_verdict_flips_however_near_its_number_is(table):
    """With its rule at 2 %, a number may cross it by less than any tolerance."""
    edge = -0.05 * 0.98
    verdicts.demand(table, [record(measured=edge - 1e-12), SOUND[1]], "quick", [PAGE], accept=True)
    assert "A.3.eq8: holds → fails\n" in told(table, [record(measured=edge + 1e-12), SOUND[1]])


@pytest.mark.parametrize(
    "changed",
    [
        {"measured": -0.0497 - 2 * 0.05 * verdicts.RELATIVE},
        {"expected": -0.05 * (1 - 2 * verdicts.RELATIVE)},
        {"null": 0.1 * (1 + 2 * verdicts.RELATIVE)},
        {"interval": (-0.0499, -0.0495)},
    ],
)
def test_a_number_outside_its_tolerance_is_named(table, changed):
    (name,) = changed
    words = told(table, [record(**changed), SOUND[1]])
    assert ("low - → -0.0499" if name == "interval" else f"{name} ") in words and "A.3.eq8: " in words
    assert "holds →" not in words, "the verdict is the same, and is not said to differ"


@given(st.floats(-1, 1), st.floats(1e-3, 1e3), st.floats(0, 1e3))
def test_numbers_within_tolerance_pass_and_no_others(share, size, width):
    """The allowance is that of the largest: the number, its interval, or the rule (this claim's: below a half)."""
    old = Row("C.2.cold_is_faster", "holds", size, None, size - width / 2, size + width / 2)
    allowed = max(verdicts.RELATIVE * size, verdicts.OF_END * 0.5, verdicts.OF_WIDTH * width)
    inside, beyond = ((1 - 1e-6) * allowed, (1 + 1e-6) * allowed)
    moved = dataclasses.replace(old, measured=size + share * inside)
    assert verdicts.difference(old, moved) == ""
    moved = dataclasses.replace(old, measured=size + (beyond if share >= 0 else -beyond))
    assert verdicts.difference(old, moved).startswith("C.2.cold_is_faster: measured ")


@given(st.sampled_from([("B.1.separate", 0.05), ("C.2.cold_is_faster", 0.5)]), st.floats(1e-4, 1.0))
def test_a_stale_number_is_named_also_far_from_its_bound(bounded, share):
    """A row that differed in its second digit passed where the bound of its rule was a thousand times as large."""
    claim, bound = bounded
    old = Row(claim, "holds", share * bound)
    assert verdicts.difference(old, dataclasses.replace(old, measured=1.04 * share * bound)) != ""


def test_what_the_table_rounds_away_is_no_difference(tmp_path):
    """Six digits are written; a claim compared with its own line must always pass."""
    path = tmp_path / "verdicts.tsv"
    for measured in (1 / 3, 2e-17, 123456.789, 0.999995, -1e-300):
        rows = verdicts.of_records([record("A.3.convex", measured, interval=(measured, measured))])
        verdicts.write(path, rows)
        assert verdicts.differences(verdicts.read(path), rows, None) == {}


def test_elements_that_equal_what_is_expected_may_change_places():
    """Of an array that is right to rounding, which element is hardest depends on the last bits."""
    old = Row("A.5b.noiseless", "holds", -0.05, -0.05, null=0.1)
    new = Row("A.5b.noiseless", "holds", 0.3 + 1e-15, 0.3, null=0.2)
    assert verdicts.difference(old, new) == ""
    assert "expected" in verdicts.difference(old, dataclasses.replace(new, measured=0.3 + 1e-8))


def test_claims_that_are_new_gone_unknown_or_checked_twice(table):
    assert "A.theory.drift_time: not in the table; holds" in told(table, [*SOUND, record("A.theory.drift_time", 0.9)])
    assert "A.3.convex: in the table (holds), but no page of this build checks it" in told(table, SOUND[:1])
    with pytest.raises(BookError, match=rf"A\.3\.eq8 is checked twice, on {PAGE} and on glass/ageing"):
        verdicts.demand(table, [*SOUND, record(page="glass/ageing")], "laptop", [PAGE])
    table.write_text(table.read_text() + f"A.3.eq7\tholds\t1\t-\t-\t-\t-{BARE}\n")
    assert "A.3.eq7: in the table, but not in the registry" in told(table, SOUND)


def test_a_partial_build_compares_and_rewrites_its_own_claims_only(table):
    before = table.read_text()
    verdicts.demand(table, [], "quick", ["glass/ageing"])
    assert "A.3.convex" in told(table, [], pages=None), "the whole book must find all"
    slow = record("A.theory.drift_time", 1.1, page="spring_block/equilibria")
    verdicts.demand(table, [slow], "quick", ["spring_block/equilibria"], accept=True)
    assert table.read_text() == before + f"A.theory.drift_time\tholds\t1.1\t-\t-\t-\t-{BARE}\n"
    verdicts.demand(table, [record(measured=-0.0499)], "quick", [PAGE], accept=True)
    assert list(verdicts.read(table)) == ["A.3.eq8", "A.theory.drift_time"], "what its page no longer checks goes"


def test_accepting_leaves_lines_within_tolerance_as_they_are(table):
    before = table.read_text().splitlines()
    said: list[str] = []
    moved = [record(measured=-0.049702), record("A.3.convex", -0.2)]
    verdicts.demand(table, moved, "quick", [PAGE], accept=True, say=said.append)
    after = table.read_text().splitlines()
    assert [line for line in after if line not in before] == ["A.3.convex\tholds\t-0.2\t-\t-\t-\t-" + BARE]
    assert said[0].startswith("book/verdicts.tsv: 1 changes\n- A.3.convex: measured -0.164 → -0.2")
    verdicts.demand(table, moved, "quick", [PAGE])
    written = table.read_text()
    verdicts.demand(table, [record(measured=0.3)], "paper", [PAGE], accept=True)
    assert table.read_text() == written, "other profiles neither compare nor write"
    assert "deepmech book --accept writes it" in told(table.with_name("absent.tsv"), SOUND)


def test_a_line_that_is_no_row_is_named(table):
    """A conflict of a merge, half a line, a claim that stands there already, a number or a verdict that is none."""
    whole = table.read_text()
    slow = tuple(f"A.theory.drift_time\t{told}\t-\t-\t-\t-{BARE}" for told in ("holds\tnan", "holdz\t1", "holds\t1\t1"))
    for spoilt in ("<<<<<<< ours", "A.3.eq8\tholds\t0.1", "A.3.eq8\tholds\t0.1\t-\t-\t-\t-" + BARE, *slow):
        table.write_text(f"{whole}{spoilt}\n")
        assert f"book/verdicts.tsv, line {len(whole.splitlines()) + 1}: {spoilt[:60]!r}" in told(table, SOUND)


def test_the_table_of_this_repository_is_whole_and_as_it_is_written(tmp_path):
    """Every claim that the registry promises, sorted, in the form that --accept gives it, head included."""
    path = ROOT / "book" / verdicts.FILE
    rows = verdicts.read(path)
    assert set(rows) == set(claims.claims())
    verdicts.write(tmp_path / "again.tsv", rows)
    assert path.read_text() == (tmp_path / "again.tsv").read_text()


def test_no_rule_and_no_measure_changed_without_a_word_in_its_history():
    rows = verdicts.read(ROOT / "book" / verdicts.FILE)
    for name, row in rows.items():
        one = claims.claim(name)
        by = digests.of_rule(one), digests.of_measure(one, functions.functions_of(one.page)[name])
        assert verdicts.NONE not in (row.rule, row.measure), f"{name}: deepmech book --accept writes its digests"
        now = Row(name, row.verdict, None, history=len(one.history), rule=by[0], measure=by[1])
        assert verdicts.unsaid(row, now) == ""


def test_what_changes_needs_an_entry_of_the_history_but_where_no_number_moves(table):
    """A rule in any case; words, null and code of a measure where its number moves."""

    def found(rule="r", measure="m", history=1, **numbers):
        one = record(**numbers)
        one["claim"] |= {"rule_is": rule, "measure_is": measure, "history": history}
        return [one, SOUND[1]]

    verdicts.demand(table, found(), "quick", [PAGE], accept=True)
    assert "A.3.eq8: measured otherwise" in told(table, found(measure="n")), "the build says so all the same"
    for accept in (False, True):
        for changed in ({"rule": "q"}, {"measure": "n", "measured": -0.0499}):
            words = r"(?s)its (rule|measure, null or code) changed; add 'changed .*phase_diag"
            with pytest.raises(BookError, match=words):
                verdicts.demand(table, found(**changed), "quick", [PAGE], accept=accept)
    verdicts.demand(table, found(measure="n"), "quick", [PAGE], accept=True)
    verdicts.demand(table, found("q", "n", 2, measured=-0.0499), "quick", [PAGE], accept=True)
    assert verdicts.read(table)["A.3.eq8"].history == 2


def test_the_numbers_of_a_row_have_its_verdict():
    """But where a null has to be beaten: the interval of the difference stands on the scoreboard alone."""
    ends = ("measured", "expected", "low", "high", "null")
    for row in verdicts.read(ROOT / "book" / verdicts.FILE).values():
        claim = registry.claim(row.claim)
        if not claim.better_than_null:
            line = {"criterion": claim.rule.to_json(), "better_than_null": False}
            line |= {name: getattr(row, name) for name in ends} | dict.fromkeys(("less_null_low", "less_null_high"))
            assert tables.verdict_of(line) == row.verdict, row.claim


def test_a_rule_that_came_to_compare_is_a_difference_and_no_error(monkeypatch):
    now = dataclasses.replace(registry.claim("A.3.convex"), rule=Rule.parse({"within": 0.1}))
    monkeypatch.setattr(verdicts.claims, "claim", lambda name: now)
    old, new = Row(now.id, "holds", 0.2), Row(now.id, "holds", 0.2, 0.25)
    assert verdicts.difference(old, new) == "A.3.convex: expected - → 0.25"
    with pytest.raises(ValueError, match=r"within 0\.1 of the expected value' needs an expected value"):
        now.rule.region(None)


CLAIM = "from deepmech_book.claims.functions import Measurement, judged\n\njudged('A.3.convex', Measurement({}))"


def test_a_flipped_verdict_stops_the_build_until_it_is_accepted(checkout, monkeypatch, capsys):
    """From the command line: nothing of the site is touched, and what did not change is not executed again."""
    built: list[str] = []

    def jupyter_book(checkout, made, new):
        built.append("site")
        (new / "_build" / "html" / "_static" / "scripts").mkdir(parents=True, exist_ok=True)
        write_whole(new / "_build" / "html" / "index.html", "pages")

    monkeypatch.setattr(site, "_jupyter_book", jupyter_book)
    monkeypatch.setattr(tables, "missing", lambda records, pages: [])  # the registry is that of the real book
    monkeypatch.chdir(checkout.root)
    write_notebooks(checkout, a=notebook_text(CLAIM.format(-0.2)))

    def book(*options):
        status = cli.main(["book", *options])
        return status, capsys.readouterr().err

    status, words = book()
    assert status == 1 and "deepmech book --accept writes it" in words and built == []
    status, words = book("--accept")
    assert status == 0 and built == ["site"], words
    status, words = book()
    assert status == 0 and "0 to execute" in words and "1 claims as in" in words and "up to date" in words

    (checkout.root / "notebooks" / "springs" / "a.md").write_text(notebook_text(CLAIM.format(0.2)))
    for options in ([], ["--no-site"], ["--chapters", "springs"]):
        status, words = book(*options)
        assert status == 1 and "A.3.convex: holds → fails; measured -0.2 → 0.2" in words
    assert built == ["site"] and (checkout.html / "index.html").read_text() == "pages"
    status, words = book("--profile", "laptop", "--accept")
    assert status == 1 and "leave out --profile" in words
    status, words = book("--accept")
    assert status == 0 and "holds → fails" in words and built == ["site", "site"]
    assert "A.3.convex\tfails\t0.2" in (checkout.book / verdicts.FILE).read_text()

    with open(checkout.book / verdicts.FILE, "a") as table:
        table.write(f"A.3.eq8\tholds\t-0.05\t-\t-\t-\t-{BARE}\n")
    assert book("--chapters", "springs")[0] == 0 and len(built) == 2, "the table of other pages is no part of the site"
