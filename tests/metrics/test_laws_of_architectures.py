"""Laws of architectures: whatever a network is built of, its curve is D of what its hidden layers hand on."""

import re
import warnings

import numpy as np
import pytest
import torch
from example_networks import CLASSES, GPT, STEPS, WIDTH, Parts, Zoo, data_separation, seeded
from torch import nn

from deepmech.core.random import Stream
from deepmech.metrics.load_curve import PartialWarning, load_curve, mean_pool, predicted_labels

N = 48
Y = np.arange(N) % CLASSES
NOISE = Stream.of("test architectures", 0)
X = (NOISE.normal("x", 0, (N, STEPS, WIDTH)) + NOISE.normal("m", 0, (CLASSES, 1, WIDTH))[Y]).astype(np.float32)
IDS = torch.tensor((np.floor(3 * NOISE.uniform("ids", 0, (N, STEPS))).astype(int) + Y[:, None]) % STEPS)
TEXT = {"input_ids": IDS, "attention_mask": torch.ones(N, STEPS)}
SIZES = N, STEPS, WIDTH, 16, 7, 2  # of batches: as many as steps, features, hidden features; and as nothing else

# Architecture -> axis of the samples, what is left out
KINDS = {
    "lstm": (1, "what LSTM 'cell' computes inside"), "gru": (1, "what GRU 'cell' computes inside"),
    "sequence first": (1, ""), "batch first": (0, ""), "resnet": (0, ""), "unet": (0, ""),
    "silu": (0, ""), "silu of a module": (0, ""), "mish": (0, ""), "new gelu": (0, ""), "erf": (0, ""),
    "squared": (0, ""), "leaky": (0, ""), "swiglu": (0, ""), "gru by hand": (0, ""), "highway": (0, ""),
    "windows": (0, r"'gelu\(\)' has 3 rows of each sample.*'sigmoid\(\)' is a function of parameters alone"),
    "views": (0, r"'relu\(\)' has 2 rows of each sample"),
    "experts": (0, r"not over samples: 'relu\(\):1' has"),
    "of parameters": (0, "is a function of parameters alone.*is a function of parameters alone.*parameters alone"),
    "parts": (0, ""), "gpt": (0, ""),
}  # fmt: skip


def network(kind):
    """An architecture, its samples, and what it was seen to hand on, as (samples, features)."""
    model = seeded({"parts": Parts, "gpt": GPT}.get(kind, Zoo), kind).eval()
    seen, x = [], TEXT if kind == "gpt" else torch.tensor(X)
    # A transformer's own activation is a function, of which its second linear map is given the result.
    places = [model.here, *([model.encoder.linear2] if kind.endswith(" first") else [])]
    axis = KINDS[kind][0]
    hooks = [m.register_forward_pre_hook(lambda _, x: seen.append(x[0].clone().movedim(axis, 0))) for m in places]
    with torch.no_grad():
        model(**x) if kind == "gpt" else model(x.clone())
    for hook in hooks:
        hook.remove()
    return model, x, [h.reshape(N, -1) for h in seen]


@pytest.mark.parametrize("kind", KINDS)
def test_the_curve_is_that_of_what_hidden_layers_hand_on_at_every_batch_size(kind):
    model, x, features = network(kind)
    expected, left = [data_separation(h, Y) for h in features], KINDS[kind][1]
    flags, state = [m.training for m in model.modules()], torch.get_rng_state()
    for size in SIZES:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            curve = load_curve(model, x, Y, batch_size=size)
        said = [str(one.message) for one in told if issubclass(one.category, PartialWarning)]
        if left:
            assert re.search(left, said[-1]) and said[-1].endswith(curve.attrs["left_out"])
        else:
            assert not said
        hidden = curve[1:]
        np.testing.assert_allclose(hidden, expected, atol=2e-5, err_msg=f"{size} {curve.layer.values}")
        again = load_curve(model, x, Y, layers=hidden.layer.values.tolist(), batch_size=size)
        np.testing.assert_array_equal(again, hidden)
    assert flags == [m.training for m in model.modules()] and torch.equal(state, torch.get_rng_state())


