"""Each claim of the page on imitation tells truth from its null."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

from deepmech_book.analysis.elastic_sde import imitated_paths

pairs = Pairs("elastic_sde/imitation")
DATA, STRUCTURES, ESTIMATORS = ["shapes", "photos"], ["isotropic", "logits"], ["I", "L-program", "none"]
N_TIMES, N_BATCHES = 100, 5


def drawings(rng, right, ordered=None, before=0.5):
    """Shares of drawings about these, by ``structure`` and ``estimator`` where they are given so."""
    n = imitated_paths.N_DRAWINGS
    cells = {"data": DATA, "structure": STRUCTURES, "estimator": ESTIMATORS, "aligned": [0, 1, 2], "class": [0, 1, 2]}
    like = xr.DataArray(np.zeros([len(v) for v in cells.values()]), cells)

    def counted(share):
        full = (like + share).clip(0, 1)
        return full.copy(data=rng.binomial(n, full) / n)

    return xr.Dataset(
        {
            "right": counted(right),
            "ordered": counted(right if ordered is None else ordered),
            "before": counted(before).isel(aligned=0, drop=True),
        }
    )


def by_structure(i_model, l_model):
    return xr.DataArray([i_model, l_model], {"structure": STRUCTURES}, "structure")


@pairs.of("B.5.ranks")
def ranks(true, rng):
    """The L-model ranks rightly, the I-model in half of the drawings; of the null both do as well, or as badly."""
    same = rng.choice([0.97, 0.55])
    return {"drawings": drawings(rng, by_structure(0.55, 0.95) if true else by_structure(same, same))}


@pairs.of("B.5.I_fails")
def order(true, rng):
    """The order is right by the L-model's estimates, and by chance by the I-model's; of the null by chance, or rightly,
    by both."""
    same = rng.choice([1 / 6, 0.95])
    shares = [1 / 6, 0.95, 0.5] if true else [same, same, 0.5]
    return {"drawings": drawings(rng, 0.95, xr.DataArray(shares, {"estimator": ESTIMATORS}, "estimator"))}


def batches(rng, off, scatter=0.01):
    """Paths of both models by data, over batches: relative differences of these sizes.

    ``off`` is over any of ``structure``, ``norm``, ``time`` and ``class``.
    """
    dims = {"batch": N_BATCHES, "structure": STRUCTURES, "estimator": ["I", "L-program"], "norm": ["I", "L"],
            "time": N_TIMES, "class": 3}  # fmt: skip
    coords = {k: np.arange(v) if isinstance(v, int) else v for k, v in dims.items()}
    like = xr.DataArray(np.zeros([len(v) for v in coords.values()]), coords)
    both = {}
    for data in DATA:
        level = 1 + scatter * xr.DataArray(rng.normal(size=(N_BATCHES, 2, 3)), dims=("batch", "structure", "class"))
        both[data] = xr.Dataset({"distance": (like + off) * level})
    return both


def blind(rng, off):
    """Paths of the L-model with a constant effect, likewise."""
    return {
        name: one.sel(structure="logits", estimator="L-program", drop=True) for name, one in batches(rng, off).items()
    }


@pairs.of("B.D8.ratios")
def ratios(true, rng):
    """Ratios of logits that are the networks', beside a constant effect that gives the other two the same; of the null
    these are the paths."""
    real = xr.DataArray(np.array([[1, -0.8, -0.2], [-0.1, 1, -0.9], [-0.9, -0.1, 1]]), dims=("class", "logit"))
    even = xr.DataArray(1.5 * np.eye(3) - 0.5, dims=("class", "logit"))

    def paths(simulated):
        found = {}
        for data in DATA:
            noise = xr.DataArray(0.01 * rng.normal(size=(N_BATCHES, 3, 3)), dims=("batch", "class", "logit"))
            both = {
                "median": (simulated + noise).expand_dims(time=3),
                "genuine": (real + 0 * noise).expand_dims(time=3),
            }
            found[data] = xr.Dataset(both)
        return found

    driven = {
        name: one.expand_dims(structure=STRUCTURES, estimator=["I", "L-program"])
        for name, one in paths(real if true else even).items()
    }
    return {"batches": driven, "blind": paths(even), "n": 100}


@pairs.of("B.D7.larger")
def further(true, rng):
    """Of the null both models are as far away, but for noise."""
    return {"batches": batches(rng, by_structure(0.5 if true else 0.3, 0.3)), "n": 100}


@pairs.of("B.D9.below")
def below(true, rng):
    """Of the null one model is nearer, and then the other, as often."""
    flips = xr.DataArray(np.where(rng.permutation(N_TIMES) < N_TIMES / 2, 1.0, -1.0), dims="time")
    return {
        "batches": batches(rng, by_structure(0.5, 0.3) if true else 0.4 + by_structure(0.1, -0.1) * flips),
        "n": 100,
    }


FALL = xr.DataArray(np.linspace(1.0, 0.2, N_TIMES), dims="time")


@pairs.of("B.D9.falls")
def falls(true, rng):
    """A difference that falls, where that with a constant effect does not; of the null neither does, or both do."""
    one = FALL if true else rng.choice([0, 1]) * (FALL - 0.6) + 0.6
    return {"batches": batches(rng, one), "blind": blind(rng, 0.6 + 0 * FALL if true else one), "n": 100}


@pairs.of("B.D9.equal")
def equal(true, rng):
    """Classes alike in the L-model and unlike in the I-model; of the null unlike, or alike, in both."""
    alike, unlike = (xr.DataArray(v, {"class": [0, 1, 2]}, "class") for v in ([0.3, 0.31, 0.32], [0.1, 0.3, 0.5]))
    same = alike if rng.random() < 0.5 else unlike
    off = by_structure(1, 0) * unlike + by_structure(0, 1) * alike if true else by_structure(1, 1) * same
    return {"batches": batches(rng, off), "n": 100}


@pairs.of("B.D9.terminal")
def terminal(true, rng):
    """Of the null paths end as far away as with a constant effect."""
    return {"batches": batches(rng, 0.03 if true else 0.3), "blind": blind(rng, 0.3), "n": 100}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
