"""Friction and noise fitted to load curves of networks: what a fit can tell apart, what it follows, what it foretells.

Chains are fitted by :mod:`.chain_fits`; here stand the chains with known numbers that say what such a fit is worth, and
what is asked of the fits of a whole plane of networks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import t as student

from deepmech.core.estimates import Estimate, spearman
from deepmech.core.random import Stream
from deepmech.metrics.curvature import curvature
from deepmech_book.experiments.spring_block import chain_fits
from deepmech_book.experiments.spring_block.chain_fits import LONGEST

#: What is fitted: frictions and noise of a chain, and its time at the last epoch, up to LONGEST.
NUMBERS = (*chain_fits.CHAINS, "time")
N_BLOCKS = 7
#: Load curves that are more bent than this are called bent (page "How straight is best?").
BENT = 0.05
#: What the networks differ in; each with the other, at fixed values of which a number is followed.
OTHER = {"slope": "dropout", "dropout": "slope"}


def known_chains(epochs: Any, n_groups: int = 10, n_each: int = 200, tried: bool = False) -> xr.Dataset:
    """Chains with numbers drawn from the range of those that are fitted, recorded as networks are.

    Frictions are uniform, noise and time uniform on a logarithm; or, with ``tried``, frictions and noise are among the
    very values that a fit tries. All the epochs together last the chain's ``time``. Groups of another size are other
    chains.

    Returns
    -------
    Dataset
        Over ``group`` and ``chain``: the :data:`NUMBERS`, ``load_curve`` (…, layer, at_epoch) over its range, and
        ``waited``, the load curve (…, layer) of the same chain after :data:`LONGEST`.
    """
    stream, shape = Stream.of("known chains", n_each), (n_groups, n_each)
    ends = {name: (min(values), max(values)) for name, values in chain_fits.CHAINS.items()} | {"time": (1.0, LONGEST)}
    numbers = {}
    for name, (low, high) in ends.items():
        part = stream.uniform(name, 0, shape)
        rises_evenly = name.startswith("friction")
        numbers[name] = low + part * (high - low) if rises_evenly else low * (high / low) ** part
        if tried and name in chain_fits.CHAINS:
            values = np.array(chain_fits.CHAINS[name])
            numbers[name] = values[(part * len(values)).astype(int)]
    loads, waited = _followed({name: values.ravel() for name, values in numbers.items()}, epochs, N_BLOCKS)
    loads = loads / np.ptp(loads, axis=(1, 2), keepdims=True)
    axes, curve = ("group", "chain"), ("layer", "at_epoch")
    made: dict[str, Any] = {name: (axes, values) for name, values in numbers.items()}
    made["load_curve"] = ((*axes, *curve), loads.reshape(*shape, *loads.shape[1:]))
    made["waited"] = ((*axes, "layer"), waited.reshape(*shape, -1))
    return xr.Dataset(made, {"layer": np.arange(N_BLOCKS + 1), "at_epoch": np.asarray(epochs)})


def _followed(numbers: dict[str, np.ndarray], epochs: Any, n_blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Loads (chain, layer, epoch) of chains with these :data:`NUMBERS`, and (chain, layer) after :data:`LONGEST`."""
    each = {"chain": np.arange(len(numbers["time"]))}
    own = {name: xr.DataArray(values, each, ["chain"]) for name, values in numbers.items() if name != "time"}
    loads = chain_fits.pulled(n_blocks, **own)
    part = np.asarray(epochs, float) / np.max(epochs)
    at = [chain_fits.at_times(one[None], time * part)[0] for one, time in zip(loads, numbers["time"], strict=True)]
    return np.array(at), loads[..., -1]


def with_scatter(known: xr.DataArray, load: xr.DataArray) -> xr.DataArray:
    """Load curves of ``known`` chains, each with what one network, drawn at random, has beside the mean of its cell.

    ``load`` has the dimension ``seed``; a network's deviation is taken over the range of its cell's mean curves.
    """
    mean = load.mean("seed")
    spread = mean.max(["layer", "at_epoch"]) - mean.min(["layer", "at_epoch"])
    n = load.sizes["seed"]
    off = ((load - mean) / spread * np.sqrt(n / (n - 1))).transpose(..., "layer", "at_epoch").values
    off = off.reshape(-1, *off.shape[-2:])
    drawn = Stream.of("known chains", known.shape[1]).uniform("network", 0, known.shape[:2])
    return known + off[(drawn * len(off)).astype(int)]