class Raw(nn.Module):
    """Sequence-first from its input on."""

    def __init__(self):
        super().__init__()
        self.cell, self.act, self.head = nn.LSTM(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.head(self.act(self.cell(x)[0]))[-1]


@pytest.mark.filterwarnings("ignore:load_curve")
@pytest.mark.parametrize("steps", [STEPS, N])
@pytest.mark.parametrize("how", [{}, {"sample_axis": 1}])
def test_samples_on_the_second_axis_of_a_batch_are_found_also_where_steps_are_as_many(steps, how):
    x = torch.tensor(NOISE.normal("long", 0, (steps, N, WIDTH)) + 0.3 * Y[:, None], dtype=torch.float32)
    y, model = torch.tensor(Y), seeded(Raw)
    with torch.no_grad():
        features = torch.relu(model.cell(x)[0])
    expected = [data_separation(h.movedim(1, 0).reshape(N, -1), Y) for h in (x, features)]
    np.testing.assert_allclose(load_curve(model, [(x, y)], **how), expected, atol=2e-5)
    first = load_curve(model, [(x, y)], layers=["act"], pool=lambda h: h[:, 0], **how)  # pool gets samples first
    assert float(first[0]) == pytest.approx(data_separation(features[0], Y), abs=2e-5)
    mean = load_curve(model, [(x, y)], layers=["act"], pool=mean_pool, **how)
    assert float(mean[0]) == pytest.approx(data_separation(features.mean(0), Y), abs=2e-5)


def test_a_batch_that_cannot_be_divided_is_measured_where_one_axis_alone_is_of_its_length():
    class Graphs:
        def __init__(self, x):
            self.x = torch.tensor(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.act, self.head = nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES)

        def forward(self, graphs):
            return self.head(self.act(self.a(graphs.x.mean(1))))

    model = seeded(Net)
    plain = load_curve(nn.Sequential(model.a, model.act, model.head), X.mean(1), Y)
    found = load_curve(model, iter([(Graphs(X), Y)]))
    np.testing.assert_allclose(found, plain[1:], atol=1e-6)
    with pytest.raises(ValueError, match=r"'act' has shape \(8, 8\) of 8 samples, and the batch cannot be divided"):
        load_curve(model, iter([(Graphs(X[:8]), Y[:8])]), layers=["act"])


def test_the_logits_are_the_part_with_a_column_for_each_class_or_asked_for():
    model = seeded(Parts, "parts")
    plain = seeded(Zoo, "silu")
    with torch.no_grad():
        plain.head.bias -= plain(torch.tensor(X)).mean(0)  # its answers are not all the same
    model.load_state_dict(plain.state_dict())
    curve = load_curve(model, X, Y, layers=["output"])
    np.testing.assert_array_equal(curve, load_curve(plain, X, Y, layers=["output"]))
    assert curve.attrs["output"] == "part 1 of 2" and "output" not in load_curve(plain, X, Y).attrs
    with pytest.raises(ValueError, match=r"returns 0 \(.*, 8\), 1 \(.*, 3\); .* classes, not known.*forward=lambda"):
        load_curve(model, X, predicted_labels)
    asked = load_curve(model, X, predicted_labels, forward=lambda model, batch: model(batch)[1])
    np.testing.assert_array_equal(asked, load_curve(plain, X, predicted_labels))
    with pytest.raises(ValueError, match="as many columns as there are classes, 2, have none of them"):
        load_curve(model, X, Y % 2)
    assert np.isfinite(load_curve(model, X, Y % 2, layers=["a", "b"])).all()  # nobody asks for the output


def test_of_a_layer_that_returns_several_tensors_the_first_is_measured():
    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.act = nn.LSTMCell(WIDTH, WIDTH), nn.ReLU()

        def forward(self, x):
            h = None
            for t in range(STEPS):
                h = self.cell(x[:, t], h)
            return self.act(h[0]) @ torch.ones(WIDTH, CLASSES)

    model = seeded(Cells)
    with pytest.warns(PartialWarning, match=r"what LSTMCell 'cell' computes inside.*layers=\[…, 'cell:1', …\]"):
        load_curve(model, X, Y)
    h = None
    with torch.no_grad():
        for t in range(2):
            h = model.cell(torch.tensor(X[:, t]), h)
    assert float(load_curve(model, X, Y, layers=["cell:2"])[0]) == pytest.approx(data_separation(h[0], Y), abs=2e-5)
