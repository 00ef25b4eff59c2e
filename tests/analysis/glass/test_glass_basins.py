"""Basins and bowls whose answers are known."""

import numpy as np
import pytest
from runs_glass import survey

from deepmech_book.analysis.glass import basins


def test_a_basin_has_a_length_and_a_valley_has_none():
    left = basins.share_left(survey())
    assert left.dims == ("system", "kick")
    assert basins.jump(left).values == pytest.approx([1e6, 1])


def test_bowls_keep_what_their_flat_directions_keep():
    kept = basins.bowls(survey(), 1000)
    assert float(kept.sel(system="glass")) == pytest.approx(0, abs=1e-12)
    k = np.linspace(0, 1, 101)
    exact = np.sqrt(np.mean((1 - k / 2) ** 2000))
    assert float(kept.sel(system="network")) == pytest.approx(exact) and exact > 0.05
    flat = survey(curvature=survey().curvature * 0)
    assert basins.bowls(flat, 10).values.tolist() == [1, 1]


def test_barriers_are_highest_points_and_never_negative():
    found = basins.barriers(survey())
    assert found["near"].isel(seed=0).values.tolist() == [[4, 2], [0, 0]] and float(found["far"].max()) == 40


def test_random_least_squares_are_as_round_as_wishart_matrices():
    """The participation ratio of XᵀX/P of random numbers is 1/(1 + N/P)."""
    rng = np.random.default_rng(1)
    n, p = 100, 400
    k = np.linalg.eigvalsh(np.cov(rng.normal(size=(n, p)), bias=True))
    some = survey(n_coordinates=survey().n_coordinates * 0 + n)
    assert basins.random_roundness(some, p).values == pytest.approx(k.sum() ** 2 / n / (k**2).sum(), rel=0.03)


def test_words_and_table():
    left = basins.jump(basins.share_left(survey()))
    assert basins.list_systems("Left of it", left.sel(system=["network"])) == "Left of it: 1 (network)."
    table = basins.overview(survey())
    assert table.loc["left of kick 0.001", "glass"] == "1e-06" and table.loc["flat directions", "network"] == "25 %"
    assert table.loc["barrier along walk", "glass"] == "2" and table.loc["to another, straight", "glass"] == "2"
