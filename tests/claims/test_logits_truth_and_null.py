"""Each claim of the page on logits tells truth from its null."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

from deepmech_book.analysis.elastic_sde import clouds

pairs = Pairs("elastic_sde/logits")
CORNERS = np.eye(3) - 1 / 3
LINE = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 1.0]])
"""Three classes on one line, the second between the others."""


def networks(rng, corners, scatter, n_trials=40, n_moments=30):
    """Single logits about a corner for each class, as a result of networks holds them."""
    label = rng.integers(3, size=(n_trials, n_moments))
    logits = corners[label] + scatter * rng.normal(size=(n_trials, n_moments, 3))
    return xr.Dataset(
        {
            "logits": (("trial", "moment", "logit"), logits),
            "label": (("trial", "moment"), label),
            "mean": (("time", "class", "logit"), np.broadcast_to(corners, (20, 3, 3))),
        },
        {"moment": 10.0 * np.arange(n_moments), "time": np.arange(20.0), "class": range(3)},
    )


@pairs.of("B.1.separate")
def separate(true, rng):
    """Clouds that are small beside their distances; of the null their classes are mixed, on one data set or on both."""
    photos = networks(rng, CORNERS, 0.15 if true else 3.0, 6, 101)
    shapes = networks(rng, CORNERS, 0.15 if true or rng.random() < 0.5 else 3.0)
    return {"networks": {"shapes": shapes, "photos": photos}, "short": photos.isel(trial=slice(6))}


@pairs.of("B.1.one_direction")
def one_direction(true, rng):
    """Small clouds; of the null at the corners of a triangle with equal sides, so large that pairs lie apart along
    their own directions, and not along one for all, which sees two of the sides at half their length."""
    corners, scatter = (LINE, 0.15) if true else (CORNERS, 0.42)
    shapes, photos = networks(rng, corners, scatter), networks(rng, corners, scatter, 6, 101)
    return {"networks": {"shapes": shapes, "photos": photos}, "long": shapes}


@pairs.of("B.1.dashed")
def dashed(true, rng):
    """Simulated medians that are those of the samples, and a constant effect that leaves them late; of the null both
    leave them."""
    t = np.linspace(0, 1, clouds.BINS)
    time = xr.DataArray(t, {"time": t}, "time")
    side = xr.DataArray([-1.0, 0.0, 1.0], {"class": ["a", "b", "c"]}, "class")
    middle, width = (5 * side * time).expand_dims(pair=["a − b"]), 0.2 + 0.5 * time
    seen = xr.Dataset({"low": middle - width, "median": middle, "high": middle + width})
    off = 5 + side
    return {
        "seen": seen,
        "simulated": middle + (0.0 if true else 1.0) * off + 0.02 * rng.normal(),
        "constant": middle + off,
    }


@pairs.of("B.text.cifar")
def photographs(true, rng):
    """Accuracy that rises above nine tenths in both cases; of the null below in one, with noise, of which the best of
    ten moments would be above."""
    ends = [0.93, 0.93] if true else rng.permutation([0.93, 0.899])
    values = np.array(ends)[:, None, None] + 0.002 * rng.normal(size=(2, 6, 10))
    coords = {"name": ["2 classes", "3 classes"], "first_seed": range(6), "iteration": np.arange(10) * 30_000}
    unseen = xr.DataArray(values, coords, ("name", "first_seed", "iteration"))
    return {"accuracy": xr.concat([unseen + 0.05, unseen], xr.Variable("set", ["training", "validation"]))}


def planes(rng, turned, across=True):
    """Class means that grow in a plane: early it has a normal of its own in each hundred iterations or the final one.

    That is (1, 1, 1) where it lies ``across``, else a direction at random.
    """
    n, time = 6000, np.arange(0.0, 6000.0, 20.0)
    final = np.ones(3) / np.sqrt(3) if across else rng.normal(size=3)
    draws = rng.normal(size=(60, 3))
    normals = np.where((np.arange(60) < 15)[:, None] & turned, draws, final)
    groups = []
    for _ in range(10):
        each = normals + 0.01 * rng.normal(size=normals.shape)
        each /= np.linalg.norm(each, axis=1, keepdims=True)
        normal = each[(time // 100).astype(int)]
        corners = CORNERS - (normal @ CORNERS.T)[:, :, None] * normal[:, None]
        groups.append((0.1 + 3 * time / n)[:, None, None] * corners)
    labels = {"time": time, "class": range(3), "logit": range(3)}
    every = xr.DataArray(np.stack(groups), labels, ("group", "time", "class", "logit"))
    loss = xr.DataArray(np.log(3) * np.linspace(1, 0.1, len(time)), {"time": time}, "time")
    return xr.Dataset({"mean": every.mean("group"), "group_mean": every.rename(time="slow_time"), "loss": loss})


@pairs.of("B.D10.early")
def turns(true, rng):
    """Of the null the plane is the final one from the start, but for noise."""
    return {"networks": planes(rng, true)}


@pairs.of("B.D10.why")
def prescribed(true, rng):
    """Of the null the final plane is any."""
    return {"networks": planes(rng, True, true)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
