"""Walks whose every time is known in closed form: heat, and a steady slide of each weight at a speed of its own."""

import json
from functools import cache

import numpy as np
import xarray as xr
from scipy.special import erf, erfinv

from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.simulators.brownian import free_overlap, free_time
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech.trainers.langevin import log_times
from deepmech_book.glass.experiments import experiment
from deepmech_book.sweeps.glass import walks

TEMPERATURES = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 0.0)
CHI = (300 / 7, 300.0, 2100.0)
TIMES = np.unique(np.geomspace(1, 1e5, 200).round())
LONG = np.unique(np.geomspace(1, 1e7, 250).round())
"""Times of a record so long that cold weights, too, are seen to leave their window."""
SIGMA = 0.3
N = {"regularised": 25, "underparameterised": 24, "overparameterised": 3}
"""Networks of each phase that ship."""
T95 = {25: 2.064, 24: 2.069, 6: 2.571, 3: 4.303}
"""Of Student's t, by the number of networks."""


def scatter(reach, n, rng):
    """Numbers of networks whose mean, in truth 0, has an interval of that half-width."""
    return reach * np.sqrt(n) / T95[n] * rng.standard_normal(n)


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
    return xr.Dataset(data, coords, {"spec": spec(phase)})


@cache
def spec(phase):
    """What a result of a phase's walks says of its sweep; digits are read once."""
    return json.dumps(walks.standard(phase, "digits").to_json())


def slide_time(speed, window=1):
    """Steps after which the mean overlap of weights that only slide is 0.9, in a window of :data:`CHI`."""
    return SIGMA / CHI[window] / (np.sqrt(2) * erfinv(0.9) * speed)


def trained(power: float, end: float = 1e7, rng=None) -> xr.Dataset:
    """Networks whose slide at T = 0 is the slower, the longer they were trained: τ goes as that power."""
    lengths = [1000, 10_000, 100_000]
    runs = [sliding_run(1e-6 * (n / 1000) ** -power, temperatures=[0.0], times=LONG, rng=rng) for n in lengths]
    run = xr.concat(runs, xr.Variable("sgd_steps", lengths)).isel(temperature=0, drop=True)
    return run.sel(time=slice(None, end)).assign(loss_waited=xr.full_like(run.loss_waited, 0.1))


def made_up(still=3000.0, ages=1.0, n_seeds=4):
    """A regularised phase of free walks that a landscape cuts off: τ₉₀ = 1/(1/free + 1/still), slower by ``ages``."""
    temperatures = [0.1, 0.01, 1e-3, 0.0]
    sweep = walks.standard("regularised", "digits")
    times = log_times(4500, 12)
    waiting = [500, 1000]
    chi = np.array([300 / 7, 300, 2100])
    shape = (n_seeds, len(temperatures), 2, len(times), 3)
    overlap = np.empty(shape)
    for k, t in enumerate(temperatures):
        for c, x in enumerate(chi):
            for w in range(2):
                free = free_time(SIGMA / x, walks.RATE * t / walks.P_D) if t > 0 else np.inf
                tau = 1 / (1 / free + 1 / (still * ages**w * 300 / x))
                overlap[:, k, w, :, c] = free_overlap(times, 1.0, free_time(1.0, 1.0) / tau)
    dims = ("seed", "temperature", "waiting", "time")
    coords = {"seed": range(n_seeds), "temperature": temperatures, "waiting": waiting, "time": times}
    d = walks.RATE * np.array(temperatures) / walks.P_D
    msd = np.broadcast_to(2 * d[None, :, None, None] * times + 1e-14 * times**2.0, shape[:-1])
    flat = np.zeros((n_seeds, len(temperatures), 2, len(MOTILITY_EDGES) - 1), int)
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


@cache
def gaussian_run(n_seeds=4):
    """:func:`made_up` with all that shapes are asked: α₂ of Gaussian weights, and one group of them."""
    run = made_up(n_seeds=n_seeds)
    dims = ("seed", "temperature", "waiting")
    size = [run.sizes[d] for d in dims]
    return run.assign(
        alpha=((*dims, "time"), np.zeros((*size, run.sizes["time"]))),
        alpha_alive=((*dims, "time"), np.zeros((*size, run.sizes["time"]))),
        alpha_mixture=((*dims, "time"), np.full((*size, run.sizes["time"]), 0.5)),
        end_square=((*dims, "layer", "alive"), np.full((*size, 2, 2), 50 * 1e-4**2)),
        end_count=((*dims, "layer", "alive"), np.full((*size, 2, 2), 50)),
        alive_share=(dims, np.full(size, 0.75)),
        loss_waited=(dims, np.full(size, 0.1)),
    )


