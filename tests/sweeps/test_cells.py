"""What every experiment keeps: cells do not know their chunk, what diverges has no numbers, requests are named."""

import numpy as np
import pytest
import xarray as xr
from slices import BRIEF, TRIALS, cells

from deepmech import over
from deepmech.sweeps import Sweep, run
from deepmech_book.beyond.experiments import experiment as beyond
from deepmech_book.glass.experiments import experiment
from deepmech_book.spring_block import experiments as springs
from deepmech_book.spring_block import printed
from deepmech_book.sweeps.elastic_sde import networks as trials
from deepmech_book.sweeps.glass import walks
from deepmech_book.sweeps.spring_block import regression
from deepmech_book.sweeps.spring_block.convolutional import train_through_stages
from deepmech_book.sweeps.spring_block.networks import dataset_kwargs, train_cells

TINY = {"name": "digits", "n_train": 120, "n_test": 60}
FEW = {"name": "digits", "n_train": 700, "n_test": 50}
GLASS = {"name": "digits", "n_data": 200}
LANDSCAPES = {
    "networks": {
        phase: {"data": GLASS, "width": 3, "regularisation": decay, "preparation": BRIEF | {"sgd_steps": 500}}
        for phase, decay in (("regularised", 0.01), ("underparameterised", 0.0))
    },
    "temperatures": {"regularised": 0.1, "underparameterised": 0.1},
    "kicks": [0.01, 0.1], "legs": 2, "leg": 50, "calls": [10, 40], "descent": 50, "directions": 2, "images": 5,
    "relaxing": 10,
}  # fmt: skip
SURVEY = "deepmech_book.sweeps.glass.landscape:survey"
SWEEPS = [
    springs.experiment(
        "figure-1c", {"slope": [0.0, 0.5], "dropout": [0.0, 0.2], "seed": range(2)},
        data=TINY, network={"width": 12, "depth": 4}, training={"epochs": 4},
    ),
    springs.experiment("figure-4", {"seed": range(2)}, data=TINY, epochs=3, n_records=2, width=12),
    springs.experiment("figure-S4", {"learning_rate": [1e-3, 1e-2], "seed": range(2)}, data=TINY, width=12, epochs=3),
    springs.experiment("figure-5a", {"seed": range(2)}, small=0.1, duration=1.0, large_steps=5, n=10),
    springs.experiment("noise-by-layer", {"slope": [0.4], "seed": [0]}, data=FEW, at=[0, 1], n_draws=2),
    springs.experiment("figure-S12", {"seed": range(2)}, epochs=10, width=12),
    trials.trials(
        "small", label_error=[0.0, 0.5], per_class=12, n_trials=10, iterations=40, thin=20, coarse=20, n_checks=1
    ),
    walks.phase_sweep(
        "regularised", "digits", [1.0, 0.0], 2, n_data=200, steps=60, waiting=[10, 30], preparation=BRIEF, width=4
    ),
    Sweep("landscapes", SURVEY, {"system": over("system", list(LANDSCAPES["networks"])), "seed": over("seed", [0, 1])},
          LANDSCAPES),
    *(
        beyond(f"travels-{kind}-untrained", {"slope": [0.5], "seed": [0]}, data=TINY)
        for kind in ("plain", "residual", "transformer")
    ),
]  # fmt: skip


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
def test_cells_do_not_know_their_chunk(sweep):
    one, many = run(sweep, chunk=1), run(sweep, chunk=7)
    xr.testing.assert_identical(one.drop_attrs(), many.drop_attrs())


def test_slices_of_landscapes_begin_at_their_least_and_paths_share_their_ends():
    whole = run(next(sweep for sweep in SWEEPS if sweep.name == "landscapes"))
    assert (whole["slice"].min(["u", "v"]) == 0).all() and whole.places.shape[-2:] == (3, 2)
    ends = whole.far.isel(place=[0, -1])
    np.testing.assert_array_equal(ends.sel(path="straight"), ends.sel(path="relaxed"))
    assert (ends.max("place") == 0).all()


def test_networks_with_constants_know_their_chunk_to_rounding():
    sweep = springs.experiment(
        "constants", {"learning_rate": [1e-3], "seed": [10, 11]}, data=TINY, training={"epochs": 3}
    )
    one, many = run(sweep, chunk=1), run(sweep, chunk=6)
    assert dict(one.sizes) == {"scaled": 3, "learning_rate": 1, "seed": 2, "layer": 8}
    assert one.seed.values.tolist() == [10, 11] and not one["diverged"].any()
    np.testing.assert_allclose(one["load_curve"], many["load_curve"], rtol=1e-5)


REGIMES = {name: {"learning_rate": rate, "dropout": 0.0} for name, rate in (("calm", 1e-3), ("wild", 1e30))}
WILD = {
    "regression": lambda: regression.train_regressions(
        cells(*({"regime": name, "seed": 0} for name in REGIMES)), regimes=REGIMES, epochs=3, width=6
    ),
    "trials": lambda: trials.train_cells(cells({"learning_rate": 0.005}, {"learning_rate": 1e30}), **TRIALS),
}


@pytest.mark.parametrize("name", WILD)
def test_what_diverges_is_a_cell_without_numbers(name):
    with np.errstate(all="ignore"):
        made = WILD[name]()
    if name == "trials":
        assert made["left_out"].values.tolist() == [0, 2] and not made["count"][1].any()
        made = made[["loss", "mean"]]
    for variable in made.data_vars:
        assert made[variable][0].notnull().any() and made[variable][1].isnull().all(), variable


def test_networks_that_diverge_while_they_settle_have_no_error():
    cells = {"width": [4], "regularisation": [0.0], "seed": range(2)}
    how = {"sgd_steps": 400, "learning_rate": 1e6, "descent_steps": 0, "slow_steps": 0}
    made = run(experiment("glass-plane", cells, dataset="digits", n_data=200, whiten=False, **how))
    assert made["diverged"].all()
    assert all(made[name].isnull().all() for name in ("loss", "data_loss", "error", "norm"))


STAGES = {"data": TINY, "network": {}, "training": {}, "stage": 4, "n_records": 5}
REQUESTS = [
    (lambda: dataset_kwargs("mnst"), "data = 'mnst'.*mnist"),
    (lambda: train_cells(cells({"dropout": 1.5, "seed": 0}), data=TINY, network={}, training={}), r"dropout = 1\.5"),
    (lambda: printed.printed("x"), r"panel = 'x'.*dropout"),
    (lambda: train_through_stages(cells({"seed": 0}), **STAGES), "n_records = 5.*stage = 4"),
    (lambda: trials.as_published("mnist"), "must be one of geomnist, corruption"),
    (lambda: trials.trials("t", thin=7), "thin = 7: must divide the 10000 iterations"),
    (lambda: trials.trials("t", n_trials=25), "multiple of 10"),
    (lambda: walks.standard("regularized", "mnist"), "'regularized'"),
    (lambda: walks.standard("regularised", "mnist", steps=9000), "steps = 9000"),
]


@pytest.mark.parametrize(("call", "words"), REQUESTS)
def test_bad_requests_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
