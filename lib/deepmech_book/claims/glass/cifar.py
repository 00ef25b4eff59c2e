"""Claims of the page glass/cifar: Figs. A3, A4(d-f) and A8 of paper C.

``runs`` are walks by phase, as :func:`deepmech_book.analysis.glass.phases.runs` gives them; the others are networks at
rest, as on the page of transitions.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import stack, unknown
from deepmech_book.analysis.glass import phases, relaxation, shapes, transitions
from deepmech_book.analysis.glass.summaries import origins
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.glass._clocks import measures_walks
from deepmech_book.claims.glass.transitions import last_step

Runs = Mapping[str, xr.Dataset]


# --- Figure A3 --------------------------------------------------------------------------------------------------------


@measures("C.A3.n_star")
def n_star(sizes: xr.Dataset, shuffled: xr.Dataset) -> Measurement:
    """N/P_D at which the mean loss vanishes; the null: with shuffled labels."""
    (star, _), null = transitions.fitted(sizes), transitions.n_star(shuffled)
    if np.isnan(null):
        star = unknown("the mean loss of random labels crosses the level nowhere; give wider networks (widths_null)")
    words = f"{transitions.origin(sizes)} Mean loss: {transitions.mean_losses(sizes)}."
    return Measurement(star, null=null, detail=words)


@measures("C.A3.scatter")
def scatter(sizes: xr.Dataset) -> Measurement:
    """Share of the larger networks that are without loss."""
    return Measurement(transitions.fitted(sizes)[1], null=1.0, detail=transitions.origin(sizes))


@measures("C.A3.sharp")
def sharp(decays: xr.Dataset) -> Measurement:
    """Share of the loss's rise in the step that ends at the origin, mean over networks; the null: of their mean."""
    return last_step(decays, transitions.COLLAPSED)


# --- Figure A4 --------------------------------------------------------------------------------------------------------


@measures_walks("C.A4.hot_slope")
def hot_slope(runs: Runs) -> Measurement:
    """The power of T that τ₉₀ follows where hot, in the phases with loss; where only the landscape moves weights, 0."""
    found = {phase: relaxation.hot_power(phases.times(runs[phase])) for phase in phases.WITH_LOSS}
    words = origins({phase: runs[phase] for phase in phases.WITH_LOSS})
    return Measurement(stack(found, "phase"), expected=-1.0, null=0.0, detail=words)


@measures_walks("C.A4.cold_flat")
def cold_flat(runs: Runs) -> Measurement:
    """τ₉₀ where cold over that at T = 0; of free walks at least ten."""
    judged = {phase: relaxation.cold_over_rest(runs[phase]) for phase in phases.WITH_LOSS}
    free = xr.DataArray([null for _, null in judged.values()], {"phase": list(judged)}, "phase")
    return Measurement(stack({phase: one for phase, (one, _) in judged.items()}, "phase"), expected=1.0, null=free)


# --- Figure A8 --------------------------------------------------------------------------------------------------------


@measures_walks("C.A8.cold_is_not")
def cold_is_not(runs: Runs) -> Measurement:
    """α₂ when coldest, in the phases with loss, beside that of Gaussian groups."""
    found = {phase: shapes.far_from_gaussian(runs[phase]) for phase in phases.WITH_LOSS}
    words = " ".join(f"{phase.capitalize()}: {said}" for phase, (_, said) in found.items())
    return Measurement(stack({phase: one for phase, (one, _) in found.items()}, "phase"), detail=words)


@measures_walks("C.A8.less")
def less(runs: Runs) -> Measurement:
    """|α₂| of networks without loss over the smaller one of the two other phases."""
    if "overparameterised" not in runs:
        return Measurement(not_testable=phases.NONE_FITS)
    found, words = shapes.beside_phases_with_loss(runs, 1e-3)
    return Measurement(found, detail=words)


@measures_walks("C.A8.bimodal")
def bimodal(runs: Runs, on_mnist: xr.Dataset) -> Measurement:
    """The dip of motilities when coldest, beside that of Gaussian groups; ``on_mnist``: regularised networks there."""
    found = {phase: shapes.two_modes(runs[phase])[0] for phase in phases.WITH_LOSS}
    n, share = shapes.share_bimodal(on_mnist)
    words = f"Of {n} sets of three networks on MNIST, {100 * share:.0f} % have a dip beyond uniform samples'."
    return Measurement(stack(found, "phase"), detail=words)


@measures_walks("C.A8.unimodal")
def unimodal(runs: Runs) -> Measurement:
    """The dip of motilities of networks without loss, when coldest; the null: the smaller one of the other phases."""
    if "overparameterised" not in runs:
        return Measurement(not_testable=phases.NONE_FITS)
    dips = {phase: float(shapes.two_modes(run)[0].value) for phase, run in runs.items()}
    words = origins({"overparameterised": runs["overparameterised"]})
    return Measurement(dips["overparameterised"], null=min(dips[phase] for phase in phases.WITH_LOSS), detail=words)
