"""Features whose data separation is known, and how often the interval of D from a few of them holds it."""

from __future__ import annotations

import numpy as np
import scipy.stats
import torch
import xarray as xr

from deepmech.core.estimates import jackknife
from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.groups import GroupAssigner, GroupMoments
from deepmech.sweeps import Sweep, to_records
from deepmech_book.sweeps.policy import verification_policy

LAWS = ("normal", "heavy tails", "unequal classes")
"""Of the features; heavy tails are Student's with three degrees of freedom, which have no fourth moment."""
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


def features(
    truth: float, n: int, classes: int, draw: int, law: str = "normal", width: int = 50
) -> tuple[np.ndarray, np.ndarray]:
    """Samples of a population.

    Parameters
    ----------
    truth : D where samples are many.
    n, classes, width : number of samples, of classes and of features.
    draw : which draw; class means are drawn anew, too.
    law : one of :data:`LAWS`. Shares of ``"unequal classes"`` grow in proportion to 1, 2, … K.

    Returns
    -------
    tuple (n, width), (n,), features and labels

    Examples
    --------
    >>> x, y = features(2.0, 200, 10, draw=0)
    >>> x.shape, np.bincount(y).tolist()
    ((200, 50), [20, 20, 20, 20, 20, 20, 20, 20, 20, 20])
    """
    stream, labels = Stream.of("samples", law, n, draw), np.arange(n) % classes
    if law == "unequal classes":
        ends = np.cumsum(np.arange(1, classes + 1)) * 2 / (classes * (classes + 1))
        labels = np.searchsorted(ends, (np.arange(n) + 0.5) / n)
    share = np.bincount(labels, minlength=classes) / n
    means = stream.normal("means", 0, (classes, width))
    means -= share @ means
    means *= np.exp(-truth / 2) * np.sqrt(width / (share @ means**2).sum())
    if law == "heavy tails":
        noise = scipy.stats.t.ppf(stream.uniform("noise", 0, (n, width)), 3) / np.sqrt(3)
    else:
        noise = stream.normal("noise", 0, (n, width))
    return means[labels] + noise, labels


def coverage(blocks: int = 10, draws: int = 100) -> Sweep:
    """Intervals tried on all :data:`POPULATIONS`, in so many blocks of so many draws.

    Examples
    --------
    >>> coverage().grid.shape
    (13, 10)
    """
    cells = {"population": over("population", list(POPULATIONS)), "block": over("block", range(blocks))}
    return Sweep("coverage", "extras.coverage", cells, {"draws": draws, "truth": TRUTH})


# An interval whose end is at the truth may hold it on one processor and not on another: one draw of a hundred.
@verification_policy(tolerance={"covered": 1.1e-2, "*": 1e-6})
def try_intervals(cells: xr.Dataset, draws: int, truth: float) -> xr.Dataset:
    """Error of D, and the share of draws whose 95 % interval by the jackknife holds the truth.

    Returns
    -------
    Dataset
        Over ``cell`` and ``estimate``: ``error`` of D and its ``square``, means over the draws that have a D,
        ``covered``, and ``unresolved``, the share of draws without a D; these hold nothing.
    """
    found = np.empty((cells.sizes["cell"], len(FORMS), 3, draws))
    for into, cell in zip(found, to_records(cells), strict=True):
        law, classes, n, width = POPULATIONS[cell["population"]]
        for i in range(draws):
            x, y = map(torch.tensor, features(truth, n, classes, draws * cell["block"] + i, law, width))
            moments = GroupMoments(classes).update(x, y, GroupAssigner(stratified=True)(y))
            for form, debias in enumerate(FORMS.values()):
                value = moments.separation(debias)
                into[form, :, i] = value, *jackknife(value, moments.leave_one_out(debias), scatter="symmetric").interval
    d, low, high = np.moveaxis(found, 2, 0)
    measured = {
        "error": np.nanmean(d, -1) - truth,
        "square": np.nanmean((d - truth) ** 2, -1),
        "covered": np.mean((low <= truth) & (truth <= high), -1),
        "unresolved": np.mean(np.isnan(d), -1),
    }
    dims = ("cell", "estimate")
    return xr.Dataset({k: (dims, v) for k, v in measured.items()}, {"estimate": list(FORMS)})
