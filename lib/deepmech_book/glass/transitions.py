"""Two transitions of the landscape, from the losses of networks at rest (Fig. 1)."""

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, crossing, estimate, proportion, unknown
from deepmech.sweeps import sweep_of
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.glass.phases import LEARNT, LEVEL, source

FLOOR = 1e-20
"""Least loss in geometric means, as in the paper's programs."""
NOWHERE = "the mean loss crosses the level nowhere; give narrower or wider networks, or train them for longer"
NOT_ENCLOSED = "the decays tried do not enclose where half of the networks fall (regularisations_p)"
NONE_LEARNS = (
    "the widest networks learn at no decay above 0; give smaller ones (regularisations_a), or train for longer"
)


def ratio(result):
    """N/P_D of every width."""
    n_data = sweep_of(result).fixed["data"]["n_data"]
    values = [n_weights(layer_sizes(10, int(w), 6)) / n_data for w in result.width.values]
    return xr.DataArray(np.round(values, 4), {"width": result.width}, "width")


def typical(loss):
    """Geometric mean over the seeds that did not diverge, with the floor."""
    logs = np.log(loss.clip(min=FLOOR))
    return np.exp(logs.where(np.isfinite(logs)).mean("seed"))


def by_ratio(result):
    """Data loss without weight decay over seed and ratio N/P_D, no lower than the floor."""
    loss = result.data_loss.isel(regularisation=0, drop=True).clip(min=FLOOR)
    return loss.assign_coords(width=ratio(result).values).rename(width="ratio")


def over_decay(result):
    """Data loss of one width over weight decay."""
    return result.data_loss.isel(width=0, drop=True).sortby("regularisation")


def n_star(result, level=LEVEL):
    """N/P_D at which the mean of the final loss falls to a level, linear in its logarithm; nan if it never does."""
    middle = typical(by_ratio(result))
    return crossing(middle.ratio.values, np.log(middle.values), np.log(level), direction="falls")


def above_for_good(loss, level):
    """Whether a loss is above a level at this decay and all stronger ones."""
    falling = loss.sortby("regularisation", ascending=False)
    return (falling > level).cumprod("regularisation").sortby("regularisation")


def last_step(loss, level):
    """Rise of a loss in the step of λ that ends above a level for good, as a share of its whole rise: 1 is a jump."""
    ordered = loss.sortby("regularisation")
    first = above_for_good(loss, level).diff("regularisation") > 0
    rise = ordered.isel(regularisation=-1) - ordered.isel(regularisation=0)
    return ordered.diff("regularisation").where(first).max("regularisation") / rise


# --- pictures and tables


def typical_by_ratio(result):
    """Typical data loss over regularisation and ratio N/P_D."""
    return typical(result.data_loss).assign_coords(width=ratio(result).values).rename(width="ratio")


def single_and_mean(result, n=5):
    """Data loss over weight decay of the first networks, and the mean of all that did not diverge, along kind."""
    curves = result.data_loss.isel(width=0, drop=True)
    names = [f"network {i + 1}" for i in range(n)]
    single = curves.isel(seed=slice(0, n)).rename(seed="kind").assign_coords(kind=names)
    return xr.concat([curves.mean("seed").expand_dims(kind=["mean"]), single], "kind")


