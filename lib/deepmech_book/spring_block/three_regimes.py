"""Fig. 4: chains and networks through training, chains fitted to networks, and a rival with as many free numbers.

Block ℓ stands for layer ℓ. Fit and rival see epochs up to the fraction ``seen`` of the last and are judged by the rest.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.plots.style import DASHES, LIGHT, NARROW, WIDE, legend, panels, sequential_colours
from deepmech.simulators.spring_block import Chain, averaged, simulate
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside
from deepmech_book.figures.axes import end_labels
from deepmech_book.figures.picture import pictured
from deepmech_book.spring_block.chains import REGIMES
from deepmech_book.spring_block.words import SEPARATION

TITLES = ["lazy", "balanced", "over-noisy"]
CHAINS = {
    "friction_right": (0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.14),
    "friction_left": (0.0, 0.02, 0.04, 0.08, 0.12, 0.2, 0.3),
    "noise_bar": (0.01, 0.03, 0.06, 0.1, 0.2, 0.5),
}
"""Chains that networks are compared with: frictions and step noise in units of stiffness times target."""
STEP, LONGEST = 0.25, 200.0
"""Time step of these chains, and the longest time at a network's last epoch, in units of damping over stiffness."""
NUMBERS = (*CHAINS, "time")
"""What is fitted: friction and noise, and the chain's time at the last epoch, from 1 to the longest."""


def simulated(n_runs, t_end=100.0, n_records=401):
    """Chains of the three regimes through time, with one noise for all blocks."""
    numbers: Any = {name: over("regime", TITLES).copy(data=list(of)) for name, of in pd.DataFrame(REGIMES).T.items()}
    record = np.linspace(0, t_end, n_records)
    return simulate(Chain(**numbers), t_end, n_runs=n_runs, record=record, shared_noise=True)


