"""The Langevin trainer: engines agree, members do not know each other, and the walk has the laws it should have."""

import numpy as np
import pytest
import torch
import xarray as xr
from oracle import hinge_gradient
from trainer_data import bent

from deepmech import over
from deepmech.core.random import Stream
from deepmech.data import Data
from deepmech.trainers import langevin
from deepmech.trainers.engines.compiled.langevin import CompiledWalk, evaluate, initial, layer_sizes
from deepmech.trainers.engines.torch_walk import BLOCK, TorchWalk
from deepmech.trainers.langevin import (
    COLLAPSED,
    Dynamics,
    Preparation,
    WalkMember,
    prepare,
    run_preparation,
    walk,
)

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("softplus", [0.0, 5.0])
@pytest.mark.parametrize(("width", "hidden", "n"), [(1, 1, 30), (5, 2, 150), (13, 6, 333), (30, 6, 700)])
def test_the_compiled_gradient_is_autograd_s(width, hidden, n, softplus):
    data = bent(n)
    sizes = layer_sizes(4, width, hidden)
    weights = 2.5 * initial(sizes, Stream.of("gradient", width))
    expected = hinge_gradient(weights, sizes, data.x, data.y, softplus=softplus)
    assert np.abs(expected).max() > 0
    for dtype, tolerance in (("float64", 1e-12), ("mixed", 2e-5)):
        network = CompiledWalk(sizes, data.x, data.y, dtype, softplus)
        network.set(weights)
        np.testing.assert_allclose(network.gradient()[0], expected, atol=tolerance * np.abs(expected).max(), rtol=0)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-14), ("mixed", 3e-7)])
def test_softplus_and_its_slope_are_right_from_nothing_to_a_straight_line(dtype, tolerance):
    """One sample, one unit, weights z and 1: of the loss ½(1 + a)² with a = softplus(z)."""
    z = np.array([-1e4, -30.0, -7.0, -1.0, -1e-3, 0.0, 1e-3, 0.3, 2.0, 11.0, 40.0, 1e4])
    for beta in (1.0, 5.0, 20.0):
        slopes = []
        for one in z:
            network = CompiledWalk((1, 1, 1), np.array([[1.0]]), np.array([-1.0]), dtype, beta)
            network.set(np.array([one, 1.0]))
            slopes.append(network.gradient()[0])
        value, slope = np.logaddexp(0, beta * z) / beta, 0.5 * (1 + np.tanh(beta * z / 2))
        by_unit, by_output = np.array(slopes).T
        np.testing.assert_allclose(by_output, (1 + value) * value, rtol=20 * tolerance, atol=tolerance)
        np.testing.assert_allclose(by_unit / (1 + value), slope, rtol=0, atol=20 * tolerance)


@pytest.mark.parametrize("softplus", [0.0, 5.0])
@pytest.mark.parametrize("n", [40, BLOCK, 2 * BLOCK + 333])
def test_networks_that_walk_have_the_gradient_and_the_values_of_each(n, softplus):
    data, sizes = bent(n), layer_sizes(4, 9, 4)
    weights = np.stack([gain * initial(sizes, Stream.of("gradient", 0)) for gain in (1.0, 2.5, 0.0)])
    for dtype, tolerance in (("float64", 1e-12), ("mixed", 2e-5)):
        many = TorchWalk(sizes, data.x, data.y, dtype, 3, softplus=softplus)
        many.set(weights)
        loss, error, active = many.evaluate()
        for k, gradient in enumerate(many.gradient()):
            expected = hinge_gradient(many.w[k], sizes, data.x, data.y, softplus=softplus)
            np.testing.assert_allclose(gradient, expected, atol=tolerance * np.abs(expected).max(), rtol=0)
            one_loss, one_error, one_active = evaluate(many.w[k], sizes, data.x, data.y, softplus)
            assert loss[k] == pytest.approx(one_loss, rel=1e-12) and error[k] == one_error
            for ours, theirs in zip(active, one_active, strict=True):
                np.testing.assert_array_equal(ours[k], theirs)


