"""Logits in training: clouds, directions along which they part, their plane (Figs. 1, 2 and D.10 of paper B)."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate, jackknife, leave_one_out, stack
from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.data import geomnist
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.elastic_sde import readings
from deepmech_book.elastic_sde.paths import imitate
from deepmech_book.elastic_sde.words import ITERATION, said
from deepmech_book.sweeps.elastic_sde import networks

BINS = 25
"""Bins of time over which quantiles of single logits are taken, where there are enough samples."""
END = slice(-10, None)
"""The last of the recorded moments, which count as the end of training."""
EARLY = 1200
"""Iterations of Fig. D.10(a), and as many at the end of training."""


def images(n_samples):
    """Images of each shape along its curve, in the order of the angle: (shape, sample, row, column)."""
    parts = [vars(part) for part in geomnist.family(3 * n_samples - 3, 3)]
    placed = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((placed["angle"], placed["label"]))
    drawn = geomnist.draw(geomnist.Placement(**{name: values[order] for name, values in placed.items()}))
    drawn = drawn.reshape(3, n_samples, geomnist.SIDE, geomnist.SIDE)
    return said(
        xr.DataArray(drawn, {"shape": list(geomnist.SHAPES)}, ("shape", "sample", "row", "column")), "brightness"
    )


def in_the_plane(logits):
    """Coordinates of three logits in the plane across (1, 1, 1): (X₁ − X₂)/√2 and (X₁ + X₂ − 2 X₃)/√6."""
    axes = xr.DataArray([[1, -1, 0], [1, 1, -2]] / np.sqrt([[2], [6]]), dims=("axis", "logit"))
    return logits.astype(float) @ axes


def by_pairs(moments):
    """Logits of a moment in the planes of two of their coordinates, and classes, by data: (panel, trial, axis)."""
    points, group = {}, {}
    for name, one in moments.items():
        for k, j in combinations(range(3), 2):
            title = f"{name}, $X_{j + 1}$ over $X_{k + 1}$"
            points[title] = one.logits.isel(logit=[k, j]).rename(logit="axis").assign_coords(axis=[0, 1])
            group[title] = one.label
    return tuple(xr.concat(each.values(), xr.Variable("panel", list(each))) for each in (points, group))


def direction(means, k, other):
    """ν = (X̄ᵏ − X̄ˡ)/|X̄ᵏ − X̄ˡ| at the end (paper B, Eq. C.24): of the means over the last tenth of the times."""
    last = means.isel(time=slice(-max(1, means.sizes["time"] // 10), None)).mean("time").transpose("class", "logit")
    gap = last.values[k].astype(float) - last.values[other]
    return gap / np.linalg.norm(gap)


def projected_quantiles(result, pairs):
    """Quantiles 0.025, 0.5, 0.975 of the samples of each class along the direction of named pairs (k, l), over time.

    Times are dealt into :data:`BINS` bins, or fewer, such that a bin holds about twenty samples of a class.
    """
    z = result["logits"].transpose("moment", "trial", "logit").values.astype(float)
    drawn, none = result["label"].transpose("moment", "trial").values, np.full(3, np.nan)
    rows = []
    for k, other in pairs.values():
        along = z @ direction(result["mean"], k, other)
        label = np.where(np.isfinite(along), drawn, -1)  # trials that diverged have no logits
        full = np.isfinite(along).sum() // (20 * result.sizes["class"])
        bins = np.array_split(np.arange(len(along)), max(1, min(BINS, len(along), full)))
        classes = [[along[b][label[b] == c] for c in range(result.sizes["class"])] for b in bins]
        rows.append([[np.quantile(x, [0.025, 0.5, 0.975]) if x.size else none for x in row] for row in classes])
    time = ("time", [float(result["moment"].values[b].mean()) for b in bins], ITERATION)
    labels = {"pair": list(pairs), "time": time, "class": result["class"].values}
    quantiles = xr.DataArray(np.array(rows), labels, ("pair", "time", "class", "quantile"))
    return said(quantiles, "projected logits").to_dataset("quantile").rename({0: "low", 1: "median", 2: "high"})


def simulated_medians(result, estimator, pairs):
    """Median paths of the L-model with effects read off networks, along the directions of named pairs."""
    median = imitate(result, estimator)["median"]
    paths = [median @ xr.DataArray(direction(result["mean"], *pair), dims="logit") for pair in pairs.values()]
    together = xr.concat(paths, xr.Variable("pair", list(pairs)))
    return together.assign_coords({"class": result["class"].values})


def accuracies(result):
    """Accuracy on training samples just before their own step, and on validation images, at the same iterations."""
    at = result["at_iteration"].values[1:]
    known = result["accuracy"].sel(time=at, method="nearest").rename(time="iteration").assign_coords(iteration=at)
    unseen = result["validation_accuracy"].isel(trial=0, drop=True).sel(at_iteration=at)
    unseen = unseen.rename(at_iteration="iteration")
    return xr.concat([known, unseen], xr.Variable("set", ["training", "validation"]))


def plane_angles(means):
    """Angles in degrees of the normal of the plane of class means: ``turn`` to the final one, ``tilt`` to (1, 1, 1).

    Class means are averaged over a hundred iterations; the final normal is the mean over the last tenth of training.
    """
    means = means.transpose("time", "class", "logit")
    steps = means.sizes["time"] // max(1, round(100 / readings.step_of(means)))
    x = np.stack([part.mean(0) for part in np.array_split(means.values, steps)])
    time = [float(t.mean()) for t in np.array_split(means["time"].values, steps)]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    end = normal[-max(1, steps // 10) :]
    final = (end * np.sign(end @ end[-1])[:, None]).mean(0)

    def degrees(other):
        return np.degrees(np.arccos(np.clip(abs(normal @ other) / np.linalg.norm(other), 0, 1)))

    angles = {"turn": ("time", degrees(final)), "tilt": ("time", degrees(np.ones(3)))}
    return xr.Dataset(angles, {"time": ("time", time, ITERATION)})


# --- claims


def overlap(result, moments, along=None):
    """For each pair of classes, how often a sample of the one lies on the other's side of a direction.

    0 for classes that are disjoint, 1/2 for classes that are mixed; ``along`` one direction for all pairs, either way
    round, else each pair's own. Nan where nobody drew one of the classes; trials that diverged are left out.
    """
    some = result.isel(moment=moments)
    z, label = some["logits"].transpose(..., "logit").values.astype(float), some["label"].values
    pairs = list(combinations(range(result.sizes["class"]), 2))
    found = []
    for k, other in pairs:
        x = z @ (direction(result["mean"], k, other) if along is None else along)
        one, two = (x[(label == c) & np.isfinite(x)] for c in (k, other))
        share = float(np.mean(one[:, None] <= two[None])) if one.size and two.size else np.nan
        found.append(share if along is None else min(share, 1 - share))
    return over("pair", [f"{k}, {other}" for k, other in pairs]).copy(data=found)


def shuffled_labels(result):
    """The null: the same logits with their labels in a random order."""
    order = Stream.of("shuffled labels", 0).permutation("order", 0, result["label"].size)
    shuffled = result["label"].values.ravel()[order].reshape(result["label"].shape)
    return result.assign(label=result["label"].copy(data=shuffled))


def least_overlapping_direction(result):
    """The difference of class means along which the pair of classes that overlaps most overlaps least, at the end."""
    candidates = (direction(result["mean"], *pair) for pair in combinations(range(result.sizes["class"]), 2))
    return min(candidates, key=lambda nu: float(overlap(result, END, nu).max()))


def over_trials(result, measure):
    """A share of all trials, with its interval, cut at 0 and 1, from groups of ten, or where they are few by leaving
    out each."""
    value, n, size = measure(result), result.sizes["trial"], networks.GROUP
    if n < 3 * size:
        without = [measure(result.drop_isel(trial=i)) for i in range(n)]
        found = jackknife(value, xr.concat(without, "left_out"), over="left_out", scatter="symmetric")
    else:
        groups = [measure(result.isel(trial=slice(i, i + size))) for i in range(0, n, size)]
        found = replace(estimate(xr.concat(groups, "group"), "group", "symmetric", at=value), value=value, n=n)
    return found.map(lambda end: end.clip(0, 1))


def as_trials(result):
    """Networks that differ by ``first_seed``, one trial each, as trials of one result with the mean of their means."""
    trials = result[["logits", "label", "mean"]].isel(trial=0, drop=True).rename(first_seed="trial")
    return trials.assign(mean=trials["mean"].mean("trial"))


def of_each(networks, along):
    """Overlap of each pair of classes at the end, by ``data``; null: with labels in a random order."""
    found, null = {}, {}
    for name, one in networks.items():
        found[name] = over_trials(one, partial(overlap, moments=END, along=along[name]))
        null[name] = overlap(shuffled_labels(one), END, along[name])
    return Measurement(stack(found, "data"), null=xr.concat(null.values(), xr.Variable("data", list(null))))


@measures("B.1.separate")
def separate(networks, short):
    """Along each pair's own direction; beside it, photographs as long as the authors' scripts train (``short``)."""
    scripts = over_trials(short, lambda some: overlap(some, END).max())
    words = f"Photographs trained as long as the scripts, the pair that overlaps most: {scripts}."
    return replace(of_each(networks, dict.fromkeys(networks)), detail=words)


@measures("B.1.one_direction")
def one_direction(networks, long):
    """Along one direction for all pairs; beside it, shapes after training ten times as ``long``."""
    found = of_each(networks, {name: least_overlapping_direction(one) for name, one in networks.items()})
    after = float(overlap(long, END, least_overlapping_direction(long)).max())
    each = "; ".join(f"{name}, {float(found.measured.value.sel(data=name).max()):.3f}" for name in networks)
    return replace(found, detail=f"The pair that overlaps most: {each}; shapes after 100,000 iterations, {after:.3f}.")


def share_inside(paths, low, high):
    """Share of times at which paths lie between two others, interpolated to the times of these."""
    at = paths.interp(time=low["time"], kwargs={"fill_value": "extrapolate"})
    return ((at >= low) & (at <= high)).mean("time")


@measures("B.1.dashed")
def dashed(seen, simulated, constant):
    """Share of times at which simulated medians lie in the central 95 % of samples; null: with a constant effect."""
    if (n := seen.sizes["time"]) < BINS:
        why = f"samples of so few trials make quantiles at {n} times, and it takes {BINS}"
        return Measurement(not_testable=why)
    inside, null = (share_inside(paths, seen["low"], seen["high"]) for paths in (simulated, constant))
    return Measurement(inside, null=null)


def best_accuracy(accuracy):
    """The iteration at which the mean over networks is highest, and how accurate networks are at their best.

    The iteration of each network is the one at which the mean of all others is highest: it is not chosen by the network
    that is judged.
    """
    others = leave_one_out(accuracy, "first_seed").argmax("iteration")
    best = estimate(accuracy.isel(iteration=others), "first_seed", "symmetric").map(float)
    return int(accuracy.mean("first_seed").idxmax("iteration")), best


@measures("B.text.cifar")
def photographs_are_learnt(accuracy):
    """Best validation accuracy by number of classes (``name``)."""
    found, words = {}, []
    for name in accuracy["name"].values.tolist():
        unseen = accuracy.sel(set="validation", name=name, drop=True)
        at, found[name] = best_accuracy(unseen)
        low, high = found[name].interval
        words.append(f"{name}: {found[name].value:.1%} [{low:.1%}, {high:.1%}], best in the mean at iteration {at:,}")
    return Measurement(stack(found, "name"), detail=f"{'; '.join(words)}, of {unseen.sizes['iteration']}.")


@measures("B.text.geomnist")
def losses_fall(long):
    """Mean training loss over the last tenth, and mean validation loss at the end."""
    end = long.isel(at_iteration=-1)
    unseen = estimate(end["validation_loss"], "trial", "skewed")
    both = xr.DataArray([float(readings.last_tenth(long["loss"])), float(unseen.value)], dims="set")
    low, high = (float(one) for one in unseen.interval)
    mistakes = float(1 - end["validation_accuracy"].mean())
    words = f"Validation loss: [{low:.2g}, {high:.2g}]; mistakes on validation images: {mistakes:.2%}."
    return Measurement(both.assign_coords(set=["training", "validation"]), detail=words)


def stays_below(curve, level):
    """The time from which on a curve stays below a level; nan if it does not."""
    before = np.append(False, curve >= level)
    after = curve["time"][np.flatnonzero(before)[-1] if before.any() else 0 :]
    return float(after[0]) if after.size else np.nan


def of_angle(networks, name, early):
    """Mean of an angle over the first or the last iterations, with the interval of its logarithm over groups; null:
    over the others.
    """
    n = float(networks["time"][-1]) + 0.5
    parts = slice(0, EARLY), slice(n - EARLY, None)
    here, there = parts if early else parts[::-1]
    whole, without = readings.without_groups(networks)
    every = [whole, *(without.isel(group=g) for g in range(without.sizes["group"]))]
    value, *rest = (float(plane_angles(means)[name].sel(time=here).mean()) for means in every)
    null = float(plane_angles(networks["mean"].astype(float))[name].sel(time=there).mean())
    short = f"the first and the last {EARLY:,} iterations overlap in so short a training" if n < 2 * EARLY else None
    found = jackknife(np.log(value), np.log(rest), scatter="symmetric").map(lambda angle: float(np.exp(angle)))
    return Measurement(found, null=null, not_testable=short)


@measures("B.D10.early")
def turns_early(networks):
    """Mean angle to the final normal, early; null: late. Beside it, for a range of angles and losses, from when."""
    turn = plane_angles(networks["mean"].astype(float))["turn"]
    loss = networks["loss"].astype(float).coarsen(time=50, boundary="trim").mean() / np.log(3)
    rests = [(stays_below(turn, a), f"{a}°") for a in (20, 10, 5)]
    falls = [(stays_below(loss, s), f"{s:.0%} of ln 3") for s in (0.98, 0.95, 0.9)]
    rest, fall = (
        ", ".join(f"{t:.0f} ({w})".replace("nan", "not in this run") for t, w in row) for row in (rests, falls)
    )
    words = (
        f"The normal stays within an angle of the final one from iteration {rest}; the training loss stays below a "
        f"level from {fall}."
    )
    return replace(of_angle(networks, "turn", early=True), detail=words)


@measures("B.D10.why")
def softmax_prescribes(networks):
    """Mean angle to (1, 1, 1), late; null: early."""
    return of_angle(networks, "tilt", early=False)
