"""Collapse, displacements, heterogeneity and ageing of the walks in three phases, with their nulls.

Functions take survivors of a phase (:func:`~deepmech.experiments.glass.walks.kept`) and give what pages draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.experiments.glass import relaxation, walks
from deepmech.metrics.glass import MOTILITY_EDGES, susceptibility
from deepmech.metrics.glass_modes import DipTest, dip_test, unbinned
from deepmech.metrics.glass_times import Collapse, Exponent, collapse, exponent
from deepmech.simulators.brownian import (
    Well,
    ageing_factor,
    final_overlap,
    free_overlap,
    free_time,
    well_msd,
    well_overlap,
)
from deepmech.sweeps.results import sweep_of


def collapsed(run: xr.Dataset, chi: int = 1, waiting: int = 0) -> tuple[xr.DataArray, Collapse]:
    """Mean overlaps over t/τ₉₀, per temperature, and the collapse they make (Figs. 4(a), A6)."""
    table = relaxation.taus(run, chi=chi, waiting=waiting)
    curves = run.overlap.isel(chi=chi, waiting=waiting, drop=True).mean("seed").transpose("temperature", "time")
    found = collapse(run.time.values, curves.values, table.tau.values)
    kept = run.temperature.values[np.isfinite(table.tau.values)]
    return xr.DataArray(
        found.curves, dims=("temperature", "rescaled"), coords={"temperature": kept, "rescaled": found.rescaled}
    ), found


def free_master(rescaled: np.ndarray) -> xr.DataArray:
    """A free walk's overlap over t/τ₉₀: one curve for every window and temperature."""
    values = free_overlap(rescaled, 1.0, free_time(1.0, 1.0))
    return xr.DataArray(values, dims="rescaled", coords={"rescaled": rescaled})


def tail_power(curve: xr.DataArray, low: float = 0.1, high: float = 0.6) -> Exponent | None:
    """The power of time that an overlap follows while between ``low`` and ``high``; None with fewer than four."""
    values = curve.dropna("rescaled")
    inside = (values < high) & (values > low)
    part = values.isel(rescaled=np.flatnonzero(inside.values))
    return exponent(part.rescaled.values, part.values) if part.sizes["rescaled"] >= 4 else None


def last_overlap(run: xr.Dataset, chi: int = 1, waiting: int = 0) -> xr.Dataset:
    """Overlap at the last recorded time over temperature (Fig. 4(b)), beside its nulls.

    Returns
    -------
    Dataset
        Over ``temperature`` > 0: ``measured`` (mean over initial conditions); ``free`` walk; ``well``: independent
        weights in ½λw², each started where a weight of spread σ would be, at the same time (Eqs. F6, G1).
    """
    how = sweep_of(run).fixed
    warm = run.sel(temperature=run.temperature > 0).isel(chi=chi, waiting=waiting)
    overlap = warm.overlap.mean("seed").dropna("time")
    time = float(overlap.time[-1])
    epsilon, sigma = float(walks.window(run, chi).mean()), float(run.sigma.mean())
    starts = sigma * Stream.of("last overlap", 0).normal("starts", 0, 4000)
    free, well = [], []
    for t in warm.temperature.values:
        one = Well(stiffness=how["regularisation"], temperature=t, learning_rate=walks.RATE, n_data=walks.P_D)
        free.append(float(free_overlap(np.array(time), epsilon, one.diffusion)))
        well.append(float(np.mean([well_overlap(np.array(time), one, epsilon, s) for s in starts[:400]])))
    return xr.Dataset(
        {
            "measured": overlap.isel(time=-1, drop=True).transpose("temperature").drop_vars(["chi", "waiting"]),
            "free": ("temperature", free),
            "well": ("temperature", well),
        },
        {"temperature": warm.temperature},
        {"time": time},
    ).sortby("temperature")


def well_curves(stiffnesses: Sequence[float] = (0.01, 100.0), n_times: int = 81) -> xr.DataArray:
    """Eq. F6 with Fig. A5's values: w(0) = 1, ε = 0.1, 2T = 1, μ = 1; over ``stiffness`` and ``time``."""
    times = np.geomspace(1e-5, 1e2, n_times)
    values = [_exact_well(times, k) for k in stiffnesses]
    return xr.DataArray(
        values, dims=("stiffness", "time"), coords={"stiffness": list(stiffnesses), "time": times}, name="overlap"
    )


