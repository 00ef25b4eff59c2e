"""Each claim on data for which it is true by construction, and on data of its null: it holds on the first only.

``CANNOT`` lists the claims that do not pass, with the verdicts that they have instead. Most say that networks are as
free walks are, and have free walks as their null: then the null does as well as the truth, and no data could confirm
them.
"""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from runs_glass import sliding_run
from test_glass_basins import survey
from test_glass_relaxation import trained
from test_glass_shapes import gaussian_run, motilities_of
from test_glass_transitions import falling

from deepmech.core.estimates import proportion, stack
from deepmech.core.random import Stream
from deepmech.metrics import relaxation as metric
from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech_book import claims
from deepmech_book.analysis.glass import (
    basins,
    displacement,
    phases,
    relaxation,
    shapes,
    superposition,
    transitions,
)
from deepmech_book.sweeps.glass import walks

TRIVIAL = "holds trivially"
LONG = np.unique(np.geomspace(1, 1e7, 250).round())
LONG_TIMES = tuple(LONG)  # of cached runs
COLD = ("regularised", "underparameterised")


@cache
def sliding(**changed):
    return sliding_run(**_arrays(changed))


@cache
def free(**changed):
    return sliding_run(speed=0.0, **_arrays(changed))


def _arrays(changed):
    return changed | {name: np.asarray(changed[name]) for name in ("times",) if name in changed}


def verdict(claim, measured, **rivals):
    return claims.evaluate(claim, measured, **rivals).verdict


def given(measured, **rivals):
    return measured, rivals


def later(measure):
    """A function of settings that gives what is judged becomes one that gives a judge, and computes when it judges."""

    def setting(*settings, **changed):
        def judge(claim):
            measured, rivals = measure(*settings, **changed)
            return verdict(claim, measured, **rivals)

        return judge

    return setting


# --- relaxation -------------------------------------------------------------------------------------------------------


@later
def regimes(name, run_of, **changed):
    return relaxation.two_regimes(phases.times(run_of(**changed)))[name]


def diverging():
    """A run whose times grow as exp(2/T) where it is cooled by halves."""
    temperatures = (1.0, 0.5, 0.25, 0.0)
    run = sliding_run(temperatures=temperatures, times=LONG)
    tau = xr.DataArray([1e2, 7e2, 4e4, 1e9], {"temperature": list(temperatures)}, "temperature")
    return run.assign(overlap=(0.9 ** (run.time / tau) * xr.ones_like(run.overlap)).transpose(*run.overlap.dims))


def no_divergence(run):
    return relaxation.successive_powers([phases.times(run)])


def one_step(two):
    t = xr.DataArray(LONG, {"time": LONG}, "time")
    curve = 0.5 * np.exp(-t / 5) + 0.5 * np.exp(-t / 5000) if two else np.exp(-t / 1000)
    return relaxation.second_steps({"a": curve, "b": curve})


def crossover(bend):
    run = sliding(bend=bend, speed=1e-8 if bend < 1 else 1e-7, times=tuple(np.geomspace(1, 1e8, 300)))
    return relaxation.crossover_power({float(chi): phases.times(run, i) for i, chi in enumerate(run.chi)})


def by_training(power):
    return relaxation.training_power(relaxation.times_by_training(trained(power)), 1)


def cold_ratio(run):
    table = phases.times(run, walks.FINE_WINDOW)
    return metric.over_free(table.sel(temperature=[1e-6]))


def hot_kept(run):
    return stack({n: relaxation.prefactor(phases.times(run), 0.1) for n in (2000, 4000)}, "size")


def cold_kept(factor):
    return relaxation.ratio_at_rest(phases.times(sliding(speed=1e-7 / factor)), phases.times(sliding()))


def distances(run, temperatures):
    return [relaxation.distance_from_free(run, t) for t in temperatures]


