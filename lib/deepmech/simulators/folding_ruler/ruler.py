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
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from deepmech.core import checks
from deepmech.core.labels import Batch, Number, Spec, align, described
from deepmech.core.provenance import attributes
from deepmech.core.random import Stream
from deepmech.simulators.folding_ruler.friction import pull as drive

_LENGTH, _TIME, _ENERGY = "straight pairs", "a√(m/τ)", "4τ"
#: What results hold, and in what units.
WORDS = {
    "position": ("position of a node", _LENGTH),
    "extension": ("extension of a pair", "1"),
    "work": ("work of the hand", _ENERGY),
    "joint_heat": ("heat of the joints", _ENERGY),
    "table_heat": ("heat of the table", _ENERGY),
    "kinetic": ("kinetic energy", _ENERGY),
    "step_loss": ("energy lost in dead stops and by the steps", _ENERGY),
    "time": ("time", _TIME),
    "run": ("run", "1"),
    "frame": ("frame", "1"),
    "node": ("node", "1"),
    "pair": ("pair", "1"),
}


@dataclass(frozen=True, eq=False)
class Ruler(Spec):
    """A ruler of ``n_pairs`` pairs of segments; every number but ``n_pairs`` may be a labelled array.

    Parameters
    ----------
    n_pairs : number n of Vs.
    fold_angle : initial inclination θ of every segment to the line of the pull, in degrees; 90 is folded flat.
    table_friction : friction f of one node on the table, in units of the force that opens a folded pair.
    stop : largest extension of a pair; below 1, where the pull would have no lever at all.

    Examples
    --------
    >>> Ruler(table_friction=-1)
    Traceback (most recent call last):
    ValueError: Ruler.table_friction = -1: must be zero or positive
    """

    n_pairs: int = 8
    fold_angle: Number = 80.0
    table_friction: Number = 0.2
    stop: Number = 0.99

    def __post_init__(self) -> None:
        checks.whole("Ruler.n_pairs", self.n_pairs, 2)
        self.require_numbers("fold_angle", "stop")
        self.require("fold_angle", (self.fold_angle > 0) & (self.fold_angle <= 90), "in (0, 90]")
        self.require_not_negative("table_friction")
        self.require("stop", (self.stop > 0) & (self.stop < 1), "between 0 and 1")


@dataclass(frozen=True, eq=False)
class Pull(Spec):
    """How the hand moves; every number may be a labelled array.

    The hand goes smoothly (s² (3 − 2s)) from the folded ruler's end to n times ``extension`` in ``duration``.

    Parameters
    ----------
    extension : mean extension of the pairs at the end.
    duration : time of the pull.
    jerk_speed, jerk_period : on top, once per period, the hand jerks forward and back: its velocity is that of one
        period of a sine whose height is ``jerk_speed`` times the magnitude of a standard normal number. The last two
        periods are quiet, and the hand never goes beyond the straight ruler.
    shake_speed : speed c at which the whole ruler slides to and fro sideways meanwhile.
    """

    extension: Number = 0.6
    duration: Number = 400.0
    jerk_speed: Number = 0.0
    jerk_period: Number = 1.0
    shake_speed: Number = 0.0

    def __post_init__(self) -> None:
        self.require_positive("extension", "duration", "jerk_period")
        self.require_not_negative("jerk_speed", "shake_speed")


