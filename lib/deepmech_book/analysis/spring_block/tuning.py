"""What it costs to choose noise and nonlinearity by the straightest load curve of the training samples.

The paper finds the most accurate networks where load curves are straight. If that held well enough, settings could be
chosen without any sample held out. :func:`regrets` says what a way of choosing costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife


def regrets(made: xr.Dataset, score: xr.DataArray | None) -> np.ndarray:
    """What a way of choosing costs in test accuracy, against the best cell of the grid: a number ≥ 0 for each seed.

    A run is one seed in every cell: the rule sees that run alone and names the cell of the highest ``score``, over the
    grid and ``seed`` (or over the grid, for a rule that looks at no run; None: chosen blindly). The cell's worth is the
    mean test accuracy of its *other* seeds, so that no rule is paid for the luck of the run it saw; the best cell is
    the best of the same means. Networks that diverged are never chosen, and none of their answers is right.

    Examples
    --------
    >>> made = xr.Dataset({"accuracy": (("seed", "slope"), [[0.9, 0.5], [0.9, 0.5], [0.9, 0.5]])})
    >>> regrets(made, -made.accuracy).round(2).tolist()
    [0.4, 0.4, 0.4]
    """
    like = made["accuracy"].transpose("seed", ...)
    accuracy = like.fillna(0.0).values.reshape(len(like), -1)
    n = len(accuracy)
    # With one run there are no others to judge it by.
    worth = (accuracy.sum(0) - accuracy) / (n - 1 if n > 1 else np.nan)
    if score is None:
        return np.asarray(worth.max(1) - worth.mean(1))
    score = score.fillna(-np.inf).broadcast_like(like).transpose(*like.dims)
    return np.asarray(worth.max(1) - worth[np.arange(n), score.values.reshape(n, -1).argmax(1)])


def mean_regret(diagrams: Sequence[xr.Dataset], rule: str, other: str | None = None) -> Estimate:
    """Mean over seeds and diagrams of :func:`regrets`, in percentage points, or that of a rule less ``other``.

    Rules are variables of the diagrams, the score of each cell; one that is in none of them chooses blindly. Runs judge
    one another's cells, so the interval is that of leaving out each with all that it says.
    """

    def points(made: xr.Dataset) -> float:
        costs = [regrets(made, made.get(name)).mean() for name in (rule, other) if name]
        return 100 * float(costs[0] - sum(costs[1:]))

    def mean(leave_out: dict[str, int] | None = None) -> float:
        return float(np.mean([points(one.drop_isel(leave_out or {})) for one in diagrams]))

    seeds = range(diagrams[0].sizes["seed"])
    return jackknife(mean(), np.array([mean({"seed": i}) for i in seeds]), scatter="skewed")
