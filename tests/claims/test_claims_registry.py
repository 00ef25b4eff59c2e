"""The registry is whole: every figure, well-formed claims, and pages that exist."""

import re
from collections import Counter
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from entries import entry_of

from deepmech_book import claims
from deepmech_book.build.sources import Checkout
from deepmech_book.claims import functions, registry, tables
from deepmech_book.claims.rules import Rule

HOUSE = Checkout.find()


def test_all_53_figures_of_the_three_papers():
    figures = claims.figures()
    expected = [f"A.{i}" for i in range(1, 6)] + [f"A.S{i}" for i in range(1, 15)]
    expected += [f"B.{i}" for i in range(1, 6)] + [f"B.D{i}" for i in range(1, 11)]
    expected += [f"C.{i}" for i in range(1, 9)] + [f"C.A{i}" for i in range(1, 12)]
    assert list(figures) == expected
    assert Counter(f.paper for f in figures.values()) == {"A": 19, "B": 15, "C": 19}
    assert all(f.title and f.shows for f in figures.values())


def test_claims_are_well_formed():
    for claim in claims.claims().values():
        assert re.fullmatch(r"[ABC](\.\w+){1,3}", claim.id), claim.id
        assert claims.figures()[claim.figure].paper == claim.paper, claim.id
        assert claim.statement.endswith(".") and claim.measure and claim.where, claim.id
        assert not claim.main or 0 < len(claim.number) <= 70, f"{claim.id}: name its number, _so_, in its measure"
        assert claim.history, f"{claim.id}: say in its history when its rule was written"
        wanted = claim.expected is not None
        assert not wanted or claim.rule.kind == "within", f"{claim.id}: an expected value that its rule never looks at"
        low, high = claim.rule.region(np.zeros(1) if claim.rule.kind == "within" else None)
        assert np.all(low <= high), f"{claim.id}: no number can satisfy its rule"
        assert np.any(np.isfinite([low, high])), f"{claim.id}: every number satisfies its rule"


def test_the_main_claims_are_those_that_findings_and_the_main_path_rest_on():
    main = {c.id for c in claims.claims().values() if c.main}
    assert 60 <= len(main) <= 100, "about eighty cards; the rest are rows of tables"
    assert {claims.claim(name).head for finding in tables.findings() for name in finding.claims} <= main
    assert {claims.claim(name).kind for name in main} <= {"claim", "finding"}
    (path,) = (part for part in HOUSE.toc["parts"] if part["caption"] == "The main path")
    walked = {page["file"].removeprefix("generated/") for one in path["chapters"] for page in one["sections"]}
    measured = {c.page for c in claims.claims().values() if c.kind == "claim"}
    assert walked & measured <= {claims.claim(name).page for name in main}


def test_a_figure_without_a_claim_is_a_sketch_or_an_illustration():
    """A claim about several figures names them all where it stands in the paper."""
    of_paper = {paper: [c for c in claims.claims().values() if c.paper == paper] for paper in claims.PAPERS}

    def named(figure):
        number = re.compile(rf"Figs?\..*\b{figure.id.split('.')[1]}\b")
        return any(c.figure == figure.id or number.search(c.where) for c in of_paper[figure.paper])

    assert {name for name, figure in claims.figures().items() if not named(figure)} <= {"A.2", "A.S1", "A.S3", "B.2"}


@pytest.mark.parametrize(
    ("name", "near"), [("A.3.eq9", "A.3.eq8"), ("A.theory.drift_tim", "A.theory.drift_time"), ("zzz", "look like")]
)
def test_an_unknown_claim_gets_its_neighbours(name, near):
    with pytest.raises(ValueError, match=near.replace(".", r"\.")):
        entry_of(name, measured=1.0)


@pytest.mark.parametrize("entry", [{}, {"above": 0, "below": 1}, {"abov": 0}, {"above": 0, "by": 2}])
def test_a_malformed_rule_is_refused(entry):
    with pytest.raises(ValueError, match="exactly one of"):
        Rule.parse(entry)


