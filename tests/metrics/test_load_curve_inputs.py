"""What people have, in one call: loaders, dicts, masks, words, targets, files; and no meaningless curve without a word.

Nothing here needs transformers: the stand-ins follow its protocol (a BatchEncoding is a UserDict, a ModelOutput an
OrderedDict with attributes, a block returns a tuple, forward takes keywords).
"""

import random
import warnings
from collections import OrderedDict, UserDict

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

from deepmech.core.random import Stream
from deepmech.metrics import separation
from deepmech.metrics.load_curve import Partial, load_curve, over_positions, over_tokens
from deepmech.metrics.monitor import LoadCurveMonitor
from deepmech.metrics.reading import read
from deepmech.metrics.regression import probe_error

N, WIDTH, CLASSES, TOKENS = 60, 8, 3, 5


def data_separation(features, labels, metric="D", weights="samples"):
    """What a load curve shows by default."""
    return separation.data_separation(features, labels, metric, weights=weights, debias=metric == "D")


def seeded(build, *args, **kwargs):
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(7)
        return build(*args, **kwargs)


def mlp(depth=3, act=nn.ReLU):
    parts = [part for _ in range(depth) for part in (nn.Linear(WIDTH, WIDTH), act())]
    return nn.Sequential(*parts, nn.Linear(WIDTH, CLASSES))


@pytest.fixture
def sample():
    s = Stream.of("test what people have", 0)
    y = np.arange(N) % CLASSES
    return (s.normal("x", 0, (N, WIDTH)) + 2 * s.normal("m", 0, (CLASSES, WIDTH))[y]).astype(np.float32), y


@pytest.fixture
def text():
    """Token numbers, padded, with their mask."""
    s = Stream.of("test what people have", "text")
    y = np.arange(N) % CLASSES
    ids = (np.floor(3 * s.uniform("ids", 0, (N, TOKENS))).astype(int) + 4 * y[:, None]) % 12
    mask = np.arange(TOKENS) < 2 + np.floor((TOKENS - 1) * s.uniform("length", 0, N))[:, None]
    return torch.tensor(ids), torch.tensor(mask.astype(int)), torch.tensor(y)


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


class Rows(Dataset):
    """A data set of dicts, as ``datasets`` gives them."""

    def __init__(self, ids, mask, y, label="label", words=None):
        self.parts, self.label, self.words, self.y = (ids, mask), label, words, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        named = dict(zip(("input_ids", "attention_mask"), (part[i] for part in self.parts), strict=True))
        return named | {self.label: self.words[self.y[i]] if self.words else self.y[i]}


def test_a_loader_gives_the_curve_of_its_samples(sample):
    x, y = sample
    model = seeded(mlp)
    whole = load_curve(model, x, y, batch_size=20)
    data = TensorDataset(torch.tensor(x), torch.tensor(y))
    for source in (
        DataLoader(data, batch_size=20),
        data,
        list_of := [(x[i : i + 20], y[i : i + 20]) for i in (0, 20, 40)],
    ):
        if source is list_of:
            source = iter(list_of)
        np.testing.assert_allclose(load_curve(model, source, batch_size=20), whole, atol=1e-6)
    shuffled = DataLoader(data, batch_size=7, shuffle=True)
    np.testing.assert_allclose(load_curve(model, shuffled), whole, atol=1e-5)
    assert load_curve(model, DataLoader(data, batch_size=7)).attrs["samples"] == N
    first = load_curve(model, DataLoader(data, batch_size=7), n_samples=30)
    assert first.attrs["samples"] == 35  # whole batches
    np.testing.assert_allclose(first, load_curve(model, x, y, n_samples=35), atol=1e-5)


