"""Pairs of the page elastic_sde/corruption, and what its measures say where effects are known."""

from itertools import pairwise

import numpy as np
import runs_elastic_sde as runs
import xarray as xr

from deepmech_book.elastic_sde import corruption, readings
from deepmech_book.sweeps.elastic_sde.networks import LABEL_ERRORS
from pairs import Page

page = Page("elastic_sde/corruption")
SHARES, MODELS, T = np.array(LABEL_ERRORS), readings.MODELS, runs.T
TENTH = np.minimum(10 * T / T[-1], 1.0)
STUDENT = {n: t / n**0.5 for n, t in ((5, 2.776), (10, 2.262))}
"""Half-width of an interval over so many runs, by their scatter."""


def validated(accuracy, change):
    """Accuracy at the end, and change of the loss, by share (label_error, draw), of ten trials on each draw."""
    each = np.tile([0.05, -0.05], 5)  # trials differ, and draws have their means
    both = {}
    for name, start, end in (("accuracy", 1 / 3, accuracy), ("loss", np.log(3), np.log(3) + change)):
        ends = np.stack(np.broadcast_arrays(start, np.repeat(end, 10, 1) + np.tile(each, end.shape[1])), -1)
        ends[..., 0] += np.tile(each, end.shape[1])
        both[f"validation_{name}"] = ("label_error", "trial", "at_iteration"), ends
    both["left_out"] = "label_error", np.zeros(len(SHARES), int)
    return xr.Dataset(both, {"label_error": SHARES, "at_iteration": [0, 10_000], "group": range(accuracy.shape[1])})


def told(n, clean, at, rng):
    """Numbers by share and draw: ``clean`` without wrong labels, and at other shares these, which scatter so."""
    found = np.full((len(SHARES), n), clean)
    for share, (level, half) in at.items():
        found[np.argmin(abs(SHARES - share))] = level + half / STUDENT[n] * rng.normal(size=n)
    return found


STEPS = dict(zip(SHARES[1:], (0.0026, 0.0142, 0.0072, 0.0253, 0.0252, 0.0248, 0.0129, 0.0094, 0.0197), strict=True))


@page.pair("B.4.accuracy_falls", panels=STEPS, usual=-0.06, reach=STEPS)
def accuracy_by_steps(level, rng, rival):
    steps = [np.ones(10), *(v + STEPS[p] / STUDENT[10] * rng.normal(size=10) for p, v in level.items())]
    return {"networks": validated(np.cumsum(steps, 0), np.zeros((10, 10)))}


def accuracy_of_guessing(n, half):
    def maker(level, rng, rival):
        at = told(n, 1 / 3 if rival else 1.0, {2 / 3: (level[""], half)}, rng)
        return {"networks": validated(at, 0 * at)}

    return maker


page.pair("B.4.guessing", usual=1 / 3, expected=1 / 3)(accuracy_of_guessing(10, 0.0092))
# A fifth of the scatter that ships, by which five draws never decide it.
page.pair("B.4.guessing_long", usual=1 / 3, reach=0.01)(accuracy_of_guessing(5, 0.01))


def loss_at_three_fifths(n, half):
    def maker(level, rng, rival):
        change = told(n, 0.0 if rival else -1.1, {0.6: (level[""], half)}, rng)
        return {"networks": validated(0 * change + 0.5, change)}

    return maker


page.pair("B.4.below", usual=0.0)(loss_at_three_fifths(10, 0.0023))
page.pair("B.4.below_long", usual=0.0)(loss_at_three_fifths(5, 0.0131))


BEYOND = {2 / 3: 0.001, 0.7: 0.001, 0.8: 0.0093}


@page.pair("B.4.loss_stays", panels=BEYOND, usual=0.0, reach=BEYOND)
def loss_beyond(level, rng, rival):
    change = told(10, -1.1, {p: (v, BEYOND[p]) for p, v in level.items()}, rng)
    return {"networks": validated(0 * change + 0.5, change)}


CENTRE = np.array([0.1, -0.11, 0.01])
PART = runs.START - runs.START.mean(0)