def test_a_walk_is_the_oracle_s_step_by_step():
    data, sizes, streams = bent(), layer_sizes(4, 5, 3), [Stream.of("walk", s) for s in (0, 1, 0)]
    rate, decay, noise = np.array([0.05, 0.02, 0.1]), np.array([0.0, 0.02, 0.3]), np.array([0.01, 0.0, 0.02])
    start = np.stack([2 * initial(sizes, s) for s in streams])
    many = TorchWalk(sizes, data.x, data.y, "float64", 3)
    many.set(start)
    many.walk(20, 7, rate, decay, noise, streams)
    orders = [s.permutation("order", 0, 150) for s in streams]
    many.descend(orders, 40, rate, decay, 1, 4)
    for i, w in enumerate(start):
        for t in range(7, 27):
            step = rate[i] * (hinge_gradient(w, sizes, data.x, data.y) + decay[i] * w)
            w = w - step + noise[i] * streams[i].normal("thermal", t, len(w))
        for b in (1, 2, 3):
            chosen = orders[i][40 * b : 40 * b + 40]
            w = w - rate[i] * (hinge_gradient(w, sizes, data.x[chosen], data.y[chosen]) + decay[i] * w)
        np.testing.assert_allclose(many.w[i], w, rtol=1e-10, atol=1e-13)