def fitted_chains(load, seen=2 / 3, n_rates=40, least=0.0):
    """Of each network's ``load`` over ``layer`` and ``at_epoch``, the noise-averaged chain that follows it best, among
    those with a friction to the right of ``least`` or more.

    Every chain of ``CHAINS`` and so many rates between epochs and the chain's time are tried; for each the loads are
    scaled and shifted by least squares, as the units of D and the target are not known. ``r2`` is of epochs not seen.
    """
    load, measured, fitted = _networks(load, seen)
    loads = _tried(load.sizes["layer"] - 1)
    epochs = load.at_epoch.values / load.at_epoch.values[-1]
    rates = np.geomspace(1.0, LONGEST, n_rates)
    y = _unit(measured[..., fitted])
    fit = np.stack([y @ _unit(_at_times(loads, rate * epochs[fitted])).T for rate in rates], 1)
    rough = np.array(CHAINS["friction_right"])
    fit[..., np.repeat(rough < least, len(loads) // len(rough))] = -np.inf
    # (network, rate, chain). A chain upside down is none, so that the scale may not be negative.
    best = [np.unravel_index(np.argmax(one), one.shape) for one in fit]
    curves = np.empty(measured.shape)
    for j, (k, c) in enumerate(best):
        model = _at_times(loads[[c]], rates[k] * epochs)[0]
        curves[j] = np.polyval(np.polyfit(model[:, fitted].ravel(), measured[j][:, fitted].ravel(), 1), model)
    chosen = np.unravel_index([c for _, c in best], [len(v) for v in CHAINS.values()])
    found = {name: np.array(CHAINS[name])[k] for name, k in zip(CHAINS, chosen, strict=True)}
    found |= {"r2": _explained(curves, measured, ~fitted), "time": rates[[k for k, _ in best]]}
    shaped = {name: _of_networks(load, values) for name, values in found.items()}
    return xr.Dataset({"load_curve": load.copy(data=curves.reshape(load.shape)), **shaped})


def relaxed(load, seen=2 / 3):
    """The rival, an exponential relaxation that knows no chain, and its ``r2`` at epochs not seen.

    Layer ℓ goes from its start to its end in a time that all share; ends are a parabola over ℓ and ways to go a
    straight line. That is six numbers, as many as the chain has with its scale, its shift and its rate.
    """
    load, measured, fitted = _networks(load, seen)
    epoch = load.at_epoch.values.astype(float)
    best, curves = np.full(len(measured), np.inf), np.empty(measured.shape)
    seen_of_each = measured[..., fitted].reshape(len(measured), -1).T
    for time in np.geomspace(0.1, 100 * epoch[-1], 200):
        design = _relaxing(time, load.sizes["layer"], epoch)
        known = design[:, fitted].reshape(-1, 5)
        weights = np.linalg.pinv(known, rcond=np.finfo(float).eps * len(known)) @ seen_of_each
        model = np.moveaxis(design @ weights, -1, 0)
        left = ((model - measured)[..., fitted] ** 2).sum((1, 2))
        better = left < best
        best[better], curves[better] = left[better], model[better]
    r2 = _of_networks(load, _explained(curves, measured, ~fitted))
    return xr.Dataset({"load_curve": load.copy(data=curves.reshape(load.shape)), "r2": r2})


def standing(load, seen=2 / 3):
    """R² at epochs not seen if every layer stays where it was at the last one that is."""
    load, measured, fitted = _networks(load, seen)
    return _of_networks(load, _explained(measured[..., fitted][..., -1:], measured, ~fitted))


def table(fit, rival, still, rough):
    """R² of chains, rivals and chains with much friction, and the chains' numbers; medians over seeds, by regime."""
    names = {
        "r2": "R² of the chain",
        "rival": "R² of the formula",
        "still": "R² if nothing moves",
        "rough": "R² of chains with friction ≥ 0.1",
        "friction_right": "friction to the right",
        "friction_left": "friction to the left",
        "noise_bar": "noise ε̄",
        "time": "chain's time at the last epoch",
    }
    medians = fit[["r2", *NUMBERS]].assign(rival=rival.r2, still=still, rough=rough.r2).median("seed").to_dataframe()
    ends = {name: (min(tried), max(tried)) for name, tried in {**CHAINS, "time": (1.0, LONGEST)}.items()}
    told = {name: [f"{v:.3g}{'*' * (v in ends.get(name, ()))}" for v in medians[name]] for name in names}
    return pd.DataFrame(told, medians.index).rename(columns=names).T


@pictured
def followed(network, fit, rival, *, layers=(1, 4, 7), seen=2 / 3, fig):
    """Data separation of networks (dots), fitted chains (solid), the rival (dashed), and if nothing moved (dotted)."""
    phone = fig.get_figwidth() <= NARROW
    fig.set_size_inches(*(NARROW, 8.4) if phone else (WIDE, 3.9))
    epoch, regimes = network["at_epoch"].values, network["regime"].values.tolist()
    scores = [[float(one["r2"].sel(regime=regime)) for one in (fit, rival)] for regime in regimes]
    titles = [f"{name}\n$R^2$ {a:.2f}, formula {b:.2f}" for name, (a, b) in zip(regimes, scores, strict=True)]
    axes = panels(fig, titles, 1 if phone else 3, "epoch", SEPARATION, sharey=True)
    kinds: tuple[tuple[str, xr.DataArray, dict[str, Any]], ...] = (
        ("network", network[{"at_epoch": slice(None, None, 3)}], {"marker": ".", "ls": "", "alpha": 0.6}),
        ("chain", fit["load_curve"], {"lw": 1.8}),
        ("formula without springs", rival["load_curve"], {"lw": 1.8, "ls": DASHES}),
    )
    for ax, regime in zip(axes, regimes, strict=True):
        ends = []
        for layer, colour in zip(layers, sequential_colours(len(layers)), strict=True):
            for name, curves, how in kinds:
                curve, known = curves.sel(regime=regime, layer=layer), layer > layers[0] or ax is not axes[0]
                ax.plot(curve["at_epoch"], curve, color=colour, label=None if known else name, **how)
            ends.append((epoch[-1], float(curve[-1]), str(layer), colour))
            at = network["at_epoch"].where(network["at_epoch"] <= seen * epoch[-1], drop=True)[-1:]
            stands = network.sel(regime=regime, layer=layer, at_epoch=at).item()
            ax.plot([*at, epoch[-1]], 2 * [stands], color=LIGHT.muted, ls=":", label=None if known else "nothing moves")
        ax.axvline(seen * epoch[-1], color=LIGHT.muted, lw=1.2)
        ax.set_xlim(0, 1.2 * epoch[-1])
        end_labels(ax, ends, 2.0, edge=0.82)
    legend(fig, axes[0], 2 if phone else 4)


def _relaxing(time, n_layers, epoch):
    """What the rival adds up, (layer, epoch, term): a parabola over the layers, and a fading straight line."""
    layer = np.linspace(0, 1, n_layers)[:, None]
    decay = np.broadcast_to(np.exp(-(epoch - epoch[0]) / time), (n_layers, len(epoch)))
    terms = [np.broadcast_to(t, decay.shape) for t in (np.ones_like(layer), layer, layer**2)]
    return np.stack([*terms, decay, layer * decay], -1)


@lru_cache(maxsize=2)
def _tried(n_blocks):
    """Loads of wall and blocks of the chains that are tried, (chain, block, time), recorded every ``STEP``."""
    numbers = {name: over(name, values) for name, values in CHAINS.items()}
    times = np.arange(round(LONGEST / STEP) + 1) * STEP
    run = averaged(Chain(n_blocks=n_blocks, **numbers), LONGEST, dt=STEP, record=times)
    loads = run["load_curve"].transpose(..., "block", "time").values[..., :-1, :]
    return loads.reshape(-1, *loads.shape[-2:])


def _of_networks(load, values):
    """One number of each network, along the dimensions of ``load`` that tell networks apart."""
    like = load.isel(layer=0, at_epoch=0, drop=True)
    return like.copy(data=np.reshape(values, like.shape))


def _networks(load, seen):
    """The labelled array, the same as (network, layer, epoch), and which epochs are seen."""
    load = load.transpose(..., "layer", "at_epoch").astype(float)
    fitted = load.at_epoch.values <= seen * load.at_epoch.values[-1]
    if not 2 <= fitted.sum() < fitted.size:
        raise ValueError(f"seen = {seen!r}: leaves {fitted.sum()} of {fitted.size} epochs to fit; give both parts some")
    return load, load.values.reshape(-1, *load.shape[-2:]), fitted


def _at_times(loads, times):
    """Loads recorded every ``STEP`` along the last axis, linearly interpolated at ``times``."""
    where = np.clip(times / STEP, 0, loads.shape[-1] - 1)
    low = np.minimum(where.astype(int), loads.shape[-1] - 2)
    return loads[..., low] + (where - low) * (loads[..., low + 1] - loads[..., low])


def _unit(loads):
    """Every one (layer, epoch) as a row of mean 0 and length 1; 0 where it is constant."""
    flat = loads.reshape(len(loads), -1)
    flat = flat - flat.mean(-1, keepdims=True)
    norm = np.sqrt((flat**2).sum(-1, keepdims=True))
    return np.divide(flat, norm, out=np.zeros_like(flat), where=norm > 0)


def _explained(model, measured, judged):
    """R² over layers and the epochs ``judged``."""
    y = measured[..., judged]
    left = np.broadcast_to(model, measured.shape)[..., judged] - y
    return 1 - (left**2).sum((1, 2)) / ((y - y.mean((1, 2), keepdims=True)) ** 2).sum((1, 2))


@measures("A.4.fit")
def fit(fitted, rival):
    """R² at epochs that were not seen of chains fitted to networks, and of a rival with as many numbers."""
    return Measurement(beside(fitted["r2"], rival["r2"], "seed", "skewed"))
