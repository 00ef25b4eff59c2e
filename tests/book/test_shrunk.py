"""Pages at the paper's parameters, with every size divided: those whose results of that size do not ship run, too."""

import functools
import sys

import numpy as np
import pytest
from miniature import ROOT
from sklearn.datasets import load_digits

from deepmech.data import prepare
from deepmech.data.catalogue import SOURCES
from deepmech_book.build.sources import Checkout

REAL = Checkout(ROOT)
LEAST = 3  # networks have an interval, paths a middle

SMALL = {"name": "mnist", "size": 10, "n_train": 60}
DIAGRAMS = {
    "slopes": [0.0, 0.4, 1.0],
    "learning_rates": [0.0001, 0.001, 0.01],
    "dropouts": [0.0, 0.08, 0.28],
    "data_noises": [0.0, 0.3, 0.7],
    "dataset_s7": SMALL | {"name": "fashion-mnist"},
    "photographs": SMALL,  # of the stand-in's photographs so few have not all classes
    "n_train": 60,
    "wide_dropouts": [0.0, 0.28],
    "wide_learning_rates": [0.0001, 0.01],
}

#: So few steps teach networks only from a wide start; temperatures are two and those that pages say they speak of.
WIDE = {"preparation": {"gain": 6**0.5, "sgd_steps": 8400, "learning_rate": 0.02, "descent_steps": 0}}
PHASES = {"n_data": 120, "width": 3, "n_seeds": LEAST, "steps": 640, "waiting": [40, 100, 160, 200, 300], **WIDE}


def at(*temperatures, **phases):
    """Walks of few networks at these temperatures; at others where a phase is named."""
    own = {phase: {"temperatures": values} for phase, values in phases.items()}
    return {"changes": PHASES | {"temperatures": list(temperatures)} | own}


#: Page: the factor that divides its sizes, and what it needs in place of a size divided.
PAGES = {
    "spring_block/metrics_compared": (5, {"dataset": "digits", "n_train": 200, "training": {"epochs": 4}}),
    "spring_block/three_regimes": (20, {"dataset": SMALL, "epochs": 30}),
    "elastic_sde/collapse": (20, {}),
    "spring_block/linear_networks": (20, {"duration": 1.0, "at": [0, 10, 100], "n_draws": 20}),
    "spring_block/convolutional": (100, {"dataset": SMALL | {"n_test": 50}}),
    "spring_block/figures_s4_to_s9": (50, DIAGRAMS | {"training": {"epochs": 4}}),
    "elastic_sde/logits": (100, {}),
    "elastic_sde/effects": (100, {}),
    "elastic_sde/estimators": (100, {}),
    "elastic_sde/corruption": (100, {}),
    "glass/relaxation": (
        500,
        at(1.0, 0.1, 0.01, 1e-4, 1e-6, 0.0, overparameterised=[1.0, 1e-3, 0.0]) | {"waiting": 10_000},
    ),
    "glass/scaling": (500, at(1.0, 1e-3, 0.0)),
    "glass/superposition": (500, at(1.0, 0.1, 0.01, 1e-3, 0.0)),
    "glass/displacement": (500, at(1.0, 0.1, 1e-3, 0.0)),
    "glass/heterogeneity": (500, at(1.0, 0.1, 1e-3, 0.0)),
    "glass/ageing": (500, at(1.0, 1e-3, 0.0)),
    "glass/transitions": (5000, {"n_data": 120, "n_data_p": 120}),
    "glass/landscape": (500, {"n_seeds": 1, "kicks": [0.01, 0.1, 0.3]}),
    "glass/cifar": (
        5000,
        at(1e-3, 1e-5, 1e-6, 1e-8, 0.0) | {"n_data_a": 100, "n_data_b": 100},
    ),
}
GROUPS = "elastic_sde/extensions"  # see below


