"""Data of two classes, scaled sizes, and cells that do not know each other."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from slices import BRIEF

from deepmech import Dynamics, Preparation, over, prepare, sweeps
from deepmech.core.random import Stream
from deepmech.data.catalogue import state
from deepmech.sweeps import run
from deepmech_book.glass import phases, transitions
from deepmech_book.glass.experiments import experiment
from deepmech_book.sweeps.glass import walks
from deepmech_book.sweeps.glass.data import binary

SMALL = {"n_data": 300, "whiten": False, "preparation": BRIEF}


def test_components_are_standard_and_have_fixed_signs():
    data = binary("digits", 600, whiten=True)
    np.testing.assert_allclose(data.x_train.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(np.cov(data.x_train.T, bias=True), np.eye(10), atol=1e-9)
    assert set(data.y_train) == {-1.0, 1.0} and abs(data.y_train.mean()) < 0.15
    fewer = binary("digits", 600, 5, whiten=True)
    assert fewer.fingerprint != data.fingerprint
    np.testing.assert_allclose(fewer.x_train, data.x_train[:, :5])


def test_components_of_the_program_are_those_of_all_samples():
    few, many = (binary("digits", n) for n in (300, 600))
    np.testing.assert_array_equal(few.x_train, many.x_train[:300])
    assert few.fingerprint != many.fingerprint != binary("digits", 600, whiten=True).fingerprint
    whole = binary("digits").x_train
    variance = whole.var(0)
    assert (np.diff(variance) < 0).all() and variance[0] > 2
    np.testing.assert_allclose(np.cov(whole.T, bias=True), np.diag(variance), atol=1e-9)


REFERENCE = Path(__file__).parents[3] / "shared" / "papers" / "reference" / "glass_inputs_by_program.npz"


@pytest.mark.skipif(not REFERENCE.is_file(), reason="numbers made by the authors' program are not at hand")
def test_components_of_mnist_are_those_of_the_program():
    if not state("mnist").startswith("ready"):
        pytest.skip("needs MNIST")
    made, whole = np.load(REFERENCE), binary("mnist")
    np.testing.assert_allclose(whole.x_train.var(0, ddof=1), made["variance"], atol=1e-6)
    order = Stream.of("data", "mnist", 0).permutation("train", 0, len(whole.x_train))
    first = np.argsort(order)[:200]
    x = whole.x_train[first]
    np.testing.assert_allclose(x * np.sign((x * made["first"]).sum(0)), made["first"], atol=1e-6)


def test_widths_keep_the_ratio_of_weights_to_data():
    like = walks.paper_networks("regularised")
    assert [walks.width_for(like, n) for n in (60_000, 4000)] == [30, 7]
    assert walks.standard("regularised", "mnist", steps=30_000).fixed["waiting"] == [10_000, 20_000]


def test_temperatures_of_which_a_page_speaks_may_not_be_missing():
    changes = {"steps": 12_000, "temperatures": [0.1, 1e-3], "underparameterised": {"temperatures": [0.1]}}
    made = walks.sweeps("digits", changes, named=[[0.1], [], [1e-3]])
    assert list(made) == list(walks.PHASES) and made["regularised"].fixed["steps"] == 12_000
    with pytest.raises(ValueError, match=r"changes: 'seeds', 'widths': must be of .*n_seeds.*regularised"):
        walks.sweeps("digits", {"widths": 3, "regularised": {"seeds": 3}})
    with pytest.raises(
        ValueError, match=r"temperatures = \[0.1\] of underparameterised.*speaks of 0, 0.01, too; add them"
    ):
        walks.sweeps("digits", changes, named=[[], [0.1, 0.01, 0.0], []])


def test_temperatures_are_the_paper_s():
    """At 300 samples the walk is colder, and its diffusion the same."""
    sweep = walks.phase_sweep(
        "regularised", "digits", [1.0, 0.01, 0.0], 2, **SMALL, steps=60, waiting=[10, 30], width=4
    )
    whole = sweeps.run(sweep, chunk=6)
    window = phases.window_size(whole).sel(temperature=1.0).values[:1]
    free = phases.times(whole.isel(seed=[0])).free.sel(temperature=1.0)
    assert float(free) == pytest.approx(0.1848 * float(window[0]) ** 2 / (1e-3 / 60_000), rel=1e-3)


def test_weights_after_the_wait_are_those_that_walks_are_compared_with():
    sweep = walks.phase_sweep("regularised", "digits", [1.0, 0.0], 2, **SMALL, steps=60, waiting=[10], width=4)
    run, weights = sweeps.run(sweep), sweeps.run(walks.waited_weights(sweep)).weights
    assert weights.temperature.values.tolist() == [1.0]
    np.testing.assert_allclose(
        weights.std("weight"), run.sigma.sel(temperature=[1.0]).transpose("seed", "temperature"), rtol=1e-6
    )


def test_hot_walks_are_free_in_time_and_in_shape():
    sweep = walks.phase_sweep("underparameterised", "digits", [1.0, 0.0], 4, **SMALL, steps=400, waiting=[20], width=6)
    run = phases.survivors(sweeps.run(sweep, chunk=8))
    hot = phases.times(run).sel(temperature=1.0)
    assert float(hot.tau / hot.free) == pytest.approx(1.0, abs=0.3)
    far = (phases.overlaps(run) - phases.free_overlaps(run)).mean("seed").sel(temperature=1.0)
    assert float(abs(far).max()) < 0.1
    assert float(run.alpha.sel(temperature=1.0).isel(waiting=0, time=0).mean()) == pytest.approx(0.0, abs=0.3)
    shape = run.overlap.isel(waiting=0).diff("time")
    assert (shape.sel(temperature=0.0) <= 1e-6).all()


def test_large_decay_ends_at_the_origin():
    cells = {"width": [4], "regularisation": [0.0, 2.0], "seed": range(2)}
    brief = {"sgd_steps": 3000, "learning_rate": 0.05, "descent_steps": 0, "slow_steps": 0}
    made = sweeps.run(experiment("glass-plane", cells, dataset="digits", n_data=300, whiten=False, **brief), chunk=2)
    assert (made.data_loss.sel(regularisation=2.0) == 0.5).all() and (made.norm.sel(regularisation=2.0) < 1e-4).all()
    assert (made.data_loss.sel(regularisation=0.0) < 0.5).all()
    assert float(transitions.ratio(made)[0]) == pytest.approx(124 / 300, abs=1e-4)


def test_walks_begin_where_training_for_that_length_ends():
    cells, size = {"sgd_steps": [50, 400], "seed": range(2)}, {"dataset": "digits", "n_data": 200}
    sweep = experiment("glass-preparation", cells, **size, steps=300, waiting=(0, 100))
    made = run(sweep)
    assert made.overlap.dims == ("sgd_steps", "seed", "waiting", "time", "chi") and not made.diverged.any()
    rest = prepare(
        Dynamics(width=sweep.fixed["width"], regularisation=0.01), Preparation(sgd_steps=over("sgd_steps", [50, 400])),
        binary("digits", 200), seed=over("seed", [0, 1]), experiment="glass preparation",
    )  # fmt: skip
    assert np.allclose(made.loss_waited.isel(waiting=0), rest.data_loss.transpose("sgd_steps", "seed"), rtol=1e-6)


def test_survivors_say_how_many_did_not():
    grid = {"temperature": [0.0, 1.0], "seed": range(4)}
    lost = np.zeros((2, 4), bool)
    lost[1, [0, 2]] = True
    loss = np.full((2, 4, 1), 0.1)
    loss[0, 3] = loss[1, 3] = 0.5
    every = {"diverged": (tuple(grid), lost), "loss_waited": ((*grid, "waiting"), loss)}
    run_ = phases.survivors(xr.Dataset(every, grid))
    assert run_.sizes["seed"] == 1 and run_.attrs["left_out"] == 2 and run_.attrs["fallen"] == 1
    spec = walks.standard("regularised", "mnist").to_json()
    run_ = run_.assign(n_weights=("seed", [322])).assign_attrs(spec=json.dumps(spec))
    assert phases.origin(run_).endswith("1 initial conditions (2 more diverged, 1 more lie at the origin).")
    assert phases.origin(phases.survivors(run_)).endswith("1 initial conditions.")
    with pytest.raises(ValueError, match=r"glass-regularised-mnist: of 1 initial conditions 1 diverged.*n_seeds"):
        phases.survivors(run_.assign(diverged=~run_.diverged))