def test_the_gradient_is_the_slope_of_the_loss():
    data, sizes = bent(), layer_sizes(4, 6, 3)
    weights = 2 * initial(sizes, Stream.of("slope", 0))
    network = CompiledWalk(sizes, data.x, data.y, "float64")
    network.set(weights)
    direction = Stream.of("slope", 1).normal("direction", 0, len(weights))
    above, below = (evaluate(weights + s * 1e-6 * direction, sizes, data.x, data.y)[0] for s in (1, -1))
    assert network.gradient()[0] @ direction == pytest.approx((above - below) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("softplus", [0.0, 5.0])
def test_engines_take_the_same_path(softplus):
    data = bent()
    spec = dict(temperature=0.5, regularisation=0.02, width=5, hidden=3, dtype="float64", learning_rate=0.05)
    spec["softplus"] = softplus
    how = dict(steps=60, record=[1, 5, 20], waiting=[0, 40], chi=[3.0])
    start = Preparation(sgd_steps=70, batch_size=40, descent_steps=5, slow_steps=3, learning_rate=0.05, gain=2.0)
    seeds = over("seed", [0, 1])
    fast, slow = (walk(Dynamics(**spec), start, data, engine=e, seed=seeds, **how) for e in ("compiled", "torch"))
    assert (fast.attrs["engine"], slow.attrs["engine"]) == ("compiled", "torch")
    for name in ("square", "fourth", "loss", "sigma", "loss_waited"):
        np.testing.assert_allclose(fast[name], slow[name], rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(fast.within, slow.within)
    made, rest = (prepare(Dynamics(width=5, hidden=2), start, data, engine=e) for e in ("compiled", "torch"))
    np.testing.assert_allclose(made.loss_history, rest.loss_history, rtol=1e-5)
    assert float(made.error) == float(rest.error)


def everything(at=slice(None), **how):
    """Members that differ in all that members of one group may differ in; one of them diverges, one falls asleep."""

    def cells(*values):
        return xr.DataArray(np.array(values)[at], dims="cell", coords={"cell": np.arange(5)[at]})

    start = Preparation(
        gain=cells(1.0, 2.0, 1.0, 2.0, 1.0), learning_rate=cells(0.05, 0.02, 0.01, 0.05, 0.05),
        sgd_steps=300, batch_size=40, descent_steps=30, slow_steps=20,
    )  # fmt: skip
    dynamics = Dynamics(
        width=4, hidden=cells(3, 3, 3, 3, 3), dtype="float64",
        learning_rate=cells(0.05, 0.1, 0.05, 300.0, 0.05), temperature=cells(0.3, 0.1, 0.0, 1.0, 0.2),
        regularisation=cells(0.0, 0.01, 0.0, 0.0, 1.0),
    )  # fmt: skip
    return walk(dynamics, start, bent(), steps=40, record=[3, 20], waiting=[0, 15], seed=over("seed", [0, 1]), **how)


def test_members_of_one_group_may_differ_in_every_number_but_shape():
    many, slow = everything(engine="torch"), everything(engine="compiled")
    assert (many.state == "diverged").all("seed").values.tolist() == [False, False, False, True, False]
    assert float(many.sigma.isel(cell=4).max()) < COLLAPSED
    xr.testing.assert_allclose(many, slow, rtol=1e-7, atol=1e-14)
    for cell in range(5):
        alone = everything(slice(cell, cell + 1), engine="torch")
        xr.testing.assert_allclose(many.isel(cell=[cell]), alone, rtol=1e-7, atol=1e-14)


def test_on_a_cpu_groups_do_not_grow_with_the_number_of_members(monkeypatch):
    sizes = []

    class Counted(TorchWalk):
        def __init__(self, *args, **how):
            super().__init__(*args, **how)
            sizes.append(len(self.w))

    monkeypatch.setattr(langevin, "TorchWalk", Counted)
    data, how = bent(), {"steps": 2, "engine": "torch", "device": "cpu", "seed": over("seed", range(35))}
    walk(Dynamics(width=2, hidden=1), Preparation(sgd_steps=2), data, **how)
    assert max(sizes) == 16 and sum(sizes) == 2 * 35
    sizes.clear()
    monkeypatch.setattr(langevin, "MOST_HELD", 5 * 8 * data.x.shape[0] * (data.x.shape[1] + 3 * 2))
    walk(Dynamics(width=2, hidden=1), Preparation(sgd_steps=2), data, **how)
    assert max(sizes) == 5 and sum(sizes) == 2 * 35


def test_engines_take_the_same_path_of_stochastic_descent():
    dynamics = Dynamics(width=5, hidden=2, batch_size=over("batch_size", [10, 70]), learning_rate=0.05, dtype="float64")
    fast, slow = (
        walk(dynamics, Preparation(sgd_steps=20), bent(), steps=60, record=[1, 30], engine=engine)
        for engine in ("torch", "compiled")
    )
    xr.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-14)


@needs_gpu
def test_a_gpu_takes_the_same_path():
    gpu, cpu = everything(device="cuda"), everything(engine="compiled")
    assert gpu.attrs["engine"] == "torch" and gpu.attrs["device"].startswith("cuda")
    xr.testing.assert_allclose(gpu, cpu, rtol=1e-6, atol=1e-12)


def test_a_member_does_not_know_its_neighbours():
    data = bent()
    start = Preparation(sgd_steps=50, learning_rate=0.05)
    how = dict(steps=30, record=[2, 29], chi=[5.0])

    def run(temperatures, seeds, threads):
        return walk(
            Dynamics(width=4, hidden=2, temperature=over("temperature", temperatures)), start, data,
            seed=over("seed", seeds), threads=threads, **how,
        )  # fmt: skip

    many = run([0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0], [0, 1], 2)
    alone = run([0.5], [1], 1)
    for name in many.data_vars:
        np.testing.assert_array_equal(many[name].sel(temperature=[0.5], seed=[1]), alone[name])


def test_frames_are_independent_of_one_another_and_of_the_schedule():
    data = bent()
    dynamics = Dynamics(width=4, hidden=2, temperature=0.3)
    both = walk(dynamics, Preparation(sgd_steps=20), data, steps=50, waiting=[10, 30], record=[1, 7, 20], chi=[9.0])
    one = walk(dynamics, Preparation(sgd_steps=20), data, steps=50, waiting=[30], record=[7, 20], chi=[9.0])
    np.testing.assert_array_equal(both["square"].sel(waiting=30, time=[7, 20]), one["square"].sel(waiting=30))
    longer = walk(dynamics, Preparation(sgd_steps=20), data, steps=30, waiting=[5, 10], record=[7, 21], chi=[9.0])
    late = longer["square"].sel(waiting=10)
    assert late.sel(time=21).isnull().all() and late.sel(time=7).notnull().all()
    assert longer["square"].sel(waiting=5).notnull().all()


@pytest.mark.parametrize("dtype", ["float64", "mixed"])
@pytest.mark.parametrize("noise", [1e-4, 1e-9])
def test_on_a_quadratic_loss_every_step_is_exact(dtype, noise):
    """Noise below the spacing of single precision, too, which weights kept in it would lose."""
    # Positive inputs and negative first weights: nothing ever passes, so the loss is that of the weights alone.
    stream, sizes = Stream.of("exact", 0), layer_sizes(3, 4, 2)
    x, y = 1 + stream.uniform("x", 0, (64, 3)), np.where(stream.uniform("y", 0, 64) > 0.5, 1.0, -1.0)
    start = initial(sizes, stream)
    start[:12] = -np.abs(start[:12]) - 0.5
    network = CompiledWalk(sizes, x, y, dtype)
    network.set(start)
    rate, decay = 0.01, 0.3
    network.walk(200, 0, rate, decay, noise, [stream])
    w = start.copy()
    for t in range(200):
        w = w - rate * decay * w + noise * stream.normal("thermal", t, len(w))
    np.testing.assert_allclose(network.w[0], w, rtol=1e-12)


def test_the_walk_samples_the_boltzmann_distribution():
    # One weight above one input and one hidden unit held by decay: f = b relu(a x); energies P_D (L + λ/2 (a² + b²)).
    n, decay, temperature, rate = 16, 0.2, 2.0, 0.02
    x = np.linspace(0.2, 1.8, n)[:, None]
    y = np.where(np.arange(n) % 3 > 0, 1.0, -1.0)
    network = CompiledWalk((1, 1, 1), x, y, "float64")
    stream = Stream.of("boltzmann", 0)
    network.set(np.array([0.3, 0.3]))

    def energy(a, b):
        f = b * np.maximum(a * x[:, 0], 0)
        return n * (0.5 * (np.maximum(0, 1 - y * f) ** 2).mean() + decay / 2 * (a * a + b * b))

    grid = np.linspace(-6, 6, 161)
    boltzmann = np.array([[np.exp(-energy(a, b) / temperature) for b in grid] for a in grid])
    boltzmann /= boltzmann.sum()
    energies = np.array([[energy(a, b) for b in grid] for a in grid])
    expected = (boltzmann * energies).sum()
    noise, seen = np.sqrt(2 * temperature * rate / n), []
    for t in range(40_000):
        network.walk(10, 10 * t, rate, decay, noise, [stream])
        seen.append(network.w[0])
    seen = np.array(seen[500:])
    sampled = np.mean([energy(a, b) for a, b in seen[::10]])
    assert sampled == pytest.approx(expected, rel=0.05)
    # Not only its mean: the part of the time on the side where the unit is silent.
    assert (seen[:, 0] < 0).mean() == pytest.approx(
        boltzmann[grid < 0].sum() + boltzmann[grid == 0].sum() / 2, abs=0.06
    )


def test_a_network_that_sleeps_is_finished_in_closed_form():
    data = bent(40)
    dynamics = Dynamics(width=3, hidden=6, regularisation=0.5)
    how = dict(sgd_steps=4000, descent_steps=300, slow_steps=200, learning_rate=0.02)
    (done,) = run_preparation([WalkMember(dynamics, Preparation(**how), 0)], Data(data.x, data.y))
    made, steps = done.weights, done.steps
    assert np.abs(made).max() < COLLAPSED
    start = initial(layer_sizes(4, 3, 6), Stream.of("glass", 0))
    # Gradients of so narrow a network are nearly nothing from the start: decay alone predicts its end.
    decay = (1 - 0.02 * 0.5) ** 4300 * (1 - 0.002 * 0.5) ** 200
    assert np.abs(made).max() == pytest.approx(np.abs(start).max() * decay, rel=0.3)
    assert steps[-1] == 4500
