"""The load curve of any model: which layers, what they return, and the model afterwards."""

import random
import warnings
from collections import OrderedDict
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
import torch
import xarray as xr
from example_networks import (
    CLASSES,
    WIDTH,
    Basic,
    Half,
    N,
    Sequence,
    Shared,
    data_separation,
    mlp,
    paper_network,
    sample,
    seeded,
    tensors,
)
from torch import nn

from deepmech.core.random import Stream
from deepmech.metrics import separation
from deepmech.metrics.interpret import interpret, leave_one_out
from deepmech.metrics.load_curve import PartialWarning, load_curve, mean_pool, predicted_labels

X, Y = sample()


def names(model, x=X, y=Y, **how):
    return load_curve(model, x, y, **how).layer.values.tolist()


@pytest.mark.parametrize("metric", ["D", "D_hat"])
def test_paper_network_by_hand(metric):
    """D₀ on the normalised input, D_ℓ on activations in evaluation mode before dropout, logits left out."""
    model = paper_network()
    curve = load_curve(model, X, Y, metric=metric, batch_size=16)
    assert curve.layer.values.tolist() == ["bn0", "act1", "act2", "act3"]
    assert curve.depth.values.tolist() == [0, 1, 2, 3]
    assert curve.name == {"D": "data_separation", "D_hat": "data_separation_hat"}[metric]
    assert {"long_name", "units"} < set(curve.attrs)
    assert (curve.attrs["metric"], curve.attrs["samples"], curve.attrs["classes"]) == (metric, N, CLASSES)
    model.eval()
    with torch.no_grad():
        h = model.bn0(torch.tensor(X))
        by_hand = [data_separation(h, Y, metric)]
        for i in (1, 2, 3):
            h = nn.functional.leaky_relu(model.get_submodule(f"bn{i}")(model.get_submodule(f"fc{i}")(h)), 0.2)
            by_hand.append(data_separation(h, Y, metric))
    np.testing.assert_allclose(curve, by_hand, atol=1e-5)
    # One batch runs through the very same arithmetic, but for single precision in the sums of D.
    whole = load_curve(model, X, Y, metric=metric, batch_size=N)
    np.testing.assert_allclose(whole, by_hand, atol=1e-12 if metric == "D_hat" else 1e-6)


def test_a_metric_may_be_a_function_of_features_and_labels():
    """It is given what the metrics by name are given; with intervals from its values without each fold."""

    def quotient(x, y):
        return np.exp(data_separation(x, y))

    named, curve = load_curve(paper_network(), X, Y), load_curve(paper_network(), X, Y, metric=quotient, batch_size=16)
    assert (curve.name, curve.attrs["metric"], curve.attrs["folds"]) == ("quotient", "quotient", named.attrs["folds"])
    np.testing.assert_allclose(curve, np.exp(named), rtol=1e-5)
    np.testing.assert_allclose(leave_one_out(curve), np.exp(leave_one_out(named)), rtol=1e-5)
    unlabelled = load_curve(paper_network(), X, predicted_labels, metric=lambda x, y: len(x) + len(y), n_folds=1)
    assert (unlabelled == 2 * N).all() and leave_one_out(unlabelled) is None
    rare = np.where(np.arange(N) == 5, CLASSES, Y)
    with pytest.raises(ValueError, match="class 3 of 4 has no sample") as caught:
        load_curve(paper_network(), X, rare, metric=partial(separation.data_separation, n_classes=4))
    assert "n_folds=1 leaves intervals out" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="layer 'input': features: 60 of 480 values"):
        load_curve(paper_network(), np.where(np.arange(WIDTH), X, np.nan), Y, ["input"], metric=quotient)


class Failing(nn.Module):
    def forward(self, x):
        raise RuntimeError("the model's own fault")


@pytest.mark.parametrize("fault", ["", "own fault", "layer 'act2': features: 60 of 480 values"])
def test_the_model_the_data_and_the_random_state_are_untouched_also_after_errors(fault):
    def state():
        hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]
        return [m.training for m in model.modules()], hooks, [p.grad for p in model.parameters()]

    model, given = paper_network(), X.copy()
    model.train()
    model.bn2.eval()  # frozen by its owner
    model.act1.register_forward_hook(lambda *_: None)
    if fault == "own fault":
        model.append(Failing())
    elif fault:
        model.fc2.weight.data[0, 0] = torch.nan
    values, before, drawn = {k: v.clone() for k, v in model.state_dict().items()}, state(), torch.get_rng_state()
    if fault:
        with pytest.raises(RuntimeError if fault == "own fault" else ValueError, match=fault):
            load_curve(model, given, Y)
    else:
        load_curve(model, given, Y)
    torch.testing.assert_close(model.state_dict(), values, rtol=0, atol=0, equal_nan=True)
    assert state() == before and torch.equal(drawn, torch.get_rng_state()) and torch.is_grad_enabled()
    np.testing.assert_array_equal(given, X)