@pytest.mark.parametrize("weights", ["samples", "printed"])
def test_classes_that_come_late_in_a_stream_count_as_if_known_from_the_start(sample, weights):
    x, y = sample
    order = np.argsort(y, kind="stable")  # one class after the other
    x, y = x[order], y[order]
    data = TensorDataset(torch.tensor(x), torch.tensor(y))
    for metric in ("D", "D_hat"):
        streamed = load_curve(seeded(mlp), DataLoader(data, batch_size=9), metric=metric, weights=weights)
        np.testing.assert_allclose(streamed, load_curve(seeded(mlp), x, y, metric=metric, weights=weights), atol=1e-5)
    with pytest.raises(ValueError, match="class 2 of 4 has no sample"):
        load_curve(seeded(mlp), DataLoader([(a, b + (b == 2)) for a, b in data], batch_size=9))
    with pytest.raises(ValueError, match="n_classes = 2, but there are 3 classes"):
        load_curve(seeded(mlp), DataLoader(data, batch_size=9), n_classes=2)


def test_looking_draws_nothing_from_a_loader(sample):
    x, y = sample
    data, own = TensorDataset(torch.tensor(x), torch.tensor(y)), torch.Generator().manual_seed(1)
    loader = DataLoader(data, batch_size=9, shuffle=True, generator=own)
    before, outside = own.get_state(), torch.get_rng_state()
    load_curve(seeded(mlp), loader)
    monitor = LoadCurveMonitor(seeded(mlp), loader, n_samples=45)
    with monitor:
        pass
    assert torch.equal(own.get_state(), before) and torch.equal(torch.get_rng_state(), outside)


def test_a_monitor_measures_the_same_samples_every_time(sample):
    x, y = sample

    class Augmented(Dataset):
        def __len__(self):
            return N

        def __getitem__(self, i):
            return torch.tensor(x[i]) + torch.randn(WIDTH), int(y[i])

    with LoadCurveMonitor(seeded(mlp), DataLoader(Augmented(), batch_size=9, shuffle=True), every=1) as monitor:
        torch.rand(5)
        monitor.step()
    curves = monitor.result().load_curve
    np.testing.assert_array_equal(curves[0], curves[1])


