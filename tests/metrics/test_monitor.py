"""Monitoring leaves no trace in training, and readings follow the shape of curves."""

import random
from collections import OrderedDict

import numpy as np
import pytest
import torch
import xarray as xr
from example_networks import CLASSES, WIDTH, N, seeded, tensors
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from deepmech.core.random import Stream
from deepmech.metrics.curvature import curvature
from deepmech.metrics.evaluation import evaluation
from deepmech.metrics.interpret import BEND, interpret
from deepmech.metrics.load_curve import load_curve
from deepmech.metrics.monitor import LoadCurveMonitor


@pytest.fixture
def sample():
    return tensors()


class Restless(nn.Module):
    """Everything that a forward pass in evaluation mode may disturb."""

    def __init__(self):
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(WIDTH))
        self.own = torch.Generator().manual_seed(3)

    def forward(self, x):
        self.passes += 1
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)  # a new tensor in the buffer's place
        scale = 1 + 0.01 * (random.random() + np.random.random())  # noqa: NPY002
        return nn.functional.dropout(x, 0.1, training=True) * scale + 0.01 * torch.randn(1, generator=self.own)


def network() -> nn.Sequential:
    return seeded(
        lambda: nn.Sequential(
            OrderedDict(
                norm0=nn.BatchNorm1d(WIDTH), restless=Restless(), linear1=nn.Linear(WIDTH, WIDTH),
                norm1=nn.BatchNorm1d(WIDTH), relu1=nn.ReLU(), dropout=nn.Dropout(0.2),
                linear2=nn.Linear(WIDTH, WIDTH), relu2=nn.ReLU(), out=nn.Linear(WIDTH, CLASSES),
            )
        )
    )  # fmt: skip


def everything(model, optimiser):
    """All bits of a training run."""
    tensors = [*model.state_dict().values(), *(p.grad for p in model.parameters())]
    for state in optimiser.state.values():
        tensors += [torch.as_tensor(v) for v in state.values()]
    tensors += [torch.get_rng_state(), model.restless.own.get_state(), torch.tensor(np.random.get_state()[1])]  # noqa: NPY002
    words = (random.getstate(), np.random.get_state()[2:], [m.training for m in model.modules()])  # noqa: NPY002
    return [t.clone() for t in tensors], words


def run(sample, watch, when="after the step", autocast=False):
    x, y = sample
    model = network()
    model.norm1.eval()  # frozen by its owner
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(2)
        random.seed(2)
        np.random.seed(2)  # noqa: NPY002
        monitor = LoadCurveMonitor(model, x[:30], y[:30], every=2)
        if watch:
            monitor.record()
        for _ in range(7):
            optimiser.zero_grad()
            with torch.autocast("cpu", enabled=autocast):
                if watch and when == "before the forward pass":
                    monitor.step()
                loss = nn.functional.cross_entropy(model(x).float(), y)
                if watch and when == "before the backward pass":
                    monitor.step(loss=loss)
            loss.backward()
            optimiser.step()
            if watch and when == "after the step":
                monitor.step(loss=loss)
        return everything(model, optimiser), monitor


@pytest.mark.parametrize("when", ["after the step", "before the forward pass", "before the backward pass"])
@pytest.mark.parametrize("autocast", [False, True], ids=["float32", "mixed precision"])
def test_a_watched_training_run_has_the_same_bits(sample, when, autocast):
    outside = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        (alone, words), _ = run(sample, watch=False, autocast=autocast)
        (watched, same_words), monitor = run(sample, watch=True, when=when, autocast=autocast)
    finally:
        random.setstate(outside[0])
        np.random.set_state(outside[1])  # noqa: NPY002
    assert monitor.result().step.values.tolist() == [0, 2, 4, 6]
    assert len(alone) == len(watched) and all(torch.equal(a, b) for a, b in zip(alone, watched, strict=True))
    assert words[0] == same_words[0] and words[1:] == same_words[1:]


def test_untouched_also_after_an_error():
    model = network()
    before, state = {k: v.clone() for k, v in model.state_dict().items()}, torch.get_rng_state()
    with pytest.raises(RuntimeError, match="midway"), evaluation(model):
        assert not model.training and not torch.is_grad_enabled()
        model(torch.ones(4, WIDTH))
        assert model.restless.passes == 1
        raise RuntimeError("midway")
    assert model.training and torch.is_grad_enabled() and torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


