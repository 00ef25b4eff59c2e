"""Where the numbers of a claim come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech_book.analysis.glass import phases

__all__ = ["of_learnt_most", "origins"]


def of_learnt_most(run: xr.Dataset, measure: Callable[[xr.Dataset], Estimate]) -> str:
    """What a claim's measure is of those networks alone that learnt as much as the paper's, as a sentence.

    Parameters
    ----------
    run : Dataset
        Networks of one phase.
    measure : callable
        From networks to an estimate; of an array the least and the largest are said.

    Returns
    -------
    str
        Empty where all or none of the networks are of this kind (:func:`.phases.learnt_most`).
    """
    best = phases.learnt_most(run)
    if best.sizes["seed"] in (0, run.sizes["seed"]):
        return ""
    found = measure(best)
    ends = np.ravel(found.value)
    said = str(found.map(lambda end: np.ravel(end)[0])) if ends.size == 1 else f"{ends.min():.3g} to {ends.max():.3g}"
    return f"Of the {best.sizes['seed']} that learnt as much as the paper's alone: {said}."


def origins(runs: Mapping[str, xr.Dataset], *words: str) -> str:
    """Where the numbers of several phases come from, a sentence each, and the sentences that follow.

    Parameters
    ----------
    runs : mapping of str to Dataset
        Phase -> its networks.
    words : str
        Sentences that follow; empty ones are left out.
    """
    each = (f"{phase.capitalize()}: {phases.origin(run)}" for phase, run in runs.items())
    return " ".join([*each, *filter(None, words)])