CASES = {
    "C.2.hot_is_free": [lambda c, r=r: verdict(c, distances(r(), (0.1, 0.01)), null=0.0) for r in (free, free)],
    "C.2.printed_temperature": [lambda c, r=r: verdict(c, distances(r(), [1e-4]), null=0.0) for r in (free, free)],
    "C.2.cold_is_faster": [
        lambda c, r=r: verdict(c, cold_ratio(r(times=LONG_TIMES)), null=1.0) for r in (sliding, free)
    ],
    **{
        f"C.3.{phase}.{name}": [regimes(name, sliding), regimes(name, free, times=LONG_TIMES)]
        for phase in COLD
        for name in ("hot_slope", "prefactor", "cold_flat")
    },
    **{
        f"C.A4.{phase}.{name}": [regimes(name, sliding), regimes(name, free, times=LONG_TIMES)]
        for phase in COLD
        for name in ("hot_slope", "prefactor", "cold_flat")
    },
    **{
        f"{figure}.overparameterised.never_flat": [
            lambda c: verdict(c, relaxation.overall_power(phases.times(free())), null=-1.0)
        ]
        * 2
        for figure in ("C.3", "C.A4")
    },
    "C.3.no_divergence": [
        lambda c, r=r: verdict(c, no_divergence(r()), null=15.0) for r in (lambda: free(times=LONG_TIMES), diverging)
    ],
    "C.3.one_step": [lambda c, two=two: verdict(c, one_step(two), null=0.8) for two in (False, True)],
    "C.3.preparation.settled": [lambda c, p=p: verdict(c, by_training(p), expected=0.0, null=1.0) for p in (0.0, 1.0)],
    "C.3.preparation.descends": [lambda c, p=p: verdict(c, by_training(p), null=0.0) for p in (1.0, 0.0)],
    "C.A1.crossover_moves": [lambda c, b=b: verdict(c, crossover(b), null=-1.0) for b in (1 / 1.41, 1.0)],
    "C.A2.plateau": [
        lambda c, ends=ends: verdict(c, relaxation.loss_drift(sliding_run(levels=ends)))
        for ends in ((0.4, 0.4), (0.4, 0.1))
    ],
    "C.A4.e_fold_hot": [
        lambda c, r=r: verdict(c, relaxation.e_fold_powers(r(times=LONG_TIMES))[0], expected=-1.0, null=-1.0)
        for r in (sliding, free)
    ],
    "C.A4.e_fold_cold": [
        lambda c, r=r: verdict(c, relaxation.e_fold_powers(r(times=LONG_TIMES))[1], null=-1.0) for r in (sliding, free)
    ],
    "C.scaling.hot_kept": [lambda c, r=r: verdict(c, hot_kept(r()), expected=1.0, null=1.0) for r in (free, free)],
    "C.scaling.cold_kept": [lambda c, f=f: verdict(c, cold_kept(f)) for f in (1.0, 4.0)],
}

# --- superposition ----------------------------------------------------------------------------------------------------


def last(networks, others):
    """Last overlaps as powers of T, with the scatter of runs."""
    t, scatter = np.array([0.01, 0.1, 1.0]), np.array([0.98, 1.0, 1.02, 1.0])[:, None]
    kinds = {"networks": networks, "free walks": (3.0, -0.5), "weight decay alone": others}
    data = {k: (("seed", "temperature"), a * t**p * scatter) for k, (a, p) in kinds.items()}
    return xr.Dataset(data, {"temperature": t})


@later
def last_power(networks, others):
    powers = superposition.last_powers(last(networks, others))
    return given(powers["networks"], expected=-0.5, null=powers["weight decay alone"])


@later
def explained(networks):
    one = last(networks, (1.0, -0.5))
    return given(superposition.over_the_well(one), null=(one["free walks"] / one["weight decay alone"]).mean("seed"))


