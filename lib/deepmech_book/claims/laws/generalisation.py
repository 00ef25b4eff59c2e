"""Claims of the page laws/generalisation, by the three predictions of ``book/laws`` that it settles.

``found`` is what the bench finds of measures by name (:func:`deepmech_book.bench.judge.judge_all`); ``networks`` are
records of later networks, at the stop of the part that a claim is about (:func:`deepmech_book.bench.record`).
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech_book.bench import fresh_networks, tables
from deepmech_book.bench.fresh_networks import BEND, Pairs, pairs_of
from deepmech_book.bench.judge import Judgement, compared
from deepmech_book.claims.functions import Measurement, measures

Found = Mapping[str, Judgement]
VALIDATION = "error, validation split"

# --- generalisation.yml -----------------------------------------------------------------------------------------------


@measures("A.1.law.bend")
def bend(found: Found) -> Measurement:
    """Mean sign error of the bend; null: of the number of weights."""
    return Measurement(compared(found[BEND], found["parameters"]))


@measures("A.1.law.worst")
def worst(found: Found) -> Measurement:
    """Sign error of the bend in its worst environment."""
    one = found[BEND]
    return Measurement(one.worst, detail=f"It does worst where this differs: {one.where}. {_environments(found)}")


@measures("A.1.law.load")
def load(found: Found) -> Measurement:
    """Mean sign error of D after the last hidden layer; null: of sharpness."""
    return Measurement(compared(found["load after the last layer"], found["sharpness, worst"]))


@measures("A.1.law.validation")
def validation(found: Found) -> Measurement:
    """Mean sign error of D of a validation split; null: of the error on it."""
    return Measurement(compared(found["load, validation split"], found[VALIDATION]))


@measures("A.1.law.every")
def every(found: Found) -> Measurement:
    """The least sign error where a measure does worst; null: of the error on the validation split."""
    best, least = tables.least_worst(found)
    words = f"The least is that of: {best}. {_environments(found)}"
    return Measurement(least, null=float(found[VALIDATION].worst.value), detail=words)


def _environments(found: Found) -> str:
    one = found[BEND]
    return f"Environments whose pairs can be told apart: {one.errors.size} of {one.n_environments}."


# --- fresh_networks.yml -----------------------------------------------------------------------------------------------


@measures("A.1.law.fresh_error")
def fresh_error(networks: xr.Dataset) -> Measurement:
    """Sign error of the bend on the test error, at equal loss; null: of the training loss."""
    return _beside_training_loss(networks, pairs_of(networks, "equal loss"))


@measures("A.1.law.fresh_fit")
def fresh_fit(networks: xr.Dataset) -> Measurement:
    """The same of networks that fit."""
    return _beside_training_loss(networks, pairs_of(networks, "fit"))


@measures("A.1.law.fresh_median")
def fresh_median(networks: xr.Dataset) -> Measurement:
    """Sign error of the bend less the median of the other measures, on the test error, at equal loss."""
    return _less_median(networks, pairs_of(networks, "equal loss"))


# --- more_networks.yml: every pair alike ------------------------------------------------------------------------------


@measures("A.1.law.more_fit_error")
def more_fit_error(networks: xr.Dataset) -> Measurement:
    """Sign error of the bend on the test error, of networks that fit; null: of the training loss."""
    return _beside_training_loss(networks, pairs_of(networks, "fit", equal=True))


@measures("A.1.law.more_fit_loss")
def more_fit_loss(networks: xr.Dataset) -> Measurement:
    """The same on the test loss."""
    return _beside_training_loss(networks, pairs_of(networks, "fit", "loss", equal=True))


@measures("A.1.law.more_error")
def more_error(networks: xr.Dataset) -> Measurement:
    """The same on the test error, at equal loss."""
    return _beside_training_loss(networks, pairs_of(networks, "equal loss", equal=True))


@measures("A.1.law.more_median")
def more_median(networks: xr.Dataset) -> Measurement:
    """Sign error of the bend less the median of the other measures, on the test error, of networks that fit."""
    return _less_median(networks, pairs_of(networks, "fit", equal=True))


def _beside_training_loss(networks: xr.Dataset, pairs: Pairs) -> Measurement:
    if not pairs.judged.size:
        return Measurement(not_testable=pairs.too_light)
    names = [BEND, "training loss"]
    own, null = fresh_networks.sign_errors(networks, pairs, names).values()
    return Measurement(fresh_networks.beside_null(own, null, pairs.n_stars))


def _less_median(networks: xr.Dataset, pairs: Pairs) -> Measurement:
    if not pairs.judged.size:
        return Measurement(not_testable=pairs.too_light)
    return Measurement(fresh_networks.less_median(fresh_networks.sign_errors(networks, pairs), pairs.n_stars))
