"""Claims of the page glass/superposition: Figs. 4 and A6 of paper C.

``runs`` are walks by phase, as :func:`deepmech_book.analysis.glass.phases.runs` gives them; ``last`` are overlaps of
:func:`deepmech_book.analysis.glass.superposition.last_overlaps` at temperatures that are not cold.
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech_book.analysis.glass import superposition
from deepmech_book.analysis.glass.summaries import of_learnt_most, origins
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.glass._clocks import measures_walks

Runs = Mapping[str, xr.Dataset]


@measures_walks("C.4.collapse")
def collapse(runs: Runs) -> Measurement:
    """Distance of rescaled overlaps from their mean, by phase; the null: every second one a steady slide's."""
    named = [phase for phase in ("regularised", "overparameterised") if phase in runs]
    found, slides = {}, {}
    for phase in named:
        found[phase] = superposition.collapsed(runs[phase])[1].spread
        slides[phase] = superposition.spread_of_two_shapes(runs[phase])
    under = superposition.collapsed(runs["underparameterised"])[1].spread
    best = of_learnt_most(runs["regularised"], lambda run: Estimate(superposition.collapsed(run)[1].spread))
    words = origins({p: runs[p] for p in named}, f"Underparameterised: {under:.2g}.", best)
    measured, null = (xr.DataArray(list(one.values()), {"phase": named}, "phase") for one in (found, slides))
    return Measurement(measured, null=null, first_null=0.0, detail=words)


@measures_walks("C.4.master_power")
def master_power(regularised: xr.Dataset) -> Measurement:
    """The power of time that the hottest overlap follows; the null: a steady slide over the same range; first: free."""
    free, slide = superposition.powers_of_shapes(regularised)
    best = of_learnt_most(regularised, superposition.master_power)
    words = origins({"regularised": regularised}, best)
    power = superposition.master_power(regularised)
    return Measurement(power, expected=-0.5, null=slide, first_null=free, detail=words)


@measures("C.4.last_power")
def last_power(last: xr.Dataset) -> Measurement:
    """The power of T that the last overlap follows; of weights that heat does not move 0; first: weight decay alone."""
    powers = superposition.last_powers(last)
    words = f"Free walks from equal places: {powers['free walks'].value:.3g}.".replace("-", "−")
    first = powers["weight decay alone"]
    return Measurement(powers["networks"], expected=-0.5, null=0.0, first_null=first, detail=words)


@measures("C.4.well_explains")
def well_explains(last: xr.Dataset, waited: xr.DataArray, regularised: xr.Dataset) -> Measurement:
    """The last overlap over that of weights in the well of weight decay; ``waited``: weights where the clock starts."""
    free = (last["free walks"] / last["weight decay alone"]).mean("seed")
    near = 100 * float((abs(waited.sel(temperature=1e-2)) < 1e-2).mean())
    best = of_learnt_most(regularised, lambda run: superposition.over_the_well(last.sel(seed=run.seed)))
    words = f"At t_w {near:.0f} % of the weights lie within 0.01 of zero at T = 0.01. {best}".rstrip()
    return Measurement(superposition.over_the_well(last), null=free, detail=words)


@measures_walks("C.A6.under_leaves")
def under_leaves(runs: Runs) -> Measurement:
    """How far curves leave a free walk's above and below, the smaller of both; the null: regularised networks."""
    under, above = runs["underparameterised"], runs["regularised"]
    words = origins({"underparameterised": under})
    return Measurement(superposition.departure(under, above), detail=words)
