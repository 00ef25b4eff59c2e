"""Constants in place of BatchNorm: what they keep, layer by layer."""

import numpy as np
import pytest
import torch
from torch import nn

from deepmech.sweeps import run
from deepmech_book.experiments.spring_block import without_norm
from deepmech_book.experiments.spring_block.without_norm import SCALED, Times, constants


@pytest.mark.parametrize("slope", [0.0, 0.4])
@pytest.mark.parametrize("scaled", SCALED)
def test_constants_bring_every_layer_to_what_they_say(scaled: str, slope: float) -> None:
    x = 0.3 * torch.rand((400, 30), generator=torch.Generator().manual_seed(1))
    network = constants(x, slope, scaled=scaled, depth=5, width=40)
    seen = [z.detach() for i, z in enumerate(_layers(network, x)) if isinstance(network[i], Times)]
    of = (lambda z: z.var(0).mean()) if scaled == SCALED[0] else (lambda z: (z**2).mean())
    expected = float((x**2).mean()) if scaled == SCALED[2] else 1.0
    assert [float(of(z)) for z in seen] == pytest.approx([expected] * 4, rel=1e-4)


def _layers(network: nn.Sequential, x: torch.Tensor) -> list[torch.Tensor]:
    found = []
    for layer in network:
        x = layer(x)
        found.append(x)
    return found


def test_networks_with_constants_train_and_do_not_depend_on_their_chunks() -> None:
    data = {"name": "digits", "n_train": 100, "n_test": 50}
    sweep = without_norm.lazy_corner(data, [1e-3], n_seeds=2, epochs=3)
    one, many = run(sweep, chunk=1), run(sweep, chunk=6)
    assert dict(one.sizes) == {"scaled": 3, "learning_rate": 1, "seed": 2, "layer": 8}
    assert one.seed.values.tolist() == [10, 11] and not one["diverged"].any()
    np.testing.assert_allclose(one["load_curve"], many["load_curve"], rtol=1e-5)
