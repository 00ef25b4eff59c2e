"""Fig. 5(a): a deep linear network on random orthonormal data, under small steps, large steps and dropout.

The paper gives the initialisation (orthogonal), the optimiser (gradient descent) and the step sizes, and adopts the
rest from its reference 41, whose loss is the squared error. Here there are as many samples as features and as units,
all samples are in every step, and the loss is the mean squared distance to one-hot labels or the cross-entropy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.data import Data
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import Sweep, to_records
from deepmech.trainers import MLP, Training, train
from deepmech_book.sweeps.policy import verification_policy

#: Step sizes of Fig. 5(a) as printed (SM S3), and its dropout probability.
SMALL, LARGE, DROPOUT = 1e-3, 1e-2, 0.1


def orthonormal(n: int = 100, seed: int = 0) -> Data:
    """``n`` samples that form a random orthogonal matrix, with random binary labels; trained and tested on the same.

    Examples
    --------
    >>> x = orthonormal(20).x_train
    >>> bool(np.allclose(x @ x.T, np.eye(20), atol=1e-6))
    True
    """
    stream = Stream.of("orthonormal data", seed)
    x = np.linalg.qr(stream.normal("samples", 0, (n, n)))[0].astype(np.float32)
    y = (stream.uniform("labels", 0, n) < 0.5).astype(np.int64)
    note = f"{n} random orthonormal vectors with random binary labels."
    return Data("orthonormal", x, y, x, y, 2, f"orthonormal-{n}-{seed}", note, (n,))


def train_linear(
    learning_rate: Any,
    n_steps: int,
    loss: str = "mse",
    dropout: float = 0.0,
    n: int = 100,
    depth: int = 8,
    seeds: Sequence[int] = (0,),
    batch_size: int | None = None,
    slope: float = 1.0,
) -> xr.Dataset:
    """Train deep linear networks by gradient descent, one data set per seed.

    Parameters
    ----------
    n_steps : number of steps, that is of epochs where ``batch_size`` is given.
    n : number of samples, of features and of hidden units.
    depth : weight matrices, all orthogonal at first.
    slope : negative slope of an activation after each of them but the last, below 1 with the constant that keeps the
        mean square; 1 is the linear network.

    Returns
    -------
    Dataset
        Over ``seed`` and the labels of ``learning_rate``: ``load_curve`` (with ``layer``), ``curvature``, ``loss``.
    """
    network = MLP(depth=depth, width=n, dropout=dropout, slope=slope, batch_norm=False, bias=False, init="orthogonal")
    how: dict[str, Any] = {"optimizer": "sgd", "loss": loss, "stop_loss": 0.0, "stop_change": 0.0}
    how |= {} if batch_size is None else {"batch_size": batch_size}
    training = Training(learning_rate=learning_rate, epochs=n_steps, **how)
    parts = []
    for seed in seeds:
        runs = train(network, training, orthonormal(n, seed), seed=seed, experiment="figure 5a")
        curve = runs["load_curve"].sel(split="train", drop=True)
        parts.append(xr.Dataset({"load_curve": curve, "loss": runs["loss"].isel(epoch=-1, drop=True)}))
    result = xr.concat(parts, xr.Variable("seed", list(seeds)))
    result.attrs = {"device": runs.attrs["device"], "dtype": runs.attrs["dtype"], "engine": runs.attrs["engine"]}
    return result.assign(curvature=curvature(result["load_curve"]))


def figure_5a(
    small: float = SMALL,
    large: float = 10.0,
    duration: float = 20.0,
    large_steps: int = 600,
    n: int = 100,
    n_seeds: int = 1,
) -> Sweep:
    """The three curves of Fig. 5(a), and the step size that the paper calls large, over ``training`` and ``seed``.

    Small steps, the printed large steps and dropout (with small steps) train for the same ``duration``, the number of
    steps times their size, on squared error. ``large`` is a step size at which the curve does bend; this takes the
    cross-entropy, see :func:`over_step_size`. The cells' results are those of :func:`train_linear`.

    Examples
    --------
    >>> figure_5a(n_seeds=2).grid.shape
    (4, 2)
    """
    many, printed = round(duration / small), round(duration / LARGE)
    how: dict[str, dict[str, Any]] = {
        "small steps": {"learning_rate": small, "n_steps": many},
        "large steps, as printed": {"learning_rate": LARGE, "n_steps": printed},
        "large steps": {"learning_rate": large, "n_steps": large_steps, "loss": "cross_entropy"},
        "dropout": {"learning_rate": small, "n_steps": many, "dropout": DROPOUT},
    }
    cells = {"training": over("training", list(how)), "seed": over("seed", range(n_seeds))}
    return Sweep("figure-5a", "spring_block.linear_networks", cells, {"settings": how, "n": n})


def nonlinear(n_steps: int = 2000, n: int = 100, n_seeds: int = 3) -> Sweep:
    """The network of Fig. 5(a) with an activation and without, after as many steps of size 0.01.

    Over ``training``, which names the activation, and ``seed``.

    Examples
    --------
    >>> nonlinear().grid.shape
    (3, 3)
    """
    slopes = {"ReLU": 0.0, "slope 0.5": 0.5, "linear": 1.0}
    how = {name: {"learning_rate": LARGE, "n_steps": n_steps, "slope": slope} for name, slope in slopes.items()}
    cells = {"training": over("training", list(how)), "seed": over("seed", range(n_seeds))}
    return Sweep("nonlinear-5a", "spring_block.linear_networks", cells, {"settings": how, "n": n})


def over_step_size(sizes: Sequence[float], loss: str, n_steps: int = 600, n: int = 100, n_seeds: int = 1) -> Sweep:
    """The same network over step sizes, each for ``n_steps`` steps: a sweep over ``learning_rate`` and ``seed``.

    Examples
    --------
    >>> over_step_size([0.1, 1.0, 10.0], "cross_entropy").grid.shape
    (3, 1)
    """
    cells = {"learning_rate": over("learning_rate", list(sizes)), "seed": over("seed", range(n_seeds))}
    fixed = {"loss": loss, "n_steps": n_steps, "n": n}
    return Sweep(f"steps-5a-{loss.replace('_', '-')}", "spring_block.linear_networks", cells, fixed)


# Data and initial weights are orthogonalised by LAPACK, whose last bits follow the processor, and training amplifies
# them: by 3.5e-4, 1.7e-4 and 8.1e-4 of a number in all cells that ship, between kernels for AVX2 and for AVX-512.
@verification_policy(tolerance={"load_curve": 1.5e-3, "loss": 1e-3, "curvature": 3.5e-3})
def train_cells(
    cells: xr.Dataset, n: int, settings: dict[str, dict[str, Any]] | None = None, **shared: Any
) -> xr.Dataset:
    """Train one network per cell with :func:`train_linear`, over ``cell``.

    A cell holds ``seed`` and ``learning_rate``, or ``training``, a key of ``settings``; ``shared`` holds for all.
    """
    parts = []
    for cell in to_records(cells):
        setting = {"learning_rate": cell["learning_rate"]} if settings is None else settings[cell["training"]]
        parts.append(train_linear(n=n, seeds=[cell["seed"]], **setting, **shared).rename(seed="cell").drop_vars("cell"))
    return xr.concat(parts, "cell", combine_attrs="override")
