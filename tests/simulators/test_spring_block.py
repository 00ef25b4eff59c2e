"""The simulated chain against its theory, plain torch and its own smaller batches."""

import resource
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import xarray as xr
from chain_oracle import positions
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech import over
from deepmech.simulators.spring_block import Chain, averaged, equilibrium, friction, simulate
from deepmech.simulators.spring_block.simulate import stability_bound

ORDERS = ("first", "second", "langevin")


def last_second_difference(dataset: xr.Dataset) -> xr.DataArray:
    """Mean of Δd = d_{ℓ+1} − d_ℓ over the blocks."""
    return dataset.position.diff("block").diff("block").mean("block")


# --- equilibria without noise ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_quiet_chains_rest_where_the_closed_form_says(order):
    """All moving, some stuck, none moving, to 1e-6."""
    # Seven blocks: all move below μ→ = 1/28; from μ→ = 1 on, none does. Damping high enough to avoid overshooting,
    # as the paper asks.
    mu = over("mu_right", [0.0, 0.01, 0.03, 1 / 27, 0.05, 0.08, 0.11, 0.3, 0.6, 1.0, 1.5])
    chain = Chain(friction_right=mu, friction_left=0.2, noise=0.0, damping=6.0)
    t_end, dt = (200, 0.05) if order == "first" else (1500, 0.02)
    rest = equilibrium(chain)
    assert set(rest.n_moving.values) >= {0, 1, 3, 6, 7}
    got = simulate(chain, t_end=t_end, dt=dt, order=order).isel(run=0)
    np.testing.assert_allclose(got.position, rest.position, atol=1e-6)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.3, 3))
@settings(max_examples=20)
def test_leftward_friction_plays_no_part_without_noise(right, left, other, k):
    """A pulled chain moves to the right alone; equal to the last bit, on the way too."""
    chain = Chain(friction_right=right, friction_left=over("left", sorted({left, other, 0.0})), stiffness=k, noise=0.0)
    run = simulate(chain, 20.0, dt=0.05, record=[1.0, 20.0]).position
    np.testing.assert_array_equal(run, run.isel(left=[0] * run.sizes["left"]))


@given(st.floats(-2, 2), st.floats(0, 1), st.floats(0, 1), st.floats(0.3, 3))
@settings(max_examples=40)
def test_the_first_step_of_a_block_is_what_friction_leaves_of_the_force(force, right, left, k):
    """Eqs. 5 and 6: a block at x between springs to 0 and to 1 feels k (1 − 2x)."""
    block = Chain(n_blocks=1, friction_right=right, friction_left=left, stiffness=k, noise=0.0)
    start = (1 - force / k) / 2
    end = simulate(block, 0.01, dt=0.01, start=[start]).position.sel(block=1).item()
    assert (end - start) / 0.01 == pytest.approx(friction(force, right, left), abs=1e-9)


@given(st.floats(0, 0.2), st.floats(0, 0.3), st.integers(1, 9), st.floats(0.3, 3))
@settings(max_examples=20)
def test_energy_never_rises_without_noise(right, left, n_blocks, k):
    chain = Chain(n_blocks=n_blocks, friction_right=right, friction_left=left, stiffness=k, noise=0.0)
    start = np.linspace(0, 2, n_blocks) ** 2 - 0.5  # out of balance in both directions
    run = simulate(chain, 5.0, dt=0.01, record=np.linspace(0, 5, 101), start=start)
    energy = run.elastic_energy.isel(run=0).values
    assert np.all(np.diff(energy) <= 1e-12 * energy[0])


# --- noisy equilibria -----------------------------------------------------------------------------------------------


def test_equation_8_in_the_limit_of_large_noise():
    """Mean Δd within 2 % of (μ→ − μ←)/2k for ε̄ ≥ 0.2."""
    chain = Chain(
        friction_right=0.04, friction_left=over("mu_left", [0.12, 0.2]), noise_bar=over("bar", [0.2, 0.4, 0.8])
    )
    run = simulate(chain, 400, dt=0.01, n_runs=200, record=np.linspace(200, 400, 41))
    got = last_second_difference(run).mean(["run", "time"])
    expected = (chain.friction_right - chain.friction_left) / 2
    assert float(abs(got / expected - 1).max()) < 0.02