def test_text_in_one_call(text):
    """The input of token numbers is no layer: the embedding begins the curve; foreign activations are known."""
    ids, mask, y = text
    model = seeded(Bert)
    loader = DataLoader(Rows(ids, mask, y), batch_size=16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = load_curve(model, loader)
    assert curve.layer.values.tolist() == ["embeddings", *(f"layer.{i}.act" for i in range(3)), "pooler_act"]
    encoded = BatchEncoding({"input_ids": ids, "attention_mask": mask})
    np.testing.assert_allclose(load_curve(model, encoded, y), curve, atol=1e-5)
    encoded["labels"] = y
    np.testing.assert_allclose(load_curve(model, encoded), curve, atol=1e-5)
    with torch.no_grad():
        h = model.embeddings(ids)
        assert float(curve[0]) == pytest.approx(data_separation(h.reshape(N, -1), y), abs=1e-5)
    output = load_curve(model, loader, layers=["output", "classifier"])
    assert output[0] == output[1]
    named = load_curve(model, DataLoader(Rows(ids, mask, y, label="stars"), batch_size=16), "stars")
    np.testing.assert_array_equal(named, curve)
    with pytest.raises(ValueError, match=r"layer 'input': the input is of type torch.int64. The distance between two"):
        load_curve(model, loader, layers=["input", "layer.0.act"])
    with pytest.raises(ValueError, match="no labels among input_ids, attention_mask, stars: name the entry"):
        load_curve(model, DataLoader(Rows(ids, mask, y, label="stars")))


def test_blocks_and_masked_means(text):
    """Over the stream from block to block; tuples give their first tensor, pool sees the batch with its mask."""
    ids, mask, y = text
    model = seeded(Bert)
    encoded = BatchEncoding(input_ids=ids, attention_mask=mask)
    curve = load_curve(model, encoded, y, layers="blocks", pool=over_tokens)
    assert curve.layer.values.tolist() == ["before blocks", "layer.0", "layer.1", "layer.2"]
    with torch.no_grad():
        h, by_hand = model.embeddings(ids), []
        for layer in [None, *model.layer]:
            h = h if layer is None else layer(h, attention_mask=mask)[0]
            mean = torch.stack([rows[kept.bool()].mean(0) for rows, kept in zip(h, mask, strict=True)])
            by_hand.append(data_separation(mean, y))
    np.testing.assert_allclose(curve, by_hand, atol=1e-5)
    unmasked = load_curve(model, encoded, y, layers="blocks", pool=over_positions)
    assert abs(float(unmasked[0] - curve[0])) > 1e-3
    seen = []
    load_curve(model, encoded, y, layers="blocks", pool=lambda h, batch: seen.append(batch.input_ids) or h[:, 0])
    assert torch.equal(seen[0], ids)
    with pytest.raises(ValueError, match=r"attention_mask none: expected \(n, tokens, features\)"):
        load_curve(model, encoded, y, layers="blocks", pool=lambda h, batch: over_tokens(h, {}))


class Basic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.relu = nn.BatchNorm1d(width), nn.ReLU()

    def forward(self, x):
        return x + self.relu(self.norm(x))


def test_blocks_are_the_outermost_modules_that_repeat(sample):
    stages = nn.Sequential(*(nn.Sequential(Basic(WIDTH), Basic(WIDTH)) for _ in range(2)))
    model = seeded(lambda: nn.Sequential(nn.Linear(WIDTH, WIDTH), stages, nn.Linear(WIDTH, CLASSES)))
    names = load_curve(model, *sample, layers="blocks").layer.values.tolist()
    assert names == ["before blocks", "1.0.0", "1.0.1", "1.1.0", "1.1.1"]
    by_name = load_curve(model, *sample, layers=["0", *names[1:]])
    np.testing.assert_array_equal(load_curve(model, *sample, layers="blocks"), by_name)
    plain = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(3)), nn.Linear(WIDTH, 3))
    assert load_curve(plain, *sample, layers="blocks").layer.values.tolist() == ["before blocks", "0", "1", "2"]
    shared = Basic(WIDTH)

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = shared, Basic(WIDTH)

        def forward(self, x):
            return self.two(self.one(self.one(x)))

    uses = load_curve(Twice(), *sample, layers="blocks").layer.values.tolist()
    assert uses == ["before blocks", "one:1", "one:2", "two"]

    class Stage(nn.Module):
        def __init__(self, extra):
            super().__init__()
            self.layers = nn.Sequential(Basic(WIDTH), Basic(WIDTH))
            self.down = nn.Linear(WIDTH, WIDTH) if extra else nn.Identity()

        def forward(self, x):
            return self.down(self.layers(x))

    for extra, expected in (
        (False, [f"{i}.layers.{j}" for i in range(3) for j in range(2)]),  # stages that hold nothing but blocks
        (True, ["0", "1", "2"]),
    ):
        staged = nn.Sequential(*(Stage(extra) for _ in range(3)))
        assert load_curve(staged, *sample, layers="blocks").layer.values.tolist() == ["before blocks", *expected]
    pair = nn.Sequential(Stage(True), Stage(True))  # two are no curve, the four in them are
    assert load_curve(pair, *sample, layers="blocks").sizes["layer"] == 5
    with pytest.raises(ValueError, match="'blocks': no blocks are repeated here; name the layers: input, output, 0"):
        load_curve(mlp(), *sample, layers="blocks")


def test_torchs_own_transformer_with_a_padding_mask(text):
    """The fast path would hide the modules inside and pack masked tokens; afterwards it is as it was."""
    ids, mask, y = text

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True, activation=nn.GELU())
            self.embed, self.encoder = nn.Embedding(12, WIDTH), nn.TransformerEncoder(layer, 2)
            self.out = nn.Linear(WIDTH, CLASSES)

        def forward(self, ids, mask):
            return self.out(self.encoder(self.embed(ids), src_key_padding_mask=mask == 0).mean(1))

    model = seeded(Encoder)
    loader = DataLoader(TensorDataset(ids, mask, y), batch_size=16)
    curve = load_curve(
        model, loader, layers="blocks", pool=lambda h, batch: over_tokens(h, {"attention_mask": batch[1]})
    )
    assert curve.layer.values.tolist() == ["before blocks", "encoder.layers.0", "encoder.layers.1"]
    assert np.isfinite(curve).all() and torch.backends.mha.get_fastpath_enabled()
    inside = load_curve(model, loader, layers=["encoder.layers.0.linear1", "encoder.layers.1.linear1"])
    assert inside[0] != inside[1]
    with pytest.raises(ValueError, match="never called"):
        load_curve(model, loader, layers=["encoder.layers.0.self_attn.out_proj"])
    assert torch.backends.mha.get_fastpath_enabled()


