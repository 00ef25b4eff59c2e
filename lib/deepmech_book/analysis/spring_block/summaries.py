"""What a phase diagram of networks says: how curves bend with noise and nonlinearity, and where accuracy is highest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import t as student

from deepmech.core.estimates import Estimate, bootstrap, estimate, spearman, two_decimals
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import sweep_of
from deepmech_book.sweeps.spring_block.networks import PANELS

N_SHIFTS, N_DRAWS = 201, 300
#: Curvature up to which a load curve is called straight: a last step of D at most about 1.7 times the first.
STRAIGHT = 0.05

Ranks = Callable[[np.ndarray, np.ndarray], np.ndarray]


class NetworkDiagram:
    """Curvature and test accuracy over ``slope``, one kind of noise (from least to most) and ``seed``.

    Numbers are estimates over seeds, of the networks in ``made``, a finished sweep of :func:`.networks.figure_1` or one
    like it. A cell with a network that diverged is in none of them; ``left_out`` counts these.
    """

    def __init__(self, made: xr.Dataset) -> None:
        self.noise = next(name for name in PANELS if name in made.dims)
        made = made.sortby(self.noise, ascending=PANELS[self.noise].rising).transpose("seed", "slope", self.noise, ...)
        self.curvature, self.accuracy = made["curvature"].astype(float), made["accuracy"].astype(float)
        self.usable = (self.curvature.notnull() & self.accuracy.notnull()).all("seed")
        self.left_out = int((~self.usable).sum())
        self._cells = self.usable.values
        self._runs = [one.where(self.usable, 0.0).values for one in (self.curvature, self.accuracy)]

    def bends(self, dim: str) -> Estimate:
        """Rank correlation of curvature with its place along ``dim`` (``"slope"``, or the noise from least to most).

        For every label of the other; −1 where each step makes the curve less concave.
        """
        ready = self.curvature.where(self.usable).transpose("seed", ..., dim)
        where = [np.flatnonzero(row) for row in np.isfinite(ready.values).all(0)]

        def statistic(c: np.ndarray) -> np.ndarray:
            rows = [spearman(np.broadcast_to(at, (len(c), len(at))), c[:, i, at]) for i, at in enumerate(where)]
            return np.stack(rows, -1)

        like = ready.isel({"seed": 0, dim: 0}, drop=True)
        found = bootstrap(statistic, np.nan_to_num(ready.values), n_draws=N_DRAWS)
        return found.map(lambda end: like.copy(data=np.clip(end, -1, 1)))

    @property
    def bends_with_noise(self) -> Estimate:
        return self.bends(self.noise)

    @property
    def bends_with_slope(self) -> Estimate:
        return self.bends("slope")

    @property
    def lazy_corner(self) -> Estimate:
        """Curvature at the smallest slope and the least noise."""
        return estimate(self.curvature.isel({"slope": 0, self.noise: 0}, drop=True), "seed", "skewed")

    @property
    def noisiest(self) -> Estimate:
        """Curvature at the strongest noise, per slope."""
        return estimate(self.curvature.isel({self.noise: -1}, drop=True), "seed", "skewed")

    @cached_property
    def falls(self) -> Estimate:
        """Rank correlation of accuracy with |curvature| over all cells; see :meth:`_beside_rival`."""
        return self._beside_rival(lambda x, a: spearman(x[:, self._cells], a[:, self._cells]))

    @cached_property
    def falls_in_rows(self) -> Estimate:
        """The same within a row, mean over rows."""
        rows = [row for row, ok in enumerate(self._cells) if ok.sum() > 2]

        def within(x: np.ndarray, a: np.ndarray) -> np.ndarray:
            found = [spearman(x[:, r, self._cells[r]], a[:, r, self._cells[r]]) for r in rows]
            return np.mean(found, axis=0) if rows else np.full(len(x), np.nan)

        return self._beside_rival(within)

    def _beside_rival(self, ranks: Ranks) -> Estimate:
        """Ranks of accuracy with |curvature|; the null is with the distance, in columns, from where the *other* rows
        are most accurate: by the best column of their mean, or by the straight line through the best column of each,
        whichever does better. It knows nothing of curves, but test accuracies.
        """

        def statistic(c: np.ndarray, a: np.ndarray) -> np.ndarray:
            mine = ranks(abs(c), a)
            rival = np.minimum.reduce([ranks(away, a) for away in _off_best(a, self._cells)])
            return np.stack([mine, mine - rival, rival], -1)

        found = bootstrap(statistic, *self._runs, n_draws=N_DRAWS)
        value, _, rival = found.value.tolist()
        low, high = np.clip([found.low[0], found.high[0]], -1, 1).tolist()
        difference = (float(found.low[1]), float(found.high[1])) if found.is_finite else None
        return Estimate(value, low, high, found.n, found.reason, rival, difference)

    @cached_property
    def straightest(self) -> Estimate:
        """The curvature c₀ for which accuracy falls most strictly with |curvature − c₀|."""

        def statistic(c: np.ndarray, a: np.ndarray) -> np.ndarray:
            c, a = c[:, self._cells], a[:, self._cells]
            shifts = np.linspace(c.min(-1), c.max(-1), N_SHIFTS, axis=-1)
            by_shift = spearman(abs(c[:, None] - shifts[..., None]), a[:, None])
            return np.array([s[r == r.min()].mean() for s, r in zip(shifts, by_shift, strict=True)])

        return bootstrap(statistic, *self._runs, n_draws=N_DRAWS).map(float)

    @property
    def best_curvature(self) -> Estimate:
        """Curvature of the most accurate cell, which may be another one when runs are drawn anew."""

        def statistic(c: np.ndarray, a: np.ndarray) -> np.ndarray:
            best = a[:, self._cells].argmax(-1)
            return np.take_along_axis(c[:, self._cells], best[:, None], -1)[:, 0]

        return bootstrap(statistic, *self._runs, n_draws=N_DRAWS).map(float)

    @property
    def bent_gains(self) -> Estimate:
        """By how many percentage points the best bent cell is more accurate than the best straight one.

        Straight is up to :data:`STRAIGHT`. Both are chosen by all other seeds and looked at in the one left out: a cell
        chosen by the seed it is judged by would look too good.
        """
        c, a = (one.values[:, self._cells] for one in (self.curvature, self.accuracy))
        gains = []
        for seed in range(len(c)):
            chosen = [s for s in range(len(c)) if s != seed] or [seed]  # of a single seed there is no other choice
            straight = abs(c[chosen].mean(0)) <= STRAIGHT
            if straight.all() or not straight.any():
                gains.append(np.nan)
                continue
            bent, even = (np.argmax(np.where(kind, a[chosen].mean(0), -np.inf)) for kind in (~straight, straight))
            gains.append(100 * float(a[seed, bent] - a[seed, even]))
        return estimate(np.array(gains), scatter="symmetric")

    @property
    def best_cell(self) -> dict[str, float]:
        """Labels, accuracy and curvature of the most accurate cell."""
        means = xr.Dataset({"accuracy": self.accuracy, "curvature": self.curvature})
        means = means.mean("seed", skipna=False).where(self.usable)
        best = means.isel(means["accuracy"].argmax(["slope", self.noise]))
        return {str(name): float(best[name]) for name in best.variables}

    def summary(self) -> dict[str, str]:
        """Shape against accuracy, the rival, and the best cell, in words."""
        best, size = self.best_cell, abs(self.curvature.mean("seed")).where(self.usable)
        return ({"cells left out": str(self.left_out)} if self.left_out else {}) | {
            "rank correlation of accuracy with |curvature|": str(self.falls),
            "… with the distance from the noise best in other rows": two_decimals(self.falls.null),
            "within rows: with |curvature|": str(self.falls_in_rows),
            "within rows: with that distance": two_decimals(self.falls_in_rows.null),
            "curvature c₀ about which accuracy falls": str(self.straightest),
            "best bent cell less best straight cell, points": str(self.bent_gains),
            "highest accuracy": f"{100 * best['accuracy']:.1f} %",
            "its cell": f"α = {best['slope']:g}, {self.noise.replace('_', ' ')} {best[self.noise]:g}",
            "its curvature": str(self.best_curvature),
            "its |curvature|, of the largest": two_decimals(abs(best["curvature"]) / float(size.max())),
            "that of a cell picked blindly": two_decimals(float((size / size.max()).mean())),
        }


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


def table(made: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """:meth:`NetworkDiagram.summary` of finished sweeps by title, and how many networks each has."""
    columns = {}
    for title, one in made.items():
        seeds = {"seeds per cell": str(one.sizes["seed"])}
        if "diverged" in one:
            seeds["diverged"] = f"{int(one['diverged'].sum())} of {one['diverged'].size}"
        columns[title] = NetworkDiagram(one).summary() | seeds
    return pd.DataFrame(columns).fillna("–")


def without_input(made: xr.Dataset) -> xr.Dataset:
    """The result without layer 0; curvature is that of what is left."""
    inside = made.sel(layer=slice(1, None))
    return inside.assign(curvature=curvature(inside["load_curve"]))


def rank_along(dim: str, one: xr.DataArray, two: xr.DataArray) -> xr.DataArray:
    """Spearman's rank correlation along ``dim``; 0 where one of the two never changes, and so follows nothing."""
    return xr.apply_ufunc(spearman, one, two, input_core_dims=[[dim], [dim]]).fillna(0.0)


def wider(found: Estimate, looks: int) -> Estimate:
    """With a 95 % interval that is wider for ``looks`` after any of which one might have stopped (Bonferroni)."""
    grown = np.divide(*student.ppf([1 - 0.025 / looks, 0.975], (found.n or 1) - 1))
    low, high = (found.value + grown * (end - found.value) for end in found.interval)
    return replace(found, low=low, high=high)


def origin(*results: xr.Dataset) -> str:
    """Which networks a claim is measured on, in words, for its detail."""
    sweeps = [sweep_of(result) for result in results]
    words = ", ".join(f"{sweep.n_cells} networks ({sweep.name})" for sweep in sweeps)
    stored = all(result.attrs["obtained"].startswith("shipped") for result in results)
    return f"Of {words}, {'stored with the book' if stored else 'not all of them stored with the book'}."
