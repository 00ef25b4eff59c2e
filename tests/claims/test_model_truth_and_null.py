"""The claim of the page on the model tells truth from its null."""

import pytest
from truth_and_null import Pairs

from deepmech import over
from deepmech_book.analysis.elastic_sde import closed_forms

pairs = Pairs("elastic_sde/model")


@pairs.of("B.theory.eq9")
def fixed_vectors(true, rng):
    """Effects that keep their ratio, for which Eq. 9 is exact, and effects that do not."""
    exponent = 0.8 if true else rng.uniform(1.1, 3.0)
    return {"unexplained": closed_forms.unexplained_by_eq_9(over("exponent", [exponent]))}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
