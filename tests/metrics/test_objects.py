"""Laws of groups: objects seen several times count as one."""

import warnings

import numpy as np
import pytest
import scipy.stats
import torch
from example_networks import mlp
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.estimates import jackknife
from deepmech.core.random import Stream
from deepmech.metrics.evaluation import closeness
from deepmech.metrics.folds import FoldAssigner, FoldMoments
from deepmech.metrics.interpret import compare, estimate, interpret, leave_one_out
from deepmech.metrics.load_curve import CLUSTERED, LoadCurve, PartialWarning, load_curve
from deepmech.metrics.separation import data_separation

CLASSES, D = 5, 6
EVEN = np.ones(CLASSES)
seeds = st.integers(0, 2**31)


def objects(draw, n=200, noise=0.0, truth=1.0, views=None, shares=EVEN):
    """Samples of n objects, each seen 1 to 5 times (or ``views``), with noise of the single view: D is ``truth``."""
    s, shares = Stream.of("test units", n, draw), shares / shares.sum()
    y = np.searchsorted(shares.cumsum(), s.uniform("labels", 0, n) * (1 - 1e-12))
    means = s.normal("means", 0, (CLASSES, D))
    means -= shares @ means
    means *= np.exp(-truth / 2) * np.sqrt(D * (1 + noise**2) / (shares @ means**2).sum())
    seen = 1 + (s.uniform("views", 0, n) * 5).astype(int) if views is None else np.full(n, views)
    unit = np.repeat(np.arange(n), seen)
    x = (means[y] + s.normal("objects", 0, (n, D)))[unit] + noise * s.normal("noise", 0, (len(unit), D))
    return torch.tensor(x), torch.tensor(y[unit]), unit


def measured(x, y, group=None):
    return FoldMoments(CLASSES, 20, group is not None).update(x, y, FoldAssigner()(y, group))


def interval(moments):
    return jackknife(moments.separation(), moments.leave_one_out(), scatter="symmetric")


@pytest.mark.parametrize("times", [2, 5])
def test_objects_seen_several_times_count_once(times):
    """With groups everything is as if each had been seen once; without them intervals are too narrow, by the root."""
    narrow = []
    for draw in range(12):
        x, y, unit = objects(draw, views=1)
        once = measured(x, y, unit)
        again = [torch.tensor(x.numpy().repeat(times, 0)), y.repeat_interleave(times)]
        more = measured(*again, unit.repeat(times))
        assert more.separation() == pytest.approx(once.separation(), abs=1e-9)
        np.testing.assert_allclose(more.leave_one_out(), once.leave_one_out(), atol=1e-9)
        blind = measured(*again)
        narrow.append((interval(blind).high - interval(blind).low) / (interval(once).high - interval(once).low))
    # Deals of twenty folds scatter: of a ratio by a fifth or so.
    assert np.mean(narrow) == pytest.approx(times**-0.5, rel=0.18)


def test_groups_of_single_samples_are_samples():
    """Noise from sums of folds is that from samples, up to a small part of the interval."""
    for draw in range(10):
        x, y, unit = objects(draw, views=1)
        found = interval(measured(x, y, unit))
        known = data_separation(x, y.numpy(), debias=True)
        assert abs(found.value - known) < 0.1 * (found.high - found.low)


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("n", [100, 400])
def test_intervals_of_groups_cover_and_debiased_separation_is_right_on_average(noise, n):
    """However often each is seen, and however unlike its views are; shares of classes are unequal."""
    draws, hits, values = 150, np.zeros((2, 150)), np.empty((2, 150))
    for draw in range(draws):
        x, y, unit = objects(draw, n, noise, shares=np.arange(1.0, 6))
        for i, units in enumerate((unit, None)):
            found = interval(measured(x, y, units))
            hits[i, draw], values[i, draw] = found.low <= 1 <= found.high, found.value
    covered, blind = hits.mean(1)
    assert 0.93 - 2 * np.sqrt(0.07 * 0.93 / draws) < covered < 0.97 + 2.5 * np.sqrt(0.03 * 0.97 / draws)
    assert blind < 0.87
    off = values.mean(1) - 1
    error = values[0].std() / np.sqrt(draws)
    assert abs(off[0] - values[0].var() / 2) < 4 * error and off[1] < off[0] - 0.005


