"""Free and harmonic weights: closed forms against each other, and against walks step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech.simulators.brownian import (
    Well,
    ageing_factor,
    final_overlap,
    free_overlap,
    free_time,
    well_msd,
    well_overlap,
)

N = 20_000


def walk(well, times, start=None):
    """N weights at these steps, from ``start`` or from equilibrium, and where they began; as the trainer walks."""
    stream = Stream.of("brownian", 0)
    w = np.sqrt(well.variance) * stream.normal("start", 0, N) if start is None else np.full(N, start)
    path = [w]
    for t in range(times[-1]):
        w = (1 - well.learning_rate * well.stiffness) * w
        w = w + np.sqrt(2 * well.diffusion) * stream.normal("step", t, N)
        path.append(w)
    return np.array([path[t] for t in times]), path[0]


def test_free_walk_by_simulation():
    free = Well(temperature=2.0, learning_rate=0.01, n_data=4)
    times = [1, 10, 100, 400]
    w, first = walk(free, times, 0.0)
    for window in (0.05, 0.3):
        exact = free_overlap(times, window, free.diffusion)
        np.testing.assert_allclose((abs(w - first) < window).mean(1), exact, atol=4 * np.sqrt(0.25 / N))
    np.testing.assert_allclose(((w - first) ** 2).mean(1), well_msd(times, free), rtol=0.05)


def test_the_constant_of_the_decorrelation_time():
    assert free_time(1.0, 1.0) == pytest.approx(0.1848, abs=5e-5)
    assert free_overlap(free_time(0.3, 1e-4, 0.7), 0.3, 1e-4) == pytest.approx(0.7)


@given(
    windows=st.lists(st.floats(1e-4, 10.0), min_size=1, max_size=6),
    diffusion=st.floats(1e-9, 1.0),
    level=st.floats(0.05, 0.99),
)
def test_the_time_of_several_walks_is_where_their_mean_overlap_crosses_the_level(windows, diffusion, level):
    t = free_time(np.array(windows), diffusion, level)
    assert np.mean([free_overlap(t, w, diffusion) for w in windows]) == pytest.approx(level, abs=1e-9)
    twice = free_time(np.array([windows, [2 * w for w in windows]]), diffusion, level)
    np.testing.assert_allclose(twice, [t, 4 * t], rtol=1e-9)
    assert free_time(np.full(3, windows[0]), diffusion, level) == pytest.approx(
        free_time(windows[0], diffusion, level), rel=1e-12
    )


@pytest.mark.parametrize("start", [0.0, 0.7])
def test_well_by_simulation(start):
    well = Well(stiffness=0.5, temperature=1.0, learning_rate=0.005, n_data=2)
    times = [3, 30, 300, 3000]
    w, first = walk(well, times, start)
    exact = well_overlap(times, well, 0.3, start)
    np.testing.assert_allclose((abs(w - first) < 0.3).mean(1), exact, atol=4 * np.sqrt(0.25 / N) + 0.002)


def test_two_fluctuating_times_double_the_variance():
    well = Well(stiffness=2.0, temperature=1.0, learning_rate=0.01, n_data=5)
    times = [1, 20, 1000]
    w, first = walk(well, times)
    msd = ((w - first) ** 2).mean(1)
    np.testing.assert_allclose(msd, well_msd(times, well), rtol=0.06)
    assert msd[-1] == pytest.approx(2 * well.temperature / (well.stiffness * well.n_data), rel=0.05)
    assert w[-1].var() == pytest.approx(well.variance, rel=0.05)


def test_the_overlap_ends_at_that_of_equilibrium():
    well, window, start = Well(stiffness=0.4, temperature=0.3, learning_rate=0.1), 0.2, 0.5
    assert well_overlap(1e6, well, window, start) == pytest.approx(float(final_overlap(well, window, start)))


def test_a_weak_well_is_free_and_a_hot_well_has_a_half_power():
    times = np.array([1.0, 100.0])
    weak = Well(stiffness=1e-9, temperature=1.0)
    np.testing.assert_allclose(
        well_overlap(times, weak, 0.01, 0.0), free_overlap(times, 0.01, weak.diffusion), rtol=1e-6
    )
    final = [float(final_overlap(Well(stiffness=0.01, temperature=t), 1e-3, 0.1)) for t in (10.0, 1000.0)]
    assert np.log(final[1] / final[0]) / np.log(100) == pytest.approx(-0.5, abs=1e-3)


def test_decay_alone_slows_a_fixed_window():
    rate, decay, window = 1e-3, 0.05, 1e-3
    waited = np.array([0, 10_000, 40_000])
    taus = [np.log(1 / (1 - window / np.exp(-rate * decay * w))) / (rate * decay) for w in waited]
    np.testing.assert_allclose(np.array(taus) / taus[0], ageing_factor(waited, rate, decay), rtol=0.01)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Well(stiffness=-1.0), "Well.stiffness = -1.0"),
        (lambda: Well(stiffness=3.0, learning_rate=1.0), "Well.stiffness = 3.0"),
        (lambda: Well(n_data=0), "Well.n_data = 0"),
    ],
)
def test_errors_name_what_is_wrong(make, words):
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        make()
