"""Collapse, displacement, heterogeneity and ageing as functions of made-up walks, whose answers are known."""

import json

import numpy as np
import pytest
import xarray as xr

from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.simulators.brownian import free_overlap, free_time
from deepmech.trainers.langevin import log_times
from deepmech_book.experiments.glass import (
    ageing,
    displacement,
    errata,
    regimes,
    relaxation,
    shapes,
    superposition,
    walks,
)

SIGMA, SEEDS = 0.3, 4
TEMPERATURES = [0.1, 0.01, 1e-3, 0.0]


def made_up(still=3000.0, ages=1.0):
    """A regularised phase of free walks that a landscape cuts off: τ₉₀ = 1/(1/free + 1/still), slower by ``ages``."""
    sweep = walks.standard("regularised", "digits")
    times = log_times(4500, 12)
    waiting = [500, 1000]
    chi = np.array([300 / 7, 300, 2100])
    shape = (SEEDS, len(TEMPERATURES), 2, len(times), 3)
    overlap = np.empty(shape)
    for k, t in enumerate(TEMPERATURES):
        for c, x in enumerate(chi):
            for w in range(2):
                free = free_time(SIGMA / x, walks.RATE * t / walks.P_D) if t > 0 else np.inf
                tau = 1 / (1 / free + 1 / (still * ages**w * 300 / x))
                overlap[:, k, w, :, c] = free_overlap(times, 1.0, free_time(1.0, 1.0) / tau)
    dims = ("seed", "temperature", "waiting", "time")
    coords = {"seed": range(SEEDS), "temperature": TEMPERATURES, "waiting": waiting, "time": times}
    d = walks.RATE * np.array(TEMPERATURES) / walks.P_D
    msd = np.broadcast_to(2 * d[None, :, None, None] * times + 1e-14 * times**2.0, shape[:-1])
    flat = np.zeros((SEEDS, len(TEMPERATURES), 2, len(MOTILITY_EDGES) - 1), int)
    flat[..., 100:130] = 5
    return xr.Dataset(
        {
            "overlap": ((*dims, "chi"), overlap),
            "msd": (dims, msd),
            "sigma": (("seed", "temperature"), np.full(shape[:2], SIGMA)),
            "n_weights": (("seed", "temperature"), np.full(shape[:2], 246)),
            "diverged": (("seed", "temperature"), np.zeros(shape[:2], bool)),
            "motility": (("seed", "temperature", "waiting", "bin"), flat),
            "still": (("seed", "temperature", "waiting"), np.zeros(shape[:3], int)),
        },
        {**coords, "chi": chi},
        {"spec": json.dumps(sweep.to_json())},
    )


def test_two_regimes_and_their_crossover():
    run = made_up()
    table, still = relaxation.taus(run), relaxation.at_rest(run)
    assert still == pytest.approx(3000, rel=0.02)
    warm = relaxation.hot(table, still)
    assert warm.temperature.values.tolist() == [0.1]
    np.testing.assert_allclose(warm.tau / warm.free, 1, atol=0.06)
    cold = relaxation.cold(relaxation.taus(run), still, ratio=2)
    assert cold.temperature.values.tolist() == [1e-3]
    assert relaxation.crossover(run) == pytest.approx(
        0.1 * free_time(SIGMA / 300, walks.RATE * 0.1 / walks.P_D) / still, rel=1e-6
    )
    # A landscape that slides weights steadily: its time goes as the window, so T* as 1/χ.
    power, words = relaxation.crossover_power(run)
    assert power.value == pytest.approx(-1.0, abs=0.02) and "χ = 300" in words
    assert power.interval.low <= power.value <= power.interval.high
    exact = relaxation.prefactor(warm)
    np.testing.assert_allclose([exact.low, exact.high], [exact.ratio] * 2)  # these networks are all alike
    # Windows that differ by factors, and times with them: of free walks nothing is left.
    wider = np.array([1.0, 1.1, 0.8, 1.3])[:, None] * np.ones((1, len(run.temperature)))
    uneven = run.assign(sigma=run.sigma * wider)
    exact = relaxation.prefactor(relaxation.taus(uneven).sel(temperature=[0.1]))
    assert (exact.low < exact.ratio).all() and (exact.ratio < exact.high).all()
    assert "not_testable" in regimes.near_free(run, relaxation.taus(uneven.isel(seed=[0, 1])).sel(temperature=[0.1]))
    assert relaxation.distance_from_free(run, 0.1) < 3
    found = regimes.regimes(run)
    assert found["prefactor"]["expected"] == 1.0 and "not_testable" in found["hot_slope"]  # one hot temperature only
    assert found["prefactor"]["detail"].startswith("digits parity, P_D = 1796, width 6, N/P_D = 0.137, 4 initial")
    assert "T*" in regimes.summary({"phase": run}).index


def test_networks_without_loss_are_told_apart():
    loss = np.array([1e-9, 1e-2, 1e-5, 0.3])[:, None, None] * np.ones((1, len(TEMPERATURES), 2))
    run = made_up().assign(loss_waited=(("seed", "temperature", "waiting"), loss))
    assert regimes.fitting(run).seed.values.tolist() == [0, 2]
    assert "The 2 without loss alone: −0." in regimes.never_flat(run)["detail"]
    assert "alone" not in regimes.never_flat(run.isel(seed=[0, 2]))["detail"]


def test_curves_of_one_shape_collapse_and_fall_as_a_root():
    curves, found = superposition.collapsed(made_up())
    assert found.quality > 0.998
    master = superposition.free_master(curves.rescaled.values)
    assert float(abs(curves - master).max()) < 0.02
    assert superposition.tail_power(curves.sel(temperature=0.1)).value == pytest.approx(-0.48, abs=0.03)


