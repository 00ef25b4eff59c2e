"""Laws of intervals: sums by fold are the whole, leaving out leaves out, and intervals cover as often as they say."""

import numpy as np
import pytest
import torch
import xarray as xr
from example_networks import mlp
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.estimates import jackknife
from deepmech.core.estimates import leave_one_out as leave_one_out_means
from deepmech.core.random import Stream
from deepmech.metrics.curvature import curvature
from deepmech.metrics.folds import FoldAssigner, FoldMoments
from deepmech.metrics.interpret import band, compare, estimate, interpret, leave_one_out
from deepmech.metrics.load_curve import load_curve
from deepmech.metrics.separation import data_separation
from deepmech_book.beyond.experiments import experiment
from deepmech_book.sweeps.extras import coverage
from deepmech_book.sweeps.shipped import result

seeds = st.integers(0, 2**31)


def blobs(seed, n=90, d=5, classes=4, distance=2.0, offset=0.0):
    s = Stream.of("test intervals", seed)
    y = np.concatenate([np.arange(classes), (s.uniform("labels", 0, n - classes) ** 2 * classes).astype(int)])
    x = s.normal("x", 0, (n, d)) + distance * s.normal("means", 0, (classes, d))[y] + offset
    return torch.tensor(x), torch.tensor(y)


def dealt(x, y, folds=6, cuts=(), classes=4):
    moments, deal = FoldMoments(classes, folds), FoldAssigner(folds)
    for rows in np.split(np.arange(len(y)), sorted(cuts)):
        moments.update(x[rows], y[rows], deal(y[rows]))
    return moments


# --- moments by fold -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_torch_adds_what_the_compiled_loop_adds(dtype, tolerance, monkeypatch):
    """On other devices torch's functions do what the loop does on the processor, which takes wide rows by fold."""
    x, y = blobs(3, n=60, d=2200, offset=5.0)
    x = x.to(dtype)
    compiled = dealt(x.T.contiguous().T, y)
    monkeypatch.setattr(FoldMoments, "_add", FoldMoments._add_on_device)
    by_torch = dealt(x, y)
    for name in ("count", "anchor", "sum", "square", "feature_square"):
        torch.testing.assert_close(getattr(by_torch, name), getattr(compiled, name), rtol=tolerance, atol=tolerance)


@given(seeds, st.lists(st.integers(0, 90), max_size=5), st.sampled_from([0.0, 1e6]), st.booleans())
def test_folds_are_the_whole_and_leave_out_what_they_say(seed, cuts, offset, debias):
    """D of the sums is D of the samples, without fold g that of those not in g."""
    x, y = blobs(seed, offset=offset)
    moments, fold = dealt(x, y, cuts=cuts), FoldAssigner(6)(y)
    assert moments.separation(debias) == pytest.approx(data_separation(x, y.numpy(), debias=debias), abs=1e-7)
    for g, left in enumerate(moments.leave_one_out(debias)):
        rest = fold != g
        assert len(y[rest].unique()) < 4 or left == pytest.approx(
            data_separation(x[rest], y[rest].numpy(), debias=debias), abs=1e-7
        )


@pytest.mark.parametrize(("room", "folds"), [(12, 12), (7, 6), (3, 3), (2, 1)])
def test_a_wide_layer_joins_its_folds(monkeypatch, room, folds):
    """With room for some folds only there are as many as divide the number asked for; with none left, no interval."""
    x, y = blobs(0)
    joined = dealt(x, y, 12)
    joined.coarsen(folds)
    monkeypatch.setattr("deepmech.metrics.folds._LARGEST", room * 4 * 5 * 8)
    few = dealt(x, y, 12, cuts=[3, 50])
    assert few.n_folds == folds and few.separation() == pytest.approx(joined.separation(), abs=1e-12)
    np.testing.assert_allclose(few.leave_one_out(), joined.leave_one_out(), atol=1e-9)


def test_a_layer_beyond_memory_is_named_with_the_remedy(monkeypatch):
    x, y = samples(20)
    monkeypatch.setattr("deepmech.core.specs.total_memory", lambda: 40 * 4 * 12 - 1)
    with pytest.raises(ValueError, match=r"layer 'input': sums of 4 classes of 12 features take .* pool=mean_pool"):
        load_curve(networks(), x, y)


