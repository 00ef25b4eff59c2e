"""Basins and valleys (Fig. 6 measured): what a quench leaves of kicks, curvatures, and heights of paths.

Datasets are those of :func:`deepmech_book.sweeps.glass.landscape.standard`, over ``system`` (the glass first, then
networks of three phases) and ``seed``.
"""

from __future__ import annotations

import pandas as pd
import xarray as xr

__all__ = ["barriers", "bowls", "jump", "list_systems", "overview", "random_roundness", "share_left"]


def share_left(survey: xr.Dataset) -> xr.DataArray:
    """The share of a kick that is left after a quench: 0 in a basin wider than the kick, 1 where nothing is undone.

    Parameters
    ----------
    survey : Dataset
        ``strays`` over ``system``, ``seed``, ``direction`` and ``kick``.

    Returns
    -------
    DataArray
        Median over directions and seeds.
    """
    return survey.strays.median(["seed", "direction"])


def bowls(survey: xr.Dataset, steps: int) -> xr.DataArray:
    """The share of a kick that is left in a bowl with the measured curvatures, after as many steps.

    Steps are 0.5/k_max, of which the networks' own are between a third and thrice: of a kick along a direction of
    curvature k each leaves 1 - k/(2 k_max).

    Parameters
    ----------
    survey : Dataset
        ``curvature``, of which the largest is 1, over ``system``, ``seed`` and ``probability`` (equally spaced shares
        of the directions).
    steps : int
        Of the descent.

    Returns
    -------
    DataArray
        Root mean square over directions, median over seeds, over ``system``.
    """
    left = (1 - 0.5 * survey.curvature.clip(0, 1)) ** steps
    return ((left**2).mean("probability") ** 0.5).median("seed")


def jump(left: xr.DataArray, long: float = 0.3, short: float = 0.01) -> xr.DataArray:
    """What is left of a long kick over what is left of a short one: 1 in a bowl, which has no length.

    Parameters
    ----------
    left : DataArray
        Of :func:`share_left`.
    """
    return left.sel(kick=long) / left.sel(kick=short)


def barriers(survey: xr.Dataset) -> dict[str, xr.DataArray]:
    """The highest point of each path above its higher end, no less than 0.

    Parameters
    ----------
    survey : Dataset
        ``near`` (along the walk) and ``far`` (to an independent place), energies above the higher end in temperatures,
        over ``place`` and more.

    Returns
    -------
    dict of str to DataArray
        Of ``near`` and of ``far``.
    """
    return {which: survey[which].max("place").clip(min=0) for which in ("near", "far")}


def random_roundness(survey: xr.Dataset, n_data: int) -> xr.DataArray:
    """The participation ratio (Σk)²/(nΣk²) of random least squares with as many weights N and samples P_D.

    The eigenvalues of a Wishart matrix have mean 1 and mean square 1 + N/P_D, so that it is 1/(1 + N/P_D).

    Parameters
    ----------
    survey : Dataset
        ``n_coordinates`` over ``system`` and ``seed``.
    n_data : int
        P_D.
    """
    return 1 / (1 + survey.n_coordinates.isel(seed=0) / n_data)


def list_systems(words: str, values: xr.DataArray) -> str:
    """Numbers of all systems in a sentence that says what they are, with two digits.

    Parameters
    ----------
    words : str
        What the numbers are.
    values : DataArray
        Over ``system``.

    Examples
    --------
    >>> list_systems("Height", xr.DataArray([84216.6, 0.926], {"system": ["glass", "regularised"]}, "system"))
    'Height: 84,000 (glass), 0.93 (regularised).'
    """
    rounded = ((name, float(f"{float(values.sel(system=name)):.2g}")) for name in values.system.values)
    return f"{words}: {', '.join(f'{value:,.10g} ({name})' for name, value in rounded)}."


def overview(survey: xr.Dataset) -> pd.DataFrame:
    """All that was measured, in words, medians over seeds: one column a system.

    Parameters
    ----------
    survey : Dataset
        Kicks and hops in units of the landscape's own scale, energies in temperatures; ``gained`` is what preparation
        took away.
    """
    middle, left, heights = survey.median("seed"), share_left(survey), barriers(survey)
    barrier = heights["near"].sel(path="relaxed").median("seed")
    far = (heights["far"] / survey.gained).median("seed")
    columns = {}
    for system in survey.system.values:
        one, hops, kept = middle.sel(system=system), survey.hop.sel(system=system), left.sel(system=system)
        name = str(system).replace("param", "\u00adparam")  # may be broken there
        columns[name] = {
            "coordinates": f"{int(one.n_coordinates)}",
            "diverged, replaced": f"{int(survey.left_out.sel(system=system).sum())}",
            "from place to place": f"{float(hops.min()):.2g} to {float(hops.max()):.2g}",
            **{f"left of kick {float(kept.kick[i]):g}": f"{float(kept[i]):.2g}" for i in (0, -1)},
            "participation ratio": f"{float(one.roundness):.2g}",
            "flat directions": f"{100 * float(one.flat):.0f} %",
            "barrier along walk": f"{float(barrier.sel(system=system)):.2g}",
            "to another, straight": f"{float(far.sel(system=system, path='straight')):.2g}",
            "to another, relaxed": f"{float(far.sel(system=system, path='relaxed')):.2g}",
        }
    return pd.DataFrame(columns)