def motilities_of(run, *parts):
    """A run whose log₁₀|Δw| lie evenly in parts (from, to, weights a bin) of the histogram's axis."""
    counts = np.zeros(run.motility.shape, int)
    middle = 0.5 * (MOTILITY_EDGES[1:] + MOTILITY_EDGES[:-1])
    for low, high, n in parts:
        counts[..., (middle > low) & (middle < high)] = n
    return run.assign(motility=(run.motility.dims, counts))


@cache
def spec_at_rest(width, regularisation, n_seeds, n_data):
    cells = {"width": width, "regularisation": regularisation, "seed": range(n_seeds)}
    return json.dumps(experiment("glass-plane", cells, dataset="digits", n_data=n_data).to_json())


def at_rest(loss, width=(7,), regularisation=(0.0,), n_data=1500):
    """Networks at rest whose data loss over seed, width and decay is made up; where it is nan they diverged."""
    dims, loss = ("seed", "width", "regularisation"), np.asarray(loss, float)
    spec = spec_at_rest(tuple(width), tuple(regularisation), len(loss), n_data)
    data = {"data_loss": (dims, loss), "diverged": (dims, np.isnan(loss)), "error": (dims, loss)}
    return xr.Dataset(
        data, {"seed": range(len(loss)), "width": list(width), "regularisation": list(regularisation)}, {"spec": spec}
    )


def falling(places, decays=(0.001, 0.01, 0.02, 0.05)):
    """Networks whose loss rises with λ, and jumps to ½ at a place of their own."""
    loss = [np.where(np.array(decays) >= place, 0.5, decays) for place in places]
    return at_rest(np.array(loss)[:, None], regularisation=decays)


DECAYS = (0.001, 0.003, 0.01, 0.014, 0.018, 0.022, 0.026, 0.03, 0.035, 0.04, 0.05, 0.07, 0.1)


def jumping(shares, alike=False):
    """Networks that fall from 0.1 to ½ in two jumps, the second a share of the rise, one decay after another."""
    at = np.arange(len(DECAYS))
    places = np.full(len(shares), 9) if alike else 3 + np.arange(len(shares)) % 9
    loss = [np.select([at < k - 1, at < k], [0.1, 0.5 - 0.4 * s], 0.5) for k, s in zip(places, shares, strict=True)]
    return at_rest(np.array(loss)[:, None], regularisation=DECAYS)


def uneven(level, groups=0.5):
    """Walks of networks whose α₂ is given, beside that of Gaussian groups, of one or of each."""
    run = gaussian_run(n_seeds=np.size(level))
    alpha, mixture = (xr.DataArray(np.ravel(one) + np.zeros(np.size(level)), dims="seed") for one in (level, groups))
    given = {"alpha": alpha, "alpha_mixture": mixture}
    return run.assign({k: (one + 0 * run.alpha).transpose(*run.alpha.dims) for k, one in given.items()})


def two_kinds(shares, n=322):
    """Networks of n weights, of which a share is slow: two even pieces, whose dip is a third of the smaller share."""
    run = gaussian_run(n_seeds=len(shares))
    middle, counts = 0.5 * (MOTILITY_EDGES[1:] + MOTILITY_EDGES[:-1]), np.zeros(run.motility.shape, int)
    for seed, share in enumerate(shares):
        slow = round(min(share, 0.5) * n)
        for many, low in ((slow, -8), (n - slow, -5)):
            bins = np.flatnonzero((middle > low) & (middle < low + 1))
            counts[seed][..., bins] += np.bincount(
                np.linspace(0, len(bins), many, False).astype(int), minlength=len(bins)
            )
    return run.assign(motility=(run.motility.dims, counts))


SIZES = (3, 4, 5, 6, 7, 8, 10, 13, 16, 20, 24)


def crossing(places):
    """Networks of 1,500 samples whose loss is a straight line in its logarithm, 10⁻⁴ at an N/P_D of their own."""
    sizes = np.array([n_weights(layer_sizes(10, w, 6)) / 1500 for w in SIZES])
    return at_rest(10.0 ** (-4 - 2 * (sizes - np.array(places)[:, None]))[..., None], SIZES)


def some_without_loss(lossless, n_small=3):
    """Networks of which small ones have loss, and larger ones, of several widths, where they are not lossless."""
    large = np.where(lossless, 1e-15, 10**-2.5)
    small = np.full((len(large), n_small), 0.1)
    return at_rest(np.concatenate([small, large], 1)[..., None], SIZES[: n_small + large.shape[1]])
