"""The zoo: five thousand small networks on which laws of layers are judged, as a recipe that anybody can follow.

Network ``n`` of a version is made from its number alone (:func:`settings_of`): nothing has to be downloaded. Numbers
come in **stars** of twelve. The first network of a star has settings at random; the next ten differ from it in one
setting each, in the order of :data:`LEVELS`; the last differs in its seed only. So every star holds what conditional
statistics of many settings ask for (:mod:`deepmech_book.bench`): pairs of networks between which one thing changed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from deepmech import trainers
from deepmech.core.random import Stream
from deepmech.data import load
from deepmech.sweeps import Sweep, to_records
from deepmech_book.sweeps.policy import verification_policy
from deepmech_book.sweeps.spring_block.networks import sweep

if TYPE_CHECKING:  # who reads what ships waits for no engine
    from deepmech.trainers.specs import Member

VERSION = "zoo-1"
STARS = 420
"""Of twelve networks each: 5,040."""
LEVELS: dict[str, tuple[Any, ...]] = {
    "batch_norm": (False, True),
    "depth": (3, 4, 6, 8),
    "width": (24, 36, 54, 80),
    "slope": (0.0, 0.1, 0.3, 0.6),
    "dropout": (0.0, 0.05, 0.1, 0.15),
    "optimizer": ("adam", "sgd"),
    "rate": (0.3, 1.0, 3.0),
    "batch_size": (16, 64, 256),
    "data_noise": (0.0, 0.1, 0.3),
    "shrinkage": (0.0, 2e-5, 1e-4),
}
"""The settings and their values. ``rate`` is in units of :data:`RATES`; ``shrinkage`` is the share of all weights that
each step takes away, learning rate times weight decay; noise is added to the inputs and to no label."""
RATES = {"adam": 3e-3, "sgd": 2e-2}
MOMENTUM = 0.9
"""Of stochastic gradient descent."""
SIZE = len(LEVELS) + 2
DATASETS = ("mnist", "fashion-mnist")
"""What stars are trained on, in turn."""
IMAGES = {"size": 10, "n_train": 512, "n_test": 3000}
VALIDATION = 500
"""Of the test images: the first so many are a validation split."""
EPOCHS, STOP_LOSS, EVERY = 120, 0.2, 4
"""Networks are trained for so many epochs. On the way, after every fourth one, the loss of the training images without
any noise is looked at: where it is first at or below ``STOP_LOSS``, the network is measured too."""
STOPS = ("start", "loss", "epochs")
WIDEST = max(LEVELS["depth"])


def settings_of(number: int) -> dict[str, Any]:
    """Which network a number stands for: ``data``, ``seed``, and a value of each of :data:`LEVELS`.

    Examples
    --------
    >>> one, wider = settings_of(24), settings_of(27)
    >>> [name for name in one if one[name] != wider[name]]
    ['width']
    """
    if not isinstance(number, int | np.integer) or number < 0:
        raise ValueError(f"zoo: number = {number!r}: must be a whole number from 0 on")
    star, place = divmod(int(number), SIZE)
    stream = Stream.of(VERSION, star)
    draws = stream.uniform("settings", 0, len(LEVELS))
    index = {name: int(u * len(values)) for u, (name, values) in zip(draws, LEVELS.items(), strict=True)}
    if 0 < place <= len(LEVELS):
        name = list(LEVELS)[place - 1]
        others = len(LEVELS[name]) - 1
        index[name] = (index[name] + 1 + int(stream.uniform("change", place, 1)[0] * others)) % len(LEVELS[name])
    chosen = {name: LEVELS[name][i] for name, i in index.items()}
    return {"data": DATASETS[star % len(DATASETS)], "seed": star + 100_000 * (place == SIZE - 1), **chosen}


def member_of(number: int, seed: int = 0) -> Member:
    """The network of a number and how it is trained; another ``seed`` gives other initial weights and batches."""
    from deepmech.trainers.specs import Member

    s = settings_of(number)
    rate = RATES[s["optimizer"]] * s["rate"]
    network = trainers.MLP(**{name: s[name] for name in ("depth", "width", "slope", "dropout", "batch_norm")})
    training = trainers.Training(
        optimizer=s["optimizer"], learning_rate=rate, momentum=MOMENTUM if s["optimizer"] == "sgd" else 0.0,
        batch_size=s["batch_size"], epochs=EPOCHS, data_noise=s["data_noise"], label_noise=0.0,
        weight_decay=s["shrinkage"] / rate, stop_loss=0.0, stop_change=0.0,
    )  # fmt: skip
    return Member(network, training, s["seed"] + 1_000_000 * seed, VERSION)


def numbers_of(dataset: str, stars: int = STARS) -> list[int]:
    """The networks of the first so many stars that are trained on a data set."""
    mine = [star for star in range(stars) if DATASETS[star % len(DATASETS)] == dataset]
    return [SIZE * star + place for star in mine for place in range(SIZE)]


def zoo(dataset: str = "mnist", stars: int = STARS) -> Sweep:
    """The networks of one data set as a sweep over ``number``.

    Examples
    --------
    >>> sum(zoo(name, 10).n_cells for name in ("mnist", "fashion-mnist"))
    120
    """
    return _sweep_of(VERSION, numbers_of(dataset, stars), {"name": dataset, **IMAGES})


def _sweep_of(name: str, numbers: list[int], images: dict[str, Any]) -> Sweep:
    fixed = {"epochs": EPOCHS, "stop_loss": STOP_LOSS, "levels": {k: list(v) for k, v in LEVELS.items()}}
    return sweep(name, "extras.zoo", {"number": numbers}, images, **fixed)


LATER = {"fresh": (range(5040, 5472), {"seed": 1}), "more": (range(5472, 6912), {"n_test": 10_000, "seed": 2})}
"""Networks on which predictions were judged (``book/laws``), by name: their numbers, and which images they see."""


def later(name: str, dataset: str = "mnist") -> Sweep:
    """The networks of one data set on which a prediction was judged that had been frozen before: one of :data:`LATER`.

    Examples
    --------
    >>> later("fresh", "fashion-mnist").n_cells
    216
    """
    numbers, images = LATER[name]
    mine = [n for n in numbers if settings_of(n)["data"] == dataset]
    return _sweep_of(f"{VERSION}-{name}", mine, {"name": dataset, **IMAGES, **images})


ROUNDING = 24 * math.log(2)
"""Larger separations are rounding alone: the variance between classes, less what sampling adds to it, is then below
2⁻²⁴ of the variance within, and features are float32 numbers. Layers in which all classes have fallen together come
there; the largest D of any other layer is 9.6, the largest D̂ 16.5."""


# Training has equal bits everywhere; what is measured of it are sums of libraries. Shares are of 500 samples.
@verification_policy(
    tolerance={"*": 3e-2},
    rounding_above=dict.fromkeys(("load_curve", "load_curve_hat", "load_linear", "load_norm"), ROUNDING),
)
def train_zoo(
    cells: xr.Dataset, data: dict[str, Any], epochs: int, stop_loss: float, levels: dict[str, Any]
) -> xr.Dataset:
    """Train the network of every number and measure it at :data:`STOPS`: before, at equal loss, after equal epochs.

    Returns
    -------
    Dataset
        Over ``cell`` and ``stop``, what :class:`.layer_diagnostics.LayerDiagnostics` finds, and ``epoch``, how many
        had been run; nan where a network never came to the loss, or ``diverged``.
    """
    return _train([member_of(c["number"]) for c in to_records(cells)], data, epochs, stop_loss)


def train_number(number: int, seed: int = 0) -> xr.Dataset:
    """Train one network here and now and measure it, as :func:`train_zoo` does; see there."""
    images = {"name": settings_of(number)["data"], **IMAGES}
    return _train([member_of(number, seed)], images, EPOCHS, STOP_LOSS).isel(cell=0)


def _train(members: list[Member], data: dict[str, Any], epochs: int, stop_loss: float) -> xr.Dataset:
    from deepmech.trainers.engines.compiled.mlp import CompiledMLP
    from deepmech_book.sweeps.extras.layer_diagnostics import LayerDiagnostics

    images = load(**data)
    shared = CompiledMLP.prepare(images, "float32")
    engines = (CompiledMLP(member, shared) for member in members)
    parts = [_measure(e, LayerDiagnostics(e, images, VALIDATION, WIDEST), epochs, stop_loss) for e in engines]
    dims = LayerDiagnostics.DIMS | {"epoch": ()}
    out = {name: (("cell", "stop", *dims[name]), np.stack([one[name] for one in parts])) for name in parts[0]}
    whole = xr.Dataset(out, {"stop": list(STOPS), **LayerDiagnostics.COORDS}, {"device": "cpu", "dtype": "float32"})
    return whole.assign(diverged=~np.isfinite(whole["loss"].sel(stop="epochs", split="train", drop=True)))


def _measure(engine: Any, diagnostics: Any, epochs: int, stop_loss: float) -> dict[str, np.ndarray]:
    """Everything of one network, each (stop, …)."""
    nothing: dict[str, Any] = diagnostics.missing() | {"epoch": np.float32(np.nan)}
    at = {stop: nothing for stop in STOPS}
    at["start"] = diagnostics.measure(untrained=True) | {"epoch": np.float32(0)}
    for epoch in range(1, epochs + 1):
        if not np.isfinite(engine.step(epoch)).all():
            break
        waits = at["loss"] is nothing and epoch % EVERY == 0
        if (waits and diagnostics.training_loss() <= stop_loss) or epoch == epochs:
            now: dict[str, Any] = diagnostics.measure() | {"epoch": np.float32(epoch)}
            at |= {"loss": now} if waits and now["loss"][0] <= stop_loss else {}
            at |= {"epochs": now} if epoch == epochs else {}
    return {name: np.stack([np.float32(at[stop][name]) for stop in STOPS]) for name in nothing}
