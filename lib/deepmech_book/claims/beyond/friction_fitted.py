"""Claims of the page beyond/friction_fitted.

``fit`` are the chains fitted to networks over ``slope``, ``dropout`` and ``seed``; ``known`` are those fitted to chains
of which both claims are true (:func:`deepmech_book.analysis.beyond.friction_fitted.in_order`).
"""

from __future__ import annotations

import xarray as xr

from deepmech.core.estimates import two_decimals
from deepmech_book.analysis.beyond.friction_fitted import follows, over_seeds, shuffled
from deepmech_book.claims.functions import Measurement, measures


@measures("A.1.fitted.friction")
def friction(fit: xr.Dataset, known: xr.Dataset) -> Measurement:
    """Rank correlation of friction to the right with the slope; null: cells of each column shuffled."""
    return _beside_shuffled(fit["friction_right"], known["friction_right"], "slope", -1)


@measures("A.1.fitted.noise")
def noise(fit: xr.Dataset, known: xr.Dataset) -> Measurement:
    """Rank correlation of noise with dropout; null: cells of each row shuffled."""
    return _beside_shuffled(fit["noise_bar"], known["noise_bar"], "dropout", 1)


@measures("A.1.fitted.epochs")
def epochs(fit: xr.Dataset, rival: xr.Dataset) -> Measurement:
    """R² of the chain less that of the relaxation at the epochs not seen, median over cells."""
    return Measurement(over_seeds((fit["r2"] - rival["r2"]).median(["slope", "dropout"])))


def _beside_shuffled(number: xr.DataArray, known: xr.DataArray, along: str, sign: int) -> Measurement:
    """``sign`` is that of the rank correlation which the claim asks for; where it is true, it has to hold."""
    (found, null), (could, chance) = (
        (over_seeds(follows(one, along)), float(shuffled(one, along).quantile(0.025 if sign < 0 else 0.975)))
        for one in (number, known)
    )
    words = f"In chains of which it is true the fit finds {could}; chance goes to {two_decimals(chance)}."
    nearest = min(sign * float(could.low), sign * float(could.high))
    if not could.is_finite or nearest <= max(0.0, sign * chance):
        return Measurement(not_testable=f"the fit cannot tell. {words} In the networks it finds {found}.")
    return Measurement(found, null=null, detail=words)
