"""The interval of the difference of a number from its null holds the truth as often as it says."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book.claims.nulls import beside, beside_others, made_beside, share_beside

RNG = np.random.default_rng(0)


def coverage(difference, truth):
    low, high = difference
    return float(((low <= truth) & (high >= truth)).mean())


@pytest.mark.parametrize("paired", [True, False])
def test_of_means_of_runs(paired):
    """Runs and null scatter together or each for itself, the null less; of other runs there are fewer."""
    own, null, shared = RNG.normal(size=(3, 2000, 8))
    runs = xr.DataArray(0.3 + own + 3 * shared * paired, dims=("draw", "seed"))
    other = xr.DataArray(0.5 * null + 3 * shared * paired, dims=("draw", "seed"))
    found = beside(runs, other, "seed") if paired else beside_others(runs, other.isel(seed=slice(5)), "seed")
    assert 0.93 < coverage(found.difference, 0.3) < 0.97
    np.testing.assert_allclose(found.null, other.isel(seed=slice(8 if paired else 5)).mean("seed"))


def test_of_functions_of_runs_as_of_their_means_where_they_are_such():
    runs = xr.Dataset({name: ("seed", RNG.normal(size=6)) for name in "ab"})
    found = made_beside(runs, "seed", lambda some: float(some.a.mean()), lambda some: float(some.b.mean()))
    means = beside(runs.a, runs.b, "seed")
    assert (found.value, found.null, *found.difference) == pytest.approx(
        tuple(map(float, (means.value, means.null, *means.difference)))
    )


@pytest.mark.parametrize(("share", "null"), [(0.95, 0.93), (0.5, 0.9)])
def test_of_shares(share, null):
    n = 400
    own, other = (xr.DataArray(RNG.binomial(n, p, 1000) / n, dims="draw") for p in (share, null))
    assert 0.925 < coverage(share_beside(own, other, n).difference, share - null) < 0.975
