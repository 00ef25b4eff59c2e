"""What people have, in one call: loaders, dicts, masks, words, targets, files, several labels, samples bit by bit."""

import re
import warnings
from collections import OrderedDict, namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from example_networks import (
    CLASSES,
    WIDTH,
    BatchEncoding,
    Bert,
    N,
    data_separation,
    mlp,
    sample,
    seeded,
    tensors,
    text,
)
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from deepmech.metrics.interpret import leave_one_out
from deepmech.metrics.load_curve import (
    LoadCurve,
    load_curve,
    masked_mean_pool,
    mean_pool,
    predicted_labels,
)

X, Y = sample()
ROWS = TensorDataset(torch.tensor(X), torch.tensor(Y))


class Rows(Dataset):
    """A data set of dicts, as ``datasets`` gives them."""

    def __init__(self, ids, mask, y, label="label", words=None):
        self.parts, self.label, self.words, self.y = (ids, mask), label, words, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        named = dict(zip(("input_ids", "attention_mask"), (part[i] for part in self.parts), strict=True))
        return named | {self.label: self.words[self.y[i]] if self.words else self.y[i]}


def batches(*columns, size=16, **named):
    """A loader of tuples, or of dicts."""
    rows = [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]
    return DataLoader(rows or TensorDataset(*map(torch.as_tensor, columns)), batch_size=size)


def test_a_source_is_read_as_far_as_asked():
    shuffled = DataLoader(ROWS, batch_size=7, shuffle=True, generator=torch.Generator().manual_seed(0))
    assert load_curve(mlp(), shuffled, n_samples=30).attrs["samples"] == 35  # whole batches
    np.testing.assert_allclose(load_curve(mlp(), shuffled), load_curve(mlp(), X, Y), atol=1e-5)
    named = batches(image=X, index=Y, label=Y)
    curve = load_curve(mlp(), named, forward=lambda model, batch: model(batch["image"]))
    np.testing.assert_allclose(curve, load_curve(mlp(), X, Y), atol=1e-5)
    np.testing.assert_allclose(load_curve(mlp(), ROWS, n_samples=30), load_curve(mlp(), X, Y, n_samples=30), atol=1e-5)


@pytest.mark.parametrize(
    ("x", "how", "message"),
    [
        (X, {"y": Y[1:]}, r"x \(60, 8\) and y \(59,\)"),
        (X, {}, r"y = None: .*load_curve\.predicted_labels"),
        (X[:0], {"y": Y[:0]}, "load_curve: x has no samples"),
        (X, {"y": Y - 1}, "load_curve: y holds -1: .*: leave out"),
        (X, {"y": [None] * N}, "load_curve: y has type object"),
        (X, {"y": Y, "metric": "d"}, "load_curve: metric = 'd'"),
        (X, {"y": Y, "forward": lambda model, batch: batch}, "load_curve: no module of the model was called"),
        (batches(X, Y + (Y == 2)), {}, "class 2 of 4 has no sample"),
        (
            batches(x=X, y=["all"] * N),
            {"forward": lambda model, batch: model(batch["x"])},
            "all samples are of class 'all': separation needs two",
        ),
    ],
)
def test_samples_that_cannot_be_measured(x, how, message):
    with pytest.raises(ValueError, match=message):
        load_curve(mlp(), x, **how)


@pytest.mark.parametrize("layers", [None, ["input", "output"]])
def test_an_error_of_the_model_passes_with_a_note_of_what_it_was_called_with(layers):
    embedding = nn.Sequential(nn.Embedding(9, 2), nn.ReLU())
    for model, x, how, message, given in (
        (nn.Sequential(nn.Linear(5, 2), nn.ReLU()), X, {}, "mat1 and mat2", r"\(60, 8\) float32"),
        (embedding, X, {}, "indices", r"\(60, 8\) float32"),
        (
            mlp(),
            batches(image=X, index=Y, label=Y),
            {},
            "unexpected keyword",
            r"image=\(16, 8\) float32, index=\(16,\)",
        ),
        (mlp(), X, {"forward": lambda model: model(X)}, "2 were given", r"\(60, 8\) float32"),
    ):
        with pytest.raises((RuntimeError, IndexError, TypeError), match=message) as caught:
            load_curve(model, x, Y if x is X else None, layers, **how)
        assert re.search(rf"called with \({given}.*say how: forward=lambda model, batch", caught.value.__notes__[0])


