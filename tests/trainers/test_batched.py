"""The batched engine against the reference, on CPU tensors (and on a GPU where there is one), and its laws."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from trainer_data import clusters

from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, Training, train
from deepmech.trainers.batched import Batched
from deepmech.trainers.batched_draws import BatchedStream
from deepmech.trainers.devices import products_in
from deepmech.trainers.draws import Draws
from deepmech.trainers.fused import Fused
from deepmech.trainers.reference import Reference
from deepmech.trainers.specs import Member
from deepmech.trainers.train import _engine

DATA = clusters(90, 6, 3)
NAMES = {"linear": {"weight": "weight", "bias": "bias"}, "norm": {"weight": "gamma", "bias": "beta"}}
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 70), step=st.integers(0, 2**40), seed=st.integers(0, 99), drop=st.floats(1e-4, 0.999))
def test_draws_are_the_streams(n, step, seed, drop):
    streams = [Stream.of("tests", seed), Stream.of("other", seed)]
    both = BatchedStream([s.key for s in streams], torch.device("cpu"))
    for row, s in enumerate(streams):
        assert np.array_equal(both.words("x", step, n)[row].numpy(), s.bits("x", step, n))
        assert np.array_equal(both.uniform("x", step, n)[row].numpy(), s.uniform("x", step, n))
        kept = both.halves("x", step, n)[row].numpy() >= round(drop * 65536)
        assert np.array_equal(kept, s.keep("x", step, n, drop))
        np.testing.assert_allclose(both.normal("x", step, n)[row].numpy(), s.normal("x", step, n), rtol=0, atol=1e-13)


shared_fields = st.fixed_dictionaries(
    {
        "depth": st.integers(2, 5),
        "width": st.integers(2, 20),
        "batch_norm": st.booleans(),
        "bias": st.booleans(),
    }
)
own_fields = st.fixed_dictionaries(
    {
        "slope": st.sampled_from([0.0, 0.3, 1.0]),
        "dropout": st.sampled_from([0.0, 0.1, 0.5]),
        "init": st.sampled_from(["torch", "orthogonal"]),
    }
)
own_training = st.fixed_dictionaries(
    {"learning_rate": st.sampled_from([1e-3, 1e-2]), "data_noise": st.sampled_from([0.0, 0.2])}
)
shared_training = st.fixed_dictionaries(
    {
        "optimizer": st.sampled_from(["adam", "sgd"]),
        "batch_size": st.sampled_from([None, 11, 64]),
        "loss": st.sampled_from(["cross_entropy", "mse"]),
    }
)


@settings(max_examples=30, deadline=None)
@given(
    network=shared_fields,
    training=shared_training,
    own=st.lists(st.tuples(own_fields, own_training, st.integers(0, 2)), min_size=1, max_size=4),
)
def test_losses_gradients_and_updates_are_the_reference_s(network, training, own):
    data = clusters(64, 5, 3)
    members = [Member(MLP(**network, **n), Training(dtype="float64", **training, **t), seed) for n, t, seed in own]
    draws = [Draws.of(m, "tests") for m in members]
    many = Batched(members, draws, Batched.prepare(data, "float64"))
    alone = [Reference(m, d, Reference.prepare(data, "float64")) for m, d in zip(members, draws, strict=True)]
    for epoch in (1, 2):
        np.testing.assert_allclose(many.run_epoch(epoch), [one.run_epoch(epoch) for one in alone], rtol=1e-9)
    parts = many.parts()
    for i, one in enumerate(alone):
        for name, value in one.parameters().items():
            kind, layer, what = name.split(".")
            if what.startswith("running"):
                ours = many.running[what == "running_var"][int(layer)][i]
            else:
                ours = parts[f"{NAMES[kind][what]} {int(layer) + (kind == 'linear')}"][i]
            np.testing.assert_allclose(ours.detach().numpy(), value, rtol=1e-7, atol=1e-9, err_msg=name)
        (layers, output), (theirs, their_output) = many.features(i, data.x_test), one.features(data.x_test)
        for f, g in zip([*layers, output], [*theirs, their_output], strict=True):
            np.testing.assert_allclose(f.numpy(), g, rtol=1e-6, atol=1e-8)


def various(cells=slice(None), seeds=(0, 1, 2)):
    """Seven members that differ in all that members of one batch may differ in, by several seeds."""

    def values(*numbers):
        return xr.DataArray(np.array(numbers)[cells], dims="cell", coords={"cell": np.arange(7)[cells]})

    network = MLP(
        depth=4, width=9, slope=values(0.0, 0.2, 0.5, 1.0, 0.0, 0.0, 0.1), dropout=values(0, 0.1, 0, 0.3, 0.2, 0.05, 0)
    )
    training = Training(
        epochs=20,
        learning_rate=values(1e-3, 1e-2, 5e-2, 1e-3, 1e-3, 1e-3, 0.1),
        data_noise=values(0.0, 0.0, 0.0, 0.1, 0.0, 0.2, 0.0),
        stop_loss=values(0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 0.6),
        schedule=((10, "dropout", 0.1),),
    )
    return {"network": network, "training": training, "data": DATA, "seed": over("seed", list(seeds))}


def test_single_precision_follows_the_reference_for_twenty_steps_and_stops_where_it_does():
    ours, theirs = (train(**various(), engine=e, record=[0, 5, 20]) for e in ("batched", "reference"))
    assert ours.attrs["engine"] == "batched" and "stopped" in ours["state"].values
    np.testing.assert_array_equal(ours["state"], theirs["state"])
    np.testing.assert_array_equal(ours["epochs_run"], theirs["epochs_run"])
    np.testing.assert_allclose(ours["loss"], theirs["loss"], rtol=1e-3)
    np.testing.assert_allclose(ours["load_curve"], theirs["load_curve"], atol=5e-3)


def test_members_are_the_same_to_rounding_in_any_batch():
    def trained(*cells, **how):
        made = various(*cells, **how.pop("who", {}))
        made["training"] = replace(made["training"], dtype="float64")
        return train(**made, engine="batched", **how)

    many = trained()
    member = Member(MLP(depth=4, width=9), Training(dtype="float64"), 0)
    need = Batched.bytes_per_member(member, Batched.prepare(DATA, "float64"))
    for memory in (1.5 * need, 4 * need):
        xr.testing.assert_allclose(trained(memory=memory), many, rtol=1e-9)
    for cell in range(7):
        alone = trained(slice(cell, cell + 1), who={"seeds": [1]})
        assert alone.state.item() == many.state.sel(cell=cell, seed=1).item()
        for name in ("load_curve", "accuracy", "loss", "epochs_run"):
            ours = many[name].sel(cell=[cell], seed=[1]).transpose(*alone[name].dims)
            np.testing.assert_allclose(ours, alone[name], rtol=1e-9)


def test_members_of_unequal_shape_are_trained_in_batches_of_their_own():
    network = MLP(depth=over("depth", [2, 4]), width=over("width", [3, 5]))
    training = Training(epochs=2, batch_size=over("batch_size", [30, 90]), dtype="float64")
    ours, theirs = (train(network, training, DATA, engine=e, class_means=True) for e in ("batched", "reference"))
    np.testing.assert_allclose(ours["load_curve"], theirs["load_curve"], rtol=1e-8)
    np.testing.assert_allclose(ours["class_mean"], theirs["class_mean"], atol=1e-6)


def test_a_member_that_diverges_leaves_the_others_alone():
    training = Training(optimizer="sgd", learning_rate=over("rate", [1e-3, 1e12]), epochs=20)
    network = MLP(depth=3, width=6, batch_norm=False)
    both = train(network, training, DATA, engine="batched")
    assert both["state"].values.tolist() == ["finished", "diverged"]
    calm = train(network, Training(optimizer="sgd", learning_rate=1e-3, epochs=20), DATA, engine="batched")
    np.testing.assert_allclose(both["loss"].sel(rate=1e-3), calm["loss"], rtol=1e-4)
    assert np.isnan(both["load_curve"].sel(rate=1e12)).all()


def test_the_estimate_of_memory_grows_with_everything_that_takes_memory():
    shared = Batched.prepare(DATA, "float32")

    def need(**fields):
        training = Training(**{k: fields.pop(k) for k in ("batch_size",) if k in fields})
        return Batched.bytes_per_member(Member(MLP(**{"depth": 4, "width": 9} | fields), training, 0), shared)

    assert need() < min(need(depth=5), need(width=10))
    assert need(batch_size=10) < need(batch_size=20) < need(batch_size=None) == need(batch_size=500)
    # Parameters, gradient and two moments at least; activations of every layer at least twice.
    parameters = 9 * 6 + 2 * 81 + 27
    assert need() > 4 * (4 * parameters + 2 * 90 * 27)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"device": "gpu"}, "device = 'gpu'.*'cuda:0'"),
        ({"device": "cuda:x"}, "device = 'cuda:x'"),
        ({"device": "cuda"}, "device = 'cuda'.*device='cpu'"),
        ({"engine": "batched", "memory": 1000.0}, r"memory = 1e\+03 bytes.*at least"),
        ({"engine": "batched", "network": CNN()}, "'batched' cannot train CNN.*'reference'"),
    ],
)
def test_bad_requests_are_named(change, message, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    arguments = {"network": MLP(depth=3, width=5), "training": Training(epochs=1), "data": DATA} | change
    with pytest.raises(ValueError, match=message):
        train(**arguments)


def test_the_environment_may_name_the_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("DEEPMECH_DEVICE", "cuda")
    with pytest.raises(ValueError, match="train: DEEPMECH_DEVICE = 'cuda'"):
        train(MLP(depth=2, width=3), Training(epochs=1), DATA)
    assert train(MLP(depth=2, width=3), Training(epochs=1), DATA, device="cpu").attrs["device"] == "cpu"


def test_what_auto_chooses():
    mlp, cnn, mse = (
        Member(n, t, 0) for n, t in ((MLP(), Training()), (CNN(), Training()), (MLP(), Training(loss="mse")))
    )
    assert [_engine("auto", m, True) for m in (mlp, cnn, mse)] == [Batched, Reference, Batched]
    assert Batched not in [_engine("auto", m, False) for m in (mlp, cnn, mse)]
    wide = Member(MLP(width=Fused.WIDEST + 1), Training(), 0)
    assert [_engine("auto", m, False) for m in (mlp, wide)] == [Fused, Reference]
    with pytest.raises(ValueError, match="'fused' cannot train on a GPU"):
        _engine("fused", mlp, True)


def test_precision_of_products_is_set_and_put_back():
    place = torch.backends.cuda.matmul
    before = place.fp32_precision
    for tf32, name in ((False, "ieee"), (True, "tf32")):
        with pytest.raises(RuntimeError), products_in(tf32):
            assert place.fp32_precision == name
            raise RuntimeError
        assert place.fp32_precision == before
    assert train(MLP(depth=2, width=3), Training(epochs=1), DATA).attrs["tf32"] == "off"


@needs_gpu
def test_a_gpu_agrees_with_the_reference():
    ours = train(**various(), device="cuda")
    theirs = train(**various(), engine="reference")
    assert ours.attrs["engine"] == "batched" and ours.attrs["device"].startswith("cuda")
    np.testing.assert_allclose(
        ours["loss"].isel(epoch=slice(0, 10)), theirs["loss"].isel(epoch=slice(0, 10)), rtol=1e-3
    )


@needs_gpu
def test_a_convolutional_network_on_a_gpu_agrees_with_itself_on_a_cpu():
    data = clusters(40, 36, 3)
    data.shape = (1, 6, 6)
    network, training = CNN(convolutions=2, channels=4, dropout=0.1), Training(epochs=5, dtype="float64")
    gpu, cpu = (train(network, training, data, device=d) for d in ("cuda", "cpu"))
    np.testing.assert_allclose(gpu["load_curve"], cpu["load_curve"], rtol=1e-6)
