"""What pages ask of the three phases: sweeps and survivors from a page's parameters, one entry for each phase.

Apart from :mod:`.walks`, which computes, so that what a page may ask for can change without any result being another's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.sweeps import Sweep, result
from deepmech_book.experiments.glass import landscape, walks


def preparations(
    gain: float, sgd_steps: Sequence[int], sgd_rate: Sequence[float], descent_steps: int
) -> dict[str, Any]:
    """Phase -> the arguments of :class:`~deepmech.trainers.Preparation`.

    Examples
    --------
    >>> preparations(1.0, [100, 100, 200], [0.02] * 3, 50)["overparameterised"]["sgd_steps"]
    200
    """
    several = zip(walks.PHASES, _each("sgd_steps", sgd_steps), _each("sgd_rate", sgd_rate), strict=True)
    return {
        phase: {"gain": gain, "sgd_steps": steps, "learning_rate": rate, "descent_steps": descent_steps}
        for phase, steps, rate in several
    }


def sweeps(
    dataset: str,
    n_data: int | Sequence[int],
    widths: Sequence[int],
    temperatures: Sequence[Sequence[float]],
    n_seeds: Sequence[int],
    steps: Sequence[int],
    waiting: Sequence[Sequence[int]],
    prepared: Mapping[str, dict[str, Any]],
) -> dict[str, Sweep]:
    """Phase -> its sweep (:func:`.walks.phase_sweep`); lists hold one entry for each phase, in the order of PHASES.

    Waiting times that do not fit into ``steps`` are left out.

    Examples
    --------
    >>> how = preparations(6**0.5, [200_000, 200_000, 400_000], [0.02] * 3, 2000)
    >>> made = sweeps("digits", 500, [4, 4, 6], [[0.1, 0.0]] * 3, [2, 2, 1], [900] * 3, [[500, 1000]] * 3, how)
    >>> made["regularised"].grid.shape, made["regularised"].fixed["waiting"]
    ((2, 2), [500])
    """
    numbers = {
        "n_data": np.broadcast_to(n_data, len(walks.PHASES)).tolist(),
        "width": widths, "temperatures": temperatures, "n_seeds": n_seeds, "steps": steps, "waiting": waiting,
    }  # fmt: skip
    columns = {name: _each(name, values) for name, values in numbers.items()}
    return {
        phase: walks.standard(
            phase, dataset, preparation=prepared[phase], **{name: values[i] for name, values in columns.items()}
        )
        for i, phase in enumerate(walks.PHASES)
    }


def survivors(of: Mapping[str, Sweep]) -> dict[str, xr.Dataset]:
    """The results of sweeps, without initial conditions that diverged (:func:`.walks.kept`)."""
    return {phase: walks.kept(result(sweep)) for phase, sweep in of.items()}


def batches(
    dataset: str,
    n_data: int,
    width: int,
    batch_sizes: Sequence[int],
    n_seeds: int,
    steps: int,
    waiting: int,
    preparation: dict[str, Any],
) -> Sweep:
    """Fig. 5(d), from a page's parameters (:func:`.walks.batch_sweep`)."""
    usual = walks.batch_sweep({"name": dataset, "n_data": n_data}, batch_sizes, n_seeds, steps, (waiting,))
    return replace(usual, fixed={**usual.fixed, "width": width, "preparation": preparation})


def surveyed(sweep: Sweep, widths: Sequence[int], prepared: Mapping[str, dict[str, Any]], temperature: float) -> Sweep:
    """A sweep of :func:`.landscape.standard` with networks of other widths, preparation and temperature."""
    networks = {
        phase: {**how, "width": width, "preparation": prepared[phase]}
        for (phase, how), width in zip(sweep.fixed["networks"].items(), _each("widths", widths), strict=True)
    }
    warm = {name: t if name == landscape.GLASS else temperature for name, t in sweep.fixed["temperatures"].items()}
    return replace(sweep, fixed={**sweep.fixed, "networks": networks, "temperatures": warm})


def _each(name: str, values: Sequence[Any]) -> Sequence[Any]:
    if len(values) != len(walks.PHASES):
        raise ValueError(f"{name} = {values!r}: must hold one entry for each of {', '.join(walks.PHASES)}")
    return values
