"""Figs. S10 and S11: another measure of data separation; Fig. S12: the error of a linear probe, without classes.

``made`` are networks over ``slope``, ``dropout``, ``seed`` and ``metric``; of Fig. S12, over ``regime`` (from lazy to
noisy, and "untrained") and ``seed``.
"""

from deepmech.core.estimates import rank_correlation
from deepmech.metrics.curvature import curvature
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside, made_beside
from deepmech_book.spring_block.summaries import NetworkDiagram
from deepmech_book.spring_block.words import said


def by_metric(made):
    """The same networks in D and in D̂."""
    return made.sel(metric="D", drop=True), made.sel(metric="D_hat", drop=True)


# --- pictures


def curvatures(made):
    """Curvature of every cell in D and in D̂, means over seeds, and its negative slope."""
    one, other = (measured["curvature"].mean("seed") for measured in by_metric(made))
    slope = one["slope"].broadcast_like(one).transpose(*one.dims)
    return said(one, "curvature of $D$"), said(other, r"curvature of $\hat D$"), slope


def by_dropout(made):
    """Load curves over dropout of ReLU and of linear networks in both metrics, mean over seeds, by title."""
    mean = made["load_curve"].mean("seed")
    return {
        f"{kind}, {name}": mean.sel(slope=slope, metric=metric, drop=True)
        for slope, kind in ((0.0, "ReLU"), (1.0, "linear"))
        for metric, name in (("D", "$D$"), ("D_hat", r"$\hat D$"))
    }


# --- claims


@measures("A.S10.dropout_bends")
def dropout_bends(made):
    """Rank correlation of the curvature of D̂ with dropout, by slope."""
    return Measurement(NetworkDiagram(by_metric(made)[1]).bends())


@measures("A.S11.relu_agrees")
def relu_agrees(made):
    """Rank correlation over dropout of both curvatures, of ReLU networks."""
    trace, hat = (one["curvature"].sel(slope=0.0, drop=True) for one in by_metric(made))
    return Measurement(rank_correlation(trace, hat, "seed"))


@measures("A.S11.linear_flat")
def linear_flat(made):
    """Range of D̂ over the layers over that of D, by dropout, in linear networks; the null: in ReLU networks."""

    def share(slope):
        def of_mean(some):
            load = some["load_curve"].sel(slope=slope, drop=True).mean("seed")
            span = load.max("layer") - load.min("layer")
            return span.sel(metric="D_hat", drop=True) / span.sel(metric="D", drop=True)

        return of_mean

    return Measurement(made_beside(made[["load_curve"]], "seed", share(1.0), share(0.0), "skewed"))


def beside_untrained(made, regime):
    """Mean height over the chord, in units of D, in a regime; null: before training."""
    load = made["load_curve"]
    height = curvature(load) * (load.max("layer") - load.min("layer"))
    before = height.sel(regime="untrained", drop=True)
    bend = height.drop_sel(regime="untrained").isel(regime=regime, drop=True)
    return Measurement(beside(bend, before, "seed", "skewed"))


@measures("A.S12.lazy")
def lazy(made):
    """In the first regime."""
    return beside_untrained(made, 0)


@measures("A.S12.noisy")
def noisy(made):
    """In the last regime."""
    return beside_untrained(made, -1)
