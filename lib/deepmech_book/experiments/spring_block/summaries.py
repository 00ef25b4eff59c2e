"""What diagrams of networks say: how curves bend with noise and nonlinearity, and where accuracy is highest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, bootstrap, estimate, plain, spearman
from deepmech.metrics.curvature import curvature
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.spring_block.networks import PANELS

N_SHIFTS, N_DRAWS = 201, 300
#: Curvature up to which a load curve is called straight: a last step of D at most about 1.7 times the first.
STRAIGHT = 0.05


@dataclass(frozen=True)
class Measures:
    """The numbers that the claims about diagrams of networks share; see :func:`measures`."""

    bends_with_noise: Estimate
    bends_with_slope: Estimate
    lazy_corner: Estimate
    noisiest: Estimate
    falls: Estimate
    falls_in_rows: Estimate
    straightest: Estimate
    bent_gains: Estimate
    best_cell: dict[str, float]
    best_curvature: Estimate
    best_bend: Estimate
    left_out: int


def measures(result: xr.Dataset) -> Measures:
    """Shape and accuracy over one panel, from a finished sweep; a cell with a network that diverged has no numbers.

    Returns
    -------
    Measures
        - ``bends_with_noise`` (per slope): rank correlation of curvature with noise; -1 when every step of noise makes
          the curve less concave. ``bends_with_slope`` (per noise): the same with the negative slope.
        - ``lazy_corner``: curvature at the smallest slope and the least noise; ``noisiest`` (per slope): at the
          strongest noise.
        - ``falls``: rank correlation of test accuracy with |curvature| over all cells; its null is that with the
          distance, in columns, from where the *other* rows are most accurate: from the best column of their mean, or
          from a straight line through the best column of each, whichever does better. It knows nothing of curves, but
          test accuracies. ``falls_in_rows``: both within a row, mean over rows.
        - ``straightest``: the curvature c₀ for which accuracy falls most strictly with |curvature − c₀|.
        - ``bent_gains``: by how many percentage points the best bent cell is more accurate than the best cell that is
          straight (:data:`STRAIGHT`), both chosen by all other seeds and looked at in the one left out.
        - ``best_cell``: labels and accuracy of the most accurate cell, ``best_curvature`` its curvature, and
          ``best_bend`` the size of it as a fraction of the largest in the panel; the null is that of a cell picked
          blindly.
        - ``left_out``: how many cells have no numbers, and are in none of these.
    """
    noise = next(name for name in PANELS if name in result.dims)
    result = result.sortby(noise, ascending=PANELS[noise].rising).transpose("seed", "slope", noise, ...)
    bend, accuracy = result["curvature"], result["accuracy"]
    usable = (bend.notnull() & accuracy.notnull()).all("seed")
    means = result[["curvature", "accuracy"]].mean("seed", skipna=False).where(usable)
    best = {k: int(v) for k, v in means["accuracy"].argmax(["slope", noise]).items()}
    return Measures(
        bends_with_noise=_bends(bend.where(usable), noise),
        bends_with_slope=_bends(bend.where(usable), "slope"),
        lazy_corner=_mean(bend.isel({"slope": 0, noise: 0}, drop=True)),
        noisiest=_mean(bend.isel({noise: -1}, drop=True)),
        best_cell={str(d): float(means[d][i]) for d, i in best.items()} | {"accuracy": float(means["accuracy"][best])},
        bent_gains=_bent_gains(bend, accuracy, usable),
        left_out=int((~usable).sum()),
        **_numbers(bend.values.astype(float), accuracy.values.astype(float), usable.values),
    )


def _mean(values: xr.DataArray) -> Estimate:
    return estimate(values, "seed", "skewed")


def _bent_gains(bend: xr.DataArray, accuracy: xr.DataArray, usable: xr.DataArray) -> Estimate:
    """A cell chosen by the seed it is judged by would look too good; of a single seed there is no other choice."""
    cells, gains = usable.values, []
    for seed in range(bend.sizes["seed"]):
        chosen = [s for s in range(bend.sizes["seed"]) if s != seed] or [seed]
        c, a = (one.values[chosen][:, cells].mean(0) for one in (bend, accuracy))
        straight = abs(c) <= STRAIGHT
        if straight.all() or not straight.any():
            gains.append(np.nan)
            continue
        best = [np.argmax(np.where(kind, a, -np.inf)) for kind in (~straight, straight)]
        bent, even = accuracy.values[seed][cells][best]
        gains.append(100 * float(bent - even))
    return estimate(np.array(gains), scatter="symmetric")


def _bends(bend: xr.DataArray, dim: str) -> Estimate:
    """Rank correlation of curvature with its place along ``dim``, which is in order, for every label of the other."""
    ready = bend.transpose("seed", ..., dim)
    kept = [np.flatnonzero(row) for row in np.isfinite(ready.values).all(0)]

    def statistic(c: np.ndarray) -> np.ndarray:
        rows = [spearman(np.broadcast_to(at, (len(c), len(at))), c[:, i, at]) for i, at in enumerate(kept)]
        return np.stack(rows, -1)

    values = np.nan_to_num(ready.values.astype(float))
    like = ready.isel({"seed": 0, dim: 0}, drop=True)
    found = bootstrap(statistic, values, n_draws=N_DRAWS)
    return found.map(lambda end: like.copy(data=np.clip(end, -1, 1)))


def _numbers(bend: np.ndarray, accuracy: np.ndarray, usable: np.ndarray) -> dict[str, Estimate]:
    """Numbers of :func:`measures` that follow from means over seeds; ``bend``, ``accuracy`` (seed, slope, noise)."""
    names = ["falls", "falls_in_rows", "straightest", "best_curvature", "best_bend"]
    with_null = ["falls", "falls_in_rows", "best_bend"]  # the statistic's last columns; before: two, less their nulls

    def statistic(c: np.ndarray, a: np.ndarray) -> np.ndarray:
        away = _off_best(a, usable)
        rows = [row for row, ok in enumerate(usable) if ok.sum() > 2]

        def in_rows(x: np.ndarray) -> np.ndarray:
            found = [spearman(x[:, r, usable[r]], a[:, r, usable[r]]) for r in rows]
            return np.mean(found, axis=0) if rows else np.full(len(x), np.nan)

        flat, right, size = c[:, usable], a[:, usable], abs(c[:, usable])
        shifts = np.linspace(flat.min(-1), flat.max(-1), N_SHIFTS, axis=-1)
        by_shift = spearman(abs(flat[:, None] - shifts[..., None]), right[:, None])
        best = right.argmax(-1)
        at_best = np.take_along_axis(flat, best[:, None], -1)[:, 0]
        straightest = np.array([s[r == r.min()].mean() for s, r in zip(shifts, by_shift, strict=True)])
        found = [spearman(size, right), in_rows(abs(c)), straightest, at_best, abs(at_best) / size.max(-1)]
        blind = (size / size.max(-1, keepdims=True)).mean(-1)
        rival = [
            np.minimum.reduce([of(one) for one in away]) for of in (lambda x: spearman(x[:, usable], right), in_rows)
        ]
        more = [one - other for one, other in zip(found, rival, strict=False)]
        return np.stack([*found, *more, *rival, blind], -1)

    filled = [np.where(usable, values, 0.0) for values in (bend, accuracy)]
    found = bootstrap(statistic, *filled, n_draws=N_DRAWS)
    # Correlations end at ±1.
    low, high = (np.append(np.clip(end[:2], -1, 1), end[2:]).tolist() for end in found.interval)
    values, rivals = found.value.tolist(), dict(zip(with_null, found.value[-len(with_null) :].tolist(), strict=True))
    numbers = {}
    for i, name in enumerate(names):
        less = (low[len(names) + i], high[len(names) + i]) if name in with_null[:2] and found.known else None
        numbers[name] = Estimate(values[i], low[i], high[i], found.n, found.why, rivals.get(name), less)
    return numbers


def _off_best(accuracy: np.ndarray, usable: np.ndarray) -> list[np.ndarray]:
    """Distance of every cell, (draw, row, column), from where its row should be best by all other rows.

    By the best column of their mean, and by the straight line through the best column of each.
    """
    rows, n = np.flatnonzero(usable.any(1)), accuracy.shape[-1]
    filled = np.where(usable, accuracy, -np.inf)
    best, at = filled.argmax(-1), np.empty((2, *accuracy.shape[:2]))
    for row in range(accuracy.shape[1]):
        others = rows[rows != row] if len(rows) > 1 else rows
        x = others - others.mean()
        tilt = best[:, others] @ x / (x @ x or 1.0)
        at[0, :, row] = filled[:, others].mean(1).argmax(-1)
        at[1, :, row] = np.clip(best[:, others].mean(-1) + tilt * (row - others.mean()), 0, n - 1)
    return [abs(np.arange(n) - one[..., None]) for one in at]


def ranks(one: xr.DataArray, two: xr.DataArray, dim: str) -> xr.DataArray:
    """Spearman's correlation of two labelled arrays along ``dim``, over labels at which both have values."""

    def rho(a: np.ndarray, b: np.ndarray) -> float:
        both = np.isfinite(a.astype(float)) & np.isfinite(b)
        return float(spearman(a[both].astype(float), b[both]))

    return xr.apply_ufunc(rho, one, two, input_core_dims=[[dim], [dim]], vectorize=True)