def quiet() -> nn.Sequential:
    """A network whose evaluation draws nothing."""
    model = network()
    del model.restless
    return model


def test_records_are_the_curves_at_their_steps(sample):
    x, y = sample
    model, expected, how = quiet(), {}, {"layers": ["relu1", "input", "relu2"], "metric": "D_hat"}
    with LoadCurveMonitor(model, x, y, every=3, **how) as monitor:
        expected[0] = load_curve(model, x, y, **how)
        for step in range(1, 6):
            with torch.no_grad():
                model.linear1.weight.mul_(1.1 + 0.1 * step).add_(0.01)
            monitor.step(accuracy=step / 10, loss=torch.tensor(1.0 / step, requires_grad=True))
            if step in (3, 5):  # 5: on leaving
                expected[step] = load_curve(model, x, y, **how)
    out = monitor.result()
    assert out.step.values.tolist() == [0, 3, 5] and out.layer.values.tolist() == ["relu1", "input", "relu2"]
    for step, curve in expected.items():
        np.testing.assert_array_equal(out.load_curve.sel(step=step), curve)
    np.testing.assert_allclose(out.curvature, curvature(out.load_curve))
    np.testing.assert_allclose(out.accuracy, [np.nan, 0.3, 0.5])
    np.testing.assert_allclose(out.loss, [np.nan, 1 / 3, 0.2])
    assert out.attrs["metric"] == "D_hat" and out.attrs["samples"] == N and out.attrs["wall_seconds"] >= 0


def test_a_failed_training_is_not_measured_on_leaving_and_a_diverged_one_goes_on(sample):
    x, y = sample
    model = quiet()
    with pytest.raises(KeyboardInterrupt), LoadCurveMonitor(model, x, y, every=2) as monitor:
        monitor.step()
        raise KeyboardInterrupt
    assert monitor.result().step.values.tolist() == [0]
    with LoadCurveMonitor(model, x, y, every=1) as monitor:
        with torch.no_grad():
            model.linear2.weight[0, 0] = torch.nan
        monitor.step(loss=float("nan"))
    last = monitor.result().load_curve.isel(step=-1)
    assert np.isnan(last.sel(layer="relu2")) and np.isfinite(last.sel(layer=["norm0", "relu1"])).all()


def test_other_misuse(sample):
    with pytest.raises(ValueError, match="nothing recorded yet"):
        LoadCurveMonitor(quiet(), *sample).result()
    monitor = LoadCurveMonitor(quiet(), *sample, every=1)
    monitor.step(layer=1.0)
    with pytest.raises(ValueError, match="'layer' is a name of the result's own"):
        monitor.result()


@given(bend=st.floats(-0.16, 0.16), depth=st.integers(2, 30))
def test_thresholds_in_terms_of_the_layers_work(bend, depth):
    """On a parabola of curvature c, in the limit of many layers, last over first layer is (1 + 6c) / (1 − 6c)."""
    at = np.linspace(0, 1, 2000)
    fine = 1 - at + 6 * bend * at * (1 - at)
    assert curvature(fine) == pytest.approx(bend, abs=1e-5)
    first, last = fine[0] - fine[1], fine[-2] - fine[-1]
    assert last / first == pytest.approx((1 + 6 * bend) / (1 - 6 * bend), rel=0.05, abs=0.05)
    d = np.interp(np.linspace(0, 1, depth + 1), at, fine)
    bent = curvature(d)
    said = interpret(d).verdict
    assert said == ("lazy" if bent > BEND else "over-noisy" if bent < -BEND else "balanced")
    assert interpret(3 * d - 7).verdict == said