def test_a_deal_is_even_and_minds_neither_batches_nor_classes():
    """Folds are those of the running number."""
    s = Stream.of("test deal", 0)
    y = torch.tensor((s.uniform("labels", 0, 1000) ** 2 * 30).astype(int))
    whole, deal = FoldAssigner(20)(y), FoldAssigner(20)
    assert torch.equal(torch.cat([deal(batch) for batch in y.split(37)]), whole)
    assert torch.equal(FoldAssigner(20)(y.flip(0)), whole)
    counts = FoldAssigner(20)(torch.zeros(100_000, dtype=torch.int64)).bincount(minlength=20)
    assert 5 < ((counts - 5000) ** 2 / 5000).sum() < 45  # chi-squared of 19 degrees of freedom


# --- coverage ---------------------------------------------------------------------------------------------------------


def test_intervals_cover_the_populations_separation():
    """Of normal features in about 95 of 100 draws or more; the plain form, whose bias no interval sees, less often.

    Not where features have no fourth moment, and D no variance: there the debiased form only does better.
    """
    found, draws = result(experiment("coverage")), 1000
    mean = found.mean("block")
    light = [name for name in coverage.POPULATIONS if "tails" not in name]
    plain, debiased = (mean["covered"].sel(estimate=form, drop=True) for form in coverage.FORMS)
    assert debiased.sel(population=light).min() > 0.95 - 3 * np.sqrt(0.95 * 0.05 / draws)
    assert (plain <= debiased).all() and plain.min() == 0
    scatter = np.sqrt(mean["square"] - mean["error"] ** 2)
    off = mean["error"].sel(estimate="debiased") - scatter.sel(estimate="debiased") ** 2 / 2
    assert (abs(off.sel(population=light)) < 4 * scatter.sel(estimate="debiased") / np.sqrt(draws)).all()
    assert (mean["error"].sel(estimate="plain") < 0).all() and (mean["unresolved"] == 0).all()


def test_of_three_ways_to_an_interval_one_covers_in_every_population():
    """Groups dealt class by class see no scatter of shares; bootstrapped numbers lie about plain D."""
    covered = result(experiment("coverage-drawn")).covered.mean("block")
    at_random, in_turn, bootstrapped = (covered.sel({"method": one}, drop=True) for one in coverage.METHODS)
    assert (at_random > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 100)).all()
    assert (in_turn.sel(population="two classes, 98 to 2", samples=[2000, 20_000]) < 0.7).all()
    assert (bootstrapped.sel(population="fifty classes", samples=[500, 2000]) == 0).all()


SHARES = {"Zipf": 1 / np.arange(1, 11.0), "98 to 2": np.array([0.98, 0.02]), "far classes": np.ones(10)}


@pytest.mark.parametrize("n", [500, 20_000])
@pytest.mark.parametrize("law", SHARES)
def test_intervals_cover_where_labels_are_drawn_with_the_samples_and_no_less_where_they_are_chosen(law, n):
    """Also of a source that is sorted by class."""
    share, draws, d, truth = SHARES[law] / SHARES[law].sum(), 200, 5, -3.0 if law == "far classes" else 1.0
    s, hits = Stream.of("test coverage of drawn labels", law, n), np.zeros((2, draws))
    chosen = np.repeat(np.arange(len(share)), np.rint(share * n).astype(int))
    for into, draw in np.ndindex(2, draws):
        y = chosen if into else np.searchsorted(share.cumsum(), s.uniform("labels", draw, n) * (1 - 1e-12))
        y = np.sort(y) if draw % 2 else y
        means, shares = s.normal("means", draw, (len(share), d)), np.bincount(y) / len(y) if into else share
        means -= shares @ means
        means *= np.exp(-truth / 2) * np.sqrt(d / (shares @ means**2).sum())
        x, y = torch.tensor(means[y] + s.normal("noise", draw, (len(y), d))), torch.tensor(y)
        moments = FoldMoments(len(share)).update(x, y, FoldAssigner()(y))
        found = jackknife(moments.separation(), moments.leave_one_out(), scatter="symmetric")
        hits[into, draw] = found.low <= truth <= found.high
    low, high = 0.93 - 2 * np.sqrt(0.07 * 0.93 / draws), 0.97 + 2 * np.sqrt(0.03 * 0.97 / draws)
    assert low < hits[0].mean() < high and low < hits[1].mean()


def measured(values, folds):
    """A curve as load_curve returns it: its values, and those without each fold."""
    names = [f"layer{i}" for i in range(len(values))]
    coords = {"layer": names, "depth": ("layer", np.arange(len(values)))}
    rows = np.ravel([values, *folds]).tolist()
    return xr.DataArray(values, coords, "layer", attrs={"jackknife": rows, "layers": len(values)})