def networks(groups, shares, **more):
    """Networks by group and share of wrong labels (group, label_error, time, class, logit)."""
    labels = {"label_error": shares, "time": T, "class": range(3), "logit": range(3)}
    every = xr.DataArray(np.stack(groups), labels, ("group", "label_error", "time", "class", "logit"))
    loss = ("label_error", "time"), np.full((len(shares), len(T)), np.log(3))
    return xr.Dataset({"mean": every.mean("group"), "group_mean": every.rename(time="slow_time"), "loss": loss})


def grown(growth):
    """Class means whose differences grow as e^g and whose mean over classes stays: Â = 2 g, B̂ = −g by the I-model."""
    return CENTRE + np.exp(np.asarray(growth))[..., None, None] * PART


LATE = (1 / np.log1p(T[-100:])).mean()


def with_index(index):
    """Growth after which the smaller index, r̂ = 1 − log(Â)/log(1 + t), is this number."""
    return 0.5 * np.exp((1 - index) / LATE) * TENTH


@page.pair("B.4c.crossing", panels=(0, 1), usual={0: 0.18, 1: 0.15}, reach={0: 0.0203, 1: 0.0422})
def indices_on_either_side(level, rng, rival):
    """Of each of ten draws, below 1 with half of the labels wrong and above it with two thirds."""
    draws = []
    for _ in range(10):
        half, most = (level[i] + r / STUDENT[10] * rng.normal() for i, r in ((0, 0.0203), (1, 0.0422)))
        draws.append([grown(with_index(1 - half)), grown(with_index(1 + most))])
    return {"networks": networks(draws, [0.5, 2 / 3]), "draws": networks(draws, [0.5, 2 / 3])}


@page.pair("B.4c.long", usual=1.1)
def index_of_guessing(level, rng, rival):
    each = level[""] + 0.0473 / STUDENT[5] * rng.normal(size=5)
    return {"networks": networks([[grown(with_index(one))] for one in each], [2 / 3])}


def fading(power):
    """Growth whose rate falls as t^−r from iteration 1,000 on, and is the same at 3,000 whatever the power."""
    return 2e-4 * np.cumsum(((1 + T.clip(1000)) / 3001) ** -power)


@page.pair("B.4c.slope", usual=2.5, reach=0.1)
def gap_that_fades(level, rng, rival):
    """Powers scatter less than what ships: of more a mean over groups has no power of its own.

    With two thirds of the labels wrong the power is 0.4, or with ``rival`` the same.
    """
    powers = level[""] + 0.1 / STUDENT[10] * rng.normal(size=10)
    groups = [[grown(fading(r)), grown(fading(r if rival else 0.4))] for r in powers]
    return {"networks": networks(groups, [0.0, 2 / 3]), "window": 201}


@page.pair("B.D2.overtakes", usual=0.665, reach=0.02, told=0.3)
def indices_change_places(level, rng, rival):
    """Â = 3 e^(a − p) and B̂ = 3 e^(p − a) by the L-model; places scatter less than what ships (0.8)."""
    margins, frame, groups = np.array([1.0, 1.3, 0.9]), 1.5 * (np.eye(3) - 1 / 3), []
    for _ in range(10):
        far = level[""] + 0.02 / STUDENT[10] * rng.normal() - SHARES
        a, b = (3 * np.exp(sign * far)[:, None, None] * TENTH[:, None] for sign in (1, -1))
        s = margins.mean() * np.exp((a - b) / 3) + (margins - margins.mean()) * np.exp((a + b / 2) / 3)
        groups.append(s[..., None] * frame)
    return {"networks": networks(groups, SHARES)}


# Differences of classes, e^g (P + h Q), of which the models read growth of their own.
Q = 0.3 * np.array([[1.0, 0.2, 0.3], [-0.5, 0.4, -0.5], [-0.5, -0.6, 0.2]])
V = np.array([[1, -1, -1], [-1, 1, -1], [-2, -2, 0]]) / 4
W = np.array([[2, -1, -1], [-1, 2, -1], [0, 0, 0]]) / 3 - 4 / 3 * V
H = np.linspace(-0.9, 0.9, 2001)
OF_I = np.log(abs(1 + H[:, None, None] * Q / PART)).mean((1, 2))
FIRST, SECOND = (np.log(abs(1 + H * (Z * Q).sum() / (Z * PART).sum())) for Z in (V, W))


