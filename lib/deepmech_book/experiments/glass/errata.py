"""Slips and silent assumptions of Kerr Winter, Janssen 2024, each as a small experiment for the errata page."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.metrics.glass import mixture_non_gaussian, non_gaussian
from deepmech.metrics.glass_times import exponent
from deepmech.simulators.brownian import Well, ageing_factor, free_overlap, simulate, well_msd
from deepmech.trainers.engines.compiled.langevin import Blocked, initial, layer_sizes


def overlap_factor(n_weights: int = 20_000) -> xr.Dataset:
    """A simulated free walk beside Eq. 6 with the factor 2/√π (``printed``) and without (``ours``); over ``time``."""
    walk = Well(temperature=1.0, learning_rate=0.01)
    made = simulate(walk, [1, 3, 10, 30, 100, 300], np.zeros(n_weights), windows=[0.3], n_weights=n_weights)
    ours = free_overlap(made.time, 0.3, walk.diffusion)
    measured = made.overlap.isel(window=0, drop=True)
    return xr.Dataset({"measured": measured, "ours": ("time", ours), "printed": ("time", 2 / np.sqrt(np.pi) * ours)})


def localisation(n_weights: int = 20_000) -> float:
    """Mean square displacement of weights in equilibrium, long after, over T/(kP_D), which Eq. H4 prints."""
    well = Well(stiffness=0.5, temperature=0.3, learning_rate=0.05, n_data=10)
    return float(simulate(well, [1000], n_weights=n_weights).msd[0]) / well.variance


def walk_power(temperature: float = 1.0, window: float = 2e-4) -> float:
    """The power of t that a free walk's overlap follows over the times 10³ to 3·10⁵ of the paper, P_D = 60,000."""
    times = np.geomspace(1e3, 3e5, 40)
    return exponent(times, free_overlap(times, window, 1e-3 * temperature / 60_000)).value


def noise_over_resolution(temperature: float = 1e-10, n_data: int = 60_000) -> float:
    """Noise per step over half the spacing of single-precision numbers, at the median initial weight of width 30."""
    weights = np.abs(initial(layer_sizes(10, 30, 6), Stream.of("errata glass", 0)))
    spacing = float(np.spacing(np.float32(np.median(weights))))
    return float(np.sqrt(2 * temperature * 1e-3 / n_data)) / (0.5 * spacing)


def silent_walk(noise: float = 1e-9, steps: int = 400) -> dict[str, float]:
    """Mean square displacement over that of a free walk, by precision, of a network through which nothing passes.

    Positive inputs and negative first weights: no weight has a gradient, so all should walk freely.
    """
    stream, sizes = Stream.of("errata silent", 0), layer_sizes(4, 6, 3)
    x = 1 + stream.uniform("x", 0, (32, 4))
    y = np.where(stream.uniform("y", 0, 32) > 0.5, 1.0, -1.0)
    start = initial(sizes, stream)
    start[:24] = -np.abs(start[:24]) - 0.1
    out = {}
    for dtype in ("float32", "mixed"):
        network = Blocked(sizes, x, y, dtype)
        network.set(start)
        before = network.w.astype(float).copy()
        network.walk(steps, 0, 1e-3, 0.0, noise, stream)
        out[dtype] = float(((network.w - before) ** 2).mean() / (steps * noise**2))
    return out


def decay_ages(waiting: tuple[int, ...] = (0, 50_000, 150_000), decay: float = 0.01, rate: float = 1e-3) -> xr.Dataset:
    """τ₉₀ of Gaussian weights that only decay, after several waits, over that after none; beside it e^{μλt_w}."""
    spread = np.sort(np.abs(Stream.of("errata decay", 0).normal("weights", 0, 20_001)))
    window, taus = spread.max() / 300, []
    for waited in waiting:
        # Q falls to 0.9 when the weight at the 90 % point of |w| has moved by the window.
        place = spread[int(0.9 * len(spread))] * np.exp(-rate * decay * waited)
        taus.append(-np.log1p(-window / place) / (rate * decay))
    return xr.Dataset(
        {
            "ratio": ("waiting", np.array(taus) / taus[0]),
            "factor": ("waiting", ageing_factor(np.array(waiting), rate, decay)),
        },
        {"waiting": list(waiting)},
    )


def still_mixture(n: int = 100_000) -> tuple[float, float]:
    """α₂ of Gaussian weights of two widths that never change, and its closed form."""
    stream, scales = Stream.of("errata mixture", 0), (1.0, 3.0)
    parts = [s * stream.normal(f"part {s}", 0, n) for s in scales]
    whole = np.concatenate(parts)
    closed = mixture_non_gaussian(n * np.array(scales) ** 2, np.array([n, n]))
    return float(non_gaussian((whole**2).sum(), (whole**4).sum(), np.array(len(whole)))), float(closed)


def equilibrium_msd(time: float = 1e9) -> float:
    """The closed form behind :func:`localisation`, in units of the variance."""
    well = Well(stiffness=0.5, temperature=0.3, learning_rate=0.05, n_data=10)
    return float(well_msd(np.array(time), well)) / well.variance