def test_words_are_classes(sample, text):
    x, y = sample
    words = np.array(["cat", "dog", "eel"])[y]
    plain = load_curve(seeded(mlp), x, y)
    for labels in (words, words.tolist(), words.astype(object)):
        np.testing.assert_array_equal(load_curve(seeded(mlp), x, labels), plain)
    ids, mask, numbers = text
    model = seeded(Bert)
    streamed = load_curve(model, DataLoader(Rows(ids, mask, numbers, words=["c", "a", "b"]), batch_size=16))
    by_number = load_curve(model, DataLoader(Rows(ids, mask, numbers), batch_size=16))
    np.testing.assert_allclose(streamed, by_number, atol=1e-5)
    same = DataLoader([{"x": a, "y": "all"} for a in torch.tensor(x)], batch_size=9)
    with pytest.raises(ValueError, match="all samples are of class 'all': separation needs two"):
        load_curve(seeded(mlp), same, forward=lambda model, batch: model(batch["x"]))


def test_forward_says_how_to_call(sample):
    x, y = sample
    model = seeded(mlp)
    batches = DataLoader([{"image": a, "index": 0, "label": b} for a, b in zip(x, y, strict=True)], batch_size=16)
    curve = load_curve(model, batches, forward=lambda model, batch: model(batch["image"]))
    np.testing.assert_allclose(curve, load_curve(model, x, y), atol=1e-5)
    with pytest.raises(ValueError, match=r"cannot be called with \(image=…, index=…\).*forward=lambda model, batch"):
        load_curve(model, batches)
    first = DataLoader(TensorDataset(torch.tensor(y), torch.tensor(x)), batch_size=16)
    np.testing.assert_allclose(load_curve(model, first, 0), curve, atol=1e-5)


def test_regression_is_measured_by_a_probe(sample):
    x, y = sample
    target = x @ np.linspace(-1, 1, WIDTH) + 0.3 * y
    model = seeded(mlp, act=nn.Tanh)
    curve = load_curve(model, x, target, target="regression", batch_size=16)
    assert curve.name == "probe_error" and "units" not in curve.attrs and "classes" not in curve.attrs
    with torch.no_grad():
        h, by_hand = torch.tensor(x), [probe_error(x, target)]
        for part in model[:-1]:
            h = part(h)
            if isinstance(part, nn.Tanh):
                by_hand.append(probe_error(h.numpy(), target))
    np.testing.assert_allclose(curve, by_hand, rtol=1e-3)
    loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(target)), batch_size=16)
    np.testing.assert_allclose(load_curve(model, loader, target="regression"), curve, rtol=1e-3)
    several = np.stack([target, 0 * target + 1, y == 0], 1)  # yes-or-no labels are targets, too
    both = load_curve(model, x, several, target="regression", batch_size=16)
    one, two = curve, load_curve(model, x, y == 0, target="regression", batch_size=16)
    np.testing.assert_allclose(both, np.sqrt((one**2 + two**2) / 3), rtol=1e-6)
    with torch.no_grad():
        model[2].weight[0, 0] = torch.nan
    with pytest.raises(ValueError, match="layer '3': features: 16 of 128 values"):
        load_curve(model, x, target, target="regression", batch_size=16)
    gone = load_curve(model, x, target, target="regression", diverged_to_nan=True)
    assert np.isfinite(gone).values.tolist() == [True, True, False, False]


