"""Walks whose every time is known in closed form: heat, and a steady slide of each weight at a speed of its own."""

import json

import numpy as np
import xarray as xr
from scipy.special import erf, erfinv

from deepmech_book.sweeps.glass import walks

TEMPERATURES = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 0.0)
CHI = (300 / 7, 300.0, 2100.0)
TIMES = np.unique(np.geomspace(1, 1e5, 200).round())
LONG = np.unique(np.geomspace(1, 1e7, 250).round())
"""Times of a record so long that cold weights, too, are seen to leave their window."""
SIGMA = 0.3


def sliding_run(
    speed=1e-7, slowing=0.0, temperatures=TEMPERATURES, n_seeds=4, waits=(10_000, 20_000), spread=0.02, times=TIMES,
    phase="regularised", levels=(1.0, 1.0), bend=1.0, cooling=0.0, kicks=1.0, rng=None,
) -> xr.Dataset:  # fmt: skip
    """A phase's walks, as :func:`.phases.runs` gives them, of weights that are kicked and slide.

    The displacement after t steps is normal with variance 2Dt + (vt)^(2·bend); v falls with the wait as
    exp(-slowing · wait), D as exp(-cooling · wait), and is ``kicks`` times that of free walks. The spread of weights
    differs from seed to seed by ``spread``: evenly, or at random with a generator.
    """
    off = np.linspace(-1, 1, n_seeds) if rng is None else rng.standard_normal(n_seeds)
    sigma = SIGMA * np.exp(spread * off)
    seed, temperature, waiting, time, chi = np.ix_(range(n_seeds), temperatures, waits, np.asarray(times, float), CHI)
    window = sigma[seed] / chi
    slide = (speed * np.exp(-slowing * waiting) * time) ** (2 * bend)
    variance = 2 * kicks * walks.diffusion(1.0) * temperature * np.exp(-cooling * waiting) * time + slide
    with np.errstate(divide="ignore"):
        overlap = erf(window / np.sqrt(2 * variance))
    coords = {
        "seed": range(n_seeds), "temperature": list(temperatures), "waiting": list(waits),
        "time": times, "chi": list(CHI),
    }  # fmt: skip
    shape = (n_seeds, len(temperatures), len(waits))
    before, after = levels
    data = {
        "overlap": (tuple(coords), overlap),
        "msd": (tuple(coords)[:4], np.broadcast_to(variance, (n_seeds, *variance.shape[1:]))[..., 0]),
        "sigma": (("seed", "temperature"), np.repeat(sigma[:, None], len(temperatures), 1)),
        "loss_waited": (tuple(coords)[:3], np.full(shape, before)),
        "diverged": (tuple(coords)[:2], np.zeros(shape[:2], bool)),
        "loss": (tuple(coords)[:4], np.broadcast_to(np.linspace(before, after, len(times)), (*shape, len(times)))),
    }
    sweep = walks.standard(phase, "digits")
    return xr.Dataset(data, coords, {"spec": json.dumps(sweep.to_json())})


def slide_time(speed, window=1, level=0.9):
    """Steps after which the mean overlap of weights that only slide is ``level``, in a window of :data:`CHI`."""
    return SIGMA / CHI[window] / (np.sqrt(2) * erfinv(level) * speed)
