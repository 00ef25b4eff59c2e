"""The ledger as data, frozen predictions, and the scorer."""

import json
from collections import Counter

import jsonschema
import pytest

from deepmech_book.bench.frozen import all_names, book, prediction
from deepmech_book.ledger import registry
from deepmech_book.press import claims
from deepmech_book.press.sources import Checkout

REAL = Checkout.find()


@pytest.fixture(scope="module")
def lines():
    return [json.loads(line) for line in (book() / "ledger" / "claims.jsonl").read_text(encoding="utf-8").splitlines()]


def test_every_line_fits_the_schema(lines):
    schema = json.loads((book() / "ledger" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for line in lines:
        jsonschema.validate(line, schema)
    assert set(schema["required"]) == set(schema["properties"]) == set(lines[0])


def test_the_file_is_what_the_ledger_says(lines):
    assert lines == claims.entries(REAL), "write it anew: deepmech book --accept"
    judged = {line["id"] for line in lines}
    assert judged <= set(registry.claims()) and len(judged) == len(lines)


def test_a_claim_s_half_depends_on_its_id_alone(lines):
    counts = Counter(line["split"] for line in lines)
    assert abs(counts[claims.OPEN] - counts[claims.HELD_OUT]) < 4 * len(lines) ** 0.5
    assert {claims.split_of(line["id"]) for line in lines[:9]} <= set(claims.SPLITS)


def test_the_cell_named_makes_the_claim(lines):
    named = [line for line in lines if line["cell"] is not None]
    assert len(named) > 0.8 * len(lines)


def test_who_knows_all_is_right_and_who_says_nothing_is_wrong(lines, tmp_path):
    file = tmp_path / "predictions.jsonl"
    file.write_text("".join(json.dumps({k: line[k] for k in ("id", "verdict")}) + "\n" for line in lines))
    assert "predictions: 100.0% right, Brier score 0.000" in claims.score(file, REAL)
    file.write_text(json.dumps({"id": lines[0]["id"], "probabilities": {"holds": 0.5, "fails": 0.5}}))
    assert "Brier score" in claims.score(file, REAL)
    for wrong in (
        '{"id": "A.0.none", "verdict": "holds"}',
        "holds",
        '{"id": "A.3.eq8", "probabilities": {"holds": 2}}',
    ):
        file.write_text(wrong)
        with pytest.raises(ValueError, match="line 1: must be an id of the ledger"):
            claims.score(file, REAL)


@pytest.mark.parametrize("name", all_names())
def test_claims_of_laws_are_those_that_were_frozen(name):
    frozen = prediction(name)
    for claim in frozen.claims:
        known = registry.claim(claim["id"])
        assert known.rule == registry.Rule.parse(claim["rule"]) and known.page == claim["page"] == f"laws/{name}"
        for field in ("where", "statement", "measure", "against", "better_than_null"):
            assert getattr(known, field) == claim.get(field, getattr(registry.Claim, field, None)), (claim["id"], field)
    assert frozen.question in repr(frozen) and frozen.title