def test_files_are_not_copied_to_memory(sample, tmp_path):
    """Of a mapped file only one batch at a time becomes an array."""
    x, y = sample
    np.save(tmp_path / "x.npy", x)
    rows = []

    class Mapped:
        """As an h5py.Dataset: it has a shape and a type, and slices are arrays."""

        shape, dtype = x.shape, x.dtype

        def __getitem__(self, at):
            rows.append(len(x[at]))
            return x[at]

    plain = load_curve(seeded(mlp), x, y, batch_size=16)
    np.testing.assert_array_equal(
        load_curve(seeded(mlp), np.load(tmp_path / "x.npy", mmap_mode="r"), y, batch_size=16), plain
    )
    np.testing.assert_array_equal(load_curve(seeded(mlp), Mapped(), y, batch_size=16), plain)
    assert rows == [16, 16, 16, 12]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision(sample, dtype):
    x, y = sample
    full = load_curve(seeded(mlp), x, y)
    np.testing.assert_allclose(load_curve(seeded(mlp).to(dtype), x, y), full, atol=0.05)
    seen = []
    model = seeded(mlp)
    model[0].register_forward_hook(lambda module, args, output: seen.append(output.dtype))
    mixed = load_curve(model, x, y, autocast=dtype)
    np.testing.assert_allclose(mixed, full, atol=0.05)
    assert seen[-1] == dtype and (mixed != full).any()
    regression = load_curve(seeded(mlp).to(dtype), x, x[:, 0], target="regression")
    assert np.isfinite(regression).all()


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


def test_activations_that_are_functions_are_layers(sample):
    """They say the same as modules, in the order of calls, named by the module around and their own name."""
    model = seeded(Half)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = load_curve(model, *sample, batch_size=16)
    assert curve.layer.values.tolist() == [
        "input",
        *(f"acts.{i}" for i in range(3)),
        *(f"relu():{i}" for i in (1, 2, 3)),
    ]
    assert curve.kind.values.tolist() == ["", *["ReLU"] * 3, *["relu()"] * 3]
    modules = nn.Sequential(*(part for linear in model.linears for part in (linear, nn.ReLU())))
    np.testing.assert_allclose(curve, load_curve(modules, *sample), atol=1e-5)
    one = load_curve(model, *sample, layers=["relu():2"])
    assert float(one[0]) == pytest.approx(float(curve.sel(layer="relu():2")), abs=1e-6)
    with pytest.raises(ValueError, match=r"layer 'relu\(\)' is called more than once"):
        load_curve(model, *sample, layers=["relu()"])
    with pytest.raises(ValueError, match=r"layer 'tanh\(\)' was never called"):
        load_curve(model, *sample, layers=["tanh()"])
    inside = nn.Sequential(OrderedDict(body=model, head=nn.Linear(WIDTH, CLASSES)))
    assert load_curve(inside, *sample).layer.values.tolist()[-1] == "body.relu():3"
    traced = torch.fx.symbolic_trace(model)
    np.testing.assert_allclose(load_curve(traced, *sample), curve, atol=1e-5)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.act = nn.LSTM(WIDTH, WIDTH, batch_first=True), nn.ReLU()

    def forward(self, x):
        return torch.sigmoid(self.act(self.rnn(x[:, None])[0][:, 0]))