Pair = namedtuple("Pair", "hidden logits")
OUTPUTS = {
    "tuple": lambda z: (z, z[:, 0]), "loss first": lambda z: (z.sum(), z),
    "list": lambda z: [z], "dict": lambda z: {"z": z},
    "field": lambda z: SimpleNamespace(loss=None, hidden=-z, logits=z), "named": lambda z: Pair(-z, z),
    "mapping": lambda z: {"hidden": -z, "logits": z},
}  # fmt: skip


@pytest.mark.parametrize("form", OUTPUTS)
def test_an_output_of_several_parts_is_its_logits(form):
    """For the layer of that name, for predicted labels, and for what makes it, which is no layer by default."""

    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.last = mlp(), nn.Tanh()

        def forward(self, x):
            return OUTPUTS[form](self.last(self.inner(x)))

    model = Several()
    plain = nn.Sequential(OrderedDict(inner=model.inner, last=model.last))
    xr.testing.assert_equal(load_curve(model, X, Y, ["output"]), load_curve(plain, X, Y, ["output"]))
    for labels in (Y, predicted_labels):
        assert "last" not in load_curve(model, X, labels).layer
        xr.testing.assert_equal(load_curve(model, X, labels), load_curve(plain, X, labels))


@pytest.mark.parametrize("metric", ["D", "D_hat"])
def test_classes_that_come_late_in_a_stream_count_as_if_known_from_the_start(metric):
    order = np.argsort(Y, kind="stable")  # one class after the other
    streamed = load_curve(mlp(), batches(X[order], Y[order], size=9), metric=metric)
    np.testing.assert_allclose(streamed, load_curve(mlp(), X, Y, metric=metric), atol=1e-5)


def test_looking_draws_nothing_from_a_loader():
    own = torch.Generator().manual_seed(1)
    loader = DataLoader(ROWS, batch_size=9, shuffle=True, generator=own)
    before, outside = own.get_state(), torch.get_rng_state()
    load_curve(mlp(), loader)
    load_curve(mlp(), loader, n_samples=45)
    assert torch.equal(own.get_state(), before) and torch.equal(torch.get_rng_state(), outside)


