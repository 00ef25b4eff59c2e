"""Claims of the page beyond/tuning: what it costs to choose a cell of a diagram by the straightest load curve.

``scores`` are diagrams by name, as :func:`deepmech_book.analysis.spring_block.tuning.scored` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import xarray as xr

from deepmech.core.estimates import Estimate, stack
from deepmech_book.analysis.spring_block import tuning
from deepmech_book.analysis.spring_block.summaries import in_a_row, wider
from deepmech_book.claims.functions import Measurement, measures

Scores = Mapping[str, xr.Dataset]


@measures("A.1.tuning.blind")
def blind(scores: Scores) -> Measurement:
    """Regret of the straightest curve less that of a blind choice, beside what the lowest training loss saves."""

    def saved(one: xr.Dataset) -> Estimate:
        loss, more = (tuning.mean_regret([one], *rules) for rules in ((tuning.LOSS, tuning.BLIND), _AGAINST_LOSS))
        mine = tuning.mean_regret([one], tuning.STRAIGHT, tuning.BLIND)
        return replace(mine, null=loss.value, difference=more.interval)

    return Measurement(in_a_row({name: saved(one) for name, one in scores.items()}))


_AGAINST_LOSS = (tuning.STRAIGHT, tuning.LOSS)


@measures("A.1.tuning.loss")
def loss(scores: Scores) -> Measurement:
    """Regret of the straightest curve less that of the lowest training loss, in every diagram."""
    return _less(scores, tuning.LOSS)


@measures("A.1.tuning.carried")
def carried(scores: Scores) -> Measurement:
    """Regret of the straightest curve less that of another diagram's best cell, in every diagram."""
    return _less(scores, tuning.CARRIED)


@measures("A.1.tuning.validation")
def validation(scores: Scores) -> Measurement:
    """Regret of the straightest curve less that of a validation split, in every diagram."""
    return _less(scores, tuning.VALIDATION)


def _less(scores: Scores, other: str) -> Measurement:
    """Intervals are right in all diagrams at once: one of them may make the claim fail."""
    found = stack({name: tuning.mean_regret([one], tuning.STRAIGHT, other) for name, one in scores.items()}, "diagram")
    return Measurement(wider(found, looks=len(scores)))
