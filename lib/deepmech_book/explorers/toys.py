"""The toys of the pages: what :data:`.toy.toy_page` is given there, from arrays that the page has."""

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.metrics.curvature import curvature
from deepmech.plots.style import format_number, temperatures
from deepmech.simulators.spring_block import Chain, equilibrium, simulate
from deepmech_book.glass import displacement, phases


def stacked(curves: dict[str, xr.DataArray], stop: str, along: str) -> xr.DataArray:
    """Curves by name as one array, over the slider's dimension, the name, and along a curve."""
    plain = [one.reset_coords(drop=True) for one in xr.broadcast(*curves.values())]
    whole = xr.concat(plain, xr.Variable("curve", list(curves)), coords="minimal")
    return whole.transpose(stop, "curve", along)


def creeping(right: float = 0.1, left: float = 0.2, n_runs: int = 8) -> dict[str, Any]:
    """A clock: chains under strong and weak noise, between rest without noise and the balance of both frictions."""
    chain: dict[str, Any] = {"friction_right": right, "friction_left": left}
    times = np.unique(np.geomspace(10, 1e4, 31).round(-1))
    bars = over("noise_bar", [0.3, 0.05])
    run = simulate(Chain(**chain, noise_bar=bars), times[-1], dt=0.1, n_runs=n_runs, record=times)
    strong, weak = run["load_curve"].mean("run").transpose("noise_bar", "time", "block")
    rest, block = 1 - equilibrium(Chain(**chain, noise=0.0))["position"], run["block"]
    end = 1 - block / block[-1] + (right - left) / 4 * block * (block[-1] - block)
    bends = [curvature(load, dim="block").values for load in (rest, end, strong, weak)]
    ways = [100 * np.clip((bends[0] - bend) / (bends[0] - bends[1]), 0, 1) for bend in bends[2:]]
    says = [
        f"At t = {t:,.0f} strong noise has brought the chain {far:.0f} % of the way from rest without noise to the "
        f"balance of frictions, weak noise {near:.0f} %."
        f"{' Weak noise leads to the same end; it only takes longer.' if near > 95 else ''}"
        for t, far, near in zip(times, *ways, strict=True)
    ]
    curves = {"strong noise": strong, "weak noise": weak, "rest without noise": rest, "balance of frictions": end}
    looks = {"weak noise": "#c24e00", "rest without noise": "chord", "balance of frictions": "free"}
    return {"curves": stacked(curves, "time", "block"), "says": says, "looks": looks, "y": "load"}


def one_weight() -> dict[str, Any]:
    """Weight decay λ: the loss ½(1 - w⁷)² + ½λ·7w² of seven layers of one weight, with the origin as a minimum."""
    decay, w = over("weight decay λ", np.linspace(0, 0.36, 19).round(2)), over("weight w", np.linspace(-0.3, 1.1, 141))
    data = 0.5 * (1 - w**7) ** 2
    far = np.linspace((5 / 12) ** (1 / 7), 1, 400)  # another minimum lies there, where λ is w⁵(1 - w⁷)
    most = far**5 * (1 - far**7)
    says = [
        f"At λ = {one:g} the origin is the only minimum."
        if one > most[0]
        else f"At λ = {one:g} there are two minima, the origin and w = {at:.2f}. Where training starts decides."
        for one, at in zip(decay.values, np.interp(-decay.values, -most, far), strict=True)
    ]
    says[0] = "Without weight decay the loss is least at w = 1. At the origin it is flat: neither hill nor hollow."
    curves = stacked(
        {"data loss and penalty": data + 3.5 * decay * w**2, "data loss": data}, str(decay.name), "weight w"
    )
    return {"curves": curves, "says": says, "looks": {"data loss": "free"}, "y": "loss"}