def _exact_well(times: np.ndarray, stiffness: float) -> np.ndarray:
    # The step of a spec must be stable; time is scaled instead, since only μt enters.
    small = 1e-3
    return well_overlap(times / small, Well(stiffness=stiffness, temperature=0.5, learning_rate=small), 0.1, 1.0)


def well_exact(stiffness: float, time: float) -> float:
    """One point of :func:`well_curves`."""
    return float(_exact_well(np.array([time]), stiffness)[0])


def simulated_well(stiffnesses: Sequence[float] = (0.01, 100.0), n_weights: int = 20_000) -> xr.DataArray:
    """The same walked step by step, with steps of a hundredth of the fastest time; at a few times."""
    out = []
    for i, k in enumerate(stiffnesses):
        step = 2e-4 if k > 1 else 0.02
        times = np.unique(np.round(np.geomspace(1, (0.2 if k > 1 else 40.0) / step, 12)).astype(int))
        stream, w, t, rows = Stream.of("well", i), np.ones(n_weights), 0, []
        for stop in times:
            while t < stop:
                w = (1 - step * k) * w + np.sqrt(step) * stream.normal("step", t, n_weights)
                t += 1
            rows.append((np.abs(w - 1) < 0.1).mean())
        out.append(xr.DataArray(rows, dims="time", coords={"time": times * step}))
    return xr.concat(out, over("stiffness", list(stiffnesses)), join="outer")


def final_well(run: xr.Dataset, temperatures: np.ndarray, chi: int = 1) -> xr.DataArray:
    """Eq. G1 over temperature with the windows and starts of a phase's networks (Fig. A7)."""
    how = sweep_of(run).fixed
    epsilon, sigma = float(walks.window(run, chi).mean()), float(run.sigma.mean())
    starts = sigma * Stream.of("final well", 0).normal("starts", 0, 4000)
    values = [
        float(final_overlap(Well(how["regularisation"], t, walks.RATE, walks.P_D), epsilon, starts).mean())
        for t in temperatures
    ]
    return xr.DataArray(values, dims="temperature", coords={"temperature": temperatures})


def displacement(run: xr.Dataset, waiting: int = 0) -> xr.DataArray:
    """Mean squared displacement over temperature (or batch size) and time, mean over initial conditions."""
    return run.msd.isel(waiting=waiting, drop=True).mean("seed").dropna("time")


def local_powers(msd: xr.DataArray, span: float = 4.0) -> xr.DataArray:
    """d(log MSD)/d(log t) over time, from a straight line through each factor of ``span`` in time."""
    times = msd.time.values.astype(float)
    logs = np.log(np.maximum(msd.transpose(..., "time").values, 1e-300))
    out = []
    for t in times:
        near = (times >= t / span**0.5) & (times <= t * span**0.5)
        x = np.log(times[near])
        x = x - x.mean()
        out.append((logs[..., near] * x).sum(-1) / (x**2).sum() if near.sum() > 2 else np.full(logs.shape[:-1], np.nan))
    return msd.transpose(..., "time").copy(data=np.stack(out, -1))


def free_msd(run: xr.Dataset) -> xr.DataArray:
    """2Dt of a free walk, per temperature above 0."""
    warm = run.temperature.values[run.temperature.values > 0]
    times = run.time.values.astype(float)
    values = [2 * walks.RATE * t / walks.P_D * times for t in warm]
    return xr.DataArray(values, dims=("temperature", "time"), coords={"temperature": warm, "time": times})


def held_msd(run: xr.Dataset, temperature: float) -> xr.DataArray:
    """The mean square displacement of equilibrated weights in ½λw² alone: it ends at 2T/(λP_D)."""
    well = Well(sweep_of(run).fixed["regularisation"], temperature, walks.RATE, walks.P_D)
    return xr.DataArray(well_msd(run.time.values, well), dims="time", coords={"time": run.time})


def alphas(run: xr.Dataset, waiting: int = 0) -> xr.Dataset:
    """α₂ over temperature (> 0) and time, mean over initial conditions: ``all`` weights, ``alive`` ones, ``mixture``.

    ``mixture`` is the null: what Gaussian layers (silent weights apart), each with its own mean square, would give.
    """
    warm = run.sel(temperature=run.temperature > 0)
    names = {"all": "alpha", "alive": "alpha_alive", "mixture": "alpha_mixture"}
    made = {
        k: warm[v].isel(waiting=waiting, drop=True).mean("seed").dropna("time", how="all") for k, v in names.items()
    }
    return xr.Dataset(made)


