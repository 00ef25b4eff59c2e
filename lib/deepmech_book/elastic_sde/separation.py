"""When classes separate: Theorems 2.1 and 3.1 of paper B, chance, the edge between them, and Definition C.3."""

import numpy as np
import xarray as xr
from scipy.linalg import expm

from deepmech.core.estimates import jackknife, leave_one_out, proportion, stack
from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.separability import linearly_separable, separable, separated_along
from deepmech.simulators.elastic_sde import (
    ElasticSDE,
    PowerLaw,
    critical_strength,
    drift_matrix,
    mean_over_noise,
    mixed_logits,
    separated_by_chance,
    separation_probability,
    simulate,
)
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.elastic_sde.words import said

SIDES = {2: 3.4, 3: 3.8, 4: 4.0, 5: 4.1}
"""By number of classes: side of the polygon of class means, in widths; about half of the runs are separable then."""
PROBABILITY = "probability of separation"


def two_classes(gaps):
    """Models of two classes whose effects differ by α − β = ``gap`` and add up to 0.2."""
    gap = over("gap", gaps)
    return ElasticSDE(intra=0.1 + gap / 2, inter=0.1 - gap / 2)


def share_separated(gaps, n_samples, n_runs):
    """Share of runs in which two classes on a line are separated at t = 100 (Theorem 2.1), over ``n`` and ``gap``.

    Means start one unit apart, and classes half a unit wide. Samples move with the expected mean of their class. Runs
    of one number of samples share their random numbers.
    """
    shares = []
    for n in n_samples:
        run = simulate(two_classes(gaps), [100.0], [[0.5], [-0.5]], n, n_runs, 0.5, mean="infinite")
        apart = separated_along(run.feature_value.isel(time=0, drop=True), [1.0])
        shares.append(apart.isel(pair=0, drop=True).mean("run"))
    return said(xr.concat(shares, over("n", list(n_samples))), "share of separated runs")


def probability_at(model, time, n_samples, distance=1.0, start_spread=0.5):
    """Probability that two classes are separated along the line of their means, over the model's dimensions and ``n``.

    In closed form, for an isotropic model of classes that are all alike, which start ``start_spread`` wide.
    """
    with np.errstate(over="ignore"):
        signal = mean_over_noise(model, [time], distance=distance, start_spread=start_spread)
    signal = signal.isel(time=0, drop=True).clip(max=1e300)
    found = xr.concat([separation_probability(signal, n) for n in n_samples], over("n", list(n_samples)))
    return said(found, PROBABILITY)


def separable_by_chance(dimensions, n_samples, n_draws):
    """Share of draws in which n + n points of one normal law in ``p`` dimensions can be separated by a hyperplane."""
    shares = np.zeros((len(dimensions), len(n_samples)))
    for i, p in enumerate(dimensions):
        for j, n in enumerate(n_samples):
            hits = 0
            for draw in range(n_draws):
                x = Stream.of("elastic chance", draw).normal("points", 100 * p + n, (2 * n, p))
                hits += linearly_separable(x[:n], x[n:])
            shares[i, j] = hits / n_draws
    found = xr.DataArray(shares, {"p": list(dimensions), "n": list(n_samples)}, ("p", "n"))
    return said(found, "share separable by chance")


def chance_on_a_line(n_samples):
    """The paper's formula 2/C(2n, n) for shares of :func:`separable_by_chance` with p = 1 (footnote 5), over ``n``."""
    return over("n", list(n_samples)).copy(data=[separated_by_chance(n) for n in n_samples])


def fading_features(exponents, times, n_runs, n_classes=3, n_samples=15):
    """Samples of classes whose effects fade as 1/(1 + t)^r, for three kinds of directions H (Theorem 3.1).

    The effect within classes is 1/(1 + t)^r, that between them −1/5 of it. As in the proof of the theorem, a sample
    moves with the expected mean of its class and has noise of its own, of strength 1. Class means and samples start
    normal, with as many features as classes. Runs of all kinds and exponents share their random numbers.
    """
    k, equal = n_classes, (np.full(n_classes, 1 / n_classes), np.eye(n_classes)[None])
    pulls = {"I-model": np.broadcast_to(np.eye(k), (k, k, k, k)), "L-model": mixed_logits(k, 1.0)}
    integrals = [PowerLaw.flat(1.0, r, 0.0)[1](np.array(times)) for r in exponents]
    width = np.sqrt(np.diff(times, prepend=0.0))[:, None, None, None]
    names = [*pulls, "random $H$"]
    features = np.empty((len(names), len(exponents), n_runs, len(times), k, n_samples, k))
    for run in range(n_runs):
        stream = Stream.of("fading effects", run)
        start = stream.normal("means", 0, (k, k))
        first = stream.normal("samples", 0, (k, n_samples, k))
        noise = (stream.normal("noise", 0, (len(times), k, n_samples, k)) * width).cumsum(0)
        for i, name in enumerate(names):
            blocks = pulls[name] if name in pulls else random_blocks(stream, k)
            drift = drift_matrix(1.2 * np.eye(k) - 0.2, blocks, *equal)[0]
            for j, integral in enumerate(integrals):
                mean = np.stack([(expm(drift * a) @ start.ravel()).reshape(k, 1, k) for a in integral])
                features[i, j, run] = mean + first + noise
    labels = {"model": names, "r": list(exponents), "time": list(times)}
    return xr.DataArray(features, labels, ("model", "r", "run", "time", "class", "sample", "feature"))


