"""Claims of the page glass/heterogeneity on weights of one kind and of two."""

import pytest
import xarray as xr
from runs_glass import gaussian_counts, gaussian_run, spread_alpha, two_sorts
from truth_and_null import Pairs

from deepmech_book.analysis.glass.shapes import HALF_AS_FAR
from deepmech_book.sweeps.glass.walks import PHASES

pairs = Pairs("glass/heterogeneity")


def of_all(run):
    return {"runs": {phase: run() for phase in PHASES}}


@pairs.of("C.7.hot_is_gaussian")
def normal(true, rng):
    def run():
        made = gaussian_run()
        scatter = xr.DataArray(0.02 * rng.standard_normal(made.sizes["seed"]), dims="seed")
        level = 0.0 if true else HALF_AS_FAR
        return made.assign(alpha=(made.alpha + level + scatter).transpose(*made.alpha.dims))

    return of_all(run)


@pairs.of("C.7.cold_is_not", "C.7.overparameterised.cold_is_not")
def beyond_gaussian_groups(true, rng):
    return of_all(lambda: spread_alpha(2.0 if true else 0.5, rng))


@pairs.of("C.7.bimodal", "C.7.overparameterised.bimodal")
def two_kinds(true, rng):
    return of_all(lambda: two_sorts(rng) if true else gaussian_counts(gaussian_run(), rng))


@pairs.fair("C.7.cold_is_not", "C.7.overparameterised.cold_is_not")
def as_gaussian_groups(rng):
    return of_all(lambda: spread_alpha(0.5, rng))


@pairs.fair("C.7.bimodal", "C.7.overparameterised.bimodal")
def one_kind(rng):
    return of_all(lambda: gaussian_counts(gaussian_run(), rng))


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