def both_sides():
    """Overlaps that leave the free curve above and below, in turn."""
    run = free(times=LONG_TIMES, spread=0.0).isel(temperature=slice(0, 6))
    t, tau = run.time.values, 1000.0
    fall = [0.9 * np.where(t < tau, (t / tau) ** -0.02, (t / tau) ** -p) for p in (0.1, 1.0) * 3]
    shape = run.overlap.transpose("seed", "temperature", "waiting", "chi", "time")
    fall = np.broadcast_to(np.array(fall)[None, :, None, None], shape.shape)
    return run.assign(overlap=shape.copy(data=fall).transpose(*run.overlap.dims))


def laid(run):
    return superposition.collapsed(run)[1]


@later
def leaves(run_of):
    above = superposition.departure(free(times=LONG_TIMES))
    return given(superposition.departure(run_of()), null=above)


CASES |= {
    "C.4.collapse": [lambda c, r=r: verdict(c, laid(r(times=LONG_TIMES)).quality, null=1.0) for r in (free, sliding)],
    "C.4.master_power": [
        lambda c: verdict(
            c,
            superposition.master_power(free(times=LONG_TIMES)),
            expected=-0.5,
            null=superposition.tail_power(superposition.free_master(laid(free(times=LONG_TIMES)).rescaled)),
        )
    ]
    * 2,
    "C.4.last_power": [last_power((1.0, -0.5), (1.0, -0.2)), last_power((1.0, -0.2), (1.0, -0.2))],
    "C.4.well_explains": [explained((1.1, -0.5)), explained((3.0, -0.5))],
    "C.A6.over_stays": [lambda c, r=r: verdict(c, laid(r(times=LONG_TIMES)).spread, null=0.0) for r in (free, free)],
    "C.A6.under_leaves": [leaves(both_sides), leaves(lambda: free(times=LONG_TIMES))],
}

# --- displacement -----------------------------------------------------------------------------------------------------


def caged(run):
    t = run.time.astype(float)
    return run.assign(msd=run.msd * 0 + 1e-6 * (1 - np.exp(-t)) + 1e-12 * t**2)


@later
def early(run_of, i):
    found = stack({"a": displacement.early_diffusion(run_of(), 1.0)[i]}, "phase")
    return given(found, expected=1.0, null=1.0)


CASES |= {
    "C.5.no_plateau": [
        lambda c, r=r: verdict(c, max(displacement.cages({"a": r()}).values()), null=2.0)
        for r in (sliding, lambda: caged(sliding()))
    ],
    "C.5.hot_slope": [early(sliding, 0)] * 2,
    "C.5.hot_prefactor": [early(sliding, 1)] * 2,
    "C.5.over_diffuses": [
        lambda c: verdict(c, displacement.last_over_free(free())[0], expected=1.0, null=1.0) for _ in "ab"
    ],
    "C.5.swings": [lambda c, small=small: verdict(c, small, null=0.5) for small in (0.0, 0.5)],
    "C.5.localised": [
        lambda c, power=power: verdict(
            c,
            displacement.end_power(xr.DataArray(LONG**power, {"time": LONG}, "time")),
            null=displacement.end_power(xr.DataArray(LONG, {"time": LONG}, "time")),
        )
        for power in (0.1, 1.0)
    ],
}

# --- heterogeneity ----------------------------------------------------------------------------------------------------


def spread_alpha(level):
    """α₂ of a level that scatters between networks, beside a mixture of one half."""
    run = gaussian_run()
    scatter = xr.DataArray([-0.1, 0.0, 0.1, 0.05], dims="seed")
    return run.assign(alpha=(run.alpha + level + scatter).transpose(*run.alpha.dims))


@later
def far(level):
    return given(shapes.far_from_gaussian(spread_alpha(level))[0])


def gaussian_counts(run, draw=0):
    """Histograms of Gaussian weights in the run's own groups: every weight is drawn."""
    counts = np.zeros(run.motility.shape, int)
    for i in np.ndindex(counts.shape[:-1]):
        size, count = shapes.scales(run.isel(seed=[i[0]]), float(run.temperature[i[1]]))
        z = Stream.of("weights", draw, *i).normal("z", 0, int(count.sum()))
        counts[i] = np.histogram(np.log10(abs(np.repeat(size, count) * z)), MOTILITY_EDGES)[0]
    return run.assign(motility=(run.motility.dims, counts))


