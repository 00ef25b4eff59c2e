"""Each claim of the page on wrong labels tells truth from its null."""

import numpy as np
import pytest
import runs_elastic_sde as runs
import xarray as xr
from truth_and_null import Pairs

from deepmech_book.sweeps.elastic_sde.networks import LABEL_ERRORS

pairs = Pairs("elastic_sde/corruption")
SHARES = np.array(LABEL_ERRORS)
LEARNT = 1 - 1.5 * SHARES.clip(max=2 / 3)
"""How much labels tell: all without wrong ones, nothing from two thirds on."""


def validated(rng, accuracy, change, draw=0.004):
    """Validation results by share of wrong labels, ten trials on each of ten draws.

    Accuracy at the end, and by how much the loss changes from ln 3.
    """
    shape = (len(SHARES), 100, 2)

    def over_draws(ends):
        off = np.repeat(rng.normal(0, draw, (len(SHARES), 10)), 10, axis=1) + rng.normal(0, draw, shape[:2])
        start, end = (np.asarray(one)[:, None] + off * (one is ends[1]) for one in ends)
        return ("label_error", "trial", "at_iteration"), np.stack(np.broadcast_arrays(start, end), -1)

    results = {
        "validation_accuracy": over_draws([0 * SHARES + 1 / 3, np.asarray(accuracy)]),
        "validation_loss": over_draws([0 * SHARES + np.log(3), np.log(3) + np.asarray(change)]),
        "left_out": ("label_error", np.zeros(len(SHARES), int)),
        "group": ("group", np.arange(10)),
    }
    return xr.Dataset(results, {"label_error": SHARES, "at_iteration": [0, 10_000]})


@pairs.of("B.4.accuracy_falls")
def falls(true, rng):
    """Accuracy that falls with what labels tell; of the null, in a random order of shares."""
    accuracy = 1 / 3 + 2 / 3 * LEARNT
    return {"networks": validated(rng, accuracy if true else rng.permutation(accuracy), -LEARNT)}


@pairs.of("B.4.guessing", "B.4.guessing_long")
def guessing(true, rng):
    """Of the null wrong labels make no difference, or a third of them is guessed better than by chance."""
    told = LEARNT if true else np.full(len(SHARES), rng.choice([0.1, 1.0]))
    told[0] = 1.0
    return {"networks": validated(rng, 1 / 3 + 2 / 3 * told, -told)}


@pairs.of("B.4.below", "B.4.below_long")
def below(true, rng):
    """A loss that stays from 60 % on; of the null it falls, by less than without wrong labels or as far."""
    fall = -np.where(SHARES < 0.55, LEARNT, 0 if true else rng.choice([0.15, 1.0]))
    return {"networks": validated(rng, 1 / 3 + 2 / 3 * LEARNT, fall)}


@pairs.of("B.4.loss_stays")
def stays(true, rng):
    """Of the null the loss rises at one of the shares from two thirds on."""
    change = -LEARNT
    change[rng.integers(7, 10)] += 0 if true else 0.1
    return {"networks": validated(rng, 1 / 3 + 2 / 3 * LEARNT, change)}


def grown(rng, growth, scatter=0.02, norm=1.0):
    """Networks whose class differences grow as e^g by share of wrong labels, in ten groups; means over classes stay.

    So Â = 2 g and B̂ = −g by the I-model. ``growth`` gives g over time for each share.
    """
    centre = runs.START.mean(0)
    groups = []
    for _ in range(10):
        values = [
            norm * (centre + np.exp(g * (1 + scatter * rng.normal()))[:, None, None] * (runs.START - centre))
            for g in growth
        ]
        groups.append(np.stack(values))
    dims = ("group", "label_error", "time", "class", "logit")
    labels = {"label_error": SHARES, "time": runs.T, "class": np.arange(3), "logit": np.arange(3)}
    every = xr.DataArray(np.stack(groups), labels, dims)
    loss = ("label_error", "time"), np.full((len(SHARES), len(runs.T)), np.log(3))
    return xr.Dataset({"mean": every.mean("group"), "group_mean": every.rename(time="slow_time"), "loss": loss})


