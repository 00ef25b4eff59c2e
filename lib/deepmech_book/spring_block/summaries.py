"""What a phase diagram of networks says: how curves bend with noise and nonlinearity, and where accuracy is highest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, bootstrap, estimate, spearman, stack, two_decimals
from deepmech.metrics.curvature import curvature
from deepmech_book.claims.functions import Measurement
from deepmech_book.sweeps.spring_block.networks import PANELS

N_SHIFTS, N_DRAWS = 201, 300
#: Curvature up to which a load curve is called straight: a last step of D at most about 1.7 times the first.
STRAIGHT = 0.05
#: Curvatures up to which one might call it so: last steps of at most 1.4, 1.7 and 2.2 times the first.
THRESHOLDS = (0.03, STRAIGHT, 0.07)
#: The same for champions, at which best cells are chosen; older in git than the fresh networks of Fig. S9 and of the
#: print's images of Fig. 1(a), as old as the others.
CHAMPION_THRESHOLDS = (0.03, STRAIGHT, 0.0635)

Ranks = Callable[[np.ndarray, np.ndarray], np.ndarray]


class NetworkDiagram:
    """Curvature and test accuracy over ``slope``, one kind of noise (from least to most) and ``seed``.

    Numbers are estimates over seeds, of the networks in ``made``, a diagram of Fig. 1 or one like it. A cell with a
    network that diverged is in none of them; ``left_out`` counts these.
    """

    def __init__(self, made: xr.Dataset) -> None:
        self.noise = next(name for name in PANELS if name in made.dims)
        made = made.sortby(self.noise, ascending=PANELS[self.noise].rising).transpose("seed", "slope", self.noise, ...)
        self.curvature, self.accuracy = made["curvature"].astype(float), made["accuracy"].astype(float)
        self._cells = np.isfinite(self.curvature.values + self.accuracy.values).all(0)
        self.left_out = int((~self._cells).sum())
        self._made = made
        self._runs = [self._of_usable(one) for one in (self.curvature, self.accuracy)]

    def _of_usable(self, one: xr.DataArray) -> np.ndarray:
        """Numbers of networks, (seed, slope, noise); 0 in cells that are left out."""
        return np.where(self._cells, one.transpose("seed", "slope", self.noise).values.astype(float), 0.0)

    def bends(self, dim: str = "") -> Estimate:
        """Rank correlation of curvature with its place along ``dim``: the noise from least to most, or ``"slope"``.

        For every label of the other; −1 where each step makes the curve less concave.
        """
        dim = dim or self.noise
        across = dim != self.noise
        runs, cells = (one.swapaxes(-1, -2) if across else one for one in (self._runs[0], self._cells))

        def statistic(c: np.ndarray) -> np.ndarray:
            return by_row(np.broadcast_to(np.arange(c.shape[-1]), c.shape), c, cells)

        like = self.curvature.isel({"seed": 0, dim: 0}, drop=True)
        found = bootstrap(statistic, np.ascontiguousarray(runs), n_draws=N_DRAWS)
        return found.map(lambda end: like.copy(data=np.clip(end, -1, 1)))

    @property
    def lazy_corner(self) -> Estimate:
        """Curvature at the smallest slope and the least noise."""
        return estimate(self.curvature.isel({"slope": 0, self.noise: 0}, drop=True), "seed", "skewed")

    @property
    def noisiest(self) -> Estimate:
        """Curvature at the strongest noise, per slope."""
        return estimate(self.curvature.isel({self.noise: -1}, drop=True), "seed", "skewed")

    def falls(self, rival: str = "", *, in_rows: bool = False) -> Estimate:
        """Rank correlation of accuracy with |curvature| over all cells, or within a row, mean over rows.

        The null is that with the distance, in columns, from where the *other* rows are most accurate: by the best
        column of their mean, or by the straight line through the best column of each, whichever does better. It knows
        nothing of curves, but test accuracies. A ``rival`` is, like the curve, told training samples alone: ``"loss"``
        of the last epoch, with dropout and wrong labels on, or, as load curves are of clean samples,
        ``"accuracy_train"`` on these.
        """
        ranks = self._within_rows if in_rows else self._over_all
        if not rival:
            return self._beside(ranks, self._told)
        sign = 1 if rival == "loss" else -1
        return self._beside(ranks, lambda ranks, a, told: ranks(sign * told, a), self._made[rival])

    def falls_among_fitted(self) -> Estimate:
        """As :meth:`falls` beside the loss, over the cells whose networks all have every training sample right.

        nan with fewer than three such cells.
        """
        fitted = self._cells & (self._of_usable(self._made["accuracy_train"]) == 1.0).all(0)

        def ranks(x: np.ndarray, a: np.ndarray) -> np.ndarray:
            return spearman(x[:, fitted], a[:, fitted]) if fitted.sum() > 2 else np.full(len(x), np.nan)

        return self._beside(ranks, lambda ranks, a, loss: ranks(loss, a), self._made["loss"])

    @property
    def test_curves_agree(self) -> Estimate:
        """Share of the variance over cells of the curvature of test load curves that equals that of training curves.

        A coefficient of determination with neither slope nor level fitted: 1 where the two are equal in every cell.
        """

        def statistic(c: np.ndarray, test: np.ndarray) -> np.ndarray:
            c, test = c[:, self._cells], test[:, self._cells]
            off = test - test.mean(-1, keepdims=True)
            share: np.ndarray = 1 - ((test - c) ** 2).sum(-1) / (off * off).sum(-1)
            return share

        test = self._of_usable(curvature(self._made["load_curve_test"]))
        return bootstrap(statistic, self._runs[0], test, n_draws=N_DRAWS).map(float)

    def _over_all(self, x: np.ndarray, a: np.ndarray) -> np.ndarray:
        return spearman(x[:, self._cells], a[:, self._cells])

    def _within_rows(self, x: np.ndarray, a: np.ndarray) -> np.ndarray:
        rows = self._cells.sum(-1) > 2
        found = by_row(x[:, rows], a[:, rows], self._cells[rows])
        return np.ascontiguousarray(found.T).mean(0) if rows.any() else np.full(len(x), np.nan)

    def _told(self, ranks: Ranks, a: np.ndarray) -> np.ndarray:
        best: np.ndarray = np.minimum.reduce([ranks(away, a) for away in _off_best(a, self._cells)])
        return best

    def _beside(self, ranks: Ranks, rival: Callable[..., np.ndarray], *told: xr.DataArray) -> Estimate:
        """Ranks of accuracy with |curvature|, beside those of a rival that is told accuracies or other numbers."""

        def statistic(c: np.ndarray, a: np.ndarray, *other: np.ndarray) -> np.ndarray:
            mine, null = ranks(abs(c), a), rival(ranks, a, *other)
            return np.stack([mine, mine - null, null], -1)

        found = bootstrap(statistic, *self._runs, *map(self._of_usable, told), n_draws=N_DRAWS)
        value, _, null = found.value.tolist()
        low, high = np.clip([found.low[0], found.high[0]], -1, 1).tolist()
        difference = (float(found.low[1]), float(found.high[1])) if found.is_finite else None
        return Estimate(value, low, high, found.n, found.reason, null, difference)

    @property
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
        """Curvature of the most accurate cell, which may be another one when runs are drawn anew.

        It jumps from cell to cell, so that its interval is the middle 95 % of what the draws give.
        """

        def statistic(c: np.ndarray, a: np.ndarray) -> np.ndarray:
            best = a[:, self._cells].argmax(-1)
            return np.take_along_axis(c[:, self._cells], best[:, None], -1)[:, 0]

        return bootstrap(statistic, *self._runs, percentiles=True).map(float)

    def bent_gains_over_thresholds(self, fresh: xr.Dataset | None = None) -> Estimate:
        """The same, with an interval over all :data:`CHAMPION_THRESHOLDS` below which a curve might be called straight.

        With ``fresh`` networks of :meth:`champions`, over ``place`` and ``seed``, these judge, and all seeds of the
        diagram choose.
        """
        gains = self.bent_gains if fresh is None else partial(self._fresh_gains, fresh)
        each = {threshold: gains(threshold) for threshold in CHAMPION_THRESHOLDS}
        reason = next((one.reason for one in each.values() if one.reason), "")
        low, high = min(one.low for one in each.values()), max(one.high for one in each.values())
        return replace(each[STRAIGHT], low=np.nan if reason else low, high=np.nan if reason else high, reason=reason)

    def champions(self, thresholds: Sequence[float] = CHAMPION_THRESHOLDS) -> list[tuple[float, float]]:
        """Slope and noise of the most accurate bent and the most accurate straight cell by all seeds, by threshold.

        Each cell once, in rising order.
        """
        c = self._runs[0].mean(0)
        kinds = [kind for t in thresholds for kind in (abs(c) <= t, abs(c) > t) if (kind & self._cells).any()]
        best = [self._best(kind) for kind in kinds]
        return sorted({(float(slope), float(noise)) for slope, noise, *_ in best})

    def _best(self, kind: np.ndarray | bool = True) -> tuple[Any, ...]:
        """Slope, noise, accuracy and curvature of the most accurate cell of a kind."""
        c, a = (one.mean(0) for one in self._runs)
        i, j = np.unravel_index(np.where(kind & self._cells, a, -np.inf).argmax(), c.shape)
        return self.curvature["slope"].values[i], self.curvature[self.noise].values[j], a[i, j], c[i, j]

    def _fresh_gains(self, fresh: xr.Dataset, threshold: float) -> Estimate:
        cells = self.champions([threshold])
        places = list(zip(fresh["slope"].values.tolist(), fresh[self.noise].values.tolist(), strict=True))
        if len(cells) < 2:
            return estimate(np.full(fresh.sizes["seed"], np.nan), scatter="symmetric")
        percent = [100 * fresh["accuracy"].isel(place=places.index(cell)).values for cell in cells]
        bent = [abs(float(self.curvature.sel({"slope": s, self.noise: n}).mean())) > threshold for s, n in cells]
        return estimate((percent[0] - percent[1]) * (1 if bent[0] else -1), scatter="symmetric")

    def bent_gains(self, threshold: float = STRAIGHT) -> Estimate:
        """By how many percentage points the best bent cell is more accurate than the best straight one, up to a
        curvature.

        Both are chosen by all other seeds and looked at in the one left out: a cell chosen by the seed it is judged by
        would look too good.
        """
        c, a = (one.values[:, self._cells] for one in (self.curvature, self.accuracy))
        gains = []
        for seed in range(len(c)):
            chosen = [s for s in range(len(c)) if s != seed] or [seed]  # of a single seed there is no other choice
            straight = abs(c[chosen].mean(0)) <= threshold
            if straight.all() or not straight.any():
                gains.append(np.nan)
                continue
            bent, even = (np.argmax(np.where(kind, a[chosen].mean(0), -np.inf)) for kind in (~straight, straight))
            gains.append(100 * float(a[seed, bent] - a[seed, even]))
        return estimate(np.array(gains), scatter="symmetric")

    @property
    def best_cell(self) -> dict[str, float]:
        """Labels, accuracy and curvature of the most accurate cell."""
        return dict(zip(("slope", self.noise, "accuracy", "curvature"), map(float, self._best()), strict=True))

    def summary(self) -> dict[str, str]:
        """Shape against accuracy, the rival, and the best cell, in words."""
        best, weakest = self.best_cell, float(self.bends().value.max())
        falls, in_rows = self.falls(), self.falls(in_rows=True)
        return ({"cells left out": str(self.left_out)} if self.left_out else {}) | {
            "rank correlation of accuracy with |curvature|": str(falls),
            "the same, with the distance from the noise best in other rows": two_decimals(falls.null),
            "within rows: with |curvature|": str(in_rows),
            "within rows: with that distance": two_decimals(in_rows.null),
            "curvature c₀ around which accuracy is highest": str(self.straightest),
            "best bent minus best straight cell, percentage points": str(self.bent_gains()),
            "highest accuracy": f"{100 * best['accuracy']:.1f} %",
            "its cell": f"α = {best['slope']:g}, {self.noise.replace('_', ' ')} {best[self.noise]:g}",
            "its curvature": str(self.best_curvature),
            "curvature with noise, in the row where it is weakest": two_decimals(weakest),
        }


def by_row(x: np.ndarray, y: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Rank correlations along the last axis, over the ``cells`` of a row that are usable, (draw, row)."""
    if cells.all():
        return spearman(x, y)
    return np.stack([spearman(x[:, row, ok], y[:, row, ok]) for row, ok in enumerate(cells)], -1)


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


