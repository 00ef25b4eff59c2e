"""Neural collapse in the L-model with α = 1 and no noise: Proposition 3.4 of paper B."""

import numpy as np
import xarray as xr

from deepmech.core.estimates import proportion
from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.separability import etf_distance
from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.elastic_sde import logits
from deepmech_book.elastic_sde.words import said

NEAR = 0.1
"""Distance from a simplex below which class means count as one; directions at random have about 1."""


def random_starts(n_starts):
    """Normal class means (start, class, logit), signed so that the mean margin d_k · X̄ᵏ is positive, as in training."""
    x = np.array([Stream.of("elastic collapse", seed).normal("start", 3, (3, 3)) for seed in range(n_starts)])
    return x * np.sign(np.trace(x, axis1=1, axis2=2) - x.sum((1, 2)) / 3)[:, None, None]


def fading(size):
    """An effect between classes β = −``size`` e^(−t), whose integral B stays above −``size``, for t up to 60."""
    at = np.linspace(0, 60, 6001)
    return xr.DataArray(-size * np.exp(-at), {"time": at}, "time")


def means(inter, times, starts):
    """Class means from every start, whose effect between classes is ``inter``."""
    model = ElasticSDE(1.0, inter, starts.shape[-1], structure="logits", noise=0.0)
    return xr.concat([mean_solution(model, times, x0)["mean"] for x0 in starts], over("start", range(len(starts))))


def distance(inter, times, starts):
    """How far class means are from the equiangular tight frame of Eq. 10, over ``start`` and ``time``."""
    return said(etf_distance(means(inter, times, starts)), "distance from a simplex")


def directions(inter, times, starts):
    """Unit vectors of class means in the plane across (1, 1, 1), over ``time``, ``point`` and ``axis``."""
    flat = logits.in_the_plane(means(inter, times, starts).rename(feature="logit"))
    flat = (flat / (flat**2).sum("axis") ** 0.5).stack(point=("start", "class"))
    return flat.reset_index("point").transpose("time", "point", "axis")


TRIANGLE = np.array([[1, 1], [-1, 1], [0, -2], [1, 1]]) / np.sqrt([4 / 3, 4])
"""The corners of the simplex in that plane, on the unit circle, and the first again."""


# --- claims


def in_simplex(distance):
    """Share of starts that end in a simplex."""
    return proportion((distance.isel(time=-1, drop=True) < NEAR).mean("start"), distance.sizes["start"])


@measures("B.prop34.collapses")
def collapses(distance):
    """Share of starts in a simplex, over repelling classes; the null: the largest over attracting ones."""
    attracted = in_simplex(distance.where(distance.inter > 0, drop=True))
    return Measurement(in_simplex(distance.where(distance.inter < 0, drop=True)), null=float(attracted.value.max()))


@measures("B.prop34.printed")
def printed(bounded, distance):
    """Share of starts in a simplex where B stays bounded; ``distance`` of constant effects has the null."""
    return Measurement(in_simplex(bounded), null=collapses(distance).null)
