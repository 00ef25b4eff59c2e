"""Chains fitted to the trajectories of networks (Fig. 4, left beside right), and the null of such a fit."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.simulators.spring_block import Chain, averaged

#: Chains that trajectories are compared with: frictions and step noise in units of stiffness times target.
CHAINS = {
    "friction_right": (0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.14),
    "friction_left": (0.0, 0.02, 0.04, 0.08, 0.12, 0.2, 0.3),
    "noise_bar": (0.01, 0.03, 0.06, 0.1, 0.2, 0.5),
}
STEP = 0.25
"""Time step of these chains, in units of damping over stiffness."""


def fitted_chains(load: xr.DataArray, t_end: float = 200.0, n_rates: int = 40) -> xr.Dataset:
    """The noise-averaged chain that follows trajectories of a network best, one for each regime.

    Every chain of :data:`CHAINS` and ``n_rates`` rates between epochs and the chain's time are tried; for each the
    loads are scaled and shifted by least squares, as the units of D and the target are not known. Block ℓ stands for
    layer ℓ.

    Parameters
    ----------
    load : DataArray, dims (regime, layer, at_epoch)
    t_end : the chain's time at the last epoch is at most this, in units of damping over stiffness, and at least 1.

    Returns
    -------
    Dataset
        Over ``regime``: ``load_curve`` of the chain, scaled and shifted, with the layers and epochs of ``load``;
        ``r2``, its coefficient of determination; what was chosen of :data:`CHAINS`, and ``time``, the chain's at the
        last epoch.
    """
    load = load.transpose("regime", "layer", "at_epoch")
    varied = {name: over(name, list(values)) for name, values in CHAINS.items()}
    times = np.arange(round(t_end / STEP) + 1) * STEP
    run = averaged(Chain(n_blocks=load.sizes["layer"] - 1, **varied), t_end, dt=STEP, record=times)
    loads = run["load_curve"].transpose(*varied, "block", "time").values[..., :-1, :]
    loads = loads.reshape(-1, *loads.shape[-2:])
    epochs = load.at_epoch.values / load.at_epoch.values[-1]
    r2 = np.empty((n_rates, load.sizes["regime"], len(loads)))
    rates = np.geomspace(1.0, t_end, n_rates)
    measured = load.values.reshape(load.sizes["regime"], 1, -1)
    for i, rate in enumerate(rates):
        r2[i] = _determination(_at(loads, rate * epochs).reshape(1, len(loads), -1), measured)
    best = [np.unravel_index(np.argmax(one), one.shape) for one in np.moveaxis(r2, 1, 0)]
    curves = np.empty(load.shape)
    for j, (k, c) in enumerate(best):
        model = _at(loads[[c]], rates[k] * epochs)[0]
        scale, shift = np.polyfit(model.ravel(), measured[j, 0], 1)
        curves[j] = scale * model + shift
    chosen = np.unravel_index([c for _, c in best], [len(v) for v in CHAINS.values()])
    found = {name: ("regime", np.array(CHAINS[name])[k]) for name, k in zip(CHAINS, chosen, strict=True)}
    return xr.Dataset(
        {
            "load_curve": load.copy(data=curves),
            "r2": ("regime", [r2[k, j, c] for j, (k, c) in enumerate(best)]),
            "time": ("regime", [rates[k] for k, _ in best]),
            **found,
        }
    )


def relaxation(load: xr.DataArray, n_times: int = 200) -> xr.DataArray:
    """The null of :func:`fitted_chains`: R² of the best exponential relaxation of every layer by itself, per regime.

    Each layer has a start, an end and a time of its own, by least squares; no layer knows another.
    """
    load = load.transpose("regime", "layer", "at_epoch")
    epoch = load.at_epoch.values.astype(float)
    decay = np.exp(-(epoch - epoch[0]) / np.geomspace(0.1, 100 * epoch[-1], n_times)[:, None])
    flat = load.values.reshape(-1, 1, len(epoch))
    explained = np.maximum(_determination(decay[None], flat), _determination(-decay[None], flat)).max(-1)
    own = flat.var(-1)[:, 0] * (1 - explained)
    left = own.reshape(load.shape[:2]).mean(-1)
    return xr.DataArray(
        1 - left / load.var(["layer", "at_epoch"]).values, dims="regime", coords={"regime": load.regime}
    )


def _at(loads: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Loads recorded every STEP along the last axis, linearly interpolated at ``times``."""
    where = np.clip(times / STEP, 0, loads.shape[-1] - 1)
    low = np.minimum(where.astype(int), loads.shape[-1] - 2)
    return loads[..., low] + (where - low) * (loads[..., low + 1] - loads[..., low])


def _determination(model: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """R² along the last axis of ``measured`` by scale · ``model`` + shift with the best scale ≥ 0 and shift."""
    x, y = (a - a.mean(-1, keepdims=True) for a in (model, measured))
    norm = np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
    r = np.divide((x * y).sum(-1), norm, out=np.zeros(np.broadcast_shapes(x.shape, y.shape)[:-1]), where=norm > 0)
    return np.maximum(r, 0.0) ** 2
