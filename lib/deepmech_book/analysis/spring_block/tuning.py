"""What it costs to choose noise and nonlinearity by the straightest load curve of the training samples.

The paper finds the most accurate networks where load curves are straight. If that held well enough, settings could be
chosen without any sample held out. :func:`regrets` says what a way of choosing costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, stack
from deepmech_book.analysis.spring_block.summaries import NetworkDiagram

STRAIGHT, VALIDATION, LOSS, BLIND, CARRIED = RULES = (
    "straightest load curve",
    "validation split",
    "lowest training loss",
    "blindly",
    "best cell of Fig. 1(c)",
)
"""Ways to choose a cell of a diagram."""


def scored(
    made: Mapping[str, xr.Dataset], validated: Mapping[str, xr.Dataset], known: str = "1(c)"
) -> dict[str, xr.Dataset]:
    """Diagrams of networks by name with the score by which each of :data:`RULES` chooses; the highest is taken.

    Parameters
    ----------
    made : finished diagrams, each over ``slope``, one kind of noise and ``seed``.
    validated : ``accuracy_validation`` of the same cells, where some samples were held out.
    known : the diagram whose best cell is carried over to all: the same slope, as many columns from the least noise.

    Returns
    -------
    dict of Dataset
        ``accuracy`` and a variable for each rule that looks at something.
    """
    first = NetworkDiagram(made[known]).accuracy.mean("seed", skipna=False)
    place = np.unravel_index(np.nanargmax(first), first.shape)
    found = {}
    for name, one in made.items():
        carried = xr.zeros_like(NetworkDiagram(one).accuracy.isel(seed=0, drop=True))
        carried[place] = 1.0
        scores = {STRAIGHT: -abs(one["curvature"]), LOSS: -one["loss"], CARRIED: carried}
        if name in validated:
            scores[VALIDATION] = validated[name]["accuracy_validation"]
        found[name] = one[["accuracy"]].assign(scores)
    return found


def by_rule(diagrams: Mapping[str, Sequence[xr.Dataset]]) -> Estimate:
    """Mean regret of each of :data:`RULES` over groups of scored diagrams, (group, rule)."""
    groups = {name: stack({r: mean_regret(of, r) for r in RULES}, "rule") for name, of in diagrams.items()}
    return stack(groups, "data")


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
    return _regrets(*_cells(made, score))


def _cells(made: xr.Dataset, score: xr.DataArray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Accuracy and score, both (seed, cell)."""
    like = made["accuracy"].transpose("seed", ...)
    accuracy = like.fillna(0.0).values.reshape(len(like), -1)
    if score is None:
        return accuracy, None
    score = score.fillna(-np.inf).broadcast_like(like).transpose(*like.dims)
    return accuracy, score.values.reshape(accuracy.shape)


def _regrets(accuracy: np.ndarray, score: np.ndarray | None) -> np.ndarray:
    n = len(accuracy)
    # With one run there are no others to judge it by.
    worth = (accuracy.sum(0) - accuracy) / (n - 1 if n > 1 else np.nan)
    chosen = worth.mean(1) if score is None else worth[np.arange(n), score.argmax(1)]
    return np.asarray(worth.max(1) - chosen)


def mean_regret(diagrams: Sequence[xr.Dataset], rule: str, other: str | None = None) -> Estimate:
    """Mean over seeds and diagrams of :func:`regrets`, in percentage points, or that of a rule less ``other``.

    Rules are variables of the diagrams, the score of each cell; one that is in none of them chooses blindly. Runs judge
    one another's cells, so the interval is that of leaving out each with all that it says.
    """

    rules = [[_cells(made, made.get(name)) for name in (rule, other) if name] for made in diagrams]

    def points(costs: list[np.ndarray]) -> float:
        return 100 * float(costs[0].mean() - sum(cost.mean() for cost in costs[1:]))

    def mean(seeds: np.ndarray) -> float:
        each = [[_regrets(a[seeds], None if s is None else s[seeds]) for a, s in both] for both in rules]
        return float(np.mean([points(costs) for costs in each]))

    every = np.arange(diagrams[0].sizes["seed"])
    return jackknife(mean(every), np.array([mean(np.delete(every, i)) for i in every]), scatter="skewed")
