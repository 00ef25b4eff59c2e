"""Groups of members: trained together they have the numbers they have alone; where and by what they are trained."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from trainer_data import clusters

from deepmech import over
from deepmech.trainers import CNN, MLP, Training, train
from deepmech.trainers.engines.compiled.mlp import CompiledMLP
from deepmech.trainers.run import TrainerRun, settled

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
        epochs=10,
        learning_rate=values(1e-3, 1e-2, 5e-2, 1e-3, 1e-3, 1e-3, 0.1),
        data_noise=values(0.0, 0.0, 0.0, 0.1, 0.0, 0.2, 0.0),
        stop_loss=values(0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 0.6),
        schedule=((5, "dropout", 0.1),),
    )
    return {"network": network, "training": training, "data": DATA, "seed": over("seed", list(seeds))}


def test_members_are_the_same_to_rounding_in_any_group_and_to_the_bit_after_one_another():
    def trained(*cells, **how):
        made = various(*cells, **how.pop("who", {}))
        made["training"] = replace(made["training"], dtype="float64")
        return train(**made, engine="torch", **how)

    many = trained(ensemble_size=21)
    for size in (2, 4):
        xr.testing.assert_allclose(trained(ensemble_size=size), many, rtol=1e-9)
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
        train(network, training, DATA, engine=e, ensemble_size=t, class_means=True)
        for e, t in (("torch", 9), ("compiled", 1))
    )
    np.testing.assert_allclose(ours["load_curve"], theirs["load_curve"], rtol=1e-8)
    np.testing.assert_allclose(ours["class_mean"], theirs["class_mean"], atol=1e-6)


def test_what_auto_chooses(monkeypatch):
    monkeypatch.delenv("DEEPMECH_DEVICE", raising=False)
    call = TrainerRun("train", seed=0, experiment="")
    assert call.select_engine() == ("compiled", "")
    assert call.select_engine(slower="it is slower") == ("torch", "it is slower")
    assert call.select_engine("CNN", slower="it is slower") == ("torch", "it does not know CNN")
    monkeypatch.setattr("deepmech.trainers.run.select_device", lambda *of: ("cuda", True))
    assert [TrainerRun("train", seed=0, experiment="").select_engine(of)[0] for of in ("", "CNN")] == ["torch"] * 2
    with pytest.raises(ValueError, match="'compiled' knows no GPU"):
        TrainerRun("train", seed=0, experiment="", engine="compiled")
    monkeypatch.undo()
    wide = train(MLP(depth=2, width=CompiledMLP.WIDEST + 1), Training(epochs=1), DATA)
    assert wide.attrs["fallback_reason"] == "torch is faster beyond width 700"
    assert "fallback_reason" not in train(MLP(depth=2, width=3), Training(epochs=1), DATA).attrs


@given(
    kinds=st.lists(st.sampled_from([None, "a", "b"]), min_size=1, max_size=12), most=st.none() | st.integers(1, 5),
    room=st.integers(1, 6),
)  # fmt: skip
def test_every_member_is_in_one_job_of_its_kind_and_what_does_not_fit_is_done_in_halves(kinds, most, room):
    call, sizes = TrainerRun("train", seed=0, experiment=""), list[int]()
    jobs = call.jobs(kinds, most)
    assert sorted(i for job in jobs for i in job) == list(range(len(kinds)))
    for job in jobs:
        assert len({kinds[i] for i in job}) == 1 and len(job) <= ((most or len(kinds)) if kinds[job[0]] else 1)
    for kind in {"a", "b"} & set(kinds):
        assert most or sum(kinds[job[0]] == kind for job in jobs) == 1

    def work(job):
        if len(job) > room:
            raise torch.OutOfMemoryError("no room")
        sizes.append(len(job))
        return [10 * i for i in job]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepmech.trainers.run.gc.collect", lambda: 0)  # which takes long, and nothing is held here
        assert call.run(work, jobs) == [10 * i for i in range(len(kinds))]
    assert max(sizes) <= room and sum(sizes) == len(kinds)


def test_one_member_that_does_not_fit_is_refused():
    def work(job):
        raise torch.OutOfMemoryError("no room")

    with pytest.raises(ValueError, match="train: one of the networks does not fit into the memory of cpu"):
        TrainerRun("train", seed=0, experiment="").run(work, [[0, 1, 2]])


def test_precision_of_products_is_set_and_put_back():
    place = torch.backends.cuda.matmul
    before = place.fp32_precision
    with pytest.raises(RuntimeError), settled():
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