def batch(ruler: Ruler, pull: Pull) -> Batch:
    """Ruler and pull as one flat batch, with the checks that need both."""
    checks.instance("ruler", ruler, Ruler)
    checks.instance("pull", pull, Pull)
    numbers = {f.name: getattr(spec, f.name) for spec in (ruler, pull) for f in fields(spec) if f.name != "n_pairs"}
    members = align("Ruler and Pull", **numbers)
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
    ruler : any of its numbers may be a labelled array.
    extension : mean extension of the pairs, between that of the folded ruler and its stop.

    Returns
    -------
    DataArray
        Dims of the labels, then pair = 1..n from the pinned end to the hand.

    Examples
    --------
    >>> slow_profile(Ruler(n_pairs=3, table_friction=0.0), 0.5).values.round(3)
    array([0.5, 0.5, 0.5])
    """
    members, n = batch(ruler, Pull(extension=extension)), ruler.n_pairs
    below = np.arange(n)[::-1]

    def extensions(pull: float, p: dict[str, float]) -> np.ndarray:
        yields = 1 / np.maximum(pull - below * p["table_friction"], 1.0)
        return np.clip(np.sqrt(1 - yields**2), np.cos(np.radians(p["fold_angle"])), p["stop"])

    rows = []
    for p in members.members():
        high = 1 / np.sqrt(1 - p["stop"] ** 2) + n * p["table_friction"]
        rows.append(
            extensions(brentq(lambda f, p=p: extensions(f, p).mean() - p["extension"], 1.0, high, xtol=1e-14), p)
        )
    made = {"extension": members.unflatten(np.array(rows), "pair")}
    return described(xr.Dataset(made, {**members.coords, "pair": np.arange(1, n + 1)}), WORDS)["extension"]


def hand(members: Batch, n_pairs: int, n_steps: np.ndarray, dt: float, strengths: np.ndarray, k: int) -> np.ndarray:
    """Positions of the hand at every step of member ``k``, one row per run; ``strengths`` has dims (run, jerk)."""
    p = {name: values[k] for name, values in members.flat.items()}
    t = dt * np.arange(n_steps[k] + 1)
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
    exactly (:mod:`.friction`). Nodes at rest stay exactly at rest. At least first order in ``dt``.

    Parameters
    ----------
    dt : time step; at most a fiftieth of every jerk period and a thousandth of every duration.
    n_runs : runs with independent jerks; run r of every member draws the same numbers, whatever else is simulated.
    n_frames : number of recorded times, first and last included, evenly spaced over each pull.

    Returns
    -------
    Dataset
        Over the labels, run, frame (0..n_frames − 1) and node (0..n) or pair (1..n): ``time``, ``position`` of the
        nodes, ``extension`` of the pairs, and the running energies ``work`` (of the hand), ``joint_heat``,
        ``table_heat``, ``kinetic`` and ``step_loss``: what the work leaves over, never negative. It is the energy
        lost in the dead stops, and an error of the implicit step that vanishes with dt otherwise.

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
    members, n = batch(ruler, pull), ruler.n_pairs
    largest = min(members.flat["jerk_period"].min() / 50, members.flat["duration"].min() / 1000)
    if not checks.is_real(dt) or not 0 < dt <= largest:
        raise ValueError(f"simulate dt = {dt!r}: must be positive and at most {largest:.4g} for these pulls")
    for name, value, least in (("n_runs", n_runs, 1), ("n_frames", n_frames, 2), ("seed", seed, 0)):
        checks.whole(f"simulate {name}", value, least)
    checks.fitting("simulate n_runs", n_runs, float(n_runs) * n_frames * (2 * int(ruler.n_pairs) + 1))
    steps = np.ceil(members.flat["duration"] / dt - 1e-9).astype(int)
    jerks = int(np.max(members.flat["duration"] / members.flat["jerk_period"])) + 2
    streams = [Stream.of("folding_ruler", seed, run) for run in range(n_runs)]
    strengths = np.abs([s.normal("jerk", 0, jerks) for s in streams])
    shape = (members.n, n_runs, n_frames)
    position, energy, times = np.empty((*shape, n + 1)), np.empty((*shape, 5)), np.empty((members.n, n_frames))
    for k in range(members.n):
        frames = np.round(np.linspace(0, steps[k], n_frames)).astype(np.int64)
        times[k] = frames * dt
        for run, path in enumerate(hand(members, n, steps, dt, strengths, k)):
            f, c, stop = (members.flat[name][k] for name in ("table_friction", "shake_speed", "stop"))
            drive(
                path, dt, f, c, stop, frames, position[k, run], energy[k, run], np.arange(n + 1) * (path[0] / n),
                np.zeros((8, n + 1)), np.zeros((4, 8 * n + 8)), np.zeros(5),
            )  # fmt: skip
    data: dict[str, Any] = {"position": members.unflatten(position, "run", "frame", "node")}
    data["extension"] = members.unflatten(np.diff(position, axis=-1), "run", "frame", "pair")
    for j, name in enumerate(("work", "joint_heat", "table_heat", "kinetic", "step_loss")):
        data[name] = members.unflatten(energy[..., j], "run", "frame")
    data["time"] = members.unflatten(times, "frame")
    index = {"run": np.arange(n_runs), "frame": np.arange(n_frames), "node": np.arange(n + 1)}
    setting = {"dt": dt, "n_runs": n_runs, "n_frames": n_frames}
    spec = json.dumps({"ruler": ruler.to_json(), "pull": pull.to_json(), **setting})
    notes = attributes(spec=spec, seed=seed, wall_seconds=time.perf_counter() - started)
    return described(xr.Dataset(data, {**members.coords, **index, "pair": np.arange(1, n + 1)}, notes), WORDS)