def motilities(run: xr.Dataset, waiting: int = 0) -> xr.DataArray:
    """Histogram of log₁₀|Δw| at the last recorded time, pooled over initial conditions: share of weights per bin."""
    counts = run.motility.isel(waiting=waiting, drop=True).sum("seed").transpose("temperature", "bin")
    whole = counts.sum("bin") + run.still.isel(waiting=waiting, drop=True).sum("seed")
    share = counts / whole
    seen = np.flatnonzero(counts.sum("temperature").values)
    # Four bins together: as fine as a few thousand weights allow.
    return share.isel(bin=slice(max(seen[0] - 4, 0), seen[-1] + 5)).coarsen(bin=4, boundary="pad").sum()


def dips(run: xr.Dataset, waiting: int = 0, n_null: int = 200) -> dict[float, DipTest]:
    """Hartigan's test of the pooled log₁₀|Δw| at every temperature; weights that did not move are left out."""
    counts = run.motility.isel(waiting=waiting, drop=True).sum("seed")
    found = {}
    for t in run.temperature.values:
        sample = unbinned(counts.sel(temperature=t).values, MOTILITY_EDGES)
        found[float(t)] = dip_test(sample, Stream.of("dips", waiting), n_null)
    return found


def folded_dip(n: int, n_null: int = 200) -> DipTest:
    """The same test of log₁₀|z| of ``n`` Gaussian numbers: what diffusing weights would show."""
    stream = Stream.of("folded", n)
    return dip_test(np.log10(np.abs(stream.normal("z", 0, n))), stream, n_null)


def dynamic_susceptibility(run: xr.Dataset, chi: int = 1, waiting: int = 0) -> xr.Dataset:
    """χ₄(t) = N Var(Q) over initial conditions, and Q(1 - Q), which independent weights would give."""
    overlap = run.overlap.isel(chi=chi, waiting=waiting, drop=True).transpose("seed", ...).dropna("time")
    n = float(run.n_weights.values.ravel()[0])
    mean = overlap.mean("seed")
    return xr.Dataset({"chi4": mean.copy(data=susceptibility(overlap.values, n)), "independent": mean * (1 - mean)})


def by_waiting(run: xr.Dataset, temperature: float, level: float = 0.9, chi: int = 1) -> xr.Dataset:
    """τ₉₀ over waiting time at one temperature, with its interval, beside e^{μλt_w} of weight decay alone.

    The null starts from the first measured time.
    """
    tables = [relaxation.taus(run, level, chi, i).sel(temperature=temperature) for i in range(run.sizes["waiting"])]
    table = xr.concat(tables, over("waiting", run.waiting.values))[["tau", "low", "high", "draws"]].drop_vars(
        "temperature"
    )
    waited = run.waiting.values
    factor = ageing_factor(waited - waited[0], walks.RATE, sweep_of(run).fixed["regularisation"])
    return table.assign(decay=("waiting", float(table.tau[0]) * factor))


def waiting_tables(run: xr.Dataset, **how: float) -> xr.Dataset:
    """:func:`~deepmech.experiments.glass.relaxation.taus` for every waiting time (Figs. A9, A10); T > 0, rising."""
    tables = [relaxation.taus(run, waiting=i, **how) for i in range(run.sizes["waiting"])]  # type: ignore[arg-type]
    joined = xr.concat(tables, over("waiting", run.waiting.values))
    return joined.sel(temperature=joined.temperature > 0).sortby("temperature")


def ageing_ratio(table: xr.Dataset) -> tuple[float, float, float]:
    """τ after the longest wait over τ after the shortest, with its interval over resampled initial conditions."""
    seen = table.isel(waiting=np.flatnonzero(np.isfinite(table.tau.values)))
    draws = (seen.draws.isel(waiting=-1) / seen.draws.isel(waiting=0)).values
    draws = draws[np.isfinite(draws)]
    low, high = np.quantile(draws, [0.025, 0.975]) if len(draws) else (np.nan, np.nan)
    return float(seen.tau[-1] / seen.tau[0]), float(low), float(high)


