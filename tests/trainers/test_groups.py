"""Groups of members: trained together they have the numbers they have alone; where and by what they are trained."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from trainer_data import clusters

from deepmech import over
from deepmech.trainers import CNN, MLP, Training, train
from deepmech.trainers.engines.compiled.mlp import CompiledMLP
from deepmech.trainers.engines.torch_func import TorchEnsemble
from deepmech.trainers.run import TrainerRun, true_products
from deepmech.trainers.specs import Member

DATA = clusters(90, 6, 3)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


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


def test_in_single_precision_engines_agree_for_twenty_steps_and_stop_where_they_do():
    ours, theirs = (
        train(**various(), engine=e, together=t, record=[0, 5, 20]) for e, t in (("torch", 100), ("compiled", 1))
    )
    assert ours.attrs["engine"] == "torch" and "stopped" in ours["state"].values
    np.testing.assert_array_equal(ours["state"], theirs["state"])
    np.testing.assert_array_equal(ours["epochs_run"], theirs["epochs_run"])
    np.testing.assert_allclose(ours["loss"], theirs["loss"], rtol=1e-3)
    np.testing.assert_allclose(ours["load_curve"], theirs["load_curve"], atol=5e-3)


def test_members_are_the_same_to_rounding_in_any_group_and_to_the_bit_after_one_another():
    def trained(*cells, **how):
        made = various(*cells, **how.pop("who", {}))
        made["training"] = replace(made["training"], dtype="float64")
        return train(**made, engine="torch", **how)

    many = trained(together=21)
    member, shared = Member(MLP(depth=4, width=9), Training(dtype="float64"), 0), TorchEnsemble.prepare(DATA, "float64")
    need = TorchEnsemble.bytes_per_member(member, TorchEnsemble.module(member, shared), shared)
    for how in ({"memory": 1.5 * need}, {"memory": 4 * need}, {"together": 4}):
        xr.testing.assert_allclose(trained(**{"together": 21} | how), many, rtol=1e-9)
    one_by_one = trained(threads=2)
    for cell in range(7):
        alone = trained(slice(cell, cell + 1), who={"seeds": [1]})
        assert alone.state.item() == many.state.sel(cell=cell, seed=1).item()
        for name in ("load_curve", "accuracy", "loss", "epochs_run"):
            ours, same = (
                made[name].sel(cell=[cell], seed=[1]).transpose(*alone[name].dims) for made in (many, one_by_one)
            )
            np.testing.assert_allclose(ours, alone[name], rtol=1e-9)
            np.testing.assert_array_equal(same, alone[name])


def test_members_of_unequal_shape_are_trained_in_groups_of_their_own():
    network = MLP(depth=over("depth", [2, 4]), width=over("width", [3, 5]))
    training = Training(epochs=2, batch_size=over("batch_size", [30, 90]), dtype="float64")
    ours, theirs = (
        train(network, training, DATA, engine=e, together=t, class_means=True)
        for e, t in (("torch", 9), ("compiled", 1))
    )
    np.testing.assert_allclose(ours["load_curve"], theirs["load_curve"], rtol=1e-8)
    np.testing.assert_allclose(ours["class_mean"], theirs["class_mean"], atol=1e-6)


def test_what_auto_chooses(monkeypatch):
    monkeypatch.delenv("DEEPMECH_DEVICE", raising=False)
    call = TrainerRun("train", seed=0, experiment="")
    assert call.choose() == ("compiled", "")
    assert call.choose(slow="it is slower") == ("torch", "it is slower")
    assert call.choose("CNN", slow="it is slower") == ("torch", "it does not know CNN")
    monkeypatch.setattr("deepmech.trainers.run.require_device", lambda *of: True)
    monkeypatch.setattr("deepmech.trainers.run.memory_budget", lambda memory, device, caller: 1e9)
    assert [TrainerRun("train", seed=0, experiment="").choose(of)[0] for of in ("", "CNN")] == ["torch"] * 2
    with pytest.raises(ValueError, match="'compiled' knows no GPU"):
        TrainerRun("train", seed=0, experiment="", engine="compiled")
    monkeypatch.undo()
    wide = train(MLP(depth=2, width=CompiledMLP.WIDEST + 1), Training(epochs=1), DATA)
    assert wide.attrs["not_compiled"] == "torch is faster beyond width 700"
    assert "not_compiled" not in train(MLP(depth=2, width=3), Training(epochs=1), DATA).attrs


def test_precision_of_products_is_set_and_put_back():
    place = torch.backends.cuda.matmul
    before = place.fp32_precision
    with pytest.raises(RuntimeError), true_products():
        assert place.fp32_precision == "ieee"
        raise RuntimeError
    assert place.fp32_precision == before


@needs_gpu
def test_a_gpu_agrees_with_a_cpu():
    ours = train(**various(), device="cuda")
    theirs = train(**various(), device="cpu")
    assert ours.attrs["engine"] == "torch" and ours.attrs["device"].startswith("cuda")
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
