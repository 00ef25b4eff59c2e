"""Claims on walks name the wait before their clock starts, and say what the paper's wait makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from deepmech_book.analysis.glass import phases
from deepmech_book.claims.display import short
from deepmech_book.claims.functions import ClaimFunction, Measurement, judged

__all__ = ["ClaimOnWalks", "after_paper_wait", "measures_walks"]

Walks = xr.Dataset | dict[str, xr.Dataset]


@dataclass(frozen=True)
class ClaimOnWalks(ClaimFunction):
    """A claim's function of walks after their first wait; called, it adds the wait, and the paper's, to the detail.

    Its first argument are walks of a phase, or by phase. ``function`` measures without these words.
    """

    def __call__(self, *runs: Any, **named: Any) -> Measurement:
        found = self.function(*runs, **named)
        walked, *others = [*runs, *named.values()]
        several = walked if isinstance(walked, dict) else {"": walked}
        waits = {f"{int(run.waiting[0]):,}" for run in several.values()}
        words = f"Clock started after t_w = {' or '.join(sorted(waits, reverse=True))} steps"
        if (late := after_paper_wait(walked)) is not None:
            entry = judged(self.ids[0], self.function(late, *others))
            number = "" if entry.measured is None else f", {short(entry.measured, entry.interval)[0]}"
            words += f"; after the paper's {phases.PAPER['first wait']:,}: {entry.verdict}{number}"
        return replace(found, detail=f"{found.detail} {words}.".lstrip())


def measures_walks(*ids: str) -> Callable[[Callable[..., Measurement]], ClaimOnWalks]:
    """As :func:`deepmech_book.claims.functions.measures`, of a claim that is judged after the first wait."""
    return lambda function: ClaimOnWalks(ids, function)


def after_paper_wait(walked: Walks) -> Any:
    """The same walks, their clock started after the paper's wait; None where one has no record of that, or begins so.

    Parameters
    ----------
    walked : Dataset, or dict of str to Dataset
        Walks of a phase, or by phase, over ``waiting``.
    """
    if isinstance(walked, dict):
        late = {phase: after_paper_wait(run) for phase, run in walked.items()}
        return None if any(run is None for run in late.values()) else late
    waits = walked.waiting.values.tolist()
    wait = phases.PAPER["first wait"]
    return walked.isel(waiting=slice(waits.index(wait), None)) if wait in waits[1:] else None
