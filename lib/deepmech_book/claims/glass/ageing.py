"""Claims of the page glass/ageing: Figs. 8 and A9 to A11 of paper C.

``runs`` are walks by phase, as :func:`deepmech_book.analysis.glass.phases.runs` gives them. Each phase is judged where
:func:`deepmech_book.analysis.glass.ageing.where_judged` says.
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech.core.estimates import Estimate, stack
from deepmech_book.analysis.glass import ageing, phases
from deepmech_book.analysis.glass.summaries import of_learnt_most, origins
from deepmech_book.claims.functions import Measurement, by_threshold, measures

Runs = Mapping[str, xr.Dataset]


@measures("C.8.ages")
def ages(runs: Runs) -> Measurement:
    """By how much τ₉₀ grows from the first to the last wait, beside weight decay alone, in the phases with loss."""
    at = ageing.at_judged(runs)
    grown = {phase: ageing.growth(at[phase], phases.weight_decay(runs[phase])) for phase in phases.WITH_LOSS}
    alone = xr.DataArray([one.alone for one in grown.values()], {"phase": list(grown)}, "phase")
    each = (
        f"{phase.capitalize()}: {one.ratio}, weight decay alone {one.alone:.3g}; {one.words}"
        for phase, one in grown.items()
    )
    best = of_learnt_most(
        runs["regularised"], lambda run: ageing.growth(ageing.at_judged({"regularised": run})["regularised"]).ratio
    )
    ratio = stack({phase: one.ratio for phase, one in grown.items()}, "phase")
    return Measurement(ratio, null=alone, detail=" ".join([*each, *filter(None, [best])]))


@measures("C.8.hot_does_not")
def hot_does_not(runs: Runs) -> Measurement:
    """By what factor τ₉₀ of regularised networks changes with the wait where it is hot."""

    def grown(run: xr.Dataset) -> tuple[Estimate, str]:
        return ageing.hot_growth(ageing.times_by_waiting(run))

    run = runs["regularised"]
    found, warm = grown(run)
    words = origins({"regularised": run}, f"T = {warm}.", of_learnt_most(run, lambda best: grown(best)[0]))
    return Measurement(found, detail=words)


@measures("C.8.stronger_regularised")
def stronger_regularised(runs: Runs) -> Measurement:
    """By how much log τ₉₀ grows faster with the wait where there is weight decay, in units of μλ."""
    at = ageing.at_judged(runs)
    decay = phases.weight_decay(runs["regularised"])
    words = "Rates are between waits after which the record sees the crossing; a bound on a time gives no rate."
    both = at["regularised"], at["underparameterised"]
    return Measurement(ageing.faster_with_decay(*both, decay), null=1.0, detail=words)


@measures("C.8.crossover")
def crossover(runs: Runs) -> Measurement:
    """T* after the last wait over that after the first, in the phases with loss."""
    made = ageing.tables(runs)
    moved = {phase: ageing.crossover_shift(made[phase]) for phase in phases.WITH_LOSS}
    words = " ".join(f"{phase.capitalize()}: {one}. {waits}" for phase, (one, waits) in moved.items())
    best = of_learnt_most(
        runs["regularised"], lambda run: ageing.crossover_shift(ageing.tables({"regularised": run})["regularised"])[0]
    )
    found = stack({phase: one for phase, (one, _) in moved.items()}, "phase")
    return Measurement(
        found, detail=" ".join(filter(None, [words, by_threshold("C.8.crossover", found, 0.2, 0.33, 0.4, 0.5), best]))
    )


@measures("C.A11.no_ageing")
def no_ageing(runs: Runs) -> Measurement:
    """By what factor τ₉₀ of networks without loss changes with the wait, and that of underparameterised ones."""
    if "overparameterised" not in runs:
        return Measurement(not_testable=phases.NONE_FITS)
    at = ageing.at_judged(runs)
    found = at["overparameterised"]
    rival = ageing.growth(at["underparameterised"].sel(waiting=found.waiting))
    one = ageing.growth(found)
    words = origins({"overparameterised": runs["overparameterised"]}, one.words)
    unseen = one.words if one.bound else None
    return Measurement(one.ratio, null=rival.ratio.value, first_null=1.0, detail=words, not_testable=unseen)
