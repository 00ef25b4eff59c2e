"""What pages ask of the three phases, and say of them: sweeps, survivors, and where these come from.

Apart from :mod:`.walks`, which computes, so that what a page may ask for can change without any result being another's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.sweeps import Sweep, result
from deepmech.sweeps.results import sweep_of
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech_book.experiments.glass import landscape, walks
from deepmech_book.experiments.glass.data import title_of
from deepmech_book.experiments.glass.settings import LEARNT, OTHER_PAPER, PAPER, PAPER_PHASES, SETTINGS


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
    named: Sequence[Sequence[float]] = ((), (), ()),
) -> dict[str, Sweep]:
    """Phase -> its sweep (:func:`.walks.phase_sweep`); lists hold one entry for each phase, in the order of PHASES.

    Waiting times that do not fit into ``steps`` are left out. ``named`` are temperatures that a page speaks of: a
    ValueError says which of them ``temperatures`` lack.

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
    for phase, given, needed in zip(walks.PHASES, columns["temperatures"], named, strict=True):
        if missing := sorted(set(needed) - set(given)):
            words = ", ".join(f"{t:g}" for t in missing)
            raise ValueError(
                f"temperatures = {given!r} of {phase} networks: this page speaks of {words}, too; add them"
            )
    return {
        phase: walks.standard(
            phase, dataset, preparation=prepared[phase], **{name: values[i] for name, values in columns.items()}
        )
        for i, phase in enumerate(walks.PHASES)
    }


def survivors(of: Mapping[str, Sweep]) -> dict[str, xr.Dataset]:
    """The results of sweeps, survivors only (:func:`kept`)."""
    return {phase: kept(result(sweep)) for phase, sweep in of.items()}


def kept(run: xr.Dataset, level: float = LEARNT) -> xr.Dataset:
    """Survivors: initial conditions that diverged at no temperature, and whose network has learnt.

    It has if its data loss where the comparison begins is below ``level`` (½ at the origin), where it is coldest.
    Attributes ``left_out`` and ``fallen`` say how many diverged, and how many more lie at the origin. A ValueError if
    no network survives.
    """
    dims = [d for d in run.diverged.dims if d != "seed"]
    sound = ~run.diverged.any(dims)
    learnt = run.loss_waited.isel(waiting=0, drop=True).min(dims) < level
    if not (good := sound & learnt).any():
        raise ValueError(
            f"{sweep_of(run).name}: of {good.size} initial conditions {int((~sound).sum())} diverged, the others lie "
            "at the origin, so that there is nothing to show; give more of them (n_seeds), shorter steps (sgd_rate), a "
            "longer training (sgd_steps) or a wider start (gain)"
        )
    out = {"left_out": int((~sound).sum()), "fallen": int((sound & ~learnt).sum())}
    return run.isel(seed=np.flatnonzero(good.values)).assign_attrs(out)


def origin(run: xr.Dataset) -> str:
    """Where a run's numbers come from, in words, for the detail of a claim."""
    how = sweep_of(run).fixed
    n_data, n = how["data"]["n_data"], n_weights(layer_sizes(10, how["width"], 6))
    size = f"P_D = {n_data}, width {how['width']}, N/P_D = {n / n_data:.3f}"
    words = (("left_out", "more diverged"), ("fallen", "more lie at the origin"))
    gone = ", ".join(f"{run.attrs[name]} {what}" for name, what in words if run.attrs.get(name))
    lost = f" ({gone})" if gone else ""
    return f"{title_of(how['data']['name'])}, {size}, {run.sizes['seed']} initial conditions{lost}."


def overview(runs: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """What walked, one row per phase; numbers are ours / the paper's (a dash: it does not say)."""
    rows = {}
    for phase, run in runs.items():
        how = sweep_of(run)
        name, n_data, width = how.fixed["data"]["name"], how.fixed["data"]["n_data"], how.fixed["width"]
        paper = PAPER | PAPER_PHASES[phase] | OTHER_PAPER.get(name, {}).get(phase, {})
        ours = {
            "samples": n_data,
            "width": width,
            "initial conditions": run.sizes["seed"],
            "steps": how.fixed["steps"],
            "first wait": how.fixed["waiting"][0],
            "motilities after": int(run.msd.isel(waiting=0).dropna("time").time[-1]),
        }
        each = {k: f"{v:,} / " + (f"{paper[k]:,.0f}" if np.isfinite(paper[k]) else "–") for k, v in ours.items()}
        sizes = ((width, n_data), (paper["width"], paper["samples"]))
        ratios = [n_weights(layer_sizes(10, int(w), 6)) / n for w, n in sizes]
        each |= {"weights per sample": f"{ratios[0]:.3f} / {ratios[1]:.3f}", "diverged": str(run.attrs["left_out"])}
        each["at the origin"] = str(run.attrs["fallen"])
        rows[phase] = each | {"silent weights": f"{100 * (1 - float(run.alive_share.mean())):.0f} %"}
    return pd.DataFrame.from_dict(rows, orient="index")


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
    """Fig. 5(d): the regularised phase under stochastic gradient descent, over batch sizes."""
    data = {"name": dataset, "n_data": n_data, "whiten": SETTINGS[dataset]["whiten"]}
    like = walks.phase_sweep("regularised", data, (0.0,), n_seeds, steps, (waiting,), preparation, width)
    cells = {"seed": like.cells["seed"], "batch_size": over("batch_size", batch_sizes)}
    return replace(like, name=f"glass-batches-{dataset}", cells=cells)


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