def without_input(made: xr.Dataset) -> xr.Dataset:
    """The result without layer 0; curvature is that of what is left."""
    kept = made.sel(layer=slice(1, None))
    return kept.assign(curvature=curvature(kept["load_curve"]))


def table(found: Mapping[str, Measures], results: Mapping[str, xr.Dataset] | None = None) -> pd.DataFrame:
    """What matters about diagrams, one column for each: shape against accuracy, the rival, and the best cell.

    ``found`` are the :func:`measures` of diagrams by title, ``results`` the sweeps' results behind them, which add the
    numbers of seeds and of diverged networks.
    """
    columns = {title: _column(one) for title, one in found.items()}
    for title, result in (results or {}).items():
        columns[title] |= {
            "seeds per cell": str(result.sizes["seed"]),
            "diverged": f"{int(result['diverged'].sum())} of {result['diverged'].size}",
        }
    return pd.DataFrame(columns).fillna("–")


def origin(*results: xr.Dataset) -> str:
    """Which networks a claim is measured on, in words, for its detail.

    Examples
    --------
    >>> import json
    >>> from deepmech_book.experiments.spring_block.networks import figure_1
    >>> sweep = figure_1("dropout", values=[0.0, 0.1], n_seeds=3)
    >>> origin(xr.Dataset(attrs={"spec": json.dumps(sweep.to_json()), "obtained": "shipped with the book"}))
    'Of 36 networks (figure-1c-digits), stored with the book.'
    """
    sweeps = [sweep_of(result) for result in results]
    words = ", ".join(f"{sweep.n_cells} networks ({sweep.name})" for sweep in sweeps)
    stored = all(result.attrs["obtained"].startswith("shipped") for result in results)
    return f"Of {words}, {'stored with the book' if stored else 'not all of them stored with the book'}."


