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

N, WIDTH, CLASSES, TOKENS, STEPS = 60, 8, 3, 5, 6


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


OF_MODULES = {
    *("lstm", "gru", "sequence first", "batch first", "resnet", "highway", "windows", "views", "experts"),
    "of parameters",
}


class Zoo(nn.Module):
    """Samples (n, STEPS, WIDTH) through an architecture, each of whose hidden layers passes ``here``."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.here = kind, nn.Identity()
        self.a, self.b, self.c = (nn.Linear(WIDTH, WIDTH) for _ in "abc")
        self.up, self.down, self.head = nn.Linear(WIDTH, 16), nn.Linear(16, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.act = nn.ReLU(inplace=True) if kind in OF_MODULES else None
        self.sigmoid = nn.Sigmoid() if kind in ("silu of a module", "highway") else None
        self.table, self.alpha = nn.Parameter(torch.ones(STEPS, WIDTH)), nn.Parameter(torch.ones(()))
        self.cell = {"lstm": nn.LSTM, "gru": nn.GRU}.get(kind, nn.Identity)(WIDTH, WIDTH)
        batch_first = kind == "batch first"
        self.encoder = nn.TransformerEncoderLayer(WIDTH, 2, 16, activation="gelu", batch_first=batch_first)
        self.conv, self.pool = nn.Conv2d(WIDTH, WIDTH, 3, 1, 1), nn.MaxPool2d(1)
        self.embed = nn.Embedding(STEPS, WIDTH)

    def forward(self, x):
        return self.head(getattr(self, self.kind.replace(" ", "_"))(x))

    def lstm(self, x):
        return self.here(self.act(self.cell(x.transpose(0, 1))[0]))[-1]

    gru = lstm

    def sequence_first(self, x):
        return self.here(self.act(self.a(self.encoder(x.transpose(0, 1))))).mean(0)

    def batch_first(self, x):
        return self.here(self.act(self.a(self.encoder(x)))).mean(1)

    def resnet(self, x):
        h = x.transpose(1, 2)[..., None]
        for _ in range(2):
            r = self.conv(self.here(self.act(self.conv(h))))
            r += h
            h = self.here(self.act(r))
        return h.mean((2, 3))

    def unet(self, x):
        one = self.here(F.relu(self.a(x)))
        low = self.here(F.elu(self.b(one[:, ::2])))
        return torch.cat([one, low.repeat_interleave(2, 1)], 1).mean(1)

    def by_hand(self, x, function):
        return self.here(function(self.b(self.here(function(self.a(x)))))).mean(1)

    def silu(self, x):
        return self.by_hand(x, lambda z: z * torch.sigmoid(z))

    def silu_of_a_module(self, x):
        return self.by_hand(x, lambda z: self.sigmoid(1.702 * z) * z)

    def mish(self, x):
        return self.by_hand(x, lambda z: z * torch.tanh(F.softplus(z)))

    def new_gelu(self, x):
        return self.by_hand(x, new_gelu)

    def erf(self, x):
        return self.by_hand(x, lambda z: z * 0.5 * (1.0 + torch.erf(z / 2**0.5)))

    def squared(self, x):
        return self.by_hand(x, lambda z: F.relu(z) ** 2)

    def leaky(self, x):
        return self.by_hand(x, lambda z: F.relu(z) - 0.1 * F.relu(-z))

    def swiglu(self, x):
        return self.down(self.here(F.silu(self.up(x))) * self.up(x + 1)).mean(1)

    def gru_by_hand(self, x):
        h = x[:, 0]
        for t in range(1, 3):
            z, r = torch.sigmoid(self.up(x[:, t] + h)).chunk(2, 1)
            h = (1 - z) * self.here(torch.tanh(self.a(x[:, t]) + r * self.b(h))) + z * h
        return h

    def highway(self, x):
        for _ in range(2):
            gate = self.sigmoid(self.b(x))
            x = self.here(self.act(self.a(x))) * gate + x * (1 - gate)
        return x.mean(1)

    def windows(self, x):
        w = F.gelu(self.up(x.reshape(-1, 2, WIDTH)))  # windows of two steps, folded into the batch
        x = x + self.down(w).view_as(x) + torch.sigmoid(self.c(self.table))
        return self.here(self.act(self.a(x))).mean(1)

    def views(self, x):
        h = torch.relu(self.a(torch.cat([x, -x])))
        return self.here(self.act(self.b(h[: len(x)] + h[len(x) :]))).mean(1)

    def experts(self, x):
        out, chosen = torch.zeros_like(x), self.c(x).argmax(-1) % 3
        for i, expert in enumerate((self.a, self.b, self.c)):
            out[chosen == i] = torch.relu(expert(x[chosen == i]))
        return self.here(self.act(self.a(x + out))).mean(1)

    def of_parameters(self, x):
        h = self.here(self.act(self.a(x + F.softplus(self.table)))) * torch.sigmoid(self.alpha)
        return self.down(h.mean(1) @ torch.relu(self.up.weight).T)


class Parts(Zoo):
    """It returns its last features, and the logits."""

    def forward(self, x):
        h = self.silu(x)
        return h, self.head(h)


class GPT(Zoo):
    """Token numbers and a mask, by keyword; a block's MLP with a function of its own."""

    main_input_name = "input_ids"

    def forward(self, *, input_ids, attention_mask):
        h = self.embed(input_ids)
        for _ in range(2):
            mixed = h + (h * attention_mask[..., None]).cumsum(1)
            h = mixed + self.down(self.here(new_gelu(self.up(mixed))))
        return ModelOutput(hidden_states=h, logits=self.head(h.mean(1)))


def new_gelu(x):
    """As nanoGPT has it."""
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0))))