WHOLE = "A.1.a: {says: x, where: x, measure: x, rule: {above: 0}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not iterable"),
        ("- 3", "not a mapping"),
        ("-\tid: 'A", "cannot be read"),
        ("- {id: A.1, id: A.2}", "'id' is set twice"),
        ("- {id: A.1, statment: x}", "A.1: unknown field 'statment'"),
        ("- {id: A.1, statement: 3}", "A.1: statement must be words"),
        ("A.1: {says: 3}", "A.1: statement must be words"),
        ("A.1: {said: x}", "A.1: unknown field 'said'"),
        ("- {id: A.1, figure: A.3}", "A.1: .* missing"),
        (f"{WHOLE}, rows: {{A.1.b: {{where: y}}}}}}", "A.1.b: .*'statement'"),
        (f"{WHOLE}, rows: {{A.1.b: {{says: y, main: true}}}}}}", "row of A.1.a"),
        (f"{WHOLE}, history: [changed]}}", "A.1.a: .*write 'rule first'"),
        ("- !!python/name:os.system x", "cannot be read"),
    ],
)
def test_a_malformed_file_is_named(tmp_path, monkeypatch, text, told):
    (tmp_path / "claims_x.yml").write_text(text)
    monkeypatch.setattr(registry, "files", lambda package: tmp_path)
    with pytest.raises(ValueError, match=rf"(?s)^claims_x.yml.*{told}"):
        registry.read("claims_x.yml", registry.Claim)


def test_rows_have_the_fields_of_their_family_that_they_do_not_set(tmp_path, monkeypatch):
    words = "{says: one, where: w, measure: m, rule: {above: 0}, rival: chance, main: true, answer: so what"
    row = "{A.1.b: {says: two, rule: {below: 1}, rival: ~}}"
    (tmp_path / "claims_x.yml").write_text(f"A.1.a: {words}, rows: {row}}}")
    monkeypatch.setattr(registry, "files", lambda package: tmp_path)
    first, second = registry.read("claims_x.yml", registry.Claim)
    assert (first.id, first.head, second.id, second.head) == ("A.1.a", "A.1.a", "A.1.b", "A.1.a")
    assert (second.statement, second.where, second.page, second.measure) == ("two", "w", first.page, "m")
    assert (second.rule.kind, second.against, second.main, second.answer) == ("below", None, False, "")


@pytest.mark.parametrize(
    ("history", "status"),
    [
        (("rule first",), registry.OLDER),
        (("rule first (a)", "changed 2026-11-30: b; number not known"), registry.OLDER),
        (("rule first", "changed 2026-11-30: b; number known (it held)"), registry.AFTER),
        (("changed 2026-11-30: b; numbers of c known", "frozen: 8932a890 (d)"), registry.FROZEN),
        (("frozen: 8932a890", "changed 2026-11-30: b; number known"), registry.AFTER),
        ((), registry.AFTER),
    ],
)
def test_how_old_a_rule_is_follows_from_its_history(history, status):
    assert replace(claims.claim("A.3.eq8"), history=history).status == status


def test_rows_stand_on_the_page_of_their_family():
    for claim in claims.claims().values():
        assert claims.claim(claim.head).page == claim.page and not claims.claim(claim.head).family, claim.id


def test_what_shows_an_erratum_is_there():
    """A test of that name in that file, or a claim; each paper's table has a row for each."""
    for one in registry.errata().values():
        for name in one.shown:
            file, _, test = name.partition("::")
            if test:
                assert f"def {test}(" in (HOUSE.root / file).read_text(encoding="utf-8"), one.id
            else:
                assert claims.claim(name).paper == one.paper, one.id
    for paper in claims.PAPERS:
        text = tables.errata_markdown(paper, {})
        rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| where")]
        assert len(rows) == sum(one.paper == paper for one in registry.errata().values())
        assert {row.replace("\\|", "").count("|") for row in rows} == {5}


def test_every_claim_of_a_page_has_one_function_in_its_module():
    asked: dict[str, set[str]] = {}
    for claim in claims.claims().values():
        asked.setdefault(claim.page, set()).add(claim.id)
    for page in asked:
        assert set(functions.functions_of(page)) == asked[page], page


def test_a_claim_without_a_function_is_named_and_so_is_a_page_without_a_module(monkeypatch):
    with pytest.raises(ValueError, match=r"spring_block/.*no functions.*add the module"):
        functions.functions_of("spring_block/of_tomorrow")
    monkeypatch.setattr(functions, "functions_of", lambda page: {})
    with pytest.raises(ValueError, match=r"B\.3\.peak has no function; mark one"):
        claims.measure("B.3.peak", 1.0)


def test_two_functions_with_one_id_are_refused(monkeypatch):
    page = import_module("deepmech_book.elastic_sde.effects")
    monkeypatch.setattr(page, "again", functions.ClaimFunction(("B.3.peak",), claims.Measurement), raising=False)
    with pytest.raises(ValueError, match=r"two functions measure B\.3\.peak"):
        functions.functions_of("elastic_sde/effects")
