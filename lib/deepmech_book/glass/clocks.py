"""Claims on walks are judged after the paper's wait, where there is a record of it, and name the wait."""

import inspect
from dataclasses import dataclass, replace

from deepmech_book.claims.display import short
from deepmech_book.claims.functions import ClaimFunction, Measurement, judged
from deepmech_book.glass import phases


@dataclass(frozen=True)
class ClaimOnWalks(ClaimFunction):
    """A claim's function of walks; called, it measures them after the paper's wait, and adds both clocks to the detail.

    Its first argument are walks of a phase, or by phase. ``function`` measures walks from their first wait on, without
    these words. ``early``: a figure for which the paper waits less than any record here, so that the first wait counts.
    ``lossless``: of networks without loss, which may be missing.
    """

    early: bool = False
    lossless: bool = False

    def __call__(self, *runs, **named):
        walked, *others = inspect.signature(self.function).bind(*runs, **named).args
        if self.lossless and "overparameterised" not in walked:
            return Measurement(not_testable=phases.NONE_FITS)
        late = after_paper_wait(walked)
        counted = walked if late is None or self.early else late
        words = f"Clock started after t_w = {_first_waits(counted)} steps"
        if late is not None:
            other = late if self.early else walked
            entry = judged(self.ids[0], self.function(other, *others))
            number = "" if entry.measured is None else f", {short(entry.measured, entry.interval)[0]}"
            paper = " (as in Fig. 3 of the paper)"
            words += f"{'' if self.early else paper}; after {_first_waits(other)}{paper if self.early else ''}: "
            words += f"{entry.verdict}{number}"
        found = self.function(counted, *others)
        return replace(found, detail=f"{found.detail} {words}.".lstrip())


def _first_waits(walked):
    several = walked if isinstance(walked, dict) else {"": walked}
    waits = {f"{int(run.waiting[0]):,}" for run in several.values()}
    return " or ".join(sorted(waits, reverse=True))


def measures_walks(*ids, **how):
    """As :func:`deepmech_book.claims.functions.measures`, of a claim on walks (:class:`ClaimOnWalks`)."""
    return lambda function: ClaimOnWalks(ids, function, **how)


def after_paper_wait(walked):
    """Walks with their clock started after the paper's wait; None where one has no record of that, or begins so."""
    if isinstance(walked, dict):
        late = {phase: after_paper_wait(run) for phase, run in walked.items()}
        return None if any(run is None for run in late.values()) else late
    waits = walked.waiting.values.tolist()
    wait = phases.PAPER["first wait"]
    return walked.isel(waiting=slice(waits.index(wait), None)) if wait in waits[1:] else None
