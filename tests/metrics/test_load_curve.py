"""The load curve of any model, and the model afterwards."""

from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch import nn

from deepmech.core.random import Stream
from deepmech.metrics import separation
from deepmech.metrics.load_curve import load_curve

CLASSES, N, WIDTH = 3, 50, 6


def data_separation(features, labels, metric="D", weights="samples"):
    """What a load curve shows by default."""
    return separation.data_separation(features, labels, metric, weights=weights, debias=metric == "D")


def fill(model: nn.Module, seed: int = 0) -> nn.Module:
    """Random parameters and buffers from a stream of their own."""
    s = Stream.of("test load curve", seed)
    with torch.no_grad():
        for i, (name, t) in enumerate([*model.named_parameters(), *model.named_buffers()]):
            if t.is_floating_point():
                values = s.normal(name, i, tuple(t.shape)) * 0.5
                t.copy_(torch.tensor(np.abs(values) + 0.5 if "running_var" in name else values))
    return model


def paper_network(depth: int = 3) -> nn.Sequential:
    layers: list[tuple[str, nn.Module]] = [("bn0", nn.BatchNorm1d(WIDTH))]
    for i in range(1, depth + 1):
        layers += [
            (f"fc{i}", nn.Linear(WIDTH, WIDTH)),
            (f"bn{i}", nn.BatchNorm1d(WIDTH)),
            (f"act{i}", nn.LeakyReLU(0.2)),
            (f"drop{i}", nn.Dropout(0.3)),
        ]
    return fill(nn.Sequential(OrderedDict([*layers, ("out", nn.Linear(WIDTH, CLASSES))])))


@pytest.fixture
def sample():
    s = Stream.of("test load curve data", 0)
    y = np.arange(N) % CLASSES
    return (s.normal("x", 0, (N, WIDTH)) + 2 * s.normal("m", 0, (CLASSES, WIDTH))[y]).astype(np.float32), y


@pytest.mark.parametrize("metric", ["D", "D_hat"])
@pytest.mark.parametrize("weights", ["samples", "printed"])
def test_paper_network_by_hand(sample, metric, weights):
    """D₀ on the normalised input, D_ℓ on activations in evaluation mode before dropout, logits left out."""
    x, y = sample
    model = paper_network()
    curve = load_curve(model, x, y, metric=metric, weights=weights, batch_size=16)
    assert curve.layer.values.tolist() == ["bn0", "act1", "act2", "act3"]
    assert curve.depth.values.tolist() == [0, 1, 2, 3]
    assert curve.name == {"D": "data_separation", "D_hat": "data_separation_hat"}[metric]
    assert {"long_name", "units"} < set(curve.attrs)
    assert (curve.attrs["metric"], curve.attrs["samples"], curve.attrs["classes"]) == (metric, N, CLASSES)
    model.eval()
    with torch.no_grad():
        h = model.bn0(torch.tensor(x))
        by_hand = [data_separation(h, y, metric, weights=weights)]
        for i in (1, 2, 3):
            h = nn.functional.leaky_relu(model.get_submodule(f"bn{i}")(model.get_submodule(f"fc{i}")(h)), 0.2)
            by_hand.append(data_separation(h, y, metric, weights=weights))
    np.testing.assert_allclose(curve, by_hand, atol=1e-5)
    # One batch runs through the very same arithmetic, but for single precision in the sums of D.
    whole = load_curve(model, x, y, metric=metric, weights=weights, batch_size=N)
    np.testing.assert_allclose(whole, by_hand, atol=1e-12 if (metric, weights) != ("D", "samples") else 1e-6)


def snapshot(model):
    state = {k: v.clone() for k, v in model.state_dict().items()}
    flags = [m.training for m in model.modules()]
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]
    return state, flags, hooks, [p.grad for p in model.parameters()]


def assert_same(before, after):
    assert all(torch.equal(before[0][k], after[0][k]) for k in before[0])
    assert before[1:] == after[1:]


def test_the_model_the_data_and_the_random_state_are_untouched(sample):
    x, y = sample
    model = paper_network()
    model.train()
    model.bn2.eval()  # frozen by its owner
    model.act1.register_forward_hook(lambda *_: None)
    before, random, kept = snapshot(model), torch.get_rng_state(), x.copy()
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
    load_curve(model, x, y)
    assert_same(before, snapshot(model))
    assert torch.equal(random, torch.get_rng_state()) and torch.is_grad_enabled()
    np.testing.assert_array_equal(x, kept)
    assert model(torch.tensor(x)).requires_grad


class Failing(nn.Module):
    def forward(self, x):
        raise RuntimeError("the model's own fault")


def test_the_model_is_untouched_after_errors_too(sample):
    x, y = sample
    own, ours = paper_network(), paper_network()
    own.append(Failing())
    with torch.no_grad():
        ours.fc2.weight[0, 0] = torch.nan
    for model, error, message in (
        (own, RuntimeError, "own fault"),
        (ours, ValueError, "layer 'act2': features: 50 of 300 values"),
    ):
        model.train()
        model.bn1.eval()
        before = snapshot(model)
        with pytest.raises(error, match=message):
            load_curve(model, x, y)
        assert before[1:] == snapshot(model)[1:]


