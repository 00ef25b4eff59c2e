"""The law of all claims: on runs on which it is true a claim holds, on runs of its null it does not.

A page's test file makes :class:`Pairs`, marks one maker of runs for each of its claims and lets :meth:`Pairs.check`
judge them::

    pairs = Pairs("elastic_sde/effects")

    @pairs.of("B.3.peak")
    def early_peak(true, rng):
        return {"by_size": sets_of_trials(rng, peak=0.1 if true else 0.5), "estimated": …, "window": 11}

    @pytest.mark.parametrize("claim", pairs.claims)
    def test_a_claim_tells_truth_from_null(claim):
        pairs.check(claim)
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.stats import binom

from deepmech_book import claims
from deepmech_book.claims.rules import HOLDS

Maker = Callable[[bool, np.random.Generator], Mapping[str, Any]]
FairMaker = Callable[[np.random.Generator], Mapping[str, Any]]


class Pairs:
    """Makers of runs for the claims of one page.

    A maker takes whether the claim is to be true, and a generator, and gives the arguments of the claim's function by
    name. Runs of the null are like the true ones in all that the claim does not speak of (number, noise, length):
    labels of the null are permuted, never the answer.

    A claim that has to be better than its null has one maker more, of runs in which it is only as good.
    """

    def __init__(self, page: str) -> None:
        self.page = page
        self.makers: dict[str, tuple[Maker, int]] = {}
        self.fairs: dict[str, tuple[FairMaker, int]] = {}

    @property
    def claims(self) -> list[str]:
        """Ids of the page's claims, with or without a maker."""
        return [one.id for one in claims.claims().values() if one.page == self.page]

    def of(self, *ids: str, nulls: int = 12) -> Callable[[Maker], Maker]:
        """Marks the maker of a claim's runs; ``nulls`` of them are drawn of its null (fewer where they are dear)."""

        def mark(maker: Maker) -> Maker:
            for one in ids:
                assert one not in self.makers, f"{one} has two makers of runs"
                self.makers[one] = maker, nulls
            return maker

        return mark

    def fair(self, *ids: str, draws: int = 40) -> Callable[[FairMaker], FairMaker]:
        """Marks a maker of runs in which a claim that has to be better than its null is only as good.

        Both are drawn from one population, or, where the null is a fixed number, runs from one of which it is true.
        """

        def mark(maker: FairMaker) -> FairMaker:
            for one in ids:
                assert one not in self.fairs, f"{one} has two makers of runs that are as good as its null"
                self.fairs[one] = maker, draws
            return maker

        return mark

    def verdicts(self, claim: str, true: bool, draws: int) -> list[str]:
        """Verdicts on that many draws of runs."""
        maker, _ = self.makers[claim]
        return self._judged(claim, draws, lambda rng: maker(true, rng), int(true))

    def _judged(self, claim: str, draws: int, maker: FairMaker, seed: int) -> list[str]:
        runs = (maker(np.random.default_rng([seed, draw])) for draw in range(draws))
        return [claims.measure(claim, **one).verdict for one in runs]

    def check(self, claim: str, truths: int = 2) -> None:
        """The claim holds on every true draw; of draws of its null, no more hold than chance lets at 5 %.

        That many or more would hold in one of 10,000 claims whose intervals cover as they state. Where it is as good as
        its null it may hold as often as an interval lies wholly on one side of the truth, in 2.5 %.
        """
        assert claim in self.makers, f"make runs on which {claim} is true, and runs of its null, or take it out"
        nulls = self.makers[claim][1]
        assert self.verdicts(claim, True, truths) == [HOLDS] * truths
        held = self.verdicts(claim, False, nulls).count(HOLDS)
        assert held <= min(binom.isf(1e-4, nulls, 0.05), nulls - 1), f"{claim} holds on {held} of {nulls} of its null"
        if claims.claim(claim).better_than_null:
            assert claim in self.fairs, f"make runs in which {claim} is only as good as its null (Pairs.fair)"
            maker, draws = self.fairs[claim]
            held = self._judged(claim, draws, maker, 2).count(HOLDS)
            assert held <= binom.isf(1e-4, draws, 0.025), (
                f"{claim} holds on {held} of {draws} draws as good as its null"
            )