def rescaled(run: xr.Dataset) -> dict[str, Any]:
    """A unit of time, from steps to τ₉₀: overlaps of networks and of free walks over t/τ₉₀ᵃ, a from 0 to 1."""
    table = phases.times(run)
    table = table.isel(temperature=np.flatnonzero((table.temperature > 0) & np.isfinite(table["tau"])))
    warm, named = run.sel(temperature=table.temperature), [f"T = {format_number(t)}" for t in table.temperature.values]
    overlap = phases.overlaps(warm).mean("seed"), phases.free_overlaps(warm).mean("seed")
    flat, tau = (
        xr.concat([one.drop_vars("temperature") for one in both], "temperature", join="inner")
        for both in (overlap, (table["tau"], table["free"]))
    )
    power = "power a of τ₉₀ in the unit of time"
    a = over(power, np.linspace(0, 1, 11).round(1))
    slowest = float(table["tau"].max() / table["tau"].min())
    curves = flat.expand_dims({power: a.values}).transpose(power, "temperature", "time")
    return {
        "curves": curves.assign_coords(temperature=[*named, *["free walks"] * len(named)]),
        "places": (flat["time"] / tau**a).transpose(*curves.dims),
        "says": [
            f"With a = {one:g} the slowest of these networks take {slowest ** (1 - one):,.0f} times as long as the "
            "fastest until one weight in ten has left. Free walks (dashed) move along with them."
            if one < 1
            else "In units of each one's own τ₉₀ they fall on one curve until late. So do free walks (dashed): "
            "they know no landscape."
            for one in a.values
        ],
        "looks": dict(zip(named, temperatures(warm.temperature), strict=True)) | {"free walks": "free"},
        "x": " | ".join(["time t (steps)", *(f"t/τ₉₀ to the power {one:g}" for one in a.values[1:-1]), "t/τ₉₀"]),
    }


def threshold(made: xr.Dataset) -> dict[str, Any]:
    """A threshold: which cells of a diagram count as straight, and whether the best of them beats the best bent one."""
    means = (
        made[["curvature", "accuracy"]]
        .mean("seed", skipna=False)
        .stack(cell=("slope", ...))
        .reset_index("cell", drop=True)
    )
    bend, right, b = means["curvature"], 100 * means["accuracy"], over("threshold", np.arange(0.01, 0.121, 0.005))
    straight, bent = (right.where(side) for side in (abs(bend) <= b, abs(bend) > b))
    best = [one.where(one == one.max("cell")) for one in (straight, bent)]
    numbers = straight.count("cell"), straight.max("cell"), bent.max("cell")
    says = [
        f"Up to |c| = {at:.3f} cells count as straight: {n} of {right.size} do. The best of them gets {one:.2f} %, the "
        f"best bent one {other:.2f} %: {'straight' if one > other else 'bent'} leads by {abs(one - other):.2f} points."
        for at, n, one, other in zip(b.values, *(number.values for number in numbers), strict=True)
    ]
    curves = {"straight": straight, "bent": bent, "the best of each": best[0].fillna(best[1])}
    return {
        "curves": stacked(curves, "threshold", "cell"),
        "places": bend,
        "says": says,
        "looks": {"straight": "points", "bent": "others", "the best of each": "now"},
        "x": "signed curvature c",
        "y": "test accuracy (%)",
        "at": 8,
    }


def caged(run: xr.Dataset, glass: xr.DataArray) -> dict[str, Any]:
    """A temperature: the power of time by which networks move away, beside that of a glass former, which has cages."""
    both = displacement.beside_glass(run, glass).transpose("temperature", "kind", "time")
    late = both.sel(time=slice(100, None))  # before, the size of a step swings cold weights
    ends = (one.values.round(1) for one in (late.min("time"), late.max("time")))
    says = [
        f"At T = {format_number(t)} networks' power stays between {least[0]} and {most[0]} after the first swings; "
        f"the glass former's falls to {format_number(least[1])} and rises to {most[1]} again: a cage."
        for t, least, most in zip(both.temperature.values, *ends, strict=True)
    ]
    looks = {"glass former": "seed", "a free walk": "free"}
    curves = xr.concat([both, xr.ones_like(both.isel(kind=[0])).assign_coords(kind=["a free walk"])], "kind")
    return {"curves": curves, "says": says, "looks": looks}