def test_what_cannot_be_seen_is_named(sample):
    """With the line to write: an LSTM's inside, a scripted module's."""
    with pytest.warns(Partial, match=r"what LSTM 'rnn' computes inside.*layers=\[…, 'rnn', …\]") as told:
        curve = load_curve(Sequence(), *sample)
    assert len(told) == 1 and told[0].filename == __file__
    assert "LSTM 'rnn'" in curve.attrs["left_out"] and "LSTM 'rnn'" in str(
        read(xr.DataArray([3.0, 2.0, 0.0], dims="layer", attrs=curve.attrs))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_curve(Sequence(), *sample, layers=["input", "rnn", "act"]).notnull().all()
    only = nn.Sequential(OrderedDict(rnn=nn.GRU(WIDTH, WIDTH), head=nn.Identity()))
    with pytest.raises(ValueError, match=r"no activation to choose by default.*layers=\['input', 'rnn'\], say"):
        load_curve(only, *sample)
    scripted = torch.jit.script(seeded(mlp))
    with pytest.raises(ValueError, match=r"a scripted module .* load_curve\(original, …\)"):
        load_curve(scripted, *sample)
    ends = load_curve(scripted, *sample, layers=["input", "output"])
    np.testing.assert_allclose(ends, load_curve(seeded(mlp), *sample, layers=["input", "output"]), atol=1e-5)
    partly = nn.Sequential(OrderedDict(body=scripted, act=nn.ReLU()))
    with pytest.warns(Partial, match="RecursiveScriptModule 'body'"):
        assert load_curve(partly, *sample).layer.values.tolist() == ["input", "act"]


def test_compiled_and_quantised_networks_are_measured(sample):
    """Compiled whole, in place, or in part: as if they were not. Of a quantised one, what its codes stand for."""
    curve, runs = load_curve(seeded(mlp), *sample), []

    def backend(graph, inputs):
        runs.append(graph)
        return graph.forward

    part = seeded(mlp)
    for i in (1, 3):
        part[i] = torch.compile(part[i], backend=backend)
    whole = torch.compile(seeded(mlp), backend=backend)
    in_place = seeded(mlp)
    in_place.compile(backend=backend)
    for model in (whole, in_place, part):
        model(torch.tensor(sample[0]))
        before = len(runs)
        np.testing.assert_allclose(load_curve(model, *sample), curve, atol=1e-5)
        assert before and len(runs) == before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        dynamic = torch.ao.quantization.quantize_dynamic(seeded(mlp), {nn.Linear})
        np.testing.assert_allclose(load_curve(dynamic, *sample), curve, atol=0.1)
        static = nn.Sequential(torch.ao.quantization.QuantStub(), *seeded(mlp)[:-1]).eval()
        static.qconfig = torch.ao.quantization.get_default_qconfig(torch.backends.quantized.engine)
        ready = torch.ao.quantization.prepare(static)
        ready(torch.tensor(sample[0]))
        codes = torch.ao.quantization.convert(ready)
    found = load_curve(codes, *sample, layers=["2", "4", "6"])
    assert codes(torch.tensor(sample[0])).is_quantized
    np.testing.assert_allclose(found, curve[1:], atol=0.1)


def test_the_monitor_takes_the_same_and_says_it_once(sample, text):
    ids, mask, y = text
    model = seeded(Bert)
    options = {"layers": "blocks", "pool": over_tokens}
    with LoadCurveMonitor(model, DataLoader(Rows(ids, mask, y), batch_size=16), every=1, **options) as monitor:
        monitor.step()
    result = monitor.result()
    expected = load_curve(model, {"input_ids": ids, "attention_mask": mask}, y, **options)
    np.testing.assert_allclose(result.load_curve[-1], expected, atol=1e-5)
    assert result.load_curve.attrs["long_name"] == "data separation" and "long_name" not in result.attrs
    with pytest.warns(Partial) as told, LoadCurveMonitor(Sequence(), *sample, every=1) as monitor:
        monitor.step()
    assert len(told) == 1


def test_a_pass_that_looks_first_changes_nothing_that_is_measured(sample):
    """Of a model that draws numbers in evaluation mode, the same are drawn as if nobody had looked."""
    x, y = sample

    class Noisy(nn.Module):
        def forward(self, x):
            return x + torch.randn_like(x) + random.random()

    model = nn.Sequential(Noisy(), nn.ReLU(inplace=True))
    with torch.random.fork_rng(devices=[]):
        random.seed(3)
        torch.default_generator.manual_seed(3)
        chosen = load_curve(model, x, y)
        np.testing.assert_array_equal(chosen, load_curve(model, x, y, layers=["input", "1"]))
