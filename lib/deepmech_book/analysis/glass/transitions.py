"""Two transitions of the landscape, from the losses of networks at rest (Figs. 1, A3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, crossing, estimate, proportion, unknown
from deepmech.core.labels import over
from deepmech.sweeps import sweep_of
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech_book.analysis.glass.phases import LEARNT, LEVEL, source
from deepmech_book.sweeps import shipped
from deepmech_book.sweeps.glass import minima
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
            "data": source(data),
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


def by_labels(results: Mapping[str, xr.Dataset]) -> xr.DataArray:
    """:func:`by_ratio` of several results, along ``labels``."""
    return xr.concat([by_ratio(one) for one in results.values()], over("labels", list(results)), join="outer")


def typical_by_ratio(result: xr.Dataset) -> xr.DataArray:
    """:func:`typical` data loss over ``regularisation`` and ``ratio`` (N/P_D)."""
    return typical(result.data_loss).assign_coords(width=ratio(result).values).rename(width="ratio")


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


def last_step(curves: xr.DataArray, level: float) -> xr.DataArray:
    """The rise of a loss in the step of λ that ends above a level for good, as a share of its whole rise: 1 is a jump.

    Parameters
    ----------
    curves : DataArray
        Losses over ``regularisation`` and more.
    level : float
        Above which a network lies at the origin.

    Returns
    -------
    DataArray
        Without ``regularisation``; nan of a loss that ends below the level.
    """
    ordered = curves.sortby("regularisation")
    falling = ordered.isel(regularisation=slice(None, None, -1))
    stays = (falling > level).cumprod("regularisation").astype(bool).isel(regularisation=slice(None, None, -1))
    steps = ordered.diff("regularisation")
    first = stays.isel(regularisation=slice(1, None)) & ~stays.shift(regularisation=1, fill_value=False).isel(
        regularisation=slice(1, None)
    )
    rise = ordered.isel(regularisation=-1) - ordered.isel(regularisation=0)
    return steps.where(first).max("regularisation") / rise


def sharpness(result: xr.Dataset, level: float) -> tuple[Estimate, float]:
    """:func:`last_step` of single networks, and that of their mean, which is smoother if places differ.

    Parameters
    ----------
    result : Dataset
        ``data_loss`` over ``seed``, ``width`` (one) and ``regularisation``.
    level : float
        Above which a network lies at the origin.
    """
    curves = result.data_loss.isel(width=0, drop=True)
    single, mean = last_step(curves, level), last_step(curves.mean("seed"), level)
    return estimate(single, "seed", "symmetric"), float(mean)


def half_fallen(result: xr.Dataset) -> Estimate:
    """λ beyond which at least half of the networks have fallen to the origin (Fig. 1(c)).

    Parameters
    ----------
    result : Dataset
        ``data_loss`` over ``seed``, ``width`` (one) and ``regularisation``.

    Returns
    -------
    Estimate
        Half-way between the two λ on either side; the interval covers these, of all networks and without each of them.
    """
    loss = result.data_loss.isel(width=0, drop=True).sortby("regularisation")
    at = loss.regularisation.values
    sides = []
    for left in (None, *range(loss.sizes["seed"])):
        some = loss if left is None else loss.drop_isel(seed=left)
        fell = (some > LEARNT).mean("seed").values >= 0.5
        if fell.all() or not fell.any() or (np.diff(fell.astype(int)) < 0).any():
            return unknown("the decays tried do not enclose where half of the networks fall (regularisations_p)")
        sides.append((at[~fell].max(), at[fell].min()))
    low, high = min(low for low, _ in sides), max(high for _, high in sides)
    return Estimate(sum(sides[0]) / 2, low, high, loss.sizes["seed"])


def half_way(result: xr.Dataset, low: float = 0.3) -> str:
    """Networks whose loss ends between ``low`` and that of the origin, a sentence each."""
    loss = result.data_loss.isel(width=0, drop=True).transpose("regularisation", "seed")
    some = loss.where((loss > low) & (loss < LEARNT)).to_series().dropna()
    return "".join(f"One network of λ = {d:g} ends half-way, at {v:.2f}. " for (d, _), v in some.items())


def decades(plane: xr.Dataset) -> tuple[xr.DataArray, float]:
    """Factors of ten by which the mean loss falls from the smallest to the largest size (Fig. 1(a)).

    Parameters
    ----------
    plane : Dataset
        ``data_loss`` over ``seed``, ``width`` and ``regularisation``, 0 the first.

    Returns
    -------
    tuple of DataArray and float
        Over ``regularisation`` > 0, where the largest networks learn; and without weight decay.
    """
    middle = typical(plane.data_loss)
    fall: xr.DataArray = xr.apply_ufunc(np.log10, middle.isel(width=0, drop=True) / middle.isel(width=-1, drop=True))
    learns = (middle.isel(width=-1) < LEARNT) & np.isfinite(fall) & (fall.regularisation > 0)
    return fall[learns.values], float(fall.sel(regularisation=0.0))


def by_program(result: xr.Dataset) -> pd.DataFrame:
    """Loss and share of samples missed by N/P_D, means over networks, in words: one row a width."""
    found = result.isel(regularisation=0)[["data_loss", "error"]].mean("seed").to_dataframe()[["data_loss", "error"]]
    found.insert(0, "N/P_D", ratio(result).values)
    names = {"data_loss": "final data loss", "error": "share of samples missed"}
    return found.rename(columns=names).map("{:.2g}".format)


def fallen_by_decay(result: xr.Dataset) -> pd.DataFrame:
    """How many networks have fallen to the origin, and their mean loss, one row a λ."""
    losses = result.data_loss.isel(width=0, drop=True)
    counts = {
        "networks that fell": (losses > LEARNT).sum("seed"),
        "of": losses.notnull().sum("seed"),
        "mean data loss": losses.mean("seed").round(2),
    }
    return pd.DataFrame({name: one.to_series() for name, one in counts.items()})


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


def on_digits() -> tuple[xr.Dataset, xr.Dataset]:
    """Losses of networks at rest on MNIST as the page on transitions shows them, over width and over decay."""
    data = {"name": "mnist", "n_data": 4000, "whiten": True}
    widths = [5, 7, 9, 11, 13, 15, 18, 20]
    decays = [0.001, 0.003, 0.01, 0.014, 0.018, 0.022, 0.026, 0.03, 0.035, 0.04, 0.05, 0.07, 0.1, 0.15]
    longer = {**minima.REST, "sgd_steps": 300_000}
    both = (
        minima.plane(data, widths, [0.0], 4, longer, "uot"),
        minima.plane(data, [7], decays, 10, minima.REST, "ttt"),
    )
    sizes, decayed = map(shipped.result, both)
    return sizes, decayed


def beside_linear_fits(*networks: tuple[xr.Dataset, xr.Dataset, float]) -> pd.DataFrame:
    """:func:`summary` of several data sets, one row each.

    Parameters
    ----------
    *networks : tuple of Dataset, Dataset and float
        Final losses over width and over weight decay, and the loss above which a network has fallen.
    """
    rows = {}
    for sizes, decays, level in networks:
        data = sweep_of(decays).fixed["data"]
        line = shipped.result(minima.linear_sweep(data["name"], data["n_data"])).isel(n_data=0)
        rows[title_of(data["name"])] = summary(sizes, decays, level, line)
    return pd.DataFrame.from_dict(rows, orient="index")
