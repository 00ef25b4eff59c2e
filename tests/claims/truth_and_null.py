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

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count, islice
from typing import Any

import numpy as np

from deepmech_book import claims
from deepmech_book.claims.rules import HOLDS
from pairs import too_often

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
        self.makers: dict[str, Maker] = {}
        self.fairs: dict[str, tuple[FairMaker, float]] = {}

    @property
    def claims(self) -> list[str]:
        """Ids of the page's claims, with or without a maker."""
        return [one.id for one in claims.claims().values() if one.page == self.page]

    def of(self, *ids: str) -> Callable[[Maker], Maker]:
        """Marks the maker of a claim's runs."""

        def mark(maker: Maker) -> Maker:
            for one in ids:
                assert one not in self.makers, f"{one} has two makers of runs"
                self.makers[one] = maker
            return maker

        return mark

    def fair(self, *ids: str, told: float = 0.25) -> Callable[[FairMaker], FairMaker]:
        """Marks a maker of runs in which a claim that has to be better than its null is only as good.

        Both are drawn from one population, or, where the null is a fixed number, runs from one of which it is true.
        That it holds in a share ``told`` of them is found in 97 of 100 claims; the smaller it is, the more are drawn.
        """

        def mark(maker: FairMaker) -> FairMaker:
            for one in ids:
                assert one not in self.fairs, f"{one} has two makers of runs that are as good as its null"
                self.fairs[one] = maker, told
            return maker

        return mark

    @staticmethod
    def _holds(claim: str, maker: FairMaker, seed: int) -> Iterator[bool]:
        """Whether the claim holds, draw by draw."""
        for draw in count():
            yield claims.measure(claim, **maker(np.random.default_rng([seed, draw]))).verdict == HOLDS

    def check(self, claim: str, truths: int = 2) -> None:
        """The claim holds on every true draw, and on draws of its null no more often than chance lets at 5 %.

        One that holds on half of its nulls is found in 9 of 10 claims. Where it is as good as its null it may hold as
        often as an interval lies wholly on one side of the truth, in 2.5 %.
        """
        assert claim in self.makers, f"make runs on which {claim} is true, and runs of its null, or take it out"
        maker = self.makers[claim]
        true = islice(self._holds(claim, partial(maker, True), 1), truths)
        assert all(true), f"{claim} does not hold on runs on which it is true"
        held = too_often(self._holds(claim, partial(maker, False), 0), usual=0.05, told=0.5, missed=0.1)
        assert not held, f"{claim} holds on {held} of its null"
        if claims.claim(claim).better_than_null:
            assert claim in self.fairs, f"make runs in which {claim} is only as good as its null (Pairs.fair)"
            fair, told = self.fairs[claim]
            held = too_often(self._holds(claim, fair, 2), usual=0.025, told=told, missed=0.03)
            assert not held, f"{claim} holds on {held} draws as good as its null"