def test_an_object_may_have_samples_of_every_class():
    """Of speakers who say every word, what is a speaker's own moves all class means alike, and not Σ_b."""
    draws, own = 100, 2.0
    s, values = Stream.of("test crossed units", 0), {"units": [], "samples": []}
    for draw in range(draws):
        speakers = own * s.normal("speakers", draw, (60, D))
        means = s.normal("means", 0, (CLASSES, D))
        unit, y = np.repeat(np.arange(60), CLASSES), np.tile(np.arange(CLASSES), 60)
        x = torch.tensor(means[y] + speakers[unit] + 0.5 * s.normal("noise", draw, (len(y), D)))
        values["units"].append(measured(x, torch.tensor(y), unit).separation())
        values["samples"].append(measured(x, torch.tensor(y)).separation())
    truth = np.log(D * (own**2 + 0.25) / (means - means.mean(0)).var(0).sum())
    error = np.std(values["units"]) / np.sqrt(draws)
    assert abs(np.mean(values["units"]) - truth) < 4 * error < np.mean(values["samples"]) - truth


@given(seeds, st.lists(st.integers(0, 90), max_size=5))
def test_folds_do_not_mind_batches_and_no_group_is_split(seed, cuts):
    s = Stream.of("test deal of units", seed)
    unit = (30 * s.uniform("units", 0, 90)).astype(int)
    y = torch.tensor(unit % CLASSES)
    names = np.array([f"object {u}" for u in unit])
    whole, deal = FoldAssigner(7)(y, unit), FoldAssigner(7)
    parts = [deal(y[rows], names[rows]) for rows in np.split(np.arange(90), sorted(cuts))]
    assert torch.equal(torch.cat(parts), whole) and deal.seen.sum() == len(np.unique(unit)) == len(deal.fold_of)
    for u in np.unique(unit):
        assert len(whole[torch.tensor(unit == u)].unique()) == 1


# --- curves -----------------------------------------------------------------------------------------------------------

X, Y, U = objects(1, 120)
X, Y = torch.cat([X, X[:, :2]], 1).float(), Y.numpy()
NAMES = np.array([f"object {u}" for u in U])
BATCHES = [(X[i : i + 40], torch.tensor(Y[i : i + 40]), torch.tensor(U[i : i + 40])) for i in range(0, len(Y), 40)]
SOURCES = {
    "arrays": ((X, Y), {"groups": U}),
    "words": ((X, Y), {"groups": NAMES}),
    "list": ((X, Y), {"groups": NAMES.tolist()}),
    "by name": (({"input": X, "y": Y, "patient": U},), {"groups": "patient"}),
    "dicts": (([{"input": x, "y": y, "patient": u} for x, y, u in BATCHES],), {"groups": "patient"}),
}


def net(seed=0):
    return mlp(3, classes=CLASSES, seed=seed)


@pytest.mark.parametrize("name", SOURCES)
def test_groups_come_in_any_source(name):
    source, how = SOURCES[name]
    curve, expected = load_curve(net(), *source, **how), load_curve(net(), X, Y, groups=U)
    np.testing.assert_allclose(curve, expected, atol=1e-5)
    np.testing.assert_allclose(leave_one_out(curve), leave_one_out(expected), atol=1e-5)
    assert curve.attrs["n_groups"] == 120 and (estimate(curve).low < curve).all()
    assert curve.attrs["ceiling"] < load_curve(net(), X, Y).attrs["ceiling"]


def test_groups_are_drawn_with_their_samples():
    some = load_curve(net(), X, Y, groups=U, n_samples=150)
    assert some.attrs["taken"] == f"drawn from {len(Y)}" and 60 < some.attrs["n_groups"] < 120


def test_curves_of_other_groups_are_not_paired():
    curves = {"a": load_curve(net(), X, Y, groups=U), "b": load_curve(net(1), X, Y, groups=U)}
    assert compare(curves).attrs["paired"] == 1
    assert compare(curves | {"b": load_curve(net(1), X, Y)}).attrs["paired"] == 0
    with pytest.raises(ValueError, match="in the same way"):
        compare(curves | {"b": load_curve(net(1), X, Y, groups=U, debias=False)})


