"""What a training step does to other samples, beside what logits let one infer (paper B, Eqs. 1 and 11, Fig. 3).

``kernels`` have moves to first order, ``steps`` moves by whole steps, both over ``group``, groups of ten trials.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, leave_one_out, stack
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.elastic_sde import readings
from deepmech_book.sweeps.elastic_sde.extension_models import begins

INFERRED = "inferred from outputs (paper)"
FIRST_ORDER = "to first order"
INITIAL = "to first order, initial kernels"
WHOLE = "by whole steps"
WEIGHTS = {"divided": ("intra", "inter"), "undivided": ("own", "others")}
"""Moves divided by the size of logits, as the models define effects, and as they are."""


def start_of_signal(kernels):
    """The iteration from which on margins of all classes exceed their noise; before, α̂ is the logarithm of noise."""
    means = kernels["mean"].rename(block="time").transpose("group", "time", "class", "logit")
    return float(kernels["block"][begins(means)])


def real_effects(logits, move):
    """α and β as the models define them, from measured moves: per iteration, over ``model`` and the leading dimensions.

    In the L-model a step on class l moves class k by E_kl s_l d_l/|d_l|² with s_l = d_l·X̄ˡ, in the I-model by E_kl X̄ˡ.
    So E_kl is the move's part along that direction; α is the mean of E over k = l and β over k ≠ l, as ratios of sums.
    """
    k = logits.sizes["class"]
    trained = logits.rename({"class": "trained"})
    own = xr.DataArray(np.eye(k), dims=("class", "trained"))
    directions = {"I": trained, "L": xr.DataArray(np.eye(k) - 1 / k, dims=("trained", "logit"))}
    found = []
    for along in directions.values():
        pull, size = (move * along).sum("logit"), (trained * along).sum("logit").sum("trained")
        intra = (pull * own).sum(["class", "trained"]) / size
        inter = (pull * (1 - own)).sum(["class", "trained"]) / ((k - 1) * size)
        found.append(xr.Dataset({"intra": intra, "inter": inter}))
    return xr.concat(found, xr.Variable("model", list(directions)))


def effects_by_source(kernels, window, steps=None, since=None):
    """Mean effects over time, over ``source``, ``model`` and ``of`` (0: all groups; then without each in turn).

    ``intra`` α and ``inter`` β per iteration; ``own`` and ``others`` are not divided by the margins (L) or the norm (I)
    of logits, which are small at first, so that the first records carry most of a mean of α or β. Mean from ``since``
    on, by default from :func:`start_of_signal`.
    """
    late = slice(start_of_signal(kernels) if since is None else since, None)

    def both(run, *names):
        arrays = [run[name].astype(float).drop_vars("group", errors="ignore") for name in names]
        return [xr.concat([a.mean("group"), leave_one_out(a, "group")], "group") for a in arrays]

    (means,) = both(kernels.rename(time="stop", block="time"), "mean")
    inferred = readings.estimate(xr.Dataset({"mean": means}), window, ("I", "L"))[["intra", "inter"]]
    at = kernels["time"].values
    found = {INFERRED: inferred.interp(time=at, kwargs={"fill_value": "extrapolate"})}
    logits, first, initial = both(kernels, "logits", "move", "move_frozen")
    found |= {FIRST_ORDER: real_effects(logits, first), INITIAL: real_effects(logits, initial)}
    if steps is not None:
        found[WHOLE] = real_effects(*both(steps, "logits", "move"))
    along_d = logits * (xr.DataArray(np.eye(k := logits.sizes["class"]), dims=("class", "logit")) - 1 / k)
    of_models = [(logits**2).sum(["class", "logit"]) ** 0.5, along_d.sum(["class", "logit"])]
    size = xr.concat(of_models, xr.Variable("model", ["I", "L"]))
    moved = [one.assign(own=one.intra * size, others=one.inter * size) for one in found.values()]
    means_over_time = [one.sel(time=late).mean("time") for one in moved]
    joined = xr.concat(means_over_time, xr.Variable("source", list(found)), join="exact")
    return joined.rename(group="of")


def ratio(found, source, own="intra", others="inter", **labels):
    """β/α of one source of :func:`effects_by_source`, over what ``labels`` leave, with its interval over groups."""
    at = found.sel(source=source, **labels, drop=True)
    share = at[others] / at[own]
    without = share.isel({"of": slice(1, None)}).rename(of="group")
    return jackknife(share.isel({"of": 0}), without, over="group", scatter="symmetric")


def elasticity(by_data):
    """β/α by the L-model over ``source`` and ``data``, with intervals over groups; nan where nothing was measured."""
    shown = (INFERRED, FIRST_ORDER, WHOLE)
    rows = {
        title: {s: ratio(one, s, model="L") if s in one.source else Estimate(np.nan) for s in shown}
        for title, one in by_data.items()
    }
    return stack({title: stack(row, along="source") for title, row in rows.items()}, along="data")


def by_weight(found):
    """β/α of whole steps by model, of :func:`effects_by_source` and of the moves themselves, with intervals."""
    return {f"{m}-model, {how}": ratio(found, WHOLE, *names, model=m) for m in "IL" for how, names in WEIGHTS.items()}


def sizes(by_data):
    """α and β by the L-model per 1,000 iterations, and β/α: a row for each source, columns for each data set."""
    tables = {}
    for title, one in by_data.items():
        at = one.sel(model="L").isel({"of": 0})
        columns = {"α": 1000 * at.intra, "β": 1000 * at.inter}
        words = {name: [f"{float(v):.2g}" for v in column] for name, column in columns.items()}
        words["β/α"] = [f"{float(v):.2f}" for v in at.inter / at.intra]
        tables[title] = pd.DataFrame(words, index=list(at.source.values)).replace("-", "−", regex=True)
    return pd.concat(tables, axis=1).fillna("")


# --- claims


def block_share(kernel):
    """Mean kernel between classes by that within, of a kernel over (…, class, other)."""
    own = xr.DataArray(np.eye(kernel.sizes["class"], dtype=bool), dims=("class", "other"))
    between, within = (kernel.where(which).mean(["class", "other"]) for which in (~own, own))
    return between / within


@measures("B.3.kernel.elastic")
def elastic(kernels):
    """Kernel between classes by that within, late in training; null: before training."""
    found = {}
    for title, run in kernels.items():
        kernel = run["kernel"].astype(float)
        shares = [block_share(one) for one in (kernel.mean("group"), leave_one_out(kernel, "group"))]
        late, first = [readings.late_mean(one) for one in shares], [one.isel(time=0, drop=True) for one in shares]
        own, less = (
            jackknife(*both, over="group", scatter="symmetric")
            for both in (late, [one - before for one, before in zip(late, first, strict=True)])
        )
        found[title] = replace(own, null=first[0], difference=less.interval)
    return Measurement(stack(found, "data"))


def margin_growth(logits, move):
    """Growth of the mean own-class margin that single steps add up to, by its growth in training.

    ``move`` is what a step on a sample of the class ``trained`` adds to mean logits, (…, time, class, trained, logit).
    """
    k = logits.sizes["class"]
    along = xr.DataArray(np.eye(k) - 1 / k, dims=("class", "logit"))
    margin = (logits * along).sum("logit").mean("class")
    step = (move * along).sum("logit").mean(["class", "trained"])
    return step.integrate("time") / (margin.isel(time=-1) - margin.isel(time=0))


def growth_of(run, move, since):
    """:func:`margin_growth` of the means over groups, with its interval from leaving out each."""
    late = run[["logits", move]].sel(time=slice(since, None)).astype(float)
    both = late.mean("group"), late.map(leave_one_out, over="group")
    return jackknife(*(margin_growth(one["logits"], one[move]) for one in both), over="group", scatter="symmetric")


@measures("B.3.kernel.growth")
def growth(kernels, steps):
    """Growth of margins to first order, by that of training; null: by initial kernels; beside it by whole ``steps``."""
    since = {title: start_of_signal(run) for title, run in kernels.items()}
    found, null = (
        stack({title: growth_of(run, name, since[title]) for title, run in kernels.items()}, "data")
        for name in ("move", "move_frozen")
    )
    times = (f"{title} {at:.0f} of {float(kernels[title].time[-1]):.0f} iterations" for title, at in since.items())
    whole = growth_of(steps, "move", next(iter(since.values())))
    return Measurement(found, null=null.value, detail=f"By whole steps: {whole}. From on: {', '.join(times)}.")


@measures("B.3.kernel.sign")
def sign(found, later):
    """β/α of a step, divided and not, to first order and whole where it was taken; null: initial kernels.

    ``later``: the same of whole steps from later iterations on, by the iteration.
    """
    taken = {
        f"{title}, {source}, {how}": (one, source, WEIGHTS[how])
        for title, one in found.items()
        for source in (FIRST_ORDER, WHOLE)
        for how in WEIGHTS
        if source in one.source
    }
    own = stack({label: ratio(one, source, *names) for label, (one, source, names) in taken.items()}, "data")
    null = stack({label: ratio(one, INITIAL, *names) for label, (one, _, names) in taken.items()}, "data").value
    (whole,) = (by_weight(one) for one in found.values() if WHOLE in one.source)
    each = {"where margins exceed their noise": whole} | {
        f"iteration {at:,}": by_weight(one) for at, one in later.items()
    }
    words = "; ".join(
        f"from {start} on, {', '.join(f'{share} ({name})' for name, share in one.items())}"
        for start, one in each.items()
    )
    return Measurement(own, null=null, detail=f"β/α of whole steps, divided by the size of logits or not: {words}.")