@pytest.mark.parametrize(
    ("curve", "verdict"),
    [
        ([1.0, 1.0, 1.0], "no shape: The curve is flat"),
        ([1.0, np.nan, 0.0], "no shape: The curve is flat or not finite"),
        ([0.0, 1.0, 2.0], "not falling; only rises; D rises by 2 nats"),
        ([0.0, -0.5, 2.0], "not falling; rises more than it falls"),
        ([1.0, 0.0, 0.9], "not falling; rises about as much as it falls"),
        ([1.0, 0.98, 0.5, 0.02, 0.0], "uneven; D falls by 1 nats"),
        ([2.0, 2.1, 2.0, 1.0], "lazy; D falls by 1 nats"),
        ([0.101, 0.1, 0.09, 0.0], "lazy; D falls by 0.101 nats"),
        ([0.099, 0.098, 0.09, 0.0], "no shape: D falls by 0.099 nats in all, too little"),
    ],
)
def test_shapes_without_a_bend_or_a_fall(curve, verdict):
    """A shape takes a tenth of a nat of D; a chain's is of its own units."""
    verdict, *words = verdict.split("; ")
    assert str(interpret(curve)).startswith(verdict) and all(one in str(interpret(curve)) for one in words)
    verdict = interpret(curve).verdict
    assert "nats" not in str(interpret(xr.DataArray(curve, dims="block")))
    assert str(interpret(curve)).startswith(verdict) and f"**{verdict}**" in interpret(curve)._repr_markdown_()


@pytest.mark.parametrize(("classes", "share"), [(2, 0.005), (2, 0.1), (10, 0.02), (10, 0.1)])
def test_a_reading_names_the_wrong_labels_behind_which_a_curve_is_straight(classes, share):
    """Of a straight curve of right labels; a lazy curve, and one that ends in a rise, have none."""

    def told(curve):
        bounded = np.log((np.exp(curve) + 1 - a) / a)
        return interpret(xr.DataArray(bounded, dims="layer", attrs={"metric": "D", "classes": classes}))

    a = (1 - share * classes / (classes - 1)) ** 2
    straight = told(np.linspace(2.0, -8.0, 8))
    assert straight.verdict == "over-noisy" and straight.wrong_labels == pytest.approx(share, rel=1e-6)
    assert f"if {share:.1%} of the labels are wrong" in str(straight)
    assert np.isnan(told(np.array([3.0, 2.9, 2.5, 0.0])).wrong_labels)
    assert np.isnan(told(np.array([3.0, 0.0, -8.0, -7.0])).wrong_labels) and np.isnan(
        interpret([3.0, 1, 0]).wrong_labels
    )


def test_a_reading_names_the_layers(sample):
    x, y = sample
    made = load_curve(quiet(), x, y)
    made.values[:] = [1.0, 1.2, -1.0]
    said = interpret(made)
    assert (said.largest, said.rising) == ("relu2", ("relu1",)) and said.share == 1.0
    assert "D rises at 'relu1'" in str(said)
    with pytest.raises(ValueError, match="give one curve"):
        interpret(made.expand_dims("seed"))
    with pytest.raises(ValueError, match="2 layers"):
        interpret([1.0, 0.0])


def test_of_blocks_a_reading_says_that_the_word_is_of_the_shape():
    curve = [3.0, 2.9, 0.0]
    assert "of the curve's shape" not in str(interpret(curve))
    assert "adds blocks to a stream" in str(interpret(xr.DataArray(curve, dims="layer", attrs={"stream": 1})))


def test_a_reading_refuses_what_chance_shows_as_well(sample):
    """With shuffled labels in either form."""
    x, y = sample
    shuffled = y[torch.tensor(Stream.of("test shuffled", 0).permutation("labels", 0, N))]
    for debias in (True, False):
        null = load_curve(quiet(), x, shuffled, debias=debias)
        assert null.attrs["ceiling"] == pytest.approx(np.log((N - CLASSES) / (CLASSES - 1)))
        said = interpret(null)
        assert said.verdict == "too few samples" and set(said.unresolved) <= {"norm0", "relu1", "relu2"}
        assert "what chance shows, too" in str(said)
        assert interpret(load_curve(quiet(), x, y, debias=debias)).verdict != "too few samples"
    assert load_curve(quiet(), x, shuffled).attrs.get("unresolved", "").split(", ")[0] in ("", *null.layer.values)
    constant = load_curve(nn.Sequential(nn.Linear(WIDTH, 2), nn.Threshold(1e9, 0.0), nn.ReLU(), nn.Linear(2, 2)), x, y)
    assert np.isnan(constant[1:]).all() and interpret(constant).verdict == "no shape"
