"""Laws of intervals: sums by group are the whole, leaving out leaves out, and intervals cover as often as they say."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.estimates import jackknife
from deepmech.core.random import Stream
from deepmech.metrics.groups import Deal, GroupMoments
from deepmech.metrics.separation import data_separation

seeds = st.integers(0, 2**31)


def blobs(seed, n=90, d=5, classes=4, distance=2.0, offset=0.0):
    s = Stream.of("test intervals", seed)
    y = np.concatenate([np.arange(classes), (s.uniform("labels", 0, n - classes) ** 2 * classes).astype(int)])
    x = s.normal("x", 0, (n, d)) + distance * s.normal("means", 0, (classes, d))[y] + offset
    return torch.tensor(x), torch.tensor(y)


def grouped(x, y, groups=6, cuts=(), classes=4):
    moments, deal = GroupMoments(classes, groups), Deal(groups)
    for rows in np.split(np.arange(len(y)), sorted(cuts)):
        moments.update(x[rows], y[rows], deal(y[rows]))
    return moments


# --- moments by group -------------------------------------------------------------------------------------------------


@given(seeds, st.lists(st.integers(0, 90), max_size=5), st.sampled_from([0.0, 1e6]), st.booleans())
def test_groups_are_the_whole_and_leave_out_what_they_say(seed, cuts, offset, debias):
    """D of the sums is D of the samples, without group g that of those not in g, without class k of the others."""
    x, y = blobs(seed, offset=offset)
    moments, group = grouped(x, y, cuts=cuts), Deal(6)(y)
    assert moments.separation(debias) == pytest.approx(data_separation(x, y.numpy(), debias=debias), abs=1e-7)
    for g, left in enumerate(moments.without(debias)):
        rest = group != g
        assert len(y[rest].unique()) < 4 or left == pytest.approx(
            data_separation(x[rest], y[rest].numpy(), debias=debias), abs=1e-7
        )
    for k, left in enumerate(moments.without(debias, "classes")):
        rest = y != k
        others = torch.unique(y[rest], return_inverse=True)[1].numpy()
        assert left == pytest.approx(data_separation(x[rest], others, debias=debias), abs=1e-7, nan_ok=True)


@given(seeds, st.integers(0, 90))
def test_parts_merge_to_the_whole_whatever_their_numbering(seed, cut):
    x, y = blobs(seed)
    places = torch.tensor([2, 0, 3, 1])
    one, two = grouped(x[:cut], y[:cut]), GroupMoments(4, 6)
    back = places.argsort()
    two.update(x[cut:], back[y[cut:]], Deal(6)(y[cut:]))
    one.merge(two, places)
    assert one.separation() == pytest.approx(grouped(x, y).separation(), abs=1e-9)
    assert one.count.sum() == len(y)


def test_a_wide_layer_joins_its_groups(monkeypatch):
    """With room for some groups only there are as many as divide the number asked for; with none left, no interval."""
    x, y = blobs(0)
    size = 4 * 5 * 8
    whole = grouped(x, y, 12)
    for room, groups in ((12, 12), (7, 6), (3, 3), (2, 1)):
        monkeypatch.setattr("deepmech.metrics.groups._LARGEST", room * size)
        few = grouped(x, y, 12, cuts=[3, 50])
        assert few.groups == groups and few.separation() == pytest.approx(whole.separation(), abs=1e-12)
        joined = whole if groups == 12 else grouped(x, y, 12)
        if groups > 1:
            monkeypatch.setattr("deepmech.metrics.groups._LARGEST", 2**28)
            joined = grouped(x, y, 12)
            joined.join(groups)
            np.testing.assert_allclose(few.without(), joined.without(), atol=1e-9)
    monkeypatch.undo()
    late = GroupMoments(2, 12).update(x[:2], torch.tensor([0, 1]), torch.tensor([0, 1]))
    late.grow(4)
    late.update(x[2:], y[2:], Deal(12)(y[2:]))
    assert late.count.shape == (12, 4)


def test_a_deal_is_even_and_does_not_mind_batches():
    s = Stream.of("test deal", 0)
    y = torch.tensor((s.uniform("labels", 0, 1000) ** 2 * 30).astype(int))
    whole, parts, deal = Deal(20)(y), [], Deal(20)
    for batch in y.split(37):
        parts.append(deal(batch))
    assert torch.equal(torch.cat(parts), whole)
    table = torch.bincount(y * 20 + whole, minlength=600).reshape(30, 20)
    assert (table.max(1).values - table.min(1).values).max() <= 1  # within each class
    assert whole.bincount().min() > 30  # and not all remainders in the same group


# --- coverage ---------------------------------------------------------------------------------------------------------

#: Samples of each class, features, degrees of freedom of Student's t (None: normal), distance of class means.
POPULATIONS = {
    "two classes, few samples": ([15] * 2, 10, None, 1.0),
    "two classes, many samples": ([400] * 2, 10, None, 1.0),
    "ten classes, few samples": ([6] * 10, 10, None, 1.0),
    "ten classes": ([40] * 10, 10, None, 1.0),
    "fifty classes": ([4] * 50, 20, None, 1.0),
    "unequal classes": ([200, 60, 20, 6], 10, None, 1.0),
    "heavy tails": ([60] * 10, 10, 5, 1.0),
    "more features than samples": ([6] * 10, 300, None, 0.5),
}


def population(name, draws):
    """Draws of a population's samples, their labels, and its D."""
    sizes, d, freedom, distance = POPULATIONS[name]
    s, y = Stream.of("test coverage", name), np.repeat(np.arange(len(sizes)), sizes)
    means = distance * s.normal("means", 0, (len(sizes), d))
    x = s.normal("noise", 0, (draws, len(y), d))
    if freedom is not None:
        squares = (s.normal("squares", 0, (draws, len(y), d, freedom)) ** 2).sum(-1)
        x = x / np.sqrt(squares / freedom) * np.sqrt((freedom - 2) / freedom)
    p = np.array(sizes) / len(y)
    between = p @ ((means - p @ means) ** 2).sum(1)
    return torch.tensor(means[y] + x), torch.tensor(y), np.log(d) - np.log(between)


