"""What a step does to others: kernels, whole steps, and the trials that are stopped for them."""

import numpy as np
import torch

from deepmech import SingleSample, over, train_lenet
from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled.lenet import CompiledLeNet, padded
from deepmech.trainers.lenet import initial_weights
from deepmech.trainers.modules import LeNet
from deepmech_book.sweeps.elastic_sde import tangent_kernel
from deepmech_book.sweeps.elastic_sde.data import images

DATA = images("geomnist", 3, 40, 10)


def test_a_stopped_trial_is_the_trial_that_nobody_stops():
    whole = train_lenet(SingleSample(0.005, 60), DATA, seed=over("trial", [4]), experiment=tangent_kernel.EXPERIMENT)
    stopped = tangent_kernel.Trial(4, DATA, 0.005, np.array([0, 20, 60]), 2)
    assert len(list(stopped.stops())) == 3
    np.testing.assert_array_equal(stopped.log, whole["logits"].values[0])
    np.testing.assert_array_equal(stopped.label, whole["label"].values[0])


def test_small_steps_are_what_the_kernel_says():
    weights, rate = initial_weights(Stream.of("kernel", 1), 1, 3), 1e-6
    chosen = np.concatenate([np.flatnonzero(DATA.y_test == c)[:2] for c in range(3)])
    x, y = DATA.x_test[chosen], DATA.y_test[chosen]
    engine, module = CompiledLeNet(weights, rate, "float64"), LeNet(1, 3).double()
    tangent_kernel.load_weights(module, engine.weights())
    theta, z = tangent_kernel.tangent_kernel(module, torch.from_numpy(np.asarray(x, float)))
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    first = rate * np.einsum("aibj,bj->abi", theta, np.eye(3)[y] - p)
    made, logits = tangent_kernel.finite_moves(engine, padded(x, 1, "float64"), y)
    np.testing.assert_allclose(logits, z, rtol=0, atol=1e-12)
    assert abs(first).max() > 0
    np.testing.assert_allclose(made, first, rtol=0, atol=1e-5 * abs(first).max())
    for (weight, bias), (now, now_bias) in zip(weights, engine.weights(), strict=True):
        np.testing.assert_array_equal(weight, now)
        np.testing.assert_array_equal(bias, now_bias)


def test_blocks_leave_out_a_sample_with_itself():
    pairs = np.arange(16.0).reshape(4, 4)
    expected = [[(1 + 4) / 2, (2 + 3 + 6 + 7) / 4], [(8 + 9 + 12 + 13) / 4, (11 + 14) / 2]]
    assert tangent_kernel.class_blocks(pairs, 2).tolist() == expected
