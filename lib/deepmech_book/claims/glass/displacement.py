"""Claims of the page glass/displacement: Fig. 5 of paper C.

``runs`` are walks by phase, as :func:`deepmech_book.analysis.glass.phases.runs` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, stack
from deepmech_book.analysis.glass import displacement, phases
from deepmech_book.analysis.glass.plateaus import rise_after_plateau
from deepmech_book.analysis.glass.summaries import of_learnt_most, origins
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.glass._clocks import measures_walks

Runs = Mapping[str, xr.Dataset]


@measures_walks("C.5.no_plateau")
def no_plateau(runs: Runs, glass: xr.DataArray) -> Measurement:
    """How clearly displacements show a cage, by phase; ``glass``: displacement of a glass former over time."""
    cages = displacement.cages(runs)
    found = xr.DataArray(list(cages.values()), {"phase": list(cages)}, "phase")
    best = of_learnt_most(runs["regularised"], lambda run: Estimate(displacement.cages({"": run})[""]))
    return Measurement(found, null=rise_after_plateau(glass), detail=best)


@measures_walks("C.5.hot_is_free")
def hot_is_free(runs: Runs) -> Measurement:
    """Hot displacements over 2Dt, mean over times, by phase; the null: kicks half as hard, 0.5."""
    found = {phase: displacement.early_diffusion(run, 0.1) for phase, run in runs.items()}
    powers = "; ".join(f"{phase}: {power}" for phase, (power, _) in found.items())
    best = of_learnt_most(runs["regularised"], lambda run: displacement.early_diffusion(run, 0.1)[1])
    words = origins(runs, f"Power of time (1 of a free walk): {powers}.", best)
    ratios = stack({phase: ratio for phase, (_, ratio) in found.items()}, "phase")
    return Measurement(ratios, expected=1.0, null=0.5, detail=words)


@measures_walks("C.5.over_diffuses")
def over_diffuses(runs: Runs) -> Measurement:
    """Last displacement of networks without loss over 2Dt; the null: underparameterised ones, where coldest."""
    if "overparameterised" not in runs:
        return Measurement(not_testable=phases.NONE_FITS)
    found, words = displacement.last_over_free(runs["overparameterised"])
    rival, _ = displacement.last_over_free(runs["underparameterised"])
    cold = float(rival.value.sel(temperature=phases.coldest(runs["underparameterised"])))
    words = origins({"overparameterised": runs["overparameterised"]}, words)
    return Measurement(found, expected=1.0, null=cold, detail=words)


@measures("C.5.swings")
def swings(walked: xr.Dataset, times: np.ndarray, factors: Sequence[int]) -> Measurement:
    """The largest fall of a displacement at a small rate, and at the paper's."""
    large, small = displacement.swings(walked, times, factors)
    return Measurement(max(small, 0.0), null=large)


@measures_walks("C.5.batch_order")
def batch_order(batches: xr.Dataset) -> Measurement:
    """The last displacement with each batch size over that with the next larger one."""
    last = displacement.displacement(batches).mean("seed").isel(time=-1, drop=True).sortby("batch_size")
    steps = last / last.shift(batch_size=-1)
    return Measurement(steps.isel(batch_size=slice(None, -1)), detail=origins({"regularised": batches}))


@measures("C.5.localised")
def localised(batches: xr.Dataset, control: xr.Dataset) -> Measurement:
    """The displacement with single samples where the paper's record ends; ``control``: without weight decay."""
    noisiest = int(batches.batch_size.min())
    moved, free = (displacement.displacement(run).sel(batch_size=noisiest) for run in (batches, control))
    if float(moved.time[-1]) < displacement.PAPER_RECORD:
        why = f"the record ends after {float(moved.time[-1]):,.0f} steps, before the paper's; walk for longer (steps_d)"
        return Measurement(not_testable=why)
    at, until = displacement.at_paper_record(moved), float(displacement.at_paper_record(moved).time)
    end, power = moved.mean("seed").isel(time=-1), displacement.end_power(moved.mean("seed"))
    words = origins(
        {"regularised": batches},
        f"Batch size {noisiest}, {until:,.0f} steps after the wait. At the end of this record, after "
        f"{float(end.time):,.0f}: {1e4 * float(end):.2g}, rising as time to the power {float(power):.2f} "
        f"(without weight decay {float(displacement.end_power(free.mean('seed'))):.2f}).",
    )
    null = 1e4 * float(displacement.at_paper_record(free).mean("seed"))
    return Measurement(1e4 * at.drop_vars(["time", "batch_size"]), null=null, detail=words)
