"""Networks of other kinds, and images of other sizes."""

import numpy as np
import pytest
import torch

from deepmech.data import DataMissingError, load
from deepmech.sweeps import run
from deepmech_book.beyond.experiments import experiment
from deepmech_book.sweeps.spring_block import architectures

TINY = {"name": "digits", "n_train": 120, "n_test": 60}


def test_untrained_networks_do_not_notice_dropout_but_by_their_averages():
    """The transformer, which has none, is the very same network."""
    found = run(experiment("travels-transformer-untrained", {"slope": [0.0], "seed": [0]}, data=TINY))
    np.testing.assert_allclose(*found["load_curve"].squeeze().values, rtol=1e-5)


def test_a_residual_network_is_a_plain_one_plus_its_stream():
    torch.manual_seed(0)
    block = architectures.Block(4, 0.5, 0.0, skip=True).eval()
    x = torch.randn(3, 4)
    whole = block(x)
    block.skip = False
    torch.testing.assert_close(whole, x + block(x))


def test_attention_is_that_of_torch():
    torch.manual_seed(0)
    ours, theirs = architectures.Attention(8), torch.nn.MultiheadAttention(8, 4, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.into.weight), theirs.in_proj_bias.copy_(ours.into.bias)
        theirs.out_proj.weight.copy_(ours.out.weight), theirs.out_proj.bias.copy_(ours.out.bias)
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(ours(x), theirs(x, x, x, need_weights=False)[0])


def test_repeated_pixels_show_nothing_new():
    recipe = {"name": "mnist", "n_train": 30, "n_test": 10}
    try:
        small = load(**recipe, size=10)
    except DataMissingError as missing:
        pytest.skip(str(missing))
    grown = architectures._images("10 as 28", recipe)
    assert grown.x_train.shape == (30, 784) and grown.fingerprint != small.fingerprint
    ours = grown.x_train.reshape(30, 28, 28)
    np.testing.assert_array_equal(ours[:, [0, 27]][:, :, [0, 27]], small.x_train.reshape(30, 10, 10)[:, ::9, ::9])
    assert all(len(np.unique(a)) == len(np.unique(b)) for a, b in zip(grown.x_train, small.x_train, strict=True))
