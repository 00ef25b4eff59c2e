"""Slips of paper A that no other test shows: the law as it is, beside what the paper prints."""

import numpy as np

from deepmech import Chain, curvature, load, simulate
from deepmech.core.random import Stream
from deepmech.simulators.spring_block import equilibrium
from deepmech_book.spring_block import printed
from deepmech_book.spring_block.experiments import experiment
from deepmech_book.spring_block.phase_diagram import movement
from deepmech_book.sweeps.shipped import result


def test_the_first_covariance_of_eq_2_is_the_one_within_classes():
    """Every class moved by a vector of its own: of the two, in the order of Eq. 2, the first does not notice."""
    stream, y = Stream.of("errata moved"), np.repeat(range(4), 30)
    x = stream.normal("x", 0, (len(y), 6))

    def traces(z):
        of_class = [z[y == k] for k in range(4)]
        within = np.mean([one.var(0).sum() for one in of_class])
        return np.array([within, np.array([one.mean(0) for one in of_class]).var(0).sum()])

    first, second = abs(traces(x + stream.normal("class", 0, (4, 6))[y]) - traces(x))
    assert first < 1e-12 and second > 1


def test_pixels_have_not_the_unit_variance_at_which_text_and_program_agree():
    assert np.std(load("digits").x_train, dtype=float) < 0.5


def test_kicks_are_increments_of_the_wiener_process_and_not_of_white_noise():
    """Variance over a window, over its length: one at any step of the limit; of white noise it grows without bound."""
    window, n = 0.01, 20_000
    wiener, white = [], []
    for step in (1e-3, 1e-4):
        size = round(window / step)
        noise = Stream.of("errata increments").normal("white", size, (n, size + 1)) / np.sqrt(step)
        white.append(np.var(noise[:, -1] - noise[:, 0]) / window)
        wiener.append(np.var(noise[:, :-1].sum(1) * step) / window)
    np.testing.assert_allclose(wiener, 1, atol=0.05)
    assert white[0] > 1e4 and white[1] > 8 * white[0]


def test_four_of_the_seven_blocks_of_fig_4b_never_move_without_noise():
    chain = Chain(friction_right=0.11, friction_left=0.03, noise=0.0)
    rest = simulate(chain, 300.0, dt=0.05).position.isel(run=0, block=slice(1, -1))
    assert int((rest == 0.0).sum()) == 4


def test_without_static_friction_in_the_steps_a_quiet_langevin_chain_creeps():
    """Euler steps of Eqs. 12 and 13, with no friction at zero speed, miss the closed form that our steps reach."""
    dt, t_end, right, left, k, damping = 0.01, 300.0, 0.011, 0.016, 0.1, 2.0
    quiet = Chain(friction_right=right, friction_left=left, stiffness=k, damping=damping, noise=0.0)
    rest = equilibrium(quiet).position
    static = simulate(quiet, t_end, dt=dt, order="langevin").position.isel(run=0, drop=True)
    assert float(abs(static - rest).max()) < 1e-3
    place, speed = np.zeros(quiet.n_blocks + 2), np.zeros(quiet.n_blocks)
    place[-1] = 1.0
    for _ in range(round(t_end / dt)):
        resistance = np.where(speed > 0, right, np.where(speed < 0, -left, 0.0))
        pull = k * (place[2:] - 2 * place[1:-1] + place[:-2])
        speed = speed + dt * (pull - resistance - damping * speed)
        place[1:-1] += dt * speed
    assert abs(place - rest.values).max() > 0.01


def test_the_chain_of_fig_s14_has_not_converged_when_it_is_recorded():
    """At weak noise, with the larger friction to the left: at t = 300 blocks move on, and the curve bends on."""
    chain = Chain(friction_right=0.004, friction_left=0.016, stiffness=0.1, noise=0.0048)
    how = {"order": "langevin", "noise_decay": 0.002, "n_runs": 5}
    run = simulate(chain, 2500.0, record=[270, 300, 2470, 2500], **how)
    assert np.exp(-0.002 * 300) > 0.5
    moved = movement(run.position).mean("run").values
    assert moved[0] > 0.01 and moved[2] < 1e-3
    bend = curvature(run["load_curve"], dim="block").mean("run").values
    assert abs(bend[1]) < 0.02 and bend[3] < -0.05


def test_accuracies_of_fig_1b_are_those_of_200_epochs():
    how = {"network": {}, "training": {"epochs": 100}}
    longer, shorter = (
        result(experiment("figure-1b", seeds, **how)) for seeds, how in (({}, {}), ({"seed": range(3)}, how))
    )
    theirs = printed.printed("learning_rate")
    far = [printed.rms(printed.off_print(one, theirs)["accuracy"]) for one in (longer.isel(seed=slice(3)), shorter)]
    assert far[0] / far[1] < 0.5
