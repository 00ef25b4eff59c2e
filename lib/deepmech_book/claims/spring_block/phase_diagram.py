"""Claims of the page spring_block/phase_diagram: Figs. 3, S13 and S14 of paper A.

``diagrams`` are chains by figure (a key of :data:`~deepmech_book.analysis.spring_block.chains.DIAGRAMS`), over
``friction_right``, ``noise``, ``run`` and ``block``; ``first`` is that of Fig. 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from deepmech.core.estimates import Estimate, estimate
from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.spring_block import chains
from deepmech_book.analysis.spring_block.summaries import in_a_row
from deepmech_book.claims.functions import Measurement, measures

Diagrams = Mapping[str, xr.Dataset]
LEFT = chains.DIAGRAMS["A.3"].friction_left


def _bend(run: xr.Dataset, rows: Callable[[xr.DataArray], xr.DataArray]) -> xr.DataArray:
    """Curvature of single runs in the rows of some frictions to the right."""
    return curvature(run["load_curve"], dim="block").sel(friction_right=rows(run.friction_right))


def _over_figures(diagrams: Diagrams, number: Callable[[xr.Dataset, float], xr.DataArray]) -> Estimate:
    """A number of every run of every diagram, told the diagram's friction to the left; mean over runs."""
    found = {name: number(one, chains.DIAGRAMS[name].friction_left) for name, one in diagrams.items()}
    return in_a_row({f"Fig. {name.removeprefix('A.')}": estimate(one, "run", "skewed") for name, one in found.items()})


@measures("A.3.concave")
def concave(diagrams: Diagrams) -> Measurement:
    """Curvature without noise, in every row of a diagram with friction to the right."""
    return Measurement(_over_figures(diagrams, lambda run, _: _bend(run, lambda mu: mu > 0).isel(noise=0, drop=True)))


@measures("A.3.convex")
def convex(diagrams: Diagrams) -> Measurement:
    """Curvature at the strongest noise, in every row of a diagram whose friction to the left is the larger one."""
    found = _over_figures(diagrams, lambda run, left: _bend(run, lambda mu: mu < left).isel(noise=-1, drop=True))
    return Measurement(found)


@measures("A.3.monotone")
def monotone(first: xr.Dataset) -> Measurement:
    """Steps of the curvature from noise to noise, in the rows where friction to the left is the larger one."""
    return Measurement(estimate(_bend(first, lambda mu: mu < LEFT).diff("noise"), "run", "skewed"))


@measures("A.3.never_convex")
def never_convex(first: xr.Dataset) -> Measurement:
    """Curvature in the rows where it is not."""
    return Measurement(estimate(_bend(first, lambda mu: mu >= LEFT), "run", "skewed"))


@measures("A.3.eq8")
def equation_8(first: xr.Dataset) -> Measurement:
    """Mean step in elongation at the strongest noise, beside Eq. 8 and the step without noise, at stiffness 1."""
    step, mu = chains.mean_step(first["position"]).isel(noise=-1, drop=True), first.friction_right
    return Measurement(step.mean("run"), expected=(mu - LEFT) / 2, null=mu)


@measures("A.S14.decay")
def decay(fading: xr.Dataset, constant: xr.Dataset) -> Measurement:
    """How far a block moves between the last two of four times, with noise that fades and with noise that stays."""
    moved, moved_on = (chains.movement(one["position"]) for one in (fading, constant))
    words = (
        f"Between the first two times it moves by {float(moved.isel(time=0).mean('run').max()):.2f} under fading noise."
    )
    last = estimate(moved.isel(time=-1, drop=True), "run", "skewed")
    return Measurement(last, null=moved_on.isel(time=-1, drop=True).mean("run"), detail=words)
