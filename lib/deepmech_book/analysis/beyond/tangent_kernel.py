"""What a training step does to other samples, beside what logits let one infer (paper B, Eqs. 1 and 11, Fig. 3).

``kernels`` are results of :func:`deepmech_book.sweeps.elastic_sde.tangent_kernel.kernel_sweep`, moves to first order;
``steps`` are results of :func:`~.tangent_kernel.step_sweep`, moves by whole steps. Both run over ``group``, groups of
ten trials; the functions of single arrays take them with or without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, leave_one_out, stack
from deepmech_book.analysis.elastic_sde import effects
from deepmech_book.sweeps.elastic_sde.extension_models import begins

__all__ = [
    "FIRST_ORDER",
    "INFERRED",
    "INITIAL",
    "WHOLE",
    "by_weight",
    "effects_by_source",
    "elasticity",
    "jackknifed",
    "margin_growth",
    "ratios",
    "sizes",
    "start_of_signal",
]

INFERRED, FIRST_ORDER, INITIAL, WHOLE = (
    "estimated, Eq. 11",
    "to first order",
    "to first order, initial kernels",
    "by whole steps",
)
"""Where effects come from."""


def start_of_signal(kernels: xr.Dataset) -> float:
    """The iteration from which on margins of all classes exceed their noise; before, α̂ is the logarithm of noise."""
    means = kernels["mean"].rename(block="time").transpose("group", "time", "class", "logit")
    return float(kernels["block"][begins(means)])


def jackknifed(
    runs: xr.Dataset,
    measure: Callable[[xr.Dataset], xr.DataArray],
    null: Callable[[xr.Dataset], xr.DataArray] | None = None,
) -> Estimate:
    """A measure of means over groups, with its interval from leaving out each group, and the same of its null.

    Parameters
    ----------
    runs : Dataset
        Over ``group`` and others; variables without it are left out.
    measure, null : function
        Of means over groups, (…), or over all groups but one, (group, …).
    """
    runs = runs[[name for name, v in runs.items() if "group" in v.dims and v.dtype != bool]].astype(float)
    whole, fewer = runs.mean("group"), runs.map(leave_one_out, over="group")

    def estimated(function: Callable[[xr.Dataset], xr.DataArray]) -> Estimate:
        return jackknife(function(whole), function(fewer), over="group", scatter="symmetric")

    result = estimated(measure)
    if null is None:
        return result
    less = estimated(lambda some: measure(some) - null(some))
    return replace(result, null=null(whole), difference=less.interval)


def margin_growth(logits: xr.DataArray, move: xr.DataArray) -> xr.DataArray:
    """Growth of the mean own-class margin that single steps add up to, by its growth in training.

    Parameters
    ----------
    logits : DataArray
        Mean logits, (…, time, class, logit).
    move : DataArray
        What a step on a sample of the class ``trained`` adds to them, (…, time, class, trained, logit).
    """
    k = logits.sizes["class"]
    along = xr.DataArray(np.eye(k) - 1 / k, dims=("class", "logit"))
    margin = (logits * along).sum("logit").mean("class")
    step = (move * along).sum("logit").mean(["class", "trained"])
    return step.integrate("time") / (margin.isel(time=-1) - margin.isel(time=0))


def effects_by_source(
    kernels: xr.Dataset, window: int, steps: xr.Dataset | None = None, since: float | None = None
) -> xr.Dataset:
    """Mean effects over time by where they come from, each a mean over groups and without each group in turn.

    Parameters
    ----------
    kernels : Dataset
        Over ``group``.
    window : int
        Of the filter that infers effects from logits, in iterations.
    steps : Dataset, optional
        Whole steps of the same trials.
    since : float, optional
        The first iteration that counts, by default that of :func:`start_of_signal`.

    Returns
    -------
    Dataset
        ``intra`` α and ``inter`` β over ``source``, ``model`` and ``of`` (0: all groups; then without each), per
        iteration; and ``own`` and ``others``, which are not divided by the margins (L) or the norm (I) of logits. These
        are small at first, so that the first records carry most of a mean of α or β.
    """
    late = slice(start_of_signal(kernels) if since is None else since, None)

    def both(run: xr.Dataset, *names: str) -> list[xr.DataArray]:
        arrays = [run[name].astype(float).drop_vars("group", errors="ignore") for name in names]
        return [xr.concat([a.mean("group"), leave_one_out(a, "group")], "group") for a in arrays]

    (means,) = both(kernels.rename(time="stop", block="time"), "mean")
    inferred = effects.estimate(xr.Dataset({"mean": means}), window, ("I", "L"))[["intra", "inter"]]
    at = kernels["time"].values
    found = {INFERRED: inferred.interp(time=at, kwargs={"fill_value": "extrapolate"})}
    logits, first, initial = both(kernels, "logits", "move", "move_frozen")
    found |= {FIRST_ORDER: effects.real_effects(logits, first), INITIAL: effects.real_effects(logits, initial)}
    if steps is not None:
        found[WHOLE] = effects.real_effects(*both(steps, "logits", "move"))
    along_d = logits * (xr.DataArray(np.eye(k := logits.sizes["class"]), dims=("class", "logit")) - 1 / k)
    of_models: list[xr.DataArray] = [(logits**2).sum(["class", "logit"]) ** 0.5, along_d.sum(["class", "logit"])]
    size = xr.concat(of_models, xr.Variable("model", ["I", "L"]))
    moved = [one.assign(own=one.intra * size, others=one.inter * size) for one in found.values()]
    means_over_time = [one.sel(time=late).mean("time") for one in moved]
    joined = xr.concat(means_over_time, xr.Variable("source", list(found)), join="exact")
    return joined.rename(group="of")


def ratios(effects_of: xr.Dataset, measure: Callable[[xr.Dataset, str], xr.DataArray], source: str) -> Estimate:
    """A measure of :func:`effects_by_source` for one source, with its interval over groups."""
    found = measure(effects_of, source)
    return jackknife(
        found.isel({"of": 0}), found.isel({"of": slice(1, None)}).rename(of="group"), over="group", scatter="symmetric"
    )


def elasticity(effects_of: Mapping[str, xr.Dataset]) -> Estimate:
    """β/α by the L-model over ``source`` and ``data``, with intervals over groups; nan where nothing was measured."""

    def share(one: xr.Dataset, source: str) -> xr.DataArray:
        at = one.sel(source=source, model="L", drop=True)
        return at.inter / at.intra

    sources = (INFERRED, FIRST_ORDER, WHOLE)
    rows = {
        title: stack(
            {s: ratios(one, share, s) if s in one.source else Estimate(np.nan) for s in sources}, along="source"
        )
        for title, one in effects_of.items()
    }
    return stack(rows, along="data")


def by_weight(effects_of: xr.Dataset) -> dict[str, Estimate]:
    """β/α of whole steps by model, of :func:`effects_by_source` and of the moves themselves, with intervals."""

    def share(model: str, own: str, others: str) -> Estimate:
        one = effects_of.sel(source=WHOLE, model=model, drop=True)
        return ratios(one, lambda at, _: at[others] / at[own], WHOLE)

    weights = {"divided": ("intra", "inter"), "undivided": ("own", "others")}
    return {f"{model}-model, {how}": share(model, *names) for model in "IL" for how, names in weights.items()}


def sizes(effects_of: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """α and β by the L-model per 1,000 iterations, and β/α: a row for each source, columns for each data set."""
    tables = {}
    for title, one in effects_of.items():
        at = one.sel(model="L").isel({"of": 0})
        columns = {"α": 1000 * at.intra, "β": 1000 * at.inter}
        words = {name: [f"{float(v):.2g}" for v in column] for name, column in columns.items()}
        words["β/α"] = [f"{float(v):.2f}" for v in at.inter / at.intra]
        tables[title] = pd.DataFrame(words, index=list(at.source.values)).replace("-", "−", regex=True)
    return pd.concat(tables, axis=1).fillna("")