def over_diagrams(diagrams: Mapping[str, xr.Dataset], number: Callable[[NetworkDiagram], Estimate]) -> Estimate:
    """One number, or row of numbers, of every diagram of networks, as :func:`in_a_row` puts them together."""
    return in_a_row({name: number(NetworkDiagram(one)) for name, one in diagrams.items()})


def in_a_row(estimates: Mapping[str, Estimate]) -> Estimate:
    """Estimates of numbers or rows of numbers as one, along ``at``, labelled by name and, of a row, its own label.

    A null, and the interval of the difference from it, is there where all estimates have one.
    """
    single: dict[str, Estimate] = {}
    for name, one in estimates.items():
        value = xr.DataArray(one.value)
        labels = [f"{name}, {dim} {at:g}" for dim in value.dims for at in value[dim].values] or [name]
        single |= {label: one.select(partial(_number, i)) for i, label in enumerate(labels)}
    return stack(single, "at")


def _number(i: int, row: object) -> float:
    return float(np.ravel(np.asarray(row, float))[i])


def table(made: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """:meth:`NetworkDiagram.summary` of finished sweeps by title, and how many networks each has."""
    columns = {}
    for title, one in made.items():
        seeds = {"seeds per cell": str(one.sizes["seed"])}
        if "diverged" in one:
            seeds["diverged"] = f"{int(one['diverged'].sum())} of {one['diverged'].size}"
        columns[title] = NetworkDiagram(one).summary() | seeds
    return pd.DataFrame(columns).fillna("–")


def is_better(found: Estimate) -> str:
    low, high = found.difference or (np.nan, np.nan)
    return "yes" if high < 0 else "no" if low > 0 else "?"


def accuracy_falls(diagrams: Mapping[str, xr.Dataset], in_rows: bool = False) -> Measurement:
    """Rank correlation of accuracy with the size of the curvature, over cells or within rows of every diagram.

    The null is that with the training loss; in words, whether the bend tells accuracy better than training loss and
    training accuracy do.
    """
    made, found, told = {name: NetworkDiagram(one) for name, one in diagrams.items()}, {}, []
    for rival in ("loss", "accuracy_train"):
        found[rival] = {name: one.falls(rival, in_rows=in_rows) for name, one in made.items()}
        each = {name.replace("_", " "): is_better(one) for name, one in found[rival].items()}
        named = [[name for name, word in each.items() if word == how] for how in ("yes", "no")]
        better, worse = (f"{len(some)} of {len(each)} ({'; '.join(some) or 'none'})" for some in named)
        told.append(f"Beside the training {rival.split('_')[0]} the bend is better in {better}, worse in {worse}.")
    return Measurement(in_a_row(found["loss"]), detail=" ".join(told))


def without_input(made: xr.Dataset) -> xr.Dataset:
    """The result without layer 0; curvature is that of what is left."""
    inside = made.sel(layer=slice(1, None))
    return inside.assign(curvature=curvature(inside["load_curve"]))


def by_test_curves(made: xr.Dataset) -> xr.Dataset:
    """The result with the curvature of load curves of test samples."""
    return made.assign(curvature=curvature(made["load_curve_test"]))


def as_drawn(made: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Diagrams by their titles, those of photographs as the paper draws them: of Fig. S8 the networks twice, with the
    input and from layer 1 on, of Fig. S9 from layer 1 on.
    """
    drawn: dict[str, xr.Dataset] = {}
    for title, one in made.items():
        drawn[title] = without_input(one) if title.startswith("S9") else one
        if title.startswith("S8"):
            drawn["S8(b), the same from layer 1"] = without_input(one)
    return drawn


def inside_straight(bend: Estimate) -> Estimate:
    """By how far a signed curvature lies inside what is called straight, up to :data:`STRAIGHT` either way.

    The interval holds those of all :data:`THRESHOLDS`.
    """
    most, least = max(abs(bend.low), abs(bend.high)), min(abs(bend.low), abs(bend.high))
    low, high = min(THRESHOLDS) - most, max(THRESHOLDS) - (0.0 if bend.low <= 0 <= bend.high else least)
    return Estimate(STRAIGHT - abs(bend.value), low, high, bend.n, bend.reason)
