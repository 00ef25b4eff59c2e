"""Shapes of displacements: non-Gaussian parameter, motilities and their modes, with their nulls (Fig. 7).

The nulls are Gaussian groups of weights, each layer and its silent units by themselves, in which nothing ever changes
its pace.

Functions take survivors of a phase (:func:`.phases.survivors`) and give what the page draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import erf

from deepmech.core import specs
from deepmech.core.estimates import Estimate, estimate
from deepmech.core.random import Stream
from deepmech.metrics.glass import MOTILITY_EDGES, mixture_non_gaussian
from deepmech_book.analysis.glass import phases, regimes
from deepmech_book.analysis.glass.dips import DipTest, dip, dip_test, unbinned
from deepmech_book.sweeps.glass import walks

__all__ = [
    "HALF_AS_FAR",
    "alpha_panels",
    "alphas",
    "bimodality",
    "far_from_gaussian",
    "fluctuations",
    "gaussian_motilities",
    "grouped_dips",
    "modes",
    "motilities",
    "motility_panels",
    "normal_when_hot",
    "scales",
    "slow_weights",
    "susceptibility",
    "two_modes",
]

HALF_AS_FAR = float(mixture_non_gaussian(np.array([1.0, 0.25]), np.array([0.5, 0.5])))
"""α₂ of normal displacements of which one half goes half as far as the other, 0.36."""


def alphas(run: xr.Dataset) -> xr.Dataset:
    """α₂ over temperature (> 0) and time of every initial condition: ``all`` weights, ``alive`` ones, ``mixture``.

    ``mixture`` is the null: what Gaussian layers (silent weights apart), each with its own mean square, would give.
    """
    warm = run.sel(temperature=run.temperature > 0).isel(waiting=0, drop=True)
    names = {"all": "alpha", "alive": "alpha_alive", "mixture": "alpha_mixture"}
    return xr.Dataset({k: warm[v].dropna("time", how="all") for k, v in names.items()})


def motilities(run: xr.Dataset) -> xr.DataArray:
    """Histogram of log₁₀|Δw| at the last recorded time, pooled over initial conditions: share of weights per bin."""
    counts = run.motility.isel(waiting=0, drop=True).sum("seed").transpose("temperature", "bin")
    whole = counts.sum("bin") + run.still.isel(waiting=0, drop=True).sum("seed")
    share = counts / whole
    seen = np.flatnonzero(counts.sum("temperature").values)
    # Four bins together, the same four for all: as fine as a few thousand weights allow.
    return share.isel(bin=slice(max(seen[0] - 4, 0) // 4 * 4, seen[-1] + 5)).coarsen(bin=4, boundary="pad").sum()


def modes(run: xr.Dataset, temperature: float, n_null: int = 200) -> DipTest:
    """Hartigan's test of the pooled log₁₀|Δw| at one temperature; weights that did not move are left out."""
    counts = run.motility.isel(waiting=0, drop=True).sum("seed").sel(temperature=temperature)
    return dip_test(unbinned(counts.values, MOTILITY_EDGES), Stream.of("dips", 0), n_null)


