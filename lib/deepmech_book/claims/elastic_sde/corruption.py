"""Claims of the page elastic_sde/corruption: Figs. 4, D.2, D.5 and D.6 of paper B, networks with wrong labels.

Runs are results of networks over ``label_error`` (:mod:`deepmech_book.sweeps.elastic_sde.networks`): trained as long as
the authors' program does, or ``long``, as the text says.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.estimates import crossing, estimate
from deepmech_book.analysis.elastic_sde import effects, wrong_labels
from deepmech_book.analysis.elastic_sde.curves import mean_norm
from deepmech_book.claims.functions import Measurement, measures

MODELS = effects.MODELS

# --- validation (Fig. 4(a, b)) ----------------------------------------------------------------------------------------


@measures("B.4.accuracy_falls")
def accuracy_falls(networks: xr.Dataset) -> Measurement:
    """Steps of validation accuracy at the end from one share of wrong labels to the next."""
    accuracy = wrong_labels.by_draw(networks, "accuracy").isel(at_iteration=-1, drop=True)
    return Measurement(estimate(accuracy.diff("label_error"), "draw", "symmetric"))


@measures("B.4.guessing", "B.4.guessing_long")
def guessing(networks: xr.Dataset) -> Measurement:
    """Validation accuracy at the end with two thirds of the labels wrong; null: without wrong labels."""
    return Measurement(wrong_labels.validation_at(networks, 2 / 3), null=wrong_labels.validation_at(networks, 0.0))


@measures("B.4.below", "B.4.below_long")
def below(networks: xr.Dataset) -> Measurement:
    """Change of the validation loss with 60 % of the labels wrong; null: without wrong labels."""
    change, clean = (wrong_labels.change_of_loss(networks, [share]) for share in (0.6, 0.0))
    words = f"Validation accuracy there: {wrong_labels.validation_at(networks, 0.6).value:.3f}."
    if lost := int(networks["left_out"].sum()):
        words += f" {lost} trials diverged and are left out."
    return Measurement(change, null=clean.value.item(), detail=words)


@measures("B.4.loss_stays")
def loss_stays(networks: xr.Dataset) -> Measurement:
    """Change of the validation loss with two thirds of the labels wrong and more; beside it, of each share."""
    change = wrong_labels.change_of_loss(networks, [2 / 3, 0.7, 0.8])
    each = ", ".join(f"{float(v):.3f} ({float(v.label_error):.2f})" for v in change.value)
    return Measurement(change, detail=f"By share of wrong labels: {each}.".replace("-", "−"))


# --- tail indices (Figs. 4(c) and D.2) --------------------------------------------------------------------------------


@measures("B.4c.crossing")
def index_crosses_one(networks: xr.Dataset, draws: xr.Dataset) -> Measurement:
    """How far the smaller index is from 1 on either side, half and two thirds of the labels wrong, mean over draws."""
    least, where = wrong_labels.indices_by_program(networks)["least"], []
    for model in MODELS:
        at = crossing(least["label_error"], least.sel(model=model), 1.0, direction="rises")
        where.append(f"{model}-model: " + (f"{at:.2f}" if np.isfinite(at) else "never"))
    sides = wrong_labels.about_one_by_draw(draws)
    crossed = int((sides > 0).all("side").sum())
    words = f"On {crossed} of {sides.sizes['draw']} draws it crosses 1 between these shares. "
    words += f"Of ten trials on each of ten draws, taken together: largest min(r̂): {float(least.max()):.2f}; "
    words += f"where it rises to 1: {'; '.join(where)}."
    return Measurement(estimate(sides, "draw", "symmetric"), detail=words)


@measures("B.4c.slope")
def gap_fades(networks: xr.Dataset, window: int) -> Measurement:
    """Power with which the gap fades without wrong labels; null: with two thirds of them wrong."""
    found = wrong_labels.fading_slope(networks, window)
    words = ""
    if found.is_finite:
        quarter, late = (wrong_labels.fading_slope(networks, window, since) for since in (0.25, 0.75))
        words = f"From a quarter of training on: {quarter}; from three quarters on: {late}."
    return Measurement(found, detail=words)


@measures("B.4c.long")
def index_after_long(networks: xr.Dataset) -> Measurement:
    """The smaller index, I-model, two thirds of the labels wrong; beside it the loss on the labels as they are."""
    share = {"label_error": 2 / 3}
    index = wrong_labels.indices_over_groups(
        networks, lambda one: one["least"].sel(model="I", drop=True).sel(share, method="nearest", drop=True)
    )
    loss = networks["loss"].sel(share, method="nearest")
    late = float(loss.isel(time=slice(-(loss.sizes["time"] // 10), None)).mean())
    words = f"Training loss there, on the labels as they are, over the last tenth: {late:.3f}; ln 3 is {np.log(3):.3f}."
    return Measurement(index, detail=words)


@measures("B.D2.overtakes")
def indices_change_places(networks: xr.Dataset) -> Measurement:
    """The last share of wrong labels at which the L-model's indices change places."""
    return Measurement(wrong_labels.indices_over_groups(networks, wrong_labels.overtaking_share))


# --- the gap between the effects (Figs. D.5 and D.6) ------------------------------------------------------------------


def _four(networks: xr.Dataset) -> xr.Dataset:
    return networks.sel(label_error=list(wrong_labels.FOUR), method="nearest")


@measures("B.D5.shrinks")
def gap_shrinks(networks: xr.Dataset, long: xr.Dataset) -> Measurement:
    """Steps of Â − B̂ at the end from one share to the next, by model; beside it its size, after long training too."""
    gap = wrong_labels.measured_over_groups(
        _four(networks), lambda means: wrong_labels.final_gap(means).diff("label_error")
    )
    sizes = [wrong_labels.final_gap(effects.without_groups(_four(one))[0]) for one in (networks, long)]
    words = []
    for model in MODELS:
        short, longer = (", ".join(f"{abs(v):.1f}" for v in one.sel(model=model).values) for one in sizes)
        words.append(f"{model}-model: {short}; after 100,000 iterations: {longer}")
    return Measurement(gap, detail=f"Size of the gap by share, {'; '.join(words)}.")


@measures("B.D6.shrinks")
def gap_shrinks_in_logits(networks: xr.Dataset) -> Measurement:
    """Steps of the mean gap in logits from one share to the next, by model."""
    return Measurement(
        wrong_labels.measured_over_groups(
            _four(networks), lambda means: wrong_labels.gap_in_logits(means).diff("label_error")
        )
    )


def _end_in_logits(networks: xr.Dataset, part: str) -> Measurement:
    """Start or end of α̂ times the norm by its maximum, by model; null: of the norm alone."""
    four = _four(networks)
    ends = wrong_labels.measured_over_groups(four, wrong_labels.intra_in_logits)
    null = wrong_labels.ends_by_maximum(mean_norm(effects.without_groups(four)[0])).sel(part=part)
    words = ""
    if ends.is_finite:
        ends = ends.map(lambda end: end.sel(part=part, drop=True))
        words = "; ".join(f"{m}: {float(ends.value.sel(model=m)):.2f}" for m in MODELS) + "."
    return Measurement(ends, null=float(null), detail=words)


@measures("B.D6.rises")
def begins_small(networks: xr.Dataset) -> Measurement:
    """The first 3 %."""
    return _end_in_logits(networks, "start")


@measures("B.D6.falls")
def ends_small(networks: xr.Dataset) -> Measurement:
    """The last tenth."""
    return _end_in_logits(networks, "end")
