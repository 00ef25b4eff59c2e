"""``deepmech measure``: the load curve of somebody's model and data, as a plain function."""

from __future__ import annotations

import pickle
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core.lazy import named
from deepmech.metrics.load_curve import Partial, load_curve

_INSIDE = ("state_dict", "model_state_dict", "model")
"""Where in a checkpoint the model's parameters may lie."""


def cli_measure(
    model: str,
    data: str,
    *,
    weights: str | Path | None = None,
    out: str | Path | None = None,
    say: Callable[[str], None] = lambda line: None,
    **measure: Any,
) -> str:
    """The load curve of the model that ``"module:factory"`` makes, as a table with its reading.

    ``data`` is an ``.npz`` file with arrays ``x`` and ``y`` (or ``x_train`` and ``y_train``), or the name of a data
    set; ``weights`` a file with a state dict; ``out`` a folder for the curve as netCDF and its picture. Other arguments
    go to :func:`~deepmech.metrics.load_curve.load_curve`.
    """
    network = _model(model)
    if weights is None:
        say("no --weights: the model is measured as its factory makes it")
    else:
        _restore(network, Path(weights))
    x, y = _data(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Partial)  # the reading says it
        curve = load_curve(network, x, y, **measure)
    width = max(len(str(name)) for name in curve.layer.values)
    lines = [f"{name!s:<{width}}  {value:7.3f}" for name, value in zip(curve.layer.values, curve.values, strict=True)]
    words = str(curve.deepmech.read()) if curve.size > 2 else "Two layers make no shape: name more with --layers."
    if curve.size <= 2 and (left := curve.attrs.get("left_out")):
        words += f" Of a part of the model only: {left}."
    title = f"{curve.attrs['long_name']} on {curve.attrs['samples']} samples"
    return "\n".join(
        [title, *lines, words, *([f"written: {', '.join(_written(curve, Path(out), words))}"] if out else [])]
    )


def _model(reference: str) -> nn.Module:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as python -m does
    found = named(reference, f"measure: {reference!r}: give 'module:factory' of a function that makes the model")
    made = found if isinstance(found, nn.Module) else found() if callable(found) else found
    if not isinstance(made, nn.Module):
        raise ValueError(f"measure: {reference!r} gives a {type(made).__name__}, not a torch.nn.Module")
    return made


def _restore(model: nn.Module, path: Path) -> None:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # whatever a reader of pickles meets; torch's advice is to read it all the same
        objects = isinstance(error, pickle.UnpicklingError) and "GLOBAL" in str(error)
        why = (
            "it holds more than tensors, and could run code when it is read" if objects else "it cannot be read as one"
        )
        raise ValueError(
            f"measure: --weights {path}: is no file of plain tensors ({why}); "
            "write one with torch.save(model.state_dict(), file)"
        ) from None
    state = next((state[k] for k in _INSIDE if isinstance(state, Mapping) and isinstance(state.get(k), Mapping)), state)
    try:
        model.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise ValueError(f"measure: --weights {path}: does not fit the model: {' '.join(str(error).split())}") from None


def _data(name: str) -> tuple[Any, Any]:
    if not name.endswith(".npz"):
        from deepmech.data import load

        data = load(name)
        return data.x_train, data.y_train
    try:
        file = np.load(name, allow_pickle=False)
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise ValueError(f"measure: {name}: is no .npz file of arrays ({error})") from None
    if not isinstance(file, np.lib.npyio.NpzFile):
        raise ValueError(f"measure: {name}: is a single array, not an .npz file of arrays: np.savez(file, x=x, y=y)")
    for x, y in (("x", "y"), ("x_train", "y_train")):
        if x in file and y in file:
            try:
                return file[x], file[y]
            except (ValueError, MemoryError, zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise ValueError(f"measure: {name}: {x} and {y} must be plain arrays ({error})") from None
    raise ValueError(f"measure: {name} has {', '.join(file)}: must have arrays x and y, or x_train and y_train")


def _written(curve: xr.DataArray, folder: Path, words: str) -> list[str]:
    from matplotlib.figure import Figure

    from deepmech.plots import LIGHT, applied, in_words

    folder.mkdir(parents=True, exist_ok=True)
    curve.to_netcdf(folder / "load_curve.nc", engine="h5netcdf")
    with applied(LIGHT):
        figure = Figure(figsize=(6.2, 3.9), layout="constrained", dpi=200)
        curve.deepmech.plot(ax=figure.subplots(), y_label=curve.attrs["long_name"])
        alt = {"svg": "Description", "pdf": "Subject", "png": "Description"}
        for kind, field in alt.items():
            figure.savefig(folder / f"load_curve.{kind}", metadata={"Title": words, field: in_words(curve)})
    return [str(folder / f"load_curve.{kind}") for kind in ("nc", *alt)]
