"""Measuring a curve leaves no trace in a training."""

import random
from collections import OrderedDict

import numpy as np
import pytest
import torch
from example_networks import CLASSES, WIDTH, seeded, tensors
from torch import nn

from deepmech.metrics.evaluation import evaluation
from deepmech.metrics.load_curve import load_curve


class Restless(nn.Module):
    """Everything that a forward pass in evaluation mode may disturb."""

    def __init__(self):
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(WIDTH))
        self.own = torch.Generator().manual_seed(3)

    def forward(self, x):
        self.passes += 1
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)  # a new tensor in the buffer's place
        scale = 1 + 0.01 * (random.random() + np.random.random())  # noqa: NPY002
        return nn.functional.dropout(x, 0.1, training=True) * scale + 0.01 * torch.randn(1, generator=self.own)


def network() -> nn.Sequential:
    return seeded(
        lambda: nn.Sequential(
            OrderedDict(
                norm0=nn.BatchNorm1d(WIDTH), restless=Restless(), linear1=nn.Linear(WIDTH, WIDTH),
                norm1=nn.BatchNorm1d(WIDTH), relu1=nn.ReLU(), dropout=nn.Dropout(0.2),
                linear2=nn.Linear(WIDTH, WIDTH), relu2=nn.ReLU(), out=nn.Linear(WIDTH, CLASSES),
            )
        )
    )  # fmt: skip


def everything(model, optimiser):
    """All bits of a training run."""
    tensors = [*model.state_dict().values(), *(p.grad for p in model.parameters())]
    for state in optimiser.state.values():
        tensors += [torch.as_tensor(v) for v in state.values()]
    tensors += [torch.get_rng_state(), model.restless.own.get_state(), torch.tensor(np.random.get_state()[1])]  # noqa: NPY002
    words = (random.getstate(), np.random.get_state()[2:], [m.training for m in model.modules()])  # noqa: NPY002
    return [t.clone() for t in tensors], words


def run(watch, when="after the step", autocast=False):
    x, y = tensors()
    model = network()
    model.norm1.eval()  # frozen by its owner
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(2)
        random.seed(2)
        np.random.seed(2)  # noqa: NPY002
        curves = []
        for _ in range(7):
            optimiser.zero_grad()
            with torch.autocast("cpu", enabled=autocast):
                if watch and when == "before the forward pass":
                    curves.append(load_curve(model, x[:30], y[:30]))
                loss = nn.functional.cross_entropy(model(x).float(), y)
                if watch and when == "before the backward pass":
                    curves.append(load_curve(model, x[:30], y[:30]))
            loss.backward()
            optimiser.step()
            if watch and when == "after the step":
                curves.append(load_curve(model, x[:30], y[:30]))
        return everything(model, optimiser), curves


@pytest.mark.parametrize("when", ["after the step", "before the forward pass", "before the backward pass"])
@pytest.mark.parametrize("autocast", [False, True], ids=["float32", "mixed precision"])
def test_a_watched_training_run_has_the_same_bits(when, autocast):
    outside = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        (alone, words), _ = run(watch=False, autocast=autocast)
        (watched, same_words), curves = run(watch=True, when=when, autocast=autocast)
    finally:
        random.setstate(outside[0])
        np.random.set_state(outside[1])  # noqa: NPY002
    assert len(curves) == 7 and curves[0].layer.values.tolist() == ["norm0", "relu1", "relu2"]
    assert len(alone) == len(watched) and all(torch.equal(a, b) for a, b in zip(alone, watched, strict=True))
    assert words[0] == same_words[0] and words[1:] == same_words[1:]


def test_untouched_also_after_an_error():
    model = network()
    before, state = {k: v.clone() for k, v in model.state_dict().items()}, torch.get_rng_state()
    with pytest.raises(RuntimeError, match="midway"), evaluation(model):
        assert not model.training and not torch.is_grad_enabled()
        model(torch.ones(4, WIDTH))
        assert model.restless.passes == 1
        raise RuntimeError("midway")
    assert model.training and torch.is_grad_enabled() and torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