def scales(run: xr.Dataset, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Root mean square displacement and number of weights of every group that moved, initial conditions not pooled.

    A group is a layer's weights, those at silent units apart.
    """
    one = run[["end_square", "end_count"]].isel(waiting=0).sel(temperature=temperature)
    square, count = one.end_square.values.ravel(), one.end_count.values.ravel()
    moved = (count > 0) & (square > 0)
    return np.sqrt(square[moved] / count[moved]), count[moved].astype(int)


def gaussian_motilities(run: xr.Dataset, temperatures: Sequence[float]) -> xr.DataArray:
    """Histogram of log₁₀|Δw| of Gaussian groups of the same widths, on the scale of :func:`motilities`."""
    edges = np.append(0.0, 10.0 ** MOTILITY_EDGES[1:])  # what lies below is counted in the first bin
    rows = []
    for t in temperatures:
        size, count = scales(run, t)
        rows.append(np.rint(count @ np.diff(erf(edges / (np.sqrt(2) * size[:, None])), axis=1)))
    expected = xr.DataArray(
        np.stack(rows), dims=("temperature", "bin"), coords={"temperature": list(temperatures), "bin": run.bin}
    )
    some = run[["motility", "still"]].sel(temperature=list(temperatures)).isel(waiting=[0], seed=[0])
    made = some.assign(motility=expected.expand_dims(["seed", "waiting"]), still=some.still * 0)
    return motilities(made)


def grouped_dips(run: xr.Dataset, temperature: float) -> np.ndarray:
    """Dips of log₁₀|Δw| of as many Gaussian weights, in the groups of :func:`scales`, of 19 draws, rising.

    What lies above all of them has a chance of one in twenty where the groups are all there is.
    """
    size, count = scales(run, temperature)
    n = int(count.sum())
    stream = Stream.of("groups", n)
    each = np.log10(np.repeat(size, count))
    return np.sort([dip(each + np.log10(np.abs(stream.normal("z", i, n)))) for i in range(19)])


def bimodality(run: xr.Dataset, temperature: float) -> Estimate:
    """The dip of the pooled log₁₀|Δw| beside its null, in units of the critical one.

    The interval is over networks, for the weights of one are not independent. A critical dip falls as 1/√n.
    """
    found = modes(run, temperature)

    def in_units(some: xr.Dataset) -> float:
        counts = some.motility.isel(waiting=0, drop=True).sum("seed").sel(temperature=temperature)
        sample = unbinned(counts.values, MOTILITY_EDGES)
        return float(dip(sample) / found.critical * np.sqrt(len(sample) / found.n))

    between = estimate(run, "seed", "symmetric", of=lambda some: np.log(in_units(some))).map(np.exp)
    return replace(between, value=found.dip / found.critical, null=grouped_dips(run, temperature)[-1] / found.critical)


def far_from_gaussian(run: xr.Dataset) -> tuple[Estimate, str]:
    """α₂ at the last recorded time where coldest, beside that of Gaussian groups, and what else is to be said.

    The interval is of the difference, network by network.
    """
    made = alphas(run)
    low = float(made.temperature.min())
    end = made.sel(temperature=low).isel(time=-1)
    mean = end.mean("seed")
    beyond = estimate(end["all"] - end.mixture, "seed", "symmetric").map(lambda x: x + float(mean.mixture))
    words = f"T = {low:g}, last recorded time. Weights at silent units left out: {float(mean.alive):.2g}."
    return replace(beyond, value=float(mean["all"]), null=float(mean.mixture)), words


def alpha_panels(runs: Mapping[str, xr.Dataset]) -> tuple[xr.DataArray, xr.DataArray]:
    """α₂ at the highest, a middle and the lowest temperature, and that of Gaussian groups, by phase (Fig. 7(a-c)).

    Parameters
    ----------
    runs : mapping of str to Dataset
        Phase -> walks.

    Returns
    -------
    tuple of DataArray
        Means over runs, over ``phase``, ``temperature`` and ``time``; nan at a temperature that a phase does not show.
    """
    found, null = {}, {}
    for phase, run in runs.items():
        alpha = alphas(run).mean("seed").sortby("temperature", ascending=False)
        three = alpha.isel(temperature=[0, alpha.sizes["temperature"] // 2, -1])
        found[phase], null[phase] = three["all"], three.mixture
    return phases.panels(found), phases.panels(null)


def motility_panels(
    runs: Mapping[str, xr.Dataset],
    temperatures: Sequence[float] | None = None,
    null: Sequence[float] | None = None,
) -> tuple[xr.DataArray, xr.DataArray]:
    """Histograms of log₁₀|Δw| and those of Gaussian groups, a panel for each phase (Figs. 7(d-f), A8(d-f)).

    Parameters
    ----------
    runs : mapping of str to Dataset
        Phase -> walks.
    temperatures : sequence of float, optional
        Those shown; by default all above 0.
    null : sequence of float, optional
        Those of Gaussian groups; by default the lowest of each phase.

    Returns
    -------
    tuple of DataArray
        Share of weights over ``phase``, ``temperature``, which falls, and ``bin``.
    """
    seen, expected = {}, {}
    for phase, run in runs.items():
        warm = run.sel(temperature=run.temperature > 0 if temperatures is None else list(temperatures))
        seen[phase] = motilities(warm)
        groups = gaussian_motilities(run, [phases.coldest(run)] if null is None else null)
        expected[phase] = groups.reindex(temperature=warm.temperature)
    every, rival = (
        xr.concat(one.values(), xr.Variable("phase", list(runs)), join="outer").sortby("bin")
        for one in (seen, expected)
    )
    order = {"temperature": np.sort(every.temperature)[::-1]}
    return every.reindex(order), rival.reindex(order)


def normal_when_hot(run: xr.Dataset) -> Estimate:
    """α₂ when hottest, at a tenth of the landscape's own time, mean over waits (Fig. 7(a-c)): 0 of a free walk.

    Parameters
    ----------
    run : Dataset
        Walks of one phase; where T = 0 is not seen to lose its memory, a tenth of the record counts.
    """
    until = regimes.time_within_record(run, phases.times(run)) / 10
    early = run.alpha.sel(temperature=float(run.temperature.max()), time=slice(None, until))
    early = early.dropna("time", how="all").isel(time=-1, drop=True)
    return estimate(early.mean("waiting"), "seed", "symmetric")


def two_modes(run: xr.Dataset) -> tuple[Estimate, str]:
    """:func:`bimodality` at the lowest temperature above 0, and that temperature in words."""
    return bimodality(run, phases.coldest(run)), f"T = {phases.coldest(run):g}."


def slow_weights(runs: Mapping[str, xr.Dataset], warmest: float = 1e-3) -> pd.DataFrame:
    """Where the slow mode of log₁₀|Δw| lies, beside a free walk of that temperature, and how many weights are in it.

    Parameters
    ----------
    runs : mapping of str to Dataset
        Phase -> walks.
    warmest : float
        Temperatures up to this, and above 0, get a row.

    Returns
    -------
    DataFrame
        In words. Slow is what moved by less than three times a free walk's root mean square.
    """
    rows = {}
    for phase, run in runs.items():
        first = run.isel(waiting=0)
        last = float(phases.overlaps(run).time[-1])
        for t in run.temperature.values[(run.temperature > 0) & (run.temperature <= warmest)]:
            sample = unbinned(first.motility.sum("seed").sel(temperature=t).values, MOTILITY_EDGES)
            free = 0.5 * np.log10(2 * walks.diffusion(float(t)) * last)
            slow = sample[sample < free + np.log10(3)]
            median = f"{np.median(slow):.1f}" if len(slow) else "–"
            rows[f"{phase}, T = {t:g}"] = {
                "p of the dip test": f"{modes(run, float(t)).p:.2g}",
                "median of slow log₁₀|Δw|": median.replace("-", "−"),
                "log₁₀ of a free walk": f"{free:.1f}".replace("-", "−"),
                "slow weights": f"{100 * len(slow) / len(sample):.0f} %",
                "at silent units": f"{100 * (1 - float(first.alive_share.sel(temperature=t).mean())):.0f} %",
            }
    return pd.DataFrame.from_dict(rows, orient="index")


def fluctuations(run: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """χ₄ = N Var(Q), the variance of the overlap over networks, and Q(1 - Q), that of independent weights.

    Networks have windows of different sizes, so that mean overlaps of free walks differ from window to window, too.

    Parameters
    ----------
    run : Dataset
        Walks of one phase, with ``n_weights``; of a single network there is no variance (nan).

    Returns
    -------
    tuple of DataArray
        Over ``kind`` (networks; free walks, each in a network's window), ``temperature`` and ``time``; the second is of
        networks alone.
    """
    overlap = phases.overlaps(run).transpose("seed", ...)
    mean, free = overlap.mean("seed"), phases.free_overlaps(run).where(run.temperature > 0)
    varies = [mean.where(False)] * 2
    if overlap.sizes["seed"] > 1:
        both = overlap, free.sel(time=overlap.time).transpose(*overlap.dims)
        varies = [mean.copy(data=susceptibility(one.values, int(run.n_weights.max()))) for one in both]
    names = ["networks", "free walks"]
    return xr.concat(varies, xr.Variable("kind", names)), (mean * (1 - mean)).expand_dims(kind=names[:1])


def susceptibility(overlap: np.ndarray, n_weights: float) -> np.ndarray:
    """χ₄ = N Var(Q) over runs (unbiased variance); independent weights give Q (1 - Q).

    Parameters
    ----------
    overlap : array
        Q of each run along the first axis.
    n_weights : float
        N.

    Returns
    -------
    ndarray
        Without the first axis.

    Raises
    ------
    ValueError
        If there are fewer than two runs.

    Examples
    --------
    >>> susceptibility(np.array([0.4, 0.6]), 100).round(6).item()
    2.0
    """
    overlap = np.atleast_1d(specs.check_array("susceptibility: overlap", overlap))
    if len(overlap) < 2:
        raise ValueError(f"susceptibility: {len(overlap)} run along axis 0: a variance needs at least two")
    return np.asarray(n_weights * overlap.var(0, ddof=1))