def steep(curvature: xr.DataArray) -> dict[str, Any]:
    """Directions from the steepest on: how high bowls with the curvatures of a glass and of networks rise in each."""
    past = over("steeper directions, of 100", np.array([0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90]))
    share = curvature.median("seed").clip(min=0).sel(probability=1 - past / 100, method="nearest", drop=True)
    says = [
        f"Past the {n} steepest of 100 directions the glass still rises to {glass:.0f} % of its steepest height, "
        f"regularised networks to {one:.1f} %, underparameterised to {two:.1f} %, overparameterised to {three:.1f} %."
        for n, (glass, one, two, three) in zip(past.values, 100 * share.transpose(..., "system").values, strict=True)
    ]
    says[0] = "In its steepest direction each rises to 1: this is the unit of its heights."
    curves = share.transpose(..., "system") * over("distance from rest", np.linspace(-1, 1, 41)) ** 2
    looks = {"glass": "free", "underparameterised": "#c24e00", "overparameterised": "#009e73"}
    return {"curves": curves, "says": says, "looks": looks, "y": "height", "at": 6}


def foretold(walked: xr.Dataset, said: xr.Dataset) -> dict[str, Any]:
    """A temperature: overlaps as walked, as foretold from one look before, and of free walks."""
    runs = {"as walked": walked, "foretold": said.sel(kind="parabola"), "free walk": said.sel(kind="free walk")}
    means = {name: phases.overlaps(one.sortby("temperature")).mean("seed").dropna("time") for name, one in runs.items()}
    end, at = (means["as walked"][name].values for name in ("time", "temperature"))
    says = [
        f"At T = {format_number(t)}, after {end[-1]:,} steps, {did:.0f} % of the weights are in the window still. One "
        f"look before had foretold {told:.0f} %; a free walk keeps {free:.0f} %."
        for t, did, told, free in zip(at, *(100 * one.sel(time=end[-1]).values for one in means.values()), strict=True)
    ]
    looks = {"as walked": "points", "free walk": "free"}
    return {"curves": stacked(means, "temperature", "time"), "says": says, "looks": looks}


def sliding(paths: dict[str, xr.DataArray]) -> dict[str, Any]:
    """A clock: networks without noise, step by step along their drift and across it; ``paths`` are (step, axis)."""
    ways = xr.concat(list(paths.values()), xr.Variable("network", list(paths)))
    along, across = (ways.sel(axis=name, drop=True) for name in ("along the drift", "across it"))
    moves, stops = across.diff("step"), xr.Variable("steps without noise", across.step.values[1:])
    back = ((moves > 0).astype(int).diff("step") != 0).reindex(step=moves.step, fill_value=False).cumsum("step")
    path = ((moves**2 + along.diff("step") ** 2) ** 0.5).cumsum("step") / along.isel(step=slice(1, None))
    says = []
    for k, step in enumerate(stops.values):
        each = zip(paths, back.isel(step=k).values, path.isel(step=k).values, strict=True)
        told = (f"{name} has turned back {n} times, its path is {far:.1f} times its drift" for name, n, far in each)
        says.append(f"After {step} steps {'; '.join(told)}.")
    curves = xr.concat([across.where(across.step <= step) for step in stops.values], stops)
    looks = dict(zip(paths, ("mean", "#d95f02"), strict=True))
    words = {"x": "along the drift", "y": "across it"}
    return {"curves": curves, "places": along, "says": says, "looks": looks, "at": len(says) // 2, **words}


def dragged(rounds: int = 10) -> dict[str, Any]:
    """A share β/α: output 1 of two of three classes, while each class in turn has a step along its own (2, −1, −1)."""
    share = over("how far a step drags other classes, β/α", np.linspace(-0.3, 1, 14).round(1))
    step = np.arange(3 * rounds)
    push = xr.DataArray(np.tile([2.0, -1.0, -1.0], rounds), {"step": step + 1})  # of output 1, by classes in turn
    one, two = (xr.where(push.copy(data=step % 3 == k), push, share * push).cumsum("step") for k in range(2))
    says = [
        f"At β/α = {format_number(b)} a step on class 1 adds 2 to output 1 of class 1, and {format_number(2 * b)} "
        f"to that of class 2. After {3 * rounds} steps class 1 leads by {lead:.0f}."
        for b, lead in zip(share.values, abs((one - two).isel(step=-1)).values, strict=True)
    ]
    curves = stacked({"class 1": one, "class 2": two}, str(share.name), "step")
    return {"curves": curves, "says": says, "looks": {"class 2": "#c24e00"}, "at": 12, "x": "step", "y": "output 1"}
