"""A folding ruler on a table, pinned at its left end and pulled at its right: dry friction in joints and on the table.

Shi, Pan and Dokmanić (2024, supplement S1) pull such a ruler by hand. This is the smallest model in which the question
can be asked: does slow pulling open the outer segments, and does jerking or shaking spread the extension?

Geometry. Rigid segments of length a form n pairs (Vs) in a row along the line of the pull. Both segments of pair i are
inclined by θ_i to that line, so the pair is s_i = 2a cos θ_i long; u_i = s_i/2a = cos θ_i is its extension, between 0
(folded) and 1 (straight). All pairs start at the same inclination.

Joints. Each of them resists rotation with the same dry torque τ. If pair i opens by dθ_i, its own joint turns by 2 dθ_i
and each joint at its ends by dθ_i (and by the neighbour's share): 4τ |dθ_i| of work in all. So a pair yields to a
tension T only when |T| reaches R = 4τ |dθ/ds| = 2τ/(a sin θ): the flatter the V, the shorter the lever of the pull.
In units of 2τ/a,

    R(u) = 1/√(1 − u²),

static friction and sliding friction alike. Dry joints store nothing: where they stop, they stay.

Table. The mass m and the weight of a pair are lumped at the node between it and the next. A node slides with friction
f against its velocity and sticks while the tensions on its two sides differ by less than f. If the ruler is shaken
sideways at speed c, the friction points against the total sliding velocity and its part along the pull is only
f v/√(v² + c²).

    m dv_i/dt = T_{i+1} − T_i − f v_i/√(v_i² + c²),      |T_i| ≤ R(u_i), = R(u_i) sgn(du_i/dt) where u_i changes.

Why slow pulling is uneven. While the nodes creep outward, the tension rises by f from pair to pair, so it is highest at
the hand: R(u_i) = P − (n − i) f for a pull P. Pairs that would need more than they get stay at the start
(:func:`slow_profile`).

Units: lengths in 2a, forces in 2τ/a, masses in m, hence times in a √(m/τ) and speeds in 2 √(τ/m).

Assumed: motion of the nodes along the line only (the Vs stay symmetric and take no sideways inertia); equal static and
sliding friction; a joint between a closing and an opening pair is charged with the sum of both rotations; pairs stop
dead, without bouncing, when folded flat or at ``stop``.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from deepmech import simulators
from deepmech.core import specs
from deepmech.core.compiled import INSIDE, KERNEL, Floats, Ints, njit
from deepmech.core.labels import Number, ParameterGrid, align, labelled
from deepmech.core.provenance import attributes
from deepmech.core.random import Stream
from deepmech.core.specs import Spec, encode

#: What results hold, and in what units.
ATTRS = {
    "position": ("position of a node", "straight pairs", "run", "frame", "node"),
    "extension": ("extension of a pair", "1", "run", "frame", "pair"),
    "time": ("time", "a√(m/τ)", "frame"),
    "run": ("run", "1"),
    "frame": ("frame", "1"),
    "node": ("node", "1"),
    "pair": ("pair", "1"),
}


@dataclass(frozen=True, eq=False)
class Ruler(Spec):
    """A ruler of ``n_pairs`` pairs of segments; every number may be a labelled array.

    Parameters
    ----------
    n_pairs : int or DataArray
        Number n of Vs, at least 2. In a result with rulers of several lengths the shorter ones end in nan.
    fold_angle : number or DataArray
        Initial inclination θ of every segment to the line of the pull, in degrees; 90 is folded flat.
    table_friction : number or DataArray
        Friction f of one node on the table, in units of the force that opens a folded pair.
    stop : number or DataArray
        Largest extension of a pair; below 1, where the pull would have no lever at all.

    Examples
    --------
    >>> Ruler(table_friction=-1)
    Traceback (most recent call last):
    ValueError: Ruler.table_friction = -1: must be zero or positive
    """

    CHECKS: ClassVar = {
        "n_pairs": specs.whole(2), "fold_angle": specs.between(5e-324, np.nextafter(90, 91), "in (0, 90]"),
        "table_friction": specs.not_negative(), "stop": specs.between(5e-324, 1, "between 0 and 1"),
    }  # fmt: skip

    n_pairs: int | xr.DataArray = 8
    fold_angle: Number = 80.0
    table_friction: Number = 0.2
    stop: Number = 0.99


@dataclass(frozen=True, eq=False)
class Pull(Spec):
    """How the hand moves; every number may be a labelled array.

    The hand goes smoothly (s² (3 − 2s)) from the folded ruler's end to n times ``extension`` in ``duration``.

    Parameters
    ----------
    extension : number or DataArray
        Mean extension of the pairs at the end.
    duration : number or DataArray
        Time of the pull.
    jerk_speed, jerk_period : number or DataArray
        On top, once per period, the hand jerks forward and back: its velocity is that of one
        period of a sine whose height is ``jerk_speed`` times the magnitude of a standard normal number. The last two
        periods are quiet, and the hand never goes beyond the straight ruler.
    shake_speed : number or DataArray
        Speed c at which the whole ruler slides to and fro sideways meanwhile.

    Examples
    --------
    >>> Pull(duration=0)
    Traceback (most recent call last):
    ValueError: Pull.duration = 0: must be positive
    """

    CHECKS: ClassVar = {
        "extension": specs.positive(), "duration": specs.positive(), "jerk_period": specs.positive(),
        "jerk_speed": specs.not_negative(), "shake_speed": specs.not_negative(),
    }  # fmt: skip

    extension: Number = 0.6
    duration: Number = 400.0
    jerk_speed: Number = 0.0
    jerk_period: Number = 1.0
    shake_speed: Number = 0.0


def grid(ruler: Ruler, pull: Pull, caller: str = "simulate") -> ParameterGrid:
    """Ruler and pull as one flat grid, with the checks that need both."""
    specs.check_type(f"{caller}: ruler", ruler, Ruler)
    specs.check_type(f"{caller}: pull", pull, Pull)
    numbers = {f.name: getattr(spec, f.name) for spec in (ruler, pull) for f in fields(spec)}
    members = align("Ruler and Pull", ATTRS, **numbers)
    start = np.cos(np.radians(members.flat["fold_angle"]))
    bad = (members.flat["extension"] <= start) | (members.flat["extension"] > members.flat["stop"])
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"Pull.extension = {members.flat['extension'][k]}: must lie between the folded ruler's extension "
            f"cos(fold_angle) = {start[k]:.4g} and Ruler.stop = {members.flat['stop'][k]}"
        )
    return members


def slow_profile(ruler: Ruler, extension: Number) -> xr.DataArray:
    """Extensions u_i of the pairs after an infinitely slow, steady pull to mean ``extension``, in closed form.

    u_i = √(1 − 1/(P − (n − i) f)²) where that exceeds the initial extension, else the initial one; the pull P follows
    from the mean (one root of a monotone function).

    Parameters
    ----------
    ruler : Ruler
        Any of its numbers may be a labelled array.
    extension : number or DataArray
        Mean extension of the pairs, between that of the folded ruler and its stop.

    Returns
    -------
    DataArray
        Dims of the labels, then pair = 1..n from the pinned end to the hand.

    Examples
    --------
    >>> slow_profile(Ruler(n_pairs=3, table_friction=0.0), 0.5).values.round(3)
    array([0.5, 0.5, 0.5])
    """
    members = grid(ruler, Pull(extension=extension), "slow_profile")

    def extensions(pull: float, p: dict[str, float]) -> np.ndarray:
        below = np.arange(int(p["n_pairs"]))[::-1]
        yields = 1 / np.maximum(pull - below * p["table_friction"], 1.0)
        return np.clip(np.sqrt(1 - yields**2), np.cos(np.radians(p["fold_angle"])), p["stop"])

    rows = []
    for p in members.members():
        high = 1 / np.sqrt(1 - p["stop"] ** 2) + p["n_pairs"] * p["table_friction"]
        force = brentq(lambda f, p=p: extensions(f, p).mean() - p["extension"], 1.0, high, xtol=1e-14)
        rows.append({"extension": extensions(force, p)})
    words = {"extension": (*ATTRS["extension"][:2], "pair"), "pair": ATTRS["pair"]}
    pairs = np.arange(1, int(members.flat["n_pairs"].max()) + 1)
    return labelled(members, rows, words, {"pair": pairs}, {})["extension"]


def hand(p: dict[str, float], n_steps: int, dt: float, strengths: np.ndarray) -> np.ndarray:
    """Positions of the hand at every step of a member ``p``, one row per run; ``strengths`` has dims (run, jerk)."""
    t, n_pairs = dt * np.arange(n_steps + 1), p["n_pairs"]
    s = np.minimum(t / p["duration"], 1.0)
    start = np.cos(np.radians(p["fold_angle"]))
    path = n_pairs * (start + (p["extension"] - start) * s * s * (3 - 2 * s))
    period = np.floor(t / p["jerk_period"]).astype(int)
    phase = t / p["jerk_period"] - period
    quiet = period >= np.floor(p["duration"] / p["jerk_period"]) - 2
    forth = p["jerk_speed"] * p["jerk_period"] / (2 * np.pi) * (1 - np.cos(2 * np.pi * phase)) * ~quiet
    return np.minimum(path + strengths[:, period] * forth, n_pairs * p["stop"])


def simulate(
    ruler: Ruler, pull: Pull, *, dt: float = 0.005, n_runs: int = 1, n_frames: int = 41, seed: int = 0
) -> xr.Dataset:
    """Pull the ruler. Time stepping is implicit and takes friction as the set-valued law it is (Moreau's scheme).

    In each step the velocities v⁺ solve m(v⁺ − v) = dt (differences of tensions + friction) with tensions and friction
    inside their bounds, at a bound only where a pair or node moves: the unique minimum of a convex function, found
    exactly (:func:`step`). Nodes at rest stay exactly at rest. At least first order in ``dt``.

    Parameters
    ----------
    dt : float
        Time step; at most a fiftieth of every jerk period and a thousandth of every duration.
    n_runs : int
        Runs with independent jerks; run r of every member draws the same numbers, whatever else is simulated.
    n_frames : number of recorded times, first and last included, evenly spaced over each pull.

    Returns
    -------
    Dataset
        Over the labels, run, frame (0..n_frames − 1) and node (0..n) or pair (1..n): ``time``, ``position`` of the
        nodes and ``extension`` of the pairs.

    Raises
    ------
    ValueError
        If ``dt``, ``n_runs`` or ``n_frames`` is out of range, or labels clash.

    Examples
    --------
    >>> end = simulate(Ruler(n_pairs=3), Pull(duration=50.0), dt=0.02).isel(run=0, frame=-1)
    >>> bool(end.extension[-1] > end.extension[0])
    True
    """
    started = time.perf_counter()
    members = grid(ruler, pull)
    largest = min(members.flat["jerk_period"].min() / 50, members.flat["duration"].min() / 1000)
    allowed = f"positive and at most {largest:.4g} for these pulls"
    dt = specs.check_real("simulate: dt", dt, np.nextafter(0, 1), largest, allowed)
    n_runs, n_frames = specs.check_int("simulate: n_runs", n_runs), specs.check_int("simulate: n_frames", n_frames, 2)
    seed = specs.check_int("simulate: seed", seed, 0)
    name, value = max(("n_runs", n_runs), ("n_frames", n_frames), key=lambda size: size[1])
    longest_ruler = int(members.flat["n_pairs"].max())
    specs.check_memory(f"simulate: {name}", value, n_runs * members.n * n_frames * (2 * longest_ruler + 1))
    longest = float(members.flat["duration"].max())
    number = specs.check_steps("simulate: dt", dt, longest / dt)
    specs.check_memory("simulate: dt", dt, 3.0 * n_runs * number)
    steps = np.ceil(members.flat["duration"] / dt - 1e-9).astype(int)
    jerks = int(np.max(members.flat["duration"] / members.flat["jerk_period"])) + 2
    streams = [Stream.of("folding_ruler", seed, run) for run in range(n_runs)]
    strengths = np.abs([s.normal("jerk", 0, jerks) for s in streams])
    rows = []
    for p, last in zip(members.members(), steps, strict=True):
        n, frames = int(p["n_pairs"]), np.round(np.linspace(0, last, n_frames)).astype(np.int64)
        position = np.empty((n_runs, n_frames, n + 1))
        for run, path in enumerate(hand(p, last, dt, strengths)):
            drive(
                path, dt, p["table_friction"], p["shake_speed"], p["stop"], frames, position[run],
                np.arange(n + 1) * (path[0] / n), np.zeros((8, n + 1)), np.zeros((4, 8 * n + 8)),
            )  # fmt: skip
        rows.append({"position": position, "extension": np.diff(position, axis=-1), "time": frames * dt})
    coords = {"run": np.arange(n_runs), "frame": np.arange(n_frames), "node": np.arange(longest_ruler + 1)}
    setting = {"dt": dt, "n_runs": n_runs, "n_frames": n_frames}
    spec = json.dumps(encode({"ruler": ruler, "pull": pull, **setting}))
    notes = attributes(spec=spec, seed=seed, wall_seconds=time.perf_counter() - started)
    return labelled(members, rows, ATTRS, coords | {"pair": np.arange(1, longest_ruler + 1)}, notes)


simulators.simulate.register(Ruler, simulate)


# One implicit time step of a chain with dry friction, solved exactly.
#
# With velocities v before the step, the velocities w after it minimise
#
#     Σ_i [½ (w_i − v_i)² + h f |w_i|]  +  Σ_i h R_i |w_i − w_{i−1}|,      w_0 = 0, w_n given,
#
# subject to the stops lo_i <= w_i − w_{i−1} <= hi_i: sticking and sliding are the corners and slopes of this
# function, so static friction needs no threshold velocity. The minimum over w_1, ..., w_{i−1} for given w_i is a
# convex, piecewise quadratic function; its derivative is a rising polyline, carried from node to node as a list of
# corners (w, y). (The method is the dynamic programme of Johnson (2013) for the fused lasso, with stops added.)

WALL = 1e300
"""Stands for an unbounded force: a polyline that ends in it has a vertical end."""


@njit(**INSIDE)
def at_height(w: Floats, y: Floats, height: float) -> float:
    """Where the polyline first reaches ``height``."""
    j = 0
    while y[j] < height:
        j += 1
    if j == 0 or w[j] == w[j - 1]:
        return w[j]
    return w[j - 1] + (height - y[j - 1]) / (y[j] - y[j - 1]) * (w[j] - w[j - 1])


@njit(**INSIDE)
def last_at_height(w: Floats, y: Floats, size: int, height: float) -> float:
    """Where the polyline last is at ``height`` or below it."""
    j = size - 1
    while y[j] > height:
        j -= 1
    if j == size - 1 or w[j] == w[j + 1]:
        return w[j]
    return w[j] + (height - y[j]) / (y[j + 1] - y[j]) * (w[j + 1] - w[j])


@njit(**INSIDE)
def at_place(w: Floats, y: Floats, size: int, place: float) -> tuple[float, float]:
    """Lowest and highest value of the polyline at ``place`` (they differ on a vertical piece)."""
    j = 0
    while j < size - 1 and w[j] < place:
        j += 1
    if w[j] != place:
        if j == 0 or w[j] < place:
            return y[j], y[j]
        value = y[j - 1] + (place - w[j - 1]) / (w[j] - w[j - 1]) * (y[j] - y[j - 1])
        return value, value
    k = j
    while k < size - 1 and w[k + 1] == place:
        k += 1
    return y[j], y[k]


@njit(**KERNEL)
def step(
    v: Floats, speed: float, bound: Floats, lo: Floats, hi: Floats, f: float, drag: Floats, out: Floats, lows: Floats,
    highs: Floats, w: Floats, y: Floats, w2: Floats, y2: Floats,
) -> None:  # fmt: skip
    """Velocities ``out`` after a step in which node n moves at ``speed``.

    ``bound``, ``lo``, ``hi`` are indexed by pair 1..n, ``v`` and ``out`` by node 0..n; ``f`` is the impulse h f of dry
    friction on a node and ``drag`` that of viscous drag per velocity. The other arrays are working space.
    """
    n = len(v) - 1
    w[0], y[0], w[1], y[1], size = 0.0, -WALL, 0.0, WALL, 2
    for i in range(1, n + 1):
        # A pair: inside its bounds it is locked; at a bound it slides freely up to its stop.
        low = last_at_height(w, y, size, -bound[i])
        high = at_height(w, y, bound[i])
        lows[i], highs[i] = low, high
        m = 0
        for j in range(size):
            if y[j] <= -bound[i]:
                w2[m], y2[m] = w[j] + lo[i], y[j]
                m += 1
        w2[m], y2[m], w2[m + 1], y2[m + 1] = low + lo[i], -bound[i], low, -bound[i]
        m += 2
        for j in range(size):
            if -bound[i] < y[j] < bound[i]:
                w2[m], y2[m] = w[j], y[j]
                m += 1
        w2[m], y2[m], w2[m + 1], y2[m + 1] = high, bound[i], high + hi[i], bound[i]
        m += 2
        for j in range(size):
            if y[j] >= bound[i]:
                w2[m], y2[m] = w[j] + hi[i], y[j]
                m += 1
        size = m
        w, y, w2, y2 = w2, y2, w, y
        if i == n:
            break
        # A node: inertia and drag tilt the polyline, dry friction adds a jump at rest.
        below, above = at_place(w, y, size, 0.0)
        m = 0
        for j in range(size):
            if w[j] < 0.0:
                w2[m], y2[m] = w[j], y[j] + w[j] - v[i] + drag[i] * w[j] - f
                m += 1
        w2[m], y2[m], w2[m + 1], y2[m + 1] = 0.0, below - v[i] - f, 0.0, above - v[i] + f
        m += 2
        for j in range(size):
            if w[j] > 0.0:
                w2[m], y2[m] = w[j], y[j] + w[j] - v[i] + drag[i] * w[j] + f
                m += 1
        size = m
        w, y, w2, y2 = w2, y2, w, y
    out[n] = speed
    for i in range(n, 0, -1):
        if out[i] > highs[i]:
            out[i - 1] = max(highs[i], out[i] - hi[i])
        elif out[i] < lows[i]:
            out[i - 1] = min(lows[i], out[i] - lo[i])
        else:
            out[i - 1] = out[i]


@njit(**KERNEL, cache=True)
def drive(
    path: Floats, h: float, f: float, c: float, stop: float, frames: Ints, position: Floats, x: Floats, nodes: Floats,
    lines: Floats,
) -> None:  # fmt: skip
    """Drive the chain along ``path`` (hand's position per step); fill the (frame, node) positions.

    x : (n + 1,) where the nodes are, moved. nodes : (8, n + 1), lines : (4, 8n + 8); zero at first.
    """
    n = position.shape[1] - 1
    v, out, drag, bound, lo, hi, lows, highs = (
        nodes[0], nodes[1], nodes[2], nodes[3], nodes[4], nodes[5], nodes[6], nodes[7]
    )  # fmt: skip
    frame = 0
    for k in range(len(path)):
        if k == frames[frame]:
            for i in range(n + 1):
                position[frame, i] = x[i]
            frame += 1
        if k == len(path) - 1:
            break
        for i in range(1, n + 1):
            u = min(max(x[i] - x[i - 1], 0.0), stop)
            bound[i], lo[i], hi[i] = h / np.sqrt(1.0 - u * u), -u / h, (stop - u) / h
            # Sideways sliding turns dry friction along the pull into drag.
            drag[i] = h * f / np.sqrt(v[i] * v[i] + c * c) if c > 0.0 else 0.0
        dry = 0.0 if c > 0.0 else h * f
        speed = (path[k + 1] - x[n]) / h
        step(v, speed, bound, lo, hi, dry, drag, out, lows, highs, lines[0], lines[1], lines[2], lines[3])
        for i in range(1, n + 1):
            x[i] += h * out[i]
        for i in range(n + 1):
            v[i] = out[i]