@pytest.mark.parametrize(
    ("source", "how", "words"),
    [
        ((X, Y), {"groups": U[:-1]}, f"{len(U) - 1} groups of {len(U)} samples"),
        ((X, Y), {"groups": U + 0.5}, "groups has type float64"),
        ((X, Y), {"groups": X}, "groups has shape"),
        ((X, Y), {"groups": 20}, "groups = 20: must be the object of each sample; n_folds=20 deals samples"),
        ((BATCHES,), {"groups": U}, "groups = .*: must be the name of their entry in batches that are dicts"),
        ((BATCHES,), {"groups": "patient"}, r"a batch is a tuple: let it be \(x, y\), or a dict if entries have names"),
        (([{"input": X, "y": Y}],), {"groups": "patient"}, "no 'patient' among input, y: name the entry.*groups='…'"),
        (([{"input": x, "y": y, "u": u[:-1]} for x, y, u in BATCHES],), {"groups": "u"}, "39 groups of 40 samples"),
        ((X, Y), {"groups": U, "n_folds": 1}, "n_folds = 1: must be two or more, since sampling noise of groups"),
    ],
)
def test_what_cannot_be_is_named_with_the_remedy(source, how, words):
    with pytest.raises(ValueError, match=words):
        load_curve(net(), *source, **how)


def test_groups_are_given_with_all_samples_or_with_none():
    metric = LoadCurve(net()).update(X, Y, groups=U)
    with pytest.raises(ValueError, match="groups of some samples only"):
        metric.update(X, Y)


def test_one_feature_that_carries_a_layer_is_reported_and_a_pool_counts_all_alike():
    """A feature of size 1e6 has all of the variance; D is then D of it."""
    s = Stream.of("test one large feature", 0)
    y = np.arange(400) % CLASSES
    x = (s.normal("x", 0, (400, 12)) + 2 * s.normal("means", 0, (CLASSES, 12))[y]).astype(np.float32)
    model = torch.nn.Sequential(*(layer for _ in range(3) for layer in (torch.nn.Identity(), torch.nn.ReLU())))
    layers = ["input", "1", "3", "5"]
    usual = load_curve(model, x, y, layers)
    assert (usual.largest_share < 0.4).all() and (usual.features == 12).all() and not interpret(usual).dominated
    x[:, 3] = 1e6 * s.normal("large", 0, 400)
    large = load_curve(model, x, y, layers)
    assert (large.largest_share > 0.99).all() and interpret(large).dominated == tuple(layers)
    assert "One feature has more than half of the variance at 'input', '1'" in str(interpret(large))
    how = {"layers": layers, "pool": lambda h: h / h.std(0)}
    alike = load_curve(model, x, y, **how)
    assert abs(alike - load_curve(model, x[:, np.arange(12) != 3], y, **how)).max() < 0.4
    assert not interpret(alike).dominated


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.25])
def test_views_of_few_objects_that_nobody_named_are_seen(noise):
    s, views = Stream.of("views"), np.arange(240) % 40
    y = views % 4
    x = s.normal("objects", 0, (40, 8))[views] + noise * s.normal("views", 0, (240, 8))
    with pytest.warns(PartialWarning, match="several views of one object, intervals are too narrow.*groups="):
        load_curve(net(), x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_curve(net(), x, y, groups=views)


@pytest.mark.parametrize("law", ["normal", "heavy tails", "a scale a sample", "on a surface"])
def test_independent_samples_are_no_views(law):
    s = Stream.of(law)
    for draw in range(40):
        x, y = s.normal("x", draw, (256, 12)), (4 * s.uniform("y", draw, 256)).astype(int)
        if law == "heavy tails":
            x = scipy.stats.t.ppf(scipy.stats.norm.cdf(x), 2)
        elif law == "a scale a sample":
            x = x * np.exp(s.normal("scale", draw, (256, 1)))
        elif law == "on a surface":
            x = np.tanh(x[:, :2] @ s.normal("surface", draw, (2, 12)))
        assert closeness(torch.tensor(x), y) > CLUSTERED