def random_blocks(stream, k):
    """H_kl of a random positive semi-definite H with ones on its diagonal, (K, K, K, K)."""
    root = stream.normal("H", 0, (k * k, k * k))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return (root @ root.T).reshape(k, k, k, k).transpose(0, 2, 1, 3)


def along_a_random_direction(features):
    """Whether one direction, drawn at random before, separates all pairs of classes (Definition C.3)."""
    return separated_along(features, Stream.of("random direction").normal("nu", 0, 3)).all("pair")


def separable_at_the_edge(n_classes, factors, times, n_runs):
    """Whether all pairs are separable, for effects that fade as a/(1 + t), with a over K/2 as ``factor``.

    K classes of 15 samples each, in the plane, start at the corners of a polygon (:data:`SIDES`), as wide as the noise.
    """
    law = PowerLaw(over("factor", factors) * critical_strength(n_classes), 1.0)
    angles = 2 * np.pi * np.arange(n_classes) / n_classes
    corners = np.stack([np.cos(angles), np.sin(angles)], 1)
    start = SIDES[n_classes] / 2 / np.sin(np.pi / n_classes) * corners
    run = simulate(ElasticSDE(law, 0.0, n_classes, 2), times, start, 15, n_runs, 1.0, mean="infinite")
    return separable(run.feature_value).all("pair")


def share_separable(pairwise):
    """Share of runs in which all pairs are separable."""
    return said(pairwise.mean("run"), "share of separable runs")


# --- claims


@measures("B.thm21.separates")
def separates(share, n_runs):
    """Share of separated runs with the larger effect within classes, over ``n``; null: chance."""
    elastic = share.sel(gap=0.5, drop=True)
    return Measurement(proportion(elastic, n_runs), null=chance_on_a_line(elastic["n"].values.tolist()))


@measures("B.thm31.fades")
def fades(separable):
    """Share of runs that do as the theorem says at the last time, over ``model`` and ``r``."""
    share = separable.isel(time=-1, drop=True).mean("run")
    slow = share["r"] < 1
    null = xr.where(slow, share.where(~slow).max("r"), 1 - share.where(slow).min("r")).transpose(*share.dims)
    return Measurement(proportion(share.where(slow, 1 - share), separable.sizes["run"]), null=null)


@measures("B.c3.random_direction")
def random_direction(along):
    """Share of runs separated along one direction at the last time, over ``model`` and ``r`` below 1; null: above 1."""
    share = along.isel(time=-1, drop=True).mean("run")
    slow = share.where(share["r"] < 1, drop=True)
    return Measurement(proportion(slow, along.sizes["run"]), null=share.where(share["r"] > 1).max("r"))


def crossing_strength(runs):
    """The ``factor`` at which the curves of the first and the last time cross, with its interval over runs.

    Below it waiting makes separation less likely, above it more so. A straight line is laid through the difference of
    the two curves, by least squares; its zero is the crossing.
    """
    change = runs.isel(time=-1).astype(float) - runs.isel(time=0).astype(float)
    rows = change.transpose("run", "factor").values

    def zero(values):
        slope, offset = np.polyfit(runs["factor"].values, values, 1)
        return float(-offset / slope)

    without = np.array([zero(m) for m in leave_one_out(rows)])
    return jackknife(zero(rows.mean(0)), without, scatter="skewed")


@measures("B.thm31.threshold")
def threshold(runs):
    """The strength over K/2 at which the curves of the first and the last time cross, by number of ``classes``."""
    crossings = {k: crossing_strength(one) for k, one in runs.items()}
    return Measurement(stack(crossings, "classes"), detail=f"Numbers of classes: {', '.join(map(str, runs))}.")
