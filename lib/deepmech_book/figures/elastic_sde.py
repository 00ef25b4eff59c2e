"""Pictures of the pages on paper B: general ones with the words of this chapter. Each takes finished arrays.

Where a picture is no more than a general one with arguments given, it takes an array, or an estimate with its interval,
and after it the array of the dashed curves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from deepmech_book import figures
from deepmech_book.figures import Picture

__all__ = [
    "effect_rates",
    "integrated_effects",
]


# --- effects ----------------------------------------------------------------------------------------------------------

INTEGRATED = {"A": r"$\hat A$", "B": r"$\hat B$"}
RATES = {"intra": r"$\hat\alpha$", "inter": r"$\hat\beta$"}
MODELS = {"I": "I-model", "L-program": "L-model"}

_effects = partial(
    figures.curve_panels, x="time", by="effect", columns=4, level=0.0, legend=False, x_label="iteration",
    y_label="integrated effect",
)  # fmt: skip
"""Both effects over time, by model, window or number of classes."""
_rates = partial(_effects, y_label="per 1,000 iterations")


def _pair(run: xr.Dataset, names: Mapping[str, str]) -> xr.DataArray:
    """The variables ``names`` over ``effect``: integrals as means over hundredths of the time, rates at 500 times."""
    if "time" in run.dims:
        run = run[list(names)]
        run = _hundredths(run) if {*names} <= {*INTEGRATED, "A_true", "B_true"} else _some_times(run, 500)
    return xr.concat([run[name] for name in names], xr.Variable("effect", list(names.values())))


def _hundredths(curves: Any) -> Any:
    return curves.coarsen(time=max(1, curves.sizes["time"] // 100), boundary="trim").mean()


def _some_times(curves: Any, n: int) -> Any:
    return curves.isel(time=slice(0, None, max(1, curves.sizes["time"] // n)))


def _by_share(curves: Any) -> Any:
    """Curves over the share of training in place of the iteration."""
    n = curves.sizes["time"]
    return curves.reset_coords(drop=True).assign_coords(time=(np.arange(n) + 0.5) / n)


def _joined(parts: Mapping[str, Any], dim: str = "panel") -> Any:
    """Arrays by name along a new dimension."""
    return xr.concat(parts.values(), xr.Variable(dim, list(parts)), join="outer")


def _side_by_side(curves: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """Both models and data sets as panels, over the share of training."""
    shares = {data: _by_share(one) for data, one in curves.items()}
    joined: xr.DataArray = _joined(
        {
            f"{data}, {title}": one.sel(model=model, drop=True)
            for data, one in shares.items()
            for model, title in MODELS.items()
        }
    )
    return joined


def integrated_effects(
    shapes: xr.Dataset, photos: xr.Dataset, printed: xr.Dataset, bands: Sequence[tuple[xr.Dataset, xr.Dataset]]
) -> Picture:
    """Figure 3: A and B of two data sets by both models, over the share of training.

    ``printed`` has A and B over ``time`` by the formula that is printed for the L-model, on shapes; ``bands`` are lower
    and upper ends of A and B, of each data set.
    """
    formula = _pair(printed, INTEGRATED)
    dashed = xr.concat([np.nan * formula, formula], xr.Variable("model", list(MODELS)))

    def panels(*both: xr.Dataset) -> xr.DataArray:
        return _side_by_side(dict(zip(("shapes", "CIFAR"), (_pair(one, INTEGRATED) for one in both), strict=True)))

    low, high = (panels(*ends) for ends in zip(*bands, strict=True))
    return _effects(
        panels(shapes, photos),
        _side_by_side({"shapes": dashed, "CIFAR": np.nan * dashed}),
        panel="panel",
        interval=(low, high),
        theory_label="as printed",
        shared=False,
        x_label="share of training",
        figure="B.3",
        alt="Four panels of two curves with bands: A rises and levels off, and B stays far below it, on both data sets "
        "and by both models; bands of the L-model are wide. Dashed, for the L-model on shapes only: both end above "
        "zero.",
    )


def effect_rates(shapes: xr.Dataset, photos: xr.Dataset) -> Picture:
    """Figure 3, derivatives: α and β of two data sets by both models, over the share of training."""
    return _rates(
        1000 * _side_by_side({"shapes": _pair(shapes, RATES), "CIFAR": _pair(photos, RATES)}),
        panel="panel",
        shared=False,
        x_label="share of training",
        alt="Four panels. One effect has an early maximum; the other stays below it.",
    )
