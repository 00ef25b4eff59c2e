"""What measured kernels say in the words of the I- and the L-model: real effects, beside those inferred from logits."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.estimates import leave_one_out
from deepmech_book.experiments.elastic_sde.effects import MODELS, estimate

WINDOW = 551
"""Iterations in the filter that makes α̂ and β̂, as on the page on effects."""


def real_effects(logits: xr.DataArray, move: xr.DataArray) -> xr.Dataset:
    """α and β as the models define them, from measured moves: per iteration, over ``model`` and the leading dimensions.

    In the L-model a step on class l moves class k by E_kl s_l d_l/|d_l|² with s_l = d_l·X̄ˡ, in the I-model by E_kl X̄ˡ.
    So E_kl is the move's part along that direction; α is the mean of E over k = l and β over k ≠ l, as ratios of sums.

    Examples
    --------
    >>> k, d = 3, np.eye(3) - 1 / 3
    >>> means = xr.DataArray(np.diag([1.0, 2.0, 3.0]), dims=("class", "logit"))
    >>> effect = np.where(np.eye(3), 0.5, -0.1)
    >>> pull = np.einsum("kl,l,lj->klj", effect, [2 / 3, 4 / 3, 2.0], d / (2 / 3))
    >>> found = real_effects(means, xr.DataArray(pull, dims=("class", "trained", "logit"))).sel(model="L")
    >>> round(float(found.intra), 12), round(float(found.inter), 12)
    (0.5, -0.1)
    """
    k = logits.sizes["class"]
    trained = logits.rename({"class": "trained"})
    own = xr.DataArray(np.eye(k), dims=("class", "trained"))
    directions = {"I": trained, "L": xr.DataArray(np.eye(k) - 1 / k, dims=("trained", "logit"))}
    found = []
    for along in directions.values():
        pull, size = (move * along).sum("logit"), (trained * along).sum("logit").sum("trained")
        intra = (pull * own).sum(["class", "trained"]) / size
        inter = (pull * (1 - own)).sum(["class", "trained"]) / ((k - 1) * size)
        found.append(xr.Dataset({"intra": intra, "inter": inter}))
    return xr.concat(found, xr.Variable("model", list(directions)))


def margin_growth(move: xr.DataArray) -> xr.DataArray:
    """By how much a step moves the mean own-class margin, classes drawn evenly."""
    k = move.sizes["class"]
    along = xr.DataArray(np.eye(k) - 1 / k, dims=("class", "logit"))
    return (move * along).sum("logit").mean(["class", "trained"])


def compared(run: xr.Dataset, window: int = WINDOW) -> xr.Dataset:
    """Real and inferred effects of the same networks at the same times, over ``model`` and ``time``.

    Parameters
    ----------
    run : of :func:`measure_cells`, averaged over ``group`` or not.

    Returns
    -------
    Dataset
        ``intra`` and ``inter`` over ``source``: "inferred" from logits alone; "real", by the kernels;
        "frozen", by the kernels of the initial weights with the residuals and logits of the time.
    """
    log = xr.Dataset({"mean": run["mean"].rename(block="time")})
    inferred = estimate(log, window, MODELS)[["intra", "inter"]].interp(
        time=run["time"].values, kwargs={"fill_value": "extrapolate"}
    )
    real, frozen = (real_effects(run["logits"], run[name]) for name in ("move", "move_frozen"))
    return xr.concat([inferred, real, frozen], xr.Variable("source", ["inferred", "real", "frozen"]))


def without_each_group(run: xr.Dataset) -> xr.Dataset:
    """Means over all groups but one, for each of them, over ``group``."""
    names = [name for name in run.data_vars if "group" in run[name].dims]
    return xr.Dataset({name: leave_one_out(run[name].astype(float), "group") for name in names})