def noisy_curves(truth, draws, correlation, n=20, error=0.1):
    """Curves about ``truth`` whose layers scatter together, from the means of ``n`` folds."""
    s, layers = Stream.of("test curves", round(10 * correlation)), len(truth)
    root = np.linalg.cholesky(correlation + (1 - correlation) * np.eye(layers))
    for draw in range(draws):
        means = truth + np.sqrt(n) * error * s.normal("groups", draw, (n, layers)) @ root.T
        yield measured(means.mean(0), leave_one_out_means(means))


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_a_band_holds_all_layers_at_once(correlation):
    """In 95 of 100 draws, where intervals layer by layer hold them less often. Of one layer both are the same."""
    truth, held, apart = np.linspace(3, 0, 8), [], []
    for curve in noisy_curves(truth, 150, correlation):
        for into, found in ((held, band(curve)), (apart, estimate(curve))):
            into.append(bool(((found.low <= truth) & (truth <= found.high)).all()))
    assert 0.90 < np.mean(held) < 0.99 and np.mean(apart) < np.mean(held) - 0.03
    one = measured(curve.values[:1], leave_one_out(curve).values[:, :1])
    np.testing.assert_allclose(band(one).high, estimate(one).high, atol=0.02)


@pytest.mark.parametrize("truth", [np.linspace(3, 0, 8), np.array([3, 2.9, 2.5, 1.5, 1.2, 0.1, 0.05, 0.0])])
def test_the_layer_that_does_most_is_among_the_rivals_and_no_layer_rises_that_falls(truth):
    most, named, risen = (truth[:-1] - truth[1:]).argmax() + 1, 0, 0
    draws = 120
    for curve in noisy_curves(truth, draws, 0.5):
        said = interpret(curve)
        named += f"layer{most}" in (said.largest, *said.rivals)
        risen += bool(said.rising)
    assert named / draws > 0.9 and risen / draws < 0.1
    surely = next(iter(noisy_curves(np.array([3.0, 2.9, 5.0, 0.0]), 1, 0.5)))
    assert interpret(surely).rising == ("layer2",) and interpret(surely).rivals == ()


def test_a_fall_that_chance_may_make_has_no_shape_and_a_sure_one_has():
    """The interval of the fall decides, also where the curvature alone would have a word."""
    truth = np.array([0.0, -0.02, -0.15, -1.0])
    for scale, verdict in ((0.2, "no shape"), (5.0, "lazy")):
        said = [interpret(curve) for curve in noisy_curves(scale * truth, 60, 0.0)]
        assert np.mean([one.verdict == verdict for one in said]) > 0.5
        fall = [one for one in said if one.verdict != "not falling"]
        assert all((one.fall_interval[0] <= 0) == (one.verdict == "no shape") for one in fall)
        held = np.mean([one.fall_interval[0] <= scale <= one.fall_interval[1] for one in said])
        assert held > 0.85 and f"{said[0].fall:.3g} nats [" in str(said[0])


