"""Claims of the page laws/equal_separation; ``stops`` are networks of the zoo by what a law asks of them."""

from __future__ import annotations

from deepmech_book.bench import straightness
from deepmech_book.bench.stars import means
from deepmech_book.bench.straightness import Stops
from deepmech_book.claims.functions import Measurement, measures


@measures("A.1.law.late")
def late(stops: Stops) -> Measurement:
    """Share of networks whose bend of D̂ is smaller after the last epoch than at the loss."""
    return Measurement(straightness.smaller_bends(stops.early, stops.late))


@measures("A.1.law.straight")
def straight(stops: Stops) -> Measurement:
    """Correlation of D̂ with the layer in deep networks; null: of falling curves with random steps."""
    hat = stops.deep.load_curve_hat
    by_chance = straightness.correlation(straightness.random_curves(hat))
    return Measurement(means(stops.deep, straightness.correlation(hat), by_chance))


@measures("A.1.law.selected")
def selected(stops: Stops) -> Measurement:
    """Bend of the most accurate tenth less that of all others; null: of the tenth with the lowest loss."""
    return Measurement(straightness.tenths(stops.after))


@measures("A.1.law.progressive")
def progressive(stops: Stops) -> Measurement:
    """Share of trained networks in which D never rises from a layer to the next; null: before training."""
    now, then = map(straightness.never_rises, (stops.trained, stops.untrained))
    return Measurement(means(stops.trained, now, then))