def test_results_do_not_depend_on_the_step_at_fixed_noise_bar_but_do_at_fixed_noise():
    def mean(dt, **noise):
        chain = Chain(friction_right=0.04, friction_left=0.12, **noise)
        run = simulate(chain, 300, dt=dt, n_runs=200, record=np.linspace(150, 300, 16))
        return float(last_second_difference(run).mean())

    fixed_bar = [mean(dt, noise_bar=0.1) for dt in (0.1, 0.03, 0.01)]
    assert np.ptp(fixed_bar) < 0.02 * abs(np.mean(fixed_bar))
    fixed_noise = [mean(dt, noise=0.01) for dt in (0.1, 0.03, 0.01)]
    assert np.ptp(fixed_noise) > 0.5 * abs(np.mean(fixed_noise))


@pytest.mark.parametrize("shared", [False, True])
def test_many_small_steps_average_the_noise_at_first_order(shared):
    """At fixed ε̄ the mean over runs tends to the averaged chain as the step shrinks; the error is of order η."""
    chain = Chain(friction_right=0.04, friction_left=0.12, noise_bar=0.2)
    errors = []
    for dt in (0.2, 0.1, 0.05):
        got = simulate(chain, 20, dt=dt, n_runs=20_000, shared_noise=shared).position.mean("run")
        errors.append(float(abs(got - averaged(chain, 20, dt=0.05).position).max()))
    rate = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] < 4e-3
    assert np.all(rate > 0.6), (errors, rate)


def test_bounded_noise_stops_where_unbounded_noise_creeps_on():
    chain = Chain(friction_right=0.02, friction_left=0.1, noise_bar=0.012)
    bounded = [float(last_second_difference(simulate(chain, t, n_runs=4, truncation=1.0)).mean()) for t in (400, 1600)]
    unbounded = [float(last_second_difference(simulate(chain, t, n_runs=4)).mean()) for t in (400, 1600)]
    # The drift vanishes quadratically at the edge of the dead band, so the excess over μ→ − ε̄c = 0.008 falls as 1/t.
    excess = np.array(bounded) - 0.008
    assert 0 < excess[1] < 5e-4
    assert 3 < excess[0] / excess[1] < 4.5
    assert unbounded[1] < unbounded[0] < bounded[1]


def test_time_to_drift_grows_as_an_exponential_of_inverse_noise_squared():
    """Time until Δd falls below half the quiet value μ→: log T is linear in 1/ε̄², with the predicted slope."""
    right, level = 0.03, 0.015
    bars = np.array([0.0048, 0.0052, 0.0057, 0.0064])
    chain = Chain(n_blocks=3, friction_right=right, friction_left=0.1, noise_bar=over("bar", bars))
    times = np.geomspace(2, 4000, 400)
    run = simulate(chain, 4000, dt=0.02, n_runs=30, record=times)
    below = last_second_difference(run).mean("run") < level
    crossing = run.time.values[below.argmax("time")]
    # An averaged chain relaxes at a rate that carries exp(−(μ→ − kΔd)²/2ε̄²); the last stretch dominates the time.
    slope = np.polyfit(1 / bars**2, np.log(crossing), 1)[0]
    assert below.isel(time=-1).all() and not below.isel(time=0).any()
    predicted = (right - level) ** 2 / 2
    assert 0.8 * predicted < slope < 1.6 * predicted, (slope, predicted)


# --- orders ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "expected"), [("first", 1), ("second", 1), ("langevin", 1)])
def test_order_of_convergence(order, expected):
    """Quiet chains converge at first order in the step, friction and sticking included."""
    chain = Chain(friction_right=0.05, friction_left=0.1, noise=0.0, damping=1.0)
    steps = (0.02, 0.01, 0.005)
    runs = [simulate(chain, 8.0, dt=dt, order=order).position for dt in (*steps, 0.02 / 256)]
    error = [float(abs(r - runs[-1]).max()) for r in runs[:-1]]
    rate = np.log2(np.array(error[:-1]) / error[1:])
    assert np.all(abs(rate - expected) < 0.25), (error, rate)


def test_second_order_tends_to_first_order_as_damping_grows():
    """With time in units of γ the distance falls as 1/γ² (the equation is x''/γ² + x' = σ)."""
    chain = Chain(friction_right=0.02, friction_left=0.1, noise=0.0)
    t = 3.0
    first = simulate(chain, t, dt=0.0005).position
    distance = []
    gammas = np.array([4.0, 8.0, 16.0])
    for gamma in gammas:
        second = simulate(replace(chain, damping=gamma), t * gamma, dt=0.0005, order="second").position
        distance.append(float(abs(second - first).max()))
    rate = np.log2(np.array(distance[:-1]) / distance[1:])
    assert np.all(abs(rate - 2) < 0.3), (distance, rate)


