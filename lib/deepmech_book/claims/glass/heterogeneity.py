"""Claims of the page glass/heterogeneity: Fig. 7 of paper C.

``runs`` are walks by phase, as :func:`deepmech_book.analysis.glass.phases.runs` gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from deepmech.core.estimates import Estimate, stack
from deepmech_book.analysis.glass import phases, shapes
from deepmech_book.analysis.glass.summaries import of_learnt_most, origins
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.glass._clocks import measures_walks

Runs = Mapping[str, xr.Dataset]


@measures("C.7.hot_is_gaussian")
def hot_is_gaussian(runs: Runs) -> Measurement:
    """α₂ when hottest, by phase; the null: half of the weights are kicked half as hard."""
    found = {phase: shapes.normal_when_hot(run) for phase, run in runs.items()}
    best = of_learnt_most(runs["regularised"], shapes.normal_when_hot)
    return Measurement(stack(found, "phase"), null=shapes.HALF_AS_FAR, first_null=0.0, detail=origins(runs, best))


@measures_walks("C.7.cold_is_not")
def cold_is_not(runs: Runs) -> Measurement:
    """α₂ when coldest, in the phases with loss, beside that of Gaussian groups."""
    found = {phase: shapes.far_from_gaussian(runs[phase]) for phase in phases.WITH_LOSS}
    words = " ".join(f"{phase.capitalize()}: {said}" for phase, (_, said) in found.items())
    best = of_learnt_most(runs["regularised"], lambda run: shapes.far_from_gaussian(run)[0])
    return Measurement(stack({p: one for p, (one, _) in found.items()}, "phase"), detail=f"{words} {best}".rstrip())


def _without_loss(runs: Runs, number: Callable[[xr.Dataset], tuple[Estimate, str]]) -> Measurement:
    """A number of the networks without loss, and its words, where there are such networks."""
    if "overparameterised" not in runs:
        return Measurement(not_testable=phases.NONE_FITS)
    found, words = number(runs["overparameterised"])
    return Measurement(found, detail=origins({"overparameterised": runs["overparameterised"]}, words))


@measures_walks("C.7.overparameterised.cold_is_not")
def large_cold_is_not(runs: Runs) -> Measurement:
    """As :func:`cold_is_not`, of networks without loss."""
    return _without_loss(runs, shapes.far_from_gaussian)


@measures_walks("C.7.bimodal")
def bimodal(runs: Runs) -> Measurement:
    """The dip of motilities when coldest, in the phases with loss, beside that of Gaussian groups."""
    found = {phase: shapes.two_modes(runs[phase]) for phase in phases.WITH_LOSS}
    words = " ".join(
        f"{phase.capitalize()}: {one}, null {one.null:.2f}; {said}" for phase, (one, said) in found.items()
    )
    best = of_learnt_most(runs["regularised"], lambda run: shapes.two_modes(run)[0])
    return Measurement(stack({p: one for p, (one, _) in found.items()}, "phase"), detail=f"{words} {best}".rstrip())


@measures_walks("C.7.overparameterised.bimodal")
def large_bimodal(runs: Runs) -> Measurement:
    """As :func:`bimodal`, of networks without loss."""
    return _without_loss(runs, shapes.two_modes)