def read_back(known: xr.Dataset, fit: xr.Dataset) -> xr.DataArray:
    """Rank correlation of true and fitted numbers over the chains of a group, over ``number`` and ``group``."""
    found = [_ranked(known[name], fit[name], "chain") for name in NUMBERS]
    return xr.concat(found, xr.Variable("number", list(NUMBERS)))


def read_off(known: xr.Dataset) -> xr.DataArray:
    """The rival of :func:`read_back`: size of the rank correlation with the signed curvature of the last curve."""
    bend = curvature(known["load_curve"].isel(at_epoch=-1), "layer")
    found = [abs(_ranked(known[name], bend, "chain").mean("group")) for name in NUMBERS]
    return xr.concat(found, xr.Variable("number", list(NUMBERS)))


def _ranked(one: xr.DataArray, other: xr.DataArray, dim: str) -> xr.DataArray:
    """Spearman's rank correlation along ``dim``; 0 where a number is the same everywhere, and so follows nothing."""
    one, other = xr.broadcast(one, other)
    one, other = one.transpose(..., dim), other.transpose(..., dim)
    rho = np.nan_to_num(spearman(one.values, other.values))
    return one.isel({dim: 0}, drop=True).copy(data=rho)


def fades(fit: xr.Dataset) -> xr.Dataset:
    """How chains with these numbers are bent at their last epoch (``now``), and after :data:`LONGEST` (``later``)."""
    flat = {name: fit[name].values.ravel() for name in NUMBERS}
    last, waited = _followed(flat, [1.0], N_BLOCKS)
    like = fit["time"]
    both = {"now": last[..., 0], "later": waited}
    return xr.Dataset({k: like.copy(data=curvature(v).reshape(like.shape)) for k, v in both.items()})


def tell_apart(known: xr.Dataset, fit: xr.Dataset) -> xr.Dataset:
    """Whether a chain that is concave now, and will not be for long, is told from one that friction keeps concave.

    Chains whose last curve is concave are of the first kind if they are straight or convex after :data:`LONGEST`, and
    of the second if they are concave still. The fitted chain, waited for as long, says which.

    Returns
    -------
    Dataset
        Over ``group``: ``right``, the mean of the shares of either kind that are put rightly. ``by_bend``: the same
        over all groups, of the best possible bar for the last curve's own curvature, either way round. ``n``: how many
        chains of each kind, over ``kind``.
    """
    bend = curvature(known["load_curve"].isel(at_epoch=-1), "layer")
    later = curvature(known["waited"], "layer")
    concave, passing = bend > BENT, later <= BENT
    said = fades(fit)["later"] <= BENT
    kinds = [concave & passing, concave & ~passing]
    shares = [said.where(kinds[0]).mean("chain"), (~said).where(kinds[1]).mean("chain")]
    one, two = (bend.values[kind.values] for kind in kinds)
    bars = np.concatenate([one, two])
    gaps = np.array([(one <= bar).mean() - (two <= bar).mean() for bar in bars])
    return xr.Dataset(
        {
            "right": sum(shares) / 2,
            "by_bend": 0.5 + abs(gaps).max() / 2,
            "n": ("kind", [int(kind.sum()) for kind in kinds]),
        },
        {"kind": ["passing", "kept by friction"]},
    )


def follows(fit: xr.Dataset) -> xr.DataArray:
    """How fitted numbers follow those of the networks, over ``number``, ``parameter`` (:data:`OTHER`) and ``seed``.

    Rank correlation along one parameter at each value of the other, then the mean over the latter.
    """
    found = [xr.concat([ranks(fit[n], p) for p in OTHER], xr.Variable("parameter", list(OTHER))) for n in NUMBERS]
    return xr.concat(found, xr.Variable("number", list(NUMBERS)))


def ranks(number: xr.DataArray, parameter: str) -> xr.DataArray:
    """Rank correlation of a number with one parameter at each value of the other, mean over the latter."""
    return _ranked(number, number[parameter], parameter).mean(OTHER[parameter])


def effective(fit: xr.Dataset) -> xr.DataArray:
    """Friction to the right less friction to the left: twice what is left of both under strong noise (Eq. 8)."""
    return fit["friction_right"] - fit["friction_left"]


def wider(found: Estimate, looks: int) -> Estimate:
    """With a 95 % interval that is wider for ``looks`` after any of which one might have stopped (Bonferroni)."""
    grown = np.divide(*student.ppf([1 - 0.025 / looks, 0.975], (found.n or 1) - 1))
    low, high = (found.value + grown * (end - found.value) for end in found.interval)
    return replace(found, low=low, high=high)