def test_any_layers_by_name_with_input_and_output(sample):
    x, y = sample
    model = paper_network()
    curve = load_curve(model, x, y, layers=["output", "fc2", "input", "out"])
    assert curve.layer.values.tolist() == ["output", "fc2", "input", "out"]
    assert curve.sel(layer="output") == curve.sel(layer="out")
    assert float(curve.sel(layer="input")) == pytest.approx(data_separation(x, y), abs=1e-6)


def test_layers_that_work_in_place_are_seen_before_they_are_overwritten(sample):
    x, y = sample
    model = fill(
        nn.Sequential(nn.ReLU(inplace=True), nn.Linear(WIDTH, WIDTH), nn.ReLU(inplace=True), nn.Linear(WIDTH, 3))
    )
    apart = fill(nn.Sequential(nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 3)))
    kept = x.copy()
    given = torch.tensor(x)
    curve = load_curve(model, given, y)
    np.testing.assert_array_equal(given, kept)
    assert curve.layer.values.tolist() == ["input", "0", "2"]
    np.testing.assert_array_equal(curve, load_curve(apart, x, y))
    assert float(curve[0]) == pytest.approx(data_separation(x, y), abs=1e-6)
    np.testing.assert_array_equal(load_curve(model, x, y, layers=["1"]), load_curve(apart, x, y, layers=["1"]))


def test_only_a_normalisation_of_the_input_itself_stands_for_it(sample):
    x, y = sample
    flat = fill(
        nn.Sequential(nn.Flatten(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Tanh())
    )
    assert load_curve(flat, x[:, None, :], y).layer.values.tolist() == ["1", "4"]
    late = fill(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.GELU(), nn.Linear(WIDTH, 3)))
    curve = load_curve(late, x, y)
    assert curve.layer.values.tolist() == ["input", "2"]
    assert float(curve[0]) == pytest.approx(data_separation(x, y), abs=1e-6)


def test_images_are_flattened_per_sample(sample):
    _, y = sample
    images = Stream.of("test images", 0).normal("x", 0, (N, 1, 6, 6)).astype(np.float32)
    model = fill(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3), nn.LogSoftmax(1)))
    curve = load_curve(model, images, y, debias=False)
    assert curve.layer.values.tolist() == ["input", "1"]
    with torch.no_grad():
        by_hand = separation.data_separation(model[1](model[0](torch.tensor(images))).reshape(N, -1), y)
    assert float(curve[1]) == pytest.approx(by_hand, abs=1e-5)


def test_default_order_is_the_order_of_calls(sample):
    class Backwards(nn.Module):
        def __init__(self):
            super().__init__()
            self.last, self.first = nn.ReLU(), nn.Tanh()

        def forward(self, x):
            return self.last(self.first(x) - 0.1)

    assert load_curve(Backwards(), *sample).layer.values.tolist() == ["input", "first", "last"]


class Odd(nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output, self.part, self.act, self.spare = output, Part(output), nn.ReLU(), nn.ReLU()

    def forward(self, x):
        self.part(x)
        return self.act(self.act(x)) if self.output == "twice" else self.act(x)


class Part(nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, x):
        return {"tuple": (x, x), "scalar": x.sum(), "features first": x.T}.get(self.output, x)


@pytest.mark.parametrize(
    ("output", "layers", "message"),
    [
        ("tuple", ["part"], "layer 'part' returns a tuple, not a tensor"),
        ("scalar", ["part"], r"layer 'part' returns shape \(\), which has no sample axis"),
        ("features first", ["part"], r"layer 'part' returns shape \(6, 50\), which has no sample axis.*50"),
        ("twice", ["act"], "layer 'act' is called more than once"),
        ("", ["spare"], "layer 'spare' was never called in the forward pass; leave it out"),
        ("", None, r"layer 'spare' was never called in the forward pass; give layers="),
        ("", ["partt"], r"no layer 'partt'; this model has input, output, part \(Part\), .*did you mean 'part'"),
        ("", [], "layers is empty"),
        ("", ["part", "part"], "names 'part' more than once"),
    ],
)
def test_layers_that_cannot_be_measured_are_named(sample, output, layers, message):
    with pytest.raises(ValueError, match=message):
        load_curve(Odd(output), *sample, layers=layers)


def test_models_and_data_that_cannot_be_measured(sample):
    x, y = sample
    with pytest.raises(ValueError, match=r"no activation to choose.*layers=\['input', '0'\].*0 \(Linear\)"):
        load_curve(nn.Sequential(nn.Linear(WIDTH, 3)), x, y)
    with pytest.raises(ValueError, match="class 3 of 4 has no sample"):
        load_curve(paper_network(), x, y, n_classes=4)
    with pytest.raises(ValueError, match=r"x \(50, 6\) and y \(49,\)"):
        load_curve(paper_network(), x, y[1:])


def test_rotating_layers_leave_the_curve_flat(sample):
    """D is invariant under rotations, so a network that only rotates has a flat load curve."""
    x, y = sample
    layers = []
    for i in range(4):
        layer = nn.Linear(WIDTH, WIDTH, dtype=torch.float64)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(np.linalg.qr(Stream.of("test q", i).normal("q", 0, (WIDTH, WIDTH)))[0]))
        layers += [layer, nn.LeakyReLU(1.0)]
    curve = load_curve(nn.Sequential(*layers), x, y)
    np.testing.assert_allclose(curve, float(curve[0]), atol=1e-12)