@pytest.mark.parametrize("order", ["second", "langevin"])
def test_static_friction_holds_a_block_at_rest(order):
    """A pull below μ→ moves nothing, exactly; a pull above it does."""
    for target, moves in ((0.1, False), (0.5, True)):
        chain = Chain(friction_right=0.3, friction_left=0.3, target=target, noise=0.0)
        x = simulate(chain, 10, order=order).position.isel(run=0).values[1:-1]
        assert (x != 0).any() == moves


def test_smooth_langevin_chain_obeys_equipartition():
    """Without friction each spring mode holds T/2 with T = ε²/2γ: ⟨x²⟩ of one block between two springs is T/2k."""
    chain = Chain(n_blocks=1, target=1e-9, noise=0.3, damping=1.5, stiffness=0.8)
    run = simulate(chain, 60, dt=0.01, order="langevin", n_runs=4000, record=np.linspace(30, 60, 31))
    variance = float((run.position.sel(block=1) ** 2).mean())
    expected = 0.3**2 / (2 * 1.5) / (2 * 0.8)
    assert variance == pytest.approx(expected, rel=0.03)


# --- engines and batches --------------------------------------------------------------------------------------------


@given(
    order=st.sampled_from(ORDERS),
    n_blocks=st.integers(1, 9),
    shared=st.booleans(),
    truncation=st.one_of(st.none(), st.floats(0.3, 3)),
    decay=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40)
