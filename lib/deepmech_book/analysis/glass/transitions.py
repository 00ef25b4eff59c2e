"""Two transitions of the landscape, from the losses of networks at rest (Figs. 1, A3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, crossing, estimate, proportion, unknown
from deepmech.sweeps import sweep_of
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech_book.analysis.glass.phases import LEVEL
from deepmech_book.sweeps.glass.data import title_of

COLLAPSED = 0.499
"""Data loss above which a network counts as fallen to the origin, where it is ½: on CIFAR-10 a learnt loss is high."""


FLOOR = 1e-20
"""Least loss in geometric means, as in the paper's programs."""


def ratio(result: xr.Dataset) -> xr.DataArray:
    """N/P_D of every width."""
    n_data = sweep_of(result).fixed["data"]["n_data"]
    values = [n_weights(layer_sizes(10, int(w), 6)) / n_data for w in result.width.values]
    return xr.DataArray(np.round(values, 4), dims="width", coords={"width": result.width})


def typical(loss: xr.DataArray) -> xr.DataArray:
    """Geometric mean over seeds with the floor :data:`FLOOR`.

    Networks that diverged are left out; attribute ``left_out`` says how many.
    """
    logs = xr.apply_ufunc(np.log, loss.clip(min=FLOOR))
    known = np.isfinite(logs)
    return xr.apply_ufunc(np.exp, logs.where(known).mean("seed")).assign_attrs(left_out=int((~known).sum()))


def n_star(result: xr.Dataset, level: float = LEVEL) -> float:
    """N/P_D at which the mean of the final loss falls to ``level``, linear in its logarithm; nan if it never does."""
    middle = typical(by_ratio(result))
    return crossing(middle.ratio.values, np.log(middle.values), np.log(level), direction="falls")


def largest_step(curves: xr.DataArray) -> xr.DataArray:
    """The largest rise of a loss between neighbouring λ, as a share of its whole rise: 1 is a jump."""
    ordered = curves.sortby("regularisation")
    rise = ordered.isel(regularisation=-1) - ordered.isel(regularisation=0)
    return ordered.diff("regularisation").max("regularisation") / rise


def overview(results: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """What came to rest, one row per title: data, sizes, numbers of networks and of those that diverged."""
    rows = {}
    for title, result in results.items():
        data, widths, n = sweep_of(result).fixed["data"], result.width.values, result.diverged.size
        rows[title] = {
            "data": title_of(data["name"]) + ", shuffled labels" * ("shuffle" in data),
            "samples": data["n_data"],
            "widths": f"{widths.min()} to {widths.max()}" if len(widths) > 1 else str(widths[0]),
            "networks": n,
            "diverged": int(result.diverged.sum()),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def origin(result: xr.Dataset) -> str:
    """Where a result's numbers come from, in words, for the detail of a claim."""
    one = overview({"": result}).iloc[0]
    size = f"{one['data']}, P_D = {one['samples']}, width {one['widths']}"
    return f"{size}, {one['diverged']} of {one['networks']} diverged."


def by_ratio(result: xr.Dataset) -> xr.DataArray:
    """Data loss without weight decay over ``ratio`` (N/P_D) and ``seed``, no lower than :data:`FLOOR`."""
    loss = result.data_loss.isel(regularisation=0, drop=True).clip(min=FLOOR)
    return loss.assign_coords(width=ratio(result).values).rename(width="ratio")


def single_and_mean(result: xr.Dataset, n: int = 5) -> xr.DataArray:
    """Data loss over weight decay of the first ``n`` networks, and the mean of all, along ``kind``.

    Attribute ``left_out``: networks that diverged, and are in no mean.
    """
    curves = result.data_loss.isel(width=0, drop=True)
    names = [f"network {i + 1}" for i in range(n)]
    single = curves.isel(seed=slice(0, n)).rename(seed="kind").assign_coords(kind=names)
    both = xr.concat([curves.mean("seed").expand_dims(kind=["mean"]), single], "kind")
    return both.assign_attrs(left_out=int(curves.isnull().sum()))


def fitted(sizes: xr.Dataset) -> tuple[Estimate, Estimate]:
    """What networks of several sizes at rest, without weight decay, say of the transition between them.

    N*/P_D of :func:`.transitions.n_star`, and the share of the larger networks that are without loss; both are unknown
    where the mean loss crosses the level nowhere.
    """
    star = n_star(sizes)
    if np.isnan(star):
        none = unknown(
            "the mean loss crosses the level nowhere; give narrower or wider networks, or train them for longer"
        )
        return none, none
    larger = by_ratio(sizes).sel(ratio=slice(star, None)).values
    larger = larger[np.isfinite(larger)]
    share = proportion(float((larger < LEVEL).mean()), len(larger))
    return estimate(sizes, "seed", "symmetric", of=n_star), share


def falls_at(result: xr.Dataset, level: float) -> xr.DataArray:
    """The smallest λ from which on a network's data loss stays above a level; nan if there is none.

    Parameters
    ----------
    result : Dataset
        ``data_loss`` over ``seed``, ``width`` (one) and ``regularisation``.
    level : float
        Of the data loss.

    Returns
    -------
    DataArray
        Over ``seed``.
    """
    loss = result.data_loss.isel(width=0, drop=True).sortby("regularisation", ascending=False)
    stays = (loss > level).cumprod("regularisation").astype(bool) & loss.notnull().all("regularisation")
    return loss.regularisation.where(stays).min("regularisation")


def sharpness(result: xr.Dataset) -> tuple[Estimate, float]:
    """:func:`largest_step` of single networks, and that of their mean, which is smoother if places differ.

    Parameters
    ----------
    result : Dataset
        ``data_loss`` over ``seed``, ``width`` (one) and ``regularisation``.
    """
    curves = result.data_loss.isel(width=0, drop=True)
    single, mean = largest_step(curves), largest_step(curves.mean("seed"))
    return estimate(single, "seed", "symmetric"), float(mean)


def mean_losses(sizes: xr.Dataset) -> str:
    """The geometric mean of the final loss at each N/P_D, in words."""
    return ", ".join(f"{v:.1g} at {r:.2f}" for r, v in typical(by_ratio(sizes)).to_series().items())


def summary(sizes: xr.Dataset, decays: xr.Dataset, level: float, line: xr.Dataset) -> dict[str, str]:
    """N*, λ* and where a linear fit gives way, in words, for a row of a table.

    Parameters
    ----------
    sizes : Dataset
        Final losses over width, without weight decay.
    decays : Dataset
        Final losses over weight decay, of one width.
    level : float
        Data loss above which a network has fallen to the origin.
    line : Dataset
        ``explained``, the share of the labels' variance that a linear fit explains, and ``gives_way``, the λ at which
        one path that carries it gives way.
    """
    star, points = n_star(sizes), falls_at(decays, level)
    return {
        "N*/P_D": f"{star:.2g}" if np.isfinite(star) else "not reached",
        "λ*, median": f"{float(points.median()):.2g}",
        "least": f"{float(points.min()):.2g}",
        "most": f"{float(points.max()):.2g}",
        "a line explains": f"{100 * float(line.explained):.0f} %",
        "a line gives way at λ": f"{float(line.gives_way):.2g}",
    }
