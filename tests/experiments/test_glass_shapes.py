"""Collapse, displacement, heterogeneity and ageing as functions of made-up walks, whose answers are known."""

import json

import numpy as np
import pytest
import xarray as xr

from deepmech.experiments.glass import errata, relaxation, shapes, walks
from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.simulators.brownian import free_overlap, free_time
from deepmech.trainers.langevin import log_times

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
    assert power == pytest.approx(-1.0, abs=0.02) and "χ = 300" in words
    exact = relaxation.prefactor(warm, run)
    assert (exact.low < exact.ratio).all() and (exact.ratio < exact.high).all()
    assert relaxation.distance_from_free(run, 0.1) < 3
    assert "T* =" in relaxation.in_words("regularised", run)


def test_curves_of_one_shape_collapse_and_fall_as_a_root():
    curves, found = shapes.collapsed(made_up())
    assert found.quality > 0.998
    master = shapes.free_master(curves.rescaled.values)
    assert float(abs(curves - master).max()) < 0.02
    assert shapes.tail_power(curves.sel(temperature=0.1)).value == pytest.approx(-0.48, abs=0.03)


def test_displacement_without_and_with_a_cage():
    run = made_up()
    msd = shapes.displacement(run)
    assert shapes.recovery(msd) == 0
    powers = shapes.local_powers(msd).isel(time=slice(3, -3))
    assert powers.sel(temperature=0.1).values == pytest.approx(1.0, abs=0.01)
    assert powers.sel(temperature=0.0).values == pytest.approx(2.0, abs=0.01)
    # A plateau of two decades and an escape from it.
    t = msd.time.values.astype(float)
    caged = msd.copy(data=np.broadcast_to(1e-6 * (1 - np.exp(-t)) + 1e-12 * t**2, msd.shape))
    assert shapes.recovery(caged) > 1


def test_ageing_is_measured_and_weight_decay_drawn_beside_it():
    table = shapes.by_waiting(made_up(ages=1.5), 0.0)
    ratio, low, high = shapes.ageing_ratio(table)
    assert ratio == pytest.approx(1.5, rel=0.02) and low <= ratio <= high
    assert float(table.decay[1] / table.decay[0]) == pytest.approx(np.exp(1e-3 * 0.01 * 500))


def test_flat_motilities_have_one_mode():
    run = made_up()
    found = shapes.dips(run, n_null=20)
    assert found[0.1].n == SEEDS * 150 and found[0.1].p > 0.5
    assert float(shapes.motilities(run).sum("bin").min()) == pytest.approx(1.0)


def test_wells_agree_with_their_simulation():
    simulated = shapes.simulated_well(n_weights=4000).stack(point=["stiffness", "time"]).dropna("point")
    for q, k, t in zip(simulated.values, simulated.stiffness.values, simulated.time.values, strict=True):
        assert q == pytest.approx(shapes.well_exact(float(k), float(t)), abs=0.035)


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
