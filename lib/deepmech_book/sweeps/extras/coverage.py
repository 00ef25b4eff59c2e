"""Features whose data separation is known, and how often the interval of D from a few of them holds it."""

from __future__ import annotations

import numpy as np
import scipy.stats
import torch
import xarray as xr

from deepmech.core.estimates import LEVEL, jackknife
from deepmech.core.random import Stream
from deepmech.metrics.folds import FOLDS, FoldAssigner, FoldMoments
from deepmech.metrics.separation import debiased
from deepmech.sweeps import to_records
from deepmech_book.sweeps.policy import verification_policy

LAWS = ("normal", "heavy tails", "unequal classes", "a scale a sample", "multivariate tails")
"""Of the features; heavy tails are Student's with three degrees of freedom, which have no fourth moment, of each
feature by itself or of all of a sample at once; a scale a sample is lognormal, its logarithm of spread 1/2."""
SAMPLES = (50, 200, 1000)
POPULATIONS: dict[str, tuple[str, int, int, int]] = {
    **{f"{law}, {n} samples": (law, 10, n, 50) for law in LAWS for n in SAMPLES},
    "two classes, few samples": ("normal", 2, 30, 10),
    "two classes, many samples": ("normal", 2, 800, 10),
    "fifty classes": ("normal", 50, 200, 20),
    "more features than samples": ("normal", 10, 60, 300),
}
"""By name: law, number of classes, of samples and of features."""
FORMS = {"plain": False, "debiased": True}
TRUTH = 2.0

DRAWN: dict[str, tuple[np.ndarray, float, int]] = {
    "ten classes, shares 1 to 1/10": (1 / np.arange(1, 11.0), 1.0, 5),
    "two classes, 98 to 2": (np.array([0.98, 0.02]), 1.0, 5),
    "ten classes far apart": (np.ones(10), -3.0, 5),
    "fifty classes": (np.ones(50), 2.0, 50),
}
"""Populations of which labels are drawn with the samples, by name: shares of classes, D, and number of features."""
DRAWN_SAMPLES = (500, 2000, 20_000)
METHODS = ("jackknife, groups dealt at random", "jackknife, each class dealt in turn", "percentile bootstrap")
RESAMPLES = 100


def _in_turn(labels: torch.Tensor) -> torch.Tensor:
    """Folds that take of each class in turn, classes beginning at different ones."""
    count, order, rank = labels.bincount(), labels.argsort(stable=True), torch.empty_like(labels)
    rank[order] = torch.arange(len(labels)) - (count.cumsum(0) - count)[labels[order]]
    return ((labels * ((5**0.5 - 1) / 2) % 1 * FOLDS).long() + rank) % FOLDS


