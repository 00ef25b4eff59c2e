"""The law of all claims: true runs hold, runs at the edge of the rule by chance alone, runs as good as a rival never.

A page's test file marks a maker of runs for each of its claims, and takes the test::

    page = Page("glass/displacement")

    @page.pair("C.5.hot_is_free", panels=("regularised", "underparameterised"), usual=0.97, reach=0.011)
    def kicks(level, rng, rival):
        return {"runs": {phase: walks(kicks=level[phase], rng=rng) for phase in level}}

    test_claims_hold_where_they_are_true_and_nowhere_else = page.law()

``level`` is what the claim measures, in truth, in each panel: each panel in turn stands at the edge, the others at
their ``usual`` level. ``reach`` is the half-width of the interval that ships (by default that in verdicts.tsv; of a
claim without one a small step): made-up runs have to scatter as those that ship, and be as many. With ``rival`` the
rival does as well. ``power`` is the share of true draws that have to hold: below 1 where as many runs as ship are too
few to be sure of it. At the edge a claim that holds in a share ``told`` of all draws is found out: the larger it is,
the fewer are drawn (0.15: about 40, 0.3: about 15), for functions that take long. Beside a rival it is 0.25, or less
where ``told`` is below 0.15: the interval of a difference may be all that decides a claim.
"""

from itertools import count, cycle, islice
from math import log
from pathlib import Path

import numpy as np
import pytest

from deepmech_book import claims
from deepmech_book.build import verdicts
from deepmech_book.claims.display import surety
from deepmech_book.claims.rules import HOLDS

SHIPPED = verdicts.read(Path(__file__).parents[1] / "book" / verdicts.FILE)
BY_CHANCE = 1e-4
"""Share of right claims that are refused."""
INSIDE = 2.5
"""Half-widths of its interval by which a level lies inside the rule where the claim has to hold."""


def too_often(holds, usual, told, missed=0.03):
    """How many of how many draws hold, if that is more than a share ``usual`` (Wald, Ann. Math. Stat. 16, 117, 1945).

    A share ``told`` is not told in ``missed`` of all cases.
    """
    ratio, held = 0.0, 0
    for n, one in enumerate(holds, 1):
        held += one
        ratio += log(told / usual) if one else log((1 - told) / (1 - usual))
        if ratio >= -log(BY_CHANCE):
            return f"{held} of {n}"
        if ratio <= log(missed):
            return ""
    raise AssertionError("the draws ended before it was clear")


class Pair:
    """A claim, the maker of its runs, and what is known of those that ship."""

    def __init__(self, claim, maker, panels, usual, reach, expected, rival, power, told):
        self.claim, self.maker, self.power, self.told = claims.claim(claim), maker, power, told
        self.usual = usual if isinstance(usual, dict) else dict.fromkeys(panels, usual)
        self.reach = reach if isinstance(reach, dict) else dict.fromkeys(panels, reach)
        self.rival = rival and self.claim.against is not None
        row = SHIPPED.get(claim)  # one that is new, or that what ships cannot decide, has to have an interval
        self.interval = row is None or row.measured is None or row.low is not None
        shipped = row and vars(row) | {"interval": None if row.low is None else (row.low, row.high)}
        self.unsure = self.claim.power or not shipped or ((found := surety(self.claim, shipped)) and found[1] < 0.95)
        known = expected if isinstance(expected, dict) else dict.fromkeys(panels, expected)
        region = {p: self.claim.rule.region(None if (e := known[p]) is None else np.array(e)) for p in panels}
        self.middle = {panel: np.mean(ends) for panel, ends in region.items()}
        sides = [(panel, float(ends[i]), (1, -1)[i]) for i in (0, 1) for panel, ends in region.items()]
        self.turns = [turn for turn in sides if np.isfinite(turn[1])]

    def check(self):
        assert self.power == 1 or self.unsure, (
            "few runs cannot always decide it: say so by its field power, on its card"
        )
        self.check_truth()
        self.check_edge()
        if self.rival:
            self.check_rival()

    def judged(self, draw, panel=None, level=None, rival=False):
        levels = self.usual if panel is None else {**self.usual, panel: level}
        return claims.measure(self.claim.id, **self.maker(levels, np.random.default_rng([draw, 7]), rival))

    def inside(self, panel, end, side):
        """A level at which the claim has to hold: just inside of an end, and not beyond the middle."""
        far = (INSIDE if self.interval else 1.0) * self.reach[panel]
        return end + side * min(far, abs(self.middle[panel] - end))

    def check_truth(self):
        """It holds in every panel just inside of the rule, with the number and an interval of the size that ships."""
        held, widths = [], []
        for draw, (panel, end, side) in enumerate(islice(cycle(self.turns), max(6, len(self.turns)))):
            found = self.judged(draw, panel, level := self.inside(panel, end, side))
            held.append(found.verdict == HOLDS)
            assert (found.interval is not None) == self.interval, "an interval where what ships has one, else none"
            widths += [np.ptp(found.interval) / 2 / self.reach[panel]] if self.interval else []
            off = abs(found.measured - level) / self.reach[panel]
            assert not held[-1] or off < 3, f"measured {found.measured:.3g} in {panel}, true is {level:.3g}"
        assert np.mean(held) >= self.power, f"holds on {sum(held)} of {len(held)} draws on which it is true"
        assert not widths or 0.5 < np.mean(widths) < 2, f"its interval is {np.mean(widths):.2g} as wide as what ships"

    def check_edge(self):
        """At the edge of the rule, in every panel in turn, it holds as seldom as its interval says; beyond it never."""
        if self.interval:
            held = (self.judged(n, *turn[:2]).verdict == HOLDS for n, turn in enumerate(cycle(self.turns), 100))
            often = too_often(held, usual=0.025, told=self.told)
            assert not often, f"holds on {often} draws at the edge of its rule; of an interval 1 in 40 does"
        for panel, end, side in () if self.interval else self.turns:
            found = self.judged(100, panel, end - side * self.reach[panel])
            assert found.verdict != HOLDS, f"holds just outside of its rule in {panel}"

    def check_rival(self):
        """It does not hold where the rival does as well."""
        held = (self.judged(n, rival=True).verdict == HOLDS for n in count(1000))
        told = self.told if self.told < 0.15 else 0.25
        often = too_often(held, 0.025, told) if self.claim.better_than_null else any(islice(held, 4))
        assert not often, "holds though its rival does as well"


class Page:
    """Pairs of a page's claims, and the test that every claim has one."""

    def __init__(self, page):
        self.claims = [one.id for one in claims.claims().values() if one.page == page]
        self.pairs = {}

    def pair(self, claim, *, panels=("",), usual, reach=None, expected=None, rival=True, power=1.0, told=0.15):
        """Marks the maker of a claim's runs; ``rival=False`` where it is a number that is written down."""
        assert claim not in self.pairs, f"{claim} has two makers of runs"
        if reach is None:
            row = SHIPPED.get(claim)
            assert row and row.low is not None, f"{claim} has no interval in verdicts.tsv: say its reach, a small step"
            reach = (row.high - row.low) / 2

        def mark(maker):
            self.pairs[claim] = Pair(claim, maker, tuple(panels), usual, reach, expected, rival, power, told)
            return maker

        return mark

    def law(self):
        """The test of all pairs of the page."""

        @pytest.mark.parametrize("claim", self.claims)
        def test(claim):
            assert claim in self.pairs, f"mark a maker of runs for {claim}"
            self.pairs[claim].check()

        return test
