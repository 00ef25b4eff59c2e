"""Where the numbers of a claim come from."""

import numpy as np

from deepmech_book.glass import phases


def of_learnt_most(run, measure):
    """What a claim's measure, an estimate, is of those networks of a phase alone that learnt as much as the paper's.

    A sentence, in which of an array the least and the largest number stand; empty where all or none are of this kind.
    """
    best = phases.learnt_most(run)
    if best.sizes["seed"] in (0, run.sizes["seed"]):
        return ""
    found = measure(best)
    ends = np.ravel(found.value)
    said = str(found.map(lambda end: np.ravel(end)[0])) if ends.size == 1 else f"{ends.min():.3g} to {ends.max():.3g}"
    return f"Of the {best.sizes['seed']} that learnt as much as the paper's alone: {said}."


def origins(runs, *words):
    """Where the numbers of several phases come from, a sentence each, and the sentences that follow, if any."""
    each = (f"{phase.capitalize()}: {phases.origin(run)}" for phase, run in runs.items())
    return " ".join([*each, *filter(None, words)])