def test_any_layers_by_name_with_input_and_output():
    curve = load_curve(paper_network(), X, Y, layers=["output", "fc2", "input", "out"])
    assert curve.layer.values.tolist() == ["output", "fc2", "input", "out"]
    assert curve.sel(layer="output") == curve.sel(layer="out")
    assert float(curve.sel(layer="input")) == pytest.approx(data_separation(X, Y), abs=1e-6)


def test_layers_that_work_in_place_are_seen_before_they_are_overwritten():
    apart, given = nn.Sequential(nn.ReLU(), *mlp(1)), torch.tensor(X)
    model = nn.Sequential(*(nn.ReLU(inplace=True) if isinstance(part, nn.ReLU) else part for part in apart))
    curve = load_curve(model, given, Y)
    np.testing.assert_array_equal(given, X)
    assert curve.layer.values.tolist() == ["input", "0", "2"]
    np.testing.assert_array_equal(curve, load_curve(apart, X, Y))
    assert float(curve[0]) == pytest.approx(data_separation(X, Y), abs=1e-6)
    np.testing.assert_array_equal(load_curve(model, X, Y, layers=["1"]), load_curve(apart, X, Y, layers=["1"]))


class Backwards(nn.Module):
    def __init__(self):
        super().__init__()
        self.last, self.first = nn.ReLU(), nn.Tanh()

    def forward(self, x):
        return self.last(self.first(x) - 0.1)


def test_the_default_is_the_input_or_its_normalisation_and_activations_in_the_order_of_calls():
    norm, linear = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)
    model = nn.Sequential(nn.Flatten(), norm, linear, nn.LayerNorm(WIDTH), nn.Tanh(), nn.Linear(WIDTH, CLASSES))
    assert names(model, X[:, None]) == ["1", "4"]
    assert names(nn.Sequential(linear, nn.BatchNorm1d(WIDTH), nn.GELU(), linear)) == ["input", "2"]
    assert names(nn.Sequential(Backwards(), linear)) == ["input", "0.first", "0.last"]


def test_images_are_flattened_or_pooled():
    noise = torch.tensor(Stream.of("test images", 0).normal("x", 0, (N, 2, 4, 4)), dtype=torch.float32)
    images = noise + torch.tensor(Y)[:, None, None, None]
    conv = nn.Conv2d(2, 5, 1)
    model = nn.Sequential(conv, nn.ReLU(), nn.Flatten(2), nn.Identity(), nn.Flatten(), nn.LogSoftmax(1))
    with torch.no_grad():
        maps = model[1](model[0](images))
    curve = load_curve(model, images, Y)
    assert curve.layer.values.tolist() == ["input", "1"]
    assert float(curve[1]) == pytest.approx(data_separation(maps.flatten(1), Y), abs=1e-5)
    pooled = load_curve(model, images, Y, layers=["input", "1", "3", "4"], pool=mean_pool)
    means = images.mean((2, 3)), maps.mean((2, 3)), maps.flatten(2).mean(1), maps.flatten(1)
    np.testing.assert_allclose(pooled, [data_separation(h, Y) for h in means], atol=1e-5)
    wrapped, tokens = nn.Sequential(OrderedDict(lstm=nn.LSTM(2, 3, batch_first=True))), images.flatten(2).mT
    last = load_curve(wrapped, tokens, Y, layers=["lstm"], pool=lambda out: out[0][:, -1])
    with torch.no_grad():
        assert float(last[0]) == pytest.approx(data_separation(wrapped(tokens)[0][:, -1], Y), abs=1e-5)
    with pytest.raises(ValueError, match="'lstm' is pooled to a tuple"):
        load_curve(wrapped, tokens, Y, layers=["lstm"], pool=lambda out: out)