@cache
def bimodal(two):
    run = gaussian_run()
    return motilities_of(run, (-8, -7, 9), (-5, -4, 9)) if two else gaussian_counts(run)


@later
def modes(two):
    return given(shapes.two_modes(bimodal(two))[0])


@later
def unimodal(two):
    dip, null = shapes.coldest_dip(bimodal(two))
    return given(dip, null=null)


@later
def less(level):
    levels = dict(zip(walks.PHASES, (1.0, 2.0, level), strict=True))
    runs = {p: spread_alpha(one) for p, one in levels.items()}
    return given(shapes.beside_phases_with_loss(runs, 1e-3)[0])


@later
def hot_gaussian():
    scatter = xr.DataArray([-0.02, 0.0, 0.02, 0.01], dims="seed")
    run = gaussian_run()
    run = run.assign(alpha=(run.alpha + scatter).transpose(*run.alpha.dims))
    return given([shapes.normal_when_hot(run)], null=0.0)


CASES |= {
    "C.7.hot_is_gaussian": [hot_gaussian()] * 2,
    **{f"C.7.{phase}.cold_is_not": [far(2.0), far(0.5)] for phase in walks.PHASES},
    **{f"C.A8.{phase}.cold_is_not": [far(2.0), far(0.5)] for phase in COLD},
    **{f"C.7.{phase}.bimodal": [modes(True), modes(False)] for phase in walks.PHASES},
    **{f"C.A8.{phase}.bimodal": [modes(True), modes(False)] for phase in COLD},
    "C.A8.overparameterised.unimodal": [unimodal(False), unimodal(True)],
    "C.A8.overparameterised.less": [less(0.25), less(1.5)],
}

# --- transitions and basins -------------------------------------------------------------------------------------------


@later
def sharp(places, smooth=False):
    result = falling(places)
    if smooth:  # every network is like their mean
        mean = result.data_loss.mean("seed") + 0 * result.data_loss
        result = result.assign(data_loss=mean.transpose(*result.data_loss.dims))
    single, mean = transitions.sharpness(result)
    return given(single, null=mean)


def left(kept_by_bowl=False, length=True):
    one = survey()
    if not length:
        one = one.assign(strays=xr.full_like(one.strays, 0.5))
    if kept_by_bowl:
        one = one.assign(curvature=one.curvature * 0)
    return one


@later
def no_length(flat):
    one = left(flat)
    if flat:
        one = one.assign(strays=xr.full_like(one.strays, 1.0))
    kept, null = basins.share_left(one).isel(kick=0).sel(system="network"), basins.bowls(one, 30_000)
    return given(kept, null=null.sel(system="network"))


@later
def of_glass(values, null):
    return given(values.sel(system="glass", drop=True), null=null)


WALLS = basins.barriers(survey())["near"].sel(path="relaxed").median("seed")
ROUND = survey().roundness.mean("seed")
CASES |= {
    **{f"{c}.sharp": [sharp([0.01, 0.02, 0.02, 0.05]), sharp([0.01, 0.02, 0.02, 0.05], True)] for c in ("C.A3", "C.1")},
    **{
        f"{c}.scatter": [lambda c, share=share: verdict(c, proportion(share, 24), null=1.0) for share in (0.5, 1.0)]
        for c in ("C.A3", "C.1")
    },
    "C.6.glass.length": [of_glass(basins.jump(basins.share_left(left(length=long))), 1.0) for long in (True, False)],
    "C.6.glass.barrier": [of_glass(WALLS, 0.0), of_glass(WALLS * 0, 0.0)],
    **{f"C.6.{phase}.no_length": [no_length(False), no_length(True)] for phase in walks.PHASES},
    "C.6.glass.round": [of_glass(ROUND, ROUND.sel(system="network")), of_glass(ROUND * 0 + 0.4, 0.4)],
    "C.6.extended": [
        lambda c, steep=steep: verdict(c, steep, null=basins.random_roundness(survey(), 4000).sel(system="network"))
        for steep in (ROUND.sel(system="network"), basins.random_roundness(survey(), 4000).sel(system="network"))
    ],
}