@pytest.mark.parametrize("lost", [-np.inf, np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_the_finite_part_of_a_curve_is_read(place, lost):
    whole = next(iter(noisy_curves(np.array([4.0, 3.8, 3.2, 2.0]), 1, 0.5)))
    values, folds = (np.insert(a, place, lost, axis=-1) for a in (whole.values, leave_one_out(whole).values))
    said, expected = interpret(measured(values, folds)), interpret(whole)
    assert (said.verdict, said.curvature, said.interval) == (expected.verdict, expected.curvature, expected.interval)
    assert said.collapsed == (f"layer{place}",) and f"not finite at 'layer{place}'" in str(said)
    assert interpret(values).verdict == interpret(whole.values).verdict


def test_a_layer_too_wide_for_folds_loses_its_interval_alone_and_the_reading_says_so(monkeypatch):
    x, y = samples(200)
    wide = torch.nn.Sequential(torch.nn.Linear(12, 300), torch.nn.ReLU(), *mlp(2, width=300, classes=4)[2:])
    model = torch.nn.Sequential(*wide, torch.nn.Linear(4, 12), torch.nn.ReLU(), torch.nn.Linear(12, 4))
    whole = load_curve(model, x, y)
    monkeypatch.setattr("deepmech.metrics.folds._LARGEST", 2 * 4 * 300 * 4)
    curve = load_curve(model, x, y)
    wide = [name for name in curve.layer.values if name in curve.attrs["no_interval"].split(", ")]
    assert 0 < len(wide) < curve.size and "no_interval" not in whole.attrs
    found = estimate(curve)
    for name in curve.layer.values:
        assert np.isfinite(found.low.sel(layer=name)) == (name not in wide)
    assert f"no interval at '{wide[0]}'" in str(interpret(curve)) and interpret(curve).verdict != "too few samples"
    monkeypatch.setattr("deepmech.metrics.folds._LARGEST", 4 * 4)
    assert "no interval" in str(interpret(load_curve(model, x, y)))


# --- curves -----------------------------------------------------------------------------------------------------------


def networks(depth=4, seed=0):
    return mlp(depth, width=12, classes=4, seed=seed)


def samples(n, seed=0, distance=1.0):
    x, y = blobs(seed, n, 12, 4, distance)
    order = torch.tensor(Stream.of("test order of samples", seed).permutation("order", 0, n))
    return x[order].float(), y[order]


def test_a_curve_carries_its_intervals_and_loses_them_when_it_is_changed():
    x, y = samples(200)
    curve = load_curve(networks(), x, y, batch_size=64)
    found = estimate(curve)
    assert found.n == 20 and (found.low < curve).all() and (curve < found.high).all()
    some = curve[[0, 2]]
    xr.testing.assert_equal(estimate(some).low, found.low[[0, 2]])
    bend = estimate(curve, curvature)
    assert bend.low < bend.value < bend.high and bend.value == curvature(curve)
    assert interpret(curve).interval == (bend.low, bend.high)
    for other in (curve + 1, load_curve(networks(), x, y, n_folds=1), load_curve(networks(), x, y, metric="D_hat")):
        assert leave_one_out(other) is None and not estimate(other).is_finite
    again = load_curve(networks(), x, y, batch_size=7)
    np.testing.assert_allclose(leave_one_out(again), leave_one_out(curve), atol=1e-5)


def test_pairs_on_the_same_samples_differ_by_less_than_they_scatter():
    """Of equal networks by nothing at all; of nearly equal ones by far less; with other samples variances add."""
    x, y = samples(400)
    model, near = networks(), networks()
    with torch.no_grad():
        near[4].weight += 0.02 * networks(seed=1)[4].weight
    models = {"a": model, "b": near, "a again": networks()}
    found = compare({name: load_curve(one, x, y) for name, one in models.items()})
    assert found.attrs["paired"] == 1 and (found.difference.sel(curve="a again") == 0).all()
    assert (found.high.sel(curve="a again") - found.low.sel(curve="a again") == 0).all()
    paired = (found.high - found.low).sel(curve="b")[-1]
    curves = {"a": load_curve(model, x, y), "b": load_curve(near, *samples(400, seed=3))}
    apart = compare(curves)
    alone = estimate(curves["a"])
    assert apart.attrs["paired"] == 0
    assert 4 * paired < (alone.high - alone.low)[-1] < (apart.high - apart.low).sel(curve="b")[-1]
    assert found.attrs["against"] == "a"
    with pytest.raises(ValueError, match=r"'b' runs over layers.*measure both over the same"):
        compare({"a": load_curve(model, x, y), "b": load_curve(networks(depth=3), x, y)})
    for slip, where in (([curves["a"]] * 2, "curves is of type list"), ({"a": [1.0, 2.0]}, "'a' is of type list")):
        with pytest.raises(ValueError, match=f"compare: {where}"):
            compare(slip)


def test_paired_intervals_cover_the_difference():
    """Two linear maps of normal features: each has a D of its own, and they scatter together."""
    draws, classes, d = 200, 5, 8
    s = Stream.of("test paired coverage", 0)
    means, scale = s.normal("means", 0, (classes, d)), np.linspace(0.5, 1.5, d)
    y = torch.arange(150) % classes
    maps = (np.eye(d), np.diag(scale))
    true = [np.log(((m @ m).trace()) / (((means - means.mean(0)) @ m) ** 2).sum() * classes) for m in maps]
    x, hits, apart = s.normal("x", 0, (draws, 150, d)) + means[y], 0, 0
    for one in x:
        each = [FoldMoments(classes, 20).update(torch.tensor(one @ m), y, FoldAssigner(20)(y)) for m in maps]
        value = each[1].separation() - each[0].separation()
        found = jackknife(value, each[1].leave_one_out() - each[0].leave_one_out(), scatter="symmetric")
        hits += found.low <= true[1] - true[0] <= found.high
        alone = [jackknife(one.separation(), one.leave_one_out(), scatter="symmetric") for one in each]
        apart += found.high - found.low < np.hypot(*(one.high - one.low for one in alone))
    assert hits / draws > 0.92 and apart / draws > 0.95
