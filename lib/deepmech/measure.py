"""``deepmech measure``: the load curve of somebody's model and data, as a plain function."""

from __future__ import annotations

import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from torch import nn

from deepmech.core.specs import named
from deepmech.data import load
from deepmech.metrics.evaluation import restore
from deepmech.metrics.load_curve import Partial, load_curve


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
        restore(network, weights, f"measure: --weights {weights}")
    x, y = _data(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Partial)  # the reading says it
        curve = load_curve(network, x, y, **measure)
    width = max(len(str(name)) for name in curve.layer.values)
    lines = [f"{curve.attrs['long_name']} on {curve.attrs['samples']} samples"]
    lines += [f"{name!s:<{width}}  {value:7.3f}" for name, value in zip(curve.layer.values, curve.values, strict=True)]
    words = str(curve.deepmech.read()) if curve.size > 2 else "Two layers make no shape: name more with --layers."
    if curve.size <= 2 and (left := curve.attrs.get("left_out")):
        words += f" Of a part of the model only: {left}."
    lines.append(words)
    if out:
        lines.append(f"written: {', '.join(_written(curve, Path(out), words))}")
    return "\n".join(lines)


def _model(reference: str) -> nn.Module:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as python -m does
    factory = named(reference, f"measure: {reference!r}: give 'module:factory' of a function that makes the model")
    made = factory if isinstance(factory, nn.Module) or not callable(factory) else factory()
    if not isinstance(made, nn.Module):
        raise ValueError(f"measure: {reference!r} gives a {type(made).__name__}, not a torch.nn.Module")
    return made


def _data(name: str) -> tuple[Any, Any]:
    if not name.endswith(".npz"):
        data = load(name)
        return data.x_train, data.y_train
    try:
        with np.load(name, allow_pickle=False) as file:
            return (file["x"], file["y"]) if "x" in file else (file["x_train"], file["y_train"])
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, TypeError, MemoryError, EOFError) as error:
        remedy = "must hold plain arrays x and y, or x_train and y_train: np.savez(file, x=x, y=y)"
        raise ValueError(f"measure: {name}: {remedy} ({error})") from None


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