def permutation_null(fit: xr.Dataset, number: str, parameter: str, n_draws: int = 1000) -> xr.DataArray:
    """The mean over seeds of one of :func:`follows`, over draws that deal the cells of every row or column anew.

    The networks of a cell stay together, as seeds of one cell are more alike than cells are.
    """
    values = fit[number].transpose("seed", OTHER[parameter], parameter).values
    purpose = f"{number}, with {parameter}"
    order = np.argsort(Stream.of("friction fitted").uniform(purpose, 0, (n_draws, *values.shape[1:])), -1)
    mixed = np.take_along_axis(values[None], order[:, None], -1)
    rho = np.nan_to_num(spearman(np.broadcast_to(fit[parameter].values, mixed.shape), mixed))
    return xr.DataArray(rho.mean((1, 2)), dims="draw")


def foretold(load: xr.DataArray, fit: xr.Dataset, rival: xr.Dataset) -> xr.DataArray:
    """R² of each network's trajectory, foretold from what was fitted to all other cells; over ``rule`` and networks.

    Every number of a model is interpolated over the plane: a quadratic in slope and dropout, fitted to the other cells
    of the same seed. Rules: ``chain``, of its four numbers (noise and time on a logarithm), scale and shift;
    ``relaxation``, of its six; ``interpolation``, no model, the same quadratic for every layer and epoch.
    """
    load = load.transpose("seed", "slope", "dropout", "layer", "at_epoch").astype(float)
    shape, epochs = load.shape[:3], load.at_epoch.values
    n_blocks = load.sizes["layer"] - 1
    order = ("seed", "slope", "dropout")
    numbers = {name: fit[name].transpose(*order).values for name in NUMBERS}
    curves = fit["load_curve"].transpose(*load.dims).values.reshape(-1, *load.shape[3:])
    model, _ = _followed({k: v.ravel() for k, v in numbers.items()}, epochs, n_blocks)
    scale, shift = np.array([np.polyfit(m.ravel(), c.ravel(), 1) for m, c in zip(model, curves, strict=True)]).T
    for name in ("noise_bar", "time"):
        numbers[name] = np.log(numbers[name])
    numbers |= {"scale": scale.reshape(shape), "shift": shift.reshape(shape)}
    guessed = {name: _from_others(values, load).ravel() for name, values in numbers.items()}
    for name in ("noise_bar", "time"):
        guessed[name] = np.exp(guessed[name])
    guessed["time"] = np.clip(guessed["time"], 1.0, LONGEST)
    for name in ("friction_right", "friction_left"):
        guessed[name] = np.maximum(guessed[name], 0.0)
    made, _ = _followed({name: guessed[name] for name in NUMBERS}, epochs, n_blocks)
    found = {"chain": guessed["scale"][:, None, None] * made + guessed["shift"][:, None, None]}
    own = rival["number"].transpose(*order, "number").values
    own = np.stack([_from_others(own[..., k], load).ravel() for k in range(own.shape[-1])], -1)
    found["relaxation"] = np.array(
        [chain_fits.relaxing_terms(np.exp(v[0]), n_blocks + 1, epochs.astype(float)) @ v[1:] for v in own]
    )
    found["interpolation"] = _from_others(load.values, load).reshape(curves.shape)
    measured = load.values.reshape(curves.shape)
    off = measured - measured.mean((1, 2), keepdims=True)
    r2 = [1 - ((m - measured) ** 2).sum((1, 2)) / (off**2).sum((1, 2)) for m in found.values()]
    like = load.isel(layer=0, at_epoch=0, drop=True)
    return xr.concat([like.copy(data=r.reshape(shape)) for r in r2], xr.Variable("rule", list(found)))


def _from_others(values: np.ndarray, load: xr.DataArray) -> np.ndarray:
    """``values`` (seed, slope, dropout, …) in every cell, from a quadratic over the other cells of the same seed."""
    x, y = np.meshgrid(load["slope"].values, load["dropout"].values / load["dropout"].values.max(), indexing="ij")
    x, y = x.ravel(), y.ravel()
    terms = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], -1)
    hat = terms @ np.linalg.pinv(terms)
    flat = values.reshape(len(values), len(x), -1)
    # Leaving one point out of a linear fit needs no other fit: its residual grows by one over one minus its leverage.
    off = (flat - hat @ flat) / (1 - np.diag(hat))[:, None]
    return (flat - off).reshape(values.shape)
