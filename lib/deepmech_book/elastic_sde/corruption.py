"""Wrong labels: Figs. 4, D.2, D.5 and D.6 of paper B; results of networks are over ``label_error``."""

from functools import partial

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from deepmech.core.estimates import crossing, estimate, jackknife, stack, two_decimals, unknown
from deepmech.metrics.elasticity import effects as rates_of
from deepmech.metrics.elasticity import integrated_effects, log_slope, tail_index
from deepmech_book import figures
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.elastic_sde import panels, readings
from deepmech_book.elastic_sde.readings import mean_norm, start_and_end
from deepmech_book.elastic_sde.words import in_training

FOUR = [0.0, 0.3, 2 / 3, 0.8]
"""Shares of wrong labels that Figs. D.5 and D.6 show."""
IN_LOGITS = {"intra": r"$\hat\alpha\,|\bar X|$", "inter": r"$\hat\beta\,|\bar X|$"}
INDICES = {"intra": r"$\hat r_\alpha$", "inter": r"$\hat r_\beta$"}
TOO_FEW = "integrated effects are not finite in this run; give more than ten trials, or train for longer"
"""Up to ten trials are one group, without which nothing is left; early on, means may have no logarithm."""


def at(array, shares):
    """At about these shares of wrong labels."""
    return array.sel(label_error=shares, method="nearest")


