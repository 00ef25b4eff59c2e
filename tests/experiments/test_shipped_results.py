"""What ships with the book says where it comes from, and comes out again when it is computed anew."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deepmech.sweeps.results import NOTES, filename, notes, sweep_of
from deepmech.sweeps.store import checksum, read_netcdf
from deepmech_book.experiments import finite_steps, tangent_kernel, three_lenses, two_populations
from deepmech_book.experiments.elastic_sde import extensions, extensions_fit
from deepmech_book.experiments.elastic_sde import networks as lenets
from deepmech_book.experiments.glass import cifar, landscape, scaling, transitions, walks, wells
from deepmech_book.experiments.spring_block import (
    asymmetric_noise,
    beside_the_print,
    convolutional,
    diagrams,
    linear_networks,
    metrics_compared,
    networks,
    networks_in_time,
    recorded,
    regression,
    travels,
    tuning,
)

RESULTS = sorted((Path(__file__).parents[2] / "book" / "results").glob("*.nc"))


def stored(name: str) -> Path:
    return next(p for p in RESULTS if p.name.startswith(name))


def test_something_ships():
    assert RESULTS
    assert sum(path.stat().st_size for path in RESULTS) < 20_000_000


@pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.stem)
def test_shipped_results_are_whole_and_say_where_they_come_from(path):
    result = read_netcdf(path)
    sweep = sweep_of(result)
    assert path.name == f"{sweep.name}-{sweep.key}.nc"
    assert tuple(result.sizes[d] for d in sweep.grid.dims) == sweep.grid.shape
    for name, variable in result.data_vars.items():
        assert variable.dtype.kind not in "f" or np.isfinite(variable).any(), name
    if "diverged" in result and "load_curve" in result:
        assert (np.isfinite(result["load_curve"]).all("layer") | result["diverged"]).all()
    for attribute in ("machine", "versions", "wall_seconds", "data", "device"):
        assert attribute in result.attrs
    assert not re.search(r"/\w+/", result.attrs["machine"])
    assert path.stat().st_size < 2_000_000


def shipping():
    """What the pages draw of results made elsewhere, as they ask for it."""
    jpeg = "cifar10-jpeg"
    small = {"name": "mnist", "size": 10, "n_train": 512, "n_test": 4000}
    yield from (networks.figure_1(panel, "mnist") for panel in networks.PANELS)
    yield from (diagrams.diagram(name, "mnist") for name in ("S5a", "S5b", "without-norm"))
    yield from (diagrams.diagram(name, jpeg) for name in ("S8", "S9a", "S9b"))
    yield networks.untrained("mnist")
    yield metrics_compared.two_metrics("mnist")
    yield networks_in_time.regimes("mnist", n_seeds=10)
    fine = {"name": "mnist", "size": 28, "n_train": 2560}
    yield networks_in_time.on_both_sets("mnist", n_seeds=10)
    yield networks_in_time.on_both_sets(fine, n_seeds=10)
    yield networks_in_time.on_both_sets(fine, [1e-3], width=100, n_seeds=10)
    yield beside_the_print.with_fewer_images()
    yield diagrams.diagram("without-norm", "mnist", training={"learning_rate": 1e-4})
    yield asymmetric_noise.noise_by_layer()
    yield convolutional.dropout_raised(small, stage=400, n_records=6)
    yield linear_networks.figure_5a(n_seeds=3)
    yield regression.figure_s12()
    yield tuning.validated("data_noise", "mnist")
    yield recorded.recorded()
    yield travels.resolutions()
    yield from (travels.diagram(kind, trained=trained) for kind in travels.KINDS for trained in (True, False))
    yield from (lenets.as_published(name) for name in ("geomnist", "geomnist-long", "corruption", "corruption-long"))
    yield from (
        lenets.as_published(name) for name in ("sizes", "corruption-independent", "imbalance", "cifar", "cifar-2")
    )
    yield from (lenets.as_published(name) for name in ("cifar-sizes", "cifar-text", "cifar-text-2"))
    yield extensions.own_fits()
    yield from (extensions_fit.fits(of) for of in ("elastic-geomnist", "elastic-cifar"))
    yield from (tangent_kernel.measured(), tangent_kernel.measured(jpeg, 50), finite_steps.stepped())
    yield two_populations.weights("regularised")
    yield from (three_lenses.looked_at(), three_lenses.looked_at(jpeg, 30))
    yield from (walks.standard(phase, name) for phase in walks.PHASES for name in ("mnist", jpeg))
    yield walks.batch_sweep({"name": "mnist", "n_data": 4000})
    alone = walks.batch_sweep({"name": "mnist", "n_data": 4000}, n_seeds=1)
    yield replace(alone, name="glass-batches-free-mnist", fixed={**alone.fixed, "regularisation": 0.0})
    yield wells.sweep(walks.standard("regularised", "mnist"), 7)
    yield from (cifar.linear_sweep(name) for name in ("mnist", jpeg))
    full, steps = {"name": "mnist", "n_data": 60_000}, {"learning_rate": 1e-3, "descent_steps": 50, "slow_steps": 50}
    for name, gain, decay in (("default", 1.0, 0.01), ("glorot", 3**0.5, 0.03)):
        started = {**steps, "gain": gain, "sgd_steps": 100_000}
        yield transitions.plane(full, [30], [decay], 2, started, f"ttt-{name}")
    yield from (transitions.standard(kind, "mnist") for kind in ("plane", "uot", "ttt"))
    yield from (transitions.standard(kind, jpeg) for kind in ("uot", "uot-random", "ttt"))
    yield from scaling.standard("mnist").values()
    yield landscape.standard()


def test_what_the_pages_ask_for_ships_and_nothing_else_does(monkeypatch, tmp_path):
    """Keys follow from specs: a field added or changed shows here, before it trains 480 networks."""
    monkeypatch.setenv("DEEPMECH_DATA", str(tmp_path / "no data"))
    assert {filename(sweep) for sweep in shipping()} == {path.name for path in RESULTS}


@pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.stem)
def test_todays_code_makes_what_ships(path):
    """Made by it, or recomputed with it since: after an edit, run deepmech verify --note."""
    result, noted = read_netcdf(path), notes(path.parent).get(path.name, {})
    code = sweep_of(result).code
    assert code in (result.attrs.get("code"), noted.get("code")), f"deepmech verify --note book/results/{path.name}"
    assert noted.get("file", checksum(path)) == checksum(path)


def test_notes_are_of_files_that_are_there():
    assert set(notes(RESULTS[0].parent)) <= {path.name for path in RESULTS}, NOTES


def test_panels_that_share_an_experiment_hold_the_same_networks():
    quiet = read_netcdf(stored("figure-1a-mnist")).sel(data_noise=0.0)
    plain = read_netcdf(stored("figure-1c-mnist")).sel(dropout=0.0)
    for name in ("load_curve", "accuracy", "loss"):
        np.testing.assert_allclose(quiet[name], plain[name], rtol=0, atol=1e-12)


def test_figure_1_as_printed_has_1920_networks():
    assert sum(networks.figure_1(panel, "digits").n_cells for panel in networks.PANELS) == 1920
