"""The folding ruler obeys its mechanics: closed form, exact sticking, convergence, members apart."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech import over
from deepmech.core.random import Stream
from deepmech.simulators.folding_ruler import Pull, Ruler, simulate, slow_profile, step

FRICTIONS = over("table_friction", [0.0, 0.05, 0.2, 0.5])


def yield_tension(u):
    return 1 / np.sqrt(1 - u**2)


@given(
    n=st.integers(2, 12),
    f=st.floats(0, 2),
    angle=st.floats(40, 89),
    share=st.floats(0.02, 0.98),
    stop=st.floats(0.9, 0.999),
)
def test_the_slow_profile_balances_every_pair(n, f, angle, share, stop):
    start = np.cos(np.radians(angle))
    mean = start + share * (stop - start)
    u = slow_profile(Ruler(n_pairs=n, fold_angle=angle, table_friction=f, stop=stop), mean).values
    assert u.mean() == pytest.approx(mean, abs=1e-9)
    assert np.all(np.diff(u) >= -1e-12)
    # Tension falls by f from pair to pair inward; a pair that has not opened bears less than it yields to.
    pull = (yield_tension(u) + f * np.arange(n)[::-1])[(u > start + 1e-9) & (u < stop - 1e-9)]
    assert np.ptp(pull) < 1e-6 * max(pull.max(), 1) if len(pull) else True
    if len(pull):
        stuck = (yield_tension(u) + f * np.arange(n)[::-1])[u <= start]
        assert np.all(stuck >= pull.max() - 1e-6)
    if f == 0:
        assert np.ptp(u) < 1e-9


def test_slow_pulling_tends_to_the_closed_form_and_forgets_its_speed():
    pull = Pull(duration=over("duration", [100.0, 400.0, 1600.0]))
    found = simulate(Ruler(table_friction=FRICTIONS), pull, dt=0.02, n_frames=2).extension.isel(run=0, frame=-1)
    error = abs(found - slow_profile(Ruler(table_friction=FRICTIONS), 0.6)).max(("pair", "table_friction")).values
    # Inertia enters with the square of the speed: a sixteenth each time.
    assert error[1] < 5e-4
    assert np.all((error[:-1] / error[1:] > 10) & (error[:-1] / error[1:] < 25)), error


def test_pairs_stay_between_folded_and_their_stop_however_the_hand_jerks():
    pull = Pull(duration=12.0, jerk_speed=over("jerk_speed", [0.5, 2.0, 5.0]), jerk_period=1.0)
    found = simulate(Ruler(table_friction=FRICTIONS), pull, n_runs=2)
    assert np.all(found.extension >= -1e-9) and np.all(found.extension <= 0.99 + 1e-9)


def test_positions_converge_at_first_order_or_better():
    def end(dt):
        found = simulate(Ruler(), Pull(duration=150.0), dt=dt, n_frames=2)
        return found.position.isel(run=0, frame=-1).values

    exact = end(0.000625)
    errors = [np.abs(end(dt) - exact).max() for dt in (0.02, 0.01, 0.005)]
    assert errors[0] < 1e-5
    assert errors[0] / errors[1] > 1.8 and errors[1] / errors[2] > 1.8, errors


def test_nodes_that_static_friction_holds_do_not_move_at_all():
    found = simulate(Ruler(table_friction=0.5), Pull(duration=200.0), dt=0.02)
    held = found.position.isel(run=0, node=slice(0, 3))
    assert np.array_equal(held, held.isel(frame=0).broadcast_like(held))


@given(
    n=st.integers(2, 7),
    f=st.floats(0, 0.5),
    drag=st.floats(0, 2),
    seed=st.integers(0, 10**6),
)
def test_a_step_is_the_minimum_of_its_function(n, f, drag, seed):
    draw = Stream.of("ruler step", seed)
    v = np.r_[0.0, draw.normal("v", 0, n)]
    bound = np.r_[0.0, draw.uniform("bound", 0, n)]
    hi, lo = np.r_[0.0, 2 * draw.uniform("hi", 0, n)], -np.r_[0.0, 2 * draw.uniform("lo", 0, n)]
    speed = lo.sum() + (hi.sum() - lo.sum()) * draw.uniform("speed", 0, 1)[0]
    out, work = np.zeros(n + 1), [np.zeros(8 * n + 8) for _ in range(4)]
    step(v, speed, bound, lo, hi, f, np.full(n + 1, drag), out, np.zeros(n + 1), np.zeros(n + 1), *work)
    assert out[0] == pytest.approx(0, abs=1e-9) and out[-1] == speed
    opening = np.diff(out)
    assert np.all(opening >= lo[1:] - 1e-9) and np.all(opening <= hi[1:] + 1e-9)

    def cost(w):
        g = np.diff(w)
        if np.any(g < lo[1:] - 1e-8) or np.any(g > hi[1:] + 1e-8):
            return np.inf
        inner = w[1:-1]
        own = 0.5 * (inner - v[1:-1]) ** 2 + f * abs(inner) + 0.5 * drag * inner**2
        return own.sum() + (bound[1:] * abs(g)).sum()

    # A sum of convex terms in w_i and in w_i − w_j can be lowered somewhere only if it can be lowered by moving one
    # run of neighbours together.
    for i in range(1, n):
        for j in range(i + 1, n + 1):
            for d in (-1e-5, 1e-5):
                moved = out.copy()
                moved[i:j] += d
                assert cost(moved) >= cost(out) - 1e-12


def test_shaking_sideways_takes_the_tables_part_away():
    ruler = Ruler(table_friction=0.5)
    shaken = simulate(ruler, Pull(duration=400.0, shake_speed=over("c", [0.01, 0.1, 1.0])), dt=0.02, n_frames=2)
    spread = shaken.extension.isel(run=0, frame=-1).std("pair").values
    assert np.all(np.diff(spread) < 0)
    assert spread[-1] < 0.01 < 0.3 < float(slow_profile(ruler, 0.6).std("pair"))


def test_a_member_does_not_know_its_neighbours():
    speeds = over("jerk_speed", [0.5, 1.0, 2.0])
    pull = {"duration": 20.0, "jerk_period": 1.0}
    many = simulate(Ruler(table_friction=FRICTIONS), Pull(jerk_speed=speeds, **pull), n_runs=3, seed=4)
    alone = simulate(Ruler(table_friction=0.2), Pull(jerk_speed=1.0, **pull), n_runs=1, seed=4)
    twin = many.sel(table_friction=0.2, jerk_speed=1.0).isel(run=[0])
    assert np.array_equal(twin.position, alone.position)
    ends = many.position.isel(frame=-1, node=4).sel(table_friction=0.2, jerk_speed=1.0)
    assert len(np.unique(ends)) == 3
    lengths = simulate(Ruler(n_pairs=over("n", [3, 8])), Pull(jerk_speed=speeds, **pull), seed=4).sel(n=3, drop=True)
    short = simulate(Ruler(n_pairs=3), Pull(jerk_speed=speeds, **pull), seed=4)
    xr.testing.assert_equal(lengths.isel(node=slice(4), pair=slice(3)), short)
    assert lengths.position.isel(node=slice(4, None)).isnull().all()
    profile = slow_profile(Ruler(n_pairs=over("n", [3, 8])), 0.5).sel(n=3, drop=True)
    xr.testing.assert_equal(profile.isel(pair=slice(3)), slow_profile(Ruler(n_pairs=3), 0.5))
    other = simulate(Ruler(table_friction=0.2), Pull(jerk_speed=1.0, **pull), n_runs=1, seed=5)
    assert not np.array_equal(other.position, alone.position)


def test_bad_input_says_which_field_and_what_is_allowed():
    with pytest.raises(ValueError, match=r"Ruler\.n_pairs = 1: must be a whole number, at least 2"):
        Ruler(n_pairs=1)
    with pytest.raises(ValueError, match=r"Ruler\.table_friction = -0\.1"):
        Ruler(table_friction=over("f", [0.1, -0.1]))
    with pytest.raises(ValueError, match=r"Pull\.duration = nan: must be finite"):
        Pull(duration=float("nan"))
    with pytest.raises(ValueError, match=r"Pull\.extension = 0\.1: must lie between"):
        simulate(Ruler(), Pull(extension=0.1))
    with pytest.raises(ValueError, match=r"simulate: dt = 0\.1: must be positive and at most 0\.02"):
        simulate(Ruler(), Pull(), dt=0.1)
    with pytest.raises(ValueError, match="n_runs = 0"):
        simulate(Ruler(), Pull(duration=20.0), n_runs=0)
    with pytest.raises(ValueError, match="different labels"):
        simulate(Ruler(table_friction=over("x", [0.1, 0.2])), Pull(extension=over("x", [0.5, 0.7])))
