"""Basins and valleys (Fig. 6 measured): kicks, curvatures, heights of paths; of the glass, then of networks."""

from dataclasses import replace

import numpy as np
import pandas as pd

from deepmech.core.estimates import estimate
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.glass.words import said

HEIGHT = "Height of the barrier, in units of the walk's temperature"
SPHERE = "Evenness of curvatures (participation ratio; 1 for a sphere)"


def share_left(survey):
    """Share of a kick that is left after a quench, median over directions: 0 in a basin wider than the kick, 1 if
    nothing is undone."""
    return survey.strays.median("direction")


def bowls(survey, steps):
    """What is left of a kick in a bowl with the measured curvatures (the largest is 1), after as many steps.

    Steps are 0.5/k_max, of which the networks' own are between a third and thrice: of a kick along a direction of
    curvature k each leaves 1 - k/(2 k_max).
    """
    left = (1 - 0.5 * survey.curvature.clip(0, 1)) ** steps
    return ((left**2).mean("probability") ** 0.5).median("seed")


def barriers(survey):
    """The highest point of paths along the walk (near) and to an independent place (far), above the higher end."""
    return survey[["near", "far"]].max("place").clip(min=0)


def random_roundness(survey, n_data):
    """The participation ratio (Σk)²/(nΣk²) of random least squares with as many weights N and samples P_D.

    The eigenvalues of a Wishart matrix have mean 1 and mean square 1 + N/P_D, so that it is 1/(1 + N/P_D).
    """
    return 1 / (1 + survey.n_coordinates.isel(seed=0) / n_data)


# --- pictures and the table


def energies(first):
    """Energies over the planes of a seed through three quenched places."""
    return said(first["slice"], "energy above the lowest point", "$T$")


def energies_around(first):
    """Energies over planes of one scale around the first place, as a share of what was gained."""
    return said(first.wide / first.gained, "energy above the lowest point", "share of what was gained")


def kicks(survey, steps):
    """Shares left of kicks, no less than 10⁻⁶, and in bowls of the networks' curvatures."""
    left = said(share_left(survey).median("seed").clip(min=1e-6), "share left after the quench")
    return left, bowls(survey, steps).isel(system=slice(1, None)).expand_dims(kick=survey.kick)


def overview(survey):
    """All that was measured, in words, medians over seeds: one column a system."""
    middle, left, heights = survey.median("seed"), share_left(survey).median("seed"), barriers(survey)
    barrier = heights.near.sel(path="relaxed").median("seed")
    far = (heights.far / survey.gained).median("seed")
    columns = {}
    for system in survey.system.values:
        one, hops, kept = middle.sel(system=system), survey.hop.sel(system=system), left.sel(system=system)
        name = str(system).replace("param", "\u00adparam")  # may be broken there
        columns[name] = {
            "coordinates": f"{int(one.n_coordinates)}",
            "diverged, replaced": f"{int(survey.left_out.sel(system=system).sum())}",
            "from place to place": f"{float(hops.min()):.2g} to {float(hops.max()):.2g}",
            **{f"share left of a kick of length {float(kept.kick[i]):g}": f"{float(kept[i]):.2g}" for i in (0, -1)},
            "participation ratio": f"{float(one.roundness):.2g}",
            "flat directions": f"{100 * float(one.flat):.0f} %",
            "barrier along walk": f"{float(barrier.sel(system=system)):.2g}",
            "to another, straight": f"{float(far.sel(system=system, path='straight')):.2g}",
            "to another, relaxed": f"{float(far.sel(system=system, path='relaxed')):.2g}",
        }
    return pd.DataFrame(columns)


# --- claims


def by_factor(numbers):
    """Their mean over seeds on a logarithm, on which they scatter evenly."""
    return estimate(np.log(numbers), "seed", "symmetric").map(np.exp)


def listed(words, values):
    """Numbers of the systems that have one in all runs, in a sentence that says what they are, with two digits."""
    values = values.dropna("system")
    rounded = ((name, float(f"{float(values.sel(system=name)):.2g}")) for name in values.system.values)
    return f"{words}: {', '.join(f'{value:,.10g} ({name})' for name, value in rounded)}."


def of_glass(found, null, words):
    """The glass's number and its null, with those of the networks in words."""
    return Measurement(found.map(lambda end: float(end.sel(system="glass"))), None, null, listed(words, found.value))


def of_networks(found, null, words):
    """The networks' numbers and their nulls, with that of the glass in words."""
    networks = found.value.system.values[1:]
    own, null = found.map(lambda end: end.sel(system=networks)), null.sel(system=networks)
    return Measurement(own, None, null, listed(words, found.value))


@measures("C.6.glass.length")
def length(survey):
    """What is left of a long kick over what is left of a short one."""
    left = share_left(survey)
    words = "How many times as large a share a quench leaves of a kick of 0.3 as of one of 0.01"
    return of_glass(by_factor(left.sel(kick=0.3, drop=True) / left.sel(kick=0.01, drop=True)), 1.0, words)


@measures("C.6.glass.barrier")
def barrier(survey):
    """The barrier along the relaxed path between two places of one walk."""
    heights = barriers(survey).near.sel(path="relaxed", drop=True)
    found = by_factor(heights.sel(system=["glass"]))
    return replace(of_glass(found, 0.0, ""), detail=listed(HEIGHT, heights.median("seed")))


@measures("C.6.glass.round")
def roundness(survey):
    """The participation ratio of curvatures; the null: regularised networks."""
    found = estimate(survey.roundness, "seed", "symmetric")
    return of_glass(found, float(found.value.sel(system="regularised")), SPHERE)


@measures("C.6.no_length")
def no_length(survey, steps):
    """What is left of the shortest kick of networks; the null: bowls of the same curvatures, after as many steps."""
    left = by_factor(share_left(survey).isel(kick=0, drop=True))
    return of_networks(left, bowls(survey, steps), "Share of the shortest kick that a quench leaves")


@measures("C.6.extended")
def extended(survey, n_data):
    """The participation ratio of curvatures of networks; the null: random least squares."""
    found = estimate(survey.roundness, "seed", "symmetric")
    return of_networks(found, random_roundness(survey, n_data), SPHERE)
