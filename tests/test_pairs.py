"""The test that judges claims by draws of their nulls: how seldom it refuses what may be, and what it does not miss."""

import numpy as np
import pytest

from pairs import too_often


@pytest.mark.parametrize(("usual", "told", "missed"), [(0.025, 0.3, 0.03), (0.025, 0.15, 0.03)])
def test_what_holds_by_chance_passes_and_what_holds_more_often_is_told(usual, told, missed):
    rng, many = np.random.default_rng(0), 1000

    def refused(rate):
        draws = iter(lambda: rng.random() < rate, None)
        return sum(bool(too_often(draws, usual, told, missed)) for _ in range(many))

    assert refused(usual) <= 1 and refused(told) > many * (1 - missed) - 4 * np.sqrt(missed * many)
    assert too_often(iter(lambda: True, None), usual, told, missed) in ("4 of 4", "6 of 6")