def _column(one: Measures) -> dict[str, str]:
    best = one.best_cell
    noise = next(name for name in PANELS if name in best)
    return ({"cells left out": str(one.left_out)} if one.left_out else {}) | {
        "rank correlation of accuracy with |curvature|": str(one.falls),
        "… with the distance from the noise best in other rows": plain(one.falls.null),
        "within rows: with |curvature|": str(one.falls_in_rows),
        "within rows: with that distance": plain(one.falls_in_rows.null),
        "curvature c₀ about which accuracy falls": str(one.straightest),
        "best bent cell less best straight cell, points": str(one.bent_gains),
        "highest accuracy": f"{100 * best['accuracy']:.1f} %",
        "its cell": f"α = {best['slope']:g}, {noise.replace('_', ' ')} {best[noise]:g}",
        "its curvature": str(one.best_curvature),
        "its |curvature|, of the largest": plain(one.best_bend.value),
        "that of a cell picked blindly": plain(one.best_bend.null),
    }


def input_off(load: xr.DataArray) -> xr.DataArray:
    """How far the input lies above the straight line through the hidden layers, over the range of these, D₁ − D_L.

    The line is that of least squares through (ℓ, D_ℓ), ℓ = 1 … L. Where layers are curved it meets ℓ = 0 anywhere: ask
    this of curves that are straight from layer 1 on.
    """

    def above(d: np.ndarray) -> float:
        line = np.polyfit(np.arange(1, len(d)), d[1:], 1)
        return float((d[0] - line[1]) / (d[1] - d[-1]))

    return xr.apply_ufunc(above, load, input_core_dims=[["layer"]], vectorize=True)