@pytest.mark.parametrize("name", POPULATIONS)
def test_intervals_cover_the_populations_separation(name):
    """In 95 of 100 draws, but for what so many may be off by; the plain form, whose bias no interval sees, less."""
    draws = 300
    x, y, true = population(name, draws)
    group = Deal(20)(y)
    hits = {True: 0, False: 0}
    for one in x:
        moments = GroupMoments(int(y.max()) + 1, 20).update(one, y, group)
        for debias in hits:
            low, high = jackknife(moments.separation(debias), moments.without(debias), scatter="symmetric").interval
            hits[debias] += low <= true <= high
    slack = 3 * np.sqrt(0.95 * 0.05 / draws)
    assert 0.95 - slack - 0.015 <= hits[True] / draws <= 0.95 + slack
    assert hits[False] <= hits[True] + slack * draws


def test_intervals_over_classes_cover_what_other_classes_give():
    """K classes drawn from many: their D scatters with K, not with n."""
    draws, classes, per_class, d = 300, 20, 10, 10
    s = Stream.of("test coverage", "classes")
    y = torch.arange(classes * per_class) % classes
    x = torch.tensor(s.normal("means", 0, (draws, classes, d)))[:, y] + torch.tensor(
        s.normal("x", 0, (draws, len(y), d))
    )
    true, hits, narrow = -np.log(1 - 1 / classes), 0, 0
    for one in x:
        moments = GroupMoments(classes, 20).update(one, y, Deal(20)(y))
        for over in ("classes", "samples"):
            ends = jackknife(moments.separation(), moments.without(over=over), scatter="symmetric").interval
            hit = ends[0] <= true <= ends[1]
            hits, narrow = (hits + hit, narrow) if over == "classes" else (hits, narrow + hit)
    assert 0.9 < hits / draws < 0.99 and narrow < 0.85 * draws
