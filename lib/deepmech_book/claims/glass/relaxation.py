"""Claims of the page glass/relaxation: Figs. 2, 3 and A2 of paper C.

``runs`` are walks by phase, as :func:`deepmech_book.analysis.glass.phases.runs` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech.core.estimates import Estimate, stack
from deepmech_book.analysis.glass import phases, relaxation
from deepmech_book.analysis.glass.plateaus import second_step
from deepmech_book.analysis.glass.summaries import of_learnt_most, origins
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.glass._clocks import measures_walks

Runs = Mapping[str, xr.Dataset]


# --- Figure 2 ---------------------------------------------------------------------------------------------------------


@measures_walks("C.2.hot_is_free")
def hot_is_free(runs: Runs) -> Measurement:
    """Largest distance of hot overlaps from those of free walks, by phase; the null: kicks half as hard."""
    found = {f"{p}, T = {t:g}": relaxation.distance_from_free(runs[p], t) for p, t in relaxation.HOT if p in runs}
    best = of_learnt_most(runs["regularised"], lambda run: relaxation.distance_from_free(run, 0.1))
    return Measurement(stack(found, "phase"), null=relaxation.distance_of_kicks(0.5),
                       first_null=0.0, detail=origins(runs, best))  # fmt: skip


@measures_walks("C.2.cold_is_faster", early=True)
def cold_is_faster(regularised: xr.Dataset) -> Measurement:
    """τ₉₀ at T = 10⁻⁶ in the finest window over that of free walks."""
    best = of_learnt_most(regularised, lambda run: relaxation.cold_over_free(run, 1e-6))
    words = origins({"regularised": regularised}, best)
    return Measurement(relaxation.cold_over_free(regularised, 1e-6), null=1.0, detail=words)


# --- Figures 3 and A4 -------------------------------------------------------------------------------------------------


@measures("C.3.hot_slope")
def hot_slope(runs: Runs) -> Measurement:
    """The power of T that τ₉₀ (after each wait) and τ_e follow where hot; where only the landscape moves weights, 0."""
    found = {name: one for phase, run in runs.items() for name, one in relaxation.hot_powers(run, phase).items()}
    best = of_learnt_most(runs["regularised"], lambda run: stack(relaxation.hot_powers(run, "regularised"), "phase"))
    return Measurement(stack(found, "phase"), expected=-1.0, null=0.0, first_null=-1.0, detail=origins(runs, best))


@measures_walks("C.3.cold_flat")
def cold_flat(runs: Runs) -> Measurement:
    """τ₉₀ and τ_e where cold, over those at T = 0; of free walks at least ten."""
    judged = {
        "regularised, finest window": relaxation.cold_over_rest(runs["regularised"], fine=True),
        "underparameterised": relaxation.cold_over_rest(runs["underparameterised"]),
        "underparameterised, to 1/e": relaxation.cold_over_rest(runs["underparameterised"], e_fold=True),
    }
    best = of_learnt_most(runs["regularised"], lambda run: relaxation.cold_over_rest(run, fine=True)[0])
    free = xr.DataArray([null for _, null in judged.values()], {"phase": list(judged)}, "phase")
    found = stack({name: one for name, (one, _) in judged.items()}, "phase")
    return Measurement(found, expected=1.0, null=free, detail=origins({"regularised": runs["regularised"]}, best))


@measures_walks("C.3.never_flat")
def never_flat(runs: Runs) -> Measurement:
    """The power of T that τ₉₀ follows at all temperatures, without loss; the null: networks with some."""
    if "overparameterised" not in runs:
        return Measurement(not_testable=phases.NONE_FITS)
    large, small = (
        relaxation.overall_power(phases.times(runs[p])) for p in ("overparameterised", "underparameterised")
    )
    words = origins({"overparameterised": runs["overparameterised"]})
    return Measurement(large, null=small.value, detail=words)


@measures_walks("C.3.no_divergence")
def no_divergence(runs: Runs, glass: xr.DataArray) -> Measurement:
    """The powers of 1/T that τ₉₀ follows from temperature to temperature; ``glass``: overlap of a glass former."""
    powers = relaxation.successive_powers(relaxation.finest_times(run) for run in runs.values())
    best = of_learnt_most(runs["regularised"], lambda run: relaxation.successive_powers([relaxation.finest_times(run)]))
    return Measurement(powers, null=relaxation.largest_power(glass), detail=best)


@measures_walks("C.3.one_step")
def one_step(runs: Runs, glass: xr.DataArray) -> Measurement:
    """How clearly overlaps fall twice; ``glass``: overlap of a glass former in a window as wide as its cages."""
    overlaps = {phase: phases.overlaps(run).mean("seed") for phase, run in runs.items()}
    best = of_learnt_most(runs["regularised"], lambda run: Estimate(second_step(phases.overlaps(run).mean("seed"))))
    return Measurement(relaxation.second_steps(overlaps), null=second_step(glass.mean("seed")), detail=best)


@measures("C.3.settled")
def settled(trained: xr.Dataset) -> Measurement:
    """The power of the length of training that τ₉₀ at T = 0 follows, after the paper's wait; windows apart."""
    kept = relaxation.learnt(trained)

    def power(wait: int) -> Estimate:
        return relaxation.training_power(relaxation.times_by_training(kept, wait), 300)

    at_once = ", ".join(f"{float(v):.2g}" for v in power(0).value).replace("-", "−")
    words = (
        f"t_w = {int(kept.waiting[-1]):,} steps; {kept.sizes['seed']} networks that learnt, P_D = 8000, width 10. "
        "Where the record ends before τ₉₀, its end stands for it: the power is a lower bound. "
        f"Clock started at once, by window: {at_once}."
    )
    return Measurement(power(-1), expected=0.0, null=1.0, detail=words)


@measures_walks("C.A2.plateau")
def plateau(regularised: xr.Dataset) -> Measurement:
    """The data loss at the end of the walk over that at its beginning."""
    words = origins({"regularised": regularised})
    return Measurement(relaxation.loss_drift(regularised), detail=words)