class Odd(nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output, self.part, self.act, self.spare = output, Part(output), nn.ReLU(), nn.ReLU()

    def forward(self, x):
        self.part(x)
        return self.act(self.act(x)) if self.output == "twice" and len(x) > 20 else self.act(x)


class Part(nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, x):
        if self.output == "int8":
            return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        return {"tuple": (x, x), "scalar": x.sum(), "features first": x.T, "sparse": x.to_sparse()}.get(self.output, x)


@pytest.mark.filterwarnings("ignore:torch.quantize")
@pytest.mark.parametrize(
    ("model", "layers", "message"),
    [
        (Odd("sparse"), ["part"], "layer 'part' returns a tensor .*sparse.*pool="),
        (Odd("int8"), ["part"], "layer 'part' returns a tensor .*qint8.*pool=lambda h: h.dequantize"),
        (Odd("scalar"), ["part"], r"layer 'part' has shape \(\) for any number of samples: none of its axes.*pool="),
        (
            Odd("twice"),
            ["act"],
            "layer 'act': 'act' is called 2 times in a forward pass: name its calls, 'act:1' to 'act:2'",
        ),
        (Odd("twice"), ["act:1"], "'act' is called 2 times for one batch and 1 times for another"),
        (Odd("twice"), ["act:3"], "'act:3': 'act' is called 2 times.*'act:1' to 'act:2'"),
        (Odd(""), ["spare"], "layer 'spare': 'spare' is called 0 times in a forward pass: leave it out"),
        (Odd(""), ["partt"], r"no layer 'partt'; this model has input, output, part \(Part\), .*did you mean 'part'"),
        (Odd(""), [], "layers is empty"),
        (Odd(""), ["before blocks"], "'before blocks' .*: name one"),
        (Odd(""), ["input", "before blocks"], "'before blocks' .*: name one"),
        (Odd(""), ["part", "part"], "names 'part' more than once"),
        (Half(), ["relu()"], r"layer 'relu\(\)': 'relu\(\)' is called 3 times"),
        (Half(), ["tanh()"], r"layer 'tanh\(\)': .* is called 0 times"),
        (mlp(), "blocks", "'blocks': no blocks are repeated here; name the layers: input, output, 0"),
        (mlp(0), None, r"no activation to choose.*name the layers.*0 \(Linear\)"),
        (nn.Sequential(OrderedDict(rnn=nn.GRU(WIDTH, 2))), None, r"returns 0 \(40, 2\), 1 \(1, 2\).*forward="),
        (nn.Sequential(nn.LazyLinear(4), nn.ReLU()), None, r"'0\.weight' has no numbers yet: run one batch"),
        (
            nn.Sequential(nn.Linear(WIDTH, 4, device="meta"), nn.ReLU()),
            None,
            r"'0\.weight' has no numbers yet: .*to_empty",
        ),
    ],
)
def test_layers_that_cannot_be_measured_are_named(model, layers, message):
    with pytest.raises(ValueError, match=message):
        load_curve(model, X, Y, layers=layers, batch_size=40)


class Fallback(nn.Module):
    """It goes on without an activation that fails."""

    def __init__(self):
        super().__init__()
        self.bad, self.a, self.b = nn.PReLU(num_parameters=5), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        with suppress(RuntimeError):
            return self.bad(x)
        return self.b(torch.relu(self.a(x)))


@pytest.mark.filterwarnings("ignore:load_curve")
def test_what_follows_a_module_that_failed_is_not_inside_of_it():
    assert names(seeded(Fallback)) == ["input", "relu()"]


def test_each_use_of_a_module_is_a_layer():
    x, y = tensors()
    model = Shared()
    assert names(nn.Sequential(model, nn.Linear(WIDTH, CLASSES))) == ["input", "0.act:1", "0.act:2"]
    curve = load_curve(model, x, y, layers=["input", "act:1", "act:2"], batch_size=25)
    assert curve.kind.values.tolist()[1:] == ["ReLU"] * 2
    with torch.no_grad():
        first = torch.relu(model.one(x))
        second = torch.relu(model.two(first))
    np.testing.assert_allclose(curve[1:], [data_separation(h, y) for h in (first, second)], atol=1e-5)
    assert load_curve(model, x, y, layers=["act:2"]) == pytest.approx(float(curve[2]), abs=1e-6)
    entered = load_curve(model, x, y, layers=["before blocks", "act:2", "two"])  # what enters the first that is named
    with torch.no_grad():
        np.testing.assert_allclose(entered[0], data_separation(model.two(first), y), atol=1e-5)


def test_activations_that_are_functions_are_layers():
    """They say the same as modules, in the order of calls, named by the module around and their own name."""
    model = seeded(Half)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = load_curve(model, X, Y, batch_size=16)
    functions = [f"relu():{i}" for i in (1, 2)]  # the third makes the output
    assert curve.layer.values.tolist() == ["input", *(f"acts.{i}" for i in range(3)), *functions]
    assert curve.kind.values.tolist() == ["", *["ReLU"] * 3, *["relu()"] * 2]
    modules = nn.Sequential(*(part for linear in model.linears for part in (linear, nn.ReLU())))
    np.testing.assert_allclose(curve, load_curve(modules, X, Y), atol=1e-5)
    one = load_curve(model, X, Y, layers=["relu():2"])
    assert float(one[0]) == pytest.approx(float(curve.sel(layer="relu():2")), abs=1e-6)
    assert names(nn.Sequential(OrderedDict(body=model, head=nn.Linear(WIDTH, CLASSES))))[-1] == "body.relu():3"
    np.testing.assert_allclose(load_curve(torch.fx.symbolic_trace(model), X, Y), curve, atol=1e-5)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = Basic(), Basic()

    def forward(self, x):
        return self.two(self.one(self.one(x)))


class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.down = nn.Sequential(Basic(), Basic()), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.down(self.layers(x))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([nn.Linear(WIDTH, WIDTH), nn.Sequential(*(nn.Sequential(Basic(), Basic()) for _ in range(2)))],
         ["1.0.0", "1.0.1", "1.1.0", "1.1.1"]),
        ([nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(3)], ["0", "1", "2"]),
        ([Stage() for _ in range(3)], ["0", "1", "2"]),
        ([Stage() for _ in range(2)], [f"{i}.layers.{j}" for i in range(2) for j in range(2)]),  # two: no curve
        ([Twice()], ["0.one:1", "0.one:2", "0.two"]),
    ],
)  # fmt: skip
def test_blocks_are_the_outermost_modules_that_repeat(parts, expected):
    model = nn.Sequential(*parts, nn.Linear(WIDTH, CLASSES))
    curve = load_curve(model, X, Y, layers="blocks")
    assert curve.layer.values.tolist() == ["before blocks", *expected]
    np.testing.assert_array_equal(curve, load_curve(model, X, Y, layers=["before blocks", *expected]))