#: Verdicts on truth and on null of claims that do not tell them apart.
LIKE_FREE_WALKS = [
    "C.2.hot_is_free",
    "C.2.printed_temperature",
    *(f"C.{figure}.{phase}.{name}" for figure in ("3", "A4") for phase in COLD for name in ("hot_slope", "prefactor")),
    "C.3.overparameterised.never_flat",
    "C.4.collapse",
    "C.4.master_power",
    "C.5.hot_prefactor",
    "C.5.hot_slope",
    "C.5.over_diffuses",
    "C.7.hot_is_gaussian",
    "C.A4.e_fold_hot",
    "C.A4.overparameterised.never_flat",
    "C.A6.over_stays",
    "C.scaling.hot_kept",
]
CANNOT = {
    **{claim: (TRIVIAL, TRIVIAL) for claim in LIKE_FREE_WALKS},
    "C.A8.overparameterised.unimodal": (TRIVIAL, "fails"),  # Gaussian layers have one mode as well
}


@pytest.mark.parametrize("claim", sorted(CASES))
def test_a_claim_holds_on_its_truth_and_not_on_its_null(claim):
    truth, null = (judge(claim) for judge in CASES[claim])
    if claim in CANNOT:
        assert (truth, null) == CANNOT[claim]
    else:
        assert truth == "holds" and null != "holds", (truth, null)


@later
def weaker_kicks(figure="prefactor"):
    """Kicks of half the strength that the closed form says, after the wait that is looked at."""
    return relaxation.two_regimes(phases.times(sliding(cooling=np.log(2) / 10_000)))[figure]


@later
def on_a_slide(measure, **rivals):
    return given(measure(sliding(times=LONG_TIMES)), **rivals)


#: Of claims that say what their null does: data for which they are false, and not by their null.
OTHERWISE = {
    "C.2.hot_is_free": on_a_slide(lambda _: distances(sliding(speed=1e-5), (0.1, 0.01)), null=0.0),
    "C.2.printed_temperature": on_a_slide(lambda run: distances(run, [1e-4]), null=0.0),
    "C.3.overparameterised.never_flat": on_a_slide(lambda run: relaxation.overall_power(phases.times(run)), null=-1.0),
    "C.A4.overparameterised.never_flat": on_a_slide(lambda run: relaxation.overall_power(phases.times(run)), null=-1.0),
    **{f"C.{figure}.{phase}.prefactor": weaker_kicks() for figure in ("3", "A4") for phase in COLD},
    "C.5.over_diffuses": on_a_slide(lambda run: displacement.last_over_free(run)[0], expected=1.0, null=1.0),
    "C.7.hot_is_gaussian": on_a_slide(lambda _: [shapes.normal_when_hot(spread_alpha(1.0))], null=0.0),
    "C.A6.over_stays": on_a_slide(lambda run: laid(run).spread, null=0.0),
    "C.A8.overparameterised.unimodal": unimodal(True),
}


@pytest.mark.parametrize("claim", sorted(OTHERWISE))
def test_a_claim_that_its_null_shares_can_fail(claim):
    assert OTHERWISE[claim](claim) == "fails"


def test_sliding_weights_do_not_collapse_and_the_claim_takes_them_for_collapsed():
    """Curves of different shapes lie near one another, as all pass 0.9 at one place."""
    run = sliding(times=LONG_TIMES)
    assert laid(run).spread > 20 * laid(free(times=LONG_TIMES, spread=0.0)).spread
    assert verdict("C.4.collapse", laid(run).quality, null=1.0) == TRIVIAL
