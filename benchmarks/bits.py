"""What every trainer and simulator computes, in bits: a small case of each engine, and a digest of its numbers.

``python benchmarks/bits.py here.npz`` keeps all numbers; ``python benchmarks/bits.py there.npz here.npz``, on another
machine or after an edit, says beside which of them they differ and by how much; names (``chain mlp``) choose. Sizes are
those at which an emulated processor ends within the hour, with widths that are no multiple of a vector.
"""

from __future__ import annotations

import hashlib
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech import over
from deepmech.core.random import Stream
from deepmech.data import load
from deepmech.metrics.interpret import leave_one_out
from deepmech.metrics.load_curve import load_curve
from deepmech.simulators import simulate
from deepmech.simulators.elastic_sde import ElasticSDE, train_discrete
from deepmech.simulators.spring_block import Chain
from deepmech.trainers import (
    CNN,
    MLP,
    Dynamics,
    Preparation,
    SingleSample,
    Training,
    prepare,
    train,
    train_lenet,
    walk,
)

STREAM = Stream.of("example", 0)


def blobs(n: int, d: int, shape: tuple[int, ...] = ()) -> Any:
    y = np.arange(n) % 10
    x = (np.eye(10, d)[y] + 0.3 * STREAM.normal("x", 0, (n, d))).astype("float32")
    own = {"x_train": x, "y_train": y, "x_test": x, "y_test": y}
    return SimpleNamespace(**own, n_classes=10, fingerprint="example", shape=shape)


def mlp(dtype: str, **how: Any) -> xr.Dataset:
    training = Training(epochs=15, batch_size=64, dtype=dtype)
    return train(MLP(depth=7, width=100, dropout=0.2), training, blobs(600, 100), **how)


def adjusted() -> xr.Dataset:
    network = MLP(depth=4, width=over("width", [9, 14]), slope=0.2, batch_norm=False)
    how: dict[str, Any] = {"optimizer": "sgd", "momentum": 0.5, "loss": "mse", "weight_decay": 0.01}
    training = Training(epochs=4, batch_size=64, data_noise=0.1, label_noise=0.1, **how)
    return train(network, training, blobs(300, 20), seed=over("seed", [0, 3]), engine="torch")