def test_what_cannot_be_seen_is_named():
    """With the line to write: an LSTM's inside."""
    with pytest.warns(PartialWarning, match=r"what LSTM 'rnn' computes inside.*layers=\[…, 'rnn', …\]") as told:
        curve = load_curve(Sequence(), X, Y)
    assert len(told) == 1 and told[0].filename == __file__
    said = interpret(xr.DataArray([3.0, 2.0, 0.0], dims="layer", attrs=curve.attrs))
    assert "LSTM 'rnn'" in curve.attrs["left_out"] and "LSTM 'rnn'" in str(said)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_curve(Sequence(), X, Y, layers=["input", "rnn", "act"]).notnull().all()


def test_compiled_networks_are_measured():
    """Compiled whole, in place, or in part: as if they were not."""
    curve, runs = load_curve(mlp(), X, Y), []

    def backend(graph, inputs):
        runs.append(graph)
        return graph.forward

    part, in_place = mlp(), mlp()
    for i in (1, 3):
        part[i] = torch.compile(part[i], backend=backend)
    in_place.compile(backend=backend)
    for model in (torch.compile(mlp(), backend=backend), in_place, part):
        model(torch.tensor(X))
        before = len(runs)
        np.testing.assert_allclose(load_curve(model, X, Y), curve, atol=1e-5)
        assert before and len(runs) == before


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision(dtype):
    full = load_curve(mlp(), X, Y)
    np.testing.assert_allclose(load_curve(mlp().to(dtype), X, Y), full, atol=0.05)
    with torch.autocast("cpu", dtype):  # that of a training does not reach the measurement
        np.testing.assert_array_equal(load_curve(mlp(), X, Y), full)


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x) + random.random()


def test_a_pass_that_looks_first_changes_nothing_that_is_measured():
    """Of a model that draws numbers in evaluation mode, the same are drawn as if nobody had looked."""
    model = nn.Sequential(Noisy(), nn.ReLU(inplace=True), nn.Linear(WIDTH, CLASSES))
    chosen = load_curve(model, X, Y)
    np.testing.assert_array_equal(chosen, load_curve(model, X, Y, layers=["input", "1"]))
