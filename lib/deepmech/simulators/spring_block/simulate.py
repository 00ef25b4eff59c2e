"""Many chains at once: parameters in, a labelled Dataset out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Literal

import numpy as np
import xarray as xr
from tqdm import tqdm

from deepmech.core import specs
from deepmech.core.labels import Number, ParameterGrid, labelled
from deepmech.core.provenance import attributes, cores
from deepmech.core.random import Stream, stream_id
from deepmech.core.specs import encode
from deepmech.simulators.spring_block import kernels
from deepmech.simulators.spring_block.chain import ATTRS, Chain, averaged_friction_force

Order = Literal["first", "second", "langevin"]
LEAST_TRUNCATION = 1e-3
"""Of 1,250 normal numbers one is as small as that; below it a simulation would only draw numbers."""
ORDERS: dict[str, int] = {"first": kernels.FIRST, "second": kernels.SECOND, "langevin": kernels.LANGEVIN}


def simulate(
    chain: Chain,
    t_end: float,
    dt: float = 0.01,
    order: Order = "first",
    n_runs: int = 1,
    shared_noise: bool = False,
    truncation: float | None = None,
    noise_decay: Number = 0.0,
    record: Any = None,
    start: Any = None,
    seed: int = 0,
) -> xr.Dataset:
    """Simulate spring–block chains from rest.

    Parameters
    ----------
    chain : Chain
        Parameters; every labelled array adds its dimensions to the result.
    t_end, dt : float
        Duration and step η. Blocks have unit mass, so a block between two springs oscillates with angular
        frequency √(2·stiffness); in ``order="first"``, which contains no mass, time is in units of γ.
    order : str
        ``"first"``: x' = σ(kLx + εξ) (Eqs. 5, 6). ``"second"``: x'' = σ(kLx − γx' + εξ; x') with static friction
        (Eqs. 4, 10, 11). ``"langevin"``: friction is computed before the noise is added (Eqs. 12, 13).
    n_runs : int
        Independent runs, dimension ``run``. Run r uses the same noise in every cell of the grid (common random
        numbers: differences between cells are then not drowned by noise) and whatever the other cells are.
    shared_noise : bool
        One noise for all blocks, as in the paper's Fig. 4, instead of one for each.
    truncation : float, optional
        Bound on |ζ| in standard deviations (noise conditioned on it, not rescaled); at least 0.001.
    noise_decay : number or DataArray
        τ ≥ 0 in ε(t) = ε e^{−τt}.
    record : array_like, optional
        Times to record, in [0, t_end], rounded to whole steps. Without it only the final state is kept, the result
        has no ``time`` dimension, and memory does not grow with the number of steps.
    start : array_like
        Positions of blocks 1 … L at time 0; all 0 without it.
    seed : int
        Of the noise.

    Returns
    -------
    Dataset
        ``position`` x_ℓ and ``load_curve`` D_ℓ = y − x_ℓ over block = 0 … L+1 (wall and target included), ``force``
        F = k(y − x_L) on the last spring, ``elastic_energy``; dimensions: the chain's, run, [time,] [block].

    Raises
    ------
    ValueError
        Naming field, value and remedy: among others when ``dt`` is beyond the bound of stability.

    Examples
    --------
    >>> from deepmech import over
    >>> quiet = Chain(friction_right=over("mu_right", [0.0, 0.02]), noise=0.0)
    >>> simulate(quiet, t_end=200, dt=0.2).position.sel(block=4).values.round(4)
    array([[0.5 ],
           [0.34]])
    """
    n_runs = specs.check_int("simulate: n_runs", n_runs)
    grid, steps = _prepare(chain, t_end, dt, order, n_runs, truncation, noise_decay, record)
    dt, seed = float(dt), specs.check_int("simulate: seed", seed, 0)
    specs.check_bool("simulate: shared_noise", shared_noise)
    starts = {n: np.zeros(n) if start is None else specs.check_array("simulate: start", start) for n in _lengths(grid)}
    for n, x0 in starts.items():
        if x0.shape != (n,) or not np.isfinite(x0).all():
            raise ValueError(f"simulate: start has shape {x0.shape}: give {n} finite positions, one per block")
    began = time.perf_counter()
    keys = np.array([Stream.of("spring_block", seed, r).key for r in range(n_runs)], np.uint64)
    bound = None if truncation is None or truncation > kernels.LARGEST else float(truncation)

    def run(n: int, p: dict[str, np.ndarray]) -> np.ndarray:
        numbers = {name: np.repeat(values, n_runs) for name, values in p.items()}
        every = np.tile(keys, len(p["target"]))
        x = _run_on_cores(ORDERS[order], steps, starts[n], every, dt, shared_noise, bound, numbers)
        return x.reshape(len(steps), -1, n_runs, n + 2).transpose(1, 2, 0, 3)

    setting = {
        "t_end": t_end, "dt": dt, "order": order, "n_runs": n_runs, "shared_noise": shared_noise,
        "truncation": truncation, "noise_decay": noise_decay, "start": starts[max(starts)].tolist(),
    }  # fmt: skip
    result = _dataset(chain, grid, run, dt, steps, setting, began, seed=seed)
    return result if record is not None else result.isel(time=0, drop=True)


@specs.in_name_of("averaged", "simulate")
def averaged(chain: Chain, t_end: float, dt: float = 0.01, record: Any = None) -> xr.Dataset:
    """The noise-averaged first-order chain, x'_ℓ = E σ(k(Lx)_ℓ + ε̄ζ), with ε̄ that of a step ``dt``.

    At fixed ε̄ the simulated chain tends to it as the step goes to 0, because a block takes many small kicks before its
    spring force changes; independent and shared noise have the same limit. Runge–Kutta of order 4 with steps ``dt``.
    Same result layout as :func:`simulate` with a single run.

    Parameters
    ----------
    chain, t_end, dt, record
        As of :func:`simulate`.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        As :func:`simulate`.

    Examples
    --------
    >>> chain = Chain(friction_right=0.04, friction_left=0.12, noise_bar=0.3)
    >>> x = averaged(chain, t_end=300, dt=0.1).position
    >>> (x.diff("block").diff("block")).values.round(4)
    array([-0.04, -0.04, -0.04, -0.04, -0.04, -0.04, -0.04])
    """
    grid, steps = _prepare(chain, t_end, dt, "first", 1, None, 0.0, record)
    dt, began = float(dt), time.perf_counter()

    def run(n: int, p: dict[str, np.ndarray]) -> np.ndarray:
        k, right, left, bar = (
            p[name][:, None] for name in ("stiffness", "friction_right", "friction_left", "noise_bar")
        )
        x = np.zeros((len(k), n + 2))
        x[:, -1] = p["target"]

        def velocity(x: np.ndarray) -> np.ndarray:
            v = np.zeros_like(x)
            force = k * (x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2])
            v[:, 1:-1] = averaged_friction_force(force, right, left, bar)
            return v

        out = np.empty((len(k), 1, len(steps), n + 2))
        for s in tqdm(range(steps[-1] + 1), disable=None, leave=False):
            out[:, 0, steps == s] = x[:, None]
            a = velocity(x)
            b = velocity(x + dt / 2 * a)
            c = velocity(x + dt / 2 * b)
            x = x + dt / 6 * (a + 2 * b + 2 * c + velocity(x + dt * c))
        return out

    setting = {"t_end": t_end, "dt": dt, "averaged": True}
    result = _dataset(chain, grid, run, dt, steps, setting, began, seed="none").isel(run=0, drop=True)
    return result if record is not None else result.isel(time=0, drop=True)


def _prepare(
    chain: Chain, t_end: float, dt: float, order: str, n_runs: int, truncation: float | None, decay: Number, record: Any
) -> tuple[ParameterGrid, np.ndarray]:
    specs.check_type("simulate: chain", chain, Chain)
    known = isinstance(order, str) and order in ORDERS
    specs.check("simulate: order", order, known, f"one of {sorted(ORDERS)}")
    dt = specs.check_real("simulate: dt", dt, np.nextafter(0, 1), allowed="positive and finite")
    t_end = specs.check_real("simulate: t_end", t_end, dt, allowed="finite and at least one step dt")
    bound = truncation is None or (specs.is_real(truncation) and truncation >= LEAST_TRUNCATION)
    allowed = f"at least {LEAST_TRUNCATION} standard deviations (numbers beyond it are drawn anew), or None"
    specs.check("simulate: truncation", truncation, bound, allowed)
    specs.check_each("simulate: noise_decay", decay, specs.not_negative("zero or positive, and finite"))
    grid = chain.grid(noise_decay=decay)
    numbers = n_runs * int((grid.flat["n_blocks"] + 2).sum())
    specs.check_memory("simulate: n_runs", n_runs, numbers)
    limit, where = stability_bound(chain, order)
    stable = f"at most {limit:.6g}, beyond which the {order}-order steps are unstable ({where})"
    specs.check("simulate: dt", dt, dt <= limit, stable)
    n_steps = specs.check_steps("simulate: t_end", t_end, t_end / dt)
    if record is None:
        return grid, np.array([n_steps])
    times = np.atleast_1d(specs.check_array("simulate: record", record))
    ok = times.ndim == 1 and times.size > 0 and bool(np.all((times >= 0) & (times <= t_end * (1 + 1e-12))))
    specs.check("simulate: record", record, ok, f"times between 0 and t_end = {t_end}")
    steps = np.unique(np.rint(times / dt).astype(np.int64))
    specs.check_memory("simulate: n_runs", n_runs, numbers * len(steps))
    return grid, steps


def stability_bound(chain: Chain, order: str) -> tuple[float, str]:
    """Largest stable step of the explicit scheme without friction, over the whole grid, and its formula.

    With ω² = k(2 + 2cos(π/(L+1))), the stiffest mode of the springs: 2/ω² in first order, and in second order
    (−γ + √(γ² + 4ω²))/ω², where a mode's growth factor leaves the unit circle. Friction only takes energy out.
    """
    flat = chain.grid().flat
    stiffest = flat["stiffness"] * (2 + 2 * np.cos(np.pi / (flat["n_blocks"] + 1)))
    if order == "first":
        return float(np.min(2 / stiffest)), "2/ω², ω² = stiffness · (2 + 2 cos(π/(n_blocks+1)))"
    g = flat["damping"]
    bound = (-g + np.sqrt(g * g + 4 * stiffest)) / stiffest
    return float(np.min(bound)), "(−γ + √(γ² + 4ω²))/ω², ω² = stiffness · (2 + 2 cos(π/(n_blocks+1))), γ = damping"


def _lengths(grid: ParameterGrid) -> list[int]:
    return sorted({int(n) for n in grid.flat["n_blocks"]})


def _dataset(
    chain: Chain, grid: ParameterGrid, run: Callable[[int, dict[str, np.ndarray]], np.ndarray], dt: float,
    steps: np.ndarray, setting: dict[str, Any], began: float, **origin: Any,
) -> xr.Dataset:  # fmt: skip
    """The result; ``run`` makes positions, (members, runs, times, L + 2), of the members of one length L."""
    p = {name: np.ascontiguousarray(values, dtype=float) for name, values in grid.flat.items()}
    if "noise" in p:
        p["noise_bar"] = p["noise"] / np.sqrt(dt)
    rows = [dict[str, np.ndarray]()] * grid.n
    for n in _lengths(grid):
        members = np.flatnonzero(grid.flat["n_blocks"] == n)
        here = {name: values[members] for name, values in p.items()}
        x = np.ascontiguousarray(run(n, here))
        k, y = (here[name][:, None, None] for name in ("stiffness", "target"))
        load = y[..., None] - x
        force, energy = k * load[..., -2], 0.5 * k * (np.diff(x) ** 2).sum(-1)
        found = dict(zip(ATTRS, (x, load, force, energy), strict=False))
        for at, i in enumerate(members if len(members) < grid.n else ()):
            rows[i] = {name: values[at] for name, values in found.items()}
    n_runs, blocks = x.shape[1], np.arange(n + 2)
    coords = {"run": np.arange(n_runs), "time": steps * dt, "block": blocks}
    spec = json.dumps(encode({**chain.to_json(), **setting}))
    notes = attributes(spec=spec, wall_seconds=time.perf_counter() - began, **origin)
    return labelled(grid, rows if rows[0] else found, ATTRS, coords, notes)


def _run_on_cores(
    order: int, steps: np.ndarray, start: np.ndarray, keys: np.ndarray, dt: float, shared: bool, bound: float | None,
    numbers: dict[str, np.ndarray],
) -> np.ndarray:  # fmt: skip
    """Positions, shape (n_records, n, L + 2): tiles of chains on a pool of threads (the kernels release the lock)."""
    n, rows = len(keys), len(start) + 2
    n_cores, run_tile = cores(), kernels.compile_kernel(order)
    # A tile's state must stay in the first-level cache (about 32 KiB), and every core should have work.
    width = max(1, min(4096 // (3 * rows), -(-n // n_cores), 128))
    out = np.empty((len(steps), n, rows))

    stop = np.zeros(1, np.int64)

    def advance(begin: int) -> None:
        part = slice(begin, min(begin + width, n))
        x = np.zeros((rows, len(keys[part])))
        x[1:-1] = start[:, None]
        p = {name: values[part] for name, values in numbers.items()}
        x[-1] = p["target"]
        tile = np.empty((len(steps), *x.shape))
        m = x.shape[1]
        run_tile(
            tile, steps, x, keys[part], np.uint64(stream_id("noise")), p["stiffness"], p["friction_right"],
            p["friction_left"], p["damping"], p["noise_bar"], p["noise_decay"], bound, dt, shared, stop,
            np.zeros((rows - 2, m)), np.zeros((rows + 2, m)), np.zeros((4, m), np.uint64), np.zeros(m),
        )  # fmt: skip
        out[:, part] = tile.transpose(0, 2, 1)

    begins = range(0, n, width)
    with ThreadPoolExecutor(n_cores) as pool:
        jobs = [pool.submit(advance, begin) for begin in begins]
        try:
            for job in tqdm(as_completed(jobs), total=len(jobs), unit="tiles", disable=None, leave=False):
                job.result()
        except BaseException:  # an interrupt stops all within 1,024 steps
            stop[0] = 1
            pool.shutdown(cancel_futures=True)
            raise
    return out