def lenet(iterations: int) -> xr.Dataset:
    training = SingleSample(iterations=iterations, label_error=over("error", [0.0, 0.2]))
    data = load("geomnist", n_train=300)
    return train_lenet(training, data, seed=over("trial", range(2)), record=iterations // 2)


def langevin(engine: str, steps: int, **fields: Any) -> xr.Dataset:
    x = STREAM.normal("x", 0, (200, 30))
    data = SimpleNamespace(x=x, y=np.sign(x[:, 0]), fingerprint="example")
    dynamics = Dynamics(width=17, hidden=3, **fields)
    how: dict[str, Any] = {"seed": over("seed", [0, 1]), "engine": engine}
    ready = prepare(dynamics, Preparation(sgd_steps=steps // 2), data, **how)
    waits = {"waiting": [0, steps // 3], "motility_times": [10]}
    walked = walk(dynamics, Preparation(sgd_steps=steps // 2), data, steps=steps, **waits, **how)
    return walked.merge(ready.rename({name: f"settled {name}" for name in ready.data_vars}))


def elastic() -> xr.Dataset:
    model = ElasticSDE(intra=over("intra", [1.0, 1.3]), inter=0.2, noise=0.3, n_classes=3, structure="logits")
    start = STREAM.normal("start", 0, (3, 3))
    return train_discrete(model, [0.2, 1.0], start, 0.01, n_samples=5, n_runs=2, start_spread=0.1)


class Block(nn.Module):
    """A residual block of a function, whose activation is called twice."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.norm, self.act = nn.BatchNorm2d(channels), nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(x + self.second(self.norm(self.act(self.first(x)))))


def curves() -> xr.Dataset:
    """Load curves in every way that one is measured: of narrow and of wide layers, of both precisions, all options."""
    mlp = nn.Sequential(nn.BatchNorm1d(40), nn.Linear(40, 33), nn.ReLU(), nn.Dropout(0.1), nn.Linear(33, 21), nn.Tanh())
    deep = nn.Sequential(nn.Unflatten(1, (1, 40, 40)), nn.Conv2d(1, 5, 3, padding=1), *(Block(5) for _ in range(3)))
    models = {
        "mlp": nn.Sequential(mlp, nn.Linear(21, 10)),
        "cnn": nn.Sequential(deep, nn.Flatten(), nn.Linear(8000, 3)),
    }
    for name, model in models.items():
        for at, (key, parameter) in enumerate(model.named_parameters()):
            values = (
                Stream.of("bits", name).normal(key, at, tuple(parameter.shape)) / max(1, parameter[0].numel()) ** 0.5
            )
            parameter.data = torch.tensor(values, dtype=torch.float32)
    objects = np.arange(500) // 4
    ways: dict[str, dict[str, Any]] = {
        "mlp, default": {}, "mlp, one batch": {"batch_size": 500}, "mlp, plain": {"debias": False},
        "mlp, D_hat": {"metric": "D_hat"}, "mlp, no groups": {"n_folds": 1}, "mlp, units": {"groups": objects},
        "mlp, words": {"words": True},
        "mlp, large": {"scale": 1e20}, "mlp, float64": {"dtype": torch.float64}, "cnn, default": {},
        "cnn, blocks": {"layers": "blocks"}, "cnn, calls": {"layers": ["input", "0.2.act:2", "output"]},
    }  # fmt: skip
    found = {}
    for way, how in ways.items():
        kind, dtype = way.split(",")[0], how.pop("dtype", torch.float32)
        y, d = np.arange(500) % (10 if kind == "mlp" else 3), 40 if kind == "mlp" else 1600
        x = (
            Stream.of("bits", "x").normal("x", 0, (500, d))
            + 0.3 * Stream.of("bits", "means").normal("m", 0, (10, d))[y]
        )
        x = x * how.pop("scale", 1.0)
        y = np.array(list("abcdefghij"))[y] if how.pop("words", False) else y
        curve = load_curve(models[kind].to(dtype), torch.tensor(x, dtype=dtype), y, **({"batch_size": 120} | how))
        found[way] = curve.drop_vars(["layer", "depth", "kind", "features"], errors="ignore").rename(
            layer=f"layer of {way}"
        )
        if (without := leave_one_out(curve)) is not None:
            found[f"{way}, without"] = without.drop_vars("layer").rename({d: f"{d} of {way}" for d in without.dims})
        shares = found[way].coords.get("largest_share")
        if shares is not None:
            found[f"{way}, share"] = shares.drop_vars("largest_share")
            found[way] = found[way].drop_vars("largest_share")
    return xr.Dataset(found)


def draws() -> xr.Dataset:
    kinds = {"normal": STREAM.normal("x", 0, (2000,)), "uniform": STREAM.uniform("u", 0, (1000,))}
    return xr.Dataset({name: (f"{name} number", values) for name, values in kinds.items()})


CASES = {
    "draws": draws,
    "load curves": curves,
    "chain": lambda: simulate(
        Chain(n_blocks=7, friction_right=over("mu", [0.0, 0.05]), friction_left=0.2, noise=0.1), t_end=20.0
    ),
    "elastic": elastic,
    "langevin": lambda: langevin("compiled", 1000, temperature=over("temperature", [0.01, 0.1])),
    "langevin, batches": lambda: langevin("compiled", 1000, batch_size=64, regularisation=0.01, dtype="float64"),
    "langevin, torch": lambda: langevin("torch", 100, temperature=over("temperature", [0.01, 0.1])),
    "lenet": lambda: lenet(600),
    "mlp": lambda: mlp("float64"),
    "mlp, float32": lambda: mlp("float32"),
    "mlp, torch": lambda: mlp("float32", engine="torch"),
    "mlp, other rules": adjusted,
    "cnn": lambda: train(CNN(dropout=0.05), Training(epochs=2), blobs(100, 100, (1, 10, 10))),
    "cnn, torch": lambda: train(CNN(dropout=0.05), Training(epochs=2), blobs(100, 100, (1, 10, 10)), engine="torch"),
}


def main(out: str, other: str = "", *names: str) -> None:
    before, kept = np.load(other) if other else {}, {}
    for case in names or CASES:
        digest = hashlib.sha256()
        for name, found in sorted(CASES[case]().data_vars.items()):
            digest.update(found.values.tobytes())
            if found.dtype.kind not in "fiu":
                continue
            mine = kept[f"{case}/{name}"] = found.values
            if f"{case}/{name}" in before and not np.array_equal(mine, before[f"{case}/{name}"], equal_nan=True):
                theirs = before[f"{case}/{name}"].astype(float)
                most = np.nanmax(np.abs(mine - theirs)) / np.nanmax(np.abs(theirs))
                print(f"{case}: {name} differs in {np.mean(mine != theirs):.1%} of its numbers, at most {most:.1e}")
        print(f"{case}: {digest.hexdigest()[:12]}", flush=True)
    np.savez(out, **kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
