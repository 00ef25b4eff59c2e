"""Slow weights: the walks are those of the chapter, and idle, silent and slow mean what the page says."""

import numpy as np

from deepmech.sweeps.results import result
from deepmech_book.experiments import slow_weights, two_populations
from deepmech_book.experiments.glass import walks


def test_the_walks_are_those_of_the_chapter():
    """Mean square displacements of the weights are those that ship."""
    phase = "regularised"
    ours = result(two_populations.weights(phase))["weights"]
    shipped = result(walks.standard(phase, "mnist")).isel(waiting=0).sel(temperature=two_populations.COLDEST[phase])
    seeds = np.intersect1d(ours.seed, shipped.seed)
    ours, shipped = ours.sel(seed=seeds), shipped.sel(seed=seeds)
    assert len(seeds) == 16
    begin, end = ours.isel(step=0), ours.isel(step=-1)
    time = float(ours.step[-1] - ours.step[0])
    np.testing.assert_allclose(((end - begin) ** 2).mean("weight"), shipped.msd.sel(time=time), rtol=1e-6)


def test_a_unit_that_reaches_nobody_is_idle_and_not_silent():
    """Two inputs, two hidden layers of two units, one output; the second unit of layer 1 fires but leads nowhere."""
    sizes = (2, 2, 2, 1)
    layers = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([[1.0, 1.0]])]
    weights, x = np.concatenate([layer.ravel() for layer in layers]), np.array([[1.0, 2.0], [2.0, 1.0]])
    idle, silent = (find(weights, sizes, x) for find in (slow_weights.idle_units, slow_weights.silent_units))
    assert [units.tolist() for units in idle] == [[False, True], [False, True]]
    assert [units.tolist() for units in silent] == [[False, False], [False, True]]
    assert slow_weights.touching(idle, sizes).tolist() == [
        False,
        False,
        True,
        True,
        False,
        True,
        True,
        True,
        False,
        True,
    ]
    assert slow_weights.outputs(slow_weights.matrices(weights, sizes), x).tolist() == [1.0, 2.0]


def test_slow_is_measured_in_free_walks():
    free = np.sqrt(2 * walks.RATE * 0.01 / walks.P_D * 100)
    frames = np.array([[0.0, 0.0], [2.9 * free, 3.1 * free]])
    one = slow_weights.Network((1, 1, 1), np.array([0, 100]), frames, np.array([0, 1]), 0.01)
    assert one.slow().tolist() == [True, False]


def test_as_many_are_chosen_in_every_way():
    rng_free = np.linspace(-1, 1, 12)
    frames = np.stack([np.zeros(12), np.where(np.arange(12) % 3 == 0, 0.0, rng_free)])
    one = slow_weights.Network((3, 3, 1), np.array([0, 100]), frames, np.repeat([0, 1], [9, 3]), 0.01)
    chosen = slow_weights.choices(one, 0)
    slow = chosen["slow"][0]
    assert slow.sum() == 4
    assert all(which.sum() == 4 for many in chosen.values() for which in many)
    assert all(which[9:].sum() == slow[9:].sum() for which in chosen["random"])
