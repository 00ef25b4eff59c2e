"""Images that networks of paper A are trained on, and what sweeps of networks on images have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from deepmech.core.specs import over
from deepmech.data import fingerprint
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import Sweep

#: The training images of the authors' program (``dataloader.py``): ``random_split`` with torch's generator seeded 1.
PROGRAM = {"size": 10, "n_train": 2560, "seed": 1, "split": "torch"}
#: What deepmech.data.load is asked for. The paper's: 2,560 images at 10×10 pixels (CIFAR-10: in three colours), and the
#: whole official test set. "mnist-program" and "fashion-mnist" are the very images of the authors' program, the others
#: draws of ours.
DATA: dict[str, dict[str, Any]] = {
    "digits": {"name": "digits"},
    "mnist": {"name": "mnist", "size": 10, "n_train": 2560},
    "mnist-512": {"name": "mnist", "size": 10, "n_train": 512, "n_test": 4000},
    "mnist-program": {"name": "mnist", **PROGRAM},
    "fashion-mnist": {"name": "fashion-mnist", **PROGRAM},
    "cifar10": {"name": "cifar10", "size": 10, "n_train": 2560},
    "cifar10-jpeg": {"name": "cifar10-jpeg", "size": 10, "n_train": 2560},
}

#: How far networks that torch trains may lie from those that ship: its sums follow the processor, the version and the
#: number of threads, and training makes differences larger. Of 360 small networks trained on two processors, load
#: curves differed by 0.014 of a number at most (five of them by more than 0.005), curvatures by 0.012, accuracies by
#: 0.006; networks of two seeds differ by a tenth and more.
TORCH = {"load_curve": 3e-2, "curvature": 3e-2, "accuracy": 2e-2}


def recipe(data: str | dict[str, Any], known: Mapping[str, dict[str, Any]] = DATA, **changed: Any) -> dict[str, Any]:
    """The arguments of :func:`deepmech.data.load`, from themselves or a key of ``known``; ``changed`` replace some.

    Examples
    --------
    >>> recipe("mnist", n_train=500)
    {'name': 'mnist', 'size': 10, 'n_train': 500}
    """
    found = known.get(data) if isinstance(data, str) else data
    if not isinstance(found, dict):
        raise ValueError(f"data = {data!r}: must be one of {', '.join(known)}, or arguments of data.load")
    return {**found, **{name: value for name, value in changed.items() if value is not None}}


def sweep(name: str, compute: str, cells: Mapping[str, Any], data: dict[str, Any], **fixed: Any) -> Sweep:
    """A sweep over ``cells``, by name the values that vary, of networks that are trained on one recipe's images.

    Examples
    --------
    >>> sweep("doc", "operator:add", {"slope": (0.0, 1.0), "seed": range(3)}, DATA["digits"]).grid.shape
    (2, 3)
    """
    labelled = {key: over(key, values) for key, values in cells.items()}
    return Sweep(f"{name}-{data['name']}", compute, labelled, {"data": data, **fixed}, data=fingerprint(**data))


def measured(made: xr.Dataset) -> xr.Dataset:
    """Of trained networks over ``cell``: ``load_curve`` of training samples, its ``curvature``, test ``accuracy``."""
    curves = made["load_curve"].sel(split="train", drop=True).transpose("cell", ..., "layer")
    curves = curves.drop_vars("layer_name", errors="ignore")
    accuracy = made["accuracy"].sel(split="test", drop=True).transpose("cell", ...)
    found = {"load_curve": curves, "curvature": curvature(curves), "accuracy": accuracy}
    return xr.Dataset(found, attrs=made.attrs)


def final_loss(made: xr.Dataset) -> xr.DataArray:
    """Training loss of each network's last epoch."""
    return made["loss"].isel(epoch=made["epochs_run"] - 1).drop_vars("epoch")