def test_displacement_without_and_with_a_cage():
    run = made_up()
    msd = displacement.displacement(run)
    assert displacement.recovery(msd) == 0
    powers = displacement.local_powers(msd).isel(time=slice(3, -3))
    assert powers.sel(temperature=0.1).values == pytest.approx(1.0, abs=0.01)
    assert powers.sel(temperature=0.0).values == pytest.approx(2.0, abs=0.01)
    # A plateau of two decades and an escape from it.
    t = msd.time.values.astype(float)
    caged = msd.copy(data=np.broadcast_to(1e-6 * (1 - np.exp(-t)) + 1e-12 * t**2, msd.shape))
    assert displacement.recovery(caged) > 1


def test_ageing_is_measured_and_weight_decay_drawn_beside_it():
    table = ageing.by_waiting(made_up(ages=1.5), 0.0)
    ratio, (low, high) = ageing.ageing_ratio(table)[0], ageing.ageing_ratio(table)[1].ends
    assert ratio == pytest.approx(1.5, rel=0.02) and low <= ratio <= high
    assert float(table.decay[1] / table.decay[0]) == pytest.approx(np.exp(1e-3 * 0.01 * 500))


def test_flat_motilities_have_one_mode():
    run = made_up()
    found = shapes.dips(run, n_null=20)
    assert found[0.1].n == SEEDS * 150 and found[0.1].p > 0.5
    assert float(shapes.motilities(run).sum("bin").min()) == pytest.approx(1.0)


def test_wells_agree_with_their_simulation():
    simulated = superposition.simulated_well(n_weights=4000).stack(point=["stiffness", "time"]).dropna("point")
    for q, k, t in zip(simulated.values, simulated.stiffness.values, simulated.time.values, strict=True):
        assert q == pytest.approx(superposition.well_exact(float(k), float(t)), abs=0.035)


def test_every_slip_is_one():
    factor = errata.overlap_factor(5000)
    assert float(abs(factor.measured - factor.ours).max()) < 0.03 < float(abs(factor.measured - factor.printed).max())
    assert errata.localisation(5000) == pytest.approx(errata.equilibrium_msd(), abs=0.2)
    assert errata.equilibrium_msd() == pytest.approx(2.0)
    assert errata.walk_power() == pytest.approx(-0.5, abs=0.005)
    assert errata.noise_over_resolution() < 1 < errata.noise_over_resolution(1e-4)
    ages = errata.decay_ages()
    np.testing.assert_allclose(ages.ratio, ages.factor, rtol=0.02)
    measured, closed = errata.still_mixture(20_000)
    assert measured == pytest.approx(closed, abs=0.06)


def test_claims_carry_what_was_measured_and_where():
    run = made_up(ages=1.5)
    aged = ageing.ages(run, 0.0)
    assert aged["measured"] == pytest.approx(1.5, rel=0.02) and aged["detail"].endswith("from t_w = 500 to 1000.")
    assert aged["null"] == pytest.approx(np.exp(1e-3 * 0.01 * 500))
    assert set(ageing.without_null(aged)) == set(aged) - {"null"}
    assert ageing.hot_slopes(run)["not_testable"]  # one hot temperature is no slope
    assert list(ageing.summary(run).index) == ["T = 0.1", "T = 0.01", "T = 0.001", "T = 0"]
    hot = displacement.hot_claims(run)
    assert hot["hot_slope"]["measured"] == pytest.approx(1, abs=0.01)
    assert hot["hot_prefactor"]["measured"] == pytest.approx(1, abs=0.01)
    # A swing within the first steps is no cage; the same plateau later is one.
    t = run.time.values.astype(float)
    for end, caged in ((5.0, False), (500.0, True)):
        held = run.assign(msd=run.msd.copy(data=np.broadcast_to(1e-9 + 1e-9 * (t / end) ** 2, run.msd.shape)))
        found = displacement.no_plateau({"phase": held})
        assert (found["measured"] > 1) == caged
    collapse = superposition.regularised_claims(made_up())
    assert collapse["master_power"]["null"] == pytest.approx(-0.48, abs=0.03)
    assert -0.5 < collapse["last_power"]["null"] < -0.4  # not yet -1/2 at times so short


def test_phases_at_other_temperatures_share_one_line_of_free_walks():
    run = made_up()
    both = relaxation.by_phase({"one": run, "two": run.sel(temperature=[0.1, 0.0])})
    assert np.isfinite(both.free).all() and np.isnan(both.tau.sel(phase="two", temperature=1e-3))
    np.testing.assert_allclose(both.free.sel(phase="two"), both.free.sel(phase="one"))


def test_both_nulls_begin_together_and_one_is_held():
    kinds = displacement.beside_nulls(made_up(), 0.1)
    free, held = kinds.sel(kind="free walks"), kinds.sel(kind="weight decay alone")
    assert float(held[0] / free[0]) == pytest.approx(1, rel=1e-3)
    assert (held < free).all() and float(held.max()) < 2 * 0.1 / (0.01 * walks.P_D)


def test_weight_decay_is_drawn_through_the_waits_of_both_phases():
    run = made_up()
    later = run.assign_coords(waiting=[500, 3000])
    both = ageing.both_phases(
        {"regularised": run, "underparameterised": later}, {"regularised": 0.0, "underparameterised": 0.0}
    )
    assert both.waiting.values.tolist() == [500, 1000, 3000]
    np.testing.assert_allclose(
        both.decay / both.tau.sel(waiting=500), np.exp(1e-5 * (both.waiting - 500)).broadcast_like(both.decay)
    )
