"""Load curves side by side, measured on the same samples: differences with intervals."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core.estimates import Estimate, jackknife, stack, unknown
from deepmech.metrics.curvature import curvature
from deepmech.metrics.intervals import NONE, without
from deepmech.metrics.load_curve import load_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare(
    of: Mapping[str, Any], x: Any = None, y: Any = None, *, model: nn.Module | None = None, **how: Any
) -> xr.Dataset:
    """Load curves beside the first of them: D layer by layer, and curvature.

    On the same samples, in the same order, curves scatter together, and the interval of their difference, from leaving
    out the same groups of samples in both, is narrower than those of the curves. Of different samples variances add.

    Parameters
    ----------
    of
        By name: curves of :func:`~deepmech.metrics.load_curve.load_curve`; or modules; or checkpoints, state dicts or
        files of them, which are loaded into copies of ``model``.
    x, y
        Samples for modules and checkpoints; a loader must not shuffle.
    model
        The module that checkpoints belong to.
    **how
        Further arguments of ``load_curve``.

    Returns
    -------
    Dataset
        ``load_curve`` and ``difference`` from the first, with its 95 % interval ``low`` to ``high``, over (``curve``,
        ``layer``); ``curvature``, ``curvature_difference``, ``curvature_low``, ``curvature_high`` over ``curve``, of
        three layers or more. The attribute ``paired`` is 1 where all were measured on the same samples. Its
        ``deepmech.plot()`` draws the differences.

    Raises
    ------
    ValueError
        For fewer than two, for other layers or another estimate than those of the first, and for curves without groups.

    Examples
    --------
    >>> from deepmech.data import load
    >>> digits = load("digits")
    >>> model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))
    >>> double = {name: 2 * value for name, value in model.state_dict().items()}
    >>> found = compare({"one": model, "two": double}, digits.x_train, digits.y_train, model=model)
    >>> found.difference.sizes, found.attrs["paired"], bool(found.low[1, 0] == found.high[1, 0] == 0)
    (Frozen({'curve': 2, 'layer': 3}), 1, True)
    """
    if len(of) < 2:
        raise ValueError(f"compare: {len(of)} given: give two or more curves, modules or checkpoints by name")
    curves = {name: one if isinstance(one, xr.DataArray) else load_curve(_module(name, one, model), x, y, **how)
              for name, one in of.items()}  # fmt: skip
    (begin, first), *_ = curves.items()
    for name, curve in curves.items():
        same = [curve.attrs.get(k) == first.attrs.get(k) for k in ("metric", "estimate", "over")]
        if curve.layer.values.tolist() != first.layer.values.tolist() or not all(same):
            raise ValueError(
                f"compare: {name!r} runs over layers {curve.layer.values.tolist()}, {begin!r} over "
                f"{first.layer.values.tolist()}: measure both over the same, layers=[…], and in the same way"
            )
        if without(curve) is None:
            raise ValueError(f"compare: {name!r}: {NONE}")
    paired = {(c.attrs["order"], c.attrs["samples"], c.attrs["groups"]) for c in curves.values()}
    names = xr.Variable("curve", list(curves))
    found = {"load_curve": xr.concat([c.drop_attrs().reset_coords(drop=True) for c in curves.values()], names)}
    gaps = stack({n: _gap(c, first, lambda d: d, len(paired) == 1) for n, c in curves.items()}, "curve")
    found |= {"difference": gaps.value, "low": gaps.low, "high": gaps.high}
    if first.size > 2:
        bends = stack({n: _gap(c, first, curvature, len(paired) == 1) for n, c in curves.items()}, "curve")
        found["curvature"] = curvature(found["load_curve"])
        found |= {
            f"curvature_{k}": v for k, v in (("difference", bends.value), ("low", bends.low), ("high", bends.high))
        }
    return xr.Dataset(found).assign_attrs(paired=int(len(paired) == 1), against=begin, over=first.attrs["over"])


def _gap(curve: xr.DataArray, first: xr.DataArray, of: Any, paired: bool) -> Estimate:
    one, two = (c.drop_attrs().reset_coords(drop=True) for c in (curve, first))
    here, there = without(curve), without(first)
    assert here is not None and there is not None
    value = of(one) - of(two)
    if curve is first:
        return Estimate(value, value, value)
    lost = not np.isfinite(value).all()
    if lost and value.ndim == 0:
        return unknown("a curve has no shape", value)
    each = [of(here) - of(there)] if paired else [of(here) - of(two), of(one) - of(there)]
    return jackknife(value, *each, over="group", scatter="symmetric")


def _module(name: str, one: Any, model: nn.Module | None) -> nn.Module:
    if isinstance(one, nn.Module):
        return one
    if model is None:
        raise ValueError(f"compare: {name!r} is a {type(one).__name__}: give model=, the module that it belongs to")
    state = torch.load(one, map_location="cpu", weights_only=True) if isinstance(one, str | Path) else one
    loaded = copy.deepcopy(model)
    loaded.load_state_dict(state)
    return loaded


@xr.register_dataset_accessor("deepmech")
class ComparisonAccessor:
    """What a comparison can do: ``compare(…).deepmech.plot()``."""

    def __init__(self, compared: xr.Dataset) -> None:
        self._compared = compared

    def plot(self, **how: Any) -> Axes:
        """Draw the differences with their intervals: :func:`deepmech.plots.layers.plot`."""
        from deepmech.plots.layers import plot

        others = self._compared.isel(curve=slice(1, None))
        against = self._compared.attrs.get("against", "the first")
        how = {"by": "curve", "y_label": f"$D_\\ell$ less that of {against}"} | how
        ax = plot(others.difference, interval=(others.low, others.high), **how)
        ax.axhline(0, lw=0.8, color="0.5", zorder=1)
        return ax
