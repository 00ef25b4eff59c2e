"""One network in training: the browser's steps are the library's, on a page, in a worker, and beside Python."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from explorer_pages import resize

from deepmech import MLP, Training, load, simulate, train
from deepmech.metrics.curvature import curvature
from deepmech_book import explorers
from deepmech_book.experiments.spring_block.networks import PANELS
from deepmech_book.explorers.chain import chain_of
from deepmech_book.explorers.page import bundle
from deepmech_book.explorers.training import FIG_3, MOST_DROPOUT, N_TEST, N_TRAIN, training_page

EPOCHS = 3
RUNS: dict[str, dict[str, Any]] = {
    "whole set, dropout": {"slope": 0.0, "dropout": 0.1},
    "small batches": {"slope": 0.3, "dropout": 0.2, "learning_rate": 3e-3, "batch_size": 100, "seed": 5},
    "linear, no dropout": {"slope": 1.0, "dropout": 0.0, "learning_rate": 1e-2},
}
OPTIONS = """const x = unpacked(s.images), n = s.labels.length - s.n_test, data = {
    x: x.slice(0, n * s.sizes[0]), xTest: x.slice(n * s.sizes[0]), y: s.labels.slice(0, n), yTest: s.labels.slice(n),
  }, options = { data, sizes: s.sizes, words: s.words, key: s.train_keys[s.seed], p: s };"""


@pytest.fixture(scope="module")
def network(chromium: Any) -> Iterator[Any]:
    """``network(script, state)`` evaluates a function of the opened module and a state."""
    from conftest import module

    yield from module(
        chromium, bundle("training") + "\nexport const { Training } = $network;\nexport { trainAside, unpacked };\n"
    )


def library(epochs: int, seed: int = 0, **settings: Any) -> Any:
    """The same run by the library, in float64 and measured after every epoch."""
    fields = {"slope": 0.0, "dropout": 0.1, "learning_rate": 1e-3, "batch_size": N_TRAIN} | settings
    net = MLP(slope=fields.pop("slope"), dropout=fields.pop("dropout"))
    how = Training(epochs=epochs, dtype="float64", stop_loss=0, stop_change=0, **fields)
    return train(net, how, load("digits", n_train=N_TRAIN, n_test=N_TEST), seed=seed, record=1)


@pytest.mark.parametrize("name", RUNS)
def test_the_browsers_training_is_the_librarys(network: Any, name: str) -> None:
    script = (
        "({ Training, unpacked }, s) => {"
        + OPTIONS
        + """
      const training = new Training(options), out = [training.measure()];
      while (training.epoch < s.epochs) { training.runEpoch(); out.push(training.measure()); }
      return out; }"""
    )
    found = network(script, training_page.state(epochs=EPOCHS, **RUNS[name]))
    made = library(EPOCHS, **RUNS[name])
    curves = made.load_curve.sel(split="train")
    np.testing.assert_allclose([e["curve"] for e in found], curves, rtol=0, atol=1e-9)
    np.testing.assert_allclose([e["accuracy"] for e in found], made.accuracy.sel(split="test"), rtol=0, atol=1e-12)
    assert float(abs(curves[-1] - curves[0]).max()) > 0.1  # it has learnt: agreement on an idle network says little


@pytest.mark.parametrize("worker", [True, False])
def test_in_a_worker_and_without_one_the_same_is_told(network: Any, worker: bool) -> None:
    script = (
        "({ trainAside, unpacked }, [s, worker]) => {"
        + OPTIONS
        + """
      const Kept = globalThis.Worker, out = [];
      if (!worker) globalThis.Worker = class { constructor() { throw new Error("not from disk"); } };
      return new Promise((done) => {
        trainAside(options, s.epochs, (told) => { out.push(told.curve); if (out.length > s.epochs) done(out); });
        globalThis.Worker = Kept;
      }); }"""
    )
    found = network(script, [training_page.state(epochs=1), worker])
    np.testing.assert_allclose(found, library(1).load_curve.sel(split="train"), rtol=0, atol=1e-9)


def test_a_page_from_disk_trains_after_a_guess_beside_the_chain(visit: Any, tmp_path: Any) -> None:
    path = explorers.cli_explore("training", tmp_path / "training.html", show=False, epochs=2, dropout=0.14)
    page = visit().open(path)
    assert page.inner_text(".state strong") == "Untrained" and page.locator(".lines.network .mean").count() == 0
    page.get_by_role("button", name="Linear", exact=True).click()
    page.wait_for_function("document.querySelector('input[name=shown]').value === '2'", timeout=60_000)
    page.get_by_role("button", name="Train", exact=True).wait_for()
    curve = library(2, dropout=0.14).load_curve.sel(split="train").isel(at_epoch=-1)
    told = page.inner_text(".numbers").replace("−", "-").split()
    assert float(told[1]) == pytest.approx(float(curvature(curve, dim="layer")), abs=6e-3)
    assert page.inner_text(".guess span") == "You guessed linear." and "guessed" in page.inner_text("[role=status]")
    state = training_page.state(dropout=0.14)
    p = {"friction_right": FIG_3.friction_range, "friction_left": FIG_3.friction_left, "noise": FIG_3.noise_range / 2}
    chain = chain_of({"n_blocks": 7, "stiffness": 1.0, **p})
    wanted = curvature(simulate(chain, t_end=FIG_3.t_end, seed=0).load_curve.isel(run=0), dim="block")
    assert float(told[4]) == pytest.approx(float(wanted), abs=6e-3) and state["chain"]["noise"] == FIG_3.noise_range
    slope = page.locator("input[name=slope]")
    slope.focus()
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".state strong") == "Untrained" and "How will" in page.inner_text(".guess span")
    for width in (320, 660, 900):
        resize(page, width)


def test_the_noisiest_networks_stand_beside_the_noisiest_chains() -> None:
    assert PANELS["dropout"].values[-1] == MOST_DROPOUT


@pytest.mark.parametrize(
    "settings, told",
    [
        ({"slope": 2}, "slope"),
        ({"dropout": -1}, "dropout"),
        ({"batch_size": 1}, "batch_size"),
        ({"epochs": 0}, "epochs"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=f"training explorer: {told} = "):
        explorers.training_page(**settings)


def test_python_reads_what_the_browser_trains_and_starts_and_stops_it(jupyter: Any) -> None:
    one = explorers.TrainOne(epochs=500, batch_size=100)
    page = jupyter(one)
    page.evaluate("model.set('running', true)")
    page.wait_for_function("host.state.curves.length > 2", timeout=60_000)
    page.evaluate("model.set('running', false)")
    state = page.evaluate("host.state")
    one.curves, one.accuracy = state["curves"], state["accuracy"]
    found = one.result()
    assert 2 < found.sizes["epoch"] < 500 and found.sizes["layer"] == 8 and found.attrs["batch_size"] == 100
    assert page.evaluate("host.sent.some((message) => 'curves' in message)")
    page.evaluate("leave()")
    assert page.evaluate("host.listening()") == 0
