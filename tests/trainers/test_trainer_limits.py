"""What no machine could keep, and steps that nobody could wait for, are refused at once; ``memory`` holds for all."""

import threading

import numpy as np
import pytest
from torch import nn

from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, Dynamics, Preparation, SingleSample, Training, settle, train, train_lenet, walk
from deepmech.trainers.engines.compiled.mlp import CompiledMLP
from deepmech.trainers.engines.torch_func import TorchEnsemble
from deepmech.trainers.specs import Member

X = Stream.of("limits").normal("x", 0, (30, 4)).astype("float32")
DATA = X, np.arange(30) % 3
IMAGES = np.zeros((4, 1, 32, 32)), [0, 1, 0, 1]
SIGNS = X, np.where(X[:, 0] > 0, 1.0, -1.0)
STEPS, KEPT = "steps, one after another, take .* days", "would have to be kept, and this machine has"
BEYOND = {
    "epochs": (lambda: train(MLP(), Training(epochs=10**12), DATA), r"Training\.epochs = .*" + KEPT),
    "steps": (lambda: train(MLP(), Training(epochs=10**12, batch_size=1), DATA), r"Training\.epochs = .*" + KEPT),
    "width": (lambda: train(MLP(width=10**6), Training(), DATA), r"= 8, with \d outputs, MLP\.width = .*" + KEPT),
    "depth": (lambda: train(MLP(depth=10**9), Training(), DATA), r"MLP\.depth = 1000000000.*" + KEPT),
    "channels": (lambda: train(CNN(channels=10**6), Training(), IMAGES), r"with \d outputs, CNN\.channels = .*" + KEPT),
    "a factory": (lambda: train(lambda n: nn.Linear(4, n), Training(), DATA, n=10**12), "network that no memory holds"),
    "iterations": (lambda: train_lenet(SingleSample(iterations=10**11), IMAGES), r"iterations = .*" + KEPT),
    "walk": (lambda: walk(Dynamics(), Preparation(), SIGNS, steps=10**13), "steps = .*" + STEPS),
    "units": (lambda: walk(Dynamics(width=10**6), Preparation(), SIGNS, steps=1), r"= 6, Dynamics\.width.*" + KEPT),
    "preparation": (lambda: settle(Dynamics(), Preparation(sgd_steps=10**13), SIGNS), "sgd_steps = .*" + STEPS),
}  # fmt: skip


@pytest.mark.parametrize(("call", "said"), BEYOND.values(), ids=BEYOND)
def test_sizes_that_no_machine_has_time_or_room_for_are_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def narrow(width=4):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 3))


@pytest.mark.parametrize("threads", [1, 3, 8])
@pytest.mark.parametrize("engine", ["compiled", "torch", "own"])
@pytest.mark.parametrize("together", [1, 4])
def test_members_trained_at_once_take_no_more_memory_than_given(engine, threads, together, monkeypatch):
    """Those that run at the same time, counted: never more than there is room for."""
    kind, running, most, lock = CompiledMLP if engine == "compiled" else TorchEnsemble, [0], [0], threading.Lock()
    step = kind.step

    def counted(self, epoch):
        size = len(getattr(self, "members", [0]))
        with lock:
            running[0] += size
            most[0] = max(most[0], running[0])
        try:
            return step(self, epoch)
        finally:
            with lock:
                running[0] -= size

    network = narrow if engine == "own" else MLP(depth=3, width=4)
    how = {"engine": "auto" if engine == "own" else engine, "together": together, "threads": threads}
    training = Training(epochs=3)
    member = Member(train.__globals__["_network"](network, {}, None), training, 0)
    shared = kind.prepare(train.__globals__["validate_data"]("train", DATA, "float32"), "float32")
    of = (member, kind.module(member, shared), shared) if kind is TorchEnsemble else (member, shared)
    need = kind.bytes_per_member(*of)
    monkeypatch.setattr(kind, "step", counted)
    plain = train(network, training, DATA, seed=over("seed", range(8)), **how)
    for room in (1.2, 2.5, 5.1):
        most[0] = 0
        made = train(network, training, DATA, seed=over("seed", range(8)), memory=room * need, **how)
        assert 1 <= most[0] <= room
        np.testing.assert_allclose(made.loss, plain.loss, rtol=1e-5)
    with pytest.raises(ValueError, match=r"memory = .* one member takes about"):
        train(network, training, DATA, memory=0.5 * need, **how)
