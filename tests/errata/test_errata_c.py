"""Slips of paper C that no other test shows: the law as it is, beside what the paper prints."""

import numpy as np
import pytest

from deepmech.core.random import Stream
from deepmech.metrics.relaxation import exponent
from deepmech.simulators.brownian import free_overlap
from deepmech.trainers.engines.compiled.langevin import initial, layer_sizes

RATE, N_DATA = 1e-3, 60_000  # the paper's μ and P_D


def test_eq_6_as_printed_begins_above_one():
    assert free_overlap(1e-9, 0.3, 1e-4) == pytest.approx(1)
    assert 2 / np.sqrt(np.pi) * free_overlap(1e-9, 0.3, 1e-4) == pytest.approx(1.128, abs=1e-3)


def test_a_free_walk_follows_the_power_that_fig_4_compares_with_mode_coupling():
    times = np.geomspace(1e3, 3e5, 40)  # those of the paper, at T = 1 and its window
    assert exponent(times, free_overlap(times, 2e-4, RATE / N_DATA)).value == pytest.approx(-0.48, abs=0.03)


def test_at_the_lowest_temperature_noise_is_below_the_resolution_of_single_precision():
    """Noise per step over half the spacing of numbers, at the median initial weight of width 30."""
    weights = np.abs(initial(layer_sizes(10, 30, 6), Stream.of("errata glass", 0)))
    half = 0.5 * np.spacing(np.float32(np.median(weights)))
    cold, warm = (np.sqrt(2 * temperature * RATE / N_DATA) / half for temperature in (1e-10, 1e-4))
    assert cold < 1 < warm