def coldest(runs: Mapping[str, xr.Dataset]) -> dict[str, float]:
    """The smallest temperature above 0 of every phase."""
    return {k: float(run.temperature.values[run.temperature.values > 0].min()) for k, run in runs.items()}


def recovery(msd: xr.DataArray, low: float = 0.3, lasting: float = 3.0) -> float:
    """How clearly any curve shows a cage: by how much its local power rises after a plateau.

    A plateau is a stretch of local powers below ``low`` over which time grows by a factor of ``lasting`` or more: a
    shorter one is a swing of weights across a steep valley, whose time is a few steps. 0 if there is none, or no rise
    after it. Curves at T = 0 are left out: networks at zero loss do not move at all.
    """
    moving = msd.sel(temperature=msd.temperature > 0)
    times, most = msd.time.values.astype(float), 0.0
    for curve in local_powers(moving).transpose(..., "time").values.reshape(-1, msd.sizes["time"]):
        below = np.append(np.nan_to_num(curve, nan=np.inf) < low, False)
        for start in np.flatnonzero(below & ~np.insert(below[:-1], 0, False)):
            end = start + int(np.argmin(below[start:]))
            later = curve[end:][np.isfinite(curve[end:])]
            if times[end - 1] >= lasting * times[start] and len(later):
                most = max(most, float(later.max() - np.nanmin(curve[start:end])))
    return most


def collapse_in_words(run: xr.Dataset) -> str:
    """The collapse of a phase, and the power of its hottest curve beside that of a free walk over the same range."""
    curves, found = collapsed(run)
    hottest = curves.sel(temperature=float(curves.temperature.max()))
    power, free = tail_power(hottest), tail_power(free_master(curves.rescaled.values))
    words = f"{relaxation.size(run)}: the collapse has quality {found.quality:.3f}"
    if power is not None and free is not None:
        words += f"; while 0.1 < Q < 0.6 the hottest curve falls as t to the {power.value:.3f}"
        words += f" [{power.low:.3f}, {power.high:.3f}], a free walk as t to the {free.value:.3f}"
    return words


def dips_in_words(run: xr.Dataset) -> str:
    """The dip test of every temperature."""
    found = dips(run)
    return f"{relaxation.size(run)}, {found[0.0].n} weights: " + ", ".join(
        f"p = {d.p:.2g} at T = {t:g}" for t, d in found.items()
    )


def ageing_in_words(run: xr.Dataset) -> str:
    """Per temperature, what waiting does to τ₉₀, beside weight decay alone."""
    parts = []
    for t in run.temperature.values:
        table = by_waiting(run, float(t))
        seen = np.flatnonzero(np.isfinite(table.tau.values))
        if len(seen) > 1:
            ratio, low, high = ageing_ratio(table)
            alone = float(table.decay[seen[-1]] / table.decay[seen[0]])
            last = int(table.waiting[seen[-1]])
            parts.append(f"T = {t:g}: {ratio:.2f} [{low:.2f}, {high:.2f}] up to t_w = {last}, decay alone {alone:.2f}")
    return f"{relaxation.size(run)}; τ₉₀ over that after the first wait: " + "; ".join(parts)


def slow_mode(run: xr.Dataset, temperature: float, waiting: int = 0) -> dict[str, float]:
    """The weights that a cold network's landscape does not move, at the last recorded time.

    Returns
    -------
    dict
        ``free``: log₁₀ √(2Dt), where a free walk would be; ``place``: median log₁₀|Δw| of the weights below three times
        that; ``share`` of all weights that they are; ``silent``: share of weights at units silent on all data.
    """
    counts = run.motility.isel(waiting=waiting).sel(temperature=temperature).sum("seed").values
    sample = unbinned(counts, MOTILITY_EDGES)
    waited = run.overlap.isel(waiting=waiting, chi=0, seed=0).sel(temperature=temperature).dropna("time")
    free = 0.5 * np.log10(2 * walks.RATE * temperature / walks.P_D * float(waited.time[-1]))
    slow = sample[sample < free + np.log10(3)]
    silent = 1 - float(run.alive_share.isel(waiting=waiting).sel(temperature=temperature).mean())
    return {"free": free, "place": float(np.median(slow)), "share": len(slow) / len(sample), "silent": silent}
