"""Both effects side by side in panels of pictures, over iterations or over the share of training."""

from functools import partial

import numpy as np
import xarray as xr

from deepmech_book import figures
from deepmech_book.elastic_sde.words import in_training

INTEGRATED = {"A": r"$\hat A$", "B": r"$\hat B$"}
TRUE = {"A_true": r"$\hat A$", "B_true": r"$\hat B$"}
RATES = {"intra": r"$\hat\alpha$", "inter": r"$\hat\beta$"}
MODELS = {"I": "I-model", "L-program": "L-model"}
SLOPES = "per 1,000 iterations"
draw = partial(figures.curve_panels, x="time", by="effect", columns=4, level=0.0, legend=False)


def both(run, names):
    """The variables ``names`` over ``effect``."""
    return xr.concat([run[name] for name in names], xr.Variable("effect", list(names.values())))


def hundredths(curves):
    """Means over each hundredth of the time."""
    return curves.coarsen(time=max(1, curves.sizes["time"] // 100), boundary="trim").mean()


def some_times(curves, n):
    return curves.isel(time=slice(0, None, max(1, curves.sizes["time"] // n)))


def integrals(run, names=INTEGRATED):
    return in_training(both(hundredths(run[list(names)]), names), "integrated effect")


def rates(run, names=RATES, said=SLOPES):
    return in_training(1000 * both(some_times(run[list(names)], 500), names), said)


def inner(curves):
    """Without the first and the last thirtieth of the times, where the filter extrapolates."""
    n = curves.sizes["time"] // 30
    return curves.isel(time=slice(n, curves.sizes["time"] - n))


def joined(parts, dim="panel"):
    return xr.concat(parts.values(), xr.Variable(dim, list(parts)), join="outer")


def by_share(curves):
    """Over the share of training in place of the iteration."""
    n = curves.sizes["time"]
    return curves.reset_coords(drop=True).assign_coords(time=(np.arange(n) + 0.5) / n)