def shrunk(value, factor):
    """A parameter with its whole numbers from ten on divided, at least :data:`LEAST`; fractions stay.

    In a list what differs stays different, in the same order. Of more than four entries it keeps the first, the middle
    and the last; of fractions all, since pages name some.
    """
    if isinstance(value, dict):
        return {name: shrunk(v, factor) for name, v in value.items()}
    if not isinstance(value, list):
        return max(LEAST, value // factor) if type(value) is int and value >= 10 else value
    if len(value) > 4 and not isinstance(value[0], float):
        value = [value[0], value[len(value) // 2], value[-1]]
    if not all(type(v) is int for v in value):
        return [shrunk(v, factor) for v in value]
    made, last = {}, 0
    for v in sorted(set(value)):
        made[v] = last = max(shrunk(v, factor), last + 1)
    return [made[v] for v in value]


def test_sizes_are_divided():
    assert [shrunk(v, 100) for v in (60_000, 7, 70, 0.5, "mnist")] == [600, 7, LEAST, 0.5, "mnist"]
    assert shrunk({"a": {"sgd_steps": 200_000}}, 100) == {"a": {"sgd_steps": 2000}}
    assert shrunk([72, 30, 30], 100) == [4, 3, 3] and shrunk([1, 2, 4, 100, 60_000], 100) == [1, 4, 600]
    assert shrunk([[0.3, 0.2, 0.1, 0.0, 1.0], [900, 400]], 100) == [[0.3, 0.2, 0.1, 0.0, 1.0], [9, 4]]


@functools.cache
def enlarged(name):
    """Bundled digits in the shape of another data set; of photographs' first classes as many as pages take."""
    digits, (channels, side, _) = load_digits(), SOURCES[name].shape
    images = np.kron(digits.images * 15, np.ones((4, 4))).astype(np.uint8)[:, :side, :side]
    images = np.repeat(images[:, None], channels, 1).reshape(len(images), -1)
    many = [np.arange(1500), np.arange(1500, 1797)]
    if channels == 3:
        first = np.flatnonzero(digits.target < 3)
        more = [np.resize(np.intersect1d(part, first), n) for part, n in zip(many, (15_500, 3100), strict=True)]
        many = list(map(np.append, many, more))
    parts = [(images[part], digits.target[part].astype(np.int64)) for part in many]
    return *parts, SOURCES[name].shape, ["bundled digits"], "bundled digits"


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Bundled digits in place of images that may not be here, under the checksums that shipped results name."""
    monkeypatch.setattr(prepare, "_downloaded", enlarged)
    monkeypatch.setenv("DEEPMECH_DATA", str(tmp_path))
    monkeypatch.delenv("DEEPMECH_STORES", raising=False)
    forget()
    yield
    forget()


def forget():
    """Data that experiments keep."""
    for name in [m for m in sys.modules if m.startswith("deepmech_book.sweeps")]:
        for one in vars(sys.modules[name]).values():
            if hasattr(one, "cache_clear"):
                one.cache_clear()


@pytest.fixture(scope="module")
def paper():
    return REAL.profile("paper")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_pages_run_at_the_papers_parameters_shrunk(name, stand_in, paper):
    execute(name, *PAGES[name], paper)


@pytest.mark.slow
def test_where_trials_are_one_group_a_model_is_not_fitted_and_that_is_said(stand_in, paper):
    """This page measures models on trials that their fit has not seen, and takes nearly the size at which it ships."""
    with pytest.raises(ValueError, match=r"one group of trials has no scatter .* give more than ten trials"):
        execute(GROUPS, 250, {}, paper)


def execute(name, factor, own, paper):
    source = REAL.source(name)
    values = {k: shrunk(v, factor) for k, v in {**source.parameters, **paper[name]}.items()}
    assert own.keys() <= values.keys()
    space = {"__name__": "__main__", "display": lambda *shown: None, **values, **own}
    for cell in source.notebook.cells:
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []):
            exec(compile(cell.source, name, "exec"), space)
