"""The three phases of the paper's networks, as pages ask for them: what walks, who survives, and who is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.sweeps import Sweep, result
from deepmech.sweeps.results import sweep_of
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech_book.experiments.glass import transitions, walks
from deepmech_book.experiments.glass.data import title_of
from deepmech_book.experiments.glass.walks import PHASES, SETTINGS

#: What the paper runs (Sec. III, Figs. 3 and 7): of its 50 initial conditions these are left in each phase.
PAPER: dict[str, float] = {"samples": 60_000, "steps": 300_000, "first wait": 20_000, "motilities after": 200_000}
PAPER_PHASES: dict[str, dict[str, float]] = {
    "regularised": {"width": 30, "initial conditions": 50},
    "underparameterised": {"width": 30, "initial conditions": 26},
    "overparameterised": {"width": 72, "initial conditions": 46},
}
#: The same of CIFAR-10 (App. E), where it differs or is not said.
OTHER_PAPER: dict[str, dict[str, dict[str, float]]] = {
    "cifar10-jpeg": {
        phase: {"samples": 50_000, "width": width, "initial conditions": float("nan")}
        for phase, width in (("regularised", 30), ("underparameterised", 30), ("overparameterised", 80))
    }
}
LEARNT = 0.45
"""The data loss below which a network has learnt; at the origin, where it has not, it is ½."""


def sweeps(
    dataset: str,
    changes: Mapping[str, Any] | None = None,
    named: Sequence[Sequence[float]] = ((), (), ()),
) -> dict[str, Sweep]:
    """Phase -> its sweep, :func:`.walks.standard` but for ``changes``.

    Parameters
    ----------
    changes : ``n_data``, ``whiten`` and arguments of :func:`.walks.phase_sweep` for all phases, and by the name of a
        phase those of one.
    named : temperatures of each phase that a page speaks of.

    Raises
    ------
    ValueError
        If a phase is walked at fewer temperatures than a page speaks of, or there is no such setting.

    Examples
    --------
    >>> made = sweeps("digits", {"n_data": 500, "steps": 20_000, "regularised": {"n_seeds": 2}})
    >>> made["regularised"].grid.shape, made["overparameterised"].fixed["waiting"]
    ((2, 9), [10000])
    """
    changes = dict(changes or {})
    one_phase = {phase: changes.pop(phase, {}) for phase in PHASES}
    known = {"n_data", "whiten", *signature(walks.phase_sweep).parameters} - {"phase", "data", "name"}
    if unknown := sorted({*changes, *chain(*one_phase.values())} - known):
        names, allowed = ", ".join(map(repr, unknown)), ", ".join(sorted(known))
        raise ValueError(f"changes: {names}: must be of {allowed}, or by phase: {', '.join(PHASES)}")
    made = {phase: walks.standard(phase, dataset, **changes | one) for phase, one in one_phase.items()}
    for sweep, (phase, needed) in zip(made.values(), zip(PHASES, named, strict=True), strict=True):
        given = sweep.cells["temperature"].values.tolist()
        if missing := sorted(set(needed) - set(given)):
            words = ", ".join(f"{t:g}" for t in missing)
            raise ValueError(
                f"temperatures = {given!r} of {phase} networks: this page speaks of {words}, too; add them"
            )
    return made


def runs(
    dataset: str, changes: Mapping[str, Any] | None = None, named: Sequence[Sequence[float]] = ((), (), ())
) -> dict[str, xr.Dataset]:
    """The :func:`survivors` of each of :func:`sweeps`."""
    return {phase: survivors(result(sweep)) for phase, sweep in sweeps(dataset, changes, named).items()}


def survivors(run: xr.Dataset, level: float = LEARNT) -> xr.Dataset:
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


def judged(runs: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """The networks that every claim about phases is about: of the overparameterised ones those without data loss.

    That is below :data:`.transitions.LEVEL` after the first wait, where coldest. What the paper says of that phase it
    explains by flat plateaus at zero loss. A phase without such networks is left out.
    """
    chosen = dict(runs)
    if (run := chosen.get("overparameterised")) is not None:
        loss = run.loss_waited.isel(waiting=0).sel(temperature=run.temperature.min()).values
        chosen["overparameterised"] = run.isel(seed=np.flatnonzero(loss < transitions.LEVEL))
    return {phase: run for phase, run in chosen.items() if run.sizes["seed"]}


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
