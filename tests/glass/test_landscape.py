"""Pairs of the page glass/landscape, on a glass and networks whose basins, walls and curvatures are made up."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book.glass import landscape
from deepmech_book.sweeps.glass.walks import PHASES
from pairs import Page

page = Page("glass/landscape")
SYSTEMS = ("glass", *PHASES)
KEPT = dict(zip(SYSTEMS, (1e-4, 0.49, 0.94, 0.97), strict=True))
ROUND = dict(zip(SYSTEMS, (0.61, 0.056, 0.037, 9e-4), strict=True))
UNEVEN = dict(zip(SYSTEMS, (0.036, 0.0137, 0.019, 9e-4), strict=True))
"""Half-widths of the intervals of roundness that ship, which are 2.48 times the scatter of three seeds."""
KICKED = xr.DataArray([0.6, 1.4], dims="direction")
"""Factors from direction to direction, whose median is 1."""


def of(values):
    """Numbers of systems along their dimension."""
    return xr.DataArray(list(values.values()), {"system": list(values)}, "system")


def surveyed(rng, kept=KEPT, leap=8e4, wall=18.0, roundness=ROUND, n=500, curvature=1.0):
    """Three seeds of each system. Roundness scatters as in what ships; kicks and walls by factors, less than there."""
    kicks, places = xr.DataArray([0.001, 0.01, 0.3], dims="kick"), xr.DataArray([0.0, 1.0, 0.0], dims="place")
    share = of(kept) * xr.where((kicks == 0.3) & (of(kept).system == "glass"), leap, 1.0)
    off, leaps, walls = (xr.DataArray(rng.standard_normal(3), dims="seed") for _ in range(3))
    apart = np.exp(of({"glass": 0.16} | dict.fromkeys(PHASES, 0.05)) * leaps)
    heights = of({"glass": wall} | dict.fromkeys(PHASES, -1.0)) * places * np.exp(0.16 * walls)
    paths = xr.concat([3 * heights, heights], xr.Variable("path", ["straight", "relaxed"]))
    found = xr.Dataset(
        {
            "strays": (share * xr.where(kicks == 0.01, 1.0, apart)) * KICKED,
            "roundness": of(roundness) + of(UNEVEN) / 2.48 * off,
            "near": paths,
            "far": 10 * paths,
            "curvature": of(dict.fromkeys(SYSTEMS, 1.0)) * curvature * xr.ones_like(off),
            "n_coordinates": of(dict.fromkeys(SYSTEMS, n)) * xr.ones_like(off),
        },
        {"kick": kicks},
    )
    flat = xr.zeros_like(found.roundness)
    legs = xr.DataArray([0.1, 0.2], dims="leg")
    return found.assign(flat=flat + 0.25, left_out=flat, gained=flat + 20, hop=(flat + 1) * legs)


FLAT = xr.DataArray(np.zeros(101), dims="probability")
SPHERE = FLAT + 1


@page.pair("C.6.glass.length", usual=8e4, reach=100.0, rival=False)
def a_basin_has_a_size(level, rng, rival):
    return {"survey": surveyed(rng, leap=level[""])}


@page.pair("C.6.glass.barrier", usual=18.0, reach=1.0, rival=False)
def a_wall_between_places(level, rng, rival):
    return {"survey": surveyed(rng, wall=level[""])}


@page.pair("C.6.glass.round", usual=0.61, reach=UNEVEN["glass"])
def a_round_basin(level, rng, rival):
    other = {"regularised": 0.61} if rival else {}
    return {"survey": surveyed(rng, roundness=ROUND | {"glass": level[""]} | other)}


@page.pair("C.6.no_length", panels=PHASES, usual={p: KEPT[p] for p in PHASES}, reach=0.015)
def a_valley_undoes_no_kick(level, rng, rival):
    """The rival, a bowl, keeps every kick where it has no curvature."""
    return {"survey": surveyed(rng, KEPT | level, curvature=FLAT if rival else SPHERE), "steps": 3000}


@page.pair("C.6.extended", panels=PHASES, usual={p: ROUND[p] for p in PHASES}, reach=UNEVEN)
def steep_in_few_directions(level, rng, rival):
    """Random least squares are as steep in few directions where there are many weights for a sample."""
    return {"survey": surveyed(rng, roundness=ROUND | level, n=10**5 if rival else 500), "n_data": 4000}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_bowls_keep_what_their_flat_directions_keep():
    k = xr.DataArray(np.linspace(0, 1, 101), dims="probability")
    kept = [landscape.bowls(surveyed(np.random.default_rng(0), curvature=one), 1000) for one in (SPHERE, k, FLAT)]
    exact = np.sqrt(np.mean((1 - k.values / 2) ** 2000))
    assert [float(one[0]) for one in kept] == pytest.approx([0, exact, 1], abs=1e-12) and exact > 0.05


def test_random_least_squares_are_as_round_as_wishart_matrices():
    """The participation ratio of XᵀX/P of random numbers is 1/(1 + N/P)."""
    n, p = 100, 400
    k = np.linalg.eigvalsh(np.cov(np.random.default_rng(1).normal(size=(n, p)), bias=True))
    found = landscape.random_roundness(surveyed(np.random.default_rng(0), n=n), p)
    assert found.values == pytest.approx(k.sum() ** 2 / n / (k**2).sum(), rel=0.03)


def test_the_table_has_medians_and_walls_that_are_never_negative():
    table = landscape.overview(surveyed(np.random.default_rng(0)))
    assert table.glass.tolist()[2:4] == ["0.1 to 0.2", "0.0001"] and set(table.loc["flat directions"]) == {"25 %"}
    assert float(table.glass.iloc[4]) == pytest.approx(8, rel=0.3)
    wall, *others = table.loc["barrier along walk"].tolist()
    assert float(wall) == pytest.approx(18, rel=0.3) and others == ["0"] * 3
    assert float(table.loc["to another, straight", "glass"]) == pytest.approx(1.5 * float(wall), rel=0.05)