def ended(ends):
    """Growth that has come to these ends after a tenth of training."""
    return [end * np.minimum(10 * runs.T / runs.T[-1], 1.0) for end in ends]


@pairs.of("B.4c.crossing")
def crossing(true, rng):
    """Â of 20 where labels tell something, and of less than 1 where they do not; of the null it is of no share's."""
    ends = np.where(SHARES < 0.6, 10.0, 0.1)
    networks = grown(rng, ended(ends if true else np.full(len(SHARES), rng.choice([10.0, 0.1]))))
    return {"networks": networks, "draws": networks}


@pairs.of("B.4c.long")
def long(true, rng):
    """Of the null networks learn from two thirds of wrong labels as well as from others."""
    return {"networks": grown(rng, ended(np.where((0.6 if true else 1.0) > SHARES, 10.0, 0.1)))}


@pairs.of("B.4c.slope")
def slope(true, rng):
    """Gaps that fade as t^−0.5; of the null as t^−2, whatever the share. Where nothing is learnt they stay small."""
    r = 0.5 if true else 2.0
    integral = ((1 + runs.T) ** (1 - r) - 1) / (1 - r)
    fast = 1 - 1 / (1 + runs.T / 100) ** 2
    growth = [0.03 * integral if p < 0.6 else 0.03 * fast for p in SHARES] if true else [0.3 * integral for _ in SHARES]
    return {"networks": grown(rng, growth, 0.05), "window": 201}


def by_l_model(rng, intra, inter):
    """Networks of the L-model whose Â and B̂ end at these numbers by share of wrong labels."""
    margins = np.array([[1.0, 1.3, 0.9]])
    share = np.minimum(10 * runs.T / runs.T[-1], 1.0)[:, None]
    groups = []
    for _ in range(10):
        rows = []
        for a, b in zip(intra, inter, strict=True):
            a, b = (end * (1 + 0.01 * rng.normal()) for end in (a, b))
            mean = margins.mean()
            s = mean * np.exp((a - b) / 3 * share) + (margins - mean) * np.exp((a + b / 2) / 3 * share)
            rows.append(s[:, :, None] * 1.5 * (np.eye(3) - 1 / 3))
        groups.append(np.stack(rows))
    dims = ("group", "label_error", "time", "class", "logit")
    labels = {"label_error": SHARES, "time": runs.T, "class": np.arange(3), "logit": np.arange(3)}
    every = xr.DataArray(np.stack(groups), labels, dims)
    return xr.Dataset({"mean": every.mean("group"), "group_mean": every.rename(time="slow_time")})


@pairs.of("B.D2.overtakes")
def overtakes(true, rng):
    """The larger effect is that within classes up to two thirds of wrong labels; of the null up to another share."""
    at = 0.65 if true else rng.choice([0.25, 0.45, 0.77])
    small, large = np.full(len(SHARES), 2.0), np.full(len(SHARES), 4.0)
    return {"networks": by_l_model(rng, np.where(at > SHARES, large, small), np.where(at > SHARES, small, large))}


@pairs.of("B.D5.shrinks")
def shrinks(true, rng):
    """Gaps that shrink with what labels tell; of the null, in a random order of shares."""
    ends = 4.0 - 4 * SHARES if true else 4.0 - 4 * SHARES[::-1]
    networks = grown(rng, ended(ends))
    return {"networks": networks, "long": networks}


@pairs.of("B.D6.shrinks")
def shrinks_in_logits(true, rng):
    """As B.D5.shrinks, of growth without end, which the mean gap in logits sees."""
    ends = 2.0 - 2 * SHARES if true else 2.0 - 2 * SHARES[::-1]
    return {"networks": grown(rng, [end * runs.T / runs.T[-1] for end in ends])}


@pairs.of("B.D6.rises", "B.D6.falls")
def rises_and_falls(true, rng):
    """Logits that hardly grow, by an effect that rises and falls; of the null by a constant one."""
    effect = runs.hump(0.4) if true else np.ones(len(runs.T))
    growth = 0.3 * np.cumsum(effect) / effect.sum()
    return {"networks": grown(rng, [growth] * len(SHARES))}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
