"""Load curves of samples that come little by little, to several processes, under several labels, or without any."""

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from deepmech.core.random import Stream
from deepmech.metrics.load_curve import LoadCurve, answers, load_curve, views
from deepmech.metrics.reading import without

N, WIDTH, CLASSES = 96, 8, 3


def network():
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(5)
        parts = [part for _ in range(3) for part in (nn.Linear(WIDTH, WIDTH), nn.ReLU(inplace=True))]
        return nn.Sequential(*parts, nn.Linear(WIDTH, CLASSES))


def answering(x):
    """A network whose answers are not all the same."""
    model = network()
    with torch.no_grad():
        model[-1].bias -= model(x).mean(0)
    return model


def sample():
    s = Stream.of("test accumulated", 0)
    y = np.arange(N) % CLASSES
    x = s.normal("x", 0, (N, WIDTH)) + 2 * s.normal("m", 0, (CLASSES, WIDTH))[y]
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def test_updates_are_the_whole_and_reset_forgets():
    x, y = sample()
    whole, metric = load_curve(network(), x, y), LoadCurve(network())
    with pytest.raises(ValueError, match="no samples yet"):
        metric.compute()
    for _ in range(2):
        for rows in torch.arange(N).split(13):
            metric.update(x[rows], y[rows])
        np.testing.assert_allclose(metric.compute(), whole, atol=1e-5)
        np.testing.assert_allclose(without(metric.compute()), without(whole), atol=1e-5)
        metric.reset()
    one, two = LoadCurve(network()).update(x[:50], y[:50]), LoadCurve(network()).update(x[50:], 2 - y[50:])
    two.sets[None].classes.number = {2 - name: at for name, at in two.sets[None].classes.number.items()}
    np.testing.assert_allclose(one.merge(two).compute(), whole, atol=1e-5)
    with pytest.raises(ValueError, match="layers are"):
        one.merge(LoadCurve(network(), ["0"]).update(x, y))
    with pytest.raises(ValueError, match="only D with weights = 'samples'"):
        LoadCurve(network(), metric="D_hat").update(x, y).merge(LoadCurve(network(), metric="D_hat").update(x, y))


def _process(rank, file, sharded, out):
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    try:
        x, y = sample()
        model = network()
        if sharded:
            from torch.distributed.fsdp import fully_shard

            mesh = torch.distributed.init_device_mesh("cpu", (2,))
            for layer in model:
                if isinstance(layer, nn.Linear):
                    fully_shard(layer, mesh=mesh)
            model = fully_shard(model, mesh=mesh)
        else:
            model = nn.parallel.DistributedDataParallel(model)
        mine = slice(rank, None, 2)
        metric = LoadCurve(model).update(x[mine], y[mine], batch_size=16)
        curve = metric.compute()
        out[rank] = curve.values, without(curve).values, curve.attrs["samples"], metric.compute(reduce=False).values
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("sharded", [False, True], ids=["DistributedDataParallel", "fully_shard"])
def test_two_processes_reduce_to_one_curve(tmp_path, sharded):
    """Of networks in DistributedDataParallel, and of sharded ones, whose processes go through the layers together."""
    with mp.Manager() as manager:
        out = manager.dict()
        mp.spawn(_process, (tmp_path / "store", sharded, out), nprocs=2)
        found = dict(out)
    x, y = sample()
    for rank in range(2):
        values, groups, n, alone = found[rank]
        np.testing.assert_allclose(values, load_curve(network(), x, y), atol=1e-5)
        np.testing.assert_allclose(alone, load_curve(network(), x[rank::2], y[rank::2]), atol=1e-5)
        assert n == N and groups.shape == (20, 4)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-6)


def test_several_sets_of_labels_in_one_pass():
    x, y = sample()
    coarse = (y > 0).long()
    model = answering(x)
    passes = []
    model.register_forward_hook(lambda *_: passes.append(1))
    found = load_curve(model, x, {"class": y, "coarse": coarse, "answers": answers}, batch_size=40)
    assert len(passes) == 3 + 1  # one look
    with torch.no_grad():
        said = model(x).argmax(1)
    for name, labels in (("class", y), ("coarse", coarse), ("answers", said)):
        np.testing.assert_allclose(found[name], load_curve(model, x, labels), atol=1e-5)
    assert found["coarse"].attrs["classes"] == 2 and found["class"].deepmech.read().verdict
    named = DataLoader([{"x": a, "fine": b, "coarse": c} for a, b, c in zip(x, y, coarse, strict=True)], batch_size=40)
    from_names = load_curve(
        model, named, {"class": "fine", "coarse": "coarse"}, forward=lambda model, batch: model(batch["x"])
    )
    np.testing.assert_allclose(from_names["coarse"], found["coarse"], atol=1e-5)


def test_without_labels():
    """The network's own answers, from bare samples; or each sample a class of its views."""
    x, _ = sample()
    model = answering(x)
    with torch.no_grad():
        said = model(x).argmax(1)
    expected = load_curve(model, x, said)
    for source in (x, DataLoader(x, batch_size=32), DataLoader(TensorDataset(x), batch_size=32)):
        np.testing.assert_allclose(load_curve(model, source, answers), expected, atol=1e-5)
    with pytest.raises(ValueError, match=r"y = None: .*load_curve\.answers"):
        load_curve(model, x)
    drawn = Stream.of("test views", 0)
    noise = iter(range(100))
    near = load_curve(
        model, views(x[:20], lambda v: v + 0.1 * torch.tensor(drawn.normal("noise", next(noise), v.shape)))
    )
    assert near.attrs["classes"] == 20 and near.attrs["samples"] == 160
    assert float(near[0]) == pytest.approx(np.log(WIDTH * 0.01 / float(x[:20].var(0, correction=0).sum())), abs=0.2)
