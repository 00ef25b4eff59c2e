"""The list of the papers' sentences: each is judged or says why not, and its page shows what the notebooks found."""

import pytest

from deepmech_book import ledger
from deepmech_book.ledger.registry import Sentence, ours, sentences
from deepmech_book.ledger.tables import sentences_markdown


def test_each_paper_is_read_from_end_to_end():
    for paper, least in (("A", 34), ("B", 22), ("C", 24)):
        mine = [s for s in sentences() if s.paper == paper]
        assert len(mine) >= least, f"an outside reader counted {least} claims in paper {paper}"
        assert all(s.where and s.says.endswith(".") for s in mine)


def test_a_sentence_has_entries_or_a_reason_and_its_entries_are_of_its_paper():
    for s in sentences():
        assert {ledger.claim(name).paper for name in s.claims} <= {s.paper}
    with pytest.raises(ValueError, match="either claims or a reason"):
        Sentence("A", "Sec. 1", "Nothing.")
    with pytest.raises(ValueError, match="either claims or a reason"):
        Sentence("A", "Sec. 1", "Nothing.", claims=("A.3.eq8",), why="but why")
    with pytest.raises(ValueError, match=r"no claim 'A.3.eq9'.*A.3.eq8"):
        Sentence("A", "Sec. 1", "Nothing.", claims=("A.3.eq9",))


def test_every_claim_stands_on_the_page_once_as_the_papers_or_as_ours():
    said = {name for s in sentences() for name in s.claims}
    own = {c.id for c in ours()}
    assert not said & own
    assert said | own | {c.id for c in ledger.claims().values() if c.kind == "aside"} == set(ledger.claims())


def test_the_page_shows_verdicts_where_there_are_any():
    one = next(s for s in sentences() if s.claims)
    name = one.claims[0]
    record = {"claim": {"id": name, "verdict": "fails"}, "page": ledger.claim(name).page}
    rows = [r for r in sentences_markdown([record], {}).splitlines() if one.says in r]
    assert len(rows) == 1 and "dm-verdict" in rows[0] and "dm-fails" in rows[0]
    assert "not in this build" in sentences_markdown([], {})