def test_text_in_one_call():
    """The input of token numbers is no layer: the embedding begins the curve; foreign activations are known."""
    ids, mask, y = text()
    model = seeded(Bert)
    loader, stars = (DataLoader(Rows(ids, mask, y, label), batch_size=16) for label in ("label", "stars"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = load_curve(model, loader)
    assert curve.layer.values.tolist() == ["embeddings", *(f"layer.{i}.act" for i in range(3)), "pooler_act"]
    encoded = BatchEncoding({"input_ids": ids, "attention_mask": mask})
    worded = DataLoader(Rows(ids, mask, y, words=["c", "a", "b"]), batch_size=16)
    labelled = BatchEncoding(encoded | {"labels": y})
    for given in ((encoded, y), (labelled,), (stars, "stars"), (worded,)):
        np.testing.assert_allclose(load_curve(model, *given), curve, atol=1e-5)
    with torch.no_grad():
        assert float(curve[0]) == pytest.approx(data_separation(model.embeddings(ids).reshape(N, -1), y), abs=1e-5)
    output = load_curve(model, loader, layers=["output", "classifier"])
    assert output[0] == output[1]
    with pytest.raises(ValueError, match=r"layer 'input': the input is of type torch.int64. The distance between two"):
        load_curve(model, loader, layers=["input", "layer.0.act"])
    with pytest.raises(ValueError, match="no labels among input_ids, attention_mask, stars: name the entry"):
        load_curve(model, stars)


def test_blocks_and_masked_means():
    """Over the stream from block to block; tuples give their first tensor, pool sees the batch with its mask."""
    ids, mask, y = text()
    model, how = seeded(Bert), {"layers": "blocks", "pool": masked_mean_pool}
    encoded = BatchEncoding(input_ids=ids, attention_mask=mask)
    curve = load_curve(model, encoded, y, **how)
    assert curve.layer.values.tolist() == ["before blocks", "layer.0", "layer.1", "layer.2"]
    with torch.no_grad():
        h, by_hand = model.embeddings(ids), []
        for layer in [None, *model.layer]:
            h = h if layer is None else layer(h, attention_mask=mask)[0]
            mean = torch.stack([rows[kept.bool()].mean(0) for rows, kept in zip(h, mask, strict=True)])
            by_hand.append(data_separation(mean, y))
    np.testing.assert_allclose(curve, by_hand, atol=1e-5)
    again = load_curve(model, encoded, y, layers=curve.layer.values.tolist(), pool=masked_mean_pool)
    xr.testing.assert_equal(again, curve)
    unmasked = load_curve(model, encoded, y, layers="blocks", pool=mean_pool)
    assert abs(float(unmasked[0] - curve[0])) > 1e-3
    seen = []
    load_curve(model, encoded, y, layers="blocks", pool=lambda h, batch: seen.append(batch.input_ids) or h[:, 0])
    assert torch.equal(seen[-1], ids)
    with pytest.raises(ValueError, match=r"attention_mask none: expected \(n, tokens, features\)"):
        load_curve(model, encoded, y, layers="blocks", pool=lambda h, batch: masked_mean_pool(h, {}))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True, activation=nn.GELU())
        self.embed, self.encoder = nn.Embedding(12, WIDTH), nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(WIDTH, CLASSES)

    def forward(self, ids, mask):
        return self.out(self.encoder(self.embed(ids), src_key_padding_mask=mask == 0).mean(1))


def test_torchs_own_transformer_with_a_padding_mask():
    """The fast path would hide the modules inside and pack masked tokens; afterwards it is as it was."""
    model, loader = seeded(Encoder), batches(*text())
    pool = lambda h, batch: masked_mean_pool(h, {"attention_mask": batch[1]})  # noqa: E731
    curve = load_curve(model, loader, layers="blocks", pool=pool)
    assert curve.layer.values.tolist() == ["before blocks", "encoder.layers.0", "encoder.layers.1"]
    assert np.isfinite(curve).all() and torch.backends.mha.get_fastpath_enabled()
    inside = load_curve(model, loader, layers=["encoder.layers.0.linear1", "encoder.layers.1.linear1"])
    assert inside[0] != inside[1]
    with pytest.raises(ValueError, match="is called 0 times"):
        load_curve(model, loader, layers=["encoder.layers.0.self_attn.out_proj"])
    assert torch.backends.mha.get_fastpath_enabled()


def test_files_are_not_copied_to_memory(tmp_path):
    """Of a mapped file only one batch at a time becomes an array."""
    np.save(tmp_path / "x.npy", X)
    rows = []

    class Mapped:
        """As an h5py.Dataset: it has a shape and a type, and slices are arrays."""

        shape, dtype = X.shape, X.dtype

        def __getitem__(self, at):
            rows.append(len(X[at]))
            return X[at]

    plain = load_curve(mlp(), X, Y, batch_size=16)
    for mapped in (np.load(tmp_path / "x.npy", mmap_mode="r"), Mapped()):
        np.testing.assert_array_equal(load_curve(mlp(), mapped, Y, batch_size=16), plain)
    assert rows == [16, 16, 16, 12]


# --- bit by bit, under several labels, without any --------------------------------------------------------------------


def test_updates_are_the_whole_and_reset_forgets():
    x, y = tensors()
    whole, metric = load_curve(mlp(), x, y), LoadCurve(mlp())
    with pytest.raises(ValueError, match="no samples yet"):
        metric.compute()
    for _ in range(2):
        for rows in torch.arange(N).split(13):
            metric.update(x[rows], y[rows])
        np.testing.assert_allclose(metric.compute(), whole, atol=1e-5)
        np.testing.assert_allclose(leave_one_out(metric.compute()), leave_one_out(whole), atol=1e-5)
        metric.reset()


def test_without_labels():
    """The network's own answers, from bare samples."""
    x, model = tensors()[0], mlp()
    with torch.no_grad():
        model[-1].bias -= model(x).mean(0)  # its answers are not all the same
        said = model(x).argmax(1)
    for source in (x, DataLoader(x, batch_size=32), batches(x)):
        np.testing.assert_allclose(load_curve(model, source, predicted_labels), load_curve(model, x, said), atol=1e-5)
