"""Load curves side by side, measured on the same samples: differences with intervals."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import xarray as xr
from torch import nn

from deepmech.core.estimates import Estimate, jackknife, stack
from deepmech.metrics.curvature import curvature
from deepmech.metrics.evaluation import restore
from deepmech.metrics.load_curve import load_curve
from deepmech.metrics.reading import NONE, without

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
    paired = len({(c.attrs["order"], c.attrs["samples"], c.attrs["groups"]) for c in curves.values()}) == 1
    bare = {name: curve.drop_attrs().reset_coords(drop=True) for name, curve in curves.items()}
    found = {"load_curve": xr.concat(bare.values(), xr.Variable("curve", list(curves)))}
    shapes: dict[str, Any] = {"": lambda curve: curve}
    if first.size > 2:
        found["curvature"] = curvature(found["load_curve"])
        shapes["curvature_"] = curvature
    left = {name: without(curve) for name, curve in curves.items()}

    def gap(name: str, of: Any) -> Estimate:
        value, here, there = of(bare[name]) - of(bare[begin]), of(left[name]), of(left[begin])
        each = [here - there] if paired or name == begin else [here - of(bare[begin]), of(bare[name]) - there]
        return jackknife(value, *each, over="group", scatter="symmetric")

    for prefix, shape in shapes.items():
        gaps = stack({name: gap(name, shape) for name in curves}, "curve")
        ends = {"difference": gaps.value, "low": gaps.low, "high": gaps.high}
        found |= {prefix + end: values for end, values in ends.items()}
    return xr.Dataset(found).assign_attrs(paired=int(paired), against=begin, over=first.attrs["over"])


def _module(name: str, one: Any, model: nn.Module | None) -> nn.Module:
    if isinstance(one, nn.Module):
        return one
    if model is None:
        raise ValueError(f"compare: {name!r} is a {type(one).__name__}: give model=, the module that it belongs to")
    restore(loaded := copy.deepcopy(model), one, f"compare: {name!r}")
    return loaded


@xr.register_dataset_accessor("deepmech")
class ComparisonAccessor:
    """What a comparison can do: ``compare(…).deepmech.plot()``."""

    def __init__(self, compared: xr.Dataset) -> None:
        self._compared = compared

    def plot(self, **how: Any) -> Axes:
        """Draw the differences with their intervals: :func:`deepmech.plots.lines.plot`."""
        from deepmech.plots.lines import plot

        others = self._compared.isel(curve=slice(1, None))
        against = self._compared.attrs.get("against", "the first")
        how = {"by": "curve", "y_label": f"$D_\\ell$ less that of {against}"} | how
        ax = plot(others.difference, interval=(others.low, others.high), **how)
        ax.axhline(0, lw=0.8, color="0.5", zorder=1)
        return ax
