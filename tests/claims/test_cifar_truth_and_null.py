"""Claims of the page glass/cifar on the same made-up walks and networks at rest as those of the other pages."""

import pytest
import xarray as xr
from runs_glass import gaussian_counts, gaussian_run, mixed, rested, spread_alpha, two_sorts
from test_transitions_truth_and_null import jumping
from truth_and_null import Pairs

from deepmech_book.sweeps.glass.walks import PHASES

pairs = Pairs("glass/cifar")


@pairs.of("C.A3.n_star")
def vanishing_between_the_phases(true, rng):
    return {"sizes": rested(0.4 if true else 1.2, rng), "shuffled": rested(1.2, rng)}


@pairs.of("C.A3.scatter")
def only_half_without_loss(true, rng):
    return {"sizes": rested(0.3, rng, share=0.5 if true else 1.0)}


@pairs.of("C.A3.sharp")
def sudden_falls(true, rng):
    result = jumping(rng, jump=true)
    return {"decays": result.assign(data_loss=result.data_loss + 2e-3 * (result.data_loss > 0.4))}


@pairs.of("C.A4.hot_slope")
def hot_weights_are_free(true, rng):
    runs = mixed(rng)
    if not true:  # hot overlaps that do not depend on temperature
        rest = [t for t in runs["regularised"].temperature.values if t == 0]
        for phase, run in runs.items():
            hot = run.overlap.sel(temperature=1.0, drop=True) + 0 * run.overlap
            kept = xr.where(run.temperature.isin(rest), run.overlap, hot).transpose(*run.overlap.dims)
            runs[phase] = run.assign(overlap=kept)
    return {"runs": runs}


@pairs.of("C.A4.cold_flat")
def cold_weights_slide(true, rng):
    runs = mixed(rng)
    if not true:  # free at every temperature above 0
        free = mixed(rng, speed=0.0)
        for phase, run in runs.items():
            warm = xr.where(run.temperature > 0, free[phase].overlap, run.overlap)
            runs[phase] = run.assign(overlap=warm.transpose(*run.overlap.dims))
    return {"runs": runs}


@pairs.of("C.A8.cold_is_not")
def beyond_gaussian_groups(true, rng):
    return {"runs": {phase: spread_alpha(2.0 if true else 0.5, rng) for phase in PHASES}}


@pairs.of("C.A8.less")
def nearer_to_gaussian(true, rng):
    levels = dict(zip(PHASES, (1.0, 2.0, 0.25 if true else 1.5), strict=True))
    return {"runs": {phase: spread_alpha(level, rng) for phase, level in levels.items()}}


@pairs.of("C.A8.bimodal")
def two_kinds(true, rng):
    runs = {phase: two_sorts(rng) if true else gaussian_counts(gaussian_run(), rng) for phase in PHASES}
    return {"runs": runs, "on_mnist": two_sorts(rng)}


@pairs.of("C.A8.unimodal")
def one_kind_without_loss(true, rng):
    runs = {phase: two_sorts(rng) for phase in PHASES}
    large = gaussian_counts(gaussian_run(), rng) if true else two_sorts(rng)
    return {"runs": {**runs, "overparameterised": large}}


@pairs.fair("C.A8.cold_is_not")
def as_gaussian_groups(rng):
    return {"runs": {phase: spread_alpha(0.5, rng) for phase in PHASES}}


@pairs.fair("C.A8.bimodal")
def one_kind(rng):
    return {"runs": {phase: gaussian_counts(gaussian_run(), rng) for phase in PHASES}, "on_mnist": two_sorts(rng)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
