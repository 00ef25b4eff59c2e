"""Landscapes with known answers: quadratics, wells, the Lennard-Jones dimer, and the loss against torch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled.langevin import initial, layer_sizes
from deepmech.trainers.modules import BiasFree
from deepmech_book.sweeps.glass import landscape
from deepmech_book.sweeps.glass import surfaces as shape
from deepmech_book.sweeps.glass.binary_glass import CUTOFF, DEPTHS, SIZES, BinaryGlass
from deepmech_book.sweeps.glass.hinge_loss import HingeLoss

GLASS = BinaryGlass()


def lone_pair(distance, kinds=(0, 0)):
    """Two particles of the mixture at a distance, all others far from them and from one another."""
    thin = BinaryGlass(n_particles=150, density=1e-4)
    places = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), -1).reshape(-1, 3)[:150] * thin.side / 6
    x = places.astype(float)
    first, second = (np.flatnonzero(thin.species == k)[i] for i, k in enumerate(kinds))
    x[second] = x[first] + distance * np.array([1.0, 2.0, 2.0]) / 3
    return thin, x.ravel(), first, second


@given(st.integers(0, 50))
@settings(max_examples=10, deadline=None)
def test_a_slice_of_a_quadratic_is_a_paraboloid(seed):
    stream = Stream.of("slice test", seed)
    a = stream.normal("a", 0, (6, 6))
    matrix, middle = a @ a.T, stream.normal("m", 0, 6)
    plane = shape.Plane.through(stream.normal("p", 0, (3, 6)))
    np.testing.assert_allclose(plane.axes @ plane.axes.T, np.eye(2), atol=1e-12)

    def value(x):
        return float(0.5 * (x - middle) @ matrix @ (x - middle))

    u, v = np.linspace(-2, 2, 5), np.linspace(-1, 3, 4)
    made = plane.slice(value, u, v)
    inner = plane.axes @ matrix @ plane.axes.T
    tilt = plane.axes @ matrix @ (plane.origin - middle)
    exact = value(plane.origin) + u[:, None] * tilt[0] + v * tilt[1]
    exact = exact + 0.5 * (inner[0, 0] * u[:, None] ** 2 + inner[1, 1] * v**2) + inner[0, 1] * u[:, None] * v
    np.testing.assert_allclose(made, exact, rtol=1e-9, atol=1e-9)
    found = shape.curvatures(lambda x: matrix @ (x - middle), middle, 1e-3)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix), atol=1e-8)


def test_the_plane_holds_its_three_points_and_keeps_their_distances():
    points = Stream.of("plane test", 0).normal("p", 0, (3, 40))
    plane = shape.Plane.through(points)
    at = plane.place(points)
    for p, (u, v) in zip(points, at, strict=True):
        np.testing.assert_allclose(plane.point(u, v), p, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(at[1] - at[0]), np.linalg.norm(points[1] - points[0]))
    with pytest.raises(ValueError, match="line"):
        shape.Plane.through(np.array([[0.0, 0], [1, 1], [2, 2]]))


def test_paths():
    hill = lambda p: float(np.exp(-(p @ p)))  # noqa: E731
    push = lambda p: -2 * p * np.exp(-(p @ p))  # noqa: E731
    same = np.array([0.7, 0.2])
    assert np.ptp(shape.linear_path(hill, same, same, 7)) == 0
    straight = shape.linear_path(hill, -same, same)
    assert straight.max() == hill(0 * same) and straight[0] == straight[-1] == hill(same)
    # The path settles at equal distances, whatever the landscape, and its ends stay.
    path = shape.string_method(push, np.array([-1.0, 0.1]), np.array([1.0, 0.1]), 0.1, images=9, steps=50)
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert np.ptp(lengths) < 0.02 * lengths.mean()
    assert path[0].tolist() == [-1.0, 0.1] and path[-1].tolist() == [1.0, 0.1]

    # A double well (x² - 1)² + 2 y²: the saddle lies at the origin, at height 1.
    def wells(p):
        return np.array([4 * p[0] * (p[0] ** 2 - 1), 4 * p[1]])

    bent = shape.string_method(wells, np.array([-1.0, 0]), np.array([1.0, 0]), 0.02, 21, 200)
    values = [(p[0] ** 2 - 1) ** 2 + 2 * p[1] ** 2 for p in bent]
    assert max(values) - values[0] == pytest.approx(1.0, abs=1e-6)


def test_participation_ratio_of_random_least_squares():
    n, samples = 60, 300
    x = Stream.of("wishart", 0).normal("x", 0, (samples, n))
    found = shape.participation_ratio(np.linalg.eigvalsh(x.T @ x / samples))
    assert found == pytest.approx(1 / (1 + n / samples), rel=0.03)


@pytest.mark.parametrize("kinds", [(0, 0), (0, 1), (1, 1)])
def test_a_pair_feels_lennard_jones_with_a_shifted_force(kinds):
    depth, size = DEPTHS[kinds], SIZES[kinds]

    def pair(r):
        s = r / size
        end, tilt = CUTOFF**-12 - CUTOFF**-6, -12 * CUTOFF**-13 + 6 * CUTOFF**-7
        return 4 * depth * (s**-12 - s**-6 - end - tilt * (s - CUTOFF)) if s < CUTOFF else 0.0

    for r in (0.95 * size, 2 ** (1 / 6) * size, 1.7 * size, 2.499 * size, 2.6 * size):
        thin, x, *_ = lone_pair(r, kinds)
        assert thin.energy(x)[0] == pytest.approx(pair(r), abs=1e-12)
    # The bare potential's least value is -ε at 2^(1/6) σ; shifting the force moves place and depth by a few per cent.
    thin, x, first, second = lone_pair(1.2 * size, kinds)
    rest = shape.minimise(thin.energy, x, 200).x.reshape(-1, 3)
    gap = np.linalg.norm(rest[first] - rest[second])
    assert gap == pytest.approx(2 ** (1 / 6) * size, rel=0.005)
    assert pair(gap) < min(pair(0.999 * gap), pair(1.001 * gap))
    assert -depth < pair(gap) < -0.75 * depth


def test_energy_has_its_gradient_and_its_symmetries():
    stream = Stream.of("glass test", 1)
    x = GLASS.crystal(stream) + 0.02 * stream.normal("x", 0, 450)
    value, slope = GLASS.energy(x)
    for k in (0, 7, 449):
        move = np.zeros(450)
        move[k] = 1e-6
        found = (GLASS.energy(x + move)[0] - GLASS.energy(x - move)[0]) / 2e-6
        assert found == pytest.approx(slope[k], rel=1e-5, abs=1e-4)
    rows = x.reshape(-1, 3)
    swapped = rows.copy()
    swapped[[3, 8]] = rows[[8, 3]]
    for same in (
        rows + np.array([0.3, -1, 2]),
        rows + GLASS.side * (stream.uniform("b", 0, (150, 3)) > 0.5),
        rows[:, [1, 2, 0]],
        swapped,
    ):
        assert GLASS.energy(same.ravel())[0] == pytest.approx(value, rel=1e-10)
    swapped[[3, 149]] = swapped[[149, 3]]
    assert GLASS.energy(swapped.ravel())[0] != pytest.approx(value, rel=1e-6)
    with pytest.raises(ValueError, match="n_particles"):
        BinaryGlass(n_particles=100)


def test_without_a_bath_energy_is_kept_and_with_one_heat_is_shared():
    stream = Stream.of("glass test", 2)
    x = shape.minimise(GLASS.energy, GLASS.crystal(stream), 400).x
    # Friction of nothing: what is left of the noise is none, and the total energy changes with the step's square.
    free = BinaryGlass(friction=1e-12, time_step=0.002)
    hot = free.molecular_dynamics(x, np.full(300, 0.4), stream)
    cold = free.molecular_dynamics(x, np.concatenate([[0.4], np.zeros(299)]), stream)
    np.testing.assert_allclose(hot, cold, atol=1e-3)
    # Equipartition near a minimum: potential energy per coordinate T/2, from which anharmonicity takes little.
    t, end, energies = 0.02, x, []
    for k in range(8):
        end = GLASS.molecular_dynamics(end, np.full(400, t), stream, 400 * k)
        energies.append(GLASS.energy(end)[0])
    rise = np.mean(energies[2:]) - GLASS.energy(shape.minimise(GLASS.energy, end, 3000).x)[0]
    assert rise / (0.5 * t * 447) == pytest.approx(1.0, abs=0.15)
    np.testing.assert_allclose(end.reshape(-1, 3).mean(0), x.reshape(-1, 3).mean(0), atol=1e-9)


def test_renamed_particles_are_the_same_state():
    stream = Stream.of("glass test", 3)
    x = GLASS.crystal(stream).reshape(-1, 3)
    order = np.concatenate([stream.permutation("a", 0, 120), 120 + stream.permutation("b", 0, 30)])
    moved = x[order] + GLASS.side * np.sign(stream.normal("boxes", 0, (150, 3)))
    found = landscape.matched(x.ravel(), moved.ravel(), GLASS.species, GLASS.side)
    np.testing.assert_allclose(found, x.ravel(), atol=1e-9)


def test_loss_is_torch_s_loss_and_has_its_symmetries():
    sizes, stream = layer_sizes(5, 4, 3), Stream.of("loss test", 0)
    x = stream.normal("x", 0, (150, 5))
    y = np.sign(stream.normal("y", 0, 150))
    w = 2 * initial(sizes, stream)
    loss = HingeLoss(sizes, x, y, 0.1)
    network = BiasFree(sizes).double()
    torch.nn.utils.vector_to_parameters(torch.tensor(w), network.parameters())
    margin = torch.tensor(y) * network(torch.tensor(x))[:, 0]
    whole = (0.5 * torch.relu(1 - margin) ** 2).mean() + 0.05 * sum((p**2).sum() for p in network.parameters())
    whole.backward()
    value, gradient = loss(w)
    assert value == pytest.approx(whole.item(), rel=1e-12)
    expected = torch.cat([p.grad.ravel() for p in network.parameters()])
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    # Swapping two hidden units changes nothing; nor does scaling one, into it by a and out of it by 1/a, but for decay.
    first, second = w[:20].reshape(4, 5).copy(), w[20:36].reshape(4, 4).copy()
    swap = np.concatenate([first[[1, 0, 2, 3]].ravel(), second[:, [1, 0, 2, 3]].ravel(), w[36:]])
    assert loss.value(swap) == pytest.approx(value, rel=1e-12)
    first[2] *= 3
    second[:, 2] /= 3
    scaled = np.concatenate([first.ravel(), second.ravel(), w[36:]])
    bare = HingeLoss(sizes, x, y)
    assert bare.value(scaled) == pytest.approx(bare.value(w), rel=1e-12)
    assert not np.isfinite(bare.value(1e60 * w)), "the maximum keeps what is not a number"
    with pytest.raises(ValueError, match="regularisation = -1"):
        HingeLoss(sizes, x, y, -1)
