"""Laws of the default layers: what a layer is, what the output is, and that the result says so."""

import numpy as np
import pytest
import torch
from example_networks import CLASSES, WIDTH, sample, seeded
from torch import nn
from torch.nn import functional as F

from deepmech.metrics.interpret import interpret
from deepmech.metrics.layers import is_activation
from deepmech.metrics.load_curve import PartialWarning, load_curve

X, Y = sample()


class End(nn.Module):
    """Two hidden layers, and a last step that may be a module, a function, or a copy of what they make."""

    def __init__(self, last):
        super().__init__()
        self.a, self.b, self.c, self.act = nn.Linear(WIDTH, 16), nn.Linear(16, 16), nn.Linear(16, CLASSES), nn.ReLU()
        self.module = last if isinstance(last, nn.Module) else None
        self.last = last

    def forward(self, x):
        return self.last(self.c(self.act(self.b(F.elu(self.a(x))))))


ENDS = {
    "nothing": lambda z: z,
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": F.relu, "in place": torch.Tensor.sigmoid_,
    "module": nn.Sigmoid(), "module tanh": nn.Tanh(), "two modules": nn.Sequential(nn.ReLU(), nn.Dropout()),
    "squeezed": lambda z: torch.sigmoid(z)[:, None].squeeze(1), "transposed": lambda z: torch.sigmoid(z.T).T,
    "copied": lambda z: torch.sigmoid(z).clone(), "double": lambda z: torch.sigmoid(z).double(),
    "part": lambda z: torch.sigmoid(z)[:, :2], "first": lambda z: [z.sigmoid()],
    "fields": lambda z: {"loss": z.sum(), "logits": z.sigmoid()}, "clamp": lambda z: z.clamp(min=0),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_what_the_model_returns_is_its_output_however_it_was_made(end):
    curve = load_curve(seeded(lambda: End(ENDS[end])), X, Y)
    expected = load_curve(seeded(lambda: End(ENDS["nothing"])), X, Y)
    assert curve.layer.values.tolist() == ["input", "elu()", "act"]
    np.testing.assert_array_equal(curve, expected)
    assert ("which makes the output" in curve.attrs["layers_are"]) == (end != "nothing")
    assert interpret(curve).verdict == interpret(expected).verdict


def test_an_activation_that_is_overwritten_makes_no_output():
    class Added(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.act = nn.Linear(WIDTH, WIDTH), nn.ReLU()

        def forward(self, x):
            h = self.act(self.a(x))
            h += x
            return h

    assert load_curve(seeded(Added), X, Y).layer.values.tolist() == ["input", "act"]
    with pytest.raises(
        ValueError, match=r"no activation to choose.*'1' makes the output, which is no layer by default"
    ):
        load_curve(nn.Sequential(nn.Linear(WIDTH, 3), nn.ReLU()), X, Y)


class HardSigmoid(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU6()

    def forward(self, x):
        return self.act(x + 3) / 6


class Gate(nn.Module):
    """Squeeze and excitation, as people write it."""

    def __init__(self, how):
        super().__init__()
        self.how, last = how, HardSigmoid() if how == "hard" else nn.Sigmoid()
        one = nn.Linear if how in ("linear", "expand", "in place") else lambda a, b: nn.Conv2d(a, b, 1)
        self.fc1, self.act, self.fc2, self.last = one(8, 2), nn.ReLU(), one(2, 8), last
        self.fc = nn.Sequential(self.fc1, self.act, self.fc2, self.last)

    def forward(self, x):
        if self.how == "space":
            return x * torch.sigmoid(x.mean(1, keepdim=True))
        s = x.mean((2, 3), keepdim=True)
        if self.how in ("linear", "expand", "in place"):
            s = self.fc(s.flatten(1)).view(*s.shape)
            if self.how == "in place":
                return x.clone().mul_(s)
            return x * s.expand_as(x) if self.how == "expand" else s * x
        if self.how == "functions":
            return torch.mul(torch.sigmoid(self.fc2(F.relu(self.fc1(s)))), x)
        return x * self.fc(s)


class Gated(nn.Module):
    def __init__(self, how, side=4):
        super().__init__()
        self.side = side
        self.a, self.b, self.act = nn.Conv2d(1, 8, 1), nn.Conv2d(8, 8, 3, 2, 1), nn.SiLU()
        self.gate, self.gate2, self.head = (
            *((Gate(how), Gate(how)) if how else (nn.Identity(), nn.Identity())), nn.Linear(8, CLASSES)
        )  # fmt: skip

    def forward(self, x):
        h = self.gate(self.act(self.a(x)))
        h = self.gate2(self.act(self.b(h)))
        h = self.act(self.b(h))
        return self.head(h.mean((2, 3)))


IMAGES = (
    torch.randn(len(X), 1, 4, 4, generator=torch.Generator().manual_seed(0)).double().float()
    + torch.tensor(Y)[:, None, None, None]
)


@pytest.mark.parametrize("side", [4, 2])  # of 2, a map of one position comes to a gate
@pytest.mark.parametrize("how", ["conv", "linear", "expand", "in place", "functions", "hard", "space"])
def test_gates_are_no_layers(how, side):
    curve = load_curve(seeded(lambda: Gated(how)), IMAGES[..., :side, :side], Y)
    assert curve.layer.values.tolist() == ["input", "act:1", "act:2", "act:3"]
    assert "without gates" in curve.attrs["layers_are"]


def test_features_that_meet_features_as_large_are_layers():
    class Swish(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.act = (*(nn.Linear(WIDTH, WIDTH) for _ in "abc"), nn.SiLU())
            self.beta, self.scale = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.ones(2, 1, WIDTH))

        def forward(self, x):
            h = self.act(self.a(x)) * self.b(x) * F.softplus(self.beta)
            return self.c(torch.relu(h) * self.scale[0])

    curve = load_curve(seeded(Swish), X, Y)
    assert curve.layer.values.tolist() == ["input", "act", "relu()"]
    assert curve.attrs["layers_are"] == "the input, then each activation in the order of calls"


def test_activations_that_are_never_called_are_left_out_and_named():
    class Spare(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.act, self.spare, self.c = nn.Linear(WIDTH, 9), nn.ReLU(), nn.GELU(), nn.Linear(9, CLASSES)
            self.more = nn.ModuleList(nn.Tanh() for _ in range(9))

        def forward(self, x):
            return self.c(self.act(self.a(x)))

    with pytest.warns(PartialWarning, match=r"never called: 'spare' \(GELU\), 'more.0' \(Tanh\).* and 5 more$"):
        curve = load_curve(seeded(Spare), X, Y)
    assert curve.layer.values.tolist() == ["input", "act"] and "'spare'" in curve.attrs["left_out"]


@pytest.mark.parametrize(
    "cut",
    [
        lambda z: z.clamp(min=0), lambda z: z.clamp(0), lambda z: torch.clamp(z, 0.0), lambda z: z.clamp_(min=0),
        lambda z: torch.clamp_min(z, 0), lambda z: z.clip(0, 6), lambda z: torch.clamp(z, min=0, max=None),
    ],
)  # fmt: skip
def test_a_clamp_at_zero_is_an_activation_and_no_other_is(cut):
    class Clamped(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(WIDTH, 9), nn.Linear(9, 9), nn.Linear(9, CLASSES)

        def forward(self, x):
            h = cut(self.a(x))
            return self.c(torch.relu(self.b(h / h.norm(dim=1, keepdim=True).clamp(min=1e-9))))

    curve = load_curve(seeded(Clamped), X, Y)
    assert curve.sizes["layer"] == 3 and curve.layer.values[-1] == "relu()"
    assert curve.layer.values[1].startswith("cl")


@pytest.mark.parametrize("name", [
    "ReLU", "Relu", "MyReLU", "LeakyRelu", "leaky_relu", "QuickGELU", "NewGELUActivation", "ReLUSquaredActivation",
    "HardMish", "Swish", "SiLU", "Snake1d", "GELUTanh", "ScaledTanh", "MyElu", "SELU2", "quick_gelu", "ReLU2", "QReLU",
])  # fmt: skip
def test_classes_that_are_activations_by_name(name):
    assert is_activation(type(name, (nn.Module,), {})())


@pytest.mark.parametrize("name", [
    "Deluge", "VoxelUnit", "Prelude", "LabelUnit", "ModelUpdate", "Reluctant", "PixelUnshuffle", "LevelUp", "ChannelUp",
    "Mishmash", "SigmoidFocalLoss", "LinearActivation", "ActivationNorm", "SoftmaxTanh", "Interleaver", "Tanhauser",
])  # fmt: skip
def test_classes_that_only_sound_so(name):
    assert not is_activation(type(name, (nn.Module,), {})())


def test_blocks_say_what_a_block_is():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            return x + torch.relu(self.a(x))

    model = seeded(lambda: nn.Sequential(*(Block() for _ in range(4)), nn.Linear(WIDTH, CLASSES)))
    told = load_curve(model, X, Y, layers="blocks").attrs["layers_are"]
    assert told == "what enters the first block, then what each block returns: 4 calls of a Block"
    assert load_curve(model, X, Y, layers=["0", "1"]).attrs["layers_are"] == "as named"