def overview(results):
    """What came to rest, one row per title: data, sizes, numbers of networks and of those that diverged."""
    rows = {}
    for title, result in results.items():
        data, widths, n = sweep_of(result).fixed["data"], result.width.values, result.diverged.size
        rows[title] = {
            "data": source(data),
            "samples": data["n_data"],
            "widths": f"{widths.min()} to {widths.max()}" if len(widths) > 1 else str(widths[0]),
            "networks": n,
            "diverged": int(result.diverged.sum()),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def by_program(result):
    """Loss and share of samples missed by N/P_D, means over networks, in words: one row a width."""
    found = result.isel(regularisation=0)[["data_loss", "error"]].mean("seed").to_dataframe()[["data_loss", "error"]]
    found.insert(0, "N/P_D", ratio(result).values)
    names = {"data_loss": "final data loss", "error": "share of samples missed"}
    return found.rename(columns=names).map("{:.2g}".format)


def fallen_by_decay(result):
    """How many networks have fallen to the origin, and their mean loss, one row a λ."""
    losses = over_decay(result)
    counts = {
        "networks that fell": (losses > LEARNT).sum("seed"),
        "networks in all": losses.notnull().sum("seed"),
        "mean data loss": losses.mean("seed").round(2),
    }
    return pd.DataFrame({name: one.to_series() for name, one in counts.items()}).rename_axis("weight decay λ")


# --- claims


def origin(result):
    """Where a result's numbers come from, in words."""
    one = overview({"": result}).iloc[0]
    size = f"{one['data']}, P_D = {one['samples']}, width {one['widths']}"
    return f"{size}, {one['diverged']} of {one['networks']} diverged."


def without_loss(sizes):
    """Share of the networks larger than N* that are without loss."""
    if np.isnan(star := n_star(sizes)):
        return unknown(NOWHERE)
    larger = by_ratio(sizes).sel(ratio=slice(star, None)).values
    larger = larger[np.isfinite(larger)]
    return proportion(float((larger < LEVEL).mean()), len(larger))


@measures("C.1.scatter")
def scatter(sizes):
    """Share of the larger networks that are without loss."""
    share = without_loss(sizes)
    return Measurement(share, null=1.0, detail=f"{share.n} networks.")


@measures("C.1.lambda_star")
def lambda_star(networks):
    """λ beyond which half of the networks have fallen, from the largest at which none has to the least of all."""
    loss = over_decay(networks)
    at, n = loss.regularisation.values, loss.sizes["seed"]
    fell = (loss > LEARNT).mean("seed").values
    found = unknown(NOT_ENCLOSED)
    if fell.min() == 0 and fell.max() == 1 and (np.diff(fell) >= 0).all():
        low, high = at[fell < 0.5].max(), at[fell >= 0.5].min()
        found = Estimate((low + high) / 2, at[fell == 0].max(), at[fell == 1].min(), n)
    middle = loss.where((loss > 0.3) & (loss < LEARNT)).transpose("regularisation", "seed").to_series().dropna()
    half_way = "".join(f"One network of λ = {d:g} ends half-way, at {v:.2f}. " for (d, _), v in middle.items())
    words = f"The interval is between the decays at which none and all of the {n} networks fell, and not more. "
    return Measurement(found, detail=f"{words}{half_way}The paper trains 42 times as long.")


@measures("C.1.sharp")
def sharp(decays, fallen=LEARNT):
    """The last step's share of the loss's rise, mean over networks (``fallen``: above it); the null: of their mean."""
    loss = over_decay(decays)
    rise = loss.isel(regularisation=-1) - loss.isel(regularisation=0)
    most = float((loss.diff("regularisation").max("regularisation") / rise).mean())
    words = f"{origin(decays)} The largest step, wherever it ends: {most:.2f}."
    single = estimate(last_step(loss, fallen), "seed", "symmetric")
    return Measurement(single, null=float(last_step(loss.mean("seed"), fallen)), detail=words)


@measures("C.1.no_uot_with_decay")
def no_uot_with_decay(plane):
    """Factors of ten by which the loss falls with size, at each decay at which the widest learn; the null: without."""
    logs = np.log10(plane.data_loss.clip(min=FLOOR))
    fall = logs.isel(width=0, drop=True) - logs.isel(width=-1, drop=True)
    middle = fall.where(np.isfinite(fall)).mean("seed")
    learns = (typical(plane.data_loss).isel(width=-1) < LEARNT) & np.isfinite(middle) & (fall.regularisation > 0)
    if not learns.any():
        return Measurement(not_testable=NONE_LEARNS)
    found = estimate(fall.sel(regularisation=learns.regularisation[learns.values]), "seed", "symmetric")
    return Measurement(found, null=float(middle.sel(regularisation=0.0)), detail=origin(plane))