def by_draw(networks, name):
    """A validation result, mean over the trials that share images and labels; as many draws as groups."""
    trials = networks[f"validation_{name}"].transpose("label_error", "trial", "at_iteration").astype(float)
    return trials.coarsen(trial=trials.sizes["trial"] // networks.sizes["group"]).mean().rename(trial="draw")


def at_the_end(networks, name):
    found = estimate(by_draw(networks, name).isel(at_iteration=-1, drop=True), "draw", "symmetric")
    return found.map(lambda end: in_training(end, f"validation {name}"))


def over_groups(networks, measure):
    """A measure of class means, with its interval over groups of trials; of no number where effects are not finite."""
    both = [readings.integrated_by_model(means) for means in readings.without_groups(networks)]
    return readings.over_groups(networks, measure) if finite(*both) else unknown(TOO_FEW)


def finite(*both):
    return all(bool(np.isfinite(one[["A", "B"]].to_array()).all()) for one in both)


# --- validation (Fig. 4(a, b))


def validation_curves(networks):
    """Validation loss and accuracy over training, means with intervals over draws."""
    said = {"loss": "loss (nats)", "accuracy": "accuracy (share)"}
    both = {words: estimate(by_draw(networks, n), "draw", "symmetric") for n, words in said.items()}
    return stack(both, "of").map(lambda end: in_training(end, "on new images"))


@measures("B.4.accuracy_falls")
def accuracy_falls(networks):
    """Steps of validation accuracy at the end from one share of wrong labels to the next."""
    accuracy = by_draw(networks, "accuracy").isel(at_iteration=-1, drop=True)
    return Measurement(estimate(accuracy.diff("label_error"), "draw", "symmetric"))


def accuracy_at(networks, share):
    return at_the_end(networks, "accuracy").map(lambda end: float(at(end, share)))


@measures("B.4.guessing", "B.4.guessing_long")
def guessing(networks):
    """Validation accuracy at the end with two thirds of the labels wrong; null: without wrong labels."""
    return Measurement(accuracy_at(networks, 2 / 3), null=accuracy_at(networks, 0.0))


def change_of_loss(networks, shares):
    """By how much the validation loss on true labels changes over training."""
    loss = at(by_draw(networks, "loss"), shares)
    moved = loss.isel(at_iteration=-1, drop=True) - loss.isel(at_iteration=0, drop=True)
    return estimate(moved, "draw", "symmetric")


@measures("B.4.below", "B.4.below_long")
def below(networks):
    """Change of the validation loss with 60 % of the labels wrong; null: without wrong labels."""
    words = f"Validation accuracy there: {accuracy_at(networks, 0.6).value:.3f}."
    if lost := int(networks.left_out.sum()):
        words += f" {lost} trials diverged and are left out."
    return Measurement(change_of_loss(networks, [0.6]), null=change_of_loss(networks, [0.0]).value.item(), detail=words)


@measures("B.4.loss_stays")
def loss_stays(networks):
    """Change of the validation loss with two thirds of the labels wrong and more."""
    change = change_of_loss(networks, [2 / 3, 0.7, 0.8])
    each = ", ".join(f"{float(v):.3f} ({float(v.label_error):.2f})" for v in change.value)
    return Measurement(change, detail=f"By share of wrong labels: {each}.".replace("-", "−"))


# --- tail indices (Figs. 4(c) and D.2)


def tail_indices(intra, inter):
    """r̂ of both effects over the last 1,000 iterations (Eq. D.19), and the smaller one."""
    last = max(1, round(1000 / readings.step_of(intra)))
    both = xr.Dataset({"intra": tail_index(intra, last=last), "inter": tail_index(inter, last=last)})
    return both.assign(least=np.minimum(both.intra, both.inter))


def by_program(networks, window=None):
    """Indices of all trials with the first record as the start, as the program has it; with ``window`` of rates."""
    if window is None:
        return tail_indices(*readings.integrals(networks, start=1)[["A", "B"]].values())
    return tail_indices(*readings.estimate(networks, window, start=1)[["intra", "inter"]].values())


def of_indices(networks, measure):
    """A measure of indices by the program's start; its scatter over groups is that of means in coarse blocks."""
    without = readings.integrated_by_model(readings.without_groups(networks)[1])
    one = tail_indices(without.A, without.B)
    rest = [measure(one.isel(group=g)) for g in range(one.sizes["group"])]
    return jackknife(measure(by_program(networks)), xr.concat(rest, "group"), over="group", scatter="symmetric")


def both_indices(indices):
    """Over ``effect``."""
    return in_training(panels.both(indices, INDICES), "tail index")


draw_indices = partial(figures.curve_panels, x="label_error", by="effect", level=1.0, legend=False)


@measures("B.4c.crossing")
def crosses_one(networks, draws):
    """How far the smaller index is below 1 with half of the labels wrong, above it with two thirds; over draws."""
    least, where = by_program(networks).least, []
    for model in readings.MODELS:
        share = crossing(least.label_error, least.sel(model=model), 1.0, direction="rises")
        where.append(f"{panels.MODELS[model]}: " + (f"{share:.2f}" if np.isfinite(share) else "never"))
    means = draws.group_mean.rename(slow_time="time", group="draw").astype(float)
    one = by_program(xr.Dataset({"mean": means})).least.sel(model="I")
    sides = xr.concat([1 - at(one, 0.5), at(one, 2 / 3) - 1], "side")
    words = (
        f"On {int((sides > 0).all('side').sum())} of {sides.sizes['draw']} draws it crosses 1 between these shares. "
    )
    words += f"Of ten trials on each of ten draws, taken together: largest min(r̂): {float(least.max()):.2f}; "
    words += f"where it rises to 1: {'; '.join(where)}."
    return Measurement(estimate(sides, "draw", "symmetric"), detail=words)


@measures("B.4c.long")
def after_long(networks):
    """The smaller index, I-model, two thirds of the labels wrong; beside it the loss on the labels as they are."""
    index = of_indices(networks, lambda one: at(one.least.sel(model="I", drop=True), 2 / 3).drop_vars("label_error"))
    loss = at(networks.loss, 2 / 3)
    late = float(loss.isel(time=slice(-(loss.sizes["time"] // 10), None)).mean())
    words = f"Training loss there, on the labels as they are, over the last tenth: {late:.3f}; ln 3 is {np.log(3):.3f}."
    return Measurement(index, detail=words)


@measures("B.D2.overtakes")
def overtakes(networks):
    """The last share of wrong labels at which the L-model's indices change places; its interval is that of a logit."""

    def share(one):
        gap = (one.inter - one.intra).sel(model="L-program")
        return xr.DataArray(logit(crossing(gap.label_error, gap, direction="either", last=True)))

    return Measurement(of_indices(networks, share).map(lambda end: float(expit(end))))


def fading(networks, window, since=0.5):
    """The power with which α̂ − β̂ fades from a share of training on, I-model; null: with two thirds of labels wrong."""
    both = [integrated_effects(at(means, [0.0, 2 / 3]), "I") for means in readings.without_groups(networks)]
    if not finite(*both):
        return unknown(TOO_FEW), None

    def slope(one):
        end, gap = float(one.time[-1]), rates_of(one, readings.window_of(one, window)).gap
        return log_slope(gap, [since * end, end + 1]).isel(interval=0, drop=True)

    (value, null), left = slope(both[0]), slope(both[1]).isel(label_error=0)
    return jackknife(value, left, over="group", scatter="symmetric"), float(null)


@measures("B.4c.slope")
def gap_fades(networks, window):
    found, null = fading(networks, window)
    words = ""
    if found.is_finite:
        quarter, late = (fading(networks, window, since)[0] for since in (0.25, 0.75))
        words = f"From a quarter of training on: {quarter}; from three quarters on: {late}."
    return Measurement(found, null=null, detail=words)


# --- the gap between the effects (Figs. D.5 and D.6)


def by_share_of_labels(curves):
    """By model (rows) and share of wrong labels (columns), as panels."""
    known, curves = curves.attrs, curves.stack(panel=["model", "label_error"])
    titles = [f"{model}, $p$ = {share:.2g}" for model, share in curves.panel.values]
    return curves.drop_vars(["panel", "model", "label_error"]).assign_coords(panel=titles).assign_attrs(known)


def final_gap(means):
    """Â − B̂ at the end of training, mean over the last five times, by model."""
    both = readings.integrated_by_model(means)
    return (both.A - both.B).isel(time=slice(-5, None)).mean("time")


def in_logits(means, name):
    """An effect, or the gap, times the mean norm of class means, by model."""
    return rates_of(readings.integrated_by_model(means), 5)[name] * mean_norm(means)


@measures("B.D5.shrinks")
def gap_shrinks(networks, long):
    """Â − B̂ at the end with wrong labels less that without, by model; beside it its size, after long training too."""
    sizes = [final_gap(readings.without_groups(at(one, FOUR))[0]) for one in (networks, long)]
    words = []
    for model in readings.MODELS:
        short, longer = (", ".join(map(two_decimals, one.sel(model=model).values)) for one in sizes)
        words.append(f"{panels.MODELS[model]}: {short}; after 100,000 iterations: {longer}")

    def less_than_without(means):
        gap = final_gap(means)
        return gap.isel(label_error=slice(1, None)) - gap.isel(label_error=0, drop=True)

    steps = over_groups(at(networks, FOUR), lambda means: final_gap(means).diff("label_error"))
    if steps.is_finite:
        last = steps.map(lambda end: float(end.sel(model="I").isel(label_error=-1)))
        words.append(f"from two thirds to four fifths by the I-model, {last}")
    gap = over_groups(at(networks, FOUR), less_than_without)
    return Measurement(gap, detail=f"The gap by share, {'; '.join(words)}.")


@measures("B.D6.shrinks")
def gap_shrinks_in_logits(networks):
    """Steps of the mean gap in logits from one share to the next, by model."""
    steps = lambda means: abs(in_logits(means, "gap")).mean("time").diff("label_error")  # noqa: E731
    return Measurement(over_groups(at(networks, FOUR), steps))


def end_in_logits(networks, part):
    """Start (first 3 %) or end (last tenth) of α̂ times the norm by its maximum, by model; null: of the norm alone."""
    share = lambda curve: (start_and_end(curve) / curve.max("time")).sel(label_error=0.0, part=part, drop=True)  # noqa: E731
    ends = over_groups(at(networks, FOUR), lambda means: share(in_logits(means, "intra")))
    null = float(share(mean_norm(readings.without_groups(at(networks, FOUR))[0])))
    words = (
        "; ".join(f"{panels.MODELS[m]}: {float(ends.value.sel(model=m)):.2f}" for m in readings.MODELS) + "."
        if ends.is_finite
        else ""
    )
    return Measurement(ends, null=null, detail=words)


@measures("B.D6.rises")
def begins_small(networks):
    return end_in_logits(networks, "start")


@measures("B.D6.falls")
def ends_small(networks):
    return end_in_logits(networks, "end")
