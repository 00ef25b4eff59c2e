"""How far weights go (Fig. 5): mean squared displacements, beside free walks and weights that only decay.

MSD(t) = ⟨[w(t_w + t) - w(t_w)]²⟩, the mean over weights. A free walk has 2Dt with D = μT/P_D (Eq. 5); weights in the
well λw²/2, in equilibrium, have 2T/(λP_D) (1 - exp(-μλt)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, unknown
from deepmech.metrics import relaxation
from deepmech.metrics.relaxation import exponent
from deepmech.simulators.brownian import Well, well_msd
from deepmech_book.analysis.glass import phases, plateaus, regimes
from deepmech_book.sweeps.glass import walks

__all__ = [
    "PAPER_RECORD",
    "at_paper_record",
    "beside_nulls",
    "cages",
    "displacement",
    "displacements_by_phase",
    "early_diffusion",
    "end_power",
    "free_displacement",
    "last_over_free",
    "local_powers",
    "swings",
]

PAPER_RECORD = 300_000
"""Steps after the wait at which the paper's record of batches ends (Fig. 5(d))."""

TOO_FAST = "the landscape moves weights at once; train networks for longer (sgd_steps)"


def displacement(run: xr.Dataset) -> xr.DataArray:
    """Mean squared displacement of every initial condition after the first wait, at the recorded times.

    Parameters
    ----------
    run : Dataset
        Walks of one phase, with ``msd`` over ``seed``, ``waiting``, ``time`` and more.
    """
    return run.msd.isel(waiting=0, drop=True).dropna("time")


def free_displacement(run: xr.Dataset) -> xr.DataArray:
    """2Dt of a free walk (Eq. 5), at each temperature above 0 and each time of a run."""
    warm = run.temperature[run.temperature > 0]
    return 2 * walks.diffusion(1.0) * warm * run.time.astype(float)


def displacements_by_phase(runs: Mapping[str, xr.Dataset]) -> tuple[xr.DataArray, xr.DataArray]:
    """Mean squared displacements and those of free walks, a panel for each phase (Fig. 5(a-c)).

    Parameters
    ----------
    runs : mapping of str to Dataset
        Phase -> walks.

    Returns
    -------
    tuple of DataArray
        Means over runs, over ``phase``, ``temperature`` and ``time``; of free walks nan at T = 0.
    """
    moved = phases.panels({phase: displacement(run).mean("seed") for phase, run in runs.items()})
    free = phases.panels({phase: free_displacement(run) for phase, run in runs.items()})
    return moved, free.reindex(temperature=moved.temperature)


def beside_nulls(run: xr.Dataset, temperature: float) -> xr.DataArray:
    """Displacements of networks, of free walks and of weights in equilibrium in the well of weight decay.

    Parameters
    ----------
    run : Dataset
        Walks of one phase.
    temperature : float
        As the paper counts it.

    Returns
    -------
    DataArray
        Over ``kind`` (networks, mean over runs; free walks; weight decay alone) and ``time``.
    """
    well = Well(phases.weight_decay(run), temperature, walks.RATE, walks.P_D)
    kinds = {
        "networks": displacement(run).mean("seed").sel(temperature=temperature, drop=True),
        "free walks": free_displacement(run).sel(temperature=temperature, drop=True),
        "weight decay alone": ("time", well_msd(run.time.values, well)),
    }
    return xr.Dataset(kinds).to_dataarray("kind")


def local_powers(run: xr.Dataset) -> xr.DataArray:
    """The power of time that the mean displacement follows at each time: 1 of a free walk, 2 of a steady slide.

    Parameters
    ----------
    run : Dataset
        Walks of one phase.

    Returns
    -------
    DataArray
        Over ``temperature`` and ``time``, without the two times at either end.
    """
    return relaxation.local_powers(displacement(run).mean("seed")).isel(time=slice(2, -2))


def early_diffusion(run: xr.Dataset, temperature: float) -> tuple[Estimate, Estimate]:
    """Power of time and prefactor of the displacement, up to a tenth of the landscape's own time (Fig. 5(a-c)).

    Parameters
    ----------
    run : Dataset
        Walks of one phase, T = 0 among them; where that is not seen to lose its memory, a tenth of the record counts.
    temperature : float
        A hot one, as the paper counts it.

    Returns
    -------
    tuple of Estimate
        The power, and the mean over times of the displacement over 2Dt: both 1 of a free walk.
    """
    until = regimes.time_within_record(run, phases.times(run)) / 10
    early = displacement(run).sel(temperature=temperature).transpose("seed", "time").sel(time=slice(None, until))
    if early.sizes["time"] < 2:
        return unknown(TOO_FAST), unknown(TOO_FAST)
    ratio = early / free_displacement(run).sel(temperature=temperature, time=early.time)
    return exponent(early.time.values, early.values), estimate(ratio.mean("time"), "seed", "symmetric")


def cages(runs: Mapping[str, xr.Dataset], start: float = 10) -> dict[str, float]:
    """How clearly displacements of each phase show a cage: 0 for none.

    By :func:`.plateaus.rise_after_plateau`.

    Parameters
    ----------
    runs : mapping of str to Dataset
        Phase -> walks.
    start : float
        Time from which on they are looked at: before it, the size of a step shows.
    """
    return {
        phase: plateaus.rise_after_plateau(displacement(run).mean("seed").sel(time=slice(start, None)))
        for phase, run in runs.items()
    }


def at_paper_record(moved: xr.DataArray) -> xr.DataArray:
    """A displacement over ``time`` at the recorded time nearest to the end of the paper's record."""
    return moved.sel(time=PAPER_RECORD, method="nearest")


def last_over_free(run: xr.Dataset) -> tuple[Estimate, str]:
    """The last recorded displacement over that of a free walk, at each temperature above 0 (Fig. 5(c)).

    Parameters
    ----------
    run : Dataset
        Walks of one phase.

    Returns
    -------
    tuple of Estimate and str
        Over ``temperature``, 1 of a free walk; and those of single networks where it is coldest, in words.
    """
    far = (displacement(run) / free_displacement(run)).isel(time=-1, drop=True)
    each = ", ".join(f"{v:.2g}" for v in far.sel(temperature=phases.coldest(run)).values)
    return estimate(far, "seed", "symmetric"), f"One by one, where coldest: {each}."


def swings(walked: xr.Dataset, times: np.ndarray, factors: Sequence[int]) -> list[float]:
    """The largest fall of a displacement from one time to the next, at rates that differ by factors and equal μt.

    Parameters
    ----------
    walked : Dataset
        ``square``, sums of squared displacements, and ``count``, over ``rate``, ``seed``, ``time``, ``layer`` and
        ``alive``, as of :func:`deepmech.walk`.
    times : ndarray
        (n,) steps at the first rate.
    factors : sequence of int
        By which each rate is smaller than the first, and its times are later.

    Returns
    -------
    list of float
        One a rate: the largest share of a displacement that is lost, over all runs; below 0 if it always grows.
    """
    sums = walked[["square", "count"]].sum(["layer", "alive"])
    moved = sums["square"] / sums["count"]
    paths = [moved.isel(rate=i).sel(time=n * times).transpose("seed", "time").values for i, n in enumerate(factors)]
    return [float((1 - path[:, 1:] / path[:, :-1]).max()) for path in paths]


def end_power(curve: xr.DataArray) -> xr.DataArray:
    """The local power of a displacement over ``time`` at the end of its record (one time before the last)."""
    return relaxation.local_powers(curve).isel(time=-2, drop=True)