def test_kernels_agree_with_plain_torch(order, n_blocks, shared, truncation, decay, seed):
    chain = Chain(
        n_blocks=n_blocks, friction_right=over("r", [0.0, 0.05]), friction_left=0.1, noise=over("e", [0.0, 0.02, 0.1]),
    )  # fmt: skip
    setting = {
        "t_end": 2.0, "order": order, "n_runs": 2, "shared_noise": shared, "truncation": truncation,
        "noise_decay": decay, "seed": seed, "dt": 0.01,
    }  # fmt: skip
    fast = simulate(chain, **setting, record=[0.0, 1.0, 2.0]).position.stack(member=["r", "e"])
    fast = fast.transpose("time", "member", "run", "block")
    np.testing.assert_allclose(fast, positions(chain, **setting)[::100], rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_a_member_alone_in_seven_and_in_five_hundred_has_the_same_bits(order, monkeypatch):
    monkeypatch.setenv("DEEPMECH_CORES", "2")
    noise = np.linspace(0.0, 0.05, 500)

    def run(values):
        chain = Chain(friction_right=0.04, friction_left=0.12, noise=over("noise", values))
        return simulate(chain, 5.0, order=order, n_runs=1, truncation=2.5, noise_decay=0.01).position

    many = run(noise)
    for n in (1, 7):
        few = run(noise[100 : 100 + n])
        assert np.array_equal(few.values, many.sel(noise=noise[100 : 100 + n]).values)


@pytest.mark.parametrize("go", [partial(simulate, t_end=5.0, n_runs=2, record=[1.0, 5.0]),
                                partial(averaged, t_end=5.0), equilibrium])  # fmt: skip
def test_chains_of_several_lengths_are_what_each_is_alone_and_end_in_nan(go):
    setting = {"friction_right": over("mu", [0.01, 0.1]), "friction_left": 0.2, "noise": 0.02}
    both = go(Chain(n_blocks=over("L", [3, 7]), **setting))
    for n_blocks in (3, 7):
        alone, beside = go(Chain(n_blocks=n_blocks, **setting)), both.sel(L=n_blocks, drop=True)
        xr.testing.assert_equal(beside.isel(block=slice(n_blocks + 2)), alone)
        assert beside.position.isel(block=slice(n_blocks + 2, None)).isnull().all()


def test_runs_and_recorded_times_do_not_change_one_another():
    chain = Chain(friction_right=0.04, friction_left=0.12, noise=0.02)
    one, many = simulate(chain, 5.0, n_runs=1), simulate(chain, 5.0, n_runs=9)
    assert np.array_equal(one.position.isel(run=0), many.position.isel(run=0))
    film = simulate(chain, 5.0, n_runs=1, record=[0.0, 0.01, 2.0, 5.0])
    assert np.array_equal(film.position.isel(time=-1), one.position)
    assert np.array_equal(film.position.isel(time=0, run=0)[1:-1], np.zeros(7))
    assert film.time.values.tolist() == [0.0, 0.01, 2.0, 5.0]


def test_shared_noise_is_one_noise():
    """Blocks with no springs to tell them apart (tiny stiffness) move together under shared noise only."""
    chain = Chain(stiffness=1e-12, noise=0.1)
    shared = simulate(chain, 1.0, shared_noise=True).position.isel(run=0).values[1:-1]
    own = simulate(chain, 1.0).position.isel(run=0).values[1:-1]
    assert np.ptp(shared) < 1e-9 < 0.01 < np.ptp(own)


def test_memory_does_not_grow_with_the_number_of_steps():
    chain = Chain(friction_right=0.04, friction_left=0.12, noise=over("noise", np.linspace(0, 0.02, 200)))
    simulate(chain, 1.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    simulate(chain, 200.0)  # its trajectories would take 288 MB, its noise 224 MB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB


def test_dataset_is_labelled_and_consistent():
    chain = Chain(
        n_blocks=3, friction_right=over("mu", [0.0, 0.1]), target=over("y", [1.0, 2.0, 3.0]), stiffness=2.0, noise=0.0
    )
    run = simulate(chain, 1.0, n_runs=2, record=[0.5, 1.0], dt=0.05)
    assert dict(run.sizes) == {"mu": 2, "y": 3, "run": 2, "time": 2, "block": 5}
    D = run["load_curve"]
    xr.testing.assert_allclose(D, (chain.target - run.position).transpose(*D.dims))
    pull = 2.0 * (chain.target - run.position.sel(block=3, drop=True))
    xr.testing.assert_allclose(run.force, pull.transpose(*run.force.dims))


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"friction_left": -0.1, "noise": 0.0}, r"Chain\.friction_left = -0\.1: must be zero or positive"),
        (
            {"friction_right": over("p", [0.1, -0.2]), "noise": 0.0},
            r"Chain\.friction_right = .*-0\.2.*zero or positive",
        ),
        ({"stiffness": 0.0, "noise": 0.0}, r"Chain\.stiffness = 0\.0: must be positive"),
        ({"noise": 0.1, "noise_bar": 0.1}, "both given; give exactly one"),
        ({}, "neither given; give exactly one"),
        ({"noise": float("nan")}, r"Chain\.noise = nan: must be finite"),
        ({"noise_bar": float("inf")}, r"Chain\.noise_bar = inf: must be finite"),
        ({"noise": 0.0, "n_blocks": 0}, r"Chain\.n_blocks = 0: must be a whole number"),
        ({"noise": 0.0, "n_blocks": over("L", [3, 0])}, r"Chain\.n_blocks = 0: must be a whole number"),
        ({"noise": "loud"}, r"Chain\.noise = 'loud': must be a number"),
    ],
)
def test_bad_chains_are_refused_with_field_value_and_remedy(fields, words):
    with pytest.raises(ValueError, match=words):
        Chain(**fields)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dt": 0.6}, r"dt = 0\.6: must be at most 0\.51\d+, beyond which the first-order steps are unstable \(2/ω²"),
        ({"dt": 1.2, "order": "second"}, r"at most 0\.\d+, beyond which the second-order"),
        ({"dt": -1}, "dt = -1: must be positive"),
        ({"t_end": 0.0}, "t_end = 0.0: must be finite and at least one step"),
        ({"order": "third"}, r"order = 'third': must be one of \['first', 'langevin', 'second'\]"),
        ({"n_runs": 0}, "n_runs = 0"),
        ({"truncation": 0.0}, "truncation = 0.0: must be at least 0.001"),
        ({"noise_decay": -1.0}, "noise_decay"),
        ({"record": [11.0]}, "record"),
        ({"record": []}, "record"),
        ({"start": [0.0]}, "give 7 finite positions"),
    ],
)
def test_bad_simulations_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        simulate(Chain(noise=0.01), **{"t_end": 10.0, **arguments})


@pytest.mark.parametrize("order", ORDERS)
def test_the_stability_bound_is_sharp(order):
    """Just inside it a frictionless chain settles; the refusal names the bound just outside."""
    chain = Chain(noise=0.0, damping=0.7)
    bound, _ = stability_bound(chain, order)
    start = (-1.0) ** np.arange(7)  # the stiffest mode
    inside = simulate(chain, 300 * bound, dt=0.98 * bound, order=order, start=start).position
    assert float(abs(inside).max()) < 3
    with pytest.raises(ValueError, match="unstable"):
        simulate(chain, 1.0, dt=1.001 * bound, order=order)