def features(
    truth: float, n: int, classes: int, draw: int, law: str = "normal", width: int = 50
) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, width) and labels (n,) of a population whose D is ``truth`` where samples are many.

    Class means are drawn anew in each ``draw``; shares of ``"unequal classes"`` grow in proportion to 1, 2, … K.
    """
    stream, labels = Stream.of("samples", law, n, draw), np.arange(n) % classes
    if law == "unequal classes":
        ends = np.cumsum(np.arange(1, classes + 1)) * 2 / (classes * (classes + 1))
        labels = np.searchsorted(ends, (np.arange(n) + 0.5) / n)
    share = np.bincount(labels, minlength=classes) / n
    means = _means(stream, share, truth, width)
    if law == "heavy tails":
        return means[labels] + scipy.stats.t.ppf(stream.uniform("noise", 0, (n, width)), 3) / np.sqrt(3), labels
    noise = stream.normal("noise", 0, (n, width))
    if law == "a scale a sample":
        noise *= np.exp(stream.normal("scale", 0, (n, 1)) / 2 - 1 / 4)  # of mean square 1
    elif law == "multivariate tails":
        noise /= np.sqrt(scipy.stats.chi2.ppf(stream.uniform("scale", 0, (n, 1)), 3))
    return means[labels] + noise, labels


def _means(stream: Stream, share: np.ndarray, truth: float, width: int) -> np.ndarray:
    """Class means (class, width) drawn and scaled such that D is ``truth`` beside noise of variance 1."""
    means = stream.normal("means", 0, (len(share), width))
    means -= share @ means
    return means * (np.exp(-truth / 2) * np.sqrt(width / (share @ means**2).sum()))


# An interval whose end is at the truth may hold it on one processor and not on another: one draw of a hundred.
@verification_policy(tolerance={"covered": 1.1e-2, "*": 1e-6})
def try_intervals(cells: xr.Dataset, draws: int, truth: float) -> xr.Dataset:
    """By estimate, ``error`` of D and its ``square``, means over the draws that have a D, and the shares of draws whose
    95 % interval by the jackknife holds the truth (``covered``) and that have no D (``unresolved``)."""
    output = np.empty((cells.sizes["cell"], len(FORMS), 3, draws))
    for into, cell in zip(output, to_records(cells), strict=True):
        law, classes, n, width = POPULATIONS[cell["population"]]
        for i in range(draws):
            x, y = map(torch.tensor, features(truth, n, classes, draws * cell["block"] + i, law, width))
            moments = FoldMoments(classes).update(x, y, _in_turn(y))
            for form, debias in enumerate(FORMS.values()):
                value = moments.separation(debias)
                into[form, :, i] = value, *jackknife(value, moments.leave_one_out(debias), scatter="symmetric").interval
    d, low, high = np.moveaxis(output, 2, 0)
    measured = {
        "error": np.nanmean(d, -1) - truth,
        "square": np.nanmean((d - truth) ** 2, -1),
        "covered": np.mean((low <= truth) & (truth <= high), -1),
        "unresolved": np.mean(np.isnan(d), -1),
    }
    dims = ("cell", "estimate")
    return xr.Dataset({k: (dims, v) for k, v in measured.items()}, {"estimate": list(FORMS)})


def drawn_features(population: str, n: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of one of :data:`DRAWN`, features (n, width) and labels (n,), every class of which has a sample.

    Class means are drawn anew in each draw, and scaled so that D of the population is what it is to be.
    """
    weights, truth, width = DRAWN[population]
    share, stream = weights / weights.sum(), Stream.of("drawn samples", population, n, draw)
    labels = np.searchsorted(share.cumsum(), stream.uniform("labels", 0, n) * (1 - 1e-12))
    labels[: len(share)] = np.where(np.isin(np.arange(len(share)), labels), labels[: len(share)], np.arange(len(share)))
    return _means(stream, share, truth, width)[labels] + stream.normal("noise", 0, (n, width)), labels


def bootstrap(x: np.ndarray, y: np.ndarray, stream: Stream) -> np.ndarray:
    """Debiased D (:data:`RESAMPLES`,) of samples x (n, width) with labels y, drawn from these with replacement."""
    n, classes = len(y), int(y.max()) + 1
    rows = (stream.uniform("rows", 0, (RESAMPLES, n)) * n).astype(int)
    times = np.stack([np.bincount(row, minlength=n) for row in rows]).astype(float)
    members = [np.flatnonzero(y == k) for k in range(classes)]
    count = np.stack([times[:, m].sum(1) for m in members], 1)
    some = np.maximum(count, 1)
    mean = np.stack([times[:, m] @ x[m] for m in members], 1) / some[..., None]
    square = np.stack([times[:, m] @ (x[m] ** 2).sum(1) for m in members], 1)
    share = (count / n)[..., None]
    between = (share * (mean - (share * mean).sum(1, keepdims=True)) ** 2).sum((1, 2))
    spread = np.maximum(square - count * (mean**2).sum(2), 0)
    return debiased(*map(torch.tensor, (count, between, spread))).numpy()


# As above: one draw of twenty.
@verification_policy(tolerance={"covered": 5.5e-2, "*": 1e-6})
def try_methods(cells: xr.Dataset, draws: int) -> xr.Dataset:
    """By method, the share of draws whose 95 % interval of debiased D holds the truth (``covered``), and the mean
    length of the interval (``width``)."""
    output = np.empty((cells.sizes["cell"], len(METHODS), 2, draws))
    for into, cell in zip(output, to_records(cells), strict=True):
        population, n = cell["population"], int(cell["samples"])
        weights, truth, _ = DRAWN[population]
        for i in range(draws):
            draw = draws * cell["block"] + i
            x, y = drawn_features(population, n, draw)
            ends = []
            for deal in (FoldAssigner(), _in_turn):
                classes = torch.tensor(y)
                moments = FoldMoments(len(weights)).update(torch.tensor(x), classes, deal(classes))
                ends.append(jackknife(moments.separation(), moments.leave_one_out(), scatter="symmetric").interval)
            again = bootstrap(x, y, Stream.of("bootstrap", population, n, draw))
            ends.append(tuple(np.nanquantile(again, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])))
            low, high = np.array(ends).T
            into[:, 0, i], into[:, 1, i] = (low <= truth) & (truth <= high), high - low
    covered, width = output.mean(-1).transpose(2, 0, 1)
    return xr.Dataset(
        {"covered": (("cell", "method"), covered), "width": (("cell", "method"), width)}, {"method": list(METHODS)}
    )
