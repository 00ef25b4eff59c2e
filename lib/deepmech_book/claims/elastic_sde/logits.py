"""Claims of the page elastic_sde/logits: Figs. 1 and D.10 of paper B, and its text about training.

``networks`` are results of networks by ``data``, with single logits over ``trial`` and ``moment``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, stack
from deepmech_book.analysis.elastic_sde import clouds
from deepmech_book.analysis.elastic_sde.logits import overlap
from deepmech_book.claims.functions import Measurement, measures

Networks = Mapping[str, xr.Dataset]
EARLY = 1200
"""Iterations of Fig. D.10(a), and as many at the end of training."""

# --- Figure 1 ---------------------------------------------------------------------------------------------------------


def _of_each(networks: Networks, along: Mapping[str, np.ndarray | None]) -> Measurement:
    """Overlap of each pair of classes at the end, by ``data``; null: with labels in a random order."""
    found, null = {}, {}
    for name, one in networks.items():
        found[name] = clouds.over_trials(one, partial(overlap, moments=clouds.END, along=along[name]))
        null[name] = overlap(clouds.shuffled_labels(one), clouds.END, along[name])
    return Measurement(stack(found, "data"), null=xr.concat(null.values(), xr.Variable("data", list(null))))


@measures("B.1.separate")
def separate(networks: Networks, short: xr.Dataset) -> Measurement:
    """Along each pair's own direction; beside it, photographs as long as the authors' scripts train (``short``)."""
    found = _of_each(networks, dict.fromkeys(networks))
    scripts = clouds.over_trials(short, lambda some: overlap(some, clouds.END).max())
    words = f"Photographs trained as long as the scripts, the pair that overlaps most: {scripts}."
    return Measurement(found.measured, null=found.null, detail=words)


@measures("B.1.one_direction")
def one_direction(networks: Networks, long: xr.Dataset) -> Measurement:
    """Along one direction for all pairs; beside it, shapes after training ten times as ``long``."""
    along = {name: clouds.least_overlapping_direction(one) for name, one in networks.items()}
    found = _of_each(networks, along)
    after = float(overlap(long, clouds.END, clouds.least_overlapping_direction(long)).max())
    each = "; ".join(f"{name}, {float(found.measured.value.sel(data=name).max()):.3f}" for name in networks)
    words = f"The pair that overlaps most: {each}; shapes after 100,000 iterations, {after:.3f}."
    return Measurement(found.measured, null=found.null, detail=words)


@measures("B.1.dashed")
def dashed(seen: xr.Dataset, simulated: xr.DataArray, constant: xr.DataArray) -> Measurement:
    """Share of times at which simulated medians lie in the central 95 % of samples; null: with a constant effect."""
    if (n := seen.sizes["time"]) < clouds.BINS:
        why = f"samples of so few trials make quantiles at {n} times, and it takes {clouds.BINS}"
        return Measurement(not_testable=why)
    inside, null = (clouds.share_inside(paths, seen["low"], seen["high"]) for paths in (simulated, constant))
    return Measurement(inside, null=null)


# --- the text about training ------------------------------------------------------------------------------------------


@measures("B.text.cifar")
def photographs_are_learnt(accuracy: xr.DataArray) -> Measurement:
    """Best validation accuracy by number of classes (``name``)."""
    found: dict[str, Estimate] = {}
    words = []
    for name in accuracy["name"].values.tolist():
        unseen = accuracy.sel(set="validation", name=name, drop=True)
        at, found[name] = clouds.best_accuracy(unseen)
        low, high = found[name].interval
        words.append(f"{name}: {found[name].value:.1%} [{low:.1%}, {high:.1%}], best in the mean at iteration {at:,}")
    return Measurement(stack(found, "name"), detail=f"{'; '.join(words)}, of {unseen.sizes['iteration']}.")


# --- Figure D.10 ------------------------------------------------------------------------------------------------------


def _angles(networks: xr.Dataset) -> tuple[xr.Dataset, slice, slice, str | None]:
    """Angles of the plane, the first and the last iterations, and why these overlap if they do."""
    angles = clouds.plane_angles(networks["mean"].astype(float))
    n = float(networks["time"][-1]) + 0.5
    short = n < 2 * EARLY
    why = f"the first and the last {EARLY:,} iterations overlap in so short a training" if short else None
    return angles, slice(0, EARLY), slice(n - EARLY, None), why


@measures("B.D10.early")
def turns_early(networks: xr.Dataset) -> Measurement:
    """Mean angle to the final normal, early; null: late. Beside it, for a range of angles and losses, from when."""
    angles, early, late, why = _angles(networks)
    loss = networks["loss"].astype(float).coarsen(time=50, boundary="trim").mean() / np.log(3)
    rests = [(clouds.stays_below(angles["turn"], a), f"{a}°") for a in (20, 10, 5)]
    falls = [(clouds.stays_below(loss, s), f"{s:.0%} of ln 3") for s in (0.98, 0.95, 0.9)]
    rest, fall = (
        ", ".join(f"{t:.0f} ({w})".replace("nan", "not in this run") for t, w in row) for row in (rests, falls)
    )
    words = (
        f"The normal stays within an angle of the final one from iteration {rest}; the training loss stays below a "
        f"level from {fall}."
    )
    null = float(angles["turn"].sel(time=late).mean())
    return Measurement(clouds.mean_angle(networks, "turn", early), null=null, detail=words, not_testable=why)


@measures("B.D10.why")
def softmax_prescribes(networks: xr.Dataset) -> Measurement:
    """Mean angle to (1, 1, 1), late; null: early."""
    angles, early, late, why = _angles(networks)
    null = float(angles["tilt"].sel(time=early).mean())
    return Measurement(clouds.mean_angle(networks, "tilt", late), null=null, not_testable=why)
