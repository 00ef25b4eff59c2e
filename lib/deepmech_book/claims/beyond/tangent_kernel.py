"""Claims of the page beyond/tangent_kernel: is the elasticity that Eq. 11 of paper B infers that of a training step?

``kernels`` and ``steps`` are as in :mod:`deepmech_book.analysis.beyond.tangent_kernel`; ``found`` are its effects by
source. All are given by the name of the data set. What is to first order and what is of whole steps is said in the
labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import xarray as xr

from deepmech.core.estimates import Estimate, stack
from deepmech_book.analysis.beyond import tangent_kernel as moves
from deepmech_book.claims.functions import Measurement, measures

Runs = Mapping[str, xr.Dataset]


def _growth(run: xr.Dataset, move: str, since: float) -> Estimate:
    late = run[["logits", move]].sel(time=slice(since, None))
    return moves.jackknifed(late, lambda some: moves.margin_growth(some.logits, some[move]))


@measures("B.3.kernel.growth")
def growth(kernels: Runs, steps: xr.Dataset) -> Measurement:
    """Growth of margins to first order, by that of training; null: by initial kernels; beside it by whole ``steps``."""
    since = {title: moves.start_of_signal(run) for title, run in kernels.items()}
    found, null = (
        stack({title: _growth(run, name, since[title]) for title, run in kernels.items()}, "data")
        for name in ("move", "move_frozen")
    )
    times = (f"{title} {at:.0f} of {float(kernels[title].time[-1]):.0f} iterations" for title, at in since.items())
    whole = _growth(steps, "move", next(iter(since.values())))
    return Measurement(found, null=null.value, detail=f"By whole steps: {whole}. From on: {', '.join(times)}.")


def _by_step(
    found: Runs, measure: Callable[[xr.Dataset, str], xr.DataArray], change: Callable = lambda v: v
) -> Measurement:
    """A measure of the effects of a step, to first order and whole where it was taken; null: initial kernels."""
    own, null = {}, {}
    for title, one in found.items():
        for source in (moves.FIRST_ORDER, moves.WHOLE):
            if source in one.source:
                label = f"{title}, {source}"
                own[label] = moves.ratios(one, measure, source).map(change)
                null[label] = change(measure(one, moves.INITIAL).isel({"of": 0}))
    nulls = xr.concat(null.values(), xr.Variable("data", list(null)))
    groups = sum(one.sizes["of"] - 1 for one in found.values())
    return Measurement(stack(own, "data"), null=nulls, detail=f"Groups of ten trials: {groups}.")


@measures("B.3.kernel.sign")
def sign(found: Runs) -> Measurement:
    """β/α of a step."""

    def share(one: xr.Dataset, source: str) -> xr.DataArray:
        at = one.sel(source=source, drop=True)
        return at.inter / at.intra

    (whole,) = (moves.by_weight(one) for one in found.values() if moves.WHOLE in one.source)
    words = "; ".join(f"{name} {ratio}" for name, ratio in whole.items())
    result = _by_step(found, share)
    return replace(result, detail=f"Whole steps, divided by the size of logits and not: {words}. {result.detail}")