def two_readings(of_i, of_l, read):
    """Class means whose differences grow by this much by the I-model, and by the other by ``read`` of the L-model's."""
    apart = read - OF_I
    order = np.argsort(apart)
    h = np.interp(of_l - of_i, apart[order], H[order])
    g = of_i - np.interp(h, H, OF_I)
    return CENTRE + np.exp(g)[..., None, None] * (PART + h[..., None, None] * Q)


FOUR = corruption.FOUR
PANELS = [(m, p) for m in MODELS for p in FOUR[1:]]


def shrinking(level, rng, size, scatter):
    """Gaps of both models over four shares by their steps from the first, ``size``; growth is a third of the gap."""
    groups = []
    for _ in range(10):
        gaps = [np.cumsum([size[m], *(level[m, p] + scatter * rng.normal() for p in FOUR[1:])]) for m in MODELS]
        groups.append(two_readings(*(np.outer(gap / 3, T / T[-1]) for gap in gaps), FIRST))
    return networks(groups, FOUR)


BEHIND = {(m, p): 0.02 * n**0.5 for m in MODELS for n, p in enumerate(FOUR[1:], 1)}


@page.pair("B.D5.shrinks", panels=BEHIND, usual=-0.2, reach=BEHIND, told=0.3)
def gaps_that_are_smaller(level, rng, rival):
    """Than that without wrong labels; each step from share to share scatters."""
    steps = {(m, p): level[m, p] - (level[m, q] if q else 0) for m in MODELS for q, p in pairwise(FOUR)}
    made = shrinking(steps, rng, dict.fromkeys(MODELS, 0.4), 0.02 / STUDENT[10])
    return {"networks": made, "long": made}


UNIT = (((CENTRE + PART) ** 2).sum(1) ** 0.5).mean() / T[-1]
"""Gap in logits per iteration of a gap of 1 at the end."""


@page.pair("B.D6.shrinks", panels=PANELS, usual=-0.02 * UNIT, reach=0.003 * UNIT, told=0.3)
def gaps_that_shrink_in_logits(level, rng, rival):
    """Logits hardly grow, so that their norm stays."""
    steps = {p: v / UNIT for p, v in level.items()}
    first = {m: 0.02 - sum(steps[m, p] for p in FOUR[1:]) for m in MODELS}
    return {"networks": shrinking(steps, rng, first, 0.003 / STUDENT[10])}


def humps(level, rng, part, half, turn):
    """Networks by an effect within classes that has this share of its maximum at the start or at the end, by model.

    Logits hardly grow, but with ``turn`` they do: they begin small, or end small.
    """
    at = T / T[-1]
    size = 0.02 if not turn else 3.0
    groups = []
    for _ in range(10):
        courses = []
        for m in MODELS:
            v = level[m] + half / STUDENT[10] * rng.normal()
            start, end = (v, 0.0) if part == "start" else (0.5, v)
            known = [start, start, 1.0, 1.0, -4.0 if turn and part == "end" else end, end, end]
            courses.append(size * np.cumsum(np.interp(at, [0, 0.08, 0.3, 0.5, 0.7, 0.85, 1], known)) / len(T))
        groups.append(np.stack([two_readings(*courses, (FIRST + 2 * SECOND) / 3)] * len(FOUR)))
    return {"networks": networks(groups, FOUR)}


@page.pair("B.D6.rises", panels=MODELS, usual=0.2, reach=0.0134, told=0.3)
def begins_small(level, rng, rival):
    return humps(level, rng, "start", 0.0134, rival)


@page.pair("B.D6.falls", panels=MODELS, usual=0.0, reach=0.058, told=0.3)
def ends_small(level, rng, rival):
    """By the L-model, too, with the scatter of the I-model: by its own, 2, nothing is known."""
    return humps(level, rng, "end", 0.058, rival)


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_effects_that_are_not_finite_give_no_number_and_say_so():
    dead = np.stack([grown(0.001 * T)] * len(FOUR))
    dead[:, 100] = [[1, 0, 0], [-2, 2, 0], [1, 0, 3]]  # the mean of the first logit, zero, has no logarithm
    made = networks([dead] * 3, FOUR)
    found = corruption.gap_fades(made, 201), corruption.begins_small(made), corruption.gap_shrinks_in_logits(made)
    for one in found:
        assert not one.measured.is_finite and one.measured.reason == corruption.TOO_FEW
