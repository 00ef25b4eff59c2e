"""Small networks and samples, which the tests of load curves share.

Nothing here needs transformers: the stand-ins follow its protocol (a BatchEncoding is a UserDict, a ModelOutput an
OrderedDict with attributes, a block returns a tuple, forward takes keywords).
"""

from collections import OrderedDict, UserDict

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from deepmech.core.random import Stream
from deepmech.metrics import separation

N, WIDTH, CLASSES, TOKENS = 60, 8, 3, 5


def data_separation(features, labels, metric="D"):
    """What a load curve shows by default."""
    return separation.data_separation(features, np.asarray(labels), metric, debias=metric == "D")


def sample(n=N):
    """Features (n, WIDTH) about the means of their classes, as arrays."""
    s = Stream.of("test what people have", 0)
    y = np.arange(n) % CLASSES
    return (s.normal("x", 0, (n, WIDTH)) + 2 * s.normal("m", 0, (CLASSES, WIDTH))[y]).astype(np.float32), y


def tensors(n=N):
    x, y = sample(n)
    return torch.tensor(x), torch.tensor(y)


def text():
    """Token numbers, padded, with their mask."""
    s = Stream.of("test what people have", "text")
    y = np.arange(N) % CLASSES
    ids = (np.floor(3 * s.uniform("ids", 0, (N, TOKENS))).astype(int) + 4 * y[:, None]) % 12
    mask = np.arange(TOKENS) < 2 + np.floor((TOKENS - 1) * s.uniform("length", 0, N))[:, None]
    return torch.tensor(ids), torch.tensor(mask.astype(int)), torch.tensor(y)


def seeded(build, *args, seed=7, **kwargs):
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return build(*args, **kwargs)


def mlp(depth=3, act=nn.ReLU, width=WIDTH, classes=CLASSES, seed=7):
    return seeded(
        lambda: nn.Sequential(
            *(part for _ in range(depth) for part in (nn.Linear(width, width), act())), nn.Linear(width, classes)
        ),
        seed=seed,
    )


def paper_network(depth=3):
    """As in paper A, with running averages that are not those of new networks."""

    def build():
        parts = [("bn0", nn.BatchNorm1d(WIDTH))]
        for i in range(1, depth + 1):
            layers = nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.LeakyReLU(0.2), nn.Dropout(0.3)
            parts += zip((f"fc{i}", f"bn{i}", f"act{i}", f"drop{i}"), layers, strict=True)
        model = nn.Sequential(OrderedDict([*parts, ("out", nn.Linear(WIDTH, CLASSES))]))
        model(3 * torch.randn(50, WIDTH))
        return model

    return seeded(build)


class BatchEncoding(UserDict):
    def __getattr__(self, name):
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None


class ModelOutput(OrderedDict):
    __getattr__ = OrderedDict.__getitem__


class NewGELUActivation(nn.Module):
    """Somebody else's activation."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(0.8 * (x + 0.044715 * x**3)))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense, self.act, self.back = nn.Linear(WIDTH, 2 * WIDTH), NewGELUActivation(), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, hidden_states, attention_mask=None):
        kept = attention_mask[..., None].to(hidden_states)
        mixed = hidden_states + (hidden_states * kept).sum(1, keepdim=True) / kept.sum(1, keepdim=True)
        return (mixed + self.back(self.act(self.dense(mixed))), None)


class Bert(nn.Module):
    """A text classifier with the protocol of Hugging Face's."""

    main_input_name = "input_ids"

    def __init__(self, depth=3):
        super().__init__()
        self.embeddings = nn.Embedding(12, WIDTH)
        self.layer = nn.ModuleList(Layer() for _ in range(depth))
        self.pooler_act, self.classifier = nn.Tanh(), nn.Linear(WIDTH, CLASSES)

    def forward(self, *, input_ids, attention_mask):
        h = self.embeddings(input_ids)
        for layer in self.layer:
            h = layer(h, attention_mask=attention_mask)[0]
        return ModelOutput(hidden_states=h, logits=self.classifier(self.pooler_act(h[:, 0])))


class Basic(nn.Module):
    """A residual block."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.norm, self.linear, self.act = nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU()

    def forward(self, x):
        return x + self.act(self.linear(self.norm(x)))


class Half(nn.Module):
    """Six layers; the last three call a function where the first call a module."""

    def __init__(self):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(6))
        self.acts = nn.ModuleList(nn.ReLU() for _ in range(3))

    def forward(self, x):
        for i, linear in enumerate(self.linears):
            x = self.acts[i](linear(x)) if i < 3 else F.relu(linear(x), inplace=i == 4)
        return x


class Shared(nn.Module):
    """One ReLU in two places."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.act = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.ReLU()

    def forward(self, x):
        return self.act(self.two(self.act(self.one(x))))


class Sequence(nn.Module):
    """Recurrent, and with probabilities at its end."""

    def __init__(self):
        super().__init__()
        self.rnn, self.act = nn.LSTM(WIDTH, WIDTH, batch_first=True), nn.ReLU()

    def forward(self, x):
        return torch.sigmoid(self.act(self.rnn(x[:, None])[0][:, 0]))
